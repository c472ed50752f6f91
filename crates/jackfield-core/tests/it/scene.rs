//! Hand-written inputs: a session on a stage, the lines that a CLI would write, and what comes out as JSON
//! that can be compared whole.
//!
//! The lines have the members that the machine looks at and no others. The one rule: nothing of an output is
//! left out but an event's envelope, so that a test says all that happens.

#![expect(clippy::needless_pass_by_value, reason = "a test reads better without `&` before every value")]

use jackfield_api::{self as api, codec};
use jackfield_core::{By, Launch, Options, Output, Signal};
use serde_json::{Value, json};

use crate::harness::{Stage, Step};

/// A session with a run.
pub(crate) struct Scene {
    pub(crate) stage: Stage,
}

impl Scene {
    /// A new session, in which a process has just begun.
    pub(crate) fn new() -> Self {
        Self::with(Options::default())
    }

    /// The same, with these options.
    pub(crate) fn with(options: Options) -> Self {
        let options = Options { session_id: Some("ours".into()), ..options };
        let mut scene = Self { stage: Stage::with(options) };
        scene.start();
        scene
    }

    /// A session in the middle of a turn that a prompt began.
    pub(crate) fn in_turn() -> Self {
        let mut scene = Self::new();
        scene.host(&prompt("first", "begin"));
        scene.cli(&init("cli-1"));
        scene
    }

    /// A process begins.
    pub(crate) fn start(&mut self) -> Vec<Value> {
        self.take(Step::Started(Launch::from_arguments::<&str>(&[])))
    }

    /// The CLI writes a line.
    pub(crate) fn cli(&mut self, line: &Value) -> Vec<Value> {
        self.take(Step::Line(line.to_string().into_bytes()))
    }

    /// The host writes a line that no command has caused.
    pub(crate) fn host(&mut self, line: &Value) -> Vec<Value> {
        self.take(Step::Sent(line.to_string().into_bytes(), By::Host))
    }

    /// A client named `web` asks for something.
    pub(crate) fn command(&mut self, command: impl Into<api::Command>) -> Vec<Value> {
        self.take(Step::Command(command.into(), By::Client("web".into())))
    }

    /// A client named `web` asks for something, as JSON.
    pub(crate) fn ask(&mut self, command: &Value) -> Vec<Value> {
        self.command(serde_json::from_value::<api::Command>(command.clone()).unwrap())
    }

    /// Anything else happens.
    pub(crate) fn take(&mut self, step: Step) -> Vec<Value> {
        self.stage.take(&step).iter().map(plain).collect()
    }

    /// Milliseconds from now to the deadline.
    pub(crate) fn due_in(&mut self) -> Option<u64> {
        let now = self.stage.now();
        self.stage.session().deadline().map(|due| due.0.saturating_sub(now))
    }
}

/// An output as JSON: an event without its envelope, everything else under its own name.
pub(crate) fn plain(output: &Output) -> Value {
    match output {
        Output::Event(event) => {
            let mut line = Vec::new();
            codec::encode(event, &mut line);
            let mut event: Value = serde_json::from_slice(&line).unwrap();
            for name in ["seq", "at", "session_id", "turn"] {
                event.as_object_mut().unwrap().remove(name);
            }
            event
        }
        Output::Write(line, by) => {
            json!({ "write": serde_json::from_str::<Value>(&line.encode()).unwrap(), "by": by.name() })
        }
        Output::Answer(id, Ok(reply)) => json!({ "accepted": &*id.0, "reply": reply }),
        Output::Answer(id, Err(rejection)) => json!({ "rejected": &*id.0, "code": rejection.code }),
        Output::Call(id, call) => json!({ "call": id.0, "what": format!("{call:?}") }),
        Output::CallWithdrawn(id) => json!({ "call_withdrawn": id.0 }),
        Output::CloseStdin => json!("close stdin"),
        Output::Signal(Signal::Terminate) => json!("terminate"),
        Output::Signal(Signal::Kill) => json!("kill"),
    }
}

/// Only what is of these types, in order.
pub(crate) fn of_type(told: &[Value], types: &[&str]) -> Vec<Value> {
    told.iter()
        .filter(|event| event["type"].as_str().is_some_and(|kind| types.contains(&kind)))
        .cloned()
        .collect()
}

