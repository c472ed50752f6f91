//! A program of the user's that works for us: a kernel, a language server.
//!
//! It is started with exactly the environment that it is given. The one rule it keeps: when nobody holds it any more
//! it is ended with all that it has started, and with a guard before it also when this process is killed.

use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jackfield_sdk::{Environment, guard};
use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncReadExt as _, BufReader};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// How long its last words may take.
const BREATH: Duration = Duration::from_secs(1);
/// How much of what it says of itself is kept.
const WORDS: usize = 4 * 1024;

/// How programs are started.
#[derive(Clone, Default)]
pub struct Surroundings {
    /// Their whole environment.
    pub environment: Environment,
    /// The words that start a guard; without them what a program leaves behind is not ended with it.
    pub guard: Vec<OsString>,
}

impl fmt::Debug for Surroundings {
    /// Without the environment, which has secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Surroundings").field("guard", &self.guard).finish_non_exhaustive()
    }
}

/// What is to be started.
#[derive(Debug, Clone)]
pub(crate) struct Words {
    pub(crate) program: OsString,
    pub(crate) arguments: Vec<OsString>,
    pub(crate) folder: PathBuf,
    /// Variables beside those of the surroundings.
    pub(crate) variables: Vec<(&'static str, OsString)>,
    pub(crate) streams: Streams,
}

/// What becomes of its standard input and output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Streams {
    /// They lead to us.
    Pipes,
    /// They lead nowhere.
    Closed,
}

/// A program at work.
#[derive(Debug)]
pub(crate) struct Attended {
    child: Child,
    end: Signal,
    said: Said,
    hearing: Option<JoinHandle<()>>,
}

/// The last of what a program has said on its standard error.
#[derive(Debug, Clone, Default)]
struct Said {
    text: Arc<Mutex<Vec<u8>>>,
}

impl Streams {
    fn stdio(self) -> Stdio {
        match self {
            Self::Pipes => Stdio::piped(),
            Self::Closed => Stdio::null(),
        }
    }
}

impl Attended {
    /// Starts a program. Needs a running tokio runtime.
    pub(crate) fn start(words: &Words, surroundings: &Surroundings) -> io::Result<Self> {
        let mut command = if surroundings.guard.is_empty() {
            Command::new(&words.program)
        } else {
            let line = guard::words(surroundings.guard.iter().cloned());
            let (program, rest) = line.split_first().ok_or(io::ErrorKind::InvalidInput)?;
            let mut command = Command::new(program);
            command.args(rest).arg("--").arg(&words.program);
            command
        };
        command
            .args(&words.arguments)
            .current_dir(&words.folder)
            .env_clear()
            .envs(&surroundings.environment)
            .env("PWD", &words.folder)
            .envs(words.variables.iter().cloned())
            .stdin(words.streams.stdio())
            .stdout(words.streams.stdio())
            .stderr(Stdio::piped())
            // What is typed at our terminal is not meant for it.
            .process_group(0);
        let mut child = command.spawn()?;
        let said = Said::default();
        let hearing = child.stderr.take().map(|stderr| tokio::spawn(said.clone().hear(stderr)));
        // A guard that is killed itself could end nothing any more.
        let end = if surroundings.guard.is_empty() { Signal::KILL } else { guard::KILL };
        Ok(Self { child, end, said, hearing })
    }

    pub(crate) fn take_pipes(&mut self) -> Option<(ChildStdin, ChildStdout)> {
        self.child.stdin.take().zip(self.child.stdout.take())
    }

    /// Its number, or its guard's.
    pub(crate) fn id(&self) -> Option<u32> {
        self.child.id()
    }

    /// What it said last.
    pub(crate) fn said(&self) -> String {
        self.said.last()
    }

    /// What it said last, now that it has ended: that may come a moment after its end.
    pub(crate) async fn last_words(&mut self) -> String {
        if let Some(hearing) = &mut self.hearing {
            // What it has left behind may keep the pipe open.
            let _ = timeout(BREATH, hearing).await;
        }
        self.hearing = None;
        self.said.last()
    }

    pub(crate) fn has_ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    /// Waits until it has ended. Cancel-safe.
    pub(crate) async fn ended(&mut self) -> io::Result<ExitStatus> {
        self.child.wait().await
    }

    pub(crate) fn kill(&self) {
        let id = self.child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        if let Some(id) = id {
            // If it has just ended, that is what was wanted.
            let _ = kill_process(id, self.end);
        }
    }
}

impl Drop for Attended {
    fn drop(&mut self) {
        self.kill();
    }
}

impl Said {
    async fn hear(self, stderr: ChildStderr) {
        let mut reader = BufReader::new(stderr);
        let mut chunk = [0; 1024];
        while let Ok(length @ 1..) = reader.read(&mut chunk).await {
            let mut text = self.text.lock().unwrap_or_else(PoisonError::into_inner);
            text.extend_from_slice(&chunk[..length]);
            let over = text.len().saturating_sub(WORDS);
            text.drain(..over);
        }
    }

    fn last(&self) -> String {
        let text = self.text.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&text).trim().to_owned()
    }
}
