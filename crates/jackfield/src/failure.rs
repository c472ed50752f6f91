//! Why a command failed, whose fault it is, and what to do next.
//!
//! Not for trouble inside a stream: that is an event. The one rule: a script can tell from the exit code what
//! to do next, and every code stands in [`Exit`] with its meaning.

use std::io::{self, Write};
use std::process::ExitCode;

use thiserror::Error;

use crate::commands::{
    AcpFailure, BundleError, DevicesFailure, HostFailure, IdeFailure, LinkFailure, RunFailure, ServeFailure,
    SessionsFailure, SpeechFailure, TopFailure,
};
use crate::config::ConfigError;

/// How the program ends, for scripts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Exit {
    Done = 0,
    Failed = 1,
    Usage = 2,
    NoCli = 3,
    Unanswered = 4,
    Limit = 5,
    Interrupted = 130,
}

impl Exit {
    /// All of them, in order.
    pub(crate) const ALL: [Self; 7] = [
        Self::Done,
        Self::Failed,
        Self::Usage,
        Self::NoCli,
        Self::Unanswered,
        Self::Limit,
        Self::Interrupted,
    ];

    /// What it means.
    pub(crate) fn meaning(self) -> &'static str {
        match self {
            Self::Done => "done, also when the reader of a pipe has seen enough",
            Self::Failed => "it failed: a turn, a check of the doctor, the program or its surroundings",
            Self::Usage => "what it was given is wrong: the command line, a file, the configuration",
            Self::NoCli => "there is no CLI that can be used; `jackfield doctor` says why",
            Self::Unanswered => "a permission was denied, or needs an answer and nobody can be asked",
            Self::Limit => "a budget or a rate limit is reached",
            Self::Interrupted => "interrupted",
        }
    }

    /// The list of all of them, as it stands in the help and the manual.
    pub(crate) fn list() -> String {
        let lines = Self::ALL.map(|exit| format!("  {:3}  {}", exit as u8, exit.meaning()));
        format!("Exit codes:\n{}", lines.join("\n"))
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// Why a command failed.
#[derive(Debug, Error)]
pub(crate) enum Failure {
    #[error("cannot read `{path}`: {source}")]
    Input { path: String, source: io::Error },
    #[error("cannot replay `{path}`: line {line} is no journal entry: {reason}")]
    NoJournal { path: String, line: u64, reason: String },
    #[error("cannot write `{path}`: {source}")]
    Written { path: String, source: io::Error },
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error("cannot start the runtime: {0}")]
    Runtime(io::Error),
    #[error("cannot read standard input: {0}")]
    Stdin(io::Error),
    #[error("cannot write to standard output: {0}")]
    Stdout(#[from] io::Error),
    #[error(transparent)]
    Serve(#[from] ServeFailure),
    #[error(transparent)]
    Link(#[from] LinkFailure),
    #[error(transparent)]
    Devices(#[from] DevicesFailure),
    #[error(transparent)]
    Host(#[from] HostFailure),
    #[error(transparent)]
    Run(#[from] RunFailure),
    #[error(transparent)]
    Sessions(#[from] SessionsFailure),
    #[error(transparent)]
    Ide(#[from] IdeFailure),
    #[error(transparent)]
    Bundle(#[from] BundleError),
    #[error(transparent)]
    Speech(#[from] SpeechFailure),
    #[error(transparent)]
    Top(#[from] TopFailure),
    #[error(transparent)]
    Acp(#[from] AcpFailure),
}

impl Failure {
    pub(crate) fn is_broken_pipe(&self) -> bool {
        matches!(self, Self::Stdout(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }

    pub(crate) fn exit_code(&self) -> ExitCode {
        let exit = match self {
            Self::Input { .. }
            | Self::NoJournal { .. }
            | Self::Written { .. }
            | Self::Config(_)
            | Self::Sessions(_) => Exit::Usage,
            Self::Bundle(error) => error.exit(),
            Self::Speech(failure) => failure.exit(),
            Self::Top(failure) => failure.exit(),
            Self::Devices(failure) => failure.exit(),
            Self::Host(failure) => failure.exit(),
            Self::Run(failure) => failure.exit(),
            Self::Ide(failure) => failure.exit(),
            Self::Acp(failure) => failure.exit(),
            Self::Runtime(_) | Self::Stdin(_) | Self::Stdout(_) | Self::Serve(_) | Self::Link(_) => {
                Exit::Failed
            }
        };
        exit.into()
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
            Self::Serve(failure) => failure.hint(),
            Self::Link(failure) => Some(failure.hint()),
            Self::Devices(failure) => Some(failure.hint()),
            Self::Host(failure) => failure.hint(),
            Self::Run(failure) => failure.hint(),
            Self::Sessions(failure) => Some(failure.hint()),
            Self::Ide(failure) => failure.hint(),
            Self::Acp(failure) => Some(failure.hint()),
            Self::Bundle(error) => Some(error.hint()),
            Self::Speech(failure) => failure.hint(),
            Self::Top(failure) => Some(failure.hint()),
            Self::Config(error) => Some(error.hint()),
            Self::Input { .. }
            | Self::Written { .. }
            | Self::Runtime(_)
            | Self::Stdin(_)
            | Self::Stdout(_) => None,
        }
    }
}
