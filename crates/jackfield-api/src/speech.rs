//! Dictation: a client sends sound over its WebSocket and gets text, it alone.
//!
//! Nothing here belongs to a session, and nothing is kept: what was understood goes into a prompt or an answer, as the
//! person who spoke wants it. The one rule it keeps: a dictation ends with exactly one of `final`, `failed` and
//! `cancelled`.

use serde::{Deserialize, Serialize};

use crate::id::DictationId;

/// Begins a dictation. Binary messages that follow are its sound: 16-bit samples (little-endian), 16 kHz, one channel;
/// best in portions of a tenth of a second.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[derive(Eq)]
pub struct StartDictation {
    /// Its name, chosen by the client, new for every dictation of the connection. At most 128 characters.
    pub id: DictationId,
    /// What is spoken, such as `en`; without it, what the host is configured for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
}

/// All was said: the text is wanted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[derive(Eq)]
pub struct StopDictation {
    /// The dictation.
    pub id: DictationId,
}

/// The text is not wanted any more.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[derive(Eq)]
pub struct CancelDictation {
    /// The dictation.
    pub id: DictationId,
}

/// How a dictation goes on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[derive(Eq)]
pub struct Dictation {
    /// The dictation.
    pub id: DictationId,
    /// How it stands.
    pub state: DictationState,
    /// What was understood of the whole, with `interim` and `final`. An interim text takes the place of the one before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Why there is no text, with `failed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<DictationFailure>,
}

/// How a dictation stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum DictationState {
    /// The engine is loaded. Sound may be sent before.
    Listening,
    /// This was understood up to now; it may change.
    Interim,
    /// This was understood. It is over.
    Final,
    /// There is no text. It is over.
    Failed,
    /// It was cancelled. It is over.
    Cancelled,
}

/// Why there is no text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[derive(Eq)]
pub struct DictationFailure {
    /// For a program.
    pub code: DictationFailureCode,
    /// For a person, with what to do.
    pub reason: String,
}

/// Why there is no text, for a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum DictationFailureCode {
    /// There is no engine, or none for this language.
    NotAvailable,
    /// This client may only look.
    Forbidden,
    /// Others dictate, or this connection does already.
    Busy,
    /// What was sent is no sound.
    Invalid,
    /// It has more than ten minutes.
    TooLong,
    /// Sound comes faster than anybody speaks.
    TooFast,
    /// No sound came.
    NoSound,
    /// There was no speech in the sound.
    NothingHeard,
    /// The engine failed, or its process died. The next dictation is not touched.
    EngineFailed,
}

/// Whether this host understands speech.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[derive(Eq)]
pub struct SpeechState {
    /// Whether it does, as things are now.
    pub available: bool,
    /// By which engine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub engine: Option<String>,
    /// What is spoken where a client does not say it.
    pub language: String,
    /// The only languages that are understood; empty if the engine knows many.
    pub languages: Vec<String>,
    /// Why it does not, with what to do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Whether the page may offer the browser's own recogniser where there is no engine. It must say first that the
    /// sound may then go to the browser's maker.
    pub browser_fallback: bool,
}
