//! Exports of a session: readable, whole, and without secrets.

use std::fs;

use jackfield_api::conversation::{Attachment, FileUpdated, ItemOutcome, Trigger, UserMessage};
use jackfield_api::host::SessionSummary;
use jackfield_api::normalized::{ModifyFile, Mutation, MutationKind, Normalized, ShellExec, ShellOutput};
use jackfield_api::permission::{
    PermissionKind, PermissionOutcome, PermissionRequest, Question, QuestionOption,
};
use jackfield_api::session::{Compaction, CompactionStatus, RunEndReason, RunEnded};
use jackfield_api::snapshot::{
    Item, ItemContent, QuestionEnding, QuestionItem, TextItem, ToolItem, TurnItem,
};
use jackfield_api::tool::ToolStatus;
use jackfield_api::trouble::{Error, Notice, NoticeLevel};
use jackfield_api::usage::{Complete, TurnFigures};
use jackfield_api::{ItemId, Json, PendingId, Seq, Timestamp, TurnNumber};
use jackfield_core::journal::{Entry, Player};
use jackfield_core::{Launch, Options, Output, Session};
use jackfield_host::export::{Export, ExportFormat, json, markdown};
use jackfield_host::redact::REDACTED;
use jackfield_testkit::recordings;
use serde::Deserialize;
use serde_json::json;

fn session(title: &str) -> SessionSummary {
    SessionSummary {
        title: title.to_owned(),
        model: Some("claude-x".to_owned()),
        seq: Seq(9),
        turn: Some(TurnNumber(1)),
        updated_at: Timestamp(1_763_187_300_000),
        total_cost_usd: 0.0123,
        ..SessionSummary::new("5e55".into(), "/ws/project", Timestamp(1_763_187_217_326))
    }
}

fn item(content: ItemContent) -> Item {
    Item {
        seq: Seq(1),
        at: Timestamp(1_763_187_217_326),
        turn: Some(TurnNumber(1)),
        parent_tool_call_id: None,
        content,
    }
}

fn text(text: &str) -> TextItem {
    TextItem {
        item_id: ItemId(1),
        message_id: None,
        text: text.to_owned(),
        outcome: Some(ItemOutcome::Complete),
    }
}

fn tool(normalized: Normalized, input: &serde_json::Value, output: Option<&serde_json::Value>) -> ToolItem {
    ToolItem {
        tool_call_id: "t1".into(),
        tool_name: "Tool".to_owned(),
        tool_title: "Tool: it *runs*".to_owned(),
        tool_status: ToolStatus::Complete,
        bytes: 0,
        normalized: Some(normalized),
        input: Some(Json::of(input)),
        output: output.map(Json::of),
        message: None,
    }
}

fn shell(command: &str, stdout: &str) -> ItemContent {
    let output = ShellOutput { exit_code: Some(1), stdout: stdout.to_owned(), stderr: String::new() };
    let exec = ShellExec { command: command.to_owned(), output: Some(output), ..ShellExec::default() };
    let content =
        tool(Normalized::ShellExec(Box::new(exec)), &json!({ "command": command }), Some(&json!(stdout)));
    ItemContent::Tool(Box::new(content))
}

fn question(title: &str, ending: Option<QuestionEnding>) -> ItemContent {
    let request = PermissionRequest {
        pending_id: PendingId(1),
        kind: PermissionKind::Question,
        tool_call_id: None,
        tool_name: None,
        tool_title: title.to_owned(),
        normalized: None,
        input: None,
        suggestions: Vec::new(),
        reason: None,
        questions: vec![Question {
            question: "Which?".to_owned(),
            header: String::new(),
            multi_select: false,
            options: vec![QuestionOption { label: "This".to_owned(), description: "the one".to_owned() }],
        }],
        plan: None,
        message: None,
        schema: None,
    };
    ItemContent::Question(Box::new(QuestionItem { request, ending }))
}

fn figures() -> TurnFigures {
    TurnFigures {
        cost_usd: 0.0123,
        total_cost_usd: 1.5,
        duration_ms: 12_340,
        duration_api_ms: 0,
        num_turns: 1,
        input_tokens: 10,
        output_tokens: 20,
        cache_read_tokens: 300,
        cache_creation_tokens: 4000,
        last_message_uuid: None,
        terminal_reason: None,
        permission_denials: Vec::new(),
        structured_output: None,
        models: Vec::new(),
    }
}

fn as_markdown(title: &str, items: Vec<Item>) -> String {
    let mut document = Vec::new();
    markdown(&session(title), items, &mut document).unwrap();
    String::from_utf8(document).unwrap()
}

