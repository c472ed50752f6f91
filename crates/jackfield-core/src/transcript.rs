//! The transcript: a fold over events.
//!
//! It knows nothing of the CLI and needs nothing but the events, so a front end can do the same. A snapshot
//! at any event plus the events behind it gives the same as all of them.

use std::collections::HashMap;

use jackfield_api as api;

use api::event::Body;
use api::session::{Compaction, CompactionStatus};
use api::snapshot::{
    Item, ItemContent, QuestionEnding, QuestionItem, SessionState, Snapshot, TextItem, ToolItem, TurnItem,
};
use api::tool::ToolStatus;
use api::{Event, ItemId, MessageId, PendingId, TaskId, ToolCallId};

/// A transcript that grows.
#[derive(Debug, Default, Clone)]
pub struct Transcript {
    snapshot: Snapshot,
    // Where things that still change are, looked up and never iterated.
    texts: HashMap<ItemId, usize>,
    tools: HashMap<ToolCallId, usize>,
    questions: HashMap<PendingId, usize>,
    tasks: HashMap<TaskId, usize>,
}

impl Transcript {
    /// An empty one.
    pub fn new() -> Self {
        Self::default()
    }

    /// One that goes on from a snapshot.
    pub fn from_snapshot(snapshot: Snapshot) -> Self {
        let mut transcript = Self::default();
        for (at, item) in snapshot.items.iter().enumerate() {
            match &item.content {
                ItemContent::Text(text) | ItemContent::Thinking(text) if text.outcome.is_none() => {
                    transcript.texts.insert(text.item_id, at);
                }
                ItemContent::Tool(tool) if tool.tool_status == ToolStatus::Running => {
                    transcript.tools.insert(tool.tool_call_id.clone(), at);
                }
                ItemContent::Question(question) if question.ending.is_none() => {
                    transcript.questions.insert(question.request.pending_id, at);
                }
                _ => {}
            }
        }
        for (at, task) in snapshot.tasks.iter().enumerate() {
            transcript.tasks.insert(task.task_id.clone(), at);
        }
        transcript.snapshot = snapshot;
        transcript
    }

    /// What there is so far.
    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// Takes one event. Events that are already in it change nothing.
    pub fn apply(&mut self, event: &Event) {
        if event.seq <= self.snapshot.seq {
            return;
        }
        self.snapshot.seq = event.seq;
        self.snapshot.at = event.at;
        self.snapshot.turn = event.turn;
        if self.snapshot.session_id.as_ref() != Some(&event.session_id) {
            self.snapshot.session_id = Some(event.session_id.clone());
        }
        match &event.body {
            Body::MessageChunk(chunk) => {
                let make = ItemContent::Text;
                self.grow(event, chunk.item_id, chunk.message_id.as_ref(), &chunk.text, make);
            }
            Body::Reasoning(thought) => {
                let make = ItemContent::Thinking;
                self.grow(event, thought.item_id, thought.message_id.as_ref(), &thought.reasoning_text, make);
            }
            Body::ItemEnded(end) => {
                if let Some(at) = self.texts.remove(&end.item_id)
                    && let ItemContent::Text(text) | ItemContent::Thinking(text) =
                        &mut self.snapshot.items[at].content
                {
                    text.outcome = Some(end.outcome);
                }
            }
            Body::ToolPreparing(preparing) => {
                if let Some(tool) = self.tool(event, &preparing.tool_call_id, &preparing.tool_name) {
                    tool.bytes = preparing.bytes;
                }
            }
            Body::ToolCall(call) => {
                if let Some(tool) = self.tool(event, &call.tool_call_id, &call.tool_name) {
                    tool.tool_title.clone_from(&call.tool_title);
                    tool.normalized = Some(call.normalized.clone());
                    tool.input = Some(call.input.clone());
                }
            }
            Body::ToolUpdate(update) => self.update_tool(update),
            Body::PermissionRequest(request) => {
                self.snapshot.pending.push((**request).clone());
                self.questions.insert(request.pending_id, self.snapshot.items.len());
                let item = QuestionItem { request: (**request).clone(), ending: None };
                self.push(event, ItemContent::Question(Box::new(item)));
            }
            Body::PermissionResolved(resolved) => self.end_question(
                resolved.pending_id,
                QuestionEnding {
                    outcome: Some(resolved.outcome),
                    by: resolved.by.clone(),
                    message: resolved.message.clone(),
                },
            ),
            Body::PermissionCancelled(cancelled) => {
                let ending = QuestionEnding { outcome: None, by: None, message: None };
                self.end_question(cancelled.pending_id, ending);
            }
            Body::TurnStarted(turn) => {
                self.snapshot.state = SessionState::Running;
                self.push(event, ItemContent::Turn(TurnItem { trigger: turn.trigger }));
            }
            Body::UserMessage(message) => self.push(event, ItemContent::UserMessage(message.clone())),
            Body::FileUpdated(file) => self.push(event, ItemContent::File(file.clone())),
            Body::Compaction(compaction) => self.compact(event, compaction),
            Body::Notice(notice) => self.push(event, ItemContent::Notice(notice.clone())),
            Body::Error(error) => self.push(event, ItemContent::Error(error.clone())),
            Body::Complete(complete) => {
                self.snapshot.state = SessionState::Idle;
                self.snapshot.total_cost_usd += complete.data.cost_usd;
                self.snapshot.last_complete = Some((**complete).clone());
                self.push(event, ItemContent::Complete(complete.clone()));
            }
            Body::RunStarted(_) => {
                self.snapshot.state = SessionState::Idle;
                self.snapshot.last_run = None;
            }
            Body::RunEnded(end) => {
                self.snapshot.state = SessionState::Ended;
                self.snapshot.last_run = Some((**end).clone());
                self.push(event, ItemContent::RunEnded(end.clone()));
            }
            Body::SessionStatus(status) => self.snapshot.status = Some((**status).clone()),
            Body::ModeChanged(changed) => {
                if let Some(status) = &mut self.snapshot.status {
                    status.permission_mode.clone_from(&changed.permission_mode);
                }
            }
            Body::ModelChanged(changed) => {
                if let Some(status) = &mut self.snapshot.status {
                    status.model.clone_from(&changed.model);
                }
            }
            Body::AvailableCommands(commands) => self.snapshot.commands = Some((**commands).clone()),
            Body::Queue(queue) => self.snapshot.queue = Some((**queue).clone()),
            Body::Todos(todos) => self.snapshot.todos = Some((**todos).clone()),
            Body::ContextWindow(window) => self.snapshot.context_window = Some((**window).clone()),
            Body::RateLimit(limit) => self.snapshot.rate_limit = Some((**limit).clone()),
            Body::Task(task) => {
                if let Some(&at) = self.tasks.get(&task.task_id) {
                    self.snapshot.tasks[at] = (**task).clone();
                } else {
                    self.tasks.insert(task.task_id.clone(), self.snapshot.tasks.len());
                    self.snapshot.tasks.push((**task).clone());
                }
            }
            // Passing words: they are in the log, and no picture of the session needs them.
            Body::ApiRetry(_)
            | Body::Hook(_)
            | Body::Stderr(_)
            | Body::Unknown(_)
            | Body::Malformed(_)
            | Body::Gap(_) => {}
        }
    }

