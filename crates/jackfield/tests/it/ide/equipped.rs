//! The workbench in sessions of `jackfield serve` and of `jackfield acp`, with the real CLIs.
//!
//! The folder brings nothing of its own, so nobody is asked whether it is trusted: `tools.folders` decides.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use jackfield_testkit::cli::{Cli, PINNED_VERSIONS};
use jackfield_testkit::programs;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use super::stage::{Stage, patiently};
use crate::serve::{Server, ask};

/// The model writes a file with a mistake in it, and looks whether it has a tool to ask for such things.
fn a_mistake() -> Value {
    let input = json!({ "file_path": "/ws/a.py", "content": "x: int = 'text'\n" });
    let asked = json!({ "uri": "/ws/a.py" });
    json!([
        { "blocks": [{ "type": "tool_use", "name": "Write", "input": input }] },
        { "blocks": [{ "type": "tool_use", "name": "mcp__jackfield__getDiagnostics", "input": asked }] },
        { "gate": "done", "blocks": [{ "type": "text", "text": "I see." }] },
    ])
}

/// What both are started with.
struct Setting {
    words: Vec<String>,
    environment: BTreeMap<String, String>,
}

impl Setting {
    /// With a language server, in these folders.
    fn of(stage: &Stage, version: &str, folders: &[&Path]) -> Self {
        let mut words = vec![
            "--set".to_owned(),
            format!("tools.language_servers=py: {} --stdio", programs::pyright().display()),
        ];
        for folder in folders {
            words.extend(["--set".to_owned(), format!("tools.folders={}", folder.display())]);
        }
        let mut environment = stage.sandbox.environment(&stage.api.url());
        let data = stage.sandbox.places().temporary.join("data");
        let program = Cli::locate(version).unwrap().program;
        for (name, path) in [("JACKFIELD_CLAUDE", &program), ("JACKFIELD_DATA", &data)] {
            environment.insert(name.to_owned(), path.to_str().unwrap().to_owned());
        }
        // The language server is a program of Node's.
        environment.insert("PATH".to_owned(), std::env::var("PATH").unwrap());
        Self { words, environment }
    }
}

/// `jackfield acp`, and an editor that says yes to everything.
struct Agent {
    _child: Child,
    input: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Agent {
    fn start(stage: &Stage, setting: &Setting) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_jackfield"));
        command.arg("acp").args(&setting.words).env_clear().envs(&setting.environment);
        command.current_dir(stage.workspace()).kill_on_drop(true);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        let mut child = command.spawn().unwrap();
        let input = child.stdin.take().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { _child: child, input, lines }
    }

    async fn says(&mut self, mut message: Value) {
        message["jsonrpc"] = json!("2.0");
        self.input.write_all(format!("{message}\n").as_bytes()).await.unwrap();
    }

    /// Hears the next message, and says yes if it is a question.
    async fn hears(&mut self) -> Value {
        let line = self.lines.next_line().await.unwrap().expect("the agent has ended");
        let message: Value = serde_json::from_str(&line).unwrap();
        if message["method"] == "session/request_permission" {
            let options = message["params"]["options"].as_array().unwrap();
            let yes = options.iter().find(|option| option["kind"] == "allow_once").unwrap();
            let outcome = json!({ "outcome": "selected", "optionId": yes["optionId"] });
            self.says(json!({ "id": message["id"], "result": { "outcome": outcome } })).await;
        }
        message
    }

    /// Asks for something, and waits for the answer.
    async fn asks(&mut self, id: u64, method: &str, params: Value) -> Value {
        self.says(json!({ "id": id, "method": method, "params": params })).await;
        patiently(method, async {
            loop {
                let message = self.hears().await;
                if message["id"] == id && message.get("method").is_none() {
                    return message["result"].clone();
                }
            }
        })
        .await
    }

