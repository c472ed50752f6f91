//! The subcommands, one file each.
//!
//! Each reads, feeds the core, and prints; what events there are is decided in the core.

mod events;
mod replay;

use clap::Subcommand;

use crate::failure::Failure;

/// What the program can do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Events(events::Events),
    Replay(replay::Replay),
    /// Serve the page on loopback (not in this version yet)
    Serve,
}

impl Command {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        match self {
            Self::Events(events) => events.run(),
            Self::Replay(replay) => replay.run(),
            Self::Serve => Err(Failure::NotYet("serve")),
        }
    }
}
