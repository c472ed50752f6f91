//! What the model is scripted to say: a list of replies, as data.
//!
//! This is not the choosing (that is [`super::script`]) nor the bytes (that is [`super::reply`]).
//! The one rule it keeps: every scenario of the shared recordings parses, and an unknown field is an error
//! rather than a reply that silently says less than its author wrote.
//!
//! `$number` in a text or in a tool's input becomes the reply's own number, which no other reply of the API has:
//! what a tool did can be told from what another call of it did.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The whole script of one scripted API.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Scenario {
    /// The replies in the order in which requests consume them. The recordings call them turns.
    #[serde(default)]
    pub turns: Vec<Reply>,
}

/// What one request is answered with.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Reply {
    /// The content blocks of the message.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub blocks: Vec<Block>,
    /// An HTTP error instead of a message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub http: Option<HttpError>,
    /// Only for requests whose conversation contains this text.
    #[serde(rename = "match", skip_serializing_if = "Option::is_none")]
    pub matching: Option<String>,
    /// Only for requests whose conversation does not contain this text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_match: Option<String>,
    /// Only for requests whose last message of the user contains this text: what was said before does not count.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub match_last: Option<String>,
    /// May also be consumed by a request without tools (titles, side questions).
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub aux: bool,
    /// How many requests this reply answers before it is used up; one when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repeat: Option<usize>,
    /// The stop reason; `tool_use` or `end_turn` by the blocks when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<String>,
    /// Token counts of the message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Additional response headers.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// Seconds before the first byte.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay_start: Option<f64>,
    /// A gate before the first byte.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gate: Option<String>,
    /// A gate after the last block, before the message ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gate_end: Option<String>,
    /// The connection is cut after this many events.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drop_after_events: Option<usize>,
    /// An `error` event after the blocks instead of the end of the message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub midstream_error: Option<Value>,
}

/// One content block, and how it is cut into deltas.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Block {
    /// What is said.
    #[serde(flatten)]
    pub content: Content,
    /// Seconds between two deltas.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chunk_delay: Option<f64>,
    /// The exact deltas; cut by words when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chunks: Option<Vec<String>>,
    /// A gate inside the block.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gate: Option<BlockGate>,
}

/// The content of a block.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Content {
    /// Visible text.
    Text {
        /// The whole text.
        text: String,
    },
    /// Thinking, with the signature that closes it.
    Thinking {
        /// The whole thought.
        thinking: String,
        /// The signature; a fixed one when absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signature: Option<String>,
    },
    /// Thinking that only the API can read.
    RedactedThinking {
        /// The opaque payload.
        data: String,
    },
    /// A tool call.
    ToolUse {
        /// The tool.
        name: String,
        /// Its id; numbered by reply and block when absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<String>,
        /// The input.
        #[serde(default)]
        input: Value,
        /// The input as text that need not be JSON, instead of `input`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        raw_json: Option<String>,
    },
}

/// Where inside a block a gate stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BlockGate {
    /// The gate's name.
    pub name: String,
    /// How many deltas pass before it.
    pub after: usize,
}

/// An HTTP error.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HttpError {
    /// The status code.
    pub status: u16,
    /// The response body.
    #[serde(default)]
    pub body: Value,
    /// Additional response headers.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
}

/// Token counts; the defaults are those of the shared recordings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Usage {
    /// Uncached input.
    pub input_tokens: u64,
    /// Output, as the message's end reports it.
    pub output_tokens: u64,
    /// Input written to the cache.
    pub cache_creation_input_tokens: u64,
    /// Input read from the cache.
    pub cache_read_input_tokens: u64,
}

impl Default for Usage {
    fn default() -> Self {
        Self {
            input_tokens: 100,
            output_tokens: 25,
            cache_creation_input_tokens: 0,
            cache_read_input_tokens: 0,
        }
    }
}

impl Reply {
    /// A reply of one text block.
    pub fn text(text: impl Into<String>) -> Self {
        Self { blocks: vec![Block::new(Content::Text { text: text.into() })], ..Self::default() }
    }

    /// A reply of one tool call.
    pub fn tool_use(name: impl Into<String>, input: Value) -> Self {
        let content = Content::ToolUse { name: name.into(), id: None, input, raw_json: None };
        Self { blocks: vec![Block::new(content)], ..Self::default() }
    }
}

impl Block {
    /// A block without delays and gates.
    pub fn new(content: Content) -> Self {
        Self { content, chunk_delay: None, chunks: None, gate: None }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use super::*;
    use crate::recordings;

    #[test]
    fn every_scenario_of_the_recordings_parses() {
        let mut parsed = 0;
        for recording in recordings::all().unwrap() {
            let path = recording.path.join("scenario.json");
            let text = std::fs::read_to_string(&path).unwrap();
            if let Err(error) = serde_json::from_str::<Scenario>(&text) {
                panic!("{}: {error}", recording.name);
            }
            parsed += 1;
        }
        assert!(0 < parsed);
    }

    #[test]
    fn a_misspelt_field_of_a_reply_is_refused() {
        let error = serde_json::from_str::<Scenario>(r#"{"turns":[{"stop_reson":"end_turn"}]}"#).unwrap_err();
        assert!(error.to_string().contains("stop_reson"), "{error}");
    }
}
