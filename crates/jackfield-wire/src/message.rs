//! Assistant and user lines.
//!
//! One assistant line is one content block, not one API message: lines of the same API message
//! share `message.id` [basic/partial_all_blocks]. The rule: only what every recording has is
//! required.

use serde::{Deserialize, Deserializer};

use crate::block::{Block, Content};
use crate::ids::{MessageId, SessionId, ToolUseId, Uuid};
use crate::lenient;
use crate::open_enum::open_enum;
use crate::raw::Raw;
use crate::usage::Usage;

open_enum! {
    /// Why the model stopped.
    pub enum StopReason {
        /// It was done.
        EndTurn = "end_turn",
        /// It reached the output limit.
        MaxTokens = "max_tokens",
        /// It met a stop sequence; also on synthetic error messages.
        StopSequence = "stop_sequence",
        /// It calls tools.
        ToolUse = "tool_use",
        /// The API paused a long turn.
        PauseTurn = "pause_turn",
        /// It refused.
        Refusal = "refusal",
        /// The context window is full.
        ModelContextWindowExceeded = "model_context_window_exceeded",
        /// A hook deferred the tool call [hooks/pre_defer].
        ToolDeferred = "tool_deferred",
    }
}

open_enum! {
    /// What kind of API failure an assistant line reports.
    pub enum AssistantError {
        /// The key or token was refused.
        AuthenticationFailed = "authentication_failed",
        /// The organisation may not use OAuth.
        OauthOrgNotAllowed = "oauth_org_not_allowed",
        /// The account is on hold.
        AccountOnHold = "account_on_hold",
        /// The account must be verified.
        VerificationRequired = "verification_required",
        /// No credit.
        BillingError = "billing_error",
        /// Too many requests.
        RateLimit = "rate_limit",
        /// The API is overloaded.
        Overloaded = "overloaded",
        /// The request was wrong.
        InvalidRequest = "invalid_request",
        /// No such model.
        ModelNotFound = "model_not_found",
        /// The API failed.
        ServerError = "server_error",
        /// The output limit was reached.
        MaxOutputTokens = "max_output_tokens",
        /// Cloud credentials failed.
        CloudCredentialError = "cloud_credential_error",
        /// The CLI does not know.
        Unknown = "unknown",
    }
}

/// An assistant line: one block of an API message, or a synthetic message of the CLI.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Assistant {
    /// The API message, with this line's block.
    pub message: ApiMessage,
    /// The subagent's call it belongs to; `None` on the main thread.
    pub parent_tool_use_id: Option<ToolUseId>,
    /// The CLI's session.
    pub session_id: Option<SessionId>,
    /// This line's id.
    pub uuid: Option<Uuid>,
    /// The API's request id.
    pub request_id: Option<String>,
    /// The kind of failure, when the line reports one.
    pub error: Option<AssistantError>,
    /// Names to show for MCP tool calls.
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub tool_use_meta: Vec<ToolUseMeta>,
    /// The subagent's type.
    pub subagent_type: Option<String>,
    /// The subagent's task.
    pub task_description: Option<String>,
    /// The subagent.
    pub agent_id: Option<String>,
    /// The user message this answers (newer CLIs).
    pub user_message_uuid: Option<Uuid>,
    /// All user messages this answers (newer CLIs).
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub user_message_uuids: Vec<Uuid>,
    /// Which earlier lines this one replaces, unread (newer CLIs).
    pub supersedes: Option<Raw>,
    /// Whether the message was cut off (newer CLIs).
    #[serde(default, deserialize_with = "lenient::flag")]
    pub aborted: bool,
    /// When it was written (newer CLIs).
    pub timestamp: Option<String>,
    /// Context use, unread (newer CLIs).
    pub context_usage: Option<Raw>,
    /// Usage report, unread (newer CLIs).
    pub usage_report: Option<Raw>,
    /// Why the turn was resumed, unread (newer CLIs).
    pub resume_reason: Option<Raw>,
    /// How long the model thought (newer CLIs).
    #[serde(default, deserialize_with = "lenient::optional_count")]
    pub thinking_duration_ms: Option<u64>,
    /// Whether the CLI made this message from an API error (newer CLIs).
    #[serde(default, deserialize_with = "lenient::flag")]
    pub is_api_error_message: bool,
    /// The API's HTTP status (newer CLIs).
    #[serde(default, deserialize_with = "lenient::optional_count")]
    pub api_error_status: Option<u64>,
    /// The API's error type (newer CLIs).
    pub api_error_type: Option<String>,
    /// The slash command this is the output of, unread (newer CLIs).
    pub local_command_source: Option<Raw>,
    /// The run of that command, unread (newer CLIs).
    pub local_command_run: Option<Raw>,
}

