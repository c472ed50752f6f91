//! What came of a prompt: a fold over the events of its turn.
//!
//! It prints nothing and asks nobody. The one rule it keeps: how it ended is decided here alone, for all formats and
//! for the exit code.

use std::collections::BTreeSet;

use jackfield_api::command::{Content, Prompt};
use jackfield_api::conversation::{DropReason, ItemOutcome};
use jackfield_api::permission::PermissionOutcome;
use jackfield_api::session::Priority;
use jackfield_api::tool::TaskStatus;
use jackfield_api::trouble::Error;
use jackfield_api::usage::TurnFigures;
use jackfield_api::{Body, Event, ItemId, MessageId, PendingId, Seq, TaskId, ToolCallId, TurnNumber, Uuid};
use serde_json::{Value, json};

use crate::failure::Exit;

/// What came of a prompt.
#[derive(Debug)]
pub(super) struct Outcome {
    uuid: Uuid,
    pub(super) session_id: Option<String>,
    cli_session_id: Option<String>,
    turn: Option<TurnNumber>,
    /// The texts of the last message that had any.
    texts: Vec<(ItemId, String)>,
    message: Option<MessageId>,
    pub(super) figures: Option<TurnFigures>,
    /// The event with the figures.
    pub(super) completed: Option<Seq>,
    pub(super) error: Option<Error>,
    /// Calls that our own rules refused: that is what was wanted.
    pub(super) refused: BTreeSet<PendingId>,
    refused_calls: BTreeSet<ToolCallId>,
    denied: bool,
    pub(super) stopped: Option<Stopped>,
    tasks: BTreeSet<TaskId>,
    run_ended: bool,
}

/// Why a turn was stopped by us.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stopped {
    Interrupted,
    TimedOut,
}

impl Outcome {
    pub(super) fn new(prompt: &Prompt) -> Self {
        Self {
            uuid: prompt.uuid.clone(),
            session_id: None,
            cli_session_id: None,
            turn: None,
            texts: Vec::new(),
            message: None,
            figures: None,
            completed: None,
            error: None,
            refused: BTreeSet::new(),
            refused_calls: BTreeSet::new(),
            denied: false,
            stopped: None,
            tasks: BTreeSet::new(),
            run_ended: false,
        }
    }

    /// Takes an event in.
    pub(super) fn see(&mut self, event: &Event) {
        match &event.body {
            Body::SessionStatus(status) => self.cli_session_id = Some(status.cli_session_id.clone()),
            Body::TurnStarted(_) if self.completed.is_none() => self.texts.clear(),
            Body::UserMessage(message) if message.uuid.as_ref() == Some(&self.uuid) => {
                self.turn = event.turn;
                // What went wrong before was another turn's.
                self.error = None;
            }
            Body::Queue(queue) => {
                let ours = queue.dropped.iter().find(|dropped| dropped.uuid.as_ref() == Some(&self.uuid));
                if let Some(dropped) = ours {
                    let why = match dropped.reason {
                        DropReason::Cancelled => "somebody took it back",
                        DropReason::Duplicate => "it was said before",
                        DropReason::RunEnded => "the run ended first",
                    };
                    let error = format!("the prompt never entered the conversation: {why}");
                    self.error = Some(Error { error, code: "dropped".to_owned() });
                }
            }
            Body::MessageChunk(chunk) if event.parent_tool_call_id.is_none() && self.completed.is_none() => {
                match self.texts.iter_mut().find(|(item, _)| *item == chunk.item_id) {
                    Some((_, text)) => text.push_str(&chunk.text),
                    None => self.begin_text(chunk.item_id, chunk.message_id.as_ref(), &chunk.text),
                }
            }
            Body::ItemEnded(ended) if ended.outcome == ItemOutcome::Replaced => {
                self.texts.retain(|(item, _)| *item != ended.item_id);
            }
            Body::PermissionRequest(request) if self.refused.contains(&request.pending_id) => {
                self.refused_calls.extend(request.tool_call_id.clone());
            }
            Body::PermissionResolved(resolved) => {
                let no = matches!(resolved.outcome, PermissionOutcome::Denied | PermissionOutcome::Expired);
                self.denied |= no && !self.refused.contains(&resolved.pending_id);
            }
            Body::Task(task) => {
                if task.status == TaskStatus::Running {
                    self.tasks.insert(task.task_id.clone());
                } else {
                    self.tasks.remove(&task.task_id);
                }
            }
            Body::Complete(complete) if self.turn.is_some() && self.completed.is_none() => {
                self.completed = Some(event.seq);
                let unwanted = |call: &ToolCallId| !self.refused_calls.contains(call);
                self.denied |=
                    complete.data.permission_denials.iter().any(|denial| unwanted(&denial.tool_call_id));
                self.figures = Some(complete.data.clone());
            }
            Body::Error(error) => {
                // Behind the end of our turn it is ours only if it stands next to it.
                let ours = self.completed.is_none_or(|seq| event.seq.0 == seq.0 + 1);
                if ours && self.error.is_none() {
                    self.error = Some((**error).clone());
                }
            }
            // A run that ends before the prompt was taken drops it, which is told.
            Body::RunEnded(_) => self.run_ended |= self.turn.is_some(),
            _ => {}
        }
    }

