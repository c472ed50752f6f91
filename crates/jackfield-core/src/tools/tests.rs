//! Every tool call of the recordings, and any JSON at all.
//!
//! Not the tests of one family: those stand in its file. The one rule: the calls come from the recordings as
//! they are, never retyped.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use jackfield_api::normalized::{MutationKind, Normalized};
use jackfield_api::{Json, ToolCallId};
use proptest::prelude::*;
use serde_json::Value;

use super::{TodoList, ToolResult, complete, file_updated, normalize, title};

/// A call of a recording with its result.
struct Call {
    recording: String,
    tool_name: String,
    input: Value,
    content: Option<String>,
    structured: Option<String>,
    is_error: bool,
}

impl Call {
    fn result(&self) -> ToolResult<'_> {
        ToolResult {
            content: self.content.as_deref(),
            structured: self.structured.as_deref(),
            is_error: self.is_error,
        }
    }
}

fn recorded_calls() -> Vec<Call> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/recordings");
    let mut calls = Vec::new();
    let folders = |path: &Path| {
        let mut folders: Vec<_> = fs::read_dir(path)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.is_dir())
            .collect();
        folders.sort();
        folders
    };
    for folder in folders(&root).iter().flat_map(|area| folders(area)) {
        let Ok(transcript) = fs::read_to_string(folder.join("transcript.jsonl")) else { continue };
        let recording = folder.strip_prefix(&root).unwrap().display().to_string();
        let mut open: BTreeMap<String, (String, Value)> = BTreeMap::new();
        for line in transcript.lines() {
            let Ok(record) = serde_json::from_str::<Value>(line) else { continue };
            let Some(text) = record["line"].as_str().filter(|_| record["dir"] == "out") else { continue };
            let Ok(message) = serde_json::from_str::<Value>(text) else { continue };
            for block in message["message"]["content"].as_array().into_iter().flatten() {
                match block["type"].as_str() {
                    Some("tool_use") => {
                        let name = block["name"].as_str().unwrap().to_owned();
                        open.insert(block["id"].as_str().unwrap().to_owned(), (name, block["input"].clone()));
                    }
                    Some("tool_result") => {
                        let Some((tool_name, input)) = open.remove(block["tool_use_id"].as_str().unwrap())
                        else {
                            continue;
                        };
                        calls.push(Call {
                            recording: recording.clone(),
                            tool_name,
                            input,
                            content: block.get("content").map(Value::to_string),
                            structured: message.get("tool_use_result").map(Value::to_string),
                            is_error: block["is_error"] == true,
                        });
                    }
                    _ => {}
                }
            }
        }
    }
    calls
}

/// The kind that the contract gives a tool.
fn kind_of(tool_name: &str) -> &'static str {
    match tool_name {
        "Edit" | "MultiEdit" | "Write" | "NotebookEdit" => "modify_file",
        "Read" | "NotebookRead" => "read_file",
        "Glob" | "Grep" | "LS" | "ToolSearch" => "code_search",
        "Bash" | "BashOutput" | "KillShell" => "shell_exec",
        "WebFetch" | "WebSearch" => "http_request",
        "Task" | "Agent" => "subagent_task",
        "TaskCreate" => "create_task",
        "TaskUpdate" | "TaskList" | "TaskGet" | "TodoWrite" => "manage_todos",
        "TaskOutput" | "TaskStop" | "Skill" | "EnterPlanMode" | "ExitPlanMode" | "EnterWorktree"
        | "ExitWorktree" | "AskUserQuestion" | "ScheduleWakeup" | "CronCreate" | "CronDelete"
        | "CronList" | "ReportFindings" | "SendMessage" | "Workflow" | "StructuredOutput" => "misc",
        _ => "generic",
    }
}

fn kind(normalized: &Normalized) -> &'static str {
    match normalized {
        Normalized::ModifyFile(_) => "modify_file",
        Normalized::ReadFile(_) => "read_file",
        Normalized::CodeSearch(_) => "code_search",
        Normalized::ShellExec(_) => "shell_exec",
        Normalized::HttpRequest(_) => "http_request",
        Normalized::SubagentTask(_) => "subagent_task",
        Normalized::CreateTask(_) => "create_task",
        Normalized::ManageTodos(_) => "manage_todos",
        Normalized::Misc(_) => "misc",
        Normalized::Generic(_) => "generic",
    }
}

