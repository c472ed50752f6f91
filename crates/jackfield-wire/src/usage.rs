//! Token counts, as the API and the CLI report them.
//!
//! No sums and no prices here. The rule: counts never make a message malformed (see `lenient`).

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::lenient;
use crate::raw::Raw;

/// An API message's or a turn's usage.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
pub struct Usage {
    /// Fresh input tokens.
    #[serde(default, deserialize_with = "lenient::count")]
    pub input_tokens: u64,
    /// Output tokens; provisional on assistant lines of streamed answers [basic/text_nopartial].
    #[serde(default, deserialize_with = "lenient::count")]
    pub output_tokens: u64,
    /// Tokens written to the prompt cache.
    #[serde(default, deserialize_with = "lenient::count")]
    pub cache_creation_input_tokens: u64,
    /// Tokens read from the prompt cache.
    #[serde(default, deserialize_with = "lenient::count")]
    pub cache_read_input_tokens: u64,
    /// Uses of the API's own tools.
    pub server_tool_use: Option<ServerToolUsage>,
    /// The API's service tier.
    pub service_tier: Option<String>,
    /// Fast or standard.
    pub speed: Option<String>,
    /// Where inference ran.
    pub inference_geo: Option<String>,
    /// Cache writes by lifetime, unread.
    pub cache_creation: Option<Raw>,
    /// Usage per step of one request, unread.
    pub iterations: Option<Raw>,
}

/// Uses of the API's own tools.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
pub struct ServerToolUsage {
    /// Web searches.
    #[serde(default, deserialize_with = "lenient::count")]
    pub web_search_requests: u64,
    /// Web fetches.
    #[serde(default, deserialize_with = "lenient::count")]
    pub web_fetch_requests: u64,
}

/// What one model cost so far; cumulative over the process.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelUsage {
    /// Fresh input tokens.
    #[serde(default, deserialize_with = "lenient::count")]
    pub input_tokens: u64,
    /// Output tokens.
    #[serde(default, deserialize_with = "lenient::count")]
    pub output_tokens: u64,
    /// Tokens read from the prompt cache.
    #[serde(default, deserialize_with = "lenient::count")]
    pub cache_read_input_tokens: u64,
    /// Tokens written to the prompt cache.
    #[serde(default, deserialize_with = "lenient::count")]
    pub cache_creation_input_tokens: u64,
    /// Web searches.
    #[serde(default, deserialize_with = "lenient::count")]
    pub web_search_requests: u64,
    /// Cost in dollars.
    #[serde(default, rename = "costUSD", deserialize_with = "lenient::amount")]
    pub cost_usd: f64,
    /// The model's context window, if the CLI knows it.
    #[serde(default, deserialize_with = "lenient::optional_count")]
    pub context_window: Option<u64>,
    /// The model's output limit.
    #[serde(default, deserialize_with = "lenient::optional_count")]
    pub max_output_tokens: Option<u64>,
    /// Thinking tokens (newer CLIs).
    #[serde(default, deserialize_with = "lenient::optional_count")]
    pub thinking_tokens: Option<u64>,
    /// The model's plain name (newer CLIs).
    pub canonical_model: Option<String>,
    /// Who serves the model (newer CLIs).
    pub provider: Option<String>,
    /// How the cost was found (newer CLIs).
    pub cost_basis: Option<String>,
}

/// Usage by model; the key can carry a `[1m]` suffix that the assistant's `model` lacks.
pub type UsageByModel = BTreeMap<String, ModelUsage>;

/// A task's usage.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
pub struct TaskUsage {
    /// All tokens.
    #[serde(default, deserialize_with = "lenient::count")]
    pub total_tokens: u64,
    /// Tool calls.
    #[serde(default, deserialize_with = "lenient::count")]
    pub tool_uses: u64,
    /// How long it has run.
    #[serde(default, deserialize_with = "lenient::count")]
    pub duration_ms: u64,
}