    fn push(&mut self, event: &Event, content: ItemContent) {
        self.snapshot.items.push(Item {
            seq: event.seq,
            at: event.at,
            turn: event.turn,
            parent_tool_call_id: event.parent_tool_call_id.clone(),
            content,
        });
    }

    fn grow(
        &mut self,
        event: &Event,
        item_id: ItemId,
        message_id: Option<&MessageId>,
        piece: &str,
        make: fn(Box<TextItem>) -> ItemContent,
    ) {
        if let Some(&at) = self.texts.get(&item_id) {
            if let ItemContent::Text(text) | ItemContent::Thinking(text) =
                &mut self.snapshot.items[at].content
            {
                text.text.push_str(piece);
            }
            return;
        }
        self.texts.insert(item_id, self.snapshot.items.len());
        let text =
            TextItem { item_id, message_id: message_id.cloned(), text: piece.to_owned(), outcome: None };
        self.push(event, make(Box::new(text)));
    }

    fn tool(&mut self, event: &Event, id: &ToolCallId, name: &str) -> Option<&mut ToolItem> {
        let at = if let Some(&at) = self.tools.get(id) {
            at
        } else {
            let tool = ToolItem {
                tool_call_id: id.clone(),
                tool_name: name.to_owned(),
                tool_title: name.to_owned(),
                tool_status: ToolStatus::Running,
                bytes: 0,
                normalized: None,
                input: None,
                output: None,
                message: None,
            };
            self.tools.insert(id.clone(), self.snapshot.items.len());
            self.push(event, ItemContent::Tool(Box::new(tool)));
            self.snapshot.items.len() - 1
        };
        match &mut self.snapshot.items[at].content {
            ItemContent::Tool(tool) => Some(tool),
            _ => None,
        }
    }

    fn update_tool(&mut self, update: &api::tool::ToolUpdate) {
        let Some(&at) = self.tools.get(&update.tool_call_id) else { return };
        if let ItemContent::Tool(tool) = &mut self.snapshot.items[at].content {
            tool.tool_status = update.tool_status;
            if update.normalized.is_some() {
                tool.normalized.clone_from(&update.normalized);
            }
            if update.output.is_some() {
                tool.output.clone_from(&update.output);
            }
            tool.message.clone_from(&update.message);
        }
        if update.tool_status != ToolStatus::Running {
            self.tools.remove(&update.tool_call_id);
        }
    }

    fn end_question(&mut self, id: PendingId, ending: QuestionEnding) {
        self.snapshot.pending.retain(|request| request.pending_id != id);
        if let Some(at) = self.questions.remove(&id)
            && let ItemContent::Question(question) = &mut self.snapshot.items[at].content
        {
            question.ending = Some(ending);
        }
    }

    /// A compaction is one item, from its beginning to its end.
    fn compact(&mut self, event: &Event, compaction: &Compaction) {
        let running =
            self.snapshot.items.iter_mut().rev().take_while(|item| item.turn == event.turn).find_map(
                |item| match &mut item.content {
                    ItemContent::Compaction(earlier) if earlier.status == CompactionStatus::Running => {
                        Some(earlier)
                    }
                    _ => None,
                },
            );
        match running {
            Some(earlier) => **earlier = compaction.clone(),
            None => self.push(event, ItemContent::Compaction(Box::new(compaction.clone()))),
        }
    }
}
