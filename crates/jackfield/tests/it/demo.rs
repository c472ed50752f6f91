//! The demo agent: each scene gives the events that its name promises, through the SDK as it is.

// Shared with the fuzz targets and the tests of the core.
#[allow(dead_code, unreachable_pub)]
#[path = "../../../../fuzz/src/harness/ledger.rs"]
pub(crate) mod ledger;

mod conversations;
mod drive;

use std::collections::BTreeSet;
use std::os::unix::process::ExitStatusExt as _;
use std::process::Stdio;

use jackfield_api::command::{Allow, RejectionCode, Verdict};
use jackfield_api::conversation::{DropReason, ItemOutcome, Trigger};
use jackfield_api::permission::{PermissionOutcome, PermissionRequest};
use jackfield_api::session::{RunEndReason, SessionOrigin};
use jackfield_api::tool::TaskStatus;
use jackfield_api::{Body, Normalized};
use jackfield_sdk::TurnError;
use jackfield_wire::{Object, PermissionMode};
use serde_json::Value;

use self::drive::{Demo, Speed, agree, count, events, output, refuse, said, scene, tags};
use crate::program::jackfield;

/// What each scene must show, besides what every turn has.
const PROMISES: &[(&str, &[&str])] = &[
    ("help", &[]),
    ("good morning", &["reasoning", "tool_call"]),
    ("think", &["reasoning"]),
    ("markdown", &[]),
    ("read", &["tool_preparing", "tool_call", "tool_update"]),
    ("edit", &["permission_request", "permission_resolved", "file_updated"]),
    ("bash", &["permission_request", "tool_update"]),
    ("search", &["tool_call"]),
    ("web", &["tool_call", "permission_request"]),
    ("todo", &["todos"]),
    ("subagent", &["task", "tool_call"]),
    ("question", &["permission_request"]),
    ("plan", &["permission_request", "mode_changed"]),
    ("retry", &["api_retry"]),
    ("limit", &["rate_limit"]),
    ("compact", &["compaction"]),
    ("error", &["api_retry", "error"]),
    ("crash", &["stderr", "error"]),
    ("slow", &[]),
    ("many 50", &[]),
    ("flood 2", &["tool_update"]),
    ("image", &["tool_update"]),
    ("mcp", &["permission_request", "tool_call"]),
    ("unknown", &["unknown"]),
    ("/think", &["reasoning"]),
];

/// What every session with a turn has.
const ALWAYS: &[&str] = &[
    "available_commands",
    "context_window",
    "item_ended",
    "message_chunk",
    "queue",
    "run_ended",
    "run_started",
    "session_status",
    "turn_started",
    "user_message",
];

#[tokio::test]
async fn each_scene_shows_what_its_name_promises() {
    for (prompt, promised) in PROMISES {
        let seen = scene(prompt, agree).await;
        let tags = tags(&seen);
        // The failing scenes have their own ends.
        let always = ALWAYS.iter().filter(|tag| !(*prompt == "error" && **tag == "context_window"));
        for tag in always.chain(*promised) {
            assert!(tags.contains(tag), "{prompt}: no {tag} in {tags:?}");
        }
        assert_eq!(count(&seen, "complete"), usize::from(*prompt != "crash"), "{prompt}");
        assert!(!tags.contains("malformed"), "{prompt}");
        assert_eq!(tags.contains("unknown"), *prompt == "unknown", "{prompt}");
        assert_eq!(tags.contains("error"), matches!(*prompt, "error" | "crash"), "{prompt}");
    }
}

#[tokio::test]
async fn the_tour_shows_all_there_is_to_see() {
    let seen = scene("tour", agree).await;
    let more = [
        "api_retry",
        "compaction",
        "complete",
        "file_updated",
        "hook",
        "mode_changed",
        "permission_request",
        "permission_resolved",
        "rate_limit",
        "reasoning",
        "task",
        "todos",
        "tool_call",
        "tool_preparing",
        "tool_update",
    ];
    let expected: BTreeSet<&str> = ALWAYS.iter().copied().chain(more).collect();
    assert_eq!(tags(&seen), expected);
    assert!(seen.iter().any(|event| event.parent_tool_call_id.is_some()), "nothing of a subagent");
    let kinds: BTreeSet<&str> = seen
        .iter()
        .filter_map(
            |event| if let Body::ToolCall(call) = &event.body { Some(&call.normalized) } else { None },
        )
        .map(Normalized::tag)
        .collect();
    for kind in ["read_file", "modify_file", "shell_exec", "manage_todos", "subagent_task", "code_search"] {
        assert!(kinds.contains(kind), "no {kind} in {kinds:?}");
    }
}

