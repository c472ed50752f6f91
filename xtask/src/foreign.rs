//! Tests with programs that not every machine has: a judge of WebSockets, a proxy, a network of its own.
//!
//! They are ordinary tests that `cargo test` leaves out. The one rule it keeps: what cannot be run never counts as passed.
//! Programs that the machine's own Debian has are fetched without root, so tests without them fail; what root would have
//! to install or do, or what only an old Debian has, is told as not run, with what is missing.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use jackfield_testkit::{cli, programs};

use crate::apart::{self, ApartError, Release, file};
use crate::process::{self, ProcessError};
use crate::{autobahn, debian, workspace};

/// The proxy's packages.
const NGINX: [&str; 1] = ["nginx"];
/// The package with the checker of figures.
const PROMETHEUS: [&str; 1] = ["prometheus"];

/// Why not everything has passed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ForeignError {
    /// A test failed.
    #[error(transparent)]
    Process(#[from] ProcessError),
    /// A test could not be run.
    #[error("not run: {what}: {reason}")]
    Missing {
        /// Which.
        what: &'static str,
        /// What is missing.
        reason: ApartError,
    },
}

/// Runs those that can be run here, and tells of the others.
pub(crate) fn run() -> Result<(), ForeignError> {
    match autobahn::ready() {
        Ok(_) => process::run(&mut test("jackfield-server", "--lib", "socket::autobahn::"))?,
        Err(error) => println!("not run: our WebSocket before the Autobahn suite: {error}"),
    }
    needed("the server behind nginx", nginx())?;
    process::run(&mut test("jackfield-server", "--test=it", "nginx::"))?;
    needed("our figures before promtool", promtool())?;
    process::run(&mut test("jackfield", "--test=it", "promtool"))?;
    if debian::has("espeak-ng") {
        for tests in ["spoken::", "sherpa::"] {
            process::run(&mut test("jackfield-speech", "--test=it", tests))?;
        }
        process::run(&mut test("jackfield-server", "--test=it", "dictation::"))?;
        process::run(&mut test("jackfield", "--test=it", "speech::"))?;
    } else {
        println!("not run: dictation, spoken by a machine: there is no `espeak-ng`");
    }
    if process::is_root() {
        process::run(&mut test("jackfield", "--test=it", "network::"))?;
    } else {
        println!("not run: the server in a network of its own: only root can make one");
    }
    Ok(())
}

/// A program without which a test is no test that has passed.
fn needed(what: &'static str, program: Result<PathBuf, ApartError>) -> Result<(), ForeignError> {
    program.map(drop).map_err(|reason| ForeignError::Missing { what, reason })
}

/// The proxy's program; fetched if it is not there yet. Not installed: then it would listen at once.
fn nginx() -> Result<PathBuf, ApartError> {
    let place = cli::cache_dir().join("nginx");
    let program = place.join("usr/sbin/nginx");
    if !program.exists() {
        fs::create_dir_all(&place).map_err(file(format!("make {}", place.display())))?;
        println!("fetching nginx, once");
        apart::take(Release::Own, &NGINX, &place)?;
    }
    Ok(program)
}

/// The checker of figures; fetched if it is not there yet. Not installed: then a server would listen at once.
fn promtool() -> Result<PathBuf, ApartError> {
    let program = programs::promtool();
    let place = cli::cache_dir().join("prometheus");
    if !program.exists() {
        fs::create_dir_all(&place).map_err(file(format!("make {}", place.display())))?;
        println!("fetching promtool, once");
        apart::take(Release::Own, &PROMETHEUS, &place)?;
    }
    Ok(program)
}

fn test(package: &str, target: &str, tests: &str) -> Command {
    let mut cargo = workspace::cargo();
    cargo.args(["test", "--package", package, target, "--locked", "--", tests, "--nocapture", "--ignored"]);
    cargo
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_fetched_fails_and_says_what_was_not_run() {
        let missing = needed("our figures", Err(ApartError::NoDebian));
        let says = missing.err().map(|error| error.to_string()).unwrap_or_default();
        assert!(says.starts_with("not run: our figures: ") && says.contains("apt-get"), "{says}");
        assert!(needed("our figures", Ok(PathBuf::new())).is_ok());
    }
}
