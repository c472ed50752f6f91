//! The real CLIs behind the server, and the death of either at a bad moment.

// Seeds are printed.
#![allow(clippy::print_stdout)]

use std::path::PathBuf;
use std::time::Duration;

use jackfield_api::command::{Allow, Answer, RejectionCode, Verdict};
use jackfield_api::conversation::ItemOutcome;
use jackfield_api::permission::PermissionOutcome;
use jackfield_api::session::RunEndReason;
use jackfield_api::snapshot::{ItemContent, SessionState};
use jackfield_api::socket::ClientFrame;
use jackfield_api::tool::ToolStatus;
use jackfield_api::{Body, Event, SessionId};
use jackfield_core::Transcript;
use jackfield_testkit::api::{Block, BlockGate, Content, Purpose, Reply, ScriptedApi};
use jackfield_testkit::cli::{NEWER_VERSION, OLDER_VERSION, PINNED_VERSIONS};
use jackfield_testkit::processes;
use rustix::process::Signal;
use serde_json::{Value, json};

use super::client::{Socket, given, prompt, stored};
use super::dice::{Dice, seeds};
use super::server::{Place, Server, eventually};

/// What only the prompt after the fault says.
const AFTERWARDS: &str = "AFTERWARDS";

fn before(reply: Reply) -> Reply {
    Reply { not_match: Some(AFTERWARDS.to_owned()), ..reply }
}

fn afterwards() -> Reply {
    Reply { matching: Some(AFTERWARDS.to_owned()), ..Reply::text("here again") }
}

fn write(name: &str) -> Content {
    let input = json!({ "file_path": format!("/ws/{name}"), "content": "hello" });
    Content::ToolUse { name: "Write".to_owned(), id: None, input, raw_json: None }
}

fn text(text: &str) -> Content {
    Content::Text { text: text.to_owned() }
}

fn reply(contents: impl IntoIterator<Item = Content>) -> Reply {
    let paced = |content| Block { chunk_delay: Some(0.002), ..Block::new(content) };
    before(Reply { blocks: contents.into_iter().map(paced).collect(), ..Reply::default() })
}

/// A session that is followed.
async fn session(place: &Place) -> (Socket, SessionId) {
    let mut socket = place.client("one").await;
    let id = socket.create(place.create()).await;
    socket.follow(&id).await;
    (socket, id)
}

/// The CLI itself, not its guard.
pub(super) fn cli(place: &Place) -> u32 {
    let program = PathBuf::from(&place.environment["JACKFIELD_CLAUDE"]).canonicalize().unwrap();
    let is_cli = |id: &u32| std::fs::read_link(format!("/proc/{id}/exe")).is_ok_and(|found| found == program);
    place.alive().into_iter().find(is_cli).expect("the CLI runs")
}

/// The next prompt is answered, with everything before it in mind, or else that is told. Whether it was.
async fn goes_on(socket: &mut Socket, id: &SessionId, api: &ScriptedApi, known: &str) -> bool {
    socket.skip(id, socket.last(id));
    socket.give(Some(id), prompt(AFTERWARDS)).await.unwrap();
    socket.completed(id).await;
    let said = socket.events(id).iter().rev().find_map(|event| match &event.body {
        Body::MessageChunk(chunk) => Some(chunk.text.clone()),
        _ => None,
    });
    assert_eq!(said.as_deref(), Some("here again"));
    let last = api.requests().into_iter().rfind(|request| request.purpose == Purpose::Conversation).unwrap();
    let remembers = last.body["messages"].to_string().contains(known);
    // A CLI that died too early has written nothing down; then that is told.
    let told = socket.events(id).iter().any(
        |event| matches!(&event.body, Body::Notice(notice) if notice.text.contains("remembers nothing")),
    );
    assert_ne!(remembers, told, "it remembers: {remembers}, it is told that it does not: {told}");
    remembers
}

/// After the server has died: another one, and what it tells of the session until the dead run is over.
async fn again(place: &Place, old: Socket, id: &SessionId) -> (Server, Socket) {
    eventually("nothing of the old server lives", || place.alive().is_empty()).await;
    let server = place.serve().await;
    let host = jackfield_client::Client::running(&place.data, "auditor").await.unwrap().unwrap();
    // It comes when the end of the dead run is on disk.
    let snapshot = host.snapshot(id).await.unwrap().snapshot;
    assert_eq!((snapshot.state, snapshot.pending.len()), (SessionState::Ended, 0));
    assert!(host.desk().await.unwrap().is_empty());
    let mut socket = place.client("one").await;
    socket.log = old.log;
    socket.follow(id).await;
    socket.reach(id, snapshot.seq).await;
    assert_eq!(socket.events(id), stored(&place.data, id).await);
    (server, socket)
}

