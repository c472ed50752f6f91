//! A private home, a scripted model, a CLI and an editor.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use jackfield_testkit::api::{Scenario, ScriptedApi};
use jackfield_testkit::cli::{Cli, Sandbox};
use serde_json::{Value, json};

use super::plugin::Plugin;
use super::terminal::Terminal;

/// What hangs must not hang the tests.
const PATIENCE: Duration = Duration::from_mins(1);

/// Waits for something that happens, or says what did not.
pub(super) async fn patiently<T>(what: &str, happening: impl Future<Output = T>) -> T {
    let happened = tokio::time::timeout(PATIENCE, happening).await;
    happened.unwrap_or_else(|_| panic!("{what:?} has not happened"))
}

/// Where a test plays.
pub(super) struct Stage {
    pub(super) sandbox: Sandbox,
    pub(super) api: ScriptedApi,
}

/// The model reads `/ws/a.txt`, changes a word in it, and says something when `done` is released.
pub(super) fn an_edit() -> Value {
    json!([
        { "blocks": [{ "type": "tool_use", "name": "Read", "input": { "file_path": "/ws/a.txt" } }] },
        { "blocks": [{ "type": "tool_use", "name": "Edit", "input": {
            "file_path": "/ws/a.txt", "old_string": "beta", "new_string": "BETA",
        } }] },
        { "gate": "done", "blocks": [{ "type": "text", "text": "Edit finished." }] },
        { "gate": "then", "blocks": [{ "type": "text", "text": "I see." }] },
    ])
}

/// The model says something when `done` is released.
pub(super) fn a_word() -> Value {
    json!([{ "gate": "done", "blocks": [{ "type": "text", "text": "I see." }] }])
}

impl Stage {
    /// A folder with one file, in which the CLI has been before.
    pub(super) async fn set(turns: Value) -> Self {
        let sandbox = Sandbox::new().unwrap();
        sandbox.write("a.txt", "alpha\nbeta\ngamma\n").unwrap();
        let workspace = &sandbox.places().workspace;
        let config = json!({
            "hasCompletedOnboarding": true,
            "theme": "dark",
            "diffTool": "auto",
            "customApiKeyResponses": { "approved": ["dummy"], "rejected": [] },
            "projects": { workspace.to_str().unwrap(): {
                "hasTrustDialogAccepted": true,
                "hasCompletedProjectOnboarding": true,
            } },
        });
        std::fs::write(sandbox.places().home.join(".claude/.claude.json"), config.to_string()).unwrap();
        let scenario: Scenario = serde_json::from_value(json!({ "turns": turns })).unwrap();
        let api = ScriptedApi::start(scenario, sandbox.places().clone()).await.unwrap();
        Self { sandbox, api }
    }

    pub(super) fn workspace(&self) -> &PathBuf {
        &self.sandbox.places().workspace
    }

    /// Where the lock files are.
    pub(super) fn lock_folder(&self) -> PathBuf {
        self.sandbox.places().home.join(".claude/ide")
    }

    pub(super) fn lock_files(&self) -> Vec<String> {
        let Ok(entries) = std::fs::read_dir(self.lock_folder()) else { return Vec::new() };
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    pub(super) fn file(&self) -> String {
        std::fs::read_to_string(self.workspace().join("a.txt")).unwrap()
    }

    /// The program, in the folder, with the CLI's own environment.
    pub(super) fn jackfield(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_jackfield"));
        command.args(arguments).env_clear().envs(self.sandbox.environment(&self.api.url()));
        command.current_dir(self.workspace());
        command
    }

    /// An editor that the CLI can find.
    pub(super) async fn plugin(&self, arguments: &[&str]) -> Plugin {
        let command = self.jackfield(&[&["ide", "--link"], arguments].concat());
        Plugin::start(tokio::process::Command::from(command)).await
    }

    /// The command of a CLI.
    pub(super) fn claude(&self, version: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(Cli::locate(version).unwrap().program);
        command.args(arguments).env_clear().envs(self.sandbox.environment(&self.api.url()));
        command.current_dir(self.workspace());
        command
    }

    /// A CLI in a terminal that listens to the editor. Some time before that it is connected already, and would work
    /// without it.
    pub(super) async fn listening(&self, version: &str, plugin: &mut Plugin) -> Terminal {
        self.looks_at_the_file(plugin).await;
        let mut terminal = self.connected(version, plugin).await;
        plugin.until("that it is shown", terminal.sees("In a.txt")).await;
        terminal
    }

    /// A CLI in a terminal, connected to the editor by its environment.
    pub(super) async fn connected(&self, version: &str, plugin: &mut Plugin) -> Terminal {
        // The newer one would decide by itself.
        let mut command = self.claude(version, &["--permission-mode", "default"]);
        command.env("CLAUDE_CODE_SSE_PORT", plugin.port()).env("ENABLE_IDE_INTEGRATION", "true");
        let terminal = Terminal::run(&command);
        plugin.hears_of_connections(1).await;
        terminal
    }

    /// The person's cursor is in the file; a CLI that listens shows that.
    async fn looks_at_the_file(&self, plugin: &mut Plugin) {
        let place = json!({ "line": 0, "character": 0 });
        let range = json!({ "start": place, "end": place });
        let selection = json!({ "path": self.workspace().join("a.txt"), "text": "", "range": range });
        plugin.tells("selection", &json!({ "selection": selection })).await;
    }

    /// The last message of what the model was asked last, as text; not what the CLI adds of its own tools.
    pub(super) fn last_message(&self) -> String {
        let requests = self.api.requests();
        let last = requests.iter().rev().find(|request| request.reply.is_some()).unwrap();
        let messages = last.body["messages"].as_array().unwrap();
        messages.iter().rfind(|message| message["role"] != "system").unwrap().to_string()
    }

    /// What the model was asked last, as text.
    pub(super) fn last_request(&self) -> String {
        let requests = self.api.requests();
        requests.iter().rev().find(|request| request.reply.is_some()).unwrap().body["messages"].to_string()
    }
}
