//! What a call did to a file: what it held, what it holds, and the diff.
//!
//! Not a look at the disk: only what was told counts. The one rule: the structured result comes before
//! the input, because a person or a hook may have changed what was asked for; and what nobody told is
//! `None`, not guessed.

use jackfield_api::ToolCallId;
use jackfield_api::conversation::FileUpdated;
use jackfield_api::normalized::{ModifyFile, Mutation, MutationKind, Normalized};

use super::ToolResult;
use super::diff::{Diff, Patch, SIZE_LIMIT};
use super::fields::Fields;

/// What changed on disk, for a call that changed a file and succeeded.
pub(crate) fn file_updated(
    tool_call_id: &ToolCallId,
    normalized: &Normalized,
    result: &ToolResult<'_>,
) -> Option<FileUpdated> {
    let Normalized::ModifyFile(modify) = normalized else { return None };
    let structured = result.fields();
    // A failed `NotebookEdit` may come without the error flag.
    let failed =
        structured.as_ref().and_then(|fields| fields.text("error")).is_some_and(|error| !error.is_empty());
    if result.is_error || failed {
        return None;
    }
    Some(Change::of(modify, result).told(tool_call_id))
}

/// A change that was seen on disk, where the CLI told none. A file that held nothing known before counts as
/// new; one that holds nothing known now has no diff.
pub(crate) fn file_change(
    tool_call_id: &ToolCallId,
    file_path: &str,
    before: Option<&str>,
    after: Option<&str>,
) -> FileUpdated {
    Change {
        file_path: file_path.to_owned(),
        before: before.map(str::to_owned),
        after: after.map(str::to_owned),
        diff: after.map(|after| Diff::between(file_path, before, after)).unwrap_or_default(),
    }
    .told(tool_call_id)
}

/// The diff of a whole call.
pub(super) fn diff(modify: &ModifyFile, result: &ToolResult<'_>) -> Diff {
    Change::of(modify, result).diff
}

/// The diff of one mutation's two parts; its line numbers count from the part's start.
pub(super) fn diff_of_parts(path: &str, mutation: &Mutation) -> Diff {
    match (&mutation.old_content, &mutation.new_content, mutation.kind) {
        (Some(old), Some(new), _) => Diff::between(path, Some(old), new),
        (None, Some(new), MutationKind::Insert) => Diff::between(path, Some(""), new),
        _ => Diff::default(),
    }
}

/// Whether a written file was there before.
pub(super) fn was_there(result: &ToolResult<'_>) -> bool {
    match result.fields() {
        Some(fields) => fields.text("type").as_deref() == Some("update"),
        // Inside a subagent there is only the sentence [tools/read_write_edit].
        None => result.text().is_some_and(|text| text.contains("has been updated")),
    }
}

struct Change {
    file_path: String,
    before: Option<String>,
    after: Option<String>,
    diff: Diff,
}

impl Change {
    fn of(modify: &ModifyFile, result: &ToolResult<'_>) -> Self {
        let structured = result.fields();
        let told = |names: [&str; 2]| {
            structured.as_ref().and_then(|fields| names.into_iter().find_map(|name| fields.text(name)))
        };
        let file_path = told(["filePath", "notebook_path"]).unwrap_or_else(|| modify.file_path.clone());
        let patch = structured.as_ref().and_then(Patch::read);
        let before = told(["originalFile", "original_file"]);
        let after = told(["content", "updated_file"])
            .or_else(|| patch.as_ref()?.apply(before.as_deref()?))
            .or_else(|| replaced(before.as_deref()?, modify, structured.as_ref()))
            .or_else(|| modify.mutations.iter().rev().find_map(|mutation| mutation.content.clone()));

        let is_write = modify.mutations.iter().any(|mutation| mutation.content.is_some());
        let diff = match (patch, &before, &after) {
            (Some(patch), ..) => patch.diff(&file_path),
            (None, Some(before), Some(after)) => Diff::between(&file_path, Some(before), after),
            (None, None, Some(after)) if is_write && !was_there(result) => {
                Diff::between(&file_path, None, after)
            }
            _ => modify
                .mutations
                .iter()
                .fold(Diff::default(), |diff, mutation| diff.append(&diff_of_parts(&file_path, mutation))),
        };
        Self { file_path, before, after, diff }
    }

