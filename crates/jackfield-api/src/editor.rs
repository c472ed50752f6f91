//! The host as the editor of an interactive CLI: the changes that the CLI proposes, and the files that it shows.
//!
//! Nothing here belongs to a session of the host: the CLI runs in somebody's terminal. State, not events: each is true
//! when it is sent. The one rule it keeps: a change is accepted by a person who could see it whole, or not at all.

use serde::{Deserialize, Serialize};

use crate::id::{EditorDiffId, EditorFileId, Timestamp};

/// What is before whoever may look: the open changes, oldest first, and the files that were shown, newest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[derive(Eq, Default)]
pub struct EditorState {
    /// Changes that wait for a decision.
    pub diffs: Vec<EditorDiff>,
    /// Files that were shown; at most ten.
    pub files: Vec<EditorFile>,
    /// How many CLIs are connected.
    pub connected: u32,
}

/// A change that a CLI proposes. Its texts are at `GET /api/editor/diffs/{diff_id}`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[derive(Eq)]
pub struct EditorDiff {
    /// Its name.
    pub diff_id: EditorDiffId,
    /// The file, absolute.
    pub path: String,
    /// Whether the file is to be made.
    pub new_file: bool,
    /// Lines added.
    pub added: u64,
    /// Lines taken away.
    pub removed: u64,
    /// When it was proposed.
    pub proposed_at: Timestamp,
}

/// A proposed change, whole.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[derive(Eq)]
pub struct EditorDiffContent {
    /// Its name.
    pub diff_id: EditorDiffId,
    /// The file, absolute.
    pub path: String,
    /// What is in the file; null if it is to be made.
    pub old: Option<String>,
    /// What is proposed.
    pub new: String,
}

/// What a person says to a proposed change.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[derive(Eq)]
pub struct EditorVerdict {
    /// Yes or no.
    pub accepted: bool,
    /// With a yes: what the file shall contain, if that is not what was proposed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
}

/// A file that a CLI wants to be looked at. Its text is at `GET /api/editor/files/{file_id}`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[derive(Eq)]
pub struct EditorFile {
    /// Its name; new each time that a file is shown.
    pub file_id: EditorFileId,
    /// The file, absolute.
    pub path: String,
    /// What is to be selected in it.
    pub selection: Option<EditorRange>,
    /// When it was shown.
    pub shown_at: Timestamp,
}

/// A file as it was when it was shown.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[derive(Eq)]
pub struct EditorFileContent {
    /// Its name.
    pub file_id: EditorFileId,
    /// The file, absolute.
    pub path: String,
    /// Its text.
    pub text: String,
    /// What is to be selected in it.
    pub selection: Option<EditorRange>,
}

/// From one place in a text up to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct EditorRange {
    /// The first place.
    pub start: EditorPosition,
    /// The place behind the last.
    pub end: EditorPosition,
}

/// A place in a text, both numbers from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct EditorPosition {
    /// The line.
    pub line: u32,
    /// The UTF-16 code unit in it.
    pub character: u32,
}
