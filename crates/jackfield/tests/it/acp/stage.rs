//! Where an agent plays: a private home, a scripted model, the real CLI, and a record of every line.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jackfield_testkit::api::{Scenario, ScriptedApi};
use jackfield_testkit::cli::{self, Cli, NEWER_VERSION, Sandbox};
use jackfield_testkit::processes;
use tokio::process::Command;

use super::record::Record;
use super::scenario::folder;

/// What hangs must not hang the tests.
pub(super) const PATIENCE: Duration = Duration::from_mins(1);

/// Waits for something that happens, or says what did not.
pub(super) async fn patiently<T>(what: &str, happening: impl Future<Output = T>) -> T {
    let happened = tokio::time::timeout(PATIENCE, happening).await;
    happened.unwrap_or_else(|_| panic!("{what:?} has not happened"))
}

/// Which agent plays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Agent {
    /// `jackfield acp`.
    Ours,
    /// `@agentclientprotocol/claude-agent-acp`.
    Reference,
}

/// Which client plays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Driver {
    /// `@agentclientprotocol/sdk` in Node.
    Node,
    /// `agent-client-protocol` in Python.
    Python,
}

/// A place to play.
pub(super) struct Stage {
    pub(super) agent: Agent,
    pub(super) driver: Driver,
    pub(super) sandbox: Sandbox,
    pub(super) api: ScriptedApi,
    /// The program that the agent starts.
    pub(super) claude: PathBuf,
    /// Additions to the environment.
    pub(super) additions: BTreeMap<String, String>,
    /// Where the CLI looks for its API, if not at the scripted one.
    pub(super) api_url: Option<String>,
    private: tempfile::TempDir,
}

impl Stage {
    /// A place with this model.
    pub(super) async fn set(agent: Agent, scenario: Scenario) -> Self {
        let sandbox = Sandbox::new().unwrap();
        let api = ScriptedApi::start(scenario, sandbox.places().clone()).await.unwrap();
        let private = tempfile::tempdir().unwrap();
        let claude = Cli::locate(NEWER_VERSION).unwrap().program;
        Self {
            agent,
            driver: Driver::Node,
            sandbox,
            api,
            claude,
            additions: BTreeMap::new(),
            api_url: None,
            private,
        }
    }

    /// The same with another client.
    pub(super) fn by(mut self, driver: Driver) -> Self {
        self.driver = driver;
        self
    }

    pub(super) fn workspace(&self) -> &Path {
        &self.sandbox.places().workspace
    }

    /// The agent's command line, behind the tap.
    pub(super) fn agent_words(&self) -> Vec<String> {
        let mut words = vec![text(&node()), text(&folder().join("tap.mjs")), text(&self.record_file())];
        match self.agent {
            Agent::Ours => words.extend([env!("CARGO_BIN_EXE_jackfield").to_owned(), "acp".to_owned()]),
            Agent::Reference => words.extend([text(&node()), text(&reference())]),
        }
        words
    }

    /// Nothing of the machine, and what the agent needs to find its CLI and its API.
    pub(super) fn environment(&self) -> BTreeMap<String, String> {
        let mut environment = self.sandbox.environment(self.api_url.as_ref().unwrap_or(&self.api.url()));
        let agents_own = match self.agent {
            Agent::Ours => [
                ("JACKFIELD_CLAUDE", text(&self.claude)),
                ("JACKFIELD_DATA", text(&self.private.path().join("data"))),
            ],
            Agent::Reference => [
                ("CLAUDE_CODE_EXECUTABLE", text(&self.claude)),
                ("CLAUDE_AGENT_ACP_PROTOCOL", "v1".to_owned()),
            ],
        };
        environment.extend(agents_own.map(|(name, value)| (name.to_owned(), value)));
        // What it suggests next it asks the model as it asks everything, at a time of its own.
        environment.insert("CLAUDE_CODE_ENABLE_PROMPT_SUGGESTION".to_owned(), "0".to_owned());
        environment.extend(self.additions.clone());
        environment
    }

    /// The client, told how to start the agent.
    pub(super) fn client_command(&self) -> Command {
        let mut command = match self.driver {
            Driver::Node => {
                let mut command = Command::new(node());
                command.arg(folder().join("client.mjs"));
                command.arg(installed().join("node_modules/@agentclientprotocol/sdk/dist/v1/stable/acp.js"));
                command
            }
            Driver::Python => {
                let mut command = Command::new("python3");
                command.arg(folder().join("client.py"));
                command
            }
        };
        command.args(self.agent_words());
        self.prepared(command)
    }

    /// The same surroundings for any program.
    pub(super) fn prepared(&self, mut command: Command) -> Command {
        command.env_clear().envs(self.environment()).current_dir(self.workspace());
        if self.driver == Driver::Python {
            command.env("PYTHONPATH", installed().join("python")).env("PYTHONDONTWRITEBYTECODE", "1");
            // The user's own choice of a Python is part of the way to it.
            command.envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
        }
        command
    }

    /// Every line so far.
    pub(super) fn record(&self) -> Record {
        Record::read(&self.record_file())
    }

    /// Every process that works in the folder: agents, CLIs and what they started.
    pub(super) fn alive(&self) -> Vec<u32> {
        processes::inside(self.workspace())
    }

    /// The CLIs that run.
    pub(super) fn clis(&self) -> Vec<u32> {
        let program = self.claude.canonicalize().unwrap();
        let is_cli =
            |id: &u32| std::fs::read_link(format!("/proc/{id}/exe")).is_ok_and(|found| found == program);
        self.alive().into_iter().filter(is_cli).collect()
    }

    /// Where everybody's complaints go.
    pub(super) fn errors(&self) -> File {
        File::options().create(true).append(true).open(self.private.path().join("errors.txt")).unwrap()
    }

    fn record_file(&self) -> PathBuf {
        self.private.path().join("record.jsonl")
    }
}

/// Where `cargo xtask setup` has put the clients.
pub(super) fn installed() -> PathBuf {
    let folder = cli::cache_dir().join("acp");
    assert!(folder.join("node_modules").is_dir(), "no ACP clients: run `cargo xtask setup`");
    folder
}

/// The Node of the clients.
pub(super) fn node() -> PathBuf {
    cli::cache_dir().join("node/24/package/bin/node")
}

fn reference() -> PathBuf {
    installed().join("node_modules/@agentclientprotocol/claude-agent-acp/dist/index.js")
}

fn text(path: &Path) -> String {
    path.to_str().unwrap().to_owned()
}
