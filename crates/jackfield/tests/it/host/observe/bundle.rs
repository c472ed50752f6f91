//! `jackfield doctor --bundle`: shown before it is written, never over another file, for its owner alone, and without a
//! key that was said piece by piece.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use jackfield_testkit::api::{Block, Content, Reply};
use jackfield_testkit::cli::{NEWER_VERSION, OLDER_VERSION};
use rustix::fs::{Mode, OFlags, open};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
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
    for shown in ["will hold", "journal ", "contract 1", " failed, ", "host: \"running\"", "the last: "] {
        assert!(unasked.out.contains(shown), "{shown}: {}", unasked.out);
    }
    let of_session =
        |line: &&str| line.trim().starts_with(&format!("\"{id}\": ")) && line.ends_with(" lines");
    assert_eq!(unasked.out.lines().filter(of_session).count(), 2, "lines and events: {}", unasked.out);
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
    assert!(bundle["drift"]["figures"]["unknown_messages"].is_array(), "{}", bundle["drift"]);
    assert!(bundle["journal"][id.as_str()].as_array().unwrap().len() > 3, "{}", bundle["journal"]);

    let before = fs::read(&file).unwrap();
    let again = doctor(&place, &file, &["--yes"]);
    assert_eq!(again.code, Some(2), "{}", again.out);
    assert!(again.err.contains("is there already"), "{}", again.err);
    assert_eq!(again.out, "", "it is known before anything is looked at");
    assert_eq!(fs::read(&file).unwrap(), before);
    let nowhere = doctor(&place, &file.join("nowhere"), &["--yes"]);
    assert_eq!((nowhere.code, nowhere.out.as_str()), (Some(2), ""), "{}", nowhere.err);
    assert!(nowhere.err.contains("cannot write"), "{}", nowhere.err);
    assert!(server.stop().await.success());
}

