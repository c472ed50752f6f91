//! The result line that ends a turn.
//!
//! It is not an answer to one prompt: messages merge, and background work ends turns nobody
//! asked for. The rule: `is_error`, not the subtype, says whether the turn failed.

use serde::Deserialize;

use crate::ids::{SessionId, ToolUseId, Uuid};
use crate::lenient;
use crate::message::{Origin, StopReason};
use crate::open_enum::open_enum;
use crate::raw::Raw;
use crate::usage::{Usage, UsageByModel};

open_enum! {
    /// The kind of a result. API failures are `success` with `is_error` [errors/http_403].
    pub enum ResultSubtype {
        /// The turn ran to its end, well or badly.
        Success = "success",
        /// Interrupted, or failed to start.
        ErrorDuringExecution = "error_during_execution",
        /// `--max-turns` was reached.
        ErrorMaxTurns = "error_max_turns",
        /// `--max-budget-usd` was reached.
        ErrorMaxBudgetUsd = "error_max_budget_usd",
        /// No valid structured output.
        ErrorMaxStructuredOutputRetries = "error_max_structured_output_retries",
    }
}

open_enum! {
    /// Why a turn ended.
    pub enum TerminalReason {
        /// It was done.
        Completed = "completed",
        /// Aborted while the model streamed.
        AbortedStreaming = "aborted_streaming",
        /// Aborted while tools ran.
        AbortedTools = "aborted_tools",
        /// Too many turns.
        MaxTurns = "max_turns",
        /// The prompt does not fit.
        PromptTooLong = "prompt_too_long",
        /// A bad image.
        ImageError = "image_error",
        /// The model failed.
        ModelError = "model_error",
        /// The API failed.
        ApiError = "api_error",
        /// The model kept sending broken tool calls.
        MalformedToolUseExhausted = "malformed_tool_use_exhausted",
        /// A stop hook ended it.
        StopHookPrevented = "stop_hook_prevented",
        /// A hook ended it.
        HookStopped = "hook_stopped",
        /// A hook deferred a tool call.
        ToolDeferred = "tool_deferred",
        /// A deferred tool call could not be taken up.
        ToolDeferredUnavailable = "tool_deferred_unavailable",
        /// The turn moved to the background.
        BackgroundRequested = "background_requested",
        /// The budget is spent.
        BudgetExhausted = "budget_exhausted",
        /// No valid structured output.
        StructuredOutputRetryExhausted = "structured_output_retry_exhausted",
        /// The turn could not start.
        TurnSetupFailed = "turn_setup_failed",
        /// A limit blocks.
        BlockingLimit = "blocking_limit",
        /// The context filled up again at once.
        RapidRefillBreaker = "rapid_refill_breaker",
    }
}

/// The end of a turn.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct ResultMessage {
    /// The kind.
    pub subtype: ResultSubtype,
    /// Whether the turn failed.
    pub is_error: bool,
    /// The final text, on success.
    pub result: Option<String>,
    /// What went wrong, otherwise.
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub errors: Vec<String>,
    /// Why the model stopped last.
    pub stop_reason: Option<StopReason>,
    /// Why the turn ended; absent for slash commands and spent budgets.
    pub terminal_reason: Option<TerminalReason>,
    /// The API's HTTP status of a failure.
    #[serde(default, deserialize_with = "lenient::optional_count")]
    pub api_error_status: Option<u64>,
    /// Round trips of this turn; 0 for local commands.
    #[serde(default, deserialize_with = "lenient::count")]
    pub num_turns: u64,
    /// How long the turn took.
    #[serde(default, deserialize_with = "lenient::count")]
    pub duration_ms: u64,
    /// Time spent in the API; cumulative over the process.
    #[serde(default, deserialize_with = "lenient::count")]
    pub duration_api_ms: u64,
    /// Time to the first token.
    #[serde(default, deserialize_with = "lenient::optional_count")]
    pub ttft_ms: Option<u64>,
    /// Time to the first token of the stream.
    #[serde(default, deserialize_with = "lenient::optional_count")]
    pub ttft_stream_ms: Option<u64>,
    /// Time to the first request.
    #[serde(default, deserialize_with = "lenient::optional_count")]
    pub time_to_request_ms: Option<u64>,
    /// Cost in dollars; cumulative over the process.
    #[serde(default, deserialize_with = "lenient::amount")]
    pub total_cost_usd: f64,
    /// This turn's usage.
    pub usage: Option<Usage>,
    /// Usage by model; cumulative over the process.
    #[serde(default, rename = "modelUsage", deserialize_with = "lenient::or_default")]
    pub model_usage: UsageByModel,
    /// Tool calls that were denied.
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub permission_denials: Vec<PermissionDenial>,
    /// The value asked for with a JSON schema, unread.
    pub structured_output: Option<Raw>,
    /// The tool call a hook deferred.
    pub deferred_tool_use: Option<DeferredToolUse>,
    /// What started the turn, when it was not a prompt.
    pub origin: Option<Origin>,
    /// Fast mode.
    pub fast_mode_state: Option<String>,
    /// Turns still queued (newer CLIs).
    #[serde(default, deserialize_with = "lenient::optional_count")]
    pub queued_turn_count: Option<u64>,
    /// The result's number in this process (newer CLIs).
    #[serde(default, deserialize_with = "lenient::optional_count")]
    pub result_index: Option<u64>,
    /// The user message this answers (newer CLIs).
    pub user_message_uuid: Option<Uuid>,
    /// All user messages this answers (newer CLIs).
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub user_message_uuids: Vec<Uuid>,
    /// Why the start failed (newer CLIs).
    pub startup_failure_reason: Option<String>,
    /// The configuration file at fault, unread (newer CLIs).
    pub invalid_config_file: Option<Raw>,
    /// The CLI's session.
    pub session_id: Option<SessionId>,
    /// This line's id.
    pub uuid: Option<Uuid>,
}

/// A tool call that was denied.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct PermissionDenial {
    /// The tool.
    pub tool_name: String,
    /// The call.
    pub tool_use_id: Option<ToolUseId>,
    /// Its input, unread.
    pub tool_input: Option<Raw>,
}

/// A tool call that a hook put off.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct DeferredToolUse {
    /// The call.
    pub id: ToolUseId,
    /// The tool.
    pub name: String,
    /// Its input, unread.
    pub input: Option<Raw>,
}