impl Assistant {
    /// The model name of messages that no model wrote: API errors and slash-command output.
    pub const SYNTHETIC: &'static str = "<synthetic>";

    /// Whether the CLI itself wrote this message.
    pub fn is_synthetic(&self) -> bool {
        self.message.model == Self::SYNTHETIC
    }
}

/// An API message.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct ApiMessage {
    /// The message.
    pub id: MessageId,
    /// The model, or `<synthetic>`.
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub model: String,
    /// The blocks; plain text is read as one text block.
    #[serde(default, deserialize_with = "blocks")]
    pub content: Vec<Block>,
    /// Why the model stopped; `None` on lines of streamed answers.
    pub stop_reason: Option<StopReason>,
    /// The stop sequence it met.
    pub stop_sequence: Option<String>,
    /// Usage; provisional on lines of streamed answers.
    pub usage: Option<Usage>,
}

/// Names to show for an MCP tool call.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct ToolUseMeta {
    /// The call.
    pub id: ToolUseId,
    /// The tool's name to show.
    pub display_name: Option<String>,
    /// The server's name to show.
    pub server_display_name: Option<String>,
}

/// A user line: tool results, replays of the host's messages, synthetic texts.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct User {
    /// The message.
    pub message: UserMessage,
    /// The subagent's call it belongs to; `None` on the main thread.
    pub parent_tool_use_id: Option<ToolUseId>,
    /// The CLI's session.
    pub session_id: Option<SessionId>,
    /// The message's id; the host's own one on replays.
    pub uuid: Option<Uuid>,
    /// When it was written.
    pub timestamp: Option<String>,
    /// The tool's structured output: object, list or string, unread.
    pub tool_use_result: Option<Raw>,
    /// Whether it repeats what the host sent (or what a local command printed).
    #[serde(default, rename = "isReplay", deserialize_with = "lenient::flag")]
    pub is_replay: bool,
    /// Whether the CLI made it up.
    #[serde(default, rename = "isSynthetic", deserialize_with = "lenient::flag")]
    pub is_synthetic: bool,
    /// The subagent's type.
    pub subagent_type: Option<String>,
    /// The subagent's task.
    pub task_description: Option<String>,
    /// The subagent.
    pub agent_id: Option<String>,
    /// How each tool result came about (newer CLIs).
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub tool_result_meta: Vec<ToolResultMeta>,
    /// Files attached to a replay, unread (newer CLIs).
    pub file_attachments: Option<Raw>,
    /// Where the message came from (newer CLIs).
    pub origin: Option<Origin>,
}

/// A user message.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct UserMessage {
    /// Text or blocks.
    pub content: Content,
}

/// How a tool result came about.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct ToolResultMeta {
    /// The call.
    pub id: ToolUseId,
    /// Why the tool did not run.
    pub non_execution_kind: Option<String>,
    /// The permission decision, unread.
    pub permission_decision: Option<Raw>,
}

/// What started a turn or a message.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Origin {
    /// `human`, `task-notification`, … [tools/bash_background_eof]
    pub kind: String,
}

fn blocks<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Block>, D::Error> {
    Ok(Option::<Content>::deserialize(deserializer)?.map(Content::into_blocks).unwrap_or_default())
}
