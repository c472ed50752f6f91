//! Events about the session and its runs: what is running, with which model, in which mode.

use serde::{Deserialize, Serialize};

/// A CLI process began.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct RunStarted {
    /// The CLI's own session id, where it is known at the start (a resumed session).
    pub cli_session_id: Option<String>,
    /// The CLI's version, where it is known at the start.
    pub claude_code_version: Option<String>,
}

/// A CLI process ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct RunEnded {
    /// Why.
    pub reason: RunEndReason,
    /// Its exit code; null when a signal ended it or when only its output was seen.
    pub exit_code: Option<i32>,
    /// The last lines of its standard error.
    pub stderr_tail: String,
}

/// Why a run ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum RunEndReason {
    /// It was asked to end, or its input ended, and it exited.
    Closed,
    /// It exited by itself with a code other than 0.
    Failed,
    /// A signal that we did not send ended it.
    Crashed,
    /// It did not end when asked and was killed.
    Killed,
    /// It no longer answered and was ended for that.
    Wedged,
    /// It never came up.
    NotStarted,
    /// Its output ended; nothing else was seen.
    OutputEnded,
    /// The host ended while it went on; what became of it was not seen.
    HostEnded,
}

/// Where a session's conversation came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum SessionOrigin {
    /// It begins here.
    New,
    /// An earlier conversation goes on.
    Resumed,
    /// A copy of an earlier conversation goes on.
    Forked,
    /// Only the CLI's output was seen.
    Unknown,
}

/// What the CLI says of itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct SessionStatus {
    /// Where the conversation came from.
    pub session_status: SessionOrigin,
    /// The CLI's own session id; `/clear` changes it.
    pub cli_session_id: String,
    /// The model in effect.
    pub model: String,
    /// The working directory.
    pub cwd: String,
    /// The permission mode in effect, as the CLI names it.
    pub permission_mode: String,
    /// Tools on offer.
    pub tools: Vec<String>,
    /// MCP servers and how they are.
    pub mcp_servers: Vec<McpServer>,
    /// The CLI's version.
    pub claude_code_version: String,
}

/// An MCP server as the CLI sees it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[derive(Eq)]
pub struct McpServer {
    /// Its name.
    pub name: String,
    /// `connected`, `failed`, `pending`, …
    pub status: String,
}

/// The slash commands; replaces the earlier list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct AvailableCommands {
    /// All of them.
    pub available_commands: Vec<SlashCommand>,
}

/// A slash command.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[derive(Eq)]
pub struct SlashCommand {
    /// Without the slash.
    pub name: String,
    /// What it does; empty where only the name is known.
    pub description: String,
    /// What may stand behind it.
    pub argument_hint: String,
}

/// Another permission mode is in effect.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct ModeChanged {
    /// As the CLI names it: `default`, `acceptEdits`, `plan`, …
    pub permission_mode: String,
}

/// Another model is in effect.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct ModelChanged {
    /// The new one.
    pub model: String,
    /// Why, where the CLI changed it by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// The conversation was or is being summarised.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct Compaction {
    /// `manual` or `auto`; null while that is not known.
    pub trigger: Option<String>,
    /// Tokens before.
    pub pre_tokens: Option<u64>,
    /// Tokens after.
    pub post_tokens: Option<u64>,
    /// How far it is.
    pub status: CompactionStatus,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// How far a compaction is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum CompactionStatus {
    /// It has begun.
    Running,
    /// The summary stands in the conversation's place.
    Complete,
    /// It failed; the conversation is unchanged.
    Failed,
}

/// A prompt's importance while another turn runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum Priority {
    /// Stops what is streaming.
    Now,
    /// Joins the running turn where it can.
    Next,
    /// Waits for the turn to end.
    Later,
}
