//! What a client is answered: that it was done, or why not.

use serde::{Deserialize, Serialize};

use crate::id::SessionId;
use crate::json::Json;
use crate::tagged::by_tag;

/// What a command brought, once it was accepted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Reply {
    /// It was done; events tell the rest.
    Done(Done),
    /// It was done, and this is what the CLI answered.
    Told(Told),
    /// It was done, and there is a new session.
    Created(Created),
}

by_tag!(Reply, "type", { "done" => Done, "told" => Told, "created" => Created });

/// Nothing more to say.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[derive(Eq, Default)]
pub struct Done {}

/// What the CLI answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[derive(Eq)]
pub struct Told {
    /// Its words, as JSON.
    pub answer: Json,
}

/// There is a new session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[derive(Eq)]
pub struct Created {
    /// Its name.
    pub session_id: SessionId,
}

/// Why a command was not done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[derive(Eq)]
pub struct Rejection {
    /// For a program.
    pub code: RejectionCode,
    /// For a person: what was wrong and what to do.
    pub reason: String,
}

/// Why a command was not done, for a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum RejectionCode {
    /// The command makes no sense as it stands.
    Invalid,
    /// What it names is not there, or is over.
    NotFound,
    /// It was answered or decided before.
    TooLate,
    /// It cannot be done in the session's present state.
    NotNow,
    /// It is not allowed here.
    Forbidden,
    /// The CLI refused it.
    Refused,
    /// The CLI did not answer in time.
    TimedOut,
    /// The run ended before it was done.
    RunEnded,
    /// This version of the CLI cannot do it.
    Unsupported,
    /// It is for another place (the host, not a session).
    Elsewhere,
}
