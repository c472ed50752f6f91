//! Debug files of the real program: a journal that can be replayed, beside the events that were made of it.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use jackfield_api::{Event, codec};
use jackfield_testkit::api::{Reply, ScriptedApi};
use jackfield_testkit::cli::{NEWER_VERSION, OLDER_VERSION};
use serde_json::{Value, json};

use super::super::client::{prompt, stored};
use super::super::server::Place;
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

async fn the_journal_replayed(mut place: Place) {
    place.environment.insert("JACKFIELD_DEBUG_AGENT_MESSAGES".to_owned(), "true".to_owned());
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
    let file = |kind: &str| place.data.join(format!("debug/{kind}-streamjson-{id}.jsonl"));
    for kind in ["raw", "normalized"] {
        assert_eq!(fs::metadata(file(kind)).unwrap().permissions().mode() & 0o777, 0o600);
    }
    assert!(events.len() > 20);
    let written = fs::read_to_string(file("normalized")).unwrap();
    assert_eq!(told_in(&written, &events), events.len(), "every event is there once, in its order");
    let stored: Vec<Value> = events.iter().map(bare_event).collect();
    let replayed = program::run([std::ffi::OsStr::new("replay"), file("raw").as_os_str()]);
    let replayed: Vec<Value> = replayed.events().into_iter().map(bare).collect();
    assert_eq!(replayed[..stored.len()], stored[..]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_journal_replayed_gives_the_events_beside_it() {
    the_journal_replayed(Place::demo()).await;
}

/// Three turns, the first with a tool.
async fn real(version: &str) -> (Place, ScriptedApi) {
    let echo = json!({ "command": "echo one", "description": "d" });
    let replies =
        [Reply::tool_use("Bash", echo), Reply::text("one"), Reply::text("two"), Reply::text("three")];
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
