//! Programs that tests run: a Jupyter kernel, a language server, the conformance suite, the types of a collector.
//!
//! The one rule it keeps: a package is in its place only when it is whole, and none of the user's own changes.

use std::fs;
use std::path::Path;
use std::process::Command;

use jackfield_testkit::programs::{self, IPYKERNEL, NPM_PACKAGES, OTLP_TYPES};

use super::{SetupError, file, run_program, tell};

/// Fetches what is not there yet.
pub(super) fn run() -> Result<(), SetupError> {
    let packages = programs::jupyter_packages();
    let state = if packages.join(format!("ipykernel-{IPYKERNEL}.dist-info")).is_dir() {
        "already there"
    } else {
        into_place(&packages, |work| {
            let pip = |command: &mut Command| {
                command.args(["-m", "pip", "install", "--quiet", "--target"]).arg(work);
                command.arg(format!("ipykernel=={IPYKERNEL}"));
            };
            run_program("python3", pip, " (install Python 3 with pip, then try again)").map(drop)
        })?;
        "fetched"
    };
    tell(&format!("ipykernel {IPYKERNEL}: {state} ({})\n", packages.display()))?;
    let packages = programs::otlp_packages();
    let state = if packages.join(format!("opentelemetry_proto-{OTLP_TYPES}.dist-info")).is_dir() {
        "already there"
    } else {
        into_place(&packages, |work| {
            let pip = |command: &mut Command| {
                command.args(["-m", "pip", "install", "--quiet", "--target"]).arg(work);
                command.arg(format!("opentelemetry-proto=={OTLP_TYPES}"));
            };
            run_program("python3", pip, " (install Python 3 with pip, then try again)").map(drop)
        })?;
        "fetched"
    };
    tell(&format!("opentelemetry-proto {OTLP_TYPES}: {state} ({})\n", packages.display()))?;
    for (name, version) in NPM_PACKAGES {
        let folder = programs::npm_folder(name, version);
        let state = if folder.is_dir() {
            "already there"
        } else {
            into_place(&folder, |work| {
                let npm = |command: &mut Command| {
                    command.args([
                        "install",
                        "--silent",
                        "--no-save",
                        "--no-audit",
                        "--no-fund",
                        "--ignore-scripts",
                    ]);
                    command.arg("--prefix").arg(work).arg(format!("{name}@{version}"));
                };
                run_program("npm", npm, " (install Node.js with npm, then try again)").map(drop)
            })?;
            "fetched"
        };
        tell(&format!("{name} {version}: {state} ({})\n", folder.display()))?;
    }
    Ok(())
}

/// Fills a folder beside its place, and moves it there.
pub(super) fn into_place(
    place: &Path,
    fill: impl FnOnce(&Path) -> Result<(), SetupError>,
) -> Result<(), SetupError> {
    let parent = place.parent().unwrap_or(place);
    fs::create_dir_all(parent).map_err(file(format!("make {}", parent.display())))?;
    let work = tempfile::Builder::new()
        .prefix(".fetching-")
        .tempdir_in(parent)
        .map_err(file(format!("make a folder in {}", parent.display())))?;
    fill(work.path())?;
    if place.exists() {
        fs::remove_dir_all(place).map_err(file(format!("remove {}", place.display())))?;
    }
    fs::rename(work.keep(), place).map_err(file(format!("move what was fetched to {}", place.display())))
}
