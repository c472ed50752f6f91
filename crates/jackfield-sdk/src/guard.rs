//! The guard: the small process between a host and its CLI that ends the whole process tree with the run.
//!
//! `jackfield-guard [--host ID] -- PROGRAM ARGUMENTS…` starts the program with its own standard streams, and
//! then never touches a byte of them. It adopts whatever the program leaves behind (it is a child subreaper),
//! and ends it all when the program has ended, when the host is gone, however the host died, or when the
//! host asks for it with a signal:
//!
//! | what happens | what the guard does |
//! |---|---|
//! | the CLI ended | kills every descendant, then exits with the CLI's code, or with 128 + n if signal n ended it |
//! | [`TERMINATE`] | passes it on to the CLI; kills it when it has not ended after some seconds |
//! | [`KILL`] | kills the CLI |
//! | the host is gone | as [`TERMINATE`], with two seconds |
//!
//! The host is watched through a handle of the process, not by a parent-death signal: that one fires already
//! when the *thread* that started the guard ends, and the threads of a runtime do. Control groups are not
//! used: whether one may be split is for whoever made it to say, and descent needs nobody's leave.
//!
//! It knows nothing of the CLI. The one rule it keeps: it exits only after everything below it is dead (or
//! the kernel did not let it go for seconds). If the guard itself is killed, its host ends the tree by its
//! marker ([`crate::tree::kill_marked`]); if both are killed at once, the CLI sees the end of its input.

mod arguments;
mod watch;

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::path::Path;
use std::process::ExitCode;

use rustix::process::Signal;

use crate::guard::arguments::Arguments;
use crate::guard::watch::Ended;

/// To the guard: please end. What it also sends to the CLI.
pub const TERMINATE: Signal = Signal::TERM;
/// To the guard: kill the CLI and everything it started.
pub const KILL: Signal = Signal::USR1;

/// The guard's exit code when it did not come so far as to start the program: its command line is wrong, or
/// the system refused what it needs.
pub const FAILED: u8 = 125;
/// The guard's exit code when the program could not be started.
pub const NOT_STARTED: u8 = 126;
/// The guard's exit code when there is no such program.
pub const NOT_FOUND: u8 = 127;

/// The words that start a guard for this process: they come before the `--` and the program. `guard` is the
/// guard's program, with the words that select it if it is part of a larger one.
pub fn words(guard: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let host = ["--host".into(), std::process::id().to_string().into()];
    guard.into_iter().chain(host).collect()
}

/// Is the guard, until the end. `arguments` is the command line without the program's own name.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let ended = Arguments::read(arguments).and_then(|arguments| watch::run(&arguments));
    match ended {
        Ok(Ended::Code(code)) => ExitCode::from(code),
        Ok(Ended::Signal(number)) => ExitCode::from(128 + number),
        Err(failure) => {
            // Standard error is the CLI's and the host keeps its last lines: the right place to say why
            // there is no CLI. If it is closed, the exit code has to do.
            let _ = writeln!(io::stderr(), "jackfield-guard: {failure}");
            ExitCode::from(failure.code())
        }
    }
}

/// Why there is no CLI.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error("cannot read the command line: {0}")]
    Arguments(&'static str),
    #[error("cannot {doing}: {source}")]
    System { doing: &'static str, source: io::Error },
    #[error("cannot start {}: {source}", .program.display())]
    Start { program: Box<Path>, source: io::Error },
}

impl Failure {
    fn system<E: Into<io::Error>>(doing: &'static str) -> impl FnOnce(E) -> Self {
        move |error| Self::System { doing, source: error.into() }
    }

    fn code(&self) -> u8 {
        match self {
            Self::Start { source, .. } if source.kind() == io::ErrorKind::NotFound => NOT_FOUND,
            Self::Start { .. } => NOT_STARTED,
            Self::Arguments(_) | Self::System { .. } => FAILED,
        }
    }
}