// ---- F1: the CLI is killed ----

#[tokio::test(flavor = "multi_thread")]
async fn f1_a_killed_cli_ends_its_run_its_questions_are_lost_and_the_next_prompt_resumes() {
    // The full loop is the SDK's; here it is the same through the host.
    for seed in 0..seeds() / 5 {
        let mut dice = Dice(seed);
        let version = PINNED_VERSIONS[usize::try_from(seed % 2).unwrap()];
        let events = if seed < 2 { None } else { Some(5 + dice.below(30)) };
        println!(
            "seed {seed}: {version} is killed {}",
            events.map_or("while it asks".to_owned(), |events| format!("behind event {events}"))
        );
        kill_the_cli(version, events).await;
    }
}

async fn kill_the_cli(version: &str, events: Option<u64>) {
    let asks = reply([text("some words before that, and a few more of them"), write("a.txt")]);
    let (place, api) = Place::real(version, vec![asks, afterwards()]).await;
    let server = place.serve().await;
    let (mut socket, id) = session(&place).await;
    socket.give(Some(&id), prompt("write a file")).await.unwrap();
    match events {
        None => drop(socket.asked(&id).await),
        Some(events) => {
            // If there are fewer, it is killed while it asks.
            let asked = |socket: &Socket| {
                socket.events(&id).iter().any(|event| matches!(event.body, Body::PermissionRequest(_)))
            };
            while socket.last(&id).0 < events && !asked(&socket) {
                assert!(socket.step().await.is_some());
            }
        }
    }
    processes::signal(cli(&place), Signal::KILL);
    let end = socket.until(&id, |body| matches!(body, Body::RunEnded(_))).await;
    let Body::RunEnded(end) = end.body else { unreachable!() };
    assert_eq!((end.reason, end.exit_code), (RunEndReason::Crashed, None));
    let mut transcript = Transcript::new();
    socket.events(&id).iter().for_each(|event| transcript.apply(event));
    let shown = transcript.snapshot();
    assert_eq!((shown.state, shown.pending.len()), (SessionState::Ended, 0));
    for event in socket.events(&id) {
        if let Body::PermissionResolved(end) = &event.body {
            assert_eq!(end.outcome, PermissionOutcome::Lost);
        }
    }
    let error = socket.events(&id).iter().rev().find_map(error).unwrap();
    assert_eq!(error, "crashed");
    let host = jackfield_client::Client::running(&place.data, "auditor").await.unwrap().unwrap();
    let summary = host.session(&id).await.unwrap().unwrap();
    assert_eq!(summary.state, SessionState::Ended);
    assert!(summary.last_error.is_some_and(|error| error.contains("signal 9")));
    assert!(host.desk().await.unwrap().is_empty());
    eventually("nothing of it lives", || place.alive().is_empty()).await;
    assert_eq!(place.file("a.txt"), None);

    goes_on(&mut socket, &id, &api, "write a file").await;
    assert!(server.stop().await.success());
}

fn error(event: &Event) -> Option<String> {
    if let Body::Error(error) = &event.body { Some(error.code.clone()) } else { None }
}

// ---- F4: what the CLI did while nobody saw it ----

