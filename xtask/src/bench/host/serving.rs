//! A server at work: the real program on a folder of its own, with the stand-in as its CLI.
//!
//! The one rule it keeps: nothing of the machine reaches it but the way to programs, and it is gone with this value.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tempfile::TempDir;

use super::load::{Report, cpu_seconds};
use crate::bench::BenchError;
use crate::{process, workspace};

/// How often, and how many times at most, it is looked whether a server has nothing to do any more.
const BETWEEN_LOOKS: Duration = Duration::from_millis(200);
const LOOKS: u32 = 50;
/// How many seconds of processor time are nothing, between two looks.
const QUIET: f64 = 0.002;

/// The folders that servers run in.
#[derive(Debug)]
pub(super) struct Place {
    folder: TempDir,
}

impl Place {
    /// A new one, with the stand-in compiled into it.
    pub(super) fn new() -> Result<Self, BenchError> {
        let folder = tempfile::tempdir().map_err(failed("make a folder for servers"))?;
        let place = Self { folder };
        fs::create_dir(place.work()).map_err(failed("make a folder to work in"))?;
        let source = workspace::root().join("xtask/bench/fake-claude.c");
        process::run(Command::new("cc").arg("-O2").arg("-o").arg(place.claude()).arg(source))?;
        Ok(place)
    }

    /// The folder of a server's data.
    pub(super) fn data(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn claude(&self) -> PathBuf {
        self.folder.path().join("claude")
    }

    fn work(&self) -> PathBuf {
        self.folder.path().join("work")
    }
}

/// A server at work.
#[derive(Debug)]
pub(super) struct Serving<'a> {
    place: &'a Place,
    child: Child,
    data: PathBuf,
    address: SocketAddr,
    /// From its start until it listened.
    pub(super) started_in: Duration,
    /// What it still has to say must find a reader.
    stdout: Option<BufReader<ChildStdout>>,
}

impl<'a> Serving<'a> {
    /// Starts one; `variables` are for the stand-in.
    pub(super) fn start(
        place: &'a Place,
        data: &Path,
        variables: &[(&str, String)],
    ) -> Result<Self, BenchError> {
        Self::start_under(place, data, variables, &[])
    }

    /// Starts one under another program; `words` are that program and its arguments.
    pub(super) fn start_under(
        place: &'a Place,
        data: &Path,
        variables: &[(&str, String)],
        words: &[&str],
    ) -> Result<Self, BenchError> {
        let program = workspace::cargo_target().join("release/jackfield");
        let mut command = match words.split_first() {
            Some((first, rest)) => {
                let mut command = Command::new(first);
                command.args(rest).arg(program);
                command
            }
            None => Command::new(program),
        };
        command.args([
            "serve",
            "--no-open",
            "--listen",
            "127.0.0.1:0",
            "--set",
            "limits.max_running_sessions=1000",
        ]);
        command.arg("--claude").arg(place.claude()).arg("--data").arg(data);
        command.current_dir(place.work()).env_clear().env("HOME", place.folder.path());
        command.envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
        command.envs(variables.iter().map(|(name, value)| (name, value)));
        let said = place.data("said");
        let stderr = File::create(&said).map_err(failed("make a file for what the server says"))?;
        let begun = Instant::now();
        let child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(stderr)
            .spawn()
            .map_err(|source| process::not_started(&command, source))?;
        // Until it has said where it is, it listens nowhere.
        let nowhere = SocketAddr::from(([127, 0, 0, 1], 0));
        let data = data.to_owned();
        let mut serving =
            Self { place, child, data, address: nowhere, started_in: Duration::ZERO, stdout: None };
        let mut line = String::new();
        if let Some(stdout) = serving.child.stdout.take() {
            let stdout = serving.stdout.insert(BufReader::new(stdout));
            stdout.read_line(&mut line).map_err(failed("read what the server says"))?;
        }
        serving.started_in = begun.elapsed();
        let rest = line.split("http://").nth(1).and_then(|rest| rest.split(['/', ' ', '\n']).next());
        serving.address = rest.and_then(|address| address.parse().ok()).ok_or_else(|| {
            let said = line + &fs::read_to_string(&said).unwrap_or_default();
            BenchError::Missing { what: "the server's address", place: said }
        })?;
        Ok(serving)
    }

    /// A turn in each of some new sessions, with so many watching each.
    pub(super) fn turn(&self, sessions: u32, watchers: u32) -> Result<Report, BenchError> {
        let (sessions, watchers) = (sessions.to_string(), watchers.to_string());
        let pid = self.child.id().to_string();
        let folder = self.place.work();
        let folder = folder.to_string_lossy();
        self.load(&[
            "turn",
            "--pid",
            &pid,
            "--sessions",
            &sessions,
            "--watchers",
            &watchers,
            "--folder",
            &folder,
        ])
    }

    /// Waits until it has done what comes behind a turn, as the index of what was said.
    pub(super) fn until_quiet(&self) -> Result<(), BenchError> {
        let pid = i32::try_from(self.child.id()).unwrap_or_default();
        let mut before = 0.0;
        for _ in 0..LOOKS {
            let now = cpu_seconds(pid).map_err(failed("look at the server"))?;
            if now - before < QUIET {
                break;
            }
            before = now;
            #[expect(
                clippy::disallowed_methods,
                reason = "the server tells nobody that it has nothing to do"
            )]
            thread::sleep(BETWEEN_LOOKS);
        }
        Ok(())
    }

    /// Lets clients do something, in a process of their own.
    pub(super) fn load(&self, words: &[&str]) -> Result<Report, BenchError> {
        let mut command = Command::new(workspace::cargo_target().join("release/xtask"));
        command.arg("bench-load").arg("--address").arg(self.address.to_string());
        command.arg("--data").arg(&self.data).args(words);
        let written = process::capture(&mut command)?;
        serde_json::from_str(written.trim())
            .map_err(|_| BenchError::Missing { what: "the figures", place: written.clone() })
    }

    /// Ends it in order.
    pub(super) fn stop(mut self) -> Result<(), BenchError> {
        if let Ok(pid) = i32::try_from(self.child.id()) {
            let ended = kill(Pid::from_raw(pid), Signal::SIGTERM);
            ended.map_err(std::io::Error::from).map_err(failed("end the server"))?;
        }
        self.child.wait().map_err(failed("wait for the server")).map(drop)
    }
}

impl Drop for Serving<'_> {
    fn drop(&mut self) {
        // One that has ended already is neither there to kill nor waited for twice.
        let _ = self.child.kill().and_then(|()| self.child.wait().map(drop));
    }
}

pub(super) fn failed(doing: &str) -> impl FnOnce(std::io::Error) -> BenchError {
    let doing = doing.to_owned();
    move |source| BenchError::File { doing, source }
}
