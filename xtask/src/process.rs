//! Starting other programs and waiting for them.
//!
//! The one rule it keeps: a program that fails is an error that names the whole command, never a silence.

use std::io;
use std::process::{Command, ExitStatus, Stdio};

/// Why a program did not do its work.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ProcessError {
    /// It did not start.
    #[error("cannot start `{command}`: {source}")]
    Start {
        /// The whole command.
        command: String,
        /// The reason.
        source: io::Error,
    },
    /// It failed.
    #[error("`{command}` failed: {status}")]
    Failed {
        /// The whole command.
        command: String,
        /// How it ended.
        status: ExitStatus,
    },
}

/// Runs a program with our own standard streams.
pub(crate) fn run(command: &mut Command) -> Result<(), ProcessError> {
    let status = command.status().map_err(|source| not_started(command, source))?;
    succeeded(command, status)
}

/// Runs a program and gives back what it wrote to standard output; its standard error is ours.
pub(crate) fn capture(command: &mut Command) -> Result<String, ProcessError> {
    let output = command.stderr(Stdio::inherit()).output().map_err(|source| not_started(command, source))?;
    succeeded(command, output.status)?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The error of a program that did not start.
pub(crate) fn not_started(command: &Command, source: io::Error) -> ProcessError {
    ProcessError::Start { command: line(command), source }
}

/// Makes an error of a bad end.
pub(crate) fn succeeded(command: &Command, status: ExitStatus) -> Result<(), ProcessError> {
    if status.success() { Ok(()) } else { Err(ProcessError::Failed { command: line(command), status }) }
}

/// The command as a person would type it.
pub(crate) fn line(command: &Command) -> String {
    let program = std::path::Path::new(command.get_program());
    let name = program.file_name().unwrap_or(command.get_program());
    std::iter::once(name)
        .chain(command.get_args())
        .map(|word| word.to_string_lossy())
        .collect::<Vec<_>>()
        .join(" ")
}

/// Whether this is root.
pub(crate) fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|this| std::os::unix::fs::MetadataExt::uid(&this) == 0)
}
