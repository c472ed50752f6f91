//! The end of a run whose host died.
//!
//! Nobody saw that end, so it is made from what the transcript says is open, with the words that
//! [`Session`](crate::Session) would have used. A hook that was asked is not among it: no transcript holds
//! hooks. The one rule: after these events nothing is open, and nothing was closed twice.

use jackfield_api as api;

use api::conversation::{DropReason, DroppedPrompt, ItemEnded, ItemOutcome, Queue};
use api::permission::{PermissionOutcome, PermissionResolved};
use api::session::{RunEndReason, RunEnded};
use api::snapshot::{Item, ItemContent, SessionState};
use api::tool::{Task, TaskStatus, ToolStatus, ToolUpdate};
use api::trouble::Error;
use api::{Body, Event, Seq, Timestamp, ToolCallId};

use crate::transcript::Transcript;
use crate::words::{self, NEVER_CALLED, NO_RESULT, RUN_ENDED};

impl Transcript {
    /// The events that end everything that is open, if a run is; none if none is. They are numbered behind the
    /// last event of this transcript, and change it only once they are applied.
    pub fn host_ended(&self, at: Timestamp) -> Vec<Event> {
        let snapshot = &self.snapshot;
        if snapshot.state == SessionState::Ended {
            return Vec::new();
        }
        let mut seq = snapshot.seq.0;
        let number = |(parent_tool_call_id, body)| {
            seq += 1;
            let session_id = snapshot.session_id.clone().unwrap_or_else(|| "".into());
            Event { body, seq: Seq(seq), at, session_id, turn: snapshot.turn, parent_tool_call_id }
        };
        self.closing().into_iter().map(number).collect()
    }

    /// In the order in which a run is taken apart: what streams, questions, calls, tasks, prompts.
    fn closing(&self) -> Vec<(Option<ToolCallId>, Body)> {
        let snapshot = &self.snapshot;
        let mut items: Vec<&Item> = snapshot.items.iter().collect();
        items.sort_by_key(|item| &item.parent_tool_call_id);
        let mut bodies: Vec<_> =
            items.iter().filter_map(|item| Some(within(item, stream_lost(item)?))).collect();
        bodies.extend(snapshot.items.iter().filter_map(|item| Some(within(item, question_lost(item)?))));
        items.sort_by_key(|item| call_id(item));
        bodies.extend(items.iter().filter_map(|item| Some(within(item, call_lost(item)?))));
        let mut tasks: Vec<&Task> =
            snapshot.tasks.iter().filter(|task| task.status == TaskStatus::Running).collect();
        tasks.sort_by_key(|task| &task.task_id);
        bodies.extend(tasks.into_iter().map(|task| (None, task_lost(task))));
        bodies.extend(snapshot.queue.as_ref().and_then(queue_lost).map(|queue| (None, queue.into())));
        if self.compaction.is_some() {
            bodies.push((None, words::compaction_lost(RUN_ENDED).into()));
        }
        let error = Error {
            error: "the host ended while this run was going on; what the CLI did after that may be missing"
                .to_owned(),
            code: "host_ended".to_owned(),
        };
        bodies.push((None, error.into()));
        let end = RunEnded { reason: RunEndReason::HostEnded, exit_code: None, stderr_tail: String::new() };
        bodies.push((None, end.into()));
        bodies
    }
}

fn within(item: &Item, body: Body) -> (Option<ToolCallId>, Body) {
    (item.parent_tool_call_id.clone(), body)
}

/// A text that grew, or a call whose input was streaming in.
fn stream_lost(item: &Item) -> Option<Body> {
    match &item.content {
        ItemContent::Text(text) | ItemContent::Thinking(text) if text.outcome.is_none() => {
            Some(ItemEnded { item_id: text.item_id, outcome: ItemOutcome::Aborted }.into())
        }
        ItemContent::Tool(tool) if tool.input.is_none() => tool_lost(item, NEVER_CALLED),
        _ => None,
    }
}

fn call_lost(item: &Item) -> Option<Body> {
    match &item.content {
        ItemContent::Tool(tool) if tool.input.is_some() => tool_lost(item, NO_RESULT),
        _ => None,
    }
}

fn tool_lost(item: &Item, why: &str) -> Option<Body> {
    let ItemContent::Tool(tool) = &item.content else { return None };
    let update = ToolUpdate {
        tool_call_id: tool.tool_call_id.clone(),
        tool_status: ToolStatus::Error,
        tool_title: None,
        normalized: tool.normalized.clone(),
        output: None,
        message: Some(why.to_owned()),
    };
    (tool.tool_status == ToolStatus::Running).then(|| update.into())
}

fn call_id(item: &Item) -> Option<&ToolCallId> {
    if let ItemContent::Tool(tool) = &item.content { Some(&tool.tool_call_id) } else { None }
}

fn question_lost(item: &Item) -> Option<Body> {
    let ItemContent::Question(question) = &item.content else { return None };
    let lost = PermissionResolved {
        pending_id: question.request.pending_id,
        outcome: PermissionOutcome::Lost,
        by: None,
        message: Some(RUN_ENDED.to_owned()),
        input: None,
    };
    question.ending.is_none().then(|| lost.into())
}

fn task_lost(task: &Task) -> Body {
    let summary = Some(RUN_ENDED.to_owned());
    Task { status: TaskStatus::Stopped, summary, ..task.clone() }.into()
}

fn queue_lost(queue: &Queue) -> Option<Queue> {
    let lost = |prompt: &api::conversation::QueuedPrompt| DroppedPrompt {
        uuid: prompt.uuid.clone(),
        text: prompt.text.clone(),
        reason: DropReason::RunEnded,
    };
    let dropped: Vec<_> = queue.prompts.iter().map(lost).collect();
    (!dropped.is_empty()).then_some(Queue { prompts: Vec::new(), dropped })
}
