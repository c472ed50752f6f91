//! Sessions of the real CLIs that were given tools and hooks.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use futures_util::future::BoxFuture;
use jackfield_sdk::api::command::{Allow, Verdict};
use jackfield_sdk::{Callbacks, Options, Session, Trust};
use jackfield_testkit::api::{Purpose, Reply, Scenario, ScriptedApi};
use jackfield_testkit::cli::{Cli, PINNED_VERSIONS, Sandbox};
use jackfield_workbench::{Buffers, Equipment, FileDiagnostics, Reach, Settled};
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::bench::{Bench, PATIENCE, gone};

struct Stage {
    sandbox: Sandbox,
    api: ScriptedApi,
    options: Options,
    bench: Bench,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Stage {
    async fn set(version: &str, turns: Vec<Reply>) -> Self {
        let sandbox = Sandbox::new().unwrap();
        let api = ScriptedApi::start(Scenario { turns }, sandbox.places().clone()).await.unwrap();
        let places = sandbox.places();
        let mut options = Options::new(&places.workspace)
            .claude(Cli::locate(version).unwrap().program)
            .locks(places.temporary.join("locks"));
        for (name, _) in std::env::vars_os() {
            options = options.without_variable(name);
        }
        for (name, value) in sandbox.environment(&api.url()) {
            options = options.variable(name, value);
        }
        Self { sandbox, api, options, bench: Bench::new(), asked: Arc::default() }
    }

    fn workspace(&self) -> PathBuf {
        self.sandbox.places().workspace.clone()
    }

    fn equipment(&self) -> Equipment {
        Equipment {
            python: None,
            code_limit: PATIENCE,
            language_servers: Vec::new(),
            surroundings: self.bench.surroundings(),
        }
    }

    /// A session in which everything that is asked for is allowed, and noted.
    async fn session(
        &self,
        equipment: &Equipment,
        trust: Trust,
        buffers: Option<Arc<dyn Buffers>>,
    ) -> Session {
        let asked = Arc::clone(&self.asked);
        let callbacks = Callbacks::new().on_permission(move |request| {
            let reason = request.reason.unwrap_or_default();
            let words = format!("{} {reason}", request.tool_name.unwrap_or_default());
            asked.lock().unwrap().push(words.trim().to_owned());
            async { Some(Verdict::Allow(Allow::default())) }
        });
        let reach = Reach { folder: self.workspace(), trust, buffers };
        let options = self.options.clone().trust(trust);
        let start = Session::start(options, equipment.equip(callbacks, reach));
        timeout(PATIENCE, start).await.unwrap().unwrap()
    }

    /// What the model was told in the last request of the conversation, and which tools it was offered.
    fn last_request(&self) -> (String, Vec<String>) {
        let requests = self.api.requests();
        let last = requests.iter().rev().find(|request| request.purpose == Purpose::Conversation).unwrap();
        let message = last.body["messages"].as_array().unwrap().last().unwrap().to_string();
        let tools = last.body["tools"].as_array().unwrap().iter();
        (message, tools.map(|tool| tool["name"].as_str().unwrap_or_default().to_owned()).collect())
    }
}

async fn say(session: &Session, prompt: &str) -> String {
    let turn = session.prompt(prompt).await.unwrap();
    let result = timeout(PATIENCE, turn.result()).await.expect("the turn ends").unwrap();
    assert_eq!(result.error, None);
    result.text
}

fn write(text: &str) -> Reply {
    Reply::tool_use("Write", json!({ "file_path": "/ws/a.py", "content": text }))
}

fn execute(code: &str) -> Reply {
    Reply::tool_use("mcp__jackfield__executeCode", json!({ "code": code }))
}

#[tokio::test]
async fn the_model_is_told_the_problems_that_its_edit_has_brought() {
    for version in PINNED_VERSIONS {
        let turns = vec![
            write("x: int = 1\nz: int = 'old'\n"),
            Reply::tool_use("Read", json!({ "file_path": "/ws/a.py" })),
            Reply::tool_use(
                "Edit",
                json!({ "file_path": "/ws/a.py", "old_string": "= 1", "new_string": "= None" }),
            ),
            Reply::tool_use("mcp__jackfield__getDiagnostics", json!({ "uri": "/ws/a.py" })),
            Reply::text("I see."),
        ];
        let stage = Stage::set(version, turns).await;
        let equipment = Equipment { language_servers: vec![Bench::pyright()], ..stage.equipment() };
        let session = stage.session(&equipment, Trust::Trusted, None).await;
        assert_eq!(say(&session, "edit").await, "I see.");
        let requests: Vec<Value> = stage.api.requests().into_iter().map(|request| request.body).collect();
        let told: Vec<String> = requests.iter().map(|body| body["messages"].to_string()).collect();
        let told_with = |words: &str| told.iter().filter(|told| told.contains(words)).count();
        let new = "This change brought new problems";
        assert!(told_with(new) >= 1, "{version}: {told:#?}");
        let after_edit = told.iter().find(|told| told.matches(new).count() == 2);
        let after_edit =
            after_edit.unwrap_or_else(|| panic!("{version}: the edit's own problem is told: {told:#?}"));
        let last = after_edit.rsplit(new).next().unwrap();
        assert!(
            last.contains("None") && !last.contains("Literal['old']"),
            "{version}: only the new one: {last}"
        );
        let (answer, tools) = stage.last_request();
        assert!(tools.iter().any(|tool| tool == "mcp__jackfield__getDiagnostics"), "{version}: {tools:?}");
        assert!(!tools.iter().any(|tool| tool == "mcp__jackfield__executeCode"), "{version}: {tools:?}");
        assert!(
            answer.contains("reportAssignmentType") && answer.contains("Literal['old']"),
            "{version}: {answer}"
        );
        session.close().await;
    }
}

#[tokio::test]
async fn code_asks_for_leave_runs_and_keeps_its_state() {
    for version in PINNED_VERSIONS {
        let turns = vec![
            execute("import os\nx = 6"),
            execute("print('pid', os.getpid())\nx * 7"),
            Reply::text("42."),
        ];
        let stage = Stage::set(version, turns).await;
        let equipment = Equipment { python: Some("python3".into()), ..stage.equipment() };
        // No trust is needed: a person said yes to the code itself.
        let session = stage.session(&equipment, Trust::Untrusted, None).await;
        assert_eq!(say(&session, "compute").await, "42.");
        let name = "mcp__jackfield__executeCode";
        assert_eq!(*stage.asked.lock().unwrap(), [name, name], "{version}");
        let (answer, tools) = stage.last_request();
        assert!(answer.contains("42\\n"), "{version}: {answer}");
        assert!(!tools.iter().any(|tool| tool.ends_with("getDiagnostics")), "{version}: {tools:?}");
        let id = answer.split("pid ").nth(1).unwrap().split('\\').next().unwrap().parse().unwrap();
        session.close().await;
        drop(session);
        gone(id).await;
    }
}

/// An editor with one file that is not saved.
#[derive(Debug)]
struct Dirty {
    settled: Settled,
    asked: Mutex<Vec<PathBuf>>,
}

impl Buffers for Dirty {
    fn settle(&self, path: PathBuf) -> BoxFuture<'_, Result<Settled, String>> {
        self.asked.lock().unwrap().push(path);
        Box::pin(async { Ok(self.settled.clone()) })
    }

