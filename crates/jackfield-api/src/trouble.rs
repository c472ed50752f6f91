//! Events about what went wrong or is out of the ordinary.

use serde::{Deserialize, Serialize};

use crate::id::Seq;

/// The API failed and is asked again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct ApiRetry {
    /// Which attempt comes next.
    pub attempt: u64,
    /// How many there are at most, as the CLI says.
    pub max_retries: u64,
    /// How long it waits.
    pub delay_ms: u64,
    /// What failed.
    pub error: String,
    /// The HTTP status, if there was an answer.
    pub status: Option<u64>,
}

/// The account's limits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct RateLimit {
    /// One line for a person.
    pub rate_limit_message: String,
    /// `allowed`, `allowed_warning`, `rejected`.
    pub status: String,
    /// When the limit ends, in seconds since 1970.
    pub resets_at: Option<u64>,
}

/// Something a person may want to read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct Notice {
    /// How much it matters.
    pub level: NoticeLevel,
    /// The words.
    pub text: String,
}

/// How much a notice matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum NoticeLevel {
    /// Good to know.
    Info,
    /// Look at it.
    Warning,
    /// Something is wrong.
    Error,
}

/// A turn or a run failed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct Error {
    /// What went wrong, for a person.
    pub error: String,
    /// What went wrong, for a program: the CLI's word for it, or ours.
    pub code: String,
}

/// A line on the CLI's standard error.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct Stderr {
    /// The line.
    pub text: String,
}

/// A message of a type that we do not know.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct Unknown {
    /// Its type, with the subtype behind a slash.
    pub tag: String,
    /// The whole line.
    pub text: String,
}

/// A line that could not be read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct Malformed {
    /// Why.
    pub reason: String,
    /// The line; cut when it was too long to keep.
    pub text: String,
}

/// Events that this reader has missed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct Gap {
    /// The first that is missing.
    pub from: Seq,
    /// The last that is missing.
    pub to: Seq,
}
