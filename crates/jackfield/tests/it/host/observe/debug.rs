//! Debug files of the real program: a journal that can be replayed, beside the events that were made of it.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use jackfield_api::command::{Agent, Close, Fork, Reply};
use jackfield_api::{Body, Event, Seq, SessionId, codec};
use jackfield_core::Transcript;
use jackfield_testkit::api::{Reply as Answer, ScriptedApi};
use jackfield_testkit::cli::{NEWER_VERSION, OLDER_VERSION};
use serde_json::{Value, json};

use super::super::client::{Socket, prompt, stored};
use super::super::server::{Place, eventually};
use super::figures::ask;
use crate::program;

/// An event as anybody would tell it: not in which session, and not when.
fn bare(mut event: Value) -> Value {
    for member in ["session_id", "at"] {
        event.as_object_mut().unwrap().remove(member);
    }
    event
}

fn bare_event(event: &Event) -> Value {
    let mut line = Vec::new();
    codec::encode(event, &mut line);
    bare(serde_json::from_slice(&line).unwrap())
}

/// How many of the events stand in the lines of a debug file, where pieces of a text that came at once are one line.
fn told_in(written: &str, events: &[Event]) -> usize {
    let mut told = 0;
    for line in written.lines() {
        let mut line: Value = serde_json::from_str(line).unwrap();
        let last = line.as_object_mut().unwrap().remove("last_seq");
        let count = last.map_or(1, |last| last.as_u64().unwrap() + 1 - line["seq"].as_u64().unwrap());
        let Some(of_it) = events.get(told..told + usize::try_from(count).unwrap()) else { break };
        assert!(of_it.iter().all(|event| event.at == of_it[0].at));
        let mut pieces = of_it.iter().map(bare_event);
        let mut joined = pieces.next().unwrap();
        for piece in pieces {
            assert_eq!(piece["item_id"], joined["item_id"]);
            let member = if joined["type"] == "reasoning" { "reasoning_text" } else { "text" };
            joined[member] =
                format!("{}{}", joined[member].as_str().unwrap(), piece[member].as_str().unwrap()).into();
        }
        assert_eq!(bare(line), joined);
        told += of_it.len();
    }
    told
}

async fn the_journal_replayed(place: Place) {
    let place = watched(place);
    let server = place.serve().await;
    let mut socket = place.client("one").await;
    let id = socket.create(place.create()).await;
    socket.follow(&id).await;
    for _ in 0..3 {
        socket.give(Some(&id), prompt("hello")).await.unwrap();
        socket.completed(&id).await;
    }
    let events = stored(&place.data, &id).await;
    assert!(server.stop().await.success());
    for kind in ["raw", "normalized"] {
        let file = fs::metadata(debug_file(&place, kind, &id)).unwrap();
        assert_eq!(file.permissions().mode() & 0o777, 0o600);
    }
    assert!(events.len() > 20);
    let written = fs::read_to_string(debug_file(&place, "normalized", &id)).unwrap();
    assert_eq!(told_in(&written, &events), events.len(), "every event is there once, in its order");
    same(&replayed(&place, &id, &[])[..events.len()], &events);
}

fn debug_file(place: &Place, kind: &str, id: &SessionId) -> PathBuf {
    place.data.join(format!("debug/{kind}-streamjson-{id}.jsonl"))
}

/// What `jackfield replay` prints of a session's raw debug file.
fn printed(place: &Place, id: &SessionId, options: &[&str]) -> String {
    let file = debug_file(place, "raw", id);
    let words = ["replay"].iter().chain(options).map(OsStr::new).chain([file.as_os_str()]);
    let finished = program::run(words);
    assert_eq!((finished.code, finished.err.as_str()), (Some(0), ""));
    finished.out
}

fn replayed(place: &Place, id: &SessionId, options: &[&str]) -> Vec<Event> {
    printed(place, id, options).lines().map(|line| codec::decode(line).unwrap()).collect()
}

