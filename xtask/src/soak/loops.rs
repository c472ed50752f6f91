//! The seeded fault loops at their full length.
//!
//! The loops are ordinary tests, and `cargo xtask test` runs them too, with few seeds. Here is only how many, and
//! which of them need root. The one rule it keeps: a loop that fails has named its seed, and ends the soak; one
//! that cannot be run is told as not run, never as passed.

use std::process::Command;

use crate::process::{self, ProcessError};
use crate::workspace;

/// The loops: the package, and the tests' common name.
const LOOPS: [(&str, &str); 4] = [
    ("jackfield-sdk", "seeds::"),
    ("jackfield", "host::chaos::"),
    ("jackfield", "host::real::"),
    ("jackfield-acp", "cancel::"),
];
/// Loops that mount file systems or trace programs; `cargo test` leaves them out.
const ROOTED: [(&str, &str); 2] = [("jackfield-sdk", "disk::"), ("jackfield", "host::forced::")];

/// Runs every loop.
pub(super) fn run(seeds: u64) -> Result<(), ProcessError> {
    for (package, tests) in LOOPS {
        println!("{package}: {seeds} seeds for each of {tests}*");
        process::run(&mut test(package, tests, seeds))?;
    }
    rooted(seeds)
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
