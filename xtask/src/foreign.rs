//! Tests with programs that not every machine has: a judge of WebSockets, a proxy, a network of its own.
//!
//! They are ordinary tests that `cargo test` leaves out. The one rule it keeps: what cannot be run is told as not run,
//! with what is missing, and never as passed.

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

/// Runs those that can be run here, and tells of the others.
pub(crate) fn run() -> Result<(), ProcessError> {
    match autobahn::ready() {
        Ok(_) => process::run(&mut test("jackfield-server", "--lib", "socket::autobahn::"))?,
        Err(error) => println!("not run: our WebSocket before the Autobahn suite: {error}"),
    }
    match nginx() {
        Ok(_) => process::run(&mut test("jackfield-server", "--test=it", "nginx::"))?,
        Err(error) => println!("not run: the server behind nginx: {error}"),
    }
    match promtool() {
        Ok(_) => process::run(&mut test("jackfield", "--test=it", "promtool"))?,
        Err(error) => println!("not run: our figures before promtool: {error}"),
    }
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
        process::run(&mut test("jackfield", "--test=it", "network::"))
    } else {
        println!("not run: the server in a network of its own: only root can make one");
        Ok(())
    }
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