fn as_json(items: Vec<Item>) -> String {
    let mut document = Vec::new();
    json(&session("Title"), items, &mut document).unwrap();
    String::from_utf8(document).unwrap()
}

#[test]
fn a_session_reads_like_a_conversation() {
    let allowed = QuestionEnding {
        outcome: Some(PermissionOutcome::Allowed),
        by: Some("Anna's phone".to_owned()),
        message: None,
        input: None,
    };
    let document = as_markdown(
        "Mend the\n# bug",
        vec![
            item(ItemContent::Turn(TurnItem { trigger: Trigger::Prompt })),
            item(ItemContent::UserMessage(Box::new(UserMessage {
                text: "Mend it.\n\nPlease.".to_owned(),
                attachments: vec![Attachment {
                    kind: "image".to_owned(),
                    media_type: Some("image/png".to_owned()),
                    bytes: 3,
                }],
                uuid: None,
            }))),
            item(ItemContent::Thinking(Box::new(text("Hm.\n</details>")))),
            item(ItemContent::Text(Box::new(text("I **will**.\n")))),
            item(shell("cat a", "```\nfenced\n```\n")),
            item(question("Question", Some(allowed))),
            item(ItemContent::Error(Box::new(Error {
                error: "it failed".to_owned(),
                code: "e1".to_owned(),
            }))),
            item(ItemContent::Complete(Box::new(Complete { data: figures() }))),
        ],
    );
    assert_eq!(
        document,
        "# Mend the \\# bug

- Folder: `/ws/project`
- Model: `claude-x`
- Begun: 2025-11-15 06:13 UTC
- Last change: 2025-11-15 06:15 UTC
- Cost: $0.0123
- Session: `5e55`

## Turn 1

*2025-11-15 06:13 UTC*

> Mend it.
>
> Please.

*With it: image (image/png)*

<details>
<summary>Thinking</summary>

Hm.
&lt;/details>

</details>

I **will**.

### Tool: it \\*runs\\*

```sh
cat a
```

Output (exit code 1):

````
```
fenced
```
````

**Asked:** Question

- Which?
  - This: the one

**Allowed** by Anna's phone

**Error** (`e1`): it failed

*Turn 1: $0.0123 (the run so far: $1.50), 12.3 s, 4310 tokens in, 20 out*

"
    );
}

#[test]
fn a_change_is_shown_as_a_diff_also_where_only_its_parts_are_known() {
    let mutation = |diff: Option<&str>| Mutation {
        kind: MutationKind::Edit,
        content: None,
        old_content: Some("a\nb".to_owned()),
        new_content: Some("c".to_owned()),
        diff: diff.map(str::to_owned),
    };
    let modify = ModifyFile {
        file_path: "a `b`".to_owned(),
        mutations: vec![mutation(Some("--- a\n+++ a\n")), mutation(None)],
    };
    let changed = tool(
        Normalized::ModifyFile(Box::new(modify)),
        &json!({}),
        Some(&json!([{ "type": "text", "text": "done" }])),
    );
    let document = as_markdown("t", vec![item(ItemContent::Tool(Box::new(changed)))]);
    assert!(document.contains("File: `` a `b` ``\n"), "{document}");
    assert!(document.contains("```diff\n--- a\n+++ a\n```\n"), "{document}");
    assert!(document.contains("```diff\n-a\n-b\n+c\n```\n"), "{document}");
    assert!(document.contains("Output:\n\n```\ndone\n```\n"), "{document}");
}

#[test]
fn a_very_long_output_is_cut_for_people_and_whole_for_programs() {
    let long = "é".repeat(200_000);
    let document = as_markdown("t", vec![item(shell("x", &long))]);
    assert!(document.len() < 100_000);
    assert!(document.contains("the JSON export has all of it"));
    assert!(as_json(vec![item(shell("x", &long))]).contains(&long));
}

/// What a JSON export is.
#[derive(Deserialize)]
struct Document {
    version: u32,
    session: SessionSummary,
    items: Vec<Item>,
}

#[test]
fn a_json_export_reads_back_as_what_it_was() {
    let items = vec![item(shell("a", "b")), item(question("q", None))];
    let read: Document = serde_json::from_str(&as_json(items.clone())).unwrap();
    assert_eq!((read.version, read.session, read.items), (1, session("Title"), items));
    let empty: Document = serde_json::from_str(&as_json(Vec::new())).unwrap();
    assert_eq!(empty.items, []);
}

