//! `cargo xtask soak`: the seeded fault loops at their full length.
//!
//! The loops are ordinary tests, and `cargo xtask test` runs them too, with few seeds. Here is only how many, and
//! which of them need root. The one rule it keeps: a loop that fails has named its seed, and ends the soak; one
//! that cannot be run is told as not run, never as passed.

use std::process::Command;

use clap::Args;

use crate::process::{self, ProcessError};
use crate::{setup, workspace};

/// The loops: the package, and the tests' common name.
const LOOPS: [(&str, &str); 3] =
    [("jackfield-sdk", "seeds::"), ("jackfield", "host::chaos::"), ("jackfield", "host::real::")];
/// Loops that mount file systems; `cargo test` leaves them out.
const ROOTED: [(&str, &str); 1] = [("jackfield-sdk", "disk::")];

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
        process::run(&mut test(package, tests, arguments.seeds))?;
    }
    Ok(rooted(arguments.seeds)?)
}

/// Runs the loops that need root, or says that they are not run.
pub(crate) fn rooted(seeds: u64) -> Result<(), ProcessError> {
    let is_root = process::is_root();
    for (package, tests) in ROOTED {
        if is_root {
            println!("{package}: {seeds} seeds for each of {tests}*, as root");
            process::run(test(package, tests, seeds).arg("--ignored"))?;
        } else {
            println!("{package}: not run: {tests}* (needs root)");
        }
    }
    Ok(())
}

fn test(package: &str, tests: &str, seeds: u64) -> Command {
    let mut cargo = workspace::cargo();
    cargo.args(["test", "--package", package, "--test", "it", "--locked", "--", tests, "--nocapture"]);
    cargo.env("JACKFIELD_SEEDS", seeds.to_string());
    cargo
}
