//! The rarer top-level lines.
//!
//! Only the rate limit was recorded; the others are known from type definitions. The rule: they
//! require nothing but what makes them useful.

use serde::Deserialize;

use crate::ids::{TaskId, ToolUseId, Uuid};
use crate::lenient;
use crate::open_enum::open_enum;
use crate::raw::Raw;
use crate::system::line;

open_enum! {
    /// What a subscription's limit says.
    pub enum RateLimitStatus {
        /// Below it.
        Allowed = "allowed",
        /// Near it.
        AllowedWarning = "allowed_warning",
        /// Over it.
        Rejected = "rejected",
    }
}

open_enum! {
    /// What became of a user message.
    pub enum CommandState {
        /// It waits.
        Queued = "queued",
        /// Its turn started.
        Started = "started",
        /// Its turn ended.
        Completed = "completed",
        /// It was cancelled.
        Cancelled = "cancelled",
        /// It was dropped.
        Discarded = "discarded",
    }
}

line! {
    /// A subscription's limits; only with claude.ai authentication.
    pub struct RateLimitEvent {
        /// The limits.
        pub rate_limit_info: RateLimit,
    }
}

/// A subscription's limits.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RateLimit {
    /// Whether requests pass.
    pub status: RateLimitStatus,
    /// When the limit resets, in epoch seconds.
    #[serde(default, deserialize_with = "lenient::optional_count")]
    pub resets_at: Option<u64>,
    /// Which limit.
    pub rate_limit_type: Option<String>,
    /// How much of it is used, 0 to 1.
    #[serde(default, deserialize_with = "lenient::optional_amount")]
    pub utilization: Option<f64>,
    /// Whether overage is in use.
    pub is_using_overage: Option<bool>,
    /// The overage's own status.
    pub overage_status: Option<RateLimitStatus>,
    /// The threshold that was passed, 0 to 1.
    #[serde(default, deserialize_with = "lenient::optional_amount")]
    pub surpassed_threshold: Option<f64>,
}

line! {
    /// A tool is still running.
    pub struct ToolProgress {
        /// The call.
        pub tool_use_id: ToolUseId,
        /// The tool.
        pub tool_name: Option<String>,
        /// The subagent's call it belongs to.
        pub parent_tool_use_id: Option<ToolUseId>,
        /// For how long.
        #[serde(default, deserialize_with = "lenient::amount")]
        pub elapsed_time_seconds: f64,
        /// The task it runs in.
        pub task_id: Option<TaskId>,
        /// Whether it is only a sign of life, unread.
        pub heartbeat: Option<Raw>,
        /// The subagent's retry, unread.
        pub subagent_retry: Option<Raw>,
    }
}

line! {
    /// A summary of some tool calls.
    pub struct ToolUseSummary {
        /// The summary.
        pub summary: String,
        /// The calls.
        #[serde(default, deserialize_with = "lenient::or_default")]
        pub preceding_tool_use_ids: Vec<ToolUseId>,
    }
}

line! {
    /// The CLI is logging in.
    pub struct AuthStatus {
        /// Whether it still is.
        #[serde(default, rename = "isAuthenticating", deserialize_with = "lenient::flag")]
        pub is_authenticating: bool,
        /// What it printed.
        #[serde(default, deserialize_with = "lenient::or_default")]
        pub output: Vec<String>,
        /// Why it failed.
        pub error: Option<String>,
    }
}

line! {
    /// What the user might say next.
    pub struct PromptSuggestion {
        /// The suggestion.
        pub suggestion: String,
    }
}

line! {
    /// The conversation starts anew.
    pub struct ConversationReset {
        /// The new conversation.
        pub new_conversation_id: Option<String>,
        /// Why, unread.
        pub trigger: Option<Raw>,
        /// The message that caused it.
        pub user_message_uuid: Option<Uuid>,
    }
}

line! {
    /// What became of a user message that carried a uuid (newer CLIs).
    pub struct CommandLifecycle {
        /// The message.
        pub command_uuid: Uuid,
        /// What became of it.
        pub state: CommandState,
    }
}

/// Nothing; the CLI is alive.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
pub struct KeepAlive {
    /// A mark of the CLI's start-up, unread.
    pub startup_mark: Option<Raw>,
}

/// Lines of the transcript file, mirrored (only with `--session-mirror`).
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct TranscriptMirror {
    /// The file.
    #[serde(rename = "filePath")]
    pub file_path: String,
    /// Its new lines, unread.
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub entries: Vec<Raw>,
}

line! {
    /// The goal being worked on.
    pub struct ActiveGoal {
        /// The goal, unread.
        pub goal: Option<Raw>,
    }
}

line! {
    /// How near automatic compaction is.
    pub struct AutocompactState {
        /// The state, unread.
        pub state: Option<Raw>,
    }
}
