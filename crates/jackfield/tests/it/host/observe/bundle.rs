//! `jackfield doctor --bundle`: shown before it is written, never over another file, for its owner alone, and without a
//! key that was said piece by piece.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use jackfield_testkit::api::{Block, Content, Reply};
use jackfield_testkit::cli::{NEWER_VERSION, OLDER_VERSION};
use serde_json::{Value, json};

use super::super::client::prompt;
use super::super::server::Place;
use crate::program::{Finished, jackfield};

fn doctor(place: &Place, file: &Path, more: &[&str]) -> Finished {
    let mut command = jackfield(["doctor", "--timeout", "60", "--bundle"]);
    command.arg(file).args(more).arg("--data").arg(&place.data).envs(&place.environment);
    command.output().unwrap().into()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bundle_is_shown_first_and_written_once() {
    let place = Place::demo();
    let server = place.serve().await;
    let mut socket = place.client("one").await;
    let id = socket.create(place.create()).await;
    socket.follow(&id).await;
    socket.give(Some(&id), prompt("hello")).await.unwrap();
    socket.completed(&id).await;
    let file = place.sandbox.places().temporary.join("report.json");

    let unasked = doctor(&place, &file, &[]);
    assert_eq!(unasked.code, Some(2), "{}", unasked.err);
    assert!(unasked.err.contains("nobody can be asked") && unasked.err.contains("--yes"), "{}", unasked.err);
    assert!(unasked.out.contains("journal ") && unasked.out.contains("will hold"), "{}", unasked.out);
    assert!(!file.exists());

    let written = doctor(&place, &file, &["--yes"]);
    assert!(written.out.contains("written: "), "{} {}", written.out, written.err);
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let bundle: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    assert_eq!(bundle["versions"]["contract"], 1);
    assert!(bundle["checks"].as_array().unwrap().len() > 3);
    let has = |part: &str, words: &str| bundle[part].to_string().contains(words);
    assert!(has("configuration", "max_running_sessions"), "{}", bundle["configuration"]);
    assert!(has("log", "turn ended"), "{}", bundle["log"]);
    assert!(bundle["drift"]["unknown_messages"].is_array(), "{}", bundle["drift"]);
    assert!(bundle["journal"][id.as_str()].as_array().unwrap().len() > 3, "{}", bundle["journal"]);

    let before = fs::read(&file).unwrap();
    let again = doctor(&place, &file, &["--yes"]);
    assert_eq!(again.code, Some(2), "{}", again.out);
    assert!(again.err.contains("is there already"), "{}", again.err);
    assert_eq!(fs::read(&file).unwrap(), before);
    assert!(server.stop().await.success());

    // Without a host there is less in it, and that is said.
    let other = place.sandbox.places().temporary.join("other.json");
    doctor(&place, &other, &["--yes"]);
    let bundle: Value = serde_json::from_str(&fs::read_to_string(&other).unwrap()).unwrap();
    assert_eq!(bundle["drift"]["host"], "not running");
    assert!(bundle["log"].to_string().contains("turn ended"));
}

/// All texts in a part of a bundle in their order, also those in lines of JSON.
fn texts(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::String(text) => match serde_json::from_str(text) {
            Ok(line @ (Value::Object(_) | Value::Array(_))) => texts(&line, found),
            _ => found.push(text.clone()),
        },
        Value::Array(all) => all.iter().for_each(|value| texts(value, found)),
        Value::Object(members) => members.values().for_each(|value| texts(value, found)),
        _ => {}
    }
}

/// A text and a tool's input that hold a key each, streamed in deltas of five letters.
async fn a_key_said_piece_by_piece(version: &str) {
    // Built from pieces, so that nothing in this file looks like a secret to others.
    let keys = ["Zq7wX", "Kd4vB"].map(|letters| format!("sk-{}-api03-{}", "ant", letters.repeat(8)));
    let cut = |text: &str| -> Vec<String> {
        let letters: Vec<char> = text.chars().collect();
        letters.chunks(5).map(String::from_iter).collect()
    };
    let input = json!({ "command": format!("true {}", keys[0]), "description": "d" });
    let mut tool = Reply::tool_use("Bash", input.clone());
    tool.blocks[0].chunks = Some(cut(&input.to_string()));
    let text = Block { chunks: Some(cut(&keys[1])), ..Block::new(Content::Text { text: keys[1].clone() }) };
    let (mut place, _api) =
        Place::real(version, vec![tool, Reply { blocks: vec![text], ..Reply::default() }]).await;
    place.environment.insert("JACKFIELD_DEBUG_AGENT_MESSAGES".to_owned(), "true".to_owned());
    let server = place.serve().await;
    let mut socket = place.client("one").await;
    let id = socket.create(place.create()).await;
    socket.follow(&id).await;
    socket.give(Some(&id), prompt("hello")).await.unwrap();
    socket.completed(&id).await;
    let file = place.sandbox.places().temporary.join("report.json");
    doctor(&place, &file, &["--yes"]);
    let bundle: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    assert!(server.stop().await.success());
    for part in ["journal", "debug_files"] {
        let mut found = Vec::new();
        texts(&bundle[part], &mut found);
        let left_out = found.iter().filter(|text| text.ends_with("bytes left out)")).count();
        assert!(left_out > 5, "{part} has no pieces, nothing was tested: {}", bundle[part]);
        assert!(found.iter().any(|text| text.contains("[redacted]")), "the whole message is in {part}");
        for key in &keys {
            // Whoever wants the key takes what may be a piece of it, and puts it together.
            let joined: String = found.iter().filter(|text| key.contains(text.as_str())).cloned().collect();
            assert!(!joined.contains(&key[20..]), "a key can be put together from {part}: {joined}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_the_older_cli_said_piece_by_piece_cannot_be_put_together() {
    a_key_said_piece_by_piece(OLDER_VERSION).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_the_newer_cli_said_piece_by_piece_cannot_be_put_together() {
    a_key_said_piece_by_piece(NEWER_VERSION).await;
}
