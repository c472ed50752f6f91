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
pub(super) fn complete(tool_name: &str, search: &mut CodeSearch, result: &ToolResult<'_>) {
    if result.is_error {
        return;
    }
    search.output = match result.fields() {
        Some(found) => Some(listed(&found, result)),
        None => result.text().map(|text| told(tool_name, text)),
    };
}

/// What was found, where only the words for the model came: in subagents.
fn told(tool_name: &str, text: String) -> SearchOutput {
    let files = match (tool_name, text.split_once('\n')) {
        ("Glob" | "Grep", _) if text.trim() == "No files found" => Some((Vec::new(), false)),
        ("Glob", _) => Some(names(&text)),
        // `Found 2 files`, or `Found 2 files limit: 2`, and then the names.
        ("Grep", Some((head, names_below))) if is_count(head) => {
            let (files, truncated) = names(names_below);
            Some((files, truncated || head.contains("limit: ")))
        }
        _ => None,
    };
    match files {
        Some((files, truncated)) => SearchOutput {
            file_count: files.len().try_into().unwrap_or(u64::MAX),
            truncated,
            files,
            content: None,
        },
        None => SearchOutput { content: Some(text), ..SearchOutput::default() },
    }
}

/// One name in a line; a line in parentheses at the end says that there are more.
fn names(text: &str) -> (Vec<String>, bool) {
    let mut names: Vec<String> = text.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect();
    let more = |line: &String| {
        line.ends_with(')') && (line.starts_with("(Results are truncated") || line.starts_with("(Showing "))
    };
    let truncated = names.pop_if(|line| more(line)).is_some();
    (names, truncated)
}

/// Whether a line is `Found 2 files`.
fn is_count(line: &str) -> bool {
    let mut words = line.split(' ');
    words.next() == Some("Found")
        && words.next().is_some_and(|number| number.parse::<u64>().is_ok())
        && matches!(words.next(), Some("file" | "files"))
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
        complete("Grep", &mut search, &ToolResult { content: Some(content), structured, is_error: false });
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
    fn in_a_subagent_the_files_are_read_out_of_the_words() {
        let found = |tool_name, text: &str| {
            let mut search = CodeSearch::default();
            let content = serde_json::to_string(text).unwrap();
            let result = ToolResult { content: Some(&content), structured: None, is_error: false };
            complete(tool_name, &mut search, &result);
            let SearchOutput { files, file_count, truncated, content } = search.output.unwrap();
            assert_eq!(files.len(), usize::try_from(file_count).unwrap());
            (files.join(" "), truncated, content.is_some())
        };
        let is = |names: &str, truncated, content| (names.to_owned(), truncated, content);
        assert_eq!(found("Glob", "src/a.rs\nsrc/b.rs"), is("src/a.rs src/b.rs", false, false));
        let more = "(Showing the first 1 files; there are more than 9 matches.)";
        assert_eq!(found("Glob", &format!("a.rs\n{more}")), is("a.rs", true, false));
        assert_eq!(found("Glob", "No files found"), is("", false, false));
        assert_eq!(found("Grep", "Found 2 files\na.rs\nb.rs"), is("a.rs b.rs", false, false));
        assert_eq!(found("Grep", "Found 1 file limit: 1\na.rs"), is("a.rs", true, false));
        assert_eq!(found("Grep", "a.rs:1:Found 2 files\nb.rs:2:x"), is("", false, true));
        assert_eq!(found("ToolSearch", "a\nb"), is("", false, true));
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
        let result = ToolResult { content: Some(r#""no""#), structured: None, is_error: true };
        complete("Glob", &mut search, &result);
        assert_eq!(search, CodeSearch::default());
    }
}
