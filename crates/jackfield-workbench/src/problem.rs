//! Problems in files, as editors and language servers know them and as the CLI reads them.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// A place in a text, both numbers from 0.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Position {
    /// The line.
    pub line: u32,
    /// The UTF-16 code unit in it, as in the language server protocol.
    pub character: u32,
}

/// From one place up to another.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Range {
    /// The first place.
    pub start: Position,
    /// The place behind the last.
    pub end: Position,
}

/// The problems in a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileDiagnostics {
    /// The file.
    pub path: PathBuf,
    /// The problems.
    pub diagnostics: Vec<Diagnostic>,
}

/// A problem in a file. The CLI takes it as it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Diagnostic {
    /// What is wrong.
    pub message: String,
    /// How bad it is.
    pub severity: Severity,
    /// Where it is.
    pub range: Range,
    /// Who says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// What they call it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
}

/// How bad a problem is, in the CLI's words [ide/diagnostics_after_edit].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Severity {
    /// It does not work.
    Error,
    /// It may not work.
    Warning,
    /// Worth knowing.
    Info,
    /// It could be done better.
    Hint,
}
