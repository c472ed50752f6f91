//! `cargo xtask setup`: fetches the pinned CLIs, and the clients of other people, into the cache folder.
//!
//! It talks to no registry itself: `npm pack` and `pip` do, whatever they are configured for. The one rule it keeps:
//! a version is in the cache folder only after its program said its own version, and then whole.

mod clients;
mod speech;
mod workbench;

use std::ffi::OsStr;
use std::fs;
use std::io::{self, Write as _};
use std::path::Path;
use std::process::{Command, Output};

use jackfield_testkit::cli::{self, CliError, PINNED_VERSIONS, Sandbox};

use crate::web::WebError;

/// Why the CLIs could not be set up.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SetupError {
    /// A program that is needed could not be started.
    #[error("cannot run `{program}`: {source}{hint}")]
    Start {
        /// The program.
        program: String,
        /// The reason.
        source: io::Error,
        /// What to do about it.
        hint: &'static str,
    },
    /// A program failed.
    #[error("`{command}` failed ({status}): {stderr}")]
    Failed {
        /// The whole command.
        command: String,
        /// How it ended.
        status: std::process::ExitStatus,
        /// What it wrote.
        stderr: String,
    },
    /// The package is not what was asked for.
    #[error("the package of {version} says its version is {found:?}")]
    WrongVersion {
        /// What was asked for.
        version: String,
        /// What it says.
        found: String,
    },
    /// There is no package for this machine.
    #[error("there is no CLI package for {os} on {arch}")]
    Platform {
        /// The operating system.
        os: &'static str,
        /// The processor.
        arch: &'static str,
    },
    /// The private folder of the CLI could not be made.
    #[error(transparent)]
    Sandbox(#[from] CliError),
    /// There is no Node for the clients.
    #[error(transparent)]
    Node(#[from] WebError),
    /// The speech engine could not be fetched.
    #[error("{0} ({hint})", hint = .0.hint())]
    Speech(#[from] jackfield_speech::fetch::FetchError),
    /// A file could not be written.
    #[error("cannot {doing}: {source}")]
    File {
        /// What was being done.
        doing: String,
        /// The reason.
        source: io::Error,
    },
}

/// The WebSocket package of the client in another language.
const WEBSOCKETS: &str = "17.4";

/// Fetches every pinned CLI that is not there yet, and the packages of the clients.
pub(crate) fn run() -> Result<(), SetupError> {
    fetch_clis()?;
    let packages = cli::cache_dir().join("python");
    let state = if packages.join(format!("websockets-{WEBSOCKETS}.dist-info")).is_dir() {
        "already there"
    } else {
        fetch_websockets(&packages)?;
        "fetched"
    };
    tell(&format!("websockets {WEBSOCKETS}: {state} ({})\n", packages.display()))?;
    clients::install()?;
    workbench::run()?;
    speech::run()
}

/// Fetches every pinned CLI that is not there yet, and nothing else.
pub(crate) fn fetch_clis() -> Result<(), SetupError> {
    for version in PINNED_VERSIONS {
        let program = cli::program_path(version);
        let state = if reported_version(&program).is_ok_and(|found| found == version) {
            "already there"
        } else {
            fetch(version)?;
            "fetched"
        };
        tell(&format!("claude {version}: {state} ({})\n", program.display()))?;
    }
    Ok(())
}

fn tell(line: &str) -> Result<(), SetupError> {
    io::stdout().write_all(line.as_bytes()).map_err(file("write to standard output"))
}

/// Only a folder that `PYTHONPATH` names; nothing of the user's own Python changes.
fn fetch_websockets(packages: &Path) -> Result<(), SetupError> {
    if packages.exists() {
        fs::remove_dir_all(packages).map_err(file(format!("remove {}", packages.display())))?;
    }
    let pip = |command: &mut Command| {
        command.args(["-m", "pip", "install", "--quiet", "--no-deps", "--target"]).arg(packages);
        command.arg(format!("websockets=={WEBSOCKETS}"));
    };
    run_program("python3", pip, " (install Python 3 with pip, then try again)").map(drop)
}

fn fetch(version: &str) -> Result<(), SetupError> {
    let versions = cli::cache_dir().join("claude");
    fs::create_dir_all(&versions).map_err(file(format!("make {}", versions.display())))?;
    // Beside its final place, so that the last step is a rename inside one file system.
    let work = tempfile::Builder::new()
        .prefix(".fetching-")
        .tempdir_in(&versions)
        .map_err(file(format!("make a folder in {}", versions.display())))?;

    let package = format!("{}@{version}", package()?);
    let npm = |command: &mut Command| {
        command.args(["pack", "--silent", "--pack-destination"]).arg(work.path()).arg(&package);
    };
    run_program("npm", npm, " (install Node.js with npm, then try again)")?;
    let tarball = only_file(work.path(), "tgz").map_err(file(format!("find the package of {version}")))?;
    run_program(
        "tar",
        |command| {
            command.arg("-xzf").arg(&tarball).arg("-C").arg(work.path());
        },
        "",
    )?;
    fs::remove_file(&tarball).map_err(file(format!("remove {}", tarball.display())))?;

    let unpacked = work.path().join("package");
    let found = reported_version(&unpacked.join("claude"))?;
    if found != version {
        return Err(SetupError::WrongVersion { version: version.to_owned(), found });
    }
    let place = versions.join(version);
    if place.exists() {
        fs::remove_dir_all(&place).map_err(file(format!("remove {}", place.display())))?;
    }
    fs::rename(&unpacked, &place).map_err(file(format!("move the package to {}", place.display())))
}

/// The npm package with the program for this machine.
fn package() -> Result<String, SetupError> {
    let (os, arch) = (std::env::consts::OS, std::env::consts::ARCH);
    let os_name = match os {
        "linux" => "linux",
        "macos" => "darwin",
        _ => return Err(SetupError::Platform { os, arch }),
    };
    let arch_name = match arch {
        "x86_64" => "x64",
        "aarch64" => "arm64",
        _ => return Err(SetupError::Platform { os, arch }),
    };
    Ok(format!("@anthropic-ai/claude-code-{os_name}-{arch_name}"))
}

/// What `claude --version` says, without the program's name: `2.1.325 (Claude Code)`.
fn reported_version(program: &Path) -> Result<String, SetupError> {
    let sandbox = Sandbox::new()?;
    // Asking for the version needs no API; nothing listens on port 9.
    let environment = sandbox.environment("http://127.0.0.1:9");
    let private = |command: &mut Command| {
        command.arg("--version").env_clear().envs(environment).current_dir(&sandbox.places().workspace);
    };
    let output = run_program(program, private, "")?;
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text.split_whitespace().next().unwrap_or_default().to_owned())
}

fn run_program(
    program: impl AsRef<OsStr>,
    arguments: impl FnOnce(&mut Command),
    hint: &'static str,
) -> Result<Output, SetupError> {
    let mut command = Command::new(program.as_ref());
    arguments(&mut command);
    let output = command.output().map_err(|source| SetupError::Start {
        program: program.as_ref().to_string_lossy().into_owned(),
        source,
        hint,
    })?;
    if output.status.success() {
        return Ok(output);
    }
    Err(SetupError::Failed {
        command: format!("{command:?}"),
        status: output.status,
        stderr: String::from_utf8_lossy(&output.stderr).trim().to_owned(),
    })
}

fn only_file(folder: &Path, extension: &str) -> io::Result<std::path::PathBuf> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension() == Some(OsStr::new(extension)) {
            return Ok(path);
        }
    }
    Err(io::Error::new(io::ErrorKind::NotFound, format!("no .{extension} file")))
}

fn file(doing: impl Into<String>) -> impl FnOnce(io::Error) -> SetupError {
    let doing = doing.into();
    move |source| SetupError::File { doing, source }
}
