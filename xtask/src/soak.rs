//! `cargo xtask soak`: everything goes wrong, for a long time, and nothing may be lost.
//!
//! `--minutes` runs the chaos: the shipped program with many sessions, killed, frozen, cut off and filled up at random.
//! Without it the seeded fault loops of the tests are run at their full length. The one rule it keeps: what it found
//! to be broken is its error, with the seed to try again.

mod agents;
mod audit;
mod chaos;
mod client;
mod dice;
mod faults;
mod figures;
mod ledger;
mod loops;
mod play;
mod record;
mod stage;
mod violation;

use std::path::PathBuf;

use clap::Args;

use crate::process::ProcessError;
use crate::setup;
pub(crate) use loops::rooted;
use violation::Violation;

/// How long, or how many.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// How many seeds each fault loop gets
    #[arg(default_value_t = 200, conflicts_with = "minutes")]
    seeds: u64,
    /// Run the chaos instead, for so many minutes
    #[arg(long)]
    minutes: Option<u64>,
    /// The seed of the chaos; a new one if not given
    #[arg(long, requires = "minutes")]
    seed: Option<u64>,
    /// The folder of the programs `jackfield` and `fake-claude`; built if not given
    #[arg(long, requires = "minutes")]
    programs: Option<PathBuf>,
}

/// The chaos that is wanted.
#[derive(Debug, Clone)]
struct Chaos {
    minutes: u64,
    seed: u64,
    programs: Option<PathBuf>,
}

/// Why the soak ended early, or badly.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SoakError {
    /// The CLIs could not be had.
    #[error(transparent)]
    Setup(#[from] setup::SetupError),
    /// A loop failed, or a program could not be built.
    #[error(transparent)]
    Program(#[from] ProcessError),
    /// The chaos could not begin.
    #[error(transparent)]
    Violation(#[from] Violation),
    /// A promise was broken.
    #[error("{violations} (again: `cargo xtask soak --minutes {minutes} --seed {seed}`)")]
    Broken {
        /// The seed.
        seed: u64,
        /// For how long it was wanted.
        minutes: u64,
        /// What was found.
        violations: String,
    },
}

/// Runs what is wanted.
pub(crate) fn run(arguments: &Arguments) -> Result<(), SoakError> {
    match arguments.minutes {
        None => {
            setup::run()?;
            Ok(loops::run(arguments.seeds)?)
        }
        Some(minutes) => {
            setup::fetch_clis()?;
            chaos::run(&Chaos {
                minutes,
                seed: arguments.seed.unwrap_or_else(any_seed),
                programs: arguments.programs.clone(),
            })
        }
    }
}

fn any_seed() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.map_or(0, |since| since.as_secs())
}