#[test]
fn every_recorded_call_gets_the_shape_of_its_kind() {
    let mut calls_per_kind: BTreeMap<&str, u32> = BTreeMap::new();
    for call in recorded_calls() {
        let readable = call.input.get("__unparsedToolInput").is_none();
        let mut normalized = normalize(&call.tool_name, &Json::of(&call.input));
        let expected = if readable { kind_of(&call.tool_name) } else { "generic" };
        assert_eq!(kind(&normalized), expected, "{} in {}", call.tool_name, call.recording);

        let line = title(&call.tool_name, &normalized);
        assert!(!line.is_empty() && !line.contains('\n'), "{line:?} in {}", call.recording);
        assert!(line.chars().count() <= 120, "{line:?} in {}", call.recording);

        complete(&call.tool_name, &mut normalized, &call.result());
        assert_eq!(kind(&normalized), expected, "{} in {}", call.tool_name, call.recording);
        *calls_per_kind.entry(expected).or_default() += 1;
    }
    let kinds: Vec<&str> = calls_per_kind.keys().copied().collect();
    assert_eq!(
        kinds,
        [
            "code_search",
            "create_task",
            "generic",
            "http_request",
            "manage_todos",
            "misc",
            "modify_file",
            "read_file",
            "shell_exec",
            "subagent_task"
        ]
    );
}

#[test]
fn every_recorded_command_has_the_exit_code_that_the_cli_tells() {
    let (mut succeeded, mut failed, mut refused) = (0, 0, 0);
    for call in recorded_calls().iter().filter(|call| call.tool_name == "Bash") {
        let mut normalized = normalize(&call.tool_name, &Json::of(&call.input));
        complete(&call.tool_name, &mut normalized, &call.result());
        let Normalized::ShellExec(shell) = normalized else { continue };
        let output = shell.output.unwrap();
        let content = call.content.as_deref().unwrap();
        if !call.is_error {
            assert_eq!(output.exit_code, Some(0), "{}", call.recording);
            succeeded += 1;
        } else if content.starts_with("\"Exit code ") {
            assert!(output.exit_code.is_some_and(|code| code != 0), "{}", call.recording);
            failed += 1;
        } else {
            assert_eq!(output.exit_code, None, "{}", call.recording);
            assert!(!output.stderr.is_empty(), "{}", call.recording);
            refused += 1;
        }
    }
    assert!(succeeded > 0 && failed > 0 && refused > 0, "{succeeded} {failed} {refused}");
}

#[test]
fn every_recorded_search_lists_the_same_files_in_a_subagent() {
    let mut compared = 0;
    for call in recorded_calls().iter().filter(|call| call.tool_name == "Glob" && !call.is_error) {
        let found = |result: &ToolResult<'_>| {
            let mut normalized = normalize(&call.tool_name, &Json::of(&call.input));
            complete(&call.tool_name, &mut normalized, result);
            let Normalized::CodeSearch(search) = normalized else { panic!("a search has another kind") };
            search.output.unwrap()
        };
        let told = call.result();
        // In a subagent the line is the same without its structured form.
        assert_eq!(found(&ToolResult { structured: None, ..told }), found(&told), "{}", call.recording);
        compared += 1;
    }
    assert!(compared > 0);
}

