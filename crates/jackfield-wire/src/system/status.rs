//! What the CLI and its API requests are doing.
//!
//! Not the session's state: the machine above decides that. The rule: `null` is a status too.

use serde::Deserialize;

use super::line;
use crate::ids::Uuid;
use crate::lenient;
use crate::open_enum::open_enum;
use crate::permission::PermissionMode;

open_enum! {
    /// What the CLI is doing.
    pub enum Activity {
        /// It asks the API; only with partial messages.
        Requesting = "requesting",
        /// It compacts the conversation.
        Compacting = "compacting",
    }
}

open_enum! {
    /// Whether the CLI works.
    pub enum SessionState {
        /// A turn runs.
        Running = "running",
        /// It waits for an answer of the host.
        RequiresAction = "requires_action",
        /// Nothing runs; after a result this is the sign that the turn is over.
        Idle = "idle",
    }
}

open_enum! {
    /// What made the CLI compact the conversation.
    pub enum CompactTrigger {
        /// The user.
        Manual = "manual",
        /// A full context window.
        Auto = "auto",
    }
}

line! {
    /// What the CLI is doing; also the sign of a changed permission mode.
    pub struct Status {
        /// The activity; `None` when it ended.
        pub status: Option<Activity>,
        /// The new permission mode, when it changed.
        #[serde(rename = "permissionMode")]
        pub permission_mode: Option<PermissionMode>,
        /// `success` or `failed`, when a compaction ended.
        pub compact_result: Option<String>,
        /// Why it failed.
        pub compact_error: Option<String>,
    }
}

line! {
    /// Whether the CLI works; only with `CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS=1`.
    pub struct SessionStateChanged {
        /// The state.
        pub state: SessionState,
    }
}

line! {
    /// The model is thinking; told without partial messages too. See [basic/thinking_default].
    pub struct ThinkingTokens {
        /// Tokens so far.
        #[serde(default, deserialize_with = "lenient::count")]
        pub estimated_tokens: u64,
        /// Tokens since the last such line.
        #[serde(default, deserialize_with = "lenient::count")]
        pub estimated_tokens_delta: u64,
    }
}

line! {
    /// An API request failed and will be repeated.
    pub struct ApiRetry {
        /// Which attempt failed.
        #[serde(default, deserialize_with = "lenient::count")]
        pub attempt: u64,
        /// How many there are; a 529 is given up earlier [errors/http_529_gives_up_after_three].
        #[serde(default, deserialize_with = "lenient::count")]
        pub max_retries: u64,
        /// How long the CLI waits.
        #[serde(default, deserialize_with = "lenient::amount")]
        pub retry_delay_ms: f64,
        /// The HTTP status, if there was an answer.
        #[serde(default, deserialize_with = "lenient::optional_count")]
        pub error_status: Option<u64>,
        /// The kind of failure.
        pub error: Option<String>,
        /// Whether there was no answer at all (newer CLIs).
        pub no_response: Option<bool>,
    }
}

line! {
    /// The conversation was compacted.
    pub struct CompactBoundary {
        /// How.
        pub compact_metadata: CompactMetadata,
    }
}

/// How a conversation was compacted.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct CompactMetadata {
    /// What caused it.
    pub trigger: CompactTrigger,
    /// Tokens before.
    #[serde(default, deserialize_with = "lenient::count")]
    pub pre_tokens: u64,
    /// Tokens after.
    #[serde(default, deserialize_with = "lenient::optional_count")]
    pub post_tokens: Option<u64>,
    /// Tokens dropped over the session's life.
    #[serde(default, deserialize_with = "lenient::optional_count")]
    pub cumulative_dropped_tokens: Option<u64>,
    /// How long it took.
    #[serde(default, deserialize_with = "lenient::optional_count")]
    pub duration_ms: Option<u64>,
    /// The run of messages that was kept.
    pub preserved_segment: Option<PreservedSegment>,
    /// The messages that were kept.
    pub preserved_messages: Option<PreservedMessages>,
}

/// The run of messages that a compaction kept.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct PreservedSegment {
    /// The first.
    pub head_uuid: Option<Uuid>,
    /// What it hangs on.
    pub anchor_uuid: Option<Uuid>,
    /// The last.
    pub tail_uuid: Option<Uuid>,
}

/// The messages that a compaction kept.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct PreservedMessages {
    /// What they hang on.
    pub anchor_uuid: Option<Uuid>,
    /// The messages.
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub uuids: Vec<Uuid>,
    /// These and all that belong to them.
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub all_uuids: Vec<Uuid>,
}
