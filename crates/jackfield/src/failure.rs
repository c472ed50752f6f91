//! Why a command failed, whose fault it is, and what to do next.
//!
//! Not for trouble inside a stream: that is an event. The one rule: what concerns the given file ends with
//! exit code 2, everything else with 1.

use std::io::{self, Write};
use std::process::ExitCode;

use thiserror::Error;

/// Why a command failed.
#[derive(Debug, Error)]
pub(crate) enum Failure {
    #[error("cannot read `{path}`: {source}")]
    Input { path: String, source: io::Error },
    #[error("cannot replay `{path}`: line {line} is no journal entry: {reason}")]
    NoJournal { path: String, line: u64, reason: String },
    #[error("cannot read standard input: {0}")]
    Stdin(io::Error),
    #[error("cannot write to standard output: {0}")]
    Stdout(#[from] io::Error),
    #[error("`jackfield {0}` is not in this version yet")]
    NotYet(&'static str),
}

impl Failure {
    pub(crate) fn is_broken_pipe(&self) -> bool {
        matches!(self, Self::Stdout(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }

    pub(crate) fn exit_code(&self) -> ExitCode {
        match self {
            Self::Input { .. } | Self::NoJournal { .. } => ExitCode::from(2),
            Self::Stdin(_) | Self::Stdout(_) | Self::NotYet(_) => ExitCode::FAILURE,
        }
    }

    pub(crate) fn print(&self) {
        let hint = self.hint().map(|hint| format!("hint: {hint}\n")).unwrap_or_default();
        // Nobody is left to tell when standard error fails too; the exit code still does.
        let _ = write!(io::stderr(), "jackfield: {self}\n{hint}");
    }

    fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NoJournal { .. } => Some(
                "a recording or journal has one object per line, {\"t\": …, \"dir\": …, \"line\": …}; plain CLI output goes to `jackfield events`",
            ),
            Self::NotYet(_) => Some("`jackfield events` and `jackfield replay` work; see `jackfield --help`"),
            Self::Input { .. } | Self::Stdin(_) | Self::Stdout(_) => None,
        }
    }
}