#[tokio::test(flavor = "multi_thread")]
async fn f4_what_the_older_cli_did_unseen_is_told_once_after_the_restart() {
    unseen(OLDER_VERSION).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn f4_what_the_newer_cli_did_unseen_is_told_once_after_the_restart() {
    unseen(NEWER_VERSION).await;
}

async fn unseen(version: &str) {
    let mut begun = Block::new(text("seen in part, and the rest of it not"));
    begun.gate = Some(BlockGate { name: "frozen".to_owned(), after: 1 });
    // Not a tool that changes files: the CLI would ask the host's hook about it, and wait.
    let input = json!({ "file_path": "/ws/b.txt" });
    let read = Content::ToolUse { name: "Read".to_owned(), id: None, input, raw_json: None };
    let tool = before(Reply { blocks: vec![begun, Block::new(read)], ..Reply::default() });
    let last = before(Reply::text("nobody has read this"));
    let turns = vec![before(Reply::text("the first answer")), tool, last, afterwards()];
    let (place, api) = Place::real(version, turns).await;
    place.sandbox.write("b.txt", "what is in the file").unwrap();
    let mut server = place.serve().await;
    let (mut socket, id) = session(&place).await;
    socket.give(Some(&id), prompt("the first prompt")).await.unwrap();
    socket.completed(&id).await;
    socket.give(Some(&id), prompt("the second prompt")).await.unwrap();
    api.gates().reached("frozen").await;
    socket.until(&id, |body| matches!(body, Body::MessageChunk(chunk) if chunk.text.contains("seen"))).await;
    // The CLI goes on, and nobody reads what it says.
    server.signal(Signal::STOP);
    api.gates().release("frozen");
    let record = || transcript_of(&place);
    eventually("the CLI has written it all down", || record().contains("nobody has read this")).await;
    server.kill().await;

    let (server, mut socket) = again(&place, socket, &id).await;
    // Each text and each call that the CLI has written down is there once, and whole.
    let mut transcript = Transcript::new();
    socket.events(&id).iter().for_each(|event| transcript.apply(event));
    let mut told = Vec::new();
    for item in &transcript.snapshot().items {
        match &item.content {
            ItemContent::Text(text) if text.outcome == Some(ItemOutcome::Complete) => {
                told.push(text.text.clone());
            }
            ItemContent::Tool(tool) if tool.tool_status == ToolStatus::Complete => {
                told.push(tool.tool_call_id.to_string());
            }
            _ => {}
        }
    }
    let record = record();
    let lines = record.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let blocks = lines.filter(|line| line["type"] == "assistant").flat_map(|line| {
        let blocks = line["message"]["content"].as_array().unwrap().clone();
        blocks.into_iter().map(|block| block.get("text").unwrap_or(&block["id"]).as_str().unwrap().to_owned())
    });
    assert_eq!(told, blocks.collect::<Vec<_>>());
    assert_eq!(told.len(), 4, "{told:?}");
    let said: Vec<_> = socket.events(&id).iter().filter_map(said).collect();
    assert_eq!(said, ["the first prompt", "the second prompt"]);

    assert!(goes_on(&mut socket, &id, &api, "nobody has read this").await);
    assert!(server.stop().await.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn f4_a_prompt_that_the_older_cli_took_unheard_is_told_after_the_restart() {
    unheard(OLDER_VERSION).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn f4_a_prompt_that_the_newer_cli_took_unheard_is_told_after_the_restart() {
    unheard(NEWER_VERSION).await;
}

/// The host dies before the CLI has said a word of its own.
async fn unheard(version: &str) {
    let turns = vec![before(Reply::text("nobody has heard this")), afterwards()];
    let (place, api) = Place::real(version, turns).await;
    let mut server = place.serve().await;
    let (mut socket, id) = session(&place).await;
    // A run that is ready, and in which nothing was said.
    socket.until(&id, |body| matches!(body, Body::AvailableCommands(_))).await;
    let program = cli(&place);
    processes::signal(program, Signal::STOP);
    socket.give(Some(&id), prompt("the only prompt")).await.unwrap();
    server.signal(Signal::STOP);
    processes::signal(program, Signal::CONT);
    eventually("the CLI has written it down", || transcript_of(&place).contains("the only prompt")).await;
    server.kill().await;

    let (server, mut socket) = again(&place, socket, &id).await;
    let said: Vec<_> = socket.events(&id).iter().filter_map(said).collect();
    assert_eq!(said, ["the only prompt"]);
    assert!(goes_on(&mut socket, &id, &api, "the only prompt").await);
    assert!(server.stop().await.success());
}

fn said(event: &Event) -> Option<&str> {
    if let Body::UserMessage(message) = &event.body { Some(&message.text) } else { None }
}

/// The CLI's own record of its only conversation.
fn transcript_of(place: &Place) -> String {
    let projects = std::fs::read_dir(place.sandbox.places().home.join(".claude/projects"));
    let folders = projects.into_iter().flatten().flatten().map(|project| project.path());
    let files = folders.flat_map(|folder| std::fs::read_dir(folder).into_iter().flatten().flatten());
    let mut files =
        files.map(|file| file.path()).filter(|file| file.extension().is_some_and(|end| end == "jsonl"));
    let text = files.next().and_then(|file| std::fs::read_to_string(file).ok()).unwrap_or_default();
    // The last line may be just being written.
    text[..text.rfind('\n').map_or(0, |end| end + 1)].to_owned()
}

// ---- F26: a crash around an answer ----

/// Where the server dies.
#[derive(Debug, Clone, Copy)]
enum Death {
    /// Before it has read the answer.
    Before,
    /// After it has written the answer, to a CLI that does not read it any more.
    After,
    /// So long after the answer was sent.
    At(Duration),
}

#[tokio::test(flavor = "multi_thread")]
async fn f26_an_answer_that_a_crash_overtook_is_never_taken_for_a_yes_by_the_older_cli() {
    around_an_answer(OLDER_VERSION).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn f26_an_answer_that_a_crash_overtook_is_never_taken_for_a_yes_by_the_newer_cli() {
    around_an_answer(NEWER_VERSION).await;
}

async fn around_an_answer(version: &str) {
    let random = (0..seeds() / 10).map(|seed| Death::At(Duration::from_micros(Dice(seed).below(6_000))));
    for death in [Death::Before, Death::After].into_iter().chain(random) {
        println!("{version}: {death:?}");
        die(version, death).await;
    }
}

async fn die(version: &str, death: Death) {
    let (place, api) =
        Place::real(version, vec![reply([write("a.txt")]), before(Reply::text("done")), afterwards()]).await;
    let mut server = place.serve().await;
    let (mut socket, id) = session(&place).await;
    socket.give(Some(&id), prompt("write a file")).await.unwrap();
    let pending_id = socket.asked(&id).await;
    let answer = given(Some(&id), Answer { pending_id, verdict: Verdict::Allow(Allow::default()) });
    let frame = ClientFrame::Command(Box::new(answer.clone()));
    match death {
        Death::Before => {
            server.signal(Signal::STOP);
            socket.send(&frame).await;
        }
        Death::After => {
            processes::signal(cli(&place), Signal::STOP);
            socket.send(&frame).await;
            socket.answer(&answer.id).await.unwrap();
        }
        Death::At(behind) => {
            socket.send(&frame).await;
            tokio::time::sleep(behind).await;
        }
    }
    server.kill().await;
    while socket.step().await.is_some() {}

    let (server, mut socket) = again(&place, socket, &id).await;
    let ends: Vec<_> = socket.events(&id).iter().filter_map(end_of_question).collect();
    let is_done = socket.events(&id).iter().any(
        |event| matches!(&event.body, Body::ToolUpdate(update) if update.tool_status == ToolStatus::Complete),
    );
    match death {
        Death::Before => assert_eq!(ends, [PermissionOutcome::Lost]),
        // It was said and written down; that the tool ran was never said.
        Death::After => assert_eq!(ends, [PermissionOutcome::Allowed]),
        Death::At(_) => {
            assert!(matches!(ends[..], [PermissionOutcome::Lost | PermissionOutcome::Allowed]), "{ends:?}");
        }
    }
    if !matches!(death, Death::At(_)) {
        assert_eq!((place.file("a.txt"), is_done), (None, false));
    }
    if is_done {
        assert_eq!(place.file("a.txt").as_deref(), Some("hello"));
    }
    let complete = socket.events(&id).iter().any(|event| matches!(event.body, Body::Complete(_)));
    let errors: Vec<_> = socket.events(&id).iter().filter_map(error).collect();
    assert!(complete || errors == ["host_ended"], "the turn was cut off, and that is told: {errors:?}");
    // The answer is not given a second time.
    socket.send(&frame).await;
    match socket.answer(&answer.id).await {
        Ok(_) => assert_eq!(ends, [PermissionOutcome::Allowed]),
        Err(refused) => {
            assert!(matches!(refused.code, RejectionCode::TooLate | RejectionCode::RunEnded), "{refused:?}");
        }
    }
    goes_on(&mut socket, &id, &api, "write a file").await;
    assert!(server.stop().await.success());
}

fn end_of_question(event: &Event) -> Option<PermissionOutcome> {
    if let Body::PermissionResolved(end) = &event.body { Some(end.outcome) } else { None }
}
