//! Finding the CLI and asking it for its version.
//!
//! Nothing is read from this process's own environment, and no session is started. The one rule it keeps:
//! a program is only looked for in places that do not depend on the opened folder.

mod installed;
mod known;
mod places;

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::{Child, Command};
use tokio::time::timeout;

use crate::environment::Environment;
use crate::version::{MINIMUM_VERSION, Version};

/// How long the CLI may take to tell its version. It takes a tenth of a second; the rest is for cold disks.
pub const VERSION_LIMIT: Duration = Duration::from_secs(30);

/// How much of an answer is read.
const ANSWER_LIMIT: u64 = 16 * 1024;

/// A CLI on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claude {
    /// Its program.
    pub path: PathBuf,
    /// Its version.
    pub version: Version,
}

/// Why no CLI can be used, and what to do about it.
#[derive(Debug, thiserror::Error)]
pub enum LocateError {
    /// It is nowhere.
    #[error(
        "cannot find `{}` in PATH or in the usual places ({} were searched): install it with \
         `npm install -g @anthropic-ai/claude-code`, or give the path of the program",
        name.display(), searched.len()
    )]
    NotFound {
        /// What was looked for.
        name: PathBuf,
        /// Where, in this order.
        searched: Vec<PathBuf>,
    },
    /// The given path does not exist.
    #[error("cannot start {}: there is no such file, check the path that was given", program.display())]
    Missing {
        /// The path.
        program: PathBuf,
    },
    /// The path is a folder.
    #[error("cannot start {}: it is a folder, give the path of the program in it", program.display())]
    Folder {
        /// The path.
        program: PathBuf,
    },
    /// Nobody, or not this user, may run it.
    #[error("cannot start {}: not executable, run `chmod +x` on it or install it anew", program.display())]
    NotExecutable {
        /// The program.
        program: PathBuf,
    },
    /// It is a program for another machine, or none.
    #[error("cannot start {}: not a program for this machine, install the one for it", program.display())]
    WrongFormat {
        /// The program.
        program: PathBuf,
    },
    /// What it needs to run is missing.
    #[error(
        "cannot start {}: its interpreter or loader is missing, install that (such as Node.js) or the native CLI",
        program.display()
    )]
    InterpreterMissing {
        /// The program.
        program: PathBuf,
    },
    /// It did not start for another reason.
    #[error("cannot start {}: {source}", program.display())]
    Start {
        /// The program.
        program: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// It started and did not answer.
    #[error("{} --version gave no answer in {limit:?}, run it by hand to see why", program.display())]
    Hangs {
        /// The program.
        program: PathBuf,
        /// How long it had.
        limit: Duration,
    },
    /// It ended with an error.
    #[error("{} --version failed ({status}): {}", program.display(), message.trim_end())]
    Failed {
        /// The program.
        program: PathBuf,
        /// How it ended.
        status: ExitStatus,
        /// What it wrote to standard error.
        message: String,
    },
    /// Its answer is not a version.
    #[error("{} --version answered `{}`, is this Claude Code?", program.display(), answer.trim_end())]
    NotUnderstood {
        /// The program.
        program: PathBuf,
        /// The answer.
        answer: String,
    },
    /// It is too old.
    #[error("{} is version {has}, at least {needs} is needed: run `claude update`", program.display())]
    TooOld {
        /// The program.
        program: PathBuf,
        /// Its version.
        has: Version,
        /// The oldest that is started.
        needs: Version,
    },
}

/// Finds the CLI and its version.
///
/// Asking the program takes a process of its own, so that is only done when its installation does not tell it; one
/// that has told this process before, and has not changed since, is not asked again.
///
/// `given` is a path, or a name to look for in `PATH`; without one, `claude` is looked for in `PATH` and in
/// the usual places of installers. `first_arguments` come before everything else it is told. `environment` is
/// the one the CLI will see.
pub async fn locate(
    given: Option<&Path>,
    first_arguments: &[OsString],
    environment: &Environment,
) -> Result<Claude, LocateError> {
    let program = find(given, environment)?;
    let question = known::Question::new(&program, first_arguments, environment);
    // Words before the arguments may name another program.
    let installed = || match first_arguments {
        [] if !known::is_doubted(&program) => installed::version(&program),
        _ => None,
    };
    let version = match question.as_ref().and_then(known::Question::answer).or_else(installed) {
        Some(version) => version,
        None => ask_version(&program, first_arguments, environment, VERSION_LIMIT).await?,
    };
    if version < MINIMUM_VERSION {
        return Err(LocateError::TooOld { program, has: version, needs: MINIMUM_VERSION });
    }
    if let Some(question) = question {
        question.answered(version);
    }
    Ok(Claude { path: program, version })
}