/// A replay of the file is all that is stored, with the same numbers, times and names, however it is played.
fn is_all_that_is_stored(place: &Place, id: &SessionId, events: &[Event]) {
    for options in [&[][..], &["--follow", "--speed", "100000"]] {
        same(&replayed(place, id, options), events);
    }
    let mut transcript = Transcript::new();
    for event in events {
        transcript.apply(event);
    }
    let expected = serde_json::to_value(transcript.snapshot()).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&printed(place, id, &["--snapshot"])).unwrap(), expected);
}

/// Event by event, so that the first that differs is seen.
fn same(replayed: &[Event], events: &[Event]) {
    for (replayed, event) in replayed.iter().zip(events) {
        assert_eq!(replayed, event);
    }
    assert_eq!(replayed.len(), events.len());
}

fn count(events: &[Event], tag: &str) -> usize {
    events.iter().filter(|event| event.body.tag() == tag).count()
}

fn watched(mut place: Place) -> Place {
    place.environment.insert("JACKFIELD_DEBUG_AGENT_MESSAGES".to_owned(), "true".to_owned());
    place
}

/// A prompt and the end of its run.
async fn run(socket: &mut Socket, id: &SessionId) {
    socket.give(Some(id), prompt("hello")).await.unwrap();
    socket.completed(id).await;
    socket.give(Some(id), Close {}).await.unwrap();
    socket.until(id, |body| matches!(body, Body::RunEnded(_))).await;
}

