//! Events of tools, of the hooks around them, and of work that goes on beside the conversation.

use serde::{Deserialize, Serialize};

use crate::id::{TaskId, ToolCallId};
use crate::json::Json;
use crate::normalized::Normalized;

/// A tool's input is streaming in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct ToolPreparing {
    /// The call.
    pub tool_call_id: ToolCallId,
    /// The tool.
    pub tool_name: String,
    /// How much of the input has come so far.
    pub bytes: u64,
}

/// A tool's input is complete.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct ToolCall {
    /// The call.
    pub tool_call_id: ToolCallId,
    /// The tool, as the model called it.
    pub tool_name: String,
    /// One line for a person.
    pub tool_title: String,
    /// Always running.
    pub tool_status: ToolStatus,
    /// The same, in the one shape of its kind.
    pub normalized: Normalized,
    /// The input as the model wrote it.
    pub input: Json,
}

/// Progress or the end of a tool call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct ToolUpdate {
    /// The call.
    pub tool_call_id: ToolCallId,
    /// Exactly one `complete` or `error` per call.
    pub tool_status: ToolStatus,
    /// Its line for a person, where it is another one now: somebody allowed the call with another input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_title: Option<String>,
    /// The call's shape with what is now known; null on bare progress.
    pub normalized: Option<Normalized>,
    /// The output as the CLI gave it to the model; null while it runs and when it never came.
    pub output: Option<Json>,
    /// A word on it: how long it has run, or why there is no output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// How a tool call stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum ToolStatus {
    /// It runs, or waits for permission.
    Running,
    /// It ended well.
    Complete,
    /// It failed, was refused, or never got a result.
    Error,
}

/// A subagent or a command in the background.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct Task {
    /// Its name.
    pub task_id: TaskId,
    /// The call that started it.
    pub tool_call_id: Option<ToolCallId>,
    /// How it stands.
    pub status: TaskStatus,
    /// What it does.
    pub description: Option<String>,
    /// What it has used.
    pub usage: Option<TaskUsage>,
    /// What it is: `local_bash`, `local_agent`, …
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_type: Option<String>,
    /// A word on its progress or end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
}

/// How a task stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum TaskStatus {
    /// It runs.
    Running,
    /// It ended well.
    Completed,
    /// It failed.
    Failed,
    /// It was stopped, or its run ended.
    Stopped,
}

/// What a task has used.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[derive(Copy, Eq)]
pub struct TaskUsage {
    /// Tokens.
    pub total_tokens: u64,
    /// Tool calls.
    pub tool_uses: u64,
    /// Milliseconds.
    pub duration_ms: u64,
}

/// A hook ran or was asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct Hook {
    /// This run of it: two of one name may run at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hook_id: Option<String>,
    /// The event that it is for: `PreToolUse`, `Stop`, …
    pub hook_event: String,
    /// Its name, or the name of our callback.
    pub hook_name: String,
    /// How it stands.
    pub status: HookStatus,
    /// The call that it is about.
    pub tool_call_id: Option<ToolCallId>,
    /// What it said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
    /// Its exit code, for a command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i64>,
}

/// How a hook stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum HookStatus {
    /// It was asked and has not answered.
    Running,
    /// It answered.
    Complete,
    /// It failed.
    Error,
    /// The CLI no longer waits for it, or the run ended.
    Cancelled,
}
