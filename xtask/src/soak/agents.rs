//! Who answers in the sessions of the chaos run, and what they are made to do.
//!
//! The real CLIs get their words from a scripted API, `fake-claude` from a script of its own; a prompt names what is
//! to happen. The one rule it keeps: a tool that is carried out writes the name of its call into a file, once, so that
//! what really happened can be compared with what was said to have happened.

use std::collections::BTreeMap;
use std::path::PathBuf;

use jackfield_testkit::api::{Block, Content, HttpError, Reply, Scenario};
use jackfield_testkit::case::Nothing;
use jackfield_testkit::cli::NEWER_VERSION;
use jackfield_testkit::fake::{Bytes, FakeStep, Scene};
use serde_json::{Value, json};

/// Where a tool writes the name of its call, in the session's folder.
pub(super) const DONE: &str = "done.log";

/// Who answers.
#[derive(Debug, Clone)]
pub(super) enum Agent {
    /// The real CLI of a version.
    Real { version: &'static str, program: PathBuf },
    /// The stand-in, for what the real one cannot be made to do.
    Fake { program: PathBuf },
}

impl Agent {
    pub(super) fn name(&self) -> &str {
        match self {
            Self::Real { version, .. } => version,
            Self::Fake { .. } => "fake",
        }
    }

    pub(super) fn program(&self) -> &PathBuf {
        let (Self::Real { program, .. } | Self::Fake { program }) = self;
        program
    }

    /// How many sessions there are at a time: a real CLI takes memory, and a while to start.
    pub(super) fn sessions(&self) -> usize {
        match self {
            Self::Real { .. } => 4,
            Self::Fake { .. } => 8,
        }
    }

    /// What may be said to it.
    pub(super) fn prompts(&self) -> &'static [&'static str] {
        match self {
            Self::Real { .. } => &[
                "TALK", "TALK", "THINK", "THINK", "BASH", "BASH", "BASH", "PAIR", "PAIR", "LONG", "FAIL",
                "EDIT",
            ],
            // What hangs is seldom: a round waits for its end.
            Self::Fake { .. } => &[
                "TALK", "TALK", "TALK", "TALK", "FLOOD", "FLOOD", "FLOOD", "ASK", "ASK", "ASK", "ASK", "ASK",
                "ASK", "THREE", "THREE", "NONSENSE", "NONSENSE", "STDERR", "SLOW", "SLOW", "HALF", "HALF",
                "DIE", "DIE", "SILENT", "HANG",
            ],
        }
    }
}

/// What the model says to the real CLIs, by what it was told last.
pub(super) fn scenario() -> Scenario {
    let text = |text: &str| Content::Text { text: text.to_owned() };
    let bash = |command: &str, index: usize| Content::ToolUse {
        name: "Bash".to_owned(),
        id: None,
        input: json!({
            "command": format!("echo toolu_$number_{index:02} >> {DONE}{command}"),
            "description": "a command",
        }),
        raw_json: None,
    };
    let edit = Content::ToolUse {
        name: "Write".to_owned(),
        id: None,
        input: json!({ "file_path": "/ws/edited.txt", "content": "by reply $number" }),
        raw_json: None,
    };
    let thinking = Content::Thinking {
        thinking: "what could be meant by this, and what else could it be, and so on".to_owned(),
        signature: None,
    };
    let said = "Reply $number says this, a few words at a time, so that there is something to be cut off in \
                the middle, and then it is over.";
    let failed = json!({ "type": "error", "error": { "type": "invalid_request_error", "message": "no" } });
    Scenario {
        turns: vec![
            // It comes first: behind a tool's result the prompt is no longer the last message.
            reply(Some("tool_result"), [text("That was reply $number.")]),
            reply(Some("BASH"), [text("Reply $number runs something."), bash("", 2)]),
            reply(Some("PAIR"), [bash("; sleep 0.3", 1), bash("; sleep 0.1", 2)]),
            // Not one that clears its environment: that is known to its guard alone, and guards are killed here.
            reply(
                Some("LONG"),
                [bash("; setsid sleep 300 & env -u HOME sleep 300 & sleep 20; echo over", 1)],
            ),
            reply(Some("EDIT"), [edit]),
            reply(Some("THINK"), [thinking, text(said)]),
            Reply {
                http: Some(HttpError { status: 400, body: failed, headers: BTreeMap::new() }),
                ..reply(Some("FAIL"), [])
            },
            reply(None, [text(said), text("And that is all of reply $number.")]),
        ],
    }
}

fn reply(to: Option<&str>, contents: impl IntoIterator<Item = Content>) -> Reply {
    let paced = |content| Block { chunk_delay: Some(0.01), ..Block::new(content) };
    Reply {
        blocks: contents.into_iter().map(paced).collect(),
        match_last: to.map(str::to_owned),
        repeat: Some(usize::MAX),
        ..Reply::default()
    }
}

