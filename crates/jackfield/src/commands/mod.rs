//! The subcommands, one file each.
//!
//! Each reads, feeds the core, and prints; what events there are is decided in the core. The guard is the
//! SDK's, in a program that is always at hand.

mod events;
mod replay;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Subcommand;

use crate::failure::Failure;

/// What the program can do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Events(events::Events),
    Replay(replay::Replay),
    /// Serve the page on loopback (not in this version yet)
    Serve,
    /// Hold a CLI process, and end its whole tree when the host is gone
    #[command(hide = true)]
    Guard {
        /// The guard's own words, `--`, and the program with its arguments
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<OsString>,
    },
}

impl Command {
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        match self {
            Self::Events(events) => events.run()?,
            Self::Replay(replay) => replay.run()?,
            Self::Serve => return Err(Failure::NotYet("serve")),
            Self::Guard { words } => return Ok(jackfield_sdk::guard::run(words)),
        }
        Ok(ExitCode::SUCCESS)
    }
}