/// The items that a recording leads to.
fn items_of(recording: &recordings::Recording) -> Vec<Item> {
    let text = fs::read_to_string(recording.path.join("transcript.jsonl")).unwrap();
    let mut player = Player::new(Session::new(Options::default()), Launch::output_only());
    let mut transcript = jackfield_core::Transcript::new();
    for line in text.split('\n').filter(|line| !line.is_empty()) {
        player.play(&Entry::read(line).unwrap());
        while let Some(output) = player.session().poll() {
            if let Output::Event(event) = output {
                transcript.apply(&event);
            }
        }
    }
    transcript.snapshot().items.clone()
}

#[test]
fn every_recording_is_exported_whole() {
    let mut items_seen = 0;
    for recording in recordings::all().unwrap() {
        let items = items_of(&recording);
        items_seen += items.len();
        let read: Document = serde_json::from_str(&as_json(items.clone())).unwrap();
        let document = as_markdown("t", items.clone());
        for (before, after) in items.iter().zip(&read.items) {
            if before != after {
                assert!(
                    serde_json::to_string(after).unwrap().contains(REDACTED),
                    "{}: {before:?}",
                    recording.name
                );
            }
            if let ItemContent::Text(text) = &before.content
                && text.outcome == Some(ItemOutcome::Complete)
                && before == after
            {
                assert!(document.contains(text.text.trim_end()), "{}: {:?}", recording.name, text.text);
            }
        }
        assert_eq!(items.len(), read.items.len(), "{}", recording.name);
    }
    assert!(items_seen > 1_000, "only {items_seen} items were seen");
}

#[test]
fn s23_no_secret_leaves_in_an_export_wherever_it_stands() {
    let canary = format!("sk-ant-{}-canary0123456789abcdef", "api03");
    let canary = canary.as_str();
    let modify = ModifyFile {
        file_path: canary.to_owned(),
        mutations: vec![Mutation {
            kind: MutationKind::Create,
            content: Some(canary.to_owned()),
            old_content: None,
            new_content: None,
            diff: None,
        }],
    };
    let ending = QuestionEnding {
        outcome: None,
        by: Some(canary.to_owned()),
        message: Some(canary.to_owned()),
        input: Some(Json::of(&json!({ "command": canary }))),
    };
    let run = RunEnded { reason: RunEndReason::Crashed, exit_code: None, stderr_tail: canary.to_owned() };
    let mut misc = tool(
        Normalized::Misc(Box::default()),
        &json!({ "key": canary, canary: 1 }),
        Some(&json!([{ "type": "text", "text": canary }])),
    );
    misc.tool_title = canary.to_owned();
    misc.message = Some(canary.to_owned());
    let items: Vec<Item> = [
        ItemContent::UserMessage(Box::new(UserMessage {
            text: canary.to_owned(),
            attachments: Vec::new(),
            uuid: None,
        })),
        ItemContent::Text(Box::new(text(canary))),
        ItemContent::Thinking(Box::new(text(canary))),
        shell(&format!("curl -H 'x-api-key: {canary}'"), canary),
        ItemContent::Tool(Box::new(misc)),
        ItemContent::Tool(Box::new(tool(Normalized::ModifyFile(Box::new(modify)), &json!({}), None))),
        question(canary, Some(ending)),
        ItemContent::File(Box::new(FileUpdated {
            tool_call_id: "t".into(),
            file_path: canary.to_owned(),
            old_content: Some(canary.to_owned()),
            new_content: None,
            diff: format!("+{canary}\n"),
            truncated: false,
        })),
        ItemContent::Compaction(Box::new(Compaction {
            trigger: None,
            pre_tokens: None,
            post_tokens: None,
            status: CompactionStatus::Failed,
            message: Some(canary.to_owned()),
        })),
        ItemContent::Notice(Box::new(Notice { level: NoticeLevel::Info, text: canary.to_owned() })),
        ItemContent::Error(Box::new(Error { error: canary.to_owned(), code: canary.to_owned() })),
        ItemContent::RunEnded(Box::new(run)),
    ]
    .into_iter()
    .map(item)
    .collect();
    let summary = SessionSummary {
        cwd: format!("/{canary}"),
        model: Some(canary.to_owned()),
        preview: canary.to_owned(),
        last_error: Some(canary.to_owned()),
        ..session(canary)
    };
    for format in [ExportFormat::Markdown, ExportFormat::Json] {
        let mut export = Export::begin(format, &summary, Vec::new()).unwrap();
        for item in &items {
            export.item(item).unwrap();
        }
        let document = String::from_utf8(export.finish().unwrap()).unwrap();
        assert!(!document.contains("canary"), "{format:?}: {document}");
        assert!(document.matches(REDACTED).count() >= 15, "{format:?}: {document}");
    }
}