    fn told(self, tool_call_id: &ToolCallId) -> FileUpdated {
        let mut truncated = self.diff.truncated;
        let mut limited = |content: Option<String>| {
            let fits = content.as_ref().is_none_or(|content| content.len() <= SIZE_LIMIT);
            truncated |= !fits;
            content.filter(|_| fits)
        };
        let old_content = limited(self.before);
        let new_content = limited(self.after);
        FileUpdated {
            tool_call_id: tool_call_id.clone(),
            file_path: self.file_path,
            old_content,
            new_content,
            diff: self.diff.text,
            truncated,
        }
    }
}

/// The text after the call's replacements, where each of them is found.
fn replaced(original: &str, modify: &ModifyFile, structured: Option<&Fields<'_>>) -> Option<String> {
    let everywhere = structured.is_some_and(|fields| fields.flag("replaceAll"));
    let mut text = original.to_owned();
    for mutation in &modify.mutations {
        let (old, new) = (mutation.old_content.as_deref()?, mutation.new_content.as_deref()?);
        if old.is_empty() || !text.contains(old) {
            return None;
        }
        text = if everywhere { text.replace(old, new) } else { text.replacen(old, new, 1) };
    }
    (!modify.mutations.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use jackfield_api::Json;

    use super::super::normalize;
    use super::*;

    fn updated(
        tool_name: &str,
        input: &str,
        content: Option<&str>,
        structured: Option<&str>,
    ) -> Option<FileUpdated> {
        let normalized = normalize(tool_name, &Json::parse(input.to_owned()).unwrap());
        let result = ToolResult { content, structured, is_error: false };
        file_updated(&ToolCallId::from("toolu_1"), &normalized, &result)
    }

    const EDIT: &str =
        r#"{"replace_all":false,"file_path":"/ws/a.txt","old_string":"alpha","new_string":"beta"}"#;

    #[test]
    fn an_edit_tells_both_contents_and_the_patch() {
        // [tools/read_write_edit]
        let structured = r#"{"filePath":"/ws/a.txt","oldString":"alpha","newString":"beta",
            "originalFile":"alpha\nline2\nline3\n","structuredPatch":[{"oldStart":1,"oldLines":3,"newStart":1,
            "newLines":3,"lines":["-alpha","+beta"," line2"," line3"]}],"userModified":false,"replaceAll":false}"#;
        assert_eq!(
            updated("Edit", EDIT, None, Some(structured)).unwrap(),
            FileUpdated {
                tool_call_id: ToolCallId::from("toolu_1"),
                file_path: "/ws/a.txt".to_owned(),
                old_content: Some("alpha\nline2\nline3\n".to_owned()),
                new_content: Some("beta\nline2\nline3\n".to_owned()),
                diff: "--- /ws/a.txt\n+++ /ws/a.txt\n@@ -1,3 +1,3 @@\n-alpha\n+beta\n line2\n line3\n"
                    .to_owned(),
                truncated: false,
            }
        );
    }

    #[test]
    fn an_edit_without_a_patch_is_made_from_the_original() {
        let structured = r#"{"originalFile":"x\nalpha\nalpha\n","replaceAll":true}"#;
        let update = updated("Edit", EDIT, None, Some(structured)).unwrap();
        assert_eq!(update.new_content.as_deref(), Some("x\nbeta\nbeta\n"));
        assert!(update.diff.contains(" x\n-alpha\n-alpha\n+beta\n+beta\n"), "{}", update.diff);
    }

    #[test]
    fn an_edit_inside_a_subagent_has_the_diff_of_its_parts() {
        let update = updated("Edit", EDIT, Some(r#""The file /ws/a.txt has been updated""#), None).unwrap();
        assert_eq!((update.old_content, update.new_content), (None, None));
        assert!(update.diff.contains("-alpha\n") && update.diff.contains("+beta\n"), "{}", update.diff);
    }

    #[test]
    fn a_new_file_has_no_old_content() {
        // [control/rewind_files]
        let structured = r#"{"type":"create","filePath":"/ws/new.txt","content":"n\n","structuredPatch":[],
            "originalFile":null,"userModified":false}"#;
        let update =
            updated("Write", r#"{"file_path":"/ws/new.txt","content":"n\n"}"#, None, Some(structured))
                .unwrap();
        assert_eq!(update.old_content, None);
        assert_eq!(update.new_content.as_deref(), Some("n\n"));
        assert!(update.diff.starts_with("--- /dev/null\n") && update.diff.ends_with("+n\n"));
    }

    #[test]
    fn what_an_overwritten_file_held_is_not_guessed() {
        let sentence = Some(r#""The file /ws/out.txt has been updated successfully.""#);
        let update =
            updated("Write", r#"{"file_path":"/ws/out.txt","content":"x"}"#, sentence, None).unwrap();
        assert_eq!(update.new_content.as_deref(), Some("x"));
        assert_eq!((update.old_content, update.diff.as_str()), (None, ""));
    }

    #[test]
    fn a_notebook_tells_both_contents() {
        let structured = r#"{"new_source":"2","cell_type":"code","edit_mode":"replace","error":"",
            "notebook_path":"n.ipynb","original_file":"one\n","updated_file":"two\n"}"#;
        let input = r#"{"notebook_path":"n.ipynb","new_source":"2"}"#;
        let update = updated("NotebookEdit", input, None, Some(structured)).unwrap();
        assert_eq!(update.old_content.as_deref(), Some("one\n"));
        assert!(update.diff.ends_with("-one\n+two\n"));
        let failed = r#"{"error":"Cell not found","original_file":"","updated_file":""}"#;
        assert_eq!(updated("NotebookEdit", input, None, Some(failed)), None);
    }

    #[test]
    fn what_is_too_long_is_left_out_and_said() {
        let content = "line\n".repeat(SIZE_LIMIT / 4);
        let input = Json::of(&serde_json::json!({ "file_path": "big", "content": content }));
        let update =
            updated("Write", input.get(), Some(r#""File created successfully at: big""#), None).unwrap();
        assert!(update.truncated);
        assert_eq!(update.new_content, None);
        assert!(update.diff.len() <= SIZE_LIMIT && update.diff.ends_with("+line\n"));

        let structured = Json::of(&serde_json::json!({ "originalFile": content, "content": "x" }));
        let update = updated("Write", input.get(), None, Some(structured.get())).unwrap();
        assert!(update.truncated);
        assert_eq!((update.old_content, update.diff.as_str()), (None, ""));
        assert_eq!(update.new_content.as_deref(), Some("x"));
    }

    #[test]
    fn a_change_seen_on_disk_is_told_with_its_diff() {
        let seen = |before, after| file_change(&ToolCallId::from("toolu_1"), "a.txt", before, after);
        let changed = seen(Some("x\n"), Some("y\n"));
        assert_eq!(
            (changed.old_content.as_deref(), changed.new_content.as_deref()),
            (Some("x\n"), Some("y\n"))
        );
        assert!(changed.diff.starts_with("--- a.txt\n+++ a.txt\n") && changed.diff.ends_with("-x\n+y\n"));
        assert!(seen(None, Some("y\n")).diff.starts_with("--- /dev/null\n"));
        assert_eq!(seen(Some("x\n"), None).diff, "");
    }

    #[test]
    fn a_call_that_failed_or_reads_changes_nothing() {
        let normalized = normalize("Edit", &Json::parse(EDIT.to_owned()).unwrap());
        let failed = ToolResult { content: Some(r#""no""#), structured: None, is_error: true };
        assert_eq!(file_updated(&ToolCallId::from("toolu_1"), &normalized, &failed), None);
        assert_eq!(updated("Read", r#"{"file_path":"a"}"#, Some(r#""1\ta""#), None), None);
    }
}
