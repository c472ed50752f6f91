//! A book of everything that opens, kept from the outputs alone.
//!
//! It knows nothing of the CLI's lines. The one rule: what opens is closed exactly once, at the latest by the
//! end of its run, and nothing is closed or goes on that is not open.

use std::collections::{BTreeMap, BTreeSet};

use jackfield_api as api;
use jackfield_core::{CallId, CommandId, HostCall, Output};

use api::tool::{HookStatus, TaskStatus, ToolStatus};
use api::{Body, Event, ItemId, PendingId, TaskId, ToolCallId};

/// What is open in a session.
#[derive(Debug, Default)]
pub struct Ledger {
    last_seq: Option<u64>,
    run: bool,
    turns: BTreeMap<u32, Turn>,
    items: BTreeSet<ItemId>,
    tools: BTreeMap<ToolCallId, Called>,
    questions: Vec<PendingId>,
    tasks: BTreeSet<TaskId>,
    hooks: BTreeMap<HookKey, Hooks>,
    calls: Vec<CallId>,
    last_call: Option<CallId>,
    commands: BTreeSet<String>,
}

type HookKey = (String, String, Option<ToolCallId>);

#[derive(Debug, PartialEq)]
enum Called {
    Preparing,
    Running,
}

#[derive(Debug, PartialEq)]
enum Turn {
    Running,
    Over,
}

/// Hooks of one name: those that a callback of ours serves are told apart by the number of calls.
#[derive(Debug, Default)]
struct Hooks {
    called: u64,
    running: u64,
    ended: u64,
}

impl Ledger {
    /// The open questions, oldest first.
    pub fn questions(&self) -> &[PendingId] {
        &self.questions
    }

    /// The calls that the shell has not done, oldest first.
    pub fn calls(&self) -> &[CallId] {
        &self.calls
    }

    /// A command was given; its id must be new.
    pub fn command(&mut self, id: &CommandId) {
        assert!(self.commands.insert(id.0.to_string()), "two commands of one name");
    }

    /// The shell has done a call.
    pub fn called(&mut self, id: CallId) {
        self.calls.retain(|open| *open != id);
    }

    /// The host has died: nobody is left who waits for an answer, a call or a hook. What its clients see as open is
    /// closed like ever.
    pub fn host_died(&mut self) {
        self.commands.clear();
        self.hooks.clear();
        self.calls.clear();
        self.last_call = None;
    }

    /// Enters one output.
    pub fn enter(&mut self, output: &Output) {
        match output {
            Output::Event(event) => self.event(event),
            Output::Answer(id, _) => {
                assert!(self.commands.remove(&*id.0), "command {} was answered without being open", id.0);
            }
            Output::Call(id, call) => {
                assert!(self.last_call < Some(*id), "call {id:?} is not new");
                self.last_call = Some(*id);
                self.calls.push(*id);
                if let HostCall::Hook { callback_id, input, tool_call_id } = call {
                    let event = input.event.as_str().to_owned();
                    self.hooks
                        .entry((event, callback_id.clone(), tool_call_id.clone()))
                        .or_default()
                        .called += 1;
                }
            }
            Output::CallWithdrawn(id) => self.called(*id),
            Output::Write(..) | Output::CloseStdin | Output::Signal(_) => {}
        }
    }

    /// Checks that nothing is open. To be called after the end of the last run.
    pub fn close(&self) {
        assert!(!self.run, "the run did not end");
        assert!(self.commands.is_empty(), "commands without an answer: {:?}", self.commands);
        for (name, hooks) in &self.hooks {
            // Hooks of the CLI's own have no part in the calls, and may have the same name.
            if hooks.called == hooks.running {
                assert!(hooks.ended >= hooks.called, "hook {name:?} did not end: {hooks:?}");
            }
        }
    }

