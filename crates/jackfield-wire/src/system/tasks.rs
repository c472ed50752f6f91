//! Tasks: subagents, background commands, and commands that run long.
//!
//! A task is not a tool call: it outlives the call and the turn [tools/bash_background_eof]. The
//! rule: the task's id joins its lines.

use serde::Deserialize;

use super::line;
use crate::ids::{TaskId, ToolUseId};
use crate::lenient;
use crate::open_enum::open_enum;
use crate::raw::Raw;
use crate::usage::TaskUsage;

open_enum! {
    /// How a task is.
    pub enum TaskStatus {
        /// It waits.
        Pending = "pending",
        /// It runs.
        Running = "running",
        /// It ended well.
        Completed = "completed",
        /// It failed.
        Failed = "failed",
        /// It was stopped.
        Stopped = "stopped",
        /// It was killed.
        Killed = "killed",
    }
}

open_enum! {
    /// What a task is.
    pub enum TaskType {
        /// A shell command.
        LocalBash = "local_bash",
        /// A subagent.
        LocalAgent = "local_agent",
        /// A workflow.
        LocalWorkflow = "local_workflow",
        /// A task of an MCP server.
        McpTask = "mcp_task",
    }
}

line! {
    /// A task started; any Bash that runs longer than about three seconds is one.
    pub struct TaskStarted {
        /// The task.
        pub task_id: TaskId,
        /// The call that started it.
        pub tool_use_id: Option<ToolUseId>,
        /// What it does.
        #[serde(default, deserialize_with = "lenient::or_default")]
        pub description: String,
        /// What it is.
        pub task_type: Option<TaskType>,
        /// The subagent's type.
        pub subagent_type: Option<String>,
        /// The subagent's prompt.
        pub prompt: Option<String>,
        /// The run, for tasks that run again (newer CLIs).
        pub run_id: Option<String>,
        /// Whether it started in the background (newer CLIs).
        pub is_backgrounded: Option<bool>,
        /// How deep it was spawned (newer CLIs).
        #[serde(default, deserialize_with = "lenient::optional_count")]
        pub spawn_depth: Option<u64>,
        /// The task that spawned it (newer CLIs).
        pub parent_task_id: Option<TaskId>,
        /// Whether it is left out of transcripts (newer CLIs).
        pub skip_transcript: Option<bool>,
        /// Whether it is part of the furniture (newer CLIs).
        pub ambient: Option<bool>,
    }
}

line! {
    /// A task works.
    pub struct TaskProgress {
        /// The task.
        pub task_id: TaskId,
        /// The call that started it.
        pub tool_use_id: Option<ToolUseId>,
        /// What it is doing.
        #[serde(default, deserialize_with = "lenient::or_default")]
        pub description: String,
        /// The subagent's type.
        pub subagent_type: Option<String>,
        /// Usage so far.
        pub usage: Option<TaskUsage>,
        /// The last tool it called.
        pub last_tool_name: Option<String>,
        /// What it has found (newer CLIs).
        pub summary: Option<String>,
    }
}

line! {
    /// A task changed.
    pub struct TaskUpdated {
        /// The task.
        pub task_id: TaskId,
        /// What changed.
        pub patch: TaskPatch,
    }
}

/// What changed in a task.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
pub struct TaskPatch {
    /// The new status.
    pub status: Option<TaskStatus>,
    /// When it ended, in epoch milliseconds.
    #[serde(default, deserialize_with = "lenient::optional_count")]
    pub end_time: Option<u64>,
    /// Its new description.
    pub description: Option<String>,
    /// Whether it moved to the background.
    pub is_backgrounded: Option<bool>,
    /// Why it failed.
    pub error: Option<String>,
}

line! {
    /// A task ended; a turn that nobody asked for may follow.
    pub struct TaskNotification {
        /// The task.
        pub task_id: TaskId,
        /// The call that started it.
        pub tool_use_id: Option<ToolUseId>,
        /// How it ended.
        pub status: TaskStatus,
        /// Where its output is.
        #[serde(default, deserialize_with = "lenient::or_default")]
        pub output_file: String,
        /// What it says about itself.
        #[serde(default, deserialize_with = "lenient::or_default")]
        pub summary: String,
        /// Its usage.
        pub usage: Option<TaskUsage>,
        /// Links to what it made, unread (newer CLIs).
        pub resource_links: Option<Raw>,
    }
}

line! {
    /// The background tasks, all of them; replaces what was known.
    pub struct BackgroundTasksChanged {
        /// The tasks.
        #[serde(default, deserialize_with = "lenient::or_default")]
        pub tasks: Vec<BackgroundTask>,
    }
}

/// A background task.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct BackgroundTask {
    /// The task.
    pub task_id: Option<TaskId>,
    /// What it is.
    pub task_type: Option<TaskType>,
    /// How it is.
    pub status: Option<TaskStatus>,
    /// What it does.
    pub description: Option<String>,
    /// The call that started it.
    pub tool_use_id: Option<ToolUseId>,
}
