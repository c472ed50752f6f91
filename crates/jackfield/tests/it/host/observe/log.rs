//! The log of an ordinary turn: no louder than was asked, nothing line by line but at the lowest level, no warning, and
//! none of what was said; whether anybody reads it or not.

use std::collections::BTreeSet;
use std::fs;

use jackfield_api::Body;
use jackfield_testkit::api::{Block, Content, Reply};
use jackfield_testkit::cli::{NEWER_VERSION, OLDER_VERSION};
use serde_json::{Value, json};

use super::super::client::prompt;
use super::super::server::Place;

/// How many pieces the text has.
const PIECES: usize = 400;

/// How the log is to be.
fn configure(place: &mut Place, log: &str) {
    let config = place.sandbox.places().temporary.join("config.toml");
    fs::write(&config, format!("[log]\n{log}\n")).unwrap();
    place.environment.insert("JACKFIELD_CONFIG".to_owned(), config.to_string_lossy().into_owned());
}

/// The lines of the log after a turn with a tool and a text in many pieces, at a level.
async fn logged(version: &str, level: &str) -> Vec<Value> {
    let chunks: Vec<String> = (0..PIECES).map(|number| format!("{number} ")).collect();
    let text = Block { chunks: Some(chunks.clone()), ..Block::new(Content::Text { text: chunks.concat() }) };
    let echo = json!({ "command": "echo one", "description": "d" });
    let turns = vec![Reply::tool_use("Bash", echo), Reply { blocks: vec![text], ..Reply::default() }];
    let (mut place, _api) = Place::real(version, turns).await;
    configure(&mut place, &format!("level = \"{level}\"\nformat = \"json\""));
    let server = place.serve().await;
    let mut socket = place.client("one").await;
    let id = socket.create(place.create()).await;
    socket.follow(&id).await;
    socket.give(Some(&id), prompt("hello")).await.unwrap();
    socket.completed(&id).await;
    assert!(server.stop().await.success());
    let text = fs::read_to_string(place.data.join("jackfield.log")).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

async fn every_level_has_its_own(version: &str) {
    for (level, expected) in [
        ("trace", &["DEBUG", "INFO", "TRACE"][..]),
        ("debug", &["DEBUG", "INFO"]),
        ("info", &["INFO"]),
        ("warn", &[]),
    ] {
        let lines = logged(version, level).await;
        let levels: BTreeSet<&str> = lines.iter().map(|line| line["level"].as_str().unwrap()).collect();
        // A set tells them in the order of their names.
        assert!(levels.iter().eq(expected), "{level}: {levels:?} {lines:?}");
        let said = |message: &str| lines.iter().filter(|line| line["message"] == message).count();
        let turns = usize::from(level != "warn");
        assert_eq!((said("turn started"), said("turn ended")), (turns, turns), "{level}: {lines:?}");
        // What comes line by line is only at the lowest level.
        match level {
            "trace" => assert!(lines.len() > PIECES, "{}", lines.len()),
            _ => assert!(lines.len() < PIECES / 4, "{level}: {lines:?}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_ordinary_turn_of_the_older_cli_is_logged_as_loudly_as_asked_and_warns_of_nothing() {
    every_level_has_its_own(OLDER_VERSION).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_ordinary_turn_of_the_newer_cli_is_logged_as_loudly_as_asked_and_warns_of_nothing() {
    every_level_has_its_own(NEWER_VERSION).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_goes_on_and_is_in_the_file_when_nobody_reads_standard_error_any_more() {
    for format in ["text", "json"] {
        let mut place = Place::demo();
        configure(&mut place, &format!("level = \"trace\"\nformat = \"{format}\""));
        let mut server = place.serve().await;
        // As of a terminal that is closed, or a reader that has seen enough.
        drop(server.child.stderr.take());
        let mut socket = place.client("one").await;
        let id = socket.create(place.create()).await;
        socket.follow(&id).await;
        for _ in 0..2 {
            socket.give(Some(&id), prompt("hello")).await.unwrap();
            socket.completed(&id).await;
        }
        let runs = socket.events(&id).iter().filter(|event| matches!(event.body, Body::RunStarted(_)));
        assert_eq!(runs.count(), 1, "the CLI lives on");
        assert!(server.stop().await.success());
        let text = fs::read_to_string(place.data.join("jackfield.log")).unwrap();
        for said in ["host begins", "run started", "turn started", "turn ended", "run ended"] {
            assert!(text.contains(said), "{said}: {text}");
        }
        assert_eq!(text.lines().filter(|line| line.contains("turn ended")).count(), 2, "{text}");
    }
}
