//! A host with `fake-claude` in the place of the CLI, for what the real one cannot be made to do.
//!
//! The one rule it keeps: the fake has answered `initialize` before a test's own steps begin.

use jackfield_host::{Host, Settings};
use jackfield_testkit::case::Nothing;
use jackfield_testkit::cli::{NEWER_VERSION, Sandbox};
use jackfield_testkit::fake::{self, FakeStep, write_script};
use serde_json::{Value, json};

use crate::stage::{Follower, created, give};
use jackfield_api::SessionId;
use jackfield_api::command::CreateSession;

pub(crate) struct Faked {
    pub(crate) sandbox: Sandbox,
    pub(crate) settings: Settings,
    pub(crate) host: Host,
}

impl Faked {
    /// A CLI that gets ready, and then follows the script in each of its runs.
    pub(crate) async fn new(steps: impl IntoIterator<Item = FakeStep>) -> Self {
        Self::of_version(NEWER_VERSION, steps).await
    }

    pub(crate) async fn of_version(version: &str, steps: impl IntoIterator<Item = FakeStep>) -> Self {
        let sandbox = Sandbox::new().unwrap();
        let places = sandbox.places();
        let script = places.temporary.join("script");
        let steps: Vec<FakeStep> =
            [FakeStep::Version(version.to_owned())].into_iter().chain(ready()).chain(steps).collect();
        write_script(&script, &steps).unwrap();
        let mut settings = Settings::new(places.temporary.join("data"));
        settings.claude = Some(fake::program().unwrap_or_else(|error| panic!("{error}")));
        settings.locks = Some(places.temporary.join("locks"));
        settings.variables = std::env::vars_os().map(|(name, _)| (name, None)).collect();
        settings.variables.push(("HOME".into(), Some(places.home.clone().into())));
        settings.variables.push(("FAKE_CLAUDE_SCRIPT".into(), Some(script.into())));
        let host = Host::open(settings.clone()).await.unwrap();
        Self { sandbox, settings, host }
    }

    pub(crate) async fn session(&self) -> (SessionId, Follower) {
        let create = CreateSession::new(self.sandbox.places().workspace.to_string_lossy());
        let id = created(give(&self.host, None, create).await.unwrap());
        let follower = self.follow(&id).await;
        (id, follower)
    }

    pub(crate) async fn follow(&self, id: &SessionId) -> Follower {
        Follower::new(self.host.subscribe(id, Some(jackfield_api::Seq(0))).await.unwrap())
    }
}

pub(crate) fn ready() -> [FakeStep; 2] {
    let answer = json!({"commands": [], "agents": [], "models": [], "output_style": "default"});
    let response = json!({"subtype": "success", "request_id": "$request_id", "response": answer});
    [
        FakeStep::Expect(json!({"type": "control_request", "request": {"subtype": "initialize"}})),
        FakeStep::Send(json!({"type": "control_response", "response": response})),
    ]
}

/// A turn from its prompt to its result, in whose middle something happens.
pub(crate) fn turn(middle: impl IntoIterator<Item = FakeStep>) -> Vec<FakeStep> {
    let mut steps = vec![FakeStep::Await(json!({"type": "user"})), FakeStep::Send(init())];
    steps.extend(middle);
    steps.push(FakeStep::Send(assistant("msg_1", "u-1", "all is said")));
    steps.push(FakeStep::Send(result("all is said")));
    steps
}

/// Stays until its input ends.
pub(crate) fn stay() -> FakeStep {
    FakeStep::AwaitEof(Nothing {})
}

pub(crate) fn init() -> Value {
    json!({
        "type": "system", "subtype": "init", "cwd": "/ws", "session_id": "s", "tools": [], "mcp_servers": [],
        "model": "claude-fake", "permissionMode": "default", "slash_commands": [], "apiKeySource": "none",
        "claude_code_version": NEWER_VERSION, "output_style": "default", "uuid": "u-init",
    })
}

pub(crate) fn assistant(id: &str, uuid: &str, text: &str) -> Value {
    json!({
        "type": "assistant", "parent_tool_use_id": null, "session_id": "s", "uuid": uuid,
        "message": {
            "id": id, "type": "message", "role": "assistant", "model": "claude-fake",
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

/// Asks whether a command may run.
pub(crate) fn ask(name: &str) -> FakeStep {
    FakeStep::Send(json!({"type": "control_request", "request_id": name, "request": {
        "subtype": "can_use_tool", "tool_name": "Bash", "display_name": "Bash", "tool_use_id": name,
        "input": {"command": "true"}, "permission_suggestions": [],
    }}))
}

/// No longer waits for an answer.
pub(crate) fn withdraw(name: &str) -> FakeStep {
    FakeStep::Send(json!({"type": "control_cancel_request", "request_id": name}))
}

/// The very next line must be the answer to this question: a second one to another would end the fake.
pub(crate) fn answered(name: &str) -> FakeStep {
    FakeStep::Expect(json!({"type": "control_response", "response": {"request_id": name}}))
}