    fn diagnostics(&self, _path: Option<PathBuf>) -> BoxFuture<'_, Result<Vec<FileDiagnostics>, String>> {
        Box::pin(async { Ok(Vec::new()) })
    }
}

#[tokio::test]
async fn what_is_not_saved_in_the_editor_is_saved_or_somebody_is_asked() {
    for version in PINNED_VERSIONS {
        for (settled, asked) in [
            (Settled::Saved, None),
            (Settled::Unsaved { reason: "the disk is full".to_owned() }, Some("the disk is full")),
        ] {
            let stage = Stage::set(version, vec![write("x = 1\n"), Reply::text("Done.")]).await;
            let editor = Arc::new(Dirty { settled, asked: Mutex::default() });
            let buffers: Arc<dyn Buffers> = Arc::<Dirty>::clone(&editor);
            let mut options = stage.options.clone();
            options = options.permission_mode("acceptEdits".into());
            let stage = Stage { options, ..stage };
            let session = stage.session(&stage.equipment(), Trust::Untrusted, Some(buffers)).await;
            assert_eq!(say(&session, "edit").await, "Done.");
            assert_eq!(*editor.asked.lock().unwrap(), [stage.workspace().join("a.py")], "{version}");
            let questions = stage.asked.lock().unwrap().join("\n");
            match asked {
                // In this mode edits are made without a question.
                None => assert_eq!(questions, "", "{version}"),
                Some(words) => assert!(questions.contains(words), "{version}: {questions}"),
            }
            session.close().await;
        }
    }
}

#[tokio::test]
async fn a_session_without_anything_has_no_tools_of_ours() {
    for version in PINNED_VERSIONS {
        let stage = Stage::set(version, vec![Reply::text("Hello.")]).await;
        let equipment = Equipment { language_servers: vec![Bench::pyright()], ..stage.equipment() };
        let session = stage.session(&equipment, Trust::Untrusted, None).await;
        assert_eq!(say(&session, "hello").await, "Hello.");
        let (_, tools) = stage.last_request();
        assert!(
            !tools.iter().any(|tool| tool.starts_with("mcp__")),
            "a folder without trust: {version}: {tools:?}"
        );
        session.close().await;
    }
}
