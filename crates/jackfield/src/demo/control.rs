//! What the host asks of the agent.
//!
//! The one rule: every request is answered exactly once and at once, in the middle of a turn too; one that
//! is not known is refused in the CLI's own words.

use jackfield_wire::{HostRequest, RequestId};
use serde_json::{Value, json};

use super::VERSION;
use super::agent::{Agent, Stop};
use super::arguments::DEFAULT_MODEL;
use super::offers;

impl Agent {
    pub(super) fn answer(&mut self, id: &RequestId, request: &HostRequest) -> Result<(), Stop> {
        match request {
            HostRequest::Initialize(wanted) => {
                self.arguments.subagent_text |= wanted.forward_subagent_text == Some(true);
                let answer = offers::initialize(&self.mode, self.turn.running);
                self.succeed(id, answer);
            }
            HostRequest::Interrupt(_) => {
                self.withdraw();
                self.succeed(id, Value::Null);
                if self.turn.running {
                    return Err(Stop::Interrupted);
                }
            }
            HostRequest::SetPermissionMode(set) => {
                let mode = set.mode.as_str();
                if mode == "bypassPermissions" && !self.arguments.bypass_allowed {
                    let why = "Cannot set permission mode to bypassPermissions because the session was not \
                               launched with --dangerously-skip-permissions";
                    self.refuse(id, why);
                } else {
                    self.succeed(id, json!({ "mode": mode }));
                    self.set_mode(mode);
                }
            }
            HostRequest::SetModel(set) => self.set_model(id, set.model.as_deref()),
            HostRequest::RewindFiles(rewind) => {
                let preview = rewind.dry_run == Some(true);
                let none = "No file checkpoint found for this message.";
                match self.files.rewind(rewind.user_message_id.as_str(), preview) {
                    Some(answer) => self.succeed(id, answer),
                    None if preview => self.succeed(id, json!({ "canRewind": false, "error": none })),
                    None => self.refuse(id, none),
                }
            }
            HostRequest::CancelAsyncMessage(cancel) => {
                let at = self.queue.iter().position(|prompt| prompt.uuid() == Some(&cancel.message_uuid));
                if let Some(at) = at {
                    self.queue.remove(at);
                }
                self.succeed(id, json!({ "cancelled": at.is_some() }));
            }
            HostRequest::StopTask(stop) => {
                let at = self.tasks.iter().position(|task| task.id == stop.task_id.as_str());
                if let Some(at) = at {
                    let task = self.tasks.remove(at);
                    let description = task.description.clone();
                    self.tell_task_end(&task, ["killed", "stopped"], &description);
                    self.tell_tasks();
                }
                self.succeed(id, json!({}));
            }
            HostRequest::BackgroundTasks(_) => self.succeed(id, json!({ "backgrounded": false })),
            HostRequest::McpStatus(_) => self.succeed(id, offers::servers()),
            HostRequest::McpReconnect(server) => self.answer_for(id, &server.server_name),
            HostRequest::McpToggle(toggle) => self.answer_for(id, &toggle.server_name),
            HostRequest::McpSetServers(_) => {
                self.succeed(id, json!({ "added": [], "removed": [], "errors": {} }));
            }
            HostRequest::GetContextUsage(_) => {
                let answer = offers::context(&self.meter, &self.model);
                self.succeed(id, answer);
            }
            HostRequest::GetSessionCost => {
                let text = format!("Total cost: ${:.4} (play money)", self.meter.cost());
                self.succeed(id, json!({ "text": text }));
            }
            HostRequest::GetBinaryVersion => self.succeed(id, json!({ "version": VERSION })),
            HostRequest::ListModels => self.succeed(id, json!({ "models": offers::models() })),
            HostRequest::FileSuggestions(_) => self.succeed(id, json!({ "suggestions": [] })),
            HostRequest::SetMaxThinkingTokens(_)
            | HostRequest::ApplyFlagSettings(_)
            | HostRequest::RenameSession(_)
            | HostRequest::SetHasSubscribers(_) => self.succeed(id, Value::Null),
            HostRequest::EndSession => {
                self.succeed(id, Value::Null);
                return Err(Stop::Exit(0, String::new()));
            }
            other => self.refuse(id, &format!("Unsupported control request subtype: {}", other.subtype())),
        }
        Ok(())
    }

    /// Takes back the question that is open [permission/bash_no_answer_interrupt].
    pub(super) fn withdraw(&mut self) {
        if let Some(pending) = self.pending.take() {
            self.out.control("control_cancel_request", &json!({ "request_id": pending.request_id }));
        }
    }

    fn set_model(&mut self, id: &RequestId, model: Option<&str>) {
        let model = model.filter(|model| *model != "default").unwrap_or(DEFAULT_MODEL);
        model.clone_into(&mut self.model);
        let words = format!("<local-command-stdout>Set model to {model}</local-command-stdout>");
        let message = json!({ "role": "user", "content": words });
        let line = json!({ "message": message, "parent_tool_use_id": null, "isReplay": true });
        self.out.line("user", &line);
        self.succeed(id, Value::Null);
    }

    fn answer_for(&mut self, id: &RequestId, server: &str) {
        if server == offers::SERVER {
            self.succeed(id, Value::Null);
        } else {
            self.refuse(id, &format!("Server not found: {server}"));
        }
    }

    /// An answer without a payload has no field for it.
    fn succeed(&mut self, id: &RequestId, answer: Value) {
        let mut response = json!({ "subtype": "success" });
        if !answer.is_null() {
            response["response"] = answer;
        }
        self.respond(id, response);
    }

    fn refuse(&mut self, id: &RequestId, error: &str) {
        self.respond(id, json!({ "subtype": "error", "error": error }));
    }

    fn respond(&mut self, id: &RequestId, mut response: Value) {
        if !id.is_missing() {
            response["request_id"] = json!(id);
        }
        self.out.control("control_response", &json!({ "response": response }));
    }
}
