//! The lines between a host and an agent, as they were: for whoever looks for what was made of them.
//!
//! Not events: only the newest are kept, and nothing is decided by them. The one rule it keeps: a line that is not
//! whole says so.

use serde::{Deserialize, Serialize};

use crate::id::{LineNumber, Seq, Timestamp};

/// Some of a session's lines, oldest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct KeptLines {
    /// The lines behind the one that was asked for.
    pub lines: Vec<KeptLine>,
    /// Whether some of those are no longer kept.
    pub missing: bool,
}

/// One line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct KeptLine {
    /// Its number, from 1, without a hole.
    pub number: LineNumber,
    /// When it came or went.
    pub at: Timestamp,
    /// Which way.
    pub direction: LineDirection,
    /// What it says; only the beginning if it was `cut`.
    pub text: String,
    /// How long it was.
    pub bytes: u64,
    /// Whether its end is missing.
    pub cut: bool,
    /// The first event that was made of it; null if none was.
    pub first_seq: Option<Seq>,
    /// The last one.
    pub last_seq: Option<Seq>,
}

/// What is told to who follows a session's lines.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum FollowedLine {
    /// A line, whole.
    Line(KeptLine),
    /// The agent has ended, and all its lines were told.
    RunEnded {
        /// The last event of the run.
        last_seq: Seq,
    },
}

/// Which way a line went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum LineDirection {
    /// From the agent to the host.
    FromCli,
    /// From the host to the agent.
    ToCli,
}