#[test]
fn every_recorded_change_of_a_file_is_told_with_its_new_text() {
    let (mut changed, mut unchanged) = (0, 0);
    for call in recorded_calls() {
        let mut normalized = normalize(&call.tool_name, &Json::of(&call.input));
        complete(&call.tool_name, &mut normalized, &call.result());
        let update = file_updated(&ToolCallId::from("toolu_1"), &normalized, &call.result());
        let Normalized::ModifyFile(modify) = normalized else {
            assert_eq!(update, None, "{}", call.recording);
            continue;
        };
        if call.is_error {
            assert_eq!(update, None, "{}", call.recording);
            assert_eq!(modify.mutations[0].diff, None, "{}", call.recording);
            unchanged += 1;
            continue;
        }
        let update = update.unwrap();
        let structured: Value = serde_json::from_str(call.structured.as_deref().unwrap()).unwrap();
        // What was done, which a host may have made another than what was asked for.
        let new_text = structured["newString"].as_str().or(structured["content"].as_str()).unwrap();
        let mutation = &modify.mutations[0];
        assert_eq!(mutation.new_content.as_ref().or(mutation.content.as_ref()).unwrap(), new_text);
        assert_eq!(update.file_path, call.input["file_path"], "{}", call.recording);
        assert!(update.diff.contains(&format!("+{}", new_text.lines().next().unwrap())), "{}", update.diff);
        assert!(update.new_content.unwrap().contains(new_text), "{}", call.recording);
        assert_eq!(update.old_content.as_deref(), structured["originalFile"].as_str(), "{}", call.recording);
        assert!(!update.truncated, "{}", call.recording);
        assert_eq!(modify.mutations[0].diff.as_deref(), Some(update.diff.as_str()), "{}", call.recording);
        let expected = match structured["type"].as_str() {
            Some("create") => MutationKind::Create,
            Some("update") => MutationKind::Overwrite,
            _ => MutationKind::Edit,
        };
        assert_eq!(modify.mutations[0].kind, expected, "{}", call.recording);
        changed += 1;
    }
    assert!(changed > 0 && unchanged > 0, "{changed} {unchanged}");
}

#[test]
fn the_recorded_tasks_make_a_list() {
    let mut list = TodoList::default();
    let mut seen = Vec::new();
    for call in recorded_calls().iter().filter(|call| call.recording == "tools/tasks_tools") {
        if let Some(todos) = list.apply(&call.tool_name, &Json::of(&call.input), &call.result()) {
            let item = &todos.items[0];
            seen.push(format!("{} {} {}", item.id, item.status, item.description));
        }
    }
    assert_eq!(seen, ["1 pending First", "1 in_progress First", "1 completed First"]);
}

#[test]
fn what_cannot_be_read_is_kept_whole() {
    for input in [r#"{"__unparsedToolInput":{"raw":"{\"command\"","len":10}}"#, "[1]", "null", "\"x\""] {
        let Normalized::Generic(generic) = normalize("Bash", &Json::parse(input.to_owned()).unwrap()) else {
            panic!("{input} has another kind");
        };
        assert_eq!((generic.name.as_str(), generic.input.get()), ("Bash", input));
    }
}