/// Two runs in one host, and one in the next.
async fn runs_are_replayed(place: Place) {
    let place = watched(place);
    let server = place.serve().await;
    let mut socket = place.client("one").await;
    let id = socket.create(place.create()).await;
    socket.follow(&id).await;
    run(&mut socket, &id).await;
    run(&mut socket, &id).await;
    let events = stored(&place.data, &id).await;
    assert_eq!(count(&events, "run_started"), 2);
    is_all_that_is_stored(&place, &id, &events);
    assert!(server.stop().await.success());

    let server = place.serve().await;
    let mut socket = place.client("two").await;
    socket.follow(&id).await;
    socket.reach(&id, events.last().unwrap().seq).await;
    socket.skip(&id, events.last().unwrap().seq);
    run(&mut socket, &id).await;
    let events = stored(&place.data, &id).await;
    assert!(server.stop().await.success());
    assert_eq!(count(&events, "run_started"), 3);
    is_all_that_is_stored(&place, &id, &events);
    // Whatever was put aside: what is left begins with a run.
    let file = debug_file(&place, "raw", &id);
    let written = fs::read_to_string(&file).unwrap();
    let lines: Vec<&str> = written.lines().collect();
    let last = lines.iter().rposition(|line| line.contains(r#"\"begins\":"#)).unwrap();
    let left = lines[last..].join("\n");
    fs::write(&file, left).unwrap();
    let begun = events.iter().rposition(|event| matches!(event.body, Body::RunStarted(_))).unwrap();
    same(&replayed(&place, &id, &[]), &events[begun..]);
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_of_one_host_and_of_the_next_are_replayed_with_their_numbers() {
    runs_are_replayed(Place::demo()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_of_the_older_cli_are_replayed_with_their_numbers() {
    let (place, _api) = real(OLDER_VERSION).await;
    runs_are_replayed(place).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn runs_of_the_newer_cli_are_replayed_with_their_numbers() {
    let (place, _api) = real(NEWER_VERSION).await;
    runs_are_replayed(place).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_host_tells_of_a_run_whose_host_died_is_replayed_too() {
    let place = watched(Place::demo());
    let mut server = place.serve().await;
    let mut socket = place.client("one").await;
    let id = socket.create(place.create()).await;
    socket.follow(&id).await;
    socket.give(Some(&id), prompt("edit")).await.unwrap();
    socket.asked(&id).await;
    let raw = debug_file(&place, "raw", &id);
    // Much that comes at once is in the file a little later.
    let written = || fs::read_to_string(&raw).is_ok_and(|text| text.contains("can_use_tool"));
    eventually("the question is in the file", written).await;
    server.kill().await;
    let server = place.serve().await;
    let mut socket = place.client("two").await;
    socket.follow(&id).await;
    let end = socket.until(&id, |body| matches!(body, Body::RunEnded(_))).await;
    socket.skip(&id, end.seq);
    run(&mut socket, &id).await;
    let events = stored(&place.data, &id).await;
    assert!(server.stop().await.success());
    let lost = |event: &Event| matches!(&event.body, Body::Error(error) if error.code == "host_ended");
    assert_eq!(events.iter().filter(|event| lost(event)).count(), 1);
    is_all_that_is_stored(&place, &id, &events);
}

#[tokio::test(flavor = "multi_thread")]
async fn that_a_run_could_not_be_started_is_replayed_too() {
    let mut place = watched(Place::demo());
    place.agent = Agent::Claude;
    place.environment.insert("JACKFIELD_CLAUDE".to_owned(), "/nowhere/claude".to_owned());
    let server = place.serve().await;
    let mut socket = place.client("one").await;
    let id = socket.create(place.create()).await;
    socket.follow(&id).await;
    for _ in 0..2 {
        socket.give(Some(&id), prompt("hello")).await.unwrap_err();
        socket.until(&id, |body| matches!(body, Body::Error(_))).await;
    }
    let events = stored(&place.data, &id).await;
    assert!(server.stop().await.success());
    assert!(events.len() >= 2 && count(&events, "error") == events.len());
    is_all_that_is_stored(&place, &id, &events);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_of_a_session_is_replayed_with_what_was_copied() {
    let (place, _api) = real(NEWER_VERSION).await;
    let place = watched(place);
    let server = place.serve().await;
    let mut socket = place.client("one").await;
    let id = socket.create(place.create()).await;
    socket.follow(&id).await;
    run(&mut socket, &id).await;
    let Reply::Created(copy) = socket.give(Some(&id), Fork { at: None }).await.unwrap() else { panic!() };
    let copy = copy.session_id;
    socket.follow(&copy).await;
    socket.completed(&copy).await;
    run(&mut socket, &copy).await;
    let events = stored(&place.data, &copy).await;
    assert!(server.stop().await.success());
    assert_eq!(count(&events, "complete"), 2);
    is_all_that_is_stored(&place, &copy, &events);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_did_not_come_up_is_only_in_the_journal_and_its_numbers_are_given_again() {
    let mut place = watched(Place::demo());
    place.agent = Agent::Claude;
    let program = place.sandbox.places().temporary.join("claude");
    fs::write(&program, "#!/bin/sh\n[ \"$1\" = --version ] && echo 2.1.325 && exit\necho no >&2; exit 3\n")
        .unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o700)).unwrap();
    place.environment.insert("JACKFIELD_CLAUDE".to_owned(), program.to_string_lossy().into_owned());
    let server = place.serve().await;
    let mut socket = place.client("one").await;
    let id = socket.create(place.create()).await;
    socket.follow(&id).await;
    socket.give(Some(&id), prompt("hello")).await.unwrap_err();
    let events = stored(&place.data, &id).await;
    assert!(server.stop().await.success());
    assert!(count(&events, "error") == events.len() && !events.is_empty());
    let replayed = replayed(&place, &id, &[]);
    assert_eq!(count(&replayed, "stderr"), events.len(), "why it did not is there");
    let mut last = Vec::new();
    for event in replayed {
        last.retain(|before: &Event| before.seq < event.seq);
        last.push(event);
    }
    same(&last, &events);
    let snapshot: Value = serde_json::from_str(&printed(&place, &id, &["--snapshot"])).unwrap();
    let items = snapshot["items"].as_array().unwrap();
    assert_eq!((items.len(), snapshot["seq"].as_u64()), (events.len(), Some(events.len() as u64)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_begins_in_the_middle_of_a_run_has_the_numbers_from_the_next_one_on() {
    let place = Place::demo();
    let server = place.serve().await;
    let mut socket = place.client("one").await;
    let id = socket.create(place.create()).await;
    socket.follow(&id).await;
    socket.give(Some(&id), prompt("hello")).await.unwrap();
    socket.completed(&id).await;
    let route = format!("PUT /api/sessions/{id}/debug");
    assert_eq!(ask(&place, &route, "{\"debug\":true}").await.0, 200);
    run(&mut socket, &id).await;
    run(&mut socket, &id).await;
    let events = stored(&place.data, &id).await;
    assert!(server.stop().await.success());
    let replayed = replayed(&place, &id, &[]);
    assert_eq!(replayed[0].seq, Seq(1), "nobody knows where it was");
    let second = |events: &[Event]| {
        let begun = events.iter().rposition(|event| matches!(event.body, Body::RunStarted(_))).unwrap();
        events[begun..].to_vec()
    };
    same(&second(&replayed), &second(&events));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_journal_replayed_gives_the_events_beside_it() {
    the_journal_replayed(Place::demo()).await;
}

/// Three turns, the first with a tool.
async fn real(version: &str) -> (Place, ScriptedApi) {
    let echo = json!({ "command": "echo one", "description": "d" });
    let replies =
        [Answer::tool_use("Bash", echo), Answer::text("one"), Answer::text("two"), Answer::text("three")];
    Place::real(version, replies.into()).await
}

#[tokio::test(flavor = "multi_thread")]
async fn the_journal_of_the_older_cli_replayed_gives_the_events_beside_it() {
    let (place, _api) = real(OLDER_VERSION).await;
    the_journal_replayed(place).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_journal_of_the_newer_cli_replayed_gives_the_events_beside_it() {
    let (place, _api) = real(NEWER_VERSION).await;
    the_journal_replayed(place).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sessions_debug_files_are_switched_while_it_runs() {
    let place = Place::demo();
    let server = place.serve().await;
    let mut socket = place.client("one").await;
    let id = socket.create(place.create()).await;
    socket.follow(&id).await;
    socket.give(Some(&id), prompt("hello")).await.unwrap();
    socket.completed(&id).await;
    let folder = place.data.join("debug");
    assert!(!folder.exists(), "nothing is written unless somebody asks for it");
    let route = format!("/api/sessions/{id}/debug");
    assert_eq!(ask(&place, &format!("GET {route}"), "").await, (200, "{\"debug\":false}".to_owned()));
    assert_eq!(
        ask(&place, &format!("PUT {route}"), "{\"debug\":true}").await,
        (200, "{\"debug\":true}".to_owned())
    );
    let before = socket.last(&id);
    socket.give(Some(&id), prompt("hello")).await.unwrap();
    socket.completed(&id).await;
    assert_eq!(ask(&place, &format!("PUT {route}"), "{\"debug\":false}").await.0, 200);
    let length =
        |kind: &str| fs::read_to_string(folder.join(format!("{kind}-streamjson-{id}.jsonl"))).unwrap();
    let (raw, normalized) = (length("raw"), length("normalized"));
    assert!(raw.lines().count() > 3 && normalized.lines().count() > 3);
    let first: Value = serde_json::from_str(normalized.lines().next().unwrap()).unwrap();
    assert!(first["seq"].as_u64().unwrap() > before.0, "what was before is not in it");
    socket.give(Some(&id), prompt("hello")).await.unwrap();
    socket.completed(&id).await;
    assert_eq!(length("normalized"), normalized, "it is off again");
    assert_eq!(ask(&place, "PUT /api/sessions/nobody/debug", "{\"debug\":true}").await.0, 404);
    assert!(server.stop().await.success());
}
