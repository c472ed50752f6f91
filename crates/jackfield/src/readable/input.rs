//! The whole of what a tool would run with, or a dialog would show, for whoever is asked on the terminal.
//!
//! A title says what it is about; an answer depends on more. Pure: a question in, text out. The one rule it keeps:
//! nothing is cut and nothing is left out but a shell's command, which stands above it already.

use jackfield_api::normalized::Normalized;
use jackfield_api::permission::{PermissionKind, PermissionRequest};
use serde_json::{Map, Value};

use super::page::{DIM, PLAIN, Page};

/// How far the text of a member stands to the right.
const MARGIN: usize = 4;

/// What a file's content goes and comes in. How long it is is up to the file.
const CONTENTS: [&str; 5] = ["content", "old_string", "new_string", "new_source", "edits"];

/// Shows the input of the tool that is asked about, or what a dialog has to show, member by member.
pub(crate) fn show(request: &PermissionRequest, page: &mut Page) {
    put(request, |_| true, page);
}

/// The same on two pages: what a file would lose and get, and everything else.
pub(crate) fn show_apart(request: &PermissionRequest, page: &mut Page, contents: &mut Page) {
    let is_content = |name: &str| {
        matches!(request.normalized, Some(Normalized::ModifyFile(_))) && CONTENTS.contains(&name)
    };
    put(request, |name| !is_content(name), page);
    put(request, is_content, contents);
}

/// Shows those members that are wanted. What has no members is one that has no name.
fn put(request: &PermissionRequest, is_wanted: impl Fn(&str) -> bool, page: &mut Page) {
    // A question and a plan are told in other words, where they can be read.
    let is_shown = match request.kind {
        PermissionKind::Tool | PermissionKind::Dialog => true,
        PermissionKind::Question => request.questions.is_empty(),
        PermissionKind::Plan => request.plan.is_none(),
        PermissionKind::Elicitation => false,
    };
    let Some(input) = request.input.as_ref().filter(|_| is_shown) else { return };
    let members: Map<String, Value> = match serde_json::from_str(input.get()) {
        Ok(members) => members,
        // What is no object, or no text as we read it, is shown as it is.
        Err(_) if is_wanted("") => return page.deeper(MARGIN, |page| page.line(PLAIN, input.get())),
        Err(_) => return,
    };
    let told = match &request.normalized {
        Some(Normalized::ShellExec(shell)) => Some(shell.command.as_str()),
        _ => None,
    };
    for (name, value) in members.iter().filter(|(name, _)| is_wanted(name)) {
        match value {
            Value::String(text) if name == "command" && Some(text.as_str()) == told => {}
            Value::String(text) if text.contains('\n') => {
                page.deeper(2, |page| page.line(DIM, &format!("{name}:")));
                page.deeper(MARGIN, |page| page.line(PLAIN, text));
            }
            value => page.deeper(2, |page| {
                page.put(DIM, &format!("{name}: "));
                page.put(PLAIN, value.as_str().unwrap_or(&value.to_string()));
                page.end_line();
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use jackfield_api::normalized::ShellExec;
    use jackfield_api::{Json, PendingId};
    use serde_json::json;

    use super::*;
    use crate::readable::Colours;

    fn shown(input: &Value, command: Option<&str>) -> String {
        shown_of(&request(input, command))
    }

    fn shown_of(request: &PermissionRequest) -> String {
        let (mut page, mut out) = (Page::new(Colours::Off), Vec::new());
        show(request, &mut page);
        page.take_into(&mut out);
        String::from_utf8(out).unwrap()
    }

    fn request(input: &Value, command: Option<&str>) -> PermissionRequest {
        let shell = |command: &str| ShellExec {
            command: command.to_owned(),
            work_dir: None,
            description: None,
            timeout: None,
            background: false,
            output: None,
        };
        PermissionRequest {
            pending_id: PendingId(7),
            kind: PermissionKind::Tool,
            tool_call_id: None,
            tool_name: Some("Tool".to_owned()),
            tool_title: "harmless".to_owned(),
            normalized: command.map(|command| Normalized::ShellExec(shell(command).into())),
            input: Some(Json::parse(input.to_string()).unwrap()),
            suggestions: Vec::new(),
            reason: None,
            questions: Vec::new(),
            plan: None,
            message: None,
            schema: None,
        }
    }

    #[test]
    fn what_no_other_words_tell_is_shown_whatever_is_asked() {
        let of = |kind| PermissionRequest { kind, ..request(&json!({ "text": "all of it" }), None) };
        for kind in
            [PermissionKind::Tool, PermissionKind::Dialog, PermissionKind::Question, PermissionKind::Plan]
        {
            assert_eq!(shown_of(&of(kind)), "  text: all of it\n", "{kind:?}");
        }
        let plan = PermissionRequest { plan: Some("all of it".to_owned()), ..of(PermissionKind::Plan) };
        assert_eq!(shown_of(&plan), "");
    }

    #[test]
    fn s19_the_whole_input_is_shown_to_its_end_whatever_the_tool() {
        let lines: Vec<String> = (0..5_000).map(|line| format!("line {line}")).collect();
        let long = format!("{} && the end", "x".repeat(100_000));
        let text = shown(&json!({ "file_path": "/ws/a", "content": lines.join("\n"), "query": long }), None);
        for wanted in [&lines[0], &lines[4_999], &long] {
            assert!(text.contains(wanted.as_str()));
        }
        assert_eq!(text.lines().filter(|line| line.trim_start().starts_with("line ")).count(), 5_000);
        assert!(text.contains("  file_path: /ws/a\n"));
    }

    #[test]
    fn s19_what_stands_beside_a_command_is_shown_too() {
        let input =
            json!({ "command": "ls", "command2": "ls", "dangerouslyDisableSandbox": true, "timeout": 9 });
        let text = shown(&input, Some("ls"));
        assert_eq!(text, "  command2: ls\n  dangerouslyDisableSandbox: true\n  timeout: 9\n");
        // One that is shown above otherwise than it would run is shown here.
        assert!(shown(&json!({ "command": "rm -rf /" }), Some("ls")).contains("command: rm -rf /\n"));
        assert_eq!(shown(&json!(["a", 1]), None), "    [\"a\",1]\n");
    }

    #[test]
    fn s18_an_input_cannot_command_the_terminal_or_hide_in_it() {
        let text = shown(&json!({ "a\u{1b}[2J": "b\u{202e}\u{200b}\rc" }), None);
        assert_eq!(text, "  a␛[2J: b\u{fffd}\u{fffd}␍c\n");
    }
}
