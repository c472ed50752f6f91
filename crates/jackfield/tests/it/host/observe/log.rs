//! The log of an ordinary turn: no louder than was asked, nothing line by line but at the lowest level, no warning, and
//! none of what was said; whether anybody reads it or not.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use futures_util::{SinkExt as _, StreamExt as _};
use jackfield_api::Body;
use jackfield_testkit::api::{Block, Content, Reply};
use jackfield_testkit::cli::{NEWER_VERSION, OLDER_VERSION};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::http::HeaderValue;
use tokio_tungstenite::{WebSocketStream, client_async};

use super::super::client::prompt;
use super::super::server::{PATIENCE, Place};

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

/// A CLI that is connected to the page as its editor.
async fn connected(lock: &Path) -> WebSocketStream<TcpStream> {
    let content: Value = serde_json::from_slice(&fs::read(lock).unwrap()).unwrap();
    let port = lock.file_stem().unwrap().to_str().unwrap();
    let mut request = format!("ws://127.0.0.1:{port}/").into_client_request().unwrap();
    for (name, value) in [
        ("sec-websocket-protocol", "mcp"),
        ("user-agent", "claude-code/2.1.325 (cli)"),
        ("x-claude-code-ide-authorization", content["authToken"].as_str().unwrap()),
    ] {
        request.headers_mut().insert(name, HeaderValue::from_str(value).unwrap());
    }
    let stream = TcpStream::connect(format!("127.0.0.1:{port}")).await.unwrap();
    client_async(request, stream).await.unwrap().0
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_cli_asks_of_the_editor_is_in_no_log_and_wakes_nobody() {
    let mut place = Place::demo();
    configure(&mut place, "level = \"trace\"\nformat = \"json\"");
    let mut command = place.command();
    command.arg("--ide").arg(&place.sandbox.places().workspace);
    let server = place.serve_as(command).await;
    let locks = fs::read_dir(place.sandbox.places().home.join(".claude/ide")).unwrap();
    let lock =
        locks.map(|entry| entry.unwrap().path()).find(|path| path.extension().is_some_and(|it| it == "lock"));
    let mut cli = connected(&lock.unwrap()).await;
    let info = json!({ "name": "claude-code", "version": "2.1.325" });
    let hello = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info });
    let diff = json!({ "old_file_path": "/ws/words", "new_file_path": "/ws/words", "new_file_contents": "words",
        "tab_name": "words" });
    for (id, method, params) in [
        (1, "initialize", hello),
        // A model may ask for what there is not.
        (2, "tools/call", json!({ "name": "words", "arguments": { "a": "words" } })),
        (3, "tools/call", json!({ "name": "getWorkspaceFolders", "arguments": {} })),
        // Nobody answers this before the CLI leaves.
        (4, "tools/call", json!({ "name": "openDiff", "arguments": diff })),
        (5, "tools/list", json!({})),
    ] {
        let asked = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        cli.send(Message::text(asked.to_string())).await.unwrap();
        let answered = async {
            while let Some(message) = cli.next().await {
                let text = message.unwrap().into_text().unwrap();
                let answer: Value = serde_json::from_str(&text).unwrap_or_default();
                if answer["id"] == id {
                    return answer;
                }
            }
            panic!("it ended before it answered {method}");
        };
        if id != 4 {
            let answer = timeout(PATIENCE, answered).await.unwrap();
            assert_eq!(answer["error"].is_object(), id == 2, "{answer}");
        }
    }
    drop(cli);
    assert!(server.stop().await.success());
    let text = fs::read_to_string(place.data.join("jackfield.log")).unwrap();
    assert!(text.contains("host begins") && !text.contains("words"), "{text}");
    assert!(!text.contains("\"WARN\"") && !text.contains("\"ERROR\""), "{text}");
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
