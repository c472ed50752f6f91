//! Events that count: the end of a turn with its cost, and how full the context is.

use serde::{Deserialize, Serialize};

use crate::id::{ToolCallId, Uuid};
use crate::json::Json;

/// How full the context is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct ContextWindow {
    /// Its size in tokens; 200,000 until the CLI tells.
    pub context_window_size: u64,
    /// What the last message of the main thread used of it.
    pub context_window_used: u64,
    /// What is left.
    pub context_window_remaining: u64,
    /// What is left, in per cent.
    pub context_efficiency: f64,
}

/// A turn is over.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct Complete {
    /// Its figures.
    pub data: TurnFigures,
}

/// The figures of one turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct TurnFigures {
    /// What this turn cost.
    pub cost_usd: f64,
    /// What the CLI counts as spent so far: in this run, and with newer CLIs in the runs before that ended in peace.
    pub total_cost_usd: f64,
    /// How long it took.
    pub duration_ms: u64,
    /// How long the API took in this turn.
    pub duration_api_ms: u64,
    /// How often the model was asked, as the CLI counts.
    pub num_turns: u64,
    /// Tokens read.
    pub input_tokens: u64,
    /// Tokens written.
    pub output_tokens: u64,
    /// Tokens read from the cache.
    pub cache_read_tokens: u64,
    /// Tokens put into the cache.
    pub cache_creation_tokens: u64,
    /// The last message that is safe to resume at.
    pub last_message_uuid: Option<Uuid>,
    /// Why it ended, in the CLI's words.
    pub terminal_reason: Option<String>,
    /// What was refused.
    pub permission_denials: Vec<PermissionDenial>,
    /// The answer in the wanted shape.
    pub structured_output: Option<Json>,
    /// What each model was used for, subagents and what the CLI asks for itself included; the tokens above are those of
    /// the main thread alone. Empty where the CLI does not tell.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub models: Vec<ModelFigures>,
}

/// What one model was used for.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct ModelFigures {
    /// Its name, as the CLI counts it; it may have a suffix such as `[1m]`.
    pub model: String,
    /// Tokens read.
    pub input_tokens: u64,
    /// Tokens written.
    pub output_tokens: u64,
    /// Tokens read from the cache.
    pub cache_read_tokens: u64,
    /// Tokens put into the cache.
    pub cache_creation_tokens: u64,
    /// What it cost.
    pub cost_usd: f64,
}

/// A tool call that was refused.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct PermissionDenial {
    /// The tool.
    pub tool_name: String,
    /// The call.
    pub tool_call_id: ToolCallId,
    /// Its input.
    pub input: Json,
}
