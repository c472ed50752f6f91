//! A CLI that is played: what it is told, and the lines it has yet to write.
//!
//! It does what the real one does with prompts, questions and interrupts, in the fewest lines. The one rule it keeps:
//! it carries a tool out when it was told to, and never otherwise.

use std::collections::VecDeque;

use jackfield_sdk::wire::Outbound;
use serde_json::{Value, json};

/// A CLI that is played.
#[derive(Debug, Default)]
pub(super) struct Cli {
    /// Which of the session's CLIs it is.
    number: u64,
    turns: u64,
    /// Prompts that it has not taken yet.
    waiting: VecDeque<String>,
    /// What it will write, up to a question.
    saying: VecDeque<Value>,
    /// The question that it waits with, and what it will write behind that.
    asking: Option<String>,
    in_turn: bool,
    input_ended: bool,
    /// Tools that it was told to run.
    pub(super) ran: Vec<String>,
}

impl Cli {
    pub(super) fn new(number: u64) -> Self {
        Self { number, ..Self::default() }
    }

    /// Whether it has ended by itself.
    pub(super) fn is_over(&self) -> bool {
        self.input_ended && !self.in_turn && self.waiting.is_empty()
    }

    /// Whether it has something to write.
    pub(super) fn speaks(&self) -> bool {
        !self.saying.is_empty() || (!self.in_turn && !self.waiting.is_empty())
    }

    /// The next line. `choice` decides what a turn is like.
    pub(super) fn line(&mut self, choice: u64) -> Option<String> {
        if self.saying.is_empty() && !self.in_turn {
            self.take(choice)?;
        }
        let line = self.saying.pop_front()?;
        if line["type"] == "result" {
            self.in_turn = false;
        }
        Some(line.to_string())
    }

    /// A line was written to it.
    pub(super) fn hear(&mut self, line: &Outbound) {
        match line {
            Outbound::User(prompt) => {
                self.waiting
                    .push_back(prompt.uuid().map(|uuid| uuid.as_str().to_owned()).unwrap_or_default());
            }
            Outbound::ControlRequest(_) | Outbound::ControlResponse(_) => {
                let line: Value = serde_json::from_str(&line.encode()).unwrap();
                if line["type"] == "control_response" {
                    self.answered(&line["response"]);
                } else {
                    self.asked(&line);
                }
            }
            _ => {}
        }
    }

    /// Its input ended.
    pub(super) fn hear_end(&mut self) {
        self.input_ended = true;
        if self.asking.take().is_some() {
            // It fails closed: the tool does not run.
            self.end_turn();
        }
    }

    fn name(&self, what: &str) -> String {
        format!("{what}-{}-{}", self.number, self.turns)
    }

    fn take(&mut self, choice: u64) -> Option<()> {
        // Some take one prompt, some all that wait.
        let taken: Vec<String> = match choice % 3 {
            0 => self.waiting.drain(..).collect(),
            _ => self.waiting.pop_front().into_iter().collect(),
        };
        if taken.is_empty() {
            return None;
        }
        self.turns += 1;
        self.in_turn = true;
        self.saying.push_back(self.init());
        for uuid in &taken {
            self.saying.push_back(json!({
                "type": "user", "isReplay": true, "parent_tool_use_id": null, "session_id": "s", "uuid": uuid,
                "message": {"role": "user", "content": [{"type": "text", "text": "hello"}]},
            }));
        }
        match choice / 3 % 4 {
            0 => self.say(),
            1 => {
                self.stream();
                self.ask();
                return Some(());
            }
            2 => {
                self.ask();
                return Some(());
            }
            _ => self.stream(),
        }
        self.end_turn();
        Some(())
    }

    fn init(&self) -> Value {
        json!({
            "type": "system", "subtype": "init", "cwd": "/ws", "session_id": "s", "tools": [],
            "mcp_servers": [], "model": "claude-played", "permissionMode": "default", "slash_commands": [],
            "apiKeySource": "none", "claude_code_version": "2.1.325", "output_style": "default",
            "uuid": self.name("init"),
        })
    }