/// What the stand-in does, by the word in a prompt.
pub(super) fn script() -> Vec<FakeStep> {
    // A prompt is one text, or a list of parts.
    let words = |word: &str| {
        let word = json!({"$contains": word});
        [word.clone(), json!([{"text": word}])]
            .map(|word| json!({"type": "user", "message": {"content": word}}))
    };
    let turn = |name: &str, steps: Vec<FakeStep>, ends: Ends| {
        let mut all = vec![FakeStep::Send(init())];
        all.extend(steps);
        if ends == Ends::Well {
            all.push(FakeStep::Send(assistant("all is said by $unique")));
            all.push(FakeStep::Send(result()));
        }
        words(name).map(|when| Scene { when, steps: all.clone() })
    };
    let answered = |which: u32| {
        FakeStep::Await(json!({"type": "control_response", "response": {"request_id": call(which)}}))
    };
    let half = FakeStep::SendRaw(Bytes::Text("{\"type\":\"assistant\",\"mess".to_owned()));
    let odd = ["not json\n", "{\"type\":\"never_heard_of\",\"a\":1}\n", "[]\n", "{\"type\":\"assistant\"}\n"];
    let turns = [
        turn("TALK", vec![FakeStep::Send(assistant("some words of $unique"))], Ends::Well),
        turn("FLOOD", flood(), Ends::Well),
        turn("ASK", vec![ask(1), answered(1)], Ends::Well),
        turn("THREE", vec![ask(1), ask(2), ask(3), answered(1)], Ends::Well),
        turn("NONSENSE", odd.map(|line| FakeStep::SendRaw(Bytes::Text(line.to_owned()))).into(), Ends::Well),
        turn("STDERR", vec![FakeStep::Stderr("x".repeat(200)); 200], Ends::Well),
        turn("SLOW", vec![FakeStep::Sleep(2.0)], Ends::Well),
        turn("HALF", vec![half, FakeStep::Exit(3)], Ends::Badly),
        turn("DIE", vec![FakeStep::Exit(7)], Ends::Badly),
        turn("SILENT", vec![FakeStep::CloseStdout(Nothing {}), FakeStep::AwaitEof(Nothing {})], Ends::Badly),
        turn("HANG", vec![FakeStep::Hang(Nothing {})], Ends::Badly),
    ];
    let others = [
        // Whatever else is asked of it while nothing happens: it is done.
        Scene {
            when: json!({"type": "control_request"}),
            steps: vec![FakeStep::Send(json!({"type": "control_response", "response": {
                "subtype": "success", "request_id": "$request_id", "response": {"commands": [], "agents": [],
                "models": [], "output_style": "default"},
            }}))],
        },
        Scene { when: json!({}), steps: Vec::new() },
    ];
    let scenes = turns.into_iter().flatten().chain(others).collect();
    vec![
        FakeStep::Version(NEWER_VERSION.to_owned()),
        FakeStep::Repeat { times: u64::MAX, steps: vec![FakeStep::Scenes(scenes)] },
    ]
}

/// How a turn of the stand-in ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ends {
    Well,
    Badly,
}

fn call(which: u32) -> String {
    format!("ask-$unique-{which}")
}

fn ask(which: u32) -> FakeStep {
    FakeStep::Send(json!({"type": "control_request", "request_id": call(which), "request": {
        "subtype": "can_use_tool", "tool_name": "Bash", "display_name": "Bash", "tool_use_id": call(which),
        "input": {"command": "true"}, "permission_suggestions": [],
    }}))
}

fn flood() -> Vec<FakeStep> {
    let event = |event: Value| {
        json!({
            "type": "stream_event", "event": event, "parent_tool_use_id": null, "session_id": "$session", "uuid": "u",
        })
    };
    let message = json!({
        "id": "msg-$unique", "type": "message", "role": "assistant", "model": "claude-fake", "content": [],
        "stop_reason": null, "stop_sequence": null, "usage": {"input_tokens": 1, "output_tokens": 1},
    });
    let piece = json!({"type": "text_delta", "text": "on and on "});
    vec![
        FakeStep::Send(event(json!({"type": "message_start", "message": message}))),
        FakeStep::Send(event(json!({
            "type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""},
        }))),
        FakeStep::Repeat {
            times: 400,
            steps: vec![FakeStep::Send(event(
                json!({"type": "content_block_delta", "index": 0, "delta": piece}),
            ))],
        },
        FakeStep::Send(event(json!({"type": "content_block_stop", "index": 0}))),
        FakeStep::Send(event(json!({"type": "message_stop"}))),
    ]
}

fn init() -> Value {
    json!({
        "type": "system", "subtype": "init", "cwd": "/ws", "session_id": "$session", "tools": [], "mcp_servers": [],
        "model": "claude-fake", "permissionMode": "default", "slash_commands": [], "apiKeySource": "none",
        "claude_code_version": NEWER_VERSION, "output_style": "default", "uuid": "init-$unique",
    })
}

fn assistant(text: &str) -> Value {
    json!({
        "type": "assistant", "parent_tool_use_id": null, "session_id": "$session", "uuid": "said-$unique",
        "message": {
            "id": "whole-$unique", "type": "message", "role": "assistant", "model": "claude-fake",
            "content": [{"type": "text", "text": text}], "stop_reason": null, "stop_sequence": null,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        },
    })
}

fn result() -> Value {
    json!({
        "type": "result", "subtype": "success", "is_error": false, "duration_ms": 1, "duration_api_ms": 1,
        "num_turns": 1, "result": "all is said", "stop_reason": "end_turn", "session_id": "$session",
        "uuid": "result-$unique", "total_cost_usd": 0.0, "usage": {"input_tokens": 1, "output_tokens": 2},
        "modelUsage": {}, "permission_denials": [], "terminal_reason": "completed",
    })
}
