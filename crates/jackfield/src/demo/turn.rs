//! A turn, from what starts it to its result.
//!
//! What is said in between is in `message` and `call`. The one rule: whatever happens in it, a turn that
//! began has one result, unless the process ends.

use std::collections::VecDeque;

use jackfield_wire::Prompt;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::agent::{Agent, Stop};
use super::message::Message;
use super::meter;
use super::offers;
use super::scenes::{self, Stage};
use super::step::Step;

/// What the model is told of a call that was rejected [interrupt/mid_tool_bash].
pub(super) const REJECTED: &str = "The user doesn't want to proceed with this tool use. The tool use was \
    rejected (eg. if it was a file edit, the new_string was NOT written to the file). STOP what you are doing \
    and wait for the user to tell you how to proceed.";

/// What started a turn.
#[derive(Debug)]
pub(super) enum Origin {
    Prompt(Prompt),
    Task,
}

/// The turn that runs.
#[derive(Debug, Default)]
pub(super) struct Turn {
    pub(super) running: bool,
    /// The API message that is being written.
    pub(super) message: Option<Message>,
    /// What was said last.
    pub(super) said: String,
    /// Calls without a result, the outermost first.
    pub(super) open: Vec<Open>,
    pub(super) denials: Vec<Value>,
    /// A prompt that is not repeated yet.
    replay: Option<Prompt>,
    requests: u64,
}

/// A call without a result.
#[derive(Debug)]
pub(super) struct Open {
    pub(super) id: String,
    /// The subagent that works for it: its id and its task.
    pub(super) task: Option<(String, String)>,
}

/// How a turn ended, in the words of its result.
struct Ending {
    subtype: &'static str,
    is_error: bool,
    terminal_reason: &'static str,
    stop_reason: Value,
    detail: Value,
}

impl Agent {
    pub(super) async fn play_prompt(&mut self, prompt: Prompt) -> Result<(), Stop> {
        self.meter.heard(&prompt.text());
        if let Some(uuid) = prompt.uuid() {
            self.files.checkpoint(uuid.as_str());
        }
        let text = prompt.text();
        let stage = Stage {
            prompt: &text,
            cwd: &self.arguments.cwd,
            returning: self.arguments.resumed && self.turns == 0,
        };
        let steps = scenes::play(&stage);
        self.play(Origin::Prompt(prompt), steps).await
    }

    pub(super) async fn play(&mut self, origin: Origin, steps: Vec<Step>) -> Result<(), Stop> {
        let began = Instant::now();
        self.turns += 1;
        self.meter.begin_turn();
        self.turn = Turn { running: true, ..Turn::default() };
        if let Origin::Prompt(prompt) = &origin {
            self.tell_prompt(prompt, "started");
            self.turn.replay = self.arguments.replay.then(|| prompt.clone());
        } else {
            self.tell_state("running");
        }
        let init = offers::init(&self.arguments, &self.model, &self.mode);
        self.out.system("init", &init);

        let played = self.perform(steps).await;
        // A turn in which nothing was asked of the API has not repeated its prompt yet.
        self.repeat_prompt();
        let ending = match played {
            Ok(()) => {
                self.end_message("end_turn");
                Ending {
                    subtype: "success",
                    is_error: false,
                    terminal_reason: "completed",
                    stop_reason: "end_turn".into(),
                    detail: json!({ "result": self.turn.said, "api_error_status": null }),
                }
            }
            Err(Stop::Interrupted) => self.interrupted(),
            Err(Stop::Superseded) => {
                self.break_off();
                Ending {
                    subtype: "success",
                    is_error: false,
                    terminal_reason: "aborted_streaming",
                    stop_reason: Value::Null,
                    detail: json!({ "result": self.turn.said }),
                }
            }
            Err(Stop::Failed(status)) => Ending {
                subtype: "success",
                is_error: true,
                terminal_reason: "completed",
                stop_reason: "stop_sequence".into(),
                detail: json!({ "result": self.turn.said, "api_error_status": status }),
            },
            Err(stop) => return Err(stop),
        };
        self.tell_result(&origin, &ending, began);
        self.turn = Turn::default();
        if let Origin::Prompt(prompt) = &origin {
            self.tell_prompt(prompt, "completed");
        }
        if self.queue.is_empty() {
            self.tell_state("idle");
        }
        Ok(())
    }

    /// Does steps, and what follows from them, in order.
    async fn perform(&mut self, steps: Vec<Step>) -> Result<(), Stop> {
        let mut steps = VecDeque::from(steps);
        while let Some(step) = steps.pop_front() {
            let follow = self.step(step).await?;
            for step in follow.into_iter().rev() {
                steps.push_front(step);
            }
        }
        Ok(())
    }

    async fn step(&mut self, step: Step) -> Result<Vec<Step>, Stop> {
        // All else is not part of what the model says.
        if !matches!(step, Step::Think(_) | Step::Say(_) | Step::Repeat(_) | Step::Call(_) | Step::Crash(_)) {
            self.end_message("end_turn");
        }
        match step {
            Step::Think(text) => self.think(&text).await?,
            Step::Say(text) => self.say(&text).await?,
            Step::Repeat(times) => self.repeat(times)?,
            Step::Call(call) => return self.call(*call, None).await,
            Step::System(subtype, fields) => self.out.system(subtype, &fields),
            Step::Line(kind, fields) => self.out.line(kind, &fields),
            Step::Wait(time) => self.pause(time).await?,
            Step::Compact(trigger) => self.compact(trigger).await?,
            Step::Form(form, then) => return self.fill_in(form, then).await,
            Step::Fail { status, code, text } => return Err(self.fail(status, code, text)),
            Step::Crash(words) => return Err(Stop::Exit(1, words.to_owned())),
        }
        Ok(Vec::new())
    }

