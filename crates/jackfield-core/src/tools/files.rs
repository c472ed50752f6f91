//! Tools that read and change files: `Read`, `NotebookRead`, `Edit`, `MultiEdit`, `Write`, `NotebookEdit`.
//!
//! Not the place that says what a file held before and after: that is `file_change`. The one rule: a shape
//! holds what the call asked for, until its result tells what was done.

use jackfield_api::normalized::{ModifyFile, Mutation, MutationKind, ReadFile, ReadOutput};

use super::ToolResult;
use super::diff::Diff;
use super::fields::Fields;
use super::file_change;

/// The shape of an `Edit`.
pub(super) fn edit(input: &Fields<'_>) -> ModifyFile {
    ModifyFile { file_path: file_path(input), mutations: vec![replacement(input)] }
}

/// The shape of a `MultiEdit`.
pub(super) fn multi_edit(input: &Fields<'_>) -> ModifyFile {
    let edits = input.objects("edits").unwrap_or_default();
    ModifyFile { file_path: file_path(input), mutations: edits.iter().map(replacement).collect() }
}

/// The shape of a `Write`.
pub(super) fn write(input: &Fields<'_>) -> ModifyFile {
    let content = Some(input.text("content").unwrap_or_default());
    ModifyFile {
        file_path: file_path(input),
        mutations: vec![Mutation { content, ..mutation(MutationKind::Create) }],
    }
}

/// The shape of a `NotebookEdit`.
pub(super) fn notebook_edit(input: &Fields<'_>) -> ModifyFile {
    let kind = match input.text("edit_mode").as_deref() {
        Some("insert") => MutationKind::Insert,
        Some("delete") => MutationKind::Delete,
        _ => MutationKind::Edit,
    };
    let new_content = input.text("new_source").filter(|_| kind != MutationKind::Delete);
    ModifyFile { file_path: file_path(input), mutations: vec![Mutation { new_content, ..mutation(kind) }] }
}

/// The shape of a `Read` or `NotebookRead`.
pub(super) fn read(input: &Fields<'_>) -> ReadFile {
    ReadFile {
        file_path: file_path(input),
        offset: input.count("offset"),
        limit: input.count("limit"),
        output: None,
    }
}

/// Adds the diff, and says what was really done.
pub(super) fn complete_modify(modify: &mut ModifyFile, result: &ToolResult<'_>) {
    if result.is_error {
        return;
    }
    if let [only] = modify.mutations.as_mut_slice() {
        if let Some(told) = result.fields() {
            // A person may have answered with another input [permission/suggest_edit].
            only.content = only.content.take().map(|asked| told.text("content").unwrap_or(asked));
            only.old_content = told.text("oldString").or(only.old_content.take());
            only.new_content = told.text("newString").or(only.new_content.take());
        }
        if only.kind == MutationKind::Create && file_change::was_there(result) {
            only.kind = MutationKind::Overwrite;
        }
        let diff = file_change::diff(modify, result);
        modify.mutations[0].diff = known(diff);
        return;
    }
    // The result has one patch for all; each gets the diff of its own two parts.
    for mutation in &mut modify.mutations {
        mutation.diff = known(file_change::diff_of_parts(&modify.file_path, mutation));
    }
}

fn known(diff: Diff) -> Option<String> {
    Some(diff.text).filter(|text| !text.is_empty())
}

/// Adds what was read.
pub(super) fn complete_read(read: &mut ReadFile, result: &ToolResult<'_>) {
    if result.is_error {
        return;
    }
    let structured = result.fields();
    let file = structured.as_ref().and_then(|fields| fields.object("file"));
    let kind = structured.and_then(|fields| fields.text("type"));
    read.output = match (kind.as_deref(), file) {
        (Some("text"), Some(file)) => Some(read_text(&file)),
        // A notebook's cells, and the word that a file is unchanged, are only told as text.
        (Some("notebook" | "file_unchanged") | None, _) => result.text().map(|text| read_numbered(&text)),
        // A picture and the like: the bytes stay in the raw output.
        _ => Some(ReadOutput::default()),
    };
}

fn read_text(file: &Fields<'_>) -> ReadOutput {
    let line_count = file.count("numLines").unwrap_or_default();
    ReadOutput {
        content: file.text("content").unwrap_or_default(),
        line_count,
        truncated: file.count("totalLines").is_some_and(|total| line_count < total),
    }
}

/// What was read, from the text that the model gets: all there is inside a subagent.
fn read_numbered(text: &str) -> ReadOutput {
    // Each line has its number [basic/partial_all_blocks]; lines without one come after the file.
    let mut content = String::new();
    let mut line_count = 0;
    let mut lines = text.split_inclusive('\n').peekable();
    let mut next_number = None;
    while let Some((number, line)) = lines.peek().and_then(|line| numbered(line)) {
        if next_number.is_some_and(|next| next != number) {
            break;
        }
        next_number = number.checked_add(1);
        content.push_str(line);
        line_count += 1;
        lines.next();
    }
    if line_count == 0 {
        let line_count = text.lines().count().try_into().unwrap_or(u64::MAX);
        return ReadOutput { content: text.to_owned(), line_count, truncated: false };
    }
    content.extend(lines);
    ReadOutput { content, line_count, truncated: false }
}

/// A line and its number: `12<tab>text`, in older versions `    12→text`.
fn numbered(line: &str) -> Option<(u64, &str)> {
    let (number, text) = line.split_once(['\t', '→'])?;
    Some((number.trim_start().parse().ok()?, text))
}

