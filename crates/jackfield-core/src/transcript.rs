//! The transcript: a fold over events.
//!
//! It knows nothing of the CLI and needs nothing but the events, so a front end can do the same. A snapshot
//! at any event plus the events behind it gives the same as all of them. The one rule: an item that can still
//! change is in it; one that cannot may have been taken.

use std::collections::{BTreeMap, HashMap};

use jackfield_api as api;

use api::event::Body;
use api::session::{Compaction, CompactionStatus};
use api::snapshot::{
    Item, ItemContent, QuestionEnding, QuestionItem, SessionState, Snapshot, TextItem, ToolItem, TurnItem,
};
use api::tool::{Task, TaskStatus, ToolStatus};
use api::{Event, ItemId, MessageId, PendingId, Seq, ToolCallId};

use crate::stream::TEXT;

/// Tasks that are over are forgotten beyond this many.
const TASKS_AT_MOST: usize = 100;

/// A transcript that grows.
#[derive(Debug, Default, Clone)]
pub struct Transcript {
    pub(crate) snapshot: Snapshot,
    // The items that still change, by the event that began them; looked up and never iterated.
    /// Looked into for every piece of a text, and short.
    texts: BTreeMap<ItemId, Seq>,
    tools: HashMap<ToolCallId, Seq>,
    questions: HashMap<PendingId, Seq>,
    pub(crate) compaction: Option<Seq>,
}

impl Transcript {
    /// An empty one.
    pub fn new() -> Self {
        Self::default()
    }

    /// One that goes on from a snapshot, which needs no items but those that can still change.
    pub fn from_snapshot(snapshot: Snapshot) -> Self {
        let mut transcript = Self::default();
        for Item { seq, content, .. } in &snapshot.items {
            match content {
                ItemContent::Text(text) | ItemContent::Thinking(text) if text.outcome.is_none() => {
                    transcript.texts.insert(text.item_id, *seq);
                }
                ItemContent::Tool(tool) if tool.tool_status == ToolStatus::Running => {
                    transcript.tools.insert(tool.tool_call_id.clone(), *seq);
                }
                ItemContent::Question(question) if question.ending.is_none() => {
                    transcript.questions.insert(question.request.pending_id, *seq);
                }
                ItemContent::Compaction(compaction) => {
                    transcript.compaction =
                        Some(*seq).filter(|_| compaction.status == CompactionStatus::Running);
                }
                ItemContent::RunEnded(_) => transcript.compaction = None,
                _ => {}
            }
        }
        if snapshot.state == SessionState::Ended {
            transcript.compaction = None;
        }
        transcript.snapshot = snapshot;
        transcript
    }

    /// What there is so far, without the items that were taken.
    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// Takes out all items that can never change again, in the order in which they began. What follows is the
    /// same as if they were still there.
    pub fn take_settled(&mut self) -> Vec<Item> {
        let compaction = self.compaction;
        let settled = |item: &mut Item| match &item.content {
            ItemContent::Text(text) | ItemContent::Thinking(text) => text.outcome.is_some(),
            ItemContent::Tool(tool) => tool.tool_status != ToolStatus::Running,
            ItemContent::Question(question) => question.ending.is_some(),
            ItemContent::Compaction(_) => compaction != Some(item.seq),
            ItemContent::Turn(_)
            | ItemContent::UserMessage(_)
            | ItemContent::File(_)
            | ItemContent::Notice(_)
            | ItemContent::Error(_)
            | ItemContent::Complete(_)
            | ItemContent::RunEnded(_) => true,
        };
        self.snapshot.items.extract_if(.., settled).collect()
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
                let ended = self.texts.remove(&end.item_id).and_then(|seq| self.content(seq));
                if let Some(ItemContent::Text(text) | ItemContent::Thinking(text)) = ended {
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
                self.questions.insert(request.pending_id, event.seq);
                let item = QuestionItem { request: (**request).clone(), ending: None };
                self.push(event, ItemContent::Question(Box::new(item)));
            }
            Body::PermissionResolved(resolved) => self.end_question(
                resolved.pending_id,
                QuestionEnding {
                    outcome: Some(resolved.outcome),
                    by: resolved.by.clone(),
                    message: resolved.message.clone(),
                    input: resolved.input.clone(),
                },
            ),
            Body::PermissionCancelled(cancelled) => {
                let ending = QuestionEnding { outcome: None, by: None, message: None, input: None };
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
                self.compaction = None;
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
            Body::Task(task) => self.update_task(task),
            // Passing words: they are in the log, and no picture of the session needs them.
            Body::ApiRetry(_)
            | Body::Hook(_)
            | Body::Stderr(_)
            | Body::Unknown(_)
            | Body::Malformed(_)
            | Body::Gap(_) => {}
        }
    }

