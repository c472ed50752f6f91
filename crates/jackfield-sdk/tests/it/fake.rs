//! `fake-claude` in the place of the CLI, for what the real one cannot be made to do.
//!
//! It is always the same host that talks to it: options, guard and environment are those of a real session.
//! The one rule it keeps: the fake has answered `initialize` before a test's own steps begin.

use std::fs;

use jackfield_sdk::{Callbacks, Options, Session};
use jackfield_testkit::case::Nothing;
use jackfield_testkit::cli::{NEWER_VERSION, Sandbox};
use jackfield_testkit::fake::{self, Bytes, FakeStep, write_script};
use jackfield_testkit::processes;
use serde_json::{Value, json};

use super::place;

/// A script in a private place.
pub(crate) struct Fake {
    pub(crate) sandbox: Sandbox,
}

impl Fake {
    /// A CLI that gets ready and then follows the script.
    pub(crate) fn new(steps: impl IntoIterator<Item = FakeStep>) -> Self {
        Self::from_the_start(ready().into_iter().chain(steps))
    }

    /// A CLI that follows the script from its first line on.
    pub(crate) fn from_the_start(steps: impl IntoIterator<Item = FakeStep>) -> Self {
        let sandbox = Sandbox::new().unwrap();
        let version = FakeStep::Version(NEWER_VERSION.to_owned());
        let steps: Vec<FakeStep> = [version].into_iter().chain(steps).collect();
        write_script(&sandbox.places().temporary.join("script"), &steps).unwrap();
        Self { sandbox }
    }

    /// Options with nothing of this process in the environment.
    pub(crate) fn options(&self) -> Options {
        let places = self.sandbox.places();
        let mut options = Options::new(&places.workspace)
            .claude(fake::program().unwrap_or_else(|error| panic!("{error}")))
            .guard([env!("CARGO_BIN_EXE_jackfield-guard")])
            .locks(places.temporary.join("locks"));
        for (name, _) in std::env::vars_os() {
            options = options.without_variable(name);
        }
        options.variable("FAKE_CLAUDE_SCRIPT", places.temporary.join("script"))
    }

    pub(crate) async fn session(&self) -> Session {
        place::start(self.options(), Callbacks::new()).await
    }

    /// The fake itself, not its guard.
    pub(crate) fn process(&self) -> u32 {
        let is_fake = |id: &u32| {
            fs::read_link(format!("/proc/{id}/exe")).is_ok_and(|program| program.ends_with("fake-claude"))
        };
        let inside = processes::inside(&self.sandbox.places().workspace);
        inside.into_iter().find(is_fake).expect("the fake runs")
    }

    /// Everything that is alive in its place.
    pub(crate) fn alive(&self) -> Vec<u32> {
        processes::inside(&self.sandbox.places().workspace)
    }
}

/// Gets ready.
pub(crate) fn ready() -> [FakeStep; 2] {
    let answer = json!({"commands": [], "agents": [], "models": [], "output_style": "default"});
    let response = json!({"subtype": "success", "request_id": "$request_id", "response": answer});
    [
        FakeStep::Expect(json!({"type": "control_request", "request": {"subtype": "initialize"}})),
        // The request's own id is found in the last line that was read.
        FakeStep::Send(json!({"type": "control_response", "response": response})),
    ]
}

/// Waits for a prompt.
pub(crate) fn prompted() -> FakeStep {
    FakeStep::Await(json!({"type": "user"}))
}

/// Stays, reads, says nothing, and goes when its input ends.
pub(crate) fn silence() -> FakeStep {
    FakeStep::AwaitEof(Nothing {})
}

/// Bytes that are text, as they are.
pub(crate) fn bytes(text: impl Into<String>) -> FakeStep {
    FakeStep::SendRaw(Bytes::Text(text.into()))
}

/// A turn from its prompt to its result.
pub(crate) fn turn(text: &str) -> Vec<FakeStep> {
    turn_around(text, "", [])
}

/// A turn in whose middle something else happens.
pub(crate) fn turn_around(
    before: &str,
    after: &str,
    middle: impl IntoIterator<Item = FakeStep>,
) -> Vec<FakeStep> {
    let mut steps = vec![prompted()];
    steps.extend(opening(before));
    steps.extend(middle);
    if !after.is_empty() {
        steps.push(FakeStep::Send(delta(after)));
    }
    steps.extend(closing(&format!("{before}{after}")));
    steps
}

/// The beginning of a turn, up to its first words.
pub(crate) fn opening(text: &str) -> Vec<FakeStep> {
    let start = json!({"type": "message_start", "message": {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-fake", "content": [],
        "stop_reason": null, "stop_sequence": null, "usage": {"input_tokens": 1, "output_tokens": 1},
    }});
    let block =
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}});
    [init(), stream(&start), stream(&block), delta(text)].map(FakeStep::Send).into()
}

/// The end of a turn that has said this.
pub(crate) fn closing(text: &str) -> Vec<FakeStep> {
    let stop = json!({"type": "content_block_stop", "index": 0});
    let end =
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}});
    let message_stop = json!({"type": "message_stop"});
    [assistant(text), stream(&stop), stream(&end), stream(&message_stop), result(text)]
        .map(FakeStep::Send)
        .into()
}

pub(crate) fn init() -> Value {
    json!({
        "type": "system", "subtype": "init", "cwd": "/ws", "session_id": "s", "tools": [], "mcp_servers": [],
        "model": "claude-fake", "permissionMode": "default", "slash_commands": [], "apiKeySource": "none",
        "claude_code_version": NEWER_VERSION, "output_style": "default", "uuid": "u-init",
    })
}

pub(crate) fn delta(text: &str) -> Value {
    stream(&json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}}))
}

pub(crate) fn stream(event: &Value) -> Value {
    json!({
        "type": "stream_event", "event": event, "session_id": "s", "parent_tool_use_id": null, "uuid": "u",
    })
}

pub(crate) fn assistant(text: &str) -> Value {
    json!({
        "type": "assistant", "parent_tool_use_id": null, "session_id": "s", "uuid": "u-assistant",
        "message": {
            "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-fake",
            "content": [{"type": "text", "text": text}], "stop_reason": null, "stop_sequence": null,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        },
    })
}

pub(crate) fn result(text: &str) -> Value {
    json!({
        "type": "result", "subtype": "success", "is_error": false, "duration_ms": 1, "duration_api_ms": 1,
        "num_turns": 1, "result": text, "stop_reason": "end_turn", "session_id": "s", "uuid": "u-result",
        "total_cost_usd": 0.0, "usage": {"input_tokens": 1, "output_tokens": 2}, "modelUsage": {},
        "permission_denials": [], "terminal_reason": "completed",
    })
}

/// The CLI asks whether a command may run.
pub(crate) fn ask(request_id: &str) -> Value {
    json!({"type": "control_request", "request_id": request_id, "request": {
        "subtype": "can_use_tool", "tool_name": "Bash", "display_name": "Bash", "tool_use_id": request_id,
        "input": {"command": "true"}, "permission_suggestions": [],
    }})
}

/// The CLI no longer waits for an answer.
pub(crate) fn withdraw(request_id: &str) -> Value {
    json!({"type": "control_cancel_request", "request_id": request_id})
}

/// The next line must answer this question.
pub(crate) fn answered(request_id: &str) -> FakeStep {
    FakeStep::Expect(json!({"type": "control_response", "response": {"request_id": request_id}}))
}