fn file_path(input: &Fields<'_>) -> String {
    input.text("file_path").or_else(|| input.text("notebook_path")).unwrap_or_default()
}

fn replacement(input: &Fields<'_>) -> Mutation {
    Mutation {
        old_content: input.text("old_string"),
        new_content: input.text("new_string"),
        ..mutation(MutationKind::Edit)
    }
}

fn mutation(kind: MutationKind) -> Mutation {
    Mutation { kind, content: None, old_content: None, new_content: None, diff: None }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn success<'a>(content: &'a str, structured: Option<&'a str>) -> ToolResult<'a> {
        ToolResult { content: Some(content), structured, is_error: false }
    }

    #[test]
    fn a_multi_edit_is_one_mutation_per_edit() {
        let input = r#"{"file_path":"a","edits":[{"old_string":"x","new_string":"y"},7,{"new_string":"z"}]}"#;
        let mut modify = multi_edit(&Fields::read(input).unwrap());
        assert_eq!(modify.mutations.len(), 2);
        complete_modify(&mut modify, &success(r#""ok""#, None));
        assert!(modify.mutations[0].diff.as_deref().unwrap().contains("-x\n"));
        assert_eq!(modify.mutations[1].diff, None);
    }

    #[test]
    fn a_write_is_a_creation_until_the_result_says_otherwise() {
        // [tools/read_write_edit]
        let input = r#"{"file_path":"/ws/out.txt","content":"overwritten\n"}"#;
        let mut modify = write(&Fields::read(input).unwrap());
        assert_eq!(modify.mutations[0].kind, MutationKind::Create);
        let structured = r#"{"type":"update","filePath":"/ws/out.txt","content":"overwritten\n",
            "structuredPatch":[{"oldStart":1,"oldLines":1,"newStart":1,"newLines":1,
            "lines":["-scripted","+overwritten"]}],"originalFile":"scripted\n","userModified":false}"#;
        complete_modify(
            &mut modify,
            &success(r#""The file /ws/out.txt has been updated""#, Some(structured)),
        );
        assert_eq!(modify.mutations[0].kind, MutationKind::Overwrite);
        assert!(modify.mutations[0].diff.as_deref().unwrap().ends_with("-scripted\n+overwritten\n"));
    }

    #[test]
    fn a_failed_edit_has_no_diff() {
        let mut modify =
            edit(&Fields::read(r#"{"file_path":"a","old_string":"x","new_string":"y"}"#).unwrap());
        let before = modify.clone();
        complete_modify(
            &mut modify,
            &ToolResult { content: Some(r#""no""#), structured: None, is_error: true },
        );
        assert_eq!(modify, before);
    }

    #[test]
    fn a_notebook_cell_is_replaced_put_in_or_taken_out() {
        let kind = |mode: &str| {
            let input = format!(r#"{{"notebook_path":"n.ipynb","new_source":"1","edit_mode":"{mode}"}}"#);
            let modify = notebook_edit(&Fields::read(&input).unwrap());
            assert_eq!(modify.file_path, "n.ipynb");
            (modify.mutations[0].kind, modify.mutations[0].new_content.clone())
        };
        assert_eq!(kind("replace"), (MutationKind::Edit, Some("1".to_owned())));
        assert_eq!(kind("insert"), (MutationKind::Insert, Some("1".to_owned())));
        assert_eq!(kind("delete"), (MutationKind::Delete, None));
    }

    #[test]
    fn a_read_has_the_same_content_with_and_without_a_structured_result() {
        // [basic/partial_all_blocks]
        let content = r#""1\tx\n2\t""#;
        let structured = r#"{"type":"text","file":{"filePath":"/ws/a.txt","content":"x\n","numLines":2,
            "startLine":1,"totalLines":2}}"#;
        let mut told = read(&Fields::read(r#"{"file_path":"/ws/a.txt"}"#).unwrap());
        let mut bare = told.clone();
        complete_read(&mut told, &success(content, Some(structured)));
        complete_read(&mut bare, &success(content, None));
        assert_eq!(
            told.output,
            Some(ReadOutput { content: "x\n".to_owned(), line_count: 2, truncated: false })
        );
        assert_eq!(told, bare);
    }

    #[test]
    fn a_read_of_a_part_is_truncated() {
        let structured =
            r#"{"type":"text","file":{"content":"b","numLines":1,"startLine":2,"totalLines":9}}"#;
        let mut part = ReadFile::default();
        complete_read(&mut part, &success(r#""2\tb""#, Some(structured)));
        assert!(part.output.unwrap().truncated);
    }

    #[test]
    fn text_after_the_numbered_lines_is_kept() {
        let output = read_numbered("     9→a\n    10→b\n\n<system-reminder>7\tx</system-reminder>");
        assert_eq!(output.content, "a\nb\n\n<system-reminder>7\tx</system-reminder>");
        assert_eq!(output.line_count, 2);
        assert_eq!(read_numbered("plain\ntext").content, "plain\ntext");
    }

    #[test]
    fn a_picture_has_no_text() {
        let mut read = ReadFile::default();
        let structured = r#"{"type":"image","file":{"base64":"iVBOR","type":"image/png"}}"#;
        complete_read(&mut read, &success(r#"[{"type":"image"}]"#, Some(structured)));
        assert_eq!(read.output, Some(ReadOutput::default()));
    }
}