    /// The text of an item that was not taken yet.
    pub fn text(&self, item: ItemId) -> Option<&str> {
        let items = &self.snapshot.items;
        let at = items.binary_search_by_key(&item.0, |item| item.seq.0).ok()?;
        match &items[at].content {
            ItemContent::Text(text) | ItemContent::Thinking(text) => Some(&text.text),
            _ => None,
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

    /// An item that is still there, by the event that began it.
    fn content(&mut self, seq: Seq) -> Option<&mut ItemContent> {
        let items = &mut self.snapshot.items;
        let last = items.len().checked_sub(1)?;
        // What grows is most often the last.
        let at = if items[last].seq == seq {
            last
        } else {
            items.binary_search_by_key(&seq, |item| item.seq).ok()?
        };
        Some(&mut items[at].content)
    }

    fn grow(
        &mut self,
        event: &Event,
        item_id: ItemId,
        message_id: Option<&MessageId>,
        piece: &str,
        make: fn(Box<TextItem>) -> ItemContent,
    ) {
        if let Some(&seq) = self.texts.get(&item_id) {
            if let Some(ItemContent::Text(text) | ItemContent::Thinking(text)) = self.content(seq) {
                text.text.push_str(piece);
            }
            return;
        }
        self.texts.insert(item_id, event.seq);
        let mut text = String::with_capacity(TEXT.max(piece.len()));
        text.push_str(piece);
        let text = TextItem { item_id, message_id: message_id.cloned(), text, outcome: None };
        self.push(event, make(Box::new(text)));
    }

    fn tool(&mut self, event: &Event, id: &ToolCallId, name: &str) -> Option<&mut ToolItem> {
        let seq = if let Some(&seq) = self.tools.get(id) {
            seq
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
            self.tools.insert(id.clone(), event.seq);
            self.push(event, ItemContent::Tool(Box::new(tool)));
            event.seq
        };
        match self.content(seq)? {
            ItemContent::Tool(tool) => Some(tool),
            _ => None,
        }
    }

    fn update_tool(&mut self, update: &api::tool::ToolUpdate) {
        let Some(&seq) = self.tools.get(&update.tool_call_id) else { return };
        if let Some(ItemContent::Tool(tool)) = self.content(seq) {
            tool.tool_status = update.tool_status;
            if let Some(title) = &update.tool_title {
                tool.tool_title.clone_from(title);
            }
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
        let ended = self.questions.remove(&id).and_then(|seq| self.content(seq));
        if let Some(ItemContent::Question(question)) = ended {
            question.ending = Some(ending);
        }
    }

    /// All tasks that run, and the newest of the others.
    fn update_task(&mut self, task: &Task) {
        let tasks = &mut self.snapshot.tasks;
        match tasks.iter_mut().rfind(|known| known.task_id == task.task_id) {
            Some(known) => *known = task.clone(),
            None => tasks.push(task.clone()),
        }
        if tasks.len() > TASKS_AT_MOST
            && let Some(oldest) = tasks.iter().position(|task| task.status != TaskStatus::Running)
        {
            tasks.remove(oldest);
        }
    }

    /// A compaction is one item, from its beginning to its end.
    fn compact(&mut self, event: &Event, compaction: &Compaction) {
        let running = self.compaction.take();
        match running.and_then(|seq| self.content(seq)) {
            Some(content) => *content = ItemContent::Compaction(Box::new(compaction.clone())),
            None => self.push(event, ItemContent::Compaction(Box::new(compaction.clone()))),
        }
        if compaction.status == CompactionStatus::Running {
            self.compaction = running.or(Some(event.seq));
        }
    }
}
