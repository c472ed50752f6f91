//! Subagents and commands in the background, as the CLI tells of them.
//!
//! They outlive the turn that started them, and their end starts a turn that nobody asked for
//! [tools/bash_background_eof]. A task is told when something about it changes, and is stopped at the latest
//! with its run.

use std::collections::BTreeMap;

use jackfield_api as api;

use api::tool::{Task, TaskStatus, TaskUsage};
use api::{TaskId, ToolCallId};

use crate::outbox::Outbox;
use crate::words::RUN_ENDED;

/// Tasks whose end was not announced.
#[derive(Debug, Default)]
pub(crate) struct Tasks {
    open: BTreeMap<TaskId, Task>,
    just_ended: bool,
}

/// Whether a line announces a task's end. A mere change of its status does not: the announcement follows, and
/// tells the end once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Announces {
    End,
    Change,
}

/// What a line tells of a task; what it does not tell stays as it was.
#[derive(Debug, Default)]
pub(crate) struct TaskNews {
    pub(crate) tool_call_id: Option<ToolCallId>,
    pub(crate) status: Option<TaskStatus>,
    pub(crate) description: Option<String>,
    pub(crate) usage: Option<TaskUsage>,
    pub(crate) task_type: Option<String>,
    pub(crate) summary: Option<String>,
}

impl Tasks {
    pub(crate) fn tell(&mut self, task_id: &TaskId, news: TaskNews, announces: Announces, out: &mut Outbox) {
        let task = self.open.entry(task_id.clone()).or_insert_with(|| Task {
            task_id: task_id.clone(),
            tool_call_id: None,
            status: TaskStatus::Running,
            description: None,
            usage: None,
            task_type: None,
            summary: None,
        });
        if let Some(status) = news.status {
            task.status = status;
        }
        task.tool_call_id = news.tool_call_id.or(task.tool_call_id.take());
        task.description = news.description.or(task.description.take());
        task.usage = news.usage.or(task.usage.take());
        task.task_type = news.task_type.or(task.task_type.take());
        task.summary = news.summary.or(task.summary.take());
        let over = task.status != TaskStatus::Running;
        self.just_ended = announces == Announces::End;
        if self.just_ended {
            out.event(task.clone());
            self.open.remove(task_id);
        } else if !over {
            out.event(task.clone());
        }
    }

    /// Whether the last news was the end of a task; reading it forgets it.
    pub(crate) fn just_ended(&mut self) -> bool {
        std::mem::take(&mut self.just_ended)
    }

    pub(crate) fn is_known(&self, id: &TaskId) -> bool {
        self.open.contains_key(id)
    }

    /// The call that started a task.
    pub(crate) fn call_of(&self, id: &str) -> Option<ToolCallId> {
        self.open.get(&TaskId::from(id))?.tool_call_id.clone()
    }

    /// Whether a task that this call started still runs.
    pub(crate) fn runs_for(&self, call: &ToolCallId) -> bool {
        let runs =
            |task: &Task| task.status == TaskStatus::Running && task.tool_call_id.as_ref() == Some(call);
        self.open.values().any(runs)
    }

    /// The run is over, and its tasks with it.
    pub(crate) fn end_run(&mut self, out: &mut Outbox) {
        while let Some((_, mut task)) = self.open.pop_first() {
            if task.status == TaskStatus::Running {
                task.status = TaskStatus::Stopped;
                task.summary = Some(RUN_ENDED.to_owned());
            }
            out.event(task);
        }
    }
}