    fn assistant(&self, id: &str, block: &Value) -> Value {
        json!({
            "type": "assistant", "parent_tool_use_id": null, "session_id": "s", "uuid": self.name("said"),
            "message": {
                "id": id, "type": "message", "role": "assistant", "model": "claude-played",
                "content": [block], "stop_reason": null, "stop_sequence": null,
                "usage": {"input_tokens": 1, "output_tokens": 1},
            },
        })
    }

    fn say(&mut self) {
        let line = self.assistant(&self.name("whole"), &json!({"type": "text", "text": "some words"}));
        self.saying.push_back(line);
    }

    fn stream(&mut self) {
        let event = |event: Value| {
            json!({
                "type": "stream_event", "event": event, "parent_tool_use_id": null, "session_id": "s",
                "uuid": "u",
            })
        };
        let id = self.name("streamed");
        let message = json!({
            "id": id, "type": "message", "role": "assistant", "model": "claude-played", "content": [],
            "stop_reason": null, "stop_sequence": null, "usage": {"input_tokens": 1, "output_tokens": 1},
        });
        let begun = json!({"type": "text", "text": ""});
        self.saying.push_back(event(json!({"type": "message_start", "message": message})));
        self.saying
            .push_back(event(json!({"type": "content_block_start", "index": 0, "content_block": begun})));
        for piece in ["on ", "and ", "on"] {
            let delta = json!({"type": "text_delta", "text": piece});
            self.saying.push_back(event(json!({"type": "content_block_delta", "index": 0, "delta": delta})));
        }
        let whole = self.assistant(&id, &json!({"type": "text", "text": "on and on"}));
        self.saying.push_back(whole);
        self.saying.push_back(event(json!({"type": "content_block_stop", "index": 0})));
        self.saying.push_back(event(json!({"type": "message_stop"})));
    }

    fn ask(&mut self) {
        let tool = self.name("toolu");
        let call = json!({"type": "tool_use", "id": tool, "name": "Bash", "input": {"command": "true"}});
        let line = self.assistant(&self.name("calls"), &call);
        self.saying.push_back(line);
        self.saying.push_back(json!({"type": "control_request", "request_id": tool, "request": {
            "subtype": "can_use_tool", "tool_name": "Bash", "display_name": "Bash", "tool_use_id": tool,
            "input": {"command": "true"}, "permission_suggestions": [],
        }}));
        self.asking = Some(tool);
    }

    fn answered(&mut self, response: &Value) {
        let Some(tool) = self.asking.take_if(|tool| response["request_id"] == **tool) else { return };
        let allowed = response["response"]["behavior"] == "allow";
        if allowed {
            self.ran.push(tool.clone());
        }
        self.saying.push_back(json!({
            "type": "user", "parent_tool_use_id": null, "session_id": "s", "uuid": self.name("result-of"),
            "message": {"role": "user", "content": [{
                "type": "tool_result", "tool_use_id": tool, "content": "so", "is_error": !allowed,
            }]},
        }));
        self.say();
        self.end_turn();
    }

    fn asked(&mut self, line: &Value) {
        let request_id = &line["request_id"];
        if line["request"]["subtype"] == "interrupt" && self.in_turn {
            if let Some(tool) = self.asking.take() {
                self.saying.push_back(json!({"type": "control_cancel_request", "request_id": tool}));
            }
            // What it owes to the protocol, and what it has taken, is said all the same.
            self.saying.retain(|line| {
                line["type"].as_str().is_some_and(|name| name.starts_with("control_"))
                    || line["subtype"] == "init"
                    || line["isReplay"] == true
            });
            self.end_turn();
        }
        let response = json!({"subtype": "success", "request_id": request_id, "response": {}});
        self.saying.push_front(json!({"type": "control_response", "response": response}));
    }

    fn end_turn(&mut self) {
        self.saying.push_back(json!({
            "type": "result", "subtype": "success", "is_error": false, "duration_ms": 1, "duration_api_ms": 1,
            "num_turns": 1, "result": "some words", "stop_reason": "end_turn", "session_id": "s",
            "uuid": self.name("result"), "total_cost_usd": 0.0,
            "usage": {"input_tokens": 1, "output_tokens": 2}, "modelUsage": {}, "permission_denials": [],
        }));
    }
}