/// A bundle that is written without a question, as JSON.
fn written(place: &Place, name: &str) -> Value {
    let file = place.sandbox.places().temporary.join(name);
    let finished = doctor(place, &file, &["--yes"]);
    assert!(finished.out.contains("written: "), "{} {}", finished.out, finished.err);
    serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_crash_the_last_events_are_in_it_and_the_store_is_as_it_was() {
    let place = Place::demo();
    let mut server = place.serve().await;
    let mut socket = place.client("one").await;
    let id = socket.create(place.create()).await;
    socket.follow(&id).await;
    socket.give(Some(&id), prompt("hello")).await.unwrap();
    let end = socket.completed(&id).await;
    server.kill().await;
    let files = || ["jackfield.db", "jackfield.db-wal"].map(|name| fs::read(place.data.join(name)).unwrap());
    let before = files();
    let bundle = written(&place, "crashed.json");
    assert!(files() == before, "the store was changed");
    assert_eq!(bundle["drift"]["host"], "not running");
    assert_eq!(bundle["journal"], "not known: not running");
    let events = bundle["events"][id.as_str()].as_array().unwrap();
    let is_end = |line: &Value| line.as_str().unwrap().contains(&format!("\"seq\":{},", end.seq));
    assert!(events.len() > 3 && events.iter().any(is_end), "{}", bundle["events"]);
    let looked_at = bundle["drift"]["stored"]["events_looked_at"].as_u64().unwrap();
    assert!(looked_at >= end.seq.0, "{}", bundle["drift"]);
    assert_eq!(bundle["drift"]["stored"]["unknown_messages"], json!({}));
    assert!(bundle["log"].to_string().contains("turn ended"));
}

#[tokio::test(flavor = "multi_thread")]
async fn that_the_lines_of_a_session_are_not_kept_any_more_is_said() {
    let place = Place::demo();
    let server = place.serve().await;
    let mut socket = place.client("one").await;
    let id = socket.create(place.create()).await;
    socket.follow(&id).await;
    socket.give(Some(&id), prompt("hello")).await.unwrap();
    socket.completed(&id).await;
    let of_session = |bundle: &Value, part: &str| bundle[part][id.as_str()].clone();
    assert!(of_session(&written(&place, "kept.json"), "journal").as_array().unwrap().len() > 3);
    assert!(server.stop().await.success());
    // As when nobody has wanted it for a while.
    let server = place.serve().await;
    let bundle = written(&place, "away.json");
    assert_eq!(bundle["drift"]["host"], "running");
    assert_eq!(of_session(&bundle, "journal"), "not known: not kept since it was put away");
    assert!(of_session(&bundle, "events").as_array().unwrap().len() > 3, "{}", bundle["events"]);
    assert!(server.stop().await.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn where_nothing_is_counted_it_does_not_say_that_there_was_nothing() {
    let mut place = Place::demo();
    let config = place.sandbox.places().temporary.join("config.toml");
    fs::write(&config, "[metrics]\nenabled = false\n").unwrap();
    place.environment.insert("JACKFIELD_CONFIG".to_owned(), config.to_string_lossy().into_owned());
    let server = place.serve().await;
    place.environment.insert("JACKFIELD_LISTEN".to_owned(), server.address.to_string());
    let bundle = written(&place, "uncounted.json");
    assert_eq!(bundle["drift"]["host"], "running");
    let port = bundle["checks"].as_array().unwrap().iter().find(|check| check["name"] == "port");
    assert_eq!(port.unwrap()["code"], "running", "it is known again: {}", bundle["checks"]);
    let figures = bundle["drift"]["figures"].as_str().unwrap();
    assert!(figures.contains("nothing is counted"), "{figures}");
    assert!(server.stop().await.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_disk_that_fills_up_leaves_nothing_behind() {
    let place = Place::demo();
    let file = place.sandbox.places().temporary.join("full/report.json");
    fs::create_dir(file.parent().unwrap()).unwrap();
    let mut limited = Command::new("sh");
    // No file may be longer than a few KB: a write fails in the middle, as on a full disk.
    limited.args(["-c", "trap '' XFSZ; ulimit -f 2; exec \"$@\"", "sh", env!("CARGO_BIN_EXE_jackfield")]);
    limited
        .args(["doctor", "--timeout", "60", "--yes", "--bundle"])
        .arg(&file)
        .arg("--data")
        .arg(&place.data);
    let failed: Finished = limited.env_clear().envs(&place.environment).output().unwrap().into();
    assert_eq!(failed.code, Some(1), "{}", failed.out);
    assert!(failed.err.contains("cannot write") && failed.err.contains("make room"), "{}", failed.err);
    assert_eq!(fs::read_dir(file.parent().unwrap()).unwrap().count(), 0);
    assert!(doctor(&place, &file, &["--yes"]).out.contains("written: "));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bundle_is_written_though_nobody_reads_what_is_printed() {
    let place = Place::demo();
    let into_nothing = |name: &str, more: &[&str]| -> (Finished, bool) {
        let file = place.sandbox.places().temporary.join(name);
        let (reader, writer) = std::io::pipe().unwrap();
        // As of a reader that has seen enough.
        drop(reader);
        let mut command = jackfield(["doctor", "--timeout", "60", "--bundle"]);
        command.arg(&file).args(more).arg("--data").arg(&place.data).envs(&place.environment);
        let finished = command.stdout(writer).stdin(Stdio::null()).stderr(Stdio::piped()).output().unwrap();
        (finished.into(), file.exists())
    };
    let (read, unread) =
        (doctor(&place, &place.data.with_extension("json"), &["--yes"]), into_nothing("a", &["--yes"]));
    assert!(unread.1, "{}", unread.0.err);
    assert_eq!((unread.0.code, unread.0.err.as_str()), (read.code, ""), "as where somebody reads it");
    // Nobody can say yes to what nobody sees.
    let (unasked, written) = into_nothing("b", &[]);
    assert_eq!((unasked.code, written), (Some(2), false), "{}", unasked.err);
    assert!(unasked.err.contains("nobody can be asked"), "{}", unasked.err);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bundle_is_not_asked_for_where_none_is_made() {
    let place = Place::demo();
    let file = place.sandbox.places().temporary.join("report.json");
    let refused = doctor(&place, &file, &["--yes", "--speech"]);
    assert_eq!((refused.code, refused.out.as_str()), (Some(2), ""), "{}", refused.err);
    assert!(refused.err.contains("--speech") && !file.exists(), "{}", refused.err);
}

#[tokio::test(flavor = "multi_thread")]
async fn who_is_asked_may_look_at_all_of_it_first() {
    let place = Place::demo();
    let folder = &place.sandbox.places().temporary;
    let seen_and_refused = at_a_terminal(&place, &folder.join("refused.json"), &["s", "n"]);
    let shown = seen_and_refused.split("[y/N/s] ").nth(1).unwrap();
    let whole: Value = serde_json::from_str(shown.split("Write it?").next().unwrap()).unwrap();
    assert_eq!(whole["versions"]["contract"], 1);
    assert!(whole["checks"].as_array().unwrap().len() > 3);
    assert!(seen_and_refused.ends_with("nothing was written\n"), "{seen_and_refused}");
    assert!(!folder.join("refused.json").exists());
    let unseen = at_a_terminal(&place, &folder.join("taken.json"), &["y"]);
    assert!(!unseen.contains("\"contract\": 1"), "{unseen}");
    assert!(folder.join("taken.json").exists());
}

/// What the doctor prints to somebody at a terminal who gives these answers.
fn at_a_terminal(place: &Place, file: &Path, answers: &[&str]) -> String {
    let far = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
    grantpt(&far).unwrap();
    unlockpt(&far).unwrap();
    let name = ptsname(&far, Vec::new()).unwrap();
    let near = open(&name, OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty()).unwrap();
    let mut keys = fs::File::from(far);
    // They wait in the terminal until they are asked for.
    for answer in answers {
        keys.write_all(format!("{answer}\n").as_bytes()).unwrap();
    }
    let mut command = jackfield(["doctor", "--timeout", "60", "--bundle"]);
    command.arg(file).arg("--data").arg(&place.data).envs(&place.environment).stdin(Stdio::from(near));
    Finished::from(command.output().unwrap()).out
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
    for part in ["journal", "debug_files", "events"] {
        let mut found = Vec::new();
        texts(&bundle[part], &mut found);
        let left_out = found.iter().filter(|text| text.ends_with("bytes left out)")).count();
        // Pieces are no stored events that are shown.
        let is_told = left_out > 5 || part == "events";
        assert!(is_told, "{part} has no pieces, nothing was tested: {}", bundle[part]);
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
