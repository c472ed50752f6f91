//! Events to updates: what an editor is shown of a session.
//!
//! No IO, and no memory of what was said: only of the calls that are open. The same code translates what happens and
//! what happened before. The one rule it keeps: a tool call that was shown ends exactly once, and nothing is told of
//! one that was not.

mod encode;
mod output;
mod shape;
mod state;
mod tools;

use std::collections::HashSet;
use std::fmt::Write as _;

use jackfield_api::conversation::UserMessage;
use jackfield_api::session::CompactionStatus;
use jackfield_api::{Body, Event, MessageId, Uuid};

use crate::schema::{ContentBlock, ContentChunk, SessionUpdate};
pub use encode::Lines;
pub(crate) use shape::{content, kind, locations, title, value};
pub use state::commands as available_commands;
use tools::Calls;

/// Where updates go.
pub trait Sink {
    /// A piece of text, which is most of what there is.
    fn text(&mut self, of: Text, message: Option<&str>, text: &str);
    /// Anything else.
    fn update(&mut self, update: SessionUpdate);
}

/// What a piece of text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Text {
    /// The answer.
    Message,
    /// A thought.
    Thought,
}

/// What an editor can show beyond the least.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct View {
    /// Notices.
    pub notices: bool,
    /// Compactions.
    pub compaction: bool,
    /// The output of commands, as that of a terminal.
    pub terminal_output: bool,
}

/// Whose prompts are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Prompts {
    /// Everybody's: the editor does not know them.
    All,
    /// Those of others: the editor shows what it has sent by itself.
    OfOthers,
}

/// Translates the events of one session.
#[derive(Debug)]
pub struct Translator {
    view: View,
    calls: Calls,
    prompts: Prompts,
    /// Prompts that the editor has sent.
    own: HashSet<Uuid>,
    /// What the session has cost.
    cost: f64,
    window: Option<(u64, u64)>,
    compaction: Option<u64>,
    /// A compaction that has just been done: where that was told, and its name. Its summary stands next.
    summarised: Option<(u64, u64)>,
    /// A compaction was done, and the CLI has said nothing since.
    compacted: bool,
}

impl Translator {
    /// Nothing was told yet. Files are named from `folder` on; `cost` is what the session has cost before.
    pub fn new(view: View, prompts: Prompts, folder: &str, cost: f64) -> Self {
        Self {
            view,
            calls: Calls::new(folder),
            prompts,
            own: HashSet::new(),
            cost,
            window: None,
            compaction: None,
            summarised: None,
            compacted: false,
        }
    }

    /// The editor has sent this prompt.
    pub fn sent(&mut self, uuid: Uuid) {
        self.own.insert(uuid);
    }

    /// What follows was before: the editor does not know it.
    pub fn replays(&mut self) {
        self.prompts = Prompts::All;
    }

    /// From now on the editor shows its own prompts.
    pub fn is_live(&mut self) {
        self.prompts = Prompts::OfOthers;
    }

    /// Tells what an event means to an editor.
    pub fn see(&mut self, event: &Event, to: &mut impl Sink) {
        // What a subagent says stands in the result of its call.
        let main = event.parent_tool_call_id.is_none();
        match &event.body {
            Body::MessageChunk(chunk) if main => {
                // All that the CLI says at the end of a compaction, which was told already [slash/compact_success].
                if std::mem::take(&mut self.compacted) && chunk.text.trim() == "Compacted" {
                    return;
                }
                to.text(Text::Message, chunk.message_id.as_ref().map(MessageId::as_str), &chunk.text);
            }
            Body::Reasoning(thought) if main && !thought.reasoning_text.is_empty() => {
                let message = thought.message_id.as_ref().map(MessageId::as_str);
                to.text(Text::Thought, message, &thought.reasoning_text);
            }
            Body::UserMessage(said) if main => self.said(said, to),
            Body::ToolPreparing(preparing) => {
                self.calls.prepare(preparing, event.parent_tool_call_id.as_ref(), to);
            }
            Body::ToolCall(call) => {
                self.calls.call(call, event.parent_tool_call_id.as_ref(), self.view, to);
            }
            Body::ToolUpdate(update) => self.calls.update(update, to),
            Body::PermissionResolved(over) => self.calls.allow(over.input.as_ref()),
            Body::FileUpdated(file) => self.calls.file(file, to),
            Body::Todos(todos) if main => to.update(state::plan(todos)),
            Body::ContextWindow(window) => {
                self.window = Some((window.context_window_used, window.context_window_size));
                to.update(self.usage(None));
            }
            Body::Complete(complete) => {
                self.cost += complete.data.cost_usd;
                if self.window.is_some() {
                    to.update(self.usage(Some(self.cost)));
                }
            }
            Body::Compaction(compaction) => {
                let id = *self.compaction.get_or_insert(event.seq.0);
                if compaction.status != CompactionStatus::Running {
                    self.compaction = None;
                }
                if compaction.status == CompactionStatus::Complete {
                    self.summarised = Some((event.seq.0, id));
                    self.compacted = true;
                }
                state::compaction(compaction, id, self.view, to);
            }
            Body::Notice(notice) => match self.summarised.take() {
                Some((seq, id)) if seq + 1 == event.seq.0 => state::summary(&notice.text, id, self.view, to),
                _ => state::notice(notice, self.view, to),
            },
            Body::ApiRetry(retry) => state::retry(retry, self.view, to),
            Body::RateLimit(limit) => state::limit(limit, self.view, to),
            Body::Task(task) => state::task(task, self.view, to),
            Body::Malformed(line) => state::malformed(line, self.view, to),
            // Modes, models and commands are the session's settings; questions are asked; the rest is how a turn
            // goes, which the answer to a prompt tells, or nothing that an editor shows.
            _ => {}
        }
    }

    /// Closes the calls that were shown and are open, because nothing more will be told of them.
    pub fn end(&mut self, to: &mut impl Sink) {
        self.calls.end(to);
    }

    /// Whether a call was shown and is open.
    pub fn shows(&self, call: &jackfield_api::ToolCallId) -> bool {
        self.calls.is_open(call)
    }

    fn said(&mut self, said: &UserMessage, to: &mut impl Sink) {
        let own = said.uuid.as_ref().is_some_and(|uuid| self.own.remove(uuid));
        if own && self.prompts == Prompts::OfOthers {
            return;
        }
        let mut text = said.text.clone();
        for attachment in &said.attachments {
            let what = attachment.media_type.as_deref().unwrap_or(&attachment.kind);
            if !text.is_empty() {
                text.push_str("\n\n");
            }
            // Writing to a text cannot fail.
            let _ = write!(text, "[{what}]");
        }
        let chunk = ContentChunk::new(ContentBlock::from(text));
        let name = said.uuid.as_ref().map(|uuid| crate::schema::MessageId::new(uuid.0.clone()));
        to.update(SessionUpdate::UserMessageChunk(chunk.message_id(name)));
    }

    fn usage(&self, cost: Option<f64>) -> SessionUpdate {
        let (used, size) = self.window.unwrap_or_default();
        state::usage(used, size, cost)
    }
}