/// What was believed of the program's version turned out wrong: it is asked the next time.
pub(crate) fn forget(program: &Path) {
    known::forget(program);
}

/// Finds the CLI's program; see [`locate`].
pub fn find(given: Option<&Path>, environment: &Environment) -> Result<PathBuf, LocateError> {
    match given {
        // More than a name: exactly this file, and no other in its place.
        Some(path) if path.components().count() > 1 => check(path).map(|()| path.to_owned()),
        Some(name) => first_executable(name, places::in_path(name, environment)),
        None => first_executable(Path::new("claude"), places::all(environment)),
    }
}

/// Asks a program for its version, and ends it with what it started if it takes longer than the limit.
pub async fn ask_version(
    program: &Path,
    first_arguments: &[OsString],
    environment: &Environment,
    limit: Duration,
) -> Result<Version, LocateError> {
    let child = Command::new(program)
        .args(first_arguments)
        .arg("--version")
        .env_clear()
        .envs(environment)
        // Not the opened folder: nothing in it may have a say in what this program does.
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
        .map_err(|source| unstartable(program, source))?;
    let mut asked = Asked(child);
    let Ok(answer) = timeout(limit, asked.answer()).await else {
        return Err(LocateError::Hangs { program: program.to_owned(), limit });
    };
    let (status, answer, message) =
        answer.map_err(|source| LocateError::Start { program: program.to_owned(), source })?;
    if !status.success() {
        return Err(LocateError::Failed { program: program.to_owned(), status, message });
    }
    answer.parse().map_err(|_| LocateError::NotUnderstood { program: program.to_owned(), answer })
}

/// A program that was asked something; it ends with this value, and what it started too.
struct Asked(Child);

impl Asked {
    async fn answer(&mut self) -> io::Result<(ExitStatus, String, String)> {
        let (stdout, stderr) = (self.0.stdout.take(), self.0.stderr.take());
        let (answer, message) = tokio::try_join!(beginning(stdout), beginning(stderr))?;
        Ok((self.0.wait().await?, answer, message))
    }
}

impl Drop for Asked {
    fn drop(&mut self) {
        // `None` once the exit was seen: the number may already belong to somebody else.
        let group = self.0.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        if let Some(group) = group {
            // It may have ended by itself in the meantime.
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

/// The beginning of a stream. The rest is read and forgotten, since a full pipe would stop the writer.
async fn beginning(stream: Option<impl AsyncRead + Unpin>) -> io::Result<String> {
    let Some(mut stream) = stream else { return Ok(String::new()) };
    let mut bytes = Vec::new();
    (&mut stream).take(ANSWER_LIMIT).read_to_end(&mut bytes).await?;
    tokio::io::copy(&mut stream, &mut tokio::io::sink()).await?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn first_executable(name: &Path, candidates: Vec<PathBuf>) -> Result<PathBuf, LocateError> {
    let mut almost = None;
    for candidate in &candidates {
        match check(candidate) {
            Ok(()) => return Ok(candidate.clone()),
            Err(error @ LocateError::NotExecutable { .. }) => almost = almost.or(Some(error)),
            Err(_) => {}
        }
    }
    Err(almost.unwrap_or_else(|| LocateError::NotFound { name: name.to_owned(), searched: candidates }))
}

fn check(program: &Path) -> Result<(), LocateError> {
    let program = || program.to_owned();
    match program().metadata() {
        Ok(found) if found.is_dir() => Err(LocateError::Folder { program: program() }),
        Ok(found) if found.permissions().mode() & 0o111 == 0 => {
            Err(LocateError::NotExecutable { program: program() })
        }
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Err(LocateError::Missing { program: program() })
        }
        Err(source) => Err(LocateError::Start { program: program(), source }),
    }
}

fn unstartable(program: &Path, source: io::Error) -> LocateError {
    let program = program.to_owned();
    match source.kind() {
        io::ErrorKind::PermissionDenied => LocateError::NotExecutable { program },
        // The file was there a moment ago, so what is missing is what runs it.
        io::ErrorKind::NotFound if program.exists() => LocateError::InterpreterMissing { program },
        io::ErrorKind::NotFound => LocateError::Missing { program },
        _ if source.raw_os_error() == Some(rustix::io::Errno::NOEXEC.raw_os_error()) => {
            LocateError::WrongFormat { program }
        }
        _ => LocateError::Start { program, source },
    }
}

/// A variable that names an absolute folder.
fn folder(environment: &Environment, name: &str) -> Option<PathBuf> {
    let folder = PathBuf::from(environment.get(OsStr::new(name))?);
    folder.is_absolute().then_some(folder)
}