#[test]
fn the_result_of_an_mcp_tool_is_kept_whole() {
    let mut normalized =
        normalize("mcp__mini__echo", &Json::parse(r#"{"text":"hello"}"#.to_owned()).unwrap());
    let content = r#"[{"type":"text","text":"echo: hello"}]"#;
    let result = ToolResult { content: Some(content), structured: None, is_error: false };
    complete("mcp__mini__echo", &mut normalized, &result);
    let Normalized::Generic(generic) = normalized else { panic!("an MCP tool has another kind") };
    assert_eq!(generic.output.unwrap().get(), content);
}

/// Names of tools and of the fields in their inputs and results, so that any JSON reaches any reader.
const TOOLS: &[&str] = &[
    "Edit",
    "MultiEdit",
    "Write",
    "NotebookEdit",
    "Read",
    "Grep",
    "ToolSearch",
    "Bash",
    "WebFetch",
    "WebSearch",
    "Task",
    "TaskCreate",
    "TaskUpdate",
    "TaskList",
    "TaskGet",
    "TodoWrite",
    "AskUserQuestion",
    "ExitPlanMode",
    "SendMessage",
    "mcp__a__b",
    "",
];
const FIELDS: &[&str] = &[
    "file_path",
    "notebook_path",
    "content",
    "old_string",
    "new_string",
    "new_source",
    "edits",
    "edit_mode",
    "offset",
    "limit",
    "query",
    "pattern",
    "path",
    "glob",
    "command",
    "timeout",
    "run_in_background",
    "url",
    "description",
    "prompt",
    "subagent_type",
    "subject",
    "taskId",
    "status",
    "todos",
    "newTodos",
    "tasks",
    "task",
    "id",
    "success",
    "statusChange",
    "to",
    "questions",
    "question",
    "answers",
    "plan",
    "type",
    "file",
    "numLines",
    "totalLines",
    "filenames",
    "matches",
    "numFiles",
    "stdout",
    "stderr",
    "exitCode",
    "interrupted",
    "originalFile",
    "original_file",
    "updated_file",
    "filePath",
    "replaceAll",
    "structuredPatch",
    "oldStart",
    "oldLines",
    "newStart",
    "newLines",
    "lines",
    "text",
    "error",
    "__unparsedToolInput",
];

/// Any JSON text: with escapes that are no character, numbers that are no number of ours, repeated fields.
fn any_json() -> impl Strategy<Value = String> {
    let text = prop_oneof![
        any::<String>(),
        "[-+ \\\\]?[ab]{0,2}\n?[ab]?",
        Just("create".to_owned()),
        Just("Exit code 1\n".to_owned())
    ]
    .prop_map(|text| Json::of(&text).get().to_owned());
    let leaf = prop_oneof![
        4 => text,
        1 => Just(r#""a\ud800b\udc00""#.to_owned()),
        1 => prop_oneof![Just("null"), Just("true"), Just("false"), Just("{}"), Just("[]")].prop_map(str::to_owned),
        2 => (0..5_u8).prop_map(|number| number.to_string()),
        1 => prop_oneof![Just("-1"), Just("1.5"), Just("1e999"), Just("18446744073709551616")]
            .prop_map(str::to_owned),
    ];
    leaf.prop_recursive(4, 48, 8, |inner| {
        let name = prop_oneof![
            9 => prop::sample::select(FIELDS).prop_map(|name| Json::of(name).get().to_owned()),
            1 => Just(r#""\ud800""#.to_owned()),
        ];
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(|items| format!("[{}]", items.join(","))),
            prop::collection::vec((name, inner), 0..8).prop_map(|fields| {
                let fields: Vec<String> =
                    fields.into_iter().map(|(name, value)| format!("{name}: {value}")).collect();
                format!("{{{}}}", fields.join(", "))
            }),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(512) })]

    #[test]
    fn any_json_has_a_shape_a_title_and_an_end(
        tool_name in prop::sample::select(TOOLS),
        input in any_json(),
        content in prop::option::of(any_json()),
        structured in prop::option::of(any_json()),
        is_error in any::<bool>(),
    ) {
        let input = Json::parse(input).unwrap();
        let result = ToolResult { content: content.as_deref(), structured: structured.as_deref(), is_error };
        let mut normalized = normalize(tool_name, &input);
        let before = kind(&normalized);
        prop_assert!(before == kind_of(tool_name) || before == "generic");
        let line = title(tool_name, &normalized);
        prop_assert!(line.chars().count() <= 120 && !line.chars().any(char::is_control), "{:?}", line);
        complete(tool_name, &mut normalized, &result);
        prop_assert_eq!(kind(&normalized), before);
        let update = file_updated(&ToolCallId::from("toolu_1"), &normalized, &result);
        prop_assert!(update.is_none() || matches!(normalized, Normalized::ModifyFile(_)));
        let mut list = TodoList::default();
        if let Some(todos) = list.apply(tool_name, &input, &result) {
            prop_assert!(!todos.items.is_empty() && !is_error);
        }
    }

    #[test]
    fn text_that_is_no_json_is_no_result(
        tool_name in prop::sample::select(TOOLS),
        content in any::<String>(),
        structured in any::<String>(),
    ) {
        let result = ToolResult { content: Some(&content), structured: Some(&structured), is_error: false };
        let mut normalized = normalize(tool_name, &Json::parse("{}".to_owned()).unwrap());
        let before = kind(&normalized);
        complete(tool_name, &mut normalized, &result);
        file_updated(&ToolCallId::from("toolu_1"), &normalized, &result);
        prop_assert_eq!(kind(&normalized), before);
    }
}