    fn event(&mut self, event: &Event) {
        if let Some(last) = self.last_seq {
            assert_eq!(event.seq.0, last + 1, "seq has a hole");
        }
        self.last_seq = Some(event.seq.0);
        // What the shell sees or says by itself needs no run.
        if !matches!(
            event.body,
            Body::RunStarted(_) | Body::FileUpdated(_) | Body::Malformed(_) | Body::Notice(_)
        ) {
            assert!(self.run, "an event outside of a run: {event:?}");
        }
        match &event.body {
            Body::RunStarted(_) => {
                assert!(!self.run, "a run began within a run");
                self.run = true;
            }
            Body::RunEnded(_) => self.end_run(),
            Body::TurnStarted(_) => {
                let number = event.turn.map_or(0, |turn| turn.0);
                let before = self.turns.last_key_value().map(|(number, _)| *number);
                assert!(before.is_none_or(|before| number == before + 1), "turn {number} follows {before:?}");
                self.turns.insert(number, Turn::Running);
            }
            Body::Complete(_) => {
                let number = event.turn.map_or(0, |turn| turn.0);
                let before = self.turns.insert(number, Turn::Over);
                assert_eq!(before, Some(Turn::Running), "turn {number} was over or never began");
            }
            Body::MessageChunk(chunk) => self.piece(event, chunk.item_id),
            Body::Reasoning(thought) => self.piece(event, thought.item_id),
            Body::ItemEnded(end) => {
                assert!(self.items.remove(&end.item_id), "item {} ended without being open", end.item_id);
            }
            Body::ToolPreparing(tool) => {
                let known = self.tools.entry(tool.tool_call_id.clone()).or_insert(Called::Preparing);
                assert_eq!(*known, Called::Preparing, "call {} is prepared while it runs", tool.tool_call_id);
            }
            Body::ToolCall(tool) => {
                let before = self.tools.insert(tool.tool_call_id.clone(), Called::Running);
                assert_ne!(before, Some(Called::Running), "call {} was told twice", tool.tool_call_id);
            }
            Body::ToolUpdate(tool) => {
                let id = &tool.tool_call_id;
                let open = match tool.tool_status {
                    ToolStatus::Running => self.tools.contains_key(id),
                    ToolStatus::Complete | ToolStatus::Error => self.tools.remove(id).is_some(),
                };
                assert!(open, "call {id} goes on or ends without being open");
            }
            Body::PermissionRequest(request) => {
                assert_eq!(request.pending_id.0, event.seq.0, "a question is not named by its seq");
                self.questions.push(request.pending_id);
            }
            Body::PermissionResolved(end) => self.end_question(end.pending_id),
            Body::PermissionCancelled(end) => self.end_question(end.pending_id),
            Body::Task(task) => {
                if task.status == TaskStatus::Running {
                    self.tasks.insert(task.task_id.clone());
                } else {
                    self.tasks.remove(&task.task_id);
                }
            }
            Body::Hook(hook) => {
                let name = (hook.hook_event.clone(), hook.hook_name.clone(), hook.tool_call_id.clone());
                let hooks = self.hooks.entry(name).or_default();
                if hook.status == HookStatus::Running {
                    hooks.running += 1;
                } else {
                    hooks.ended += 1;
                }
            }
            _ => {}
        }
    }

    fn piece(&mut self, event: &Event, item: ItemId) {
        if self.items.insert(item) {
            assert_eq!(item.0, event.seq.0, "an item is not named by the seq of its first piece");
        }
    }

    fn end_question(&mut self, id: PendingId) {
        let at = self.questions.iter().position(|open| *open == id);
        assert!(at.is_some(), "question {id} ended without being open");
        self.questions.retain(|open| *open != id);
    }

    fn end_run(&mut self) {
        assert!(self.run, "a run ended that was not there");
        self.run = false;
        assert!(self.items.is_empty(), "items that the run left open: {:?}", self.items);
        assert!(self.tools.is_empty(), "calls that the run left open: {:?}", self.tools);
        assert!(self.questions.is_empty(), "questions that the run left open: {:?}", self.questions);
        assert!(self.tasks.is_empty(), "tasks that the run left running: {:?}", self.tasks);
    }
}
