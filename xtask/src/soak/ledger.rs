//! What is open in a session, by its stored events alone.
//!
//! It knows nothing of who told them. The one rule it keeps: what opens is closed exactly once, at the latest by the
//! end of its run, and numbers have no hole.

use std::collections::{BTreeMap, BTreeSet};

use jackfield_api::tool::{TaskStatus, ToolStatus};
use jackfield_api::{Body, Event, ItemId, PendingId, Seq, TaskId, ToolCallId, TurnNumber};

use super::violation::{Checked, holds};

/// What is open in a session.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    last: Seq,
    run: bool,
    turn: Option<TurnNumber>,
    /// The turn has not had its end.
    turn_runs: bool,
    items: BTreeSet<ItemId>,
    tools: BTreeMap<ToolCallId, Called>,
    questions: BTreeSet<PendingId>,
    decided: BTreeSet<PendingId>,
    tasks: BTreeSet<TaskId>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Called {
    Preparing,
    Running,
}

impl Ledger {
    /// Enters the next event.
    pub(super) fn enter(&mut self, event: &Event) -> Checked {
        self.event(event)
            .map_err(|violation| violation.of(format!("event {} ({})", event.seq, event.body.tag())))
    }

    fn event(&mut self, event: &Event) -> Checked {
        holds(event.seq.0 == self.last.0 + 1, || format!("it follows event {}", self.last))?;
        self.last = event.seq;
        match &event.body {
            Body::RunStarted(_) => {
                holds(!self.run, || "a run began within a run".to_owned())?;
                self.run = true;
            }
            Body::RunEnded(_) => self.end_run()?,
            Body::TurnStarted(_) => {
                let next = self.turn.map_or(1, |turn| turn.0 + 1);
                holds(!self.turn_runs, || format!("turn {:?} had no end", self.turn))?;
                holds(event.turn == Some(TurnNumber(next)), || {
                    format!("turn {:?} follows {:?}", event.turn, self.turn)
                })?;
                (self.turn, self.turn_runs) = (event.turn, true);
            }
            Body::Complete(_) => {
                holds(self.turn_runs && event.turn == self.turn, || "the turn does not run".to_owned())?;
                self.turn_runs = false;
            }
            Body::MessageChunk(chunk) => self.piece(event, chunk.item_id)?,
            Body::Reasoning(thought) => self.piece(event, thought.item_id)?,
            Body::ItemEnded(end) => {
                holds(self.items.remove(&end.item_id), || format!("item {} is not open", end.item_id))?;
            }
            Body::ToolPreparing(tool) => {
                let known = *self.tools.entry(tool.tool_call_id.clone()).or_insert(Called::Preparing);
                holds(known == Called::Preparing, || format!("{} runs already", tool.tool_call_id))?;
            }
            Body::ToolCall(tool) => {
                let before = self.tools.insert(tool.tool_call_id.clone(), Called::Running);
                holds(before != Some(Called::Running), || format!("{} was told twice", tool.tool_call_id))?;
            }
            Body::ToolUpdate(tool) => {
                let open = match tool.tool_status {
                    ToolStatus::Running => self.tools.contains_key(&tool.tool_call_id),
                    ToolStatus::Complete | ToolStatus::Error => {
                        self.tools.remove(&tool.tool_call_id).is_some()
                    }
                };
                holds(open, || format!("{} is not open", tool.tool_call_id))?;
            }
            Body::PermissionRequest(request) => {
                holds(request.pending_id.0 == event.seq.0, || "its name is not its number".to_owned())?;
                self.questions.insert(request.pending_id);
            }
            Body::PermissionResolved(end) => self.decide(end.pending_id)?,
            Body::PermissionCancelled(end) => self.decide(end.pending_id)?,
            Body::Task(task) if task.status == TaskStatus::Running => {
                self.tasks.insert(task.task_id.clone());
            }
            Body::Task(task) => drop(self.tasks.remove(&task.task_id)),
            Body::Gap(_) => return holds(false, || "a gap was stored".to_owned()),
            _ => {}
        }
        Ok(())
    }

    /// Whether a run is open.
    pub(super) fn is_running(&self) -> bool {
        self.run
    }

    fn piece(&mut self, event: &Event, item: ItemId) -> Checked {
        let new = self.items.insert(item);
        holds(!new || item.0 == event.seq.0, || format!("item {item} is not open"))
    }

    fn decide(&mut self, id: PendingId) -> Checked {
        holds(self.decided.insert(id), || format!("question {id} was decided twice"))?;
        holds(self.questions.remove(&id), || format!("question {id} was never asked"))
    }

    fn end_run(&mut self) -> Checked {
        holds(self.run, || "no run was there".to_owned())?;
        // The end of its run is the end of a turn too.
        (self.run, self.turn_runs) = (false, false);
        let Self { items, tools, questions, tasks, .. } = self;
        let closed = items.is_empty() && tools.is_empty() && questions.is_empty() && tasks.is_empty();
        holds(closed, || format!("the run left open: {items:?} {tools:?} {questions:?} {tasks:?}"))
    }
}

#[cfg(test)]
mod tests {
    use jackfield_api::codec;
    use serde_json::{Value, json};

    use super::*;

    fn enter(events: &[Value]) -> Checked {
        let mut ledger = Ledger::default();
        let begun = json!({ "type": "run_started", "cli_session_id": null, "claude_code_version": null });
        for (event, seq) in std::iter::once(&begun).chain(events).zip(1..) {
            let mut event = event.clone();
            if let Some(fields) = event.as_object_mut() {
                fields.insert("at".to_owned(), json!(0));
                fields.insert("session_id".to_owned(), json!("s"));
                fields.entry("seq").or_insert(json!(seq));
            }
            let event =
                codec::decode(&event.to_string()).map_err(super::super::violation::cannot("decode"))?;
            ledger.enter(&event)?;
        }
        Ok(())
    }

    fn chunk(item: u64) -> Value {
        json!({ "type": "message_chunk", "item_id": item, "message_id": null, "text": "a" })
    }

    fn ended() -> Value {
        json!({ "type": "run_ended", "reason": "closed", "exit_code": 0, "stderr_tail": "" })
    }

    #[test]
    fn what_is_left_open_doubled_or_missing_is_seen() {
        let item_ended = json!({ "type": "item_ended", "item_id": 2, "outcome": "complete" });
        assert!(enter(&[chunk(2), item_ended.clone(), ended()]).is_ok());
        assert!(enter(&[chunk(2), ended()]).is_err(), "an item without an end");
        assert!(enter(&[chunk(2), item_ended.clone(), item_ended]).is_err(), "an item with two ends");
        let far = json!({ "type": "notice", "level": "info", "text": "", "seq": 3 });
        assert!(enter(&[far]).is_err(), "a hole");
        let lost = json!({
            "type": "permission_resolved", "pending_id": 2, "outcome": "lost", "by": null, "message": null,
        });
        assert!(enter(&[lost]).is_err(), "an answer to nothing");
    }
}
