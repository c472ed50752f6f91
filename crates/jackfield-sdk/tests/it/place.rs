//! A real CLI with a scripted API in a private place, and what is needed to follow a session in it.

use std::time::Duration;

use jackfield_api::{Body, SharedEvent};
use jackfield_sdk::{Callbacks, Events, Options, Session, TurnResult};
use jackfield_testkit::api::{Block, BlockGate, Content, Purpose, Reply, Scenario, ScriptedApi};
use jackfield_testkit::cli::{Cli, Sandbox};
use serde_json::{Value, json};
use tokio::time::timeout;

/// A CLI that hangs must not hang the tests.
pub(crate) const PATIENCE: Duration = Duration::from_mins(2);

pub(crate) struct Place {
    pub(crate) cli: Cli,
    pub(crate) sandbox: Sandbox,
    pub(crate) api: ScriptedApi,
}

impl Place {
    pub(crate) async fn new(version: &str, turns: Vec<Reply>) -> Self {
        let sandbox = Sandbox::new().unwrap();
        let api = ScriptedApi::start(Scenario { turns }, sandbox.places().clone()).await.unwrap();
        Self { cli: Cli::locate(version).unwrap(), sandbox, api }
    }

    /// Options with nothing of this process in the environment.
    pub(crate) fn options(&self) -> Options {
        let places = self.sandbox.places();
        let mut options = Options::new(&places.workspace)
            .claude(&self.cli.program)
            .guard([env!("CARGO_BIN_EXE_jackfield-guard")])
            .locks(places.temporary.join("locks"));
        for (name, _) in std::env::vars_os() {
            options = options.without_variable(name);
        }
        for (name, value) in self.sandbox.environment(&self.api.url()) {
            options = options.variable(name, value);
        }
        options
    }

    /// The content of the last message of each request for the conversation.
    pub(crate) fn said(&self) -> Vec<Value> {
        let last = |body: &Value| body["messages"].as_array().unwrap().last().unwrap()["content"].clone();
        self.requests().iter().map(last).collect()
    }

    /// What the API was sent for the conversation.
    pub(crate) fn requests(&self) -> Vec<Value> {
        let all = self.api.requests().into_iter();
        all.filter(|request| request.purpose == Purpose::Conversation).map(|request| request.body).collect()
    }

    /// Waits until the CLI has written these words to its transcript of a session: it does so a moment after
    /// it has told the result.
    pub(crate) async fn on_disk(&self, session: &str, words: &str) {
        let folder = self.sandbox.places().home.join(".claude/projects");
        let written = || {
            let projects = std::fs::read_dir(&folder).into_iter().flatten().flatten();
            let mut files = projects.map(|project| project.path().join(format!("{session}.jsonl")));
            files.any(|file| std::fs::read_to_string(file).is_ok_and(|text| text.contains(words)))
        };
        eventually("the session is on disk", written).await;
    }

    pub(crate) fn file(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(self.sandbox.places().workspace.join(name)).ok()
    }
}

pub(crate) fn bash(command: &str) -> Reply {
    Reply::tool_use("Bash", json!({ "command": command, "description": "a command" }))
}

/// A text that stops in the middle until the gate is released.
pub(crate) fn gated(text: &str, gate: &str) -> Reply {
    let mut block = Block::new(Content::Text { text: text.to_owned() });
    block.gate = Some(BlockGate { name: gate.to_owned(), after: 2 });
    Reply { blocks: vec![block], ..Reply::text("") }
}

pub(crate) async fn start(options: Options, callbacks: Callbacks) -> Session {
    timeout(PATIENCE, Session::start(options, callbacks)).await.unwrap().unwrap()
}

pub(crate) async fn say(session: &Session, text: &str) -> TurnResult {
    let turn = session.prompt(text).await.unwrap();
    timeout(PATIENCE, turn.result()).await.unwrap().unwrap()
}

/// Waits until something is so.
pub(crate) async fn eventually(what: &str, condition: impl Fn() -> bool) {
    let holds = async {
        while !condition() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(PATIENCE, holds).await.unwrap_or_else(|_| panic!("not so: {what}"));
}

pub(crate) async fn until(events: &mut Events, found: impl Fn(&Body) -> bool) -> SharedEvent {
    let mut others: Vec<SharedEvent> = Vec::new();
    loop {
        let Ok(event) = timeout(PATIENCE, events.next()).await else {
            panic!("it is not told, but {others:#?}");
        };
        let event = event.expect("the session ended too early");
        if found(&event.body) {
            return event;
        }
        others.push(event);
    }
}

pub(crate) async fn all(events: &mut Events) -> Vec<SharedEvent> {
    let mut all = Vec::new();
    while let Some(event) = timeout(PATIENCE, events.next()).await.unwrap() {
        all.push(event);
    }
    all
}

/// Runs each of these against both pinned CLIs.
macro_rules! with_both_clis {
    ($($name:ident),+ $(,)?) => {
        mod older {
            $(#[tokio::test] async fn $name() { super::$name(jackfield_testkit::cli::OLDER_VERSION).await; })+
        }
        mod newer {
            $(#[tokio::test] async fn $name() { super::$name(jackfield_testkit::cli::NEWER_VERSION).await; })+
        }
    };
}
pub(crate) use with_both_clis;