#[test]
fn what_is_said_is_what_the_lines_say() {
    let partial = ["--include-partial-messages", "--replay-user-messages", "--permission-prompt-tool=stdio"];
    for (prompt, _) in PROMISES.iter().chain(&[("tour", [].as_slice())]) {
        for flags in [partial.as_slice(), &[]] {
            let lines = output(&[prompt], flags);
            let mut texts = Vec::new();
            let mut open = std::collections::BTreeMap::new();
            for event in events(&lines) {
                match &event.body {
                    Body::MessageChunk(chunk) => {
                        open.entry(chunk.item_id.0).or_insert_with(String::new).push_str(&chunk.text);
                    }
                    Body::ItemEnded(end) if end.outcome == ItemOutcome::Complete => {
                        texts.extend(open.remove(&end.item_id.0));
                    }
                    _ => {}
                }
            }
            let blocks: Vec<String> = lines.iter().flat_map(|line| text_blocks(line)).collect();
            assert_eq!(texts, blocks, "{prompt} {flags:?}");
        }
    }
}

fn text_blocks(line: &str) -> Vec<String> {
    let line: Value = serde_json::from_str(line).unwrap();
    let blocks = line["message"]["content"].as_array().cloned().unwrap_or_default();
    let texts = blocks.iter().filter_map(|block| block["text"].as_str().map(str::to_owned));
    if line["type"] == "assistant" { texts.collect() } else { Vec::new() }
}

#[tokio::test]
async fn a_denied_edit_is_not_made() {
    let seen = scene("edit", refuse).await;
    assert_eq!(count(&seen, "file_updated"), 0);
    let outcomes = seen.iter().filter_map(|event| match &event.body {
        Body::PermissionResolved(end) => Some(end.outcome),
        _ => None,
    });
    assert_eq!(outcomes.collect::<Vec<_>>(), [PermissionOutcome::Denied; 2]);
    assert!(said(&seen).contains("rather not"), "{}", said(&seen));
    let Some(Body::Complete(end)) =
        seen.iter().map(|event| &event.body).find(|body| body.tag() == "complete")
    else {
        panic!("no end")
    };
    assert_eq!(end.data.permission_denials.len(), 2);
}

#[tokio::test]
async fn modes_decide_whether_an_edit_is_asked_about_or_made() {
    for (mode, asked, made) in [
        (PermissionMode::Default, 2, 2),
        (PermissionMode::AcceptEdits, 0, 2),
        (PermissionMode::Plan, 0, 0),
        (PermissionMode::DontAsk, 0, 0),
    ] {
        let mut demo = Demo::start(Speed::AtOnce, |options| options.permission_mode(mode.clone())).await;
        demo.play("edit", agree).await;
        let seen = demo.finish().await;
        assert_eq!(
            (count(&seen, "permission_request"), count(&seen, "file_updated")),
            (asked, made),
            "{mode:?}"
        );
    }
}

#[tokio::test]
async fn what_is_remembered_is_not_asked_again() {
    fn always(request: &PermissionRequest) -> Verdict {
        Verdict::Allow(Allow { input: None, remember: request.suggestions.clone() })
    }
    let mut demo = Demo::start(Speed::AtOnce, |options| options).await;
    for prompt in ["edit", "bash", "bash"] {
        demo.play(prompt, always).await;
    }
    let seen = demo.finish().await;
    assert_eq!(count(&seen, "permission_request"), 2, "one edit, which changes the mode, and one command");
    assert_eq!(count(&seen, "mode_changed"), 1);
}

#[tokio::test]
async fn an_interrupt_ends_a_long_answer_and_the_next_prompt_works() {
    let mut demo = Demo::start(Speed::Slow, |options| options).await;
    let turn = demo.session.prompt("slow").await.unwrap();
    demo.until("message_chunk").await;
    demo.session.interrupt().await.unwrap();
    let result = turn.result().await.unwrap();
    assert_eq!(result.error.unwrap().code, "interrupted");
    assert_eq!(result.figures.terminal_reason.as_deref(), Some("aborted_streaming"));
    let turn = demo.session.prompt("limit").await.unwrap();
    assert_eq!(turn.result().await.unwrap().error, None);
    demo.finish().await;
}

#[tokio::test]
async fn an_interrupted_question_is_withdrawn() {
    let mut demo = Demo::start(Speed::AtOnce, |options| options).await;
    let turn = demo.session.prompt("question").await.unwrap();
    demo.until("permission_request").await;
    demo.session.interrupt().await.unwrap();
    let result = turn.result().await.unwrap();
    assert_eq!(result.figures.terminal_reason.as_deref(), Some("aborted_tools"));
    let seen = demo.finish().await;
    assert_eq!((count(&seen, "permission_cancelled"), count(&seen, "permission_resolved")), (1, 0));
}

#[tokio::test]
async fn an_interrupted_subagent_stops() {
    let mut demo = Demo::start(Speed::Slow, |options| options).await;
    let turn = demo.session.prompt("subagent").await.unwrap();
    demo.until("task").await;
    demo.session.interrupt().await.unwrap();
    assert_eq!(turn.result().await.unwrap().error.unwrap().code, "interrupted");
    demo.finish().await;
}
