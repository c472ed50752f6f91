//! One live session of a running host, in an editor and in the page at once.

use std::process::Stdio;

use jackfield_api::command::{Allow, Answer, Deny, RejectionCode, Verdict};
use jackfield_api::{Body, PendingId, SessionId};
use jackfield_testkit::api::{Reply, Scenario};
use rustix::process::Signal;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, BufReader, Lines};
use tokio::net::TcpStream;
use tokio::process::{Child, ChildStdout, Command};

use super::client::Client;
use super::promises;
use super::record::Side;
use super::schema::Schema;
use super::stage::{Agent, Driver, Stage, patiently};
use crate::host::client::{Socket, prompt};

/// `jackfield serve` on the data folder of a stage.
struct Server {
    child: Child,
    page: String,
    /// Open, so that it never writes into nothing.
    _said: Lines<BufReader<ChildStdout>>,
}

impl Server {
    async fn start(stage: &Stage) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_jackfield"));
        command.args(["serve", "--no-open", "--listen", "127.0.0.1:0"]);
        let mut command = stage.prepared(command);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(stage.errors()).kill_on_drop(true);
        // Not in the sessions' folder: what works there is counted.
        command.current_dir(&stage.sandbox.places().temporary);
        let mut child = command.spawn().unwrap();
        let mut said = BufReader::new(child.stdout.take().unwrap()).lines();
        let first = patiently("the server", said.next_line()).await.unwrap().expect("it serves");
        let mut words = first.split(|letter: char| letter.is_whitespace() || "/()".contains(letter));
        let address = words.find(|word| word.parse::<std::net::SocketAddr>().is_ok());
        let page = address.unwrap_or_else(|| panic!("no address in {first}")).to_owned();
        Self { child, page, _said: said }
    }

    /// What the page has: a WebSocket over TCP.
    async fn page(&self, stage: &Stage) -> Socket {
        let data = stage.environment()["JACKFIELD_DATA"].clone();
        let token = std::fs::read_to_string(format!("{data}/token")).unwrap();
        let way = TcpStream::connect(&self.page).await.unwrap();
        let mut socket = Socket::network(way, token.trim()).await;
        socket.greet("page").await;
        socket
    }

    async fn stop(mut self) {
        jackfield_testkit::processes::signal(self.child.id().unwrap(), Signal::TERM);
        patiently("the end of the server", self.child.wait()).await.unwrap();
    }
}

fn touch(name: &str) -> Reply {
    Reply::tool_use("Bash", json!({ "command": format!("touch {name}"), "description": "Make a file" }))
}

fn turns() -> Vec<Reply> {
    vec![
        touch("one"),
        Reply::text("The page has answered."),
        touch("two"),
        Reply::text("The editor has answered."),
        Reply::text("The page has asked."),
        Reply::text("The page goes on alone."),
    ]
}

async fn opened(client: &mut Client, stage: &Stage) -> SessionId {
    client.call("initialize", json!({ "protocolVersion": 1, "clientCapabilities": {} })).await.unwrap();
    let new = json!({ "cwd": stage.workspace(), "mcpServers": [] });
    let made = client.call("session/new", new).await.unwrap();
    made["sessionId"].as_str().unwrap().into()
}

async fn answered(page: &mut Socket, session: &SessionId, pending_id: PendingId, verdict: Verdict) -> bool {
    match page.give(Some(session), Answer { pending_id, verdict }).await {
        Ok(_) => true,
        Err(rejection) => {
            assert_eq!(rejection.code, RejectionCode::TooLate);
            false
        }
    }
}

/// Who has decided a question, as the page is told.
async fn decided_by(page: &mut Socket, session: &SessionId) -> String {
    let resolved = page.until(session, |body| matches!(body, Body::PermissionResolved(_))).await;
    let Body::PermissionResolved(resolved) = resolved.body else { unreachable!() };
    resolved.by.unwrap_or_default()
}

async fn together(driver: Driver) {
    let stage = Stage::set(Agent::Ours, Scenario { turns: turns() }).await.by(driver);
    let server = Server::start(&stage).await;
    let mut client = Client::start(&stage);
    let session = opened(&mut client, &stage).await;
    let mut page = server.page(&stage).await;
    page.follow(&session).await;
    let there = |name: &str| stage.workspace().join(name).exists();
    let said = |text: &str| json!({ "sessionId": session, "prompt": [{ "type": "text", "text": text }] });

    // The editor asks; the page answers, and the editor's card goes.
    let turn = client.begin("session/prompt", said("One.")).await;
    let card = client.asked().await;
    assert_eq!(card.method, "session/request_permission");
    let pending = page.asked(&session).await;
    assert!(answered(&mut page, &session, pending, Verdict::Allow(Allow::default())).await);
    assert_eq!(client.end(turn).await.unwrap()["stopReason"], "end_turn");
    assert!(there("one") && decided_by(&mut page, &session).await == "page");
    let taken_back = |stage: &Stage| {
        let record = stage.record();
        let from_agent = record.frames.iter().filter(|frame| frame.from == Side::Agent);
        from_agent.filter(|frame| frame.message["method"] == "$/cancel_request").count()
    };
    assert_eq!(taken_back(&stage), 1);

    // The same the other way round: the page's answer is too late.
    let turn = client.begin("session/prompt", said("Two.")).await;
    let card = client.asked().await;
    let pending = page.asked(&session).await;
    client.answer(&card, json!({ "outcome": { "outcome": "selected", "optionId": "allow" } })).await;
    assert_eq!(client.end(turn).await.unwrap()["stopReason"], "end_turn");
    assert!(there("two") && decided_by(&mut page, &session).await == "jackfield acp");
    let no = Verdict::Deny(Deny { message: "no".to_owned(), interrupt: false });
    assert!(!answered(&mut page, &session, pending, no).await);
    assert_eq!(taken_back(&stage), 1, "a card that was answered is not taken back");

    // What the page asks, the editor shows.
    let before = client.updates.len();
    page.give(Some(&session), prompt("Three.")).await.unwrap();
    client.update(before, |update| update["content"]["text"] == "Three.").await;
    // It may come in pieces.
    let is_end =
        |update: &Value| update["content"]["text"].as_str().is_some_and(|text| text.ends_with("asked."));
    client.update(before, is_end).await;
    assert_eq!(stage.clis().len(), 1, "one live session");

    // The editor goes; the session is the host's.
    client.close().await;
    page.skip(&session, page.last(&session));
    page.give(Some(&session), prompt("Four.")).await.unwrap();
    page.until(&session, |body| matches!(body, Body::MessageChunk(said) if said.text.contains("alone")))
        .await;
    page.completed(&session).await;
    server.stop().await;
    let record = stage.record();
    assert!(promises::broken(&record).is_empty());
    assert!(Schema::published().faults(&record).is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn one_live_session_is_answered_by_a_client_in_node_or_in_the_page() {
    together(Driver::Node).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_live_session_is_answered_by_a_client_in_python_or_in_the_page() {
    together(Driver::Python).await;
}
