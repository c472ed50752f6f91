//! A host with a real CLI and a scripted API, or with `fake-claude`, in a private place; and the agent in front of it.

use std::collections::BTreeMap;
use std::io::pipe;
use std::path::Path;

use jackfield_acp::{Log, Options, serve};
use jackfield_client::Client;
use jackfield_host::{Host, Settings};
use jackfield_testkit::api::{Reply, Scenario, ScriptedApi};
use jackfield_testkit::case::Nothing;
use jackfield_testkit::cli::{Cli, NEWER_VERSION, Sandbox};
use jackfield_testkit::fake::{self, FakeStep, write_script};
use jackfield_testkit::processes;
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::editor::{Editor, PATIENCE};

pub(crate) struct Stage {
    pub(crate) sandbox: Sandbox,
    pub(crate) api: Option<ScriptedApi>,
    pub(crate) host: Host,
}

impl Stage {
    /// With a real CLI.
    pub(crate) async fn new(version: &str, turns: Vec<Reply>) -> Self {
        let sandbox = Sandbox::new().unwrap();
        let api = ScriptedApi::start(Scenario { turns }, sandbox.places().clone()).await.unwrap();
        let program = Cli::locate(version).unwrap().program;
        let environment = sandbox.environment(&api.url());
        let host = open(&sandbox, &program, environment).await;
        Self { sandbox, api: Some(api), host }
    }

    /// With a CLI that gets ready, and then follows the script in each of its runs.
    pub(crate) async fn fake(steps: impl IntoIterator<Item = FakeStep>) -> Self {
        let sandbox = Sandbox::new().unwrap();
        let script = sandbox.places().temporary.join("script");
        let version = FakeStep::Version(NEWER_VERSION.to_owned());
        let steps: Vec<FakeStep> = [version].into_iter().chain(ready()).chain(steps).collect();
        write_script(&script, &steps).unwrap();
        let program = fake::program().unwrap_or_else(|error| panic!("{error}"));
        let mut environment = BTreeMap::new();
        environment.insert("HOME".to_owned(), sandbox.places().home.to_string_lossy().into_owned());
        environment.insert("FAKE_CLAUDE_SCRIPT".to_owned(), script.to_string_lossy().into_owned());
        let host = open(&sandbox, &program, environment).await;
        Self { sandbox, api: None, host }
    }

    pub(crate) fn client(&self, name: &str) -> Client {
        Client::here(self.host.clone(), name)
    }

    pub(crate) fn cwd(&self) -> String {
        self.sandbox.places().workspace.to_string_lossy().into_owned()
    }

    /// How many CLIs work in the private place.
    pub(crate) fn clis(&self) -> usize {
        processes::inside(&self.sandbox.places().workspace).len()
    }

    /// The agent, and an editor in front of it.
    pub(crate) fn agent(&self) -> (Editor, JoinHandle<()>) {
        let (from_editor, to_agent) = pipe().unwrap();
        let (from_agent, to_editor) = pipe().unwrap();
        let login = vec!["jackfield".to_owned(), "acp".to_owned(), "--login".to_owned()];
        let options = Options { version: "0.0.0".to_owned(), login, log: Log::off() };
        let client = self.client("editor");
        let agent = tokio::spawn(async move {
            // An editor that is gone is the end of every test.
            let _ = serve(options, async { Ok(client) }, from_editor, to_editor).await;
        });
        (Editor::new(to_agent, from_agent), agent)
    }

    /// An editor that has said hello and opened a session.
    pub(crate) async fn opened(&self) -> (Editor, String, JoinHandle<()>) {
        let (mut editor, agent) = self.agent();
        editor.hello().await;
        let session = editor.open(&self.cwd()).await;
        (editor, session, agent)
    }

    /// Ends in order: the editor hangs up, the agent ends, the host takes its CLIs along.
    pub(crate) async fn end(self, mut editor: Editor, agent: JoinHandle<()>) {
        editor.hang_up();
        timeout(PATIENCE, agent).await.expect("the agent ends with its input").unwrap();
        timeout(PATIENCE, self.host.close()).await.expect("the host ends");
        assert_eq!(self.clis(), 0, "nothing of a session outlives its host");
    }
}

async fn open(sandbox: &Sandbox, program: &Path, environment: BTreeMap<String, String>) -> Host {
    let places = sandbox.places();
    let mut settings = Settings::new(places.temporary.join("data"));
    settings.claude = Some(program.to_owned());
    settings.locks = Some(places.temporary.join("locks"));
    settings.variables = std::env::vars_os().map(|(name, _)| (name, None)).collect();
    let own = environment.into_iter().map(|(name, value)| (name.into(), Some(value.into())));
    settings.variables.extend(own);
    Host::open(settings).await.unwrap()
}

fn ready() -> [FakeStep; 2] {
    let answer = json!({"commands": [], "agents": [], "models": [], "output_style": "default"});
    let response = json!({"subtype": "success", "request_id": "$request_id", "response": answer});
    [
        FakeStep::Expect(json!({"type": "control_request", "request": {"subtype": "initialize"}})),
        FakeStep::Send(json!({"type": "control_response", "response": response})),
    ]
}

/// A turn from its prompt to its result, in whose middle something happens.
pub(crate) fn turn(middle: impl IntoIterator<Item = FakeStep>) -> Vec<FakeStep> {
    let mut steps = begin();
    steps.extend(middle);
    steps.push(FakeStep::Send(assistant("msg_1", "u-1", "all is said")));
    steps.push(FakeStep::Send(result("all is said")));
    steps
}

/// The beginning of a turn.
pub(crate) fn begin() -> Vec<FakeStep> {
    let init = json!({
        "type": "system", "subtype": "init", "cwd": "/ws", "session_id": "s", "tools": [], "mcp_servers": [],
        "model": "claude-fake", "permissionMode": "default", "slash_commands": [], "apiKeySource": "none",
        "claude_code_version": NEWER_VERSION, "output_style": "default", "uuid": "u-init",
    });
    vec![FakeStep::Await(json!({"type": "user"})), FakeStep::Send(init)]
}

/// Stays until its input ends.
pub(crate) fn stay() -> FakeStep {
    FakeStep::AwaitEof(Nothing {})
}

pub(crate) fn assistant(id: &str, uuid: &str, text: &str) -> Value {
    json!({
        "type": "assistant", "parent_tool_use_id": null, "session_id": "s", "uuid": uuid,
        "message": {
            "id": id, "type": "message", "role": "assistant", "model": "claude-fake",
            "content": [{"type": "text", "text": text}], "stop_reason": null, "stop_sequence": null,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        },
    })
}

pub(crate) fn result(text: &str) -> Value {
    json!({
        "type": "result", "subtype": "success", "is_error": false, "duration_ms": 1, "duration_api_ms": 1,
        "num_turns": 1, "result": text, "stop_reason": "end_turn", "session_id": "s", "uuid": "u-result",
        "total_cost_usd": 0.0, "usage": {"input_tokens": 1, "output_tokens": 2}, "modelUsage": {},
        "permission_denials": [], "terminal_reason": "completed",
    })
}
