//! Why something could not be done.

use std::io;
use std::path::PathBuf;

use jackfield_api::command::{Rejection, RejectionCode};
use jackfield_api::session::RunEndReason;

use crate::command_line::OptionError;
use crate::locate::LocateError;
use crate::lock::LockError;

/// Why a session did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// There is no CLI to start.
    #[error(transparent)]
    Locate(#[from] LocateError),
    /// The options make no sense, or this CLI lacks one of them.
    #[error(transparent)]
    Options(#[from] OptionError),
    /// Somebody else drives this session.
    #[error(transparent)]
    Owned(#[from] LockError),
    /// The system did not start it.
    #[error("cannot start `{program}`: {source}")]
    Spawn {
        /// What was to be started.
        program: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// It ended before it was ready.
    #[error("the CLI ended before it was ready ({reason:?}, exit code {exit_code:?}): {stderr}")]
    Died {
        /// How it ended.
        reason: RunEndReason,
        /// Its exit code, if no signal ended it.
        exit_code: Option<i32>,
        /// The last lines of its standard error.
        stderr: String,
    },
    /// It refused to be initialised, or did not answer.
    #[error("the CLI did not get ready: {0}")]
    NotReady(#[from] Refused),
}

/// Why a command or request was not done.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.reason)]
pub struct Refused(pub Rejection);

impl Refused {
    /// The reason for a program.
    pub fn code(&self) -> RejectionCode {
        self.0.code
    }
}

impl From<Rejection> for Refused {
    fn from(rejection: Rejection) -> Self {
        Self(rejection)
    }
}