    fn begin_text(&mut self, item: ItemId, message: Option<&MessageId>, text: &str) {
        if message.is_none() || self.message.as_ref() != message {
            self.texts.clear();
        }
        self.message = message.cloned();
        self.texts.push((item, text.to_owned()));
    }

    /// Whether there is nothing to wait for, as far as events tell.
    pub(super) fn is_over(&self, last: Seq) -> bool {
        let told = self.completed.is_some_and(|seq| last > seq);
        told || self.run_ended || self.error.as_ref().is_some_and(|error| error.code == "dropped")
    }

    /// Whether work goes on beside the conversation.
    pub(super) fn has_tasks(&self) -> bool {
        !self.tasks.is_empty()
    }

    /// The answer: what the last message said.
    pub(super) fn text(&self) -> String {
        let texts: Vec<&str> = self.texts.iter().map(|(_, text)| text.as_str()).collect();
        texts.join("\n\n")
    }

    /// How the program ends.
    pub(super) fn exit(&self) -> Exit {
        match (self.stopped, &self.error) {
            (Some(Stopped::Interrupted), _) => Exit::Interrupted,
            (Some(Stopped::TimedOut), _) => Exit::Failed,
            (None, Some(error)) => match error.code.as_str() {
                "interrupted" => Exit::Interrupted,
                "cli_missing" | "cli_too_old" | "cli_unusable" => Exit::NoCli,
                "rate_limit" | "billing_error" | "error_max_budget_usd" | "budget_exhausted" => Exit::Limit,
                _ => Exit::Failed,
            },
            (None, None) if self.completed.is_none() => Exit::Failed,
            (None, None) if self.denied => Exit::Unanswered,
            (None, None) => Exit::Done,
        }
    }

    /// Everything, as one object.
    pub(super) fn object(&self) -> Value {
        let figures = self.figures.as_ref();
        let text = self.text();
        json!({
            "session_id": self.session_id,
            "cli_session_id": self.cli_session_id,
            "turn": self.turn,
            "result": (!text.is_empty()).then_some(text),
            "structured_output": figures.and_then(|figures| figures.structured_output.as_ref()),
            "error": self.error,
            "permission_denials": figures.map(|figures| &figures.permission_denials),
            "cost_usd": figures.map(|figures| figures.cost_usd),
            "duration_ms": figures.map(|figures| figures.duration_ms),
            "duration_api_ms": figures.map(|figures| figures.duration_api_ms),
            "num_turns": figures.map(|figures| figures.num_turns),
            "usage": figures.map(|figures| json!({
                "input_tokens": figures.input_tokens,
                "output_tokens": figures.output_tokens,
                "cache_read_tokens": figures.cache_read_tokens,
                "cache_creation_tokens": figures.cache_creation_tokens,
            })),
            "exit_code": self.exit() as u8,
        })
    }
}

/// A prompt with a name of its own.
pub(super) fn prompt(text: String) -> Prompt {
    Prompt {
        uuid: uuid::Uuid::new_v4().to_string().into(),
        content: vec![Content::Text { text }],
        priority: Priority::Next,
    }
}
