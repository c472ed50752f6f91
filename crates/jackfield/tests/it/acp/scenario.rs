//! A scenario as data: `tests/acp/scenarios/NAME.json`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use jackfield_testkit::api::Reply;
use serde::Deserialize;
use serde_json::Value;

/// What the model says and what the client does.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Scenario {
    /// The name of its file.
    #[serde(skip)]
    pub(super) name: String,
    /// One sentence on what it shows.
    pub(super) about: String,
    /// Files below the working folder, by path.
    #[serde(default)]
    pub(super) files: BTreeMap<String, String>,
    /// Files below the CLI's own folder in the user's home, by path.
    #[serde(default)]
    pub(super) home: BTreeMap<String, String>,
    /// Additions to the environment of the agent, and so of its CLI.
    #[serde(default)]
    pub(super) environment: BTreeMap<String, String>,
    /// The MCP servers of the session, as the protocol has them. `$mcp` is the program and its script.
    #[serde(default)]
    pub(super) mcp_servers: Vec<Value>,
    /// What the client can do, beside nothing.
    #[serde(default)]
    pub(super) capabilities: Option<Value>,
    /// What the model replies.
    pub(super) turns: Vec<Reply>,
    /// What the client does, after `initialize` and `session/new`.
    pub(super) client: Vec<Step>,
}

/// One step of the client.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Step {
    /// Sends a prompt: a text, or blocks of content. It does not wait for its end.
    Prompt(Value),
    /// Waits for the end of the prompt.
    Stop(Nothing),
    /// Waits for a permission to be asked for and selects the first option of this kind, or says `cancelled`.
    Answer(String),
    /// Waits for a permission to be asked for, and leaves it open.
    Asked(Nothing),
    /// Answers the permission that was left open.
    Late(String),
    /// Waits for a form and fills in the first choice everywhere, or says `decline` or `cancel`.
    Form(String),
    /// Cancels the turn, so many times.
    Cancel(usize),
    /// Waits until the model's reply stands at this gate.
    Gate(String),
    /// Opens the gate.
    Release(String),
    /// Waits for an update with this in it, after the last one waited for.
    Update(Value),
    /// Makes a request and waits for its answer; `$session` is the session's id, `$ws` the working folder.
    Call(String, Value),
    /// Sets a configuration option to the first of its values that contains this text.
    Configure(String, String),
    /// Ends the agent, starts another one, and opens the session again by this method.
    Reopen(String),
    /// Writes a file below the working folder.
    Write(String, String),
    /// Waits until a file below the working folder exists.
    File(String),
    /// Kills the CLI.
    Kill(Nothing),
}

/// `{}`: a step that needs no arguments.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Nothing {}

impl Scenario {
    /// Loads one by its name.
    pub(super) fn load(name: &str) -> Self {
        let path = folder().join("scenarios").join(format!("{name}.json"));
        let text =
            std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let scenario: Self = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(!scenario.about.is_empty(), "{name}");
        Self { name: name.to_owned(), ..scenario }
    }

    /// The names of all, in order.
    pub(super) fn names() -> Vec<String> {
        let entries = std::fs::read_dir(folder().join("scenarios")).unwrap();
        let files = entries.map(|entry| entry.unwrap().path());
        let mut names: Vec<String> =
            files.map(|file| file.file_stem().unwrap().to_str().unwrap().to_owned()).collect();
        names.sort();
        names
    }
}

/// `tests/acp` of the workspace.
pub(super) fn folder() -> PathBuf {
    jackfield_testkit::recordings::workspace_dir().join("tests/acp")
}