    /// The prompt is repeated when the first answer to it begins (2.1.325/three_turns).
    pub(super) fn repeat_prompt(&mut self) {
        let Some(prompt) = self.turn.replay.take() else { return };
        let uuid = prompt.uuid().cloned();
        let written = serde_json::to_value(&prompt).unwrap_or_default();
        let mut line = json!({ "message": written["message"], "parent_tool_use_id": null, "isReplay": true });
        match uuid {
            // Its own name stands in the place of the line's.
            Some(uuid) => {
                line["session_id"] = self.out.session_id().into();
                line["uuid"] = uuid.as_str().into();
                self.out.control("user", &line);
            }
            None => self.out.line("user", &line),
        }
    }

    /// A request begins.
    pub(super) fn count_request(&mut self) {
        self.turn.requests += 1;
    }

    /// Words that the CLI puts into the user's mouth.
    fn tell_user(&mut self, text: &str) {
        let message = json!({ "role": "user", "content": [{ "type": "text", "text": text }] });
        self.out.line("user", &json!({ "message": message, "parent_tool_use_id": null }));
    }

    /// [interrupt/mid_stream_text], [interrupt/mid_tool_bash], [tools/subagent_interrupt]
    fn interrupted(&mut self) -> Ending {
        let in_tools = self.break_off();
        let (reason, words, stop_reason) = if in_tools {
            ("aborted_tools", "[Request interrupted by user for tool use]", "tool_use".into())
        } else {
            ("aborted_streaming", "[Request interrupted by user]", Value::Null)
        };
        self.tell_user(words);
        let diagnostic =
            format!("[ede_diagnostic] result_type=user last_content_type=n/a stop_reason={stop_reason}");
        Ending {
            subtype: "error_during_execution",
            is_error: true,
            terminal_reason: reason,
            stop_reason,
            detail: json!({ "errors": [diagnostic.replace('"', "")] }),
        }
    }

    /// Ends what is open in the way of an interrupt, and tells whether that was a call.
    fn break_off(&mut self) -> bool {
        self.withdraw();
        self.keep_partial_text();
        let open = std::mem::take(&mut self.turn.open);
        // What a subagent had begun is not told of.
        let Some(call) = open.first() else { return false };
        self.tell_result_of(&call.id, &json!(REJECTED), &json!("User rejected tool use"), true);
        if let Some((task, description)) = &call.task {
            self.tell_end_of(task, &call.id, ["killed", "stopped"], description);
        }
        true
    }

    /// The API failed for good: the CLI says so in its own name [errors/http_529_exhausted].
    fn fail(&mut self, status: u16, code: &str, text: &str) -> Stop {
        self.repeat_prompt();
        text.clone_into(&mut self.turn.said);
        let id = self.out.uuid();
        let message = json!({
            "id": id, "type": "message", "role": "assistant", "model": "<synthetic>",
            "content": [{ "type": "text", "text": text }], "stop_reason": "stop_sequence",
            "stop_sequence": "", "usage": meter::Tokens::default().usage(), "context_management": null,
        });
        let line = json!({ "message": message, "parent_tool_use_id": null, "error": code });
        self.out.line("assistant", &line);
        Stop::Failed(status)
    }

    async fn compact(&mut self, trigger: &str) -> Result<(), Stop> {
        self.out.system("status", &json!({ "status": "compacting" }));
        self.pause(std::time::Duration::from_millis(1500)).await?;
        self.out.system("status", &json!({ "status": null, "compact_result": "success" }));
        let (before, after) = self.meter.compact();
        let metadata = json!({
            "trigger": trigger, "pre_tokens": before, "post_tokens": after, "duration_ms": 1500,
        });
        self.out.system("compact_boundary", &json!({ "compact_metadata": metadata }));
        Ok(())
    }

    fn tell_result(&mut self, origin: &Origin, ending: &Ending, began: Instant) {
        self.failed = ending.is_error;
        let milliseconds = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        let mut line = json!({
            "subtype": ending.subtype, "is_error": ending.is_error, "duration_ms": milliseconds,
            "duration_api_ms": self.meter.api_time(milliseconds), "num_turns": self.turn.requests,
            "stop_reason": ending.stop_reason, "total_cost_usd": self.meter.cost(),
            "usage": self.meter.usage(), "modelUsage": self.meter.by_model(&self.model),
            "permission_denials": self.turn.denials, "terminal_reason": ending.terminal_reason,
            "fast_mode_state": "off",
        });
        for (name, value) in ending.detail.as_object().into_iter().flatten() {
            line[name] = value.clone();
        }
        match origin {
            Origin::Prompt(prompt) => {
                if let Some(uuid) = prompt.uuid() {
                    line["user_message_uuids"] = json!([uuid]);
                }
            }
            Origin::Task => line["origin"] = json!({ "kind": "task-notification" }),
        }
        self.out.line("result", &line);
    }
}
