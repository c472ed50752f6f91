//! The programs that are compared: how each is built or installed, and how it is called.
//!
//! Nothing is installed into the repository. The one rule it keeps: each is built by itself, so that nobody's
//! choice of features slows another down.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use jackfield_testkit::cli;

use super::file;
use crate::bench::BenchError;
use crate::{process, workspace};

/// One of the programs.
pub(super) struct Driver {
    pub(super) name: String,
    /// The program and its first arguments.
    pub(super) words: Vec<OsString>,
}

/// Where ours is in the list.
pub(super) const OURS: usize = 0;
/// Where the floor is in the list.
pub(super) const FLOOR: usize = 1;

/// Ours and the floor; they need nothing that the product does not need.
pub(super) fn ours() -> Result<Vec<Driver>, BenchError> {
    Ok(vec![
        rust("`jackfield-sdk`", "bench-jackfield")?,
        rust("floor: tokio, typed events in batches", "bench-floor")?,
    ])
}

/// The published ones, from their registries; the one for Node once for each Node.
pub(super) fn peers(nodes: &[PathBuf]) -> Result<Vec<Driver>, BenchError> {
    let mut drivers = vec![rust("`claude-codes` 2.1.316", "bench-claude-codes")?];
    let script = install_agent_sdk()?;
    for node in nodes {
        let version = process::capture(Command::new(node).arg("--version"))?;
        drivers.push(Driver {
            name: format!("`@anthropic-ai/claude-agent-sdk` 0.3.325, Node {}", version.trim()),
            words: vec![node.into(), script.clone().into()],
        });
    }
    Ok(drivers)
}

fn folder() -> PathBuf {
    workspace::root().join("bench").join("peers")
}

fn rust(name: &str, package: &str) -> Result<Driver, BenchError> {
    let target = folder().join("target");
    let mut build = workspace::cargo();
    // Not `--locked`: the list of this workspace follows the product's dependencies. Peers are pinned by name.
    build.current_dir(folder()).args(["build", "--release", "--package", package]);
    process::run(build.arg("--target-dir").arg(&target))?;
    Ok(Driver { name: name.to_owned(), words: vec![target.join("release").join(package).into()] })
}

/// Installs the package of Node into the cache folder, once per list of packages; gives the driver's place.
fn install_agent_sdk() -> Result<PathBuf, BenchError> {
    const LIST: &str = "package-lock.json";
    let (from, to) = (folder().join("agent-sdk"), cli::cache_dir().join("bench").join("agent-sdk"));
    let installed = |list: &Path| fs::read(list).ok() == fs::read(from.join(LIST)).ok();
    fs::create_dir_all(&to).map_err(file("make a folder for the peers"))?;
    let fresh = to.join("node_modules").is_dir() && installed(&to.join(LIST));
    for name in ["driver.mjs", "package.json", LIST] {
        fs::copy(from.join(name), to.join(name)).map_err(file("copy the driver for Node"))?;
    }
    if !fresh {
        // The optional packages are CLIs; the stand-in takes their place.
        let mut npm = Command::new("npm");
        npm.current_dir(&to).args(["ci", "--omit=optional", "--ignore-scripts", "--no-audit", "--no-fund"]);
        process::run(&mut npm)?;
    }
    Ok(to.join("driver.mjs"))
}
