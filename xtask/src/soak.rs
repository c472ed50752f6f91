//! `cargo xtask soak`: the seeded fault loops at their full length.
//!
//! The loops are ordinary tests, and `cargo xtask test` runs them too, with few seeds. Here is only how many.
//! The one rule it keeps: a loop that fails has named its seed, and ends the soak.

use clap::Args;

use crate::process::{self, ProcessError};
use crate::{setup, workspace};

/// The loops: the package, and the tests' common name.
const LOOPS: [(&str, &str); 1] = [("jackfield-sdk", "seeds::")];

/// How many.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// How many seeds each loop gets
    #[arg(default_value_t = 200)]
    seeds: u64,
}

/// Why the soak ended early.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SoakError {
    /// The CLIs could not be had.
    #[error(transparent)]
    Setup(#[from] setup::SetupError),
    /// A loop failed.
    #[error(transparent)]
    Loop(#[from] ProcessError),
}

/// Runs every loop.
pub(crate) fn run(arguments: &Arguments) -> Result<(), SoakError> {
    setup::run()?;
    for (package, tests) in LOOPS {
        println!("{package}: {} seeds for each of {tests}*", arguments.seeds);
        let mut cargo = workspace::cargo();
        cargo.args(["test", "--package", package, "--test", "it", "--locked", "--", tests, "--nocapture"]);
        process::run(cargo.env("JACKFIELD_SEEDS", arguments.seeds.to_string()))?;
    }
    Ok(())
}
