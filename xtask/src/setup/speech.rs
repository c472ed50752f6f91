//! Engines that the tests of dictation load: the one that `jackfield speech setup` fetches, and the library of another.
//!
//! The one rule it keeps: a package is in its place only when it is whole.

use std::process::Command;

use jackfield_speech::fetch;
use jackfield_testkit::programs::{self, SHERPA};

use super::workbench::into_place;
use super::{SetupError, run_program, tell};

/// Fetches what is not there yet.
pub(super) fn run() -> Result<(), SetupError> {
    let folder = programs::speech_folder();
    let place = fetch::place(&folder);
    let state = if place.is_dir() {
        "already there"
    } else {
        fetch::fetch(&folder)?;
        "fetched"
    };
    tell(&format!("{} {}: {state} ({})\n", fetch::PACKAGE, fetch::VERSION, place.display()))?;
    let ((name, version), folder) = (SHERPA, programs::sherpa_folder());
    let state = if folder.join(format!("{}-{version}.dist-info", name.replace('-', "_"))).is_dir() {
        "already there"
    } else {
        into_place(&folder, |work| {
            let pip = |command: &mut Command| {
                command.args(["-m", "pip", "install", "--quiet", "--no-deps", "--target"]).arg(work);
                command.arg(format!("{name}=={version}"));
            };
            run_program("python3", pip, " (install Python 3 with pip, then try again)").map(drop)
        })?;
        "fetched"
    };
    tell(&format!("{name} {version}: {state} ({})\n", folder.display()))
}
