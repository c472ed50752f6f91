//! The ACP clients that other people wrote, and the adapter that ours is compared with: from npm and PyPI, into the
//! cache folder.
//!
//! `tests/acp` names them and their versions; nothing is installed into the repository. The one rule it keeps: what
//! is installed is what the lists name, and a list that changed is installed anew.

use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use jackfield_testkit::cli;

use super::{SetupError, file, run_program, tell};
use crate::{web, workspace};

const PACKAGES: &str = "package-lock.json";
const PYTHON_PACKAGES: &str = "requirements.txt";

/// Installs what is not there yet.
pub(super) fn install() -> Result<(), SetupError> {
    let (lists, place) = (workspace::root().join("tests").join("acp"), folder());
    fs::create_dir_all(&place).map_err(file(format!("make {}", place.display())))?;
    let node = web::fetched_node()?;
    let state = once(&lists, &place, PACKAGES, || node_packages(&lists, &place, &node))?;
    tell(&format!("ACP clients for Node: {state} ({})\n", place.display()))?;
    let state = once(&lists, &place, PYTHON_PACKAGES, || python_packages(&lists, &place))?;
    tell(&format!("ACP client for Python: {state} ({})\n", place.join("python").display()))
}

/// Where they are.
fn folder() -> PathBuf {
    cli::cache_dir().join("acp")
}

/// Installs unless the same list was installed before; the list is put beside it only afterwards.
fn once(
    lists: &Path,
    place: &Path,
    list: &str,
    installation: impl FnOnce() -> Result<(), SetupError>,
) -> Result<&'static str, SetupError> {
    let installed = place.join(format!("installed-{list}"));
    let wanted = fs::read(lists.join(list)).map_err(file(format!("read {list}")))?;
    if fs::read(&installed).is_ok_and(|found| found == wanted) {
        return Ok("already there");
    }
    installation()?;
    fs::write(&installed, wanted).map_err(file(format!("write {}", installed.display())))?;
    Ok("fetched")
}

fn node_packages(lists: &Path, place: &Path, node: &Path) -> Result<(), SetupError> {
    for list in ["package.json", PACKAGES, ".npmrc"] {
        fs::copy(lists.join(list), place.join(list)).map_err(file(format!("copy {list}")))?;
    }
    let path = env::var_os("PATH").unwrap_or_default();
    let path = env::join_paths(std::iter::once(node.to_owned()).chain(env::split_paths(&path)))
        .map_err(|error| file("put Node.js into PATH")(io::Error::other(error)))?;
    let npm = |command: &mut Command| {
        // The optional packages are CLIs of several hundred megabytes; the tests have their own.
        command
            .args(["install", "--no-save", "--omit=optional", "--silent"])
            .current_dir(place)
            .env("PATH", path);
    };
    run_program("npm", npm, " (install Node.js with npm, then try again)").map(drop)
}

/// Only a folder that `PYTHONPATH` names; nothing of the user's own Python changes.
fn python_packages(lists: &Path, place: &Path) -> Result<(), SetupError> {
    let packages = place.join("python");
    if packages.exists() {
        fs::remove_dir_all(&packages).map_err(file(format!("remove {}", packages.display())))?;
    }
    let pip = |command: &mut Command| {
        command.args(["-m", "pip", "install", "--quiet", "--no-deps", "--target"]).arg(&packages);
        command.arg("--requirement").arg(lists.join(PYTHON_PACKAGES));
    };
    run_program("python3", pip, " (install Python 3 with pip, then try again)").map(drop)
}
