//! `cargo xtask test`: the one command for everything, for a person and for the build machine.
//!
//! It only calls others, in the order in which they fail cheaply. The one rule it keeps: it stops at the first
//! failure, and its last line says which step that was.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use jackfield_testkit::cli;

use crate::{debian, foreign, process, setup, soak, tidy, unit, web, workspace};

/// The version of `cargo-deny` that `deny.toml` is written for.
const CARGO_DENY: &str = "0.20.2";

/// How many seeds the loops get that are not part of `cargo test`.
const SEEDS: u64 = 20;

/// The step that failed.
#[derive(Debug, thiserror::Error)]
#[error("`{step}` failed after {took:.0?}: {reason}")]
pub(crate) struct TestError {
    step: &'static str,
    took: Duration,
    reason: Box<dyn std::error::Error>,
}

type Step = fn() -> Result<(), Box<dyn std::error::Error>>;

const STEPS: &[(&str, Step)] = &[
    ("setup", || {
        debian::install()?;
        Ok(setup::run()?)
    }),
    ("format", || Ok(process::run(workspace::cargo().args(["fmt", "--all", "--check"]))?)),
    ("tidy", || Ok(tidy::run()?)),
    ("clippy", || {
        let wanted = ["clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"];
        Ok(process::run(workspace::cargo().args(wanted))?)
    }),
    // All that fails is told at once.
    ("tests", || {
        Ok(process::run(workspace::cargo().args(["test", "--workspace", "--locked", "--no-fail-fast"]))?)
    }),
    ("page", || {
        web::check()?;
        Ok(web::unit()?)
    }),
    ("page in a browser", || Ok(web::browser()?)),
    ("foreign programs", || Ok(foreign::run()?)),
    ("tests that need root", || Ok(soak::rooted(SEEDS)?)),
    ("systemd unit", || Ok(unit::check()?)),
    ("documentation", || {
        let mut cargo = workspace::cargo();
        cargo.args(["doc", "--workspace", "--no-deps", "--locked"]).env("RUSTDOCFLAGS", "-D warnings");
        Ok(process::run(&mut cargo)?)
    }),
    ("dependencies", dependencies),
];

/// Which steps.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Go on with this step, after a failure that was mended
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    from: usize,
}

/// Runs every step, or those that are left.
pub(crate) fn run(arguments: &Arguments) -> Result<(), TestError> {
    let begun = Instant::now();
    for (number, &(step, action)) in STEPS.iter().enumerate() {
        if number + 1 < arguments.from {
            println!("== {}/{} {step}: not run", number + 1, STEPS.len());
            continue;
        }
        println!("== {}/{} {step}", number + 1, STEPS.len());
        let step_begun = Instant::now();
        action().map_err(|reason| TestError { step, took: step_begun.elapsed(), reason })?;
        println!("== {step} passed in {:.0?}", step_begun.elapsed());
    }
    let passed = STEPS.len().saturating_sub(arguments.from.saturating_sub(1));
    println!("== {passed} of {} steps passed in {:.0?}", STEPS.len(), begun.elapsed());
    Ok(())
}

/// Bans, licences and sources by `deny.toml`. Advisories are not here: they need a database from the network.
fn dependencies() -> Result<(), Box<dyn std::error::Error>> {
    let program = cargo_deny()?;
    let mut command = Command::new(program);
    command.current_dir(workspace::root()).args([
        "--locked",
        "check",
        "--hide-inclusion-graph",
        "bans",
        "licenses",
        "sources",
    ]);
    Ok(process::run(&mut command)?)
}

/// The pinned `cargo-deny`, built once into the cache folder.
fn cargo_deny() -> Result<PathBuf, Box<dyn std::error::Error>> {
    let folder = cli::cache_dir().join("tools").join(format!("cargo-deny-{CARGO_DENY}"));
    let program = folder.join("bin").join("cargo-deny");
    if program.exists() {
        return Ok(program);
    }
    println!("building cargo-deny {CARGO_DENY}, once, about three minutes");
    let target = folder.join("target");
    let mut install = workspace::cargo();
    install.args(["install", "cargo-deny", "--locked", "--version", CARGO_DENY]);
    install.arg("--root").arg(&folder).arg("--target-dir").arg(&target);
    process::run(&mut install)?;
    fs::remove_dir_all(&target)?;
    Ok(program)
}
