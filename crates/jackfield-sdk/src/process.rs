//! One CLI process: its pipes, and the ways to end it.
//!
//! This is the seam to the CLI. The task above it sees bytes, lines and an exit, and would not notice if
//! they came from somewhere else.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::process::Stdio;

use jackfield_core::{Exit, Signal};
use rustix::process::{Pid, Signal as OsSignal, kill_process};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};

use crate::{guard, tree};

/// What to start.
#[derive(Debug, Clone)]
pub(crate) struct Start {
    pub(crate) program: PathBuf,
    pub(crate) arguments: Vec<OsString>,
    /// The whole environment.
    pub(crate) environment: BTreeMap<OsString, OsString>,
    pub(crate) cwd: PathBuf,
    /// The guard's program and first arguments; best effort without one.
    pub(crate) guard: Option<Vec<OsString>>,
    /// The name that all processes of this run carry in their environment.
    pub(crate) marker: String,
}

/// A started process.
#[derive(Debug)]
pub(crate) struct Process {
    pub(crate) stdin: ChildStdin,
    pub(crate) stdout: ChildStdout,
    pub(crate) stderr: ChildStderr,
    pub(crate) leash: Leash,
}

/// What holds a process: it can be signalled and waited for, and dies with this value.
#[derive(Debug)]
pub(crate) struct Leash {
    child: Child,
    marker: String,
    guarded: bool,
}

impl Process {
    pub(crate) fn start(start: &Start) -> io::Result<Self> {
        let mut words = start.guard.clone().unwrap_or_default();
        if !words.is_empty() {
            words.push("--".into());
        }
        words.push(start.program.clone().into());
        words.extend(start.arguments.iter().cloned());
        let mut child = Command::new(&words[0])
            .args(&words[1..])
            .env_clear()
            .envs(&start.environment)
            .env(tree::MARKER, &start.marker)
            .current_dir(&start.cwd)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()?;
        let missing = || io::Error::other("a pipe to the CLI is missing");
        Ok(Self {
            stdin: child.stdin.take().ok_or_else(missing)?,
            stdout: child.stdout.take().ok_or_else(missing)?,
            stderr: child.stderr.take().ok_or_else(missing)?,
            leash: Leash { child, marker: start.marker.clone(), guarded: start.guard.is_some() },
        })
    }
}

impl Leash {
    /// Waits for the exit. Afterwards nothing of the run is alive.
    pub(crate) async fn ended(&mut self) -> Exit {
        let status = self.child.wait().await;
        tree::kill_marked(&self.marker);
        match status {
            Ok(status) => match (status.code(), status.signal()) {
                (Some(code), _) => tree::exit_of_guarded(code),
                (None, Some(signal)) => Exit::Signal(signal),
                (None, None) => Exit::Code(-1),
            },
            Err(_) => Exit::OutputEnded,
        }
    }

    /// The process's number, while it was not waited for.
    pub(crate) fn id(&self) -> Option<u32> {
        self.child.id()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        match signal {
            // A living guard must do it itself: it also knows those that have lost the marker.
            Signal::Kill if self.guarded => self.send(guard::KILL),
            Signal::Kill => tree::kill_marked(&self.marker),
            Signal::Terminate => self.send(guard::TERMINATE),
        }
    }

    fn send(&self, signal: OsSignal) {
        // Without a number it was waited for, and has nothing left to be told.
        if let Some(pid) = self.child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?)) {
            let _ = kill_process(pid, signal);
        }
    }
}

impl Drop for Leash {
    fn drop(&mut self) {
        self.signal(Signal::Kill);
    }
}
