//! Tools that look for things: `Glob`, `Grep`, `LS`, `ToolSearch`.
//!
//! Not a search of our own. The one rule: the files are those that the CLI lists as files; everything else
//! it found is text.

use jackfield_api::normalized::{CodeSearch, SearchOutput};

use super::ToolResult;
use super::fields::Fields;

/// The shape of a search.
pub(super) fn search(input: &Fields<'_>) -> CodeSearch {
    CodeSearch {
        query: input.text("query"),
        pattern: input.text("pattern"),
        path: input.text("path"),
        glob: input.text("glob"),
        output: None,
    }
}

/// Adds what was found.
pub(super) fn complete(search: &mut CodeSearch, result: &ToolResult<'_>) {
    if result.is_error {
        return;
    }
    search.output = match result.fields() {
        Some(found) => Some(listed(&found, result)),
        None => result.text().map(|text| SearchOutput { content: Some(text), ..SearchOutput::default() }),
    };
}

fn listed(found: &Fields<'_>, result: &ToolResult<'_>) -> SearchOutput {
    let files = found.texts("filenames");
    let content = found
        .text("content")
        // The names of the tools that a `ToolSearch` found.
        .or_else(|| found.texts("matches").map(|names| names.join("\n")))
        .or_else(|| result.text().filter(|_| files.is_none()));
    let files = files.unwrap_or_default();
    SearchOutput {
        file_count: found.count("numFiles").unwrap_or_else(|| files.len().try_into().unwrap_or(u64::MAX)),
        // `Glob` says it; `Grep` names the limit that it kept to.
        truncated: found.flag("truncated") || found.count("appliedLimit").is_some(),
        files,
        content,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn completed(content: &str, structured: Option<&str>) -> SearchOutput {
        let mut search = CodeSearch::default();
        complete(&mut search, &ToolResult { content: Some(content), structured, is_error: false });
        search.output.unwrap()
    }

    #[test]
    fn a_glob_lists_files() {
        // [tools/glob_grep_with_tools_flag]
        let structured = r#"{"filenames":["a.txt"],"durationMs":5,"numFiles":1,"truncated":false,
            "totalMatches":1,"countIsComplete":true}"#;
        assert_eq!(
            completed(r#""a.txt""#, Some(structured)),
            SearchOutput { files: vec!["a.txt".to_owned()], file_count: 1, truncated: false, content: None }
        );
    }

    #[test]
    fn a_grep_for_content_gives_the_lines() {
        // [tools/glob_grep_with_tools_flag]
        let structured =
            r#"{"mode":"content","numFiles":0,"filenames":[],"content":"a.txt:1:a","numLines":1}"#;
        assert_eq!(completed(r#""a.txt:1:a""#, Some(structured)).content.as_deref(), Some("a.txt:1:a"));
    }

    #[test]
    fn a_grep_that_kept_to_a_limit_is_truncated() {
        assert!(completed(r#""x""#, Some(r#"{"filenames":["x"],"appliedLimit":1}"#)).truncated);
    }

    #[test]
    fn without_a_structured_result_the_text_is_kept() {
        assert_eq!(completed(r#""a.txt\nb.txt""#, None).content.as_deref(), Some("a.txt\nb.txt"));
        assert_eq!(completed(r#""text""#, Some("{}")).content.as_deref(), Some("text"));
    }

    #[test]
    fn a_tool_search_gives_the_names() {
        let structured = r#"{"matches":["mcp__a__b","mcp__a__c"],"query":"a","total_deferred_tools":9}"#;
        let content = r#"[{"type":"tool_reference","tool_name":"mcp__a__b"}]"#;
        assert_eq!(completed(content, Some(structured)).content.as_deref(), Some("mcp__a__b\nmcp__a__c"));
    }

    #[test]
    fn a_search_that_failed_found_nothing() {
        let mut search = CodeSearch::default();
        complete(&mut search, &ToolResult { content: Some(r#""no""#), structured: None, is_error: true });
        assert_eq!(search, CodeSearch::default());
    }
}
