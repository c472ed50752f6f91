//! Programs that the tests need beside what the lock files pin: installed from Debian, where that is possible.
//!
//! The one rule it keeps: without root nothing is installed, and what is missing is told.

use std::process::Command;

use crate::process::{self, ProcessError};

/// A program, and the packages that bring it.
const PROGRAMS: &[(&str, &[&str])] = &[
    ("chromium", &["chromium", "fonts-dejavu-core", "fonts-liberation"]),
    ("firefox-esr", &["firefox-esr"]),
    ("nvim", &["neovim"]),
    ("espeak-ng", &["espeak-ng"]),
    // Its `ip` makes the networks of the tests that need root, and does not tell its version.
    ("ss", &["iproute2"]),
    ("curl", &["curl"]),
    // Makes the disk of a running server fail.
    ("strace", &["strace"]),
    // Moves the clock of a running server.
    ("faketime", &["faketime"]),
];

/// Installs what is missing.
pub(crate) fn install() -> Result<(), ProcessError> {
    let missing: Vec<_> = PROGRAMS.iter().filter(|(program, _)| !has(program)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    if !process::is_root() || !has("apt-get") {
        for (program, packages) in missing {
            println!("{program}: missing; install {}", packages.join(", "));
        }
        return Ok(());
    }
    apt(&["update"])?;
    let packages: Vec<&str> = missing.iter().flat_map(|(_, packages)| packages.iter().copied()).collect();
    apt(&[&["install", "--no-install-recommends"], packages.as_slice()].concat())
}

/// Whether there is such a program.
pub(crate) fn has(program: &str) -> bool {
    process::capture(Command::new(program).arg("--version")).is_ok()
}

fn apt(words: &[&str]) -> Result<(), ProcessError> {
    let mut apt = Command::new("apt-get");
    process::run(apt.args(["-qq", "-y"]).args(words).env("DEBIAN_FRONTEND", "noninteractive"))
}
