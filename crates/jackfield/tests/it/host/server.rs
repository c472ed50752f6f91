//! `jackfield serve` as a process, in a private place.
//!
//! The one rule it keeps: the process has nothing of this one's environment, and nothing it started outlives the
//! place.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use jackfield_api::command::{Agent, CreateSession};
use jackfield_testkit::api::{Reply, Scenario, ScriptedApi};
use jackfield_testkit::cli::{Cli, Sandbox};
use jackfield_testkit::processes;
use rustix::process::Signal;
use tokio::io::{AsyncBufReadExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdout};
use tokio::time::timeout;

use super::client::Socket;
use crate::program::jackfield;

/// What hangs must not hang the tests.
pub(super) const PATIENCE: Duration = Duration::from_mins(1);

/// Where a server keeps its data and sessions work.
pub(super) struct Place {
    pub(super) sandbox: Sandbox,
    pub(super) data: PathBuf,
    pub(super) environment: BTreeMap<String, String>,
    pub(super) agent: Agent,
}

impl Place {
    /// With the demo agent, which plays as fast as it can.
    pub(super) fn demo() -> Self {
        let mut place = Self::new(Agent::Demo, "http://127.0.0.1:1");
        place.environment.insert("JACKFIELD_DEMO_SPEED".to_owned(), "0".to_owned());
        place
    }

    /// With a real CLI and a scripted API.
    pub(super) async fn real(version: &str, turns: Vec<Reply>) -> (Self, ScriptedApi) {
        let mut place = Self::new(Agent::Claude, "");
        let places = place.sandbox.places().clone();
        let api = ScriptedApi::start(Scenario { turns }, places).await.unwrap();
        place.environment = place.sandbox.environment(&api.url());
        let program = Cli::locate(version).unwrap().program.to_string_lossy().into_owned();
        place.environment.insert("JACKFIELD_CLAUDE".to_owned(), program);
        (place, api)
    }

    fn new(agent: Agent, api: &str) -> Self {
        let sandbox = Sandbox::new().unwrap();
        let data = sandbox.places().temporary.join("data");
        Self { environment: sandbox.environment(api), sandbox, data, agent }
    }

    pub(super) async fn serve(&self) -> Server {
        self.serve_as(self.command()).await
    }

    /// With another way to start it.
    pub(super) async fn serve_as(&self, mut command: tokio::process::Command) -> Server {
        let mut child = command.spawn().unwrap();
        let mut said = BufReader::new(child.stdout.take().unwrap()).lines();
        let first = timeout(PATIENCE, said.next_line()).await.unwrap().unwrap();
        let Some(first) = first else {
            let left = child.wait_with_output().await.unwrap();
            panic!("it does not serve: {}", String::from_utf8_lossy(&left.stderr));
        };
        let mut words = first.split(|letter: char| letter.is_whitespace() || "/()".contains(letter));
        let address =
            words.find_map(|word| word.parse().ok()).unwrap_or_else(|| panic!("no address in {first}"));
        Server { child, address, said }
    }

    pub(super) fn command(&self) -> tokio::process::Command {
        let mut command = jackfield(["serve", "--no-open", "--listen", "127.0.0.1:0", "--data"]);
        command.arg(&self.data).envs(&self.environment).current_dir(&self.sandbox.places().temporary);
        let mut command = tokio::process::Command::from(command);
        command.stdin(Stdio::null()).stderr(Stdio::piped()).kill_on_drop(true);
        command
    }

    pub(super) async fn client(&self, name: &str) -> Socket {
        let mut socket = Socket::local(&self.data).await;
        socket.greet(name).await;
        socket
    }

    pub(super) fn create(&self) -> CreateSession {
        let cwd = self.sandbox.places().workspace.to_string_lossy();
        CreateSession { agent: Some(self.agent), ..CreateSession::new(cwd) }
    }

    /// What works in the sessions' folder.
    pub(super) fn alive(&self) -> Vec<u32> {
        processes::inside(&self.sandbox.places().workspace)
    }

    pub(super) fn file(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(self.sandbox.places().workspace.join(name)).ok()
    }

    pub(super) fn token(&self) -> String {
        std::fs::read_to_string(self.data.join("token")).unwrap().trim().to_owned()
    }
}

/// The running program.
pub(super) struct Server {
    pub(super) child: Child,
    pub(super) address: SocketAddr,
    /// Open, so that it never writes into nothing.
    pub(super) said: Lines<BufReader<ChildStdout>>,
}

impl Server {
    pub(super) fn id(&self) -> u32 {
        self.child.id().expect("it runs")
    }

    pub(super) fn signal(&self, signal: Signal) {
        processes::signal(self.id(), signal);
    }

    pub(super) async fn kill(&mut self) {
        timeout(PATIENCE, self.child.kill()).await.unwrap().unwrap();
    }

    /// Asks it to end, and waits until it has.
    pub(super) async fn stop(mut self) -> ExitStatus {
        self.signal(Signal::TERM);
        timeout(PATIENCE, self.child.wait()).await.unwrap().unwrap()
    }
}

/// Waits until something is so.
pub(super) async fn eventually(what: &str, condition: impl Fn() -> bool) {
    let holds = async {
        while !condition() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(PATIENCE, holds).await.unwrap_or_else(|_| panic!("not so: {what}"));
}
