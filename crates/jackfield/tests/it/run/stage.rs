//! A private place in which the program runs, with the demo agent or a real CLI.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use jackfield_api::command::{Allow, Answer, Verdict};
use jackfield_client::Client;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::program::Finished;

/// Nothing here takes long; what hangs must not hang the tests.
pub(crate) const BOUND: [&str; 2] = ["--timeout", "120"];
/// The same, for what is not the program.
const PATIENCE: Duration = Duration::from_mins(2);

/// A private place.
pub(crate) struct Stage {
    pub(crate) folder: tempfile::TempDir,
    /// Variables of the program's environment; nothing else is in it.
    pub(crate) variables: Vec<(String, String)>,
}

impl Stage {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("ws")).unwrap();
        let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
        let variables = [
            ("HOME", path("")),
            ("PATH", "/usr/bin:/bin".to_owned()),
            ("JACKFIELD_DATA", path("data")),
            ("JACKFIELD_DEMO_SPEED", "0".to_owned()),
            // A CLI of the machine that runs this test is never started.
            ("JACKFIELD_CLAUDE", "no-such-claude".to_owned()),
        ];
        let variables = variables.map(|(name, value)| (name.to_owned(), value)).to_vec();
        Self { folder, variables }
    }

    /// Slow enough to be stopped.
    pub(crate) fn slowly(mut self) -> Self {
        self.variables.push(("JACKFIELD_DEMO_SPEED".to_owned(), "1".to_owned()));
        self
    }

    pub(crate) fn workspace(&self) -> PathBuf {
        self.folder.path().join("ws").canonicalize().unwrap()
    }

    /// The program in a process session of its own, so that it never finds the terminal of whoever runs the tests.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("setsid");
        command.arg("--wait").arg(env!("CARGO_BIN_EXE_jackfield")).args(arguments);
        self.prepared(command)
    }

    pub(crate) fn prepared(&self, mut command: Command) -> Command {
        let variables = self.variables.iter().map(|(name, value)| (name, value));
        command.env_clear().envs(variables).current_dir(self.workspace());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    pub(crate) fn jackfield(&self, arguments: &[&str]) -> Finished {
        self.command(arguments).output().unwrap().into()
    }

    /// `jackfield run` with the demo agent.
    pub(crate) fn demo(&self, prompt: &str, arguments: &[&str]) -> Finished {
        let bounded = if arguments.contains(&"--timeout") { &[][..] } else { &BOUND };
        self.jackfield(&[&["run", prompt, "--agent", "demo"], arguments, bounded].concat())
    }

    /// Answers the next question of any session with yes, as another client of the running host.
    pub(crate) fn allow_as(&self, name: &str) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let data = self.folder.path().join("data");
            let client = Client::running(&data, name).await.unwrap().expect("a running host");
            let asked = async {
                loop {
                    // It comes when the agent is that far.
                    match client.desk().await.unwrap().pop() {
                        Some(entry) => return entry,
                        None => tokio::task::yield_now().await,
                    }
                }
            };
            let asked = tokio::time::timeout(PATIENCE, asked).await.unwrap();
            let answer =
                Answer { pending_id: asked.request.pending_id, verdict: Verdict::Allow(Allow::default()) };
            client.command(Some(&asked.session_id), answer).await.unwrap();
        });
    }

    pub(crate) fn sessions(&self) -> Vec<Value> {
        let finished = self.jackfield(&["sessions", "list", "--all", "--json"]);
        assert_eq!((finished.code, finished.err.as_str()), (Some(0), ""));
        serde_json::from_str(&finished.out).unwrap()
    }

    /// A running host.
    pub(crate) fn serve(&self) -> Served {
        let mut child = self.command(&["serve", "--listen", "127.0.0.1:0", "--no-open"]).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert!(line.starts_with("Jackfield serves on "), "{line}");
        Served { child }
    }
}

/// A running host, ended with this.
pub(crate) struct Served {
    child: Child,
}

impl Drop for Served {
    fn drop(&mut self) {
        signal(&self.child, Signal::TERM);
        self.child.wait().unwrap();
    }
}

pub(crate) fn signal(child: &Child, signal: Signal) {
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    kill_process(pid, signal).unwrap();
}

/// Reads lines until one has this in it, and gives the rest back.
pub(crate) fn until(from: impl Read, text: &str) -> BufReader<impl Read> {
    let mut reader = BufReader::new(from);
    loop {
        let mut line = String::new();
        assert!(reader.read_line(&mut line).unwrap() > 0, "it ended before `{text}` came");
        if line.contains(text) {
            return reader;
        }
    }
}

pub(crate) fn object(finished: &Finished) -> Value {
    serde_json::from_str(&finished.out)
        .unwrap_or_else(|error| panic!("{error}: {}\n{}", finished.out, finished.err))
}

pub(crate) fn lines(finished: &Finished) -> Vec<Value> {
    finished.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

pub(crate) fn exists(path: &Path) -> bool {
    path.try_exists().unwrap()
}