    /// Opens a session in the stage's folder and has it write; until the model is asked for the last time.
    async fn writes(&mut self, stage: &Stage) {
        self.asks(1, "initialize", json!({ "protocolVersion": 1, "clientCapabilities": {} })).await;
        let params = json!({ "cwd": stage.workspace(), "mcpServers": [] });
        let session = self.asks(2, "session/new", params).await["sessionId"].clone();
        let prompt = json!([{ "type": "text", "text": "write it" }]);
        let params = json!({ "sessionId": session, "prompt": prompt });
        self.says(json!({ "id": 3, "method": "session/prompt", "params": params })).await;
        let last = stage.api.gates().reached("done");
        let mut last = std::pin::pin!(last);
        patiently("the last request", async {
            loop {
                tokio::select! {
                    () = &mut last => return,
                    _ = self.hears() => {}
                }
            }
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_of_an_editor_are_told_new_problems_and_can_ask_for_them() {
    for version in PINNED_VERSIONS {
        let stage = Stage::set(a_mistake()).await;
        let setting = Setting::of(&stage, version, &[stage.workspace()]);
        Agent::start(&stage, &setting).writes(&stage).await;
        told(&stage, version);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_of_the_host_are_told_new_problems_and_can_ask_for_them() {
    for version in PINNED_VERSIONS {
        let stage = Stage::set(a_mistake()).await;
        let setting = Setting::of(&stage, version, &[stage.workspace()]);
        let data = stage.sandbox.places().temporary.join("data");
        let words: Vec<&str> = setting.words.iter().map(String::as_str).collect();
        let variables: Vec<(&str, &Path)> =
            setting.environment.iter().map(|(name, value)| (name.as_str(), Path::new(value))).collect();
        let server = Server::begin(&data, &words, &variables);
        let create = json!({ "type": "create_session", "cwd": stage.workspace(), "origin": "new",
            "permission_mode": "default" });
        let created = ask(&data, "POST /api/commands", &json!({ "id": "c-1", "command": create }));
        let created: Value = serde_json::from_str(&created).unwrap();
        let id = created["reply"]["session_id"].as_str().unwrap();
        let content = json!([{ "type": "text", "text": "write it" }]);
        let prompt = json!({ "type": "prompt", "uuid": id, "content": content, "priority": "next" });
        ask(&data, "POST /api/commands", &json!({ "id": "c-2", "session_id": id, "command": prompt }));
        let last = stage.api.gates().reached("done");
        tokio::select! {
            () = patiently("the last request", last) => {}
            () = says_yes(&data) => {}
        }
        told(&stage, version);
        drop(server);
    }
}

/// Says yes to everything that lies on the desk, once.
async fn says_yes(data: &Path) {
    let mut answered = BTreeSet::new();
    loop {
        let desk: Vec<Value> = serde_json::from_str(&ask(data, "GET /api/desk", &Value::Null)).unwrap();
        for entry in desk {
            let (session, question) = (&entry["session_id"], &entry["request"]["pending_id"]);
            if answered.insert(question.to_string()) {
                let answer =
                    json!({ "type": "answer", "pending_id": question, "verdict": { "type": "allow" } });
                let id = format!("c-yes-{}", answered.len());
                let command = json!({ "id": id, "session_id": session, "command": answer });
                ask(data, "POST /api/commands", &command);
            }
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_language_server_runs_in_a_folder_that_nobody_has_named_or_trusted() {
    for version in PINNED_VERSIONS {
        let stage = Stage::set(a_mistake()).await;
        let elsewhere = stage.sandbox.places().temporary.clone();
        let setting = Setting::of(&stage, version, &[&elsewhere]);
        Agent::start(&stage, &setting).writes(&stage).await;
        let request = stage.last_request();
        assert!(!request.contains("not assignable"), "{version}: {request}");
        assert!(stage.workspace().join("a.py").is_file(), "{version}: it was written all the same");
    }
}

/// The model was told by the hook, and got the same by its tool.
fn told(stage: &Stage, version: &str) {
    let request = stage.last_request();
    assert!(request.contains("This change brought new problems"), "{version}: {request}");
    assert!(stage.last_message().contains("not assignable"), "{version}: {request}");
}
