//! The unit for systemd, judged by systemd.
//!
//! The one rule it keeps: where there is no systemd it is told as not checked, and a word that systemd does not
//! understand is an error although systemd itself goes on.

use std::fs;
use std::process::Command;

use crate::process::{self, ProcessError};
use crate::workspace;

const UNIT: &str = "docs/systemd/jackfield.service";

/// Why the unit is no good.
#[derive(Debug, thiserror::Error)]
pub(crate) enum UnitError {
    /// The place to check it in could not be made.
    #[error("cannot make a place to check {UNIT} in: {0}")]
    Place(#[source] std::io::Error),
    /// It could not be judged.
    #[error(transparent)]
    Program(#[from] ProcessError),
    /// Systemd has something to say about it.
    #[error("{UNIT} is not as systemd wants it: {0}")]
    Judged(String),
}

/// Has the unit checked.
pub(crate) fn check() -> Result<(), UnitError> {
    let home = tempfile::tempdir().map_err(UnitError::Place)?;
    // What it starts must be there, and need not be ours to be started.
    let program = home.path().join(".cargo/bin/jackfield");
    fs::create_dir_all(home.path().join(".cargo/bin")).map_err(UnitError::Place)?;
    fs::copy("/bin/true", &program).map_err(UnitError::Place)?;
    let mut verify = Command::new("systemd-analyze");
    verify.args(["verify", "--user", "--man=no", UNIT]).current_dir(workspace::root());
    verify.env("HOME", home.path()).env("XDG_RUNTIME_DIR", home.path());
    let judged = match verify.output() {
        Ok(judged) => judged,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            println!("not run: systemd's own check of {UNIT}: there is no systemd-analyze");
            return Ok(());
        }
        Err(source) => return Err(process::not_started(&verify, source).into()),
    };
    process::succeeded(&verify, judged.status)?;
    let said = String::from_utf8_lossy(&judged.stderr);
    if said.trim().is_empty() { Ok(()) } else { Err(UnitError::Judged(said.trim().to_owned())) }
}