/// All events of a session, of these types.
pub(crate) fn all_of_type(scene: &Scene, types: &[&str]) -> Vec<Value> {
    let told: Vec<Value> = scene.stage.outputs().iter().map(plain).collect();
    of_type(&told, types)
}

pub(crate) fn prompt(uuid: &str, text: &str) -> Value {
    let message = json!({ "role": "user", "content": [{ "type": "text", "text": text }] });
    json!({ "type": "user", "message": message, "parent_tool_use_id": null, "session_id": "", "uuid": uuid })
}

pub(crate) fn prompt_command(uuid: &str, text: &str) -> Value {
    json!({ "type": "prompt", "uuid": uuid, "content": [{ "type": "text", "text": text }], "priority": "next" })
}

pub(crate) fn init(session_id: &str) -> Value {
    json!({
        "type": "system", "subtype": "init", "cwd": "/ws", "tools": ["Bash"], "mcp_servers": [],
        "model": "claude-x", "permissionMode": "default", "slash_commands": ["compact"],
        "claude_code_version": "2.1.325", "session_id": session_id, "uuid": "line",
    })
}

pub(crate) fn assistant(message: &str, block: Value) -> Value {
    json!({
        "type": "assistant", "parent_tool_use_id": null, "session_id": "cli-1", "uuid": format!("line-{message}"),
        "message": { "id": message, "role": "assistant", "model": "claude-x", "content": [block] },
    })
}

pub(crate) fn text(message: &str, text: &str) -> Value {
    assistant(message, json!({ "type": "text", "text": text }))
}

pub(crate) fn bash(message: &str, id: &str, command: &str) -> Value {
    assistant(
        message,
        json!({ "type": "tool_use", "id": id, "name": "Bash", "input": { "command": command } }),
    )
}

pub(crate) fn tool_result(id: &str, output: &str) -> Value {
    let block = json!({ "type": "tool_result", "tool_use_id": id, "content": output, "is_error": false });
    json!({
        "type": "user", "message": { "role": "user", "content": [block] }, "parent_tool_use_id": null,
        "session_id": "cli-1", "uuid": format!("line-{id}"),
    })
}

pub(crate) fn stream(event: Value) -> Value {
    json!({ "type": "stream_event", "event": event, "parent_tool_use_id": null, "session_id": "cli-1", "uuid": "line" })
}

pub(crate) fn result(total_cost_usd: f64) -> Value {
    json!({
        "type": "result", "subtype": "success", "is_error": false, "duration_ms": 9, "duration_api_ms": 5,
        "num_turns": 1, "result": "done", "session_id": "cli-1", "total_cost_usd": total_cost_usd,
        "usage": { "input_tokens": 3, "output_tokens": 2 }, "permission_denials": [],
        "terminal_reason": "completed", "uuid": "line-result",
    })
}

pub(crate) fn interrupted() -> Value {
    json!({
        "type": "result", "subtype": "error_during_execution", "is_error": true, "duration_ms": 9,
        "duration_api_ms": 5, "num_turns": 1, "session_id": "cli-1", "total_cost_usd": 0.0,
        "permission_denials": [], "terminal_reason": "aborted_streaming", "errors": ["[ede_diagnostic] x"],
        "uuid": "line-result",
    })
}

pub(crate) fn can_use_tool(request_id: &str, tool: &str, tool_use_id: &str, input: &Value) -> Value {
    let request =
        json!({ "subtype": "can_use_tool", "tool_name": tool, "input": input, "tool_use_id": tool_use_id });
    json!({ "type": "control_request", "request_id": request_id, "request": request })
}

pub(crate) fn success(request_id: &str) -> Value {
    json!({ "type": "control_response", "response": { "subtype": "success", "request_id": request_id } })
}

pub(crate) fn success_with(request_id: &str, response: &Value) -> Value {
    let response = json!({ "subtype": "success", "request_id": request_id, "response": response });
    json!({ "type": "control_response", "response": response })
}

pub(crate) fn lifecycle(uuid: &str, state: &str) -> Value {
    json!({ "type": "command_lifecycle", "command_uuid": uuid, "state": state, "uuid": "line", "session_id": "cli-1" })
}

pub(crate) fn replay(uuid: &str, text: &str) -> Value {
    let mut line = prompt(uuid, text);
    line["isReplay"] = json!(true);
    line["session_id"] = json!("cli-1");
    line
}
