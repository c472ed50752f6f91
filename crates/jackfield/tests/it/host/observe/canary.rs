//! A fake key, sent through every path there is, is afterwards in nothing that the host wrote or told of itself.

use std::fs;
use std::path::Path;
use std::process::Command;

use jackfield_api::codec;
use jackfield_api::command::{Allow, Answer, Answers, CreateSession, Deny, Rename, Verdict};
use jackfield_testkit::api::{Block, Content, Reply};
use jackfield_testkit::cli::NEWER_VERSION;
use serde_json::json;
use tokio::io::AsyncReadExt as _;
use tokio::time::timeout;

use super::super::client::prompt;
use super::super::server::{PATIENCE, Place};
use super::collector::Collector;
use super::figures::{ask, ask_network};
use crate::program;

/// One key for every path, so that it can be told where one came out.
fn key(path: &str) -> String {
    // Built from pieces, so that nothing in this file looks like a secret to others.
    format!("sk-{}-api03-{path}{}", "ant", "Zq7".repeat(12))
}

/// A private key, in lines; its body's letters are those of the path.
fn private_key(path: &str) -> [String; 4] {
    let (begin, end) = ("-----BEGIN RSA PRIVATE", "-----END RSA PRIVATE");
    [format!("{begin} KEY-----"), body(path), body(path), format!("{end} KEY-----")]
}

fn body(path: &str) -> String {
    path.chars().chain("Zq7/Kd4+".chars()).cycle().take(64).collect()
}

/// Paths on which a key is seen by whoever follows the session.
const SEEN: [&str; 14] = [
    "prompt", "command", "output", "text", "model", "tool", "colour", "json", "address", "patch", "deny",
    "answer", "rename", "error",
];
const UNSEEN: [&str; 8] = ["env", "config", "header", "name", "query", "path", "argument", "server"];
/// Paths of private keys, whose lines are strings or lines of their own.
const BODIES: [&str; 2] = ["patch", "error"];

/// Everything below a folder, as text, with the names of the files.
fn all_texts(folder: &Path, texts: &mut Vec<(String, String)>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all_texts(&path, texts);
        } else if path.is_file() {
            let text = String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned();
            texts.push((path.to_string_lossy().into_owned(), text));
        }
    }
}

/// A program that says something on standard error, line by line, and then is the CLI.
fn talkative(place: &Place) -> String {
    let program = place.sandbox.places().temporary.join("claude");
    let lines = [&[format!("a key: {}", key("error"))], &private_key("error")[..]].concat();
    let said: Vec<String> = lines.iter().map(|line| format!("echo '{line}' >&2")).collect();
    let said = said.join("\n");
    let script = format!("#!/bin/sh\n{said}\nexec '{}' \"$@\"\n", place.environment["JACKFIELD_CLAUDE"]);
    // Written by another process: one that this one had open could still be open in a child of another test.
    let write = r#"printf %s "$1" > "$2" && chmod 755 "$2""#;
    let written = Command::new("sh").args(["-c", write, "sh", &script]).arg(&program).status().unwrap();
    assert!(written.success());
    program.to_string_lossy().into_owned()
}

/// What the model does: tools that are asked about and others, and at last it says something.
fn turns() -> Vec<Reply> {
    let bash = json!({ "command": format!("echo {} {}", key("command"), "out\"\"put"), "description": "d" });
    let write = json!({ "file_path": "/ws/a.txt", "content": format!("first\n{}\nlast\n", key("output")) });
    let with_key = format!("{}\n{}\nlast", private_key("patch").join("\n"), key("patch"));
    let edit = json!({ "file_path": "/ws/a.txt", "old_string": "last", "new_string": with_key });
    let refused = json!({ "file_path": "/ws/b.txt", "content": "nothing" });
    let options = json!([{ "label": "Tea", "description": "" }, { "label": "Coffee", "description": "" }]);
    let question =
        json!({ "question": "Which drink?", "header": "Drink", "multiSelect": false, "options": options });
    // One piece for each word: a key that is said letter by letter is not recognised in its pieces, and
    // docs/observability.md says so. In the message as a whole it is.
    let json = json!({ "a": format!("\u{1b}[1m{}", key("json")) });
    let said = Content::Text {
        text: format!(
            "the key is {} indeed \u{1b}[32m{}\u{1b}[0m {json} https://example.org/?q=a%20{}%26b",
            key("text"),
            key("colour"),
            key("address")
        ),
    };
    vec![
        Reply::tool_use(key("tool"), json!({})),
        Reply::tool_use("Bash", bash),
        Reply::tool_use("Write", write),
        Reply::tool_use("Read", json!({ "file_path": "/ws/a.txt" })),
        Reply::tool_use("Edit", edit),
        Reply::tool_use("Write", refused),
        Reply::tool_use("AskUserQuestion", json!({ "questions": [question] })),
        Reply { blocks: vec![Block::new(said)], ..Reply::default() },
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_went_through_every_path_is_in_nothing_that_is_told() {
    let mut collector = Collector::start().await;
    let (mut place, _api) = Place::real(NEWER_VERSION, turns()).await;
    collector.wanted_by(&mut place);
    let config = place.sandbox.places().temporary.join("config.toml");
    let text = format!(
        "[log]\nlevel = \"trace\"\nformat = \"json\"\n[traces]\npayloads = true\n[debug]\nagent_messages = true\n\
         [claude]\nmodel = \"{}\"\n",
        key("config")
    );
    fs::write(&config, text).unwrap();
    place.environment.insert("JACKFIELD_CONFIG".to_owned(), config.to_string_lossy().into_owned());
    place.environment.insert("ANTHROPIC_API_KEY".to_owned(), key("env"));
    place.environment.insert("JACKFIELD_CLAUDE".to_owned(), talkative(&place));
    let mut server = place.serve().await;
    let mut errors = server.child.stderr.take().unwrap();
    let logged = tokio::spawn(async move {
        let mut text = String::new();
        errors.read_to_string(&mut text).await.unwrap();
        text
    });

    let mut socket = place.client(&key("name")).await;
    let servers = json!({ "theirs": {
        "type": "stdio", "command": "false", "args": ["--key", key("argument")], "env": { "THEIRS": key("server") },
    } });
    let mcp_servers = Some(serde_json::from_value(servers).unwrap());
    let id = socket.create(CreateSession { model: Some(key("model")), mcp_servers, ..place.create() }).await;
    socket.follow(&id).await;
    socket.give(Some(&id), Rename { title: format!("about {}", key("rename")) }).await.unwrap();
    socket.give(Some(&id), prompt(&format!("MAIN {}", key("prompt")))).await.unwrap();
    // The writing, the edit, the writing that is refused, and the question.
    for verdict in [
        Verdict::Allow(Allow::default()),
        Verdict::Allow(Allow::default()),
        Verdict::Deny(Deny { message: format!("not with {}", key("deny")), interrupt: false }),
        Verdict::Answers(Answers { answers: [("Which drink?".to_owned(), key("answer"))].into() }),
    ] {
        let pending_id = socket.asked(&id).await;
        socket.give(Some(&id), Answer { pending_id, verdict }).await.unwrap();
    }
    socket.completed(&id).await;
    let headers =
        format!("authorization: Bearer {}\r\nx-jackfield-client: {}\r\n", key("header"), key("header"));
    assert_eq!(
        ask_network(&server, &format!("GET /api/search?q={}", key("query")), &headers, "").await.0,
        401
    );
    assert_eq!(ask(&place, &format!("GET /api/search?q={}", key("query")), "").await.0, 200);
    assert_eq!(ask(&place, &format!("GET /api/sessions/{}", key("path")), "").await.0, 404);
    let (_, sessions) = ask(&place, "GET /api/sessions", "").await;
    collector.until("streamjson.prompt", 1).await;
    let (_, metrics) = ask(&place, "GET /metrics", "").await;
    let bundle = place.sandbox.places().temporary.join("bundle.json");
    let mut doctor = program::jackfield(["doctor", "--yes", "--timeout", "60", "--bundle"]);
    let doctor =
        doctor.arg(&bundle).arg("--data").arg(&place.data).envs(&place.environment).output().unwrap();
    assert!(bundle.exists(), "{}", String::from_utf8_lossy(&doctor.stderr));
    assert!(server.stop().await.success());
    let logged = timeout(PATIENCE, logged).await.unwrap().unwrap();

    let mut texts = vec![
        ("standard error".to_owned(), logged),
        ("metrics".to_owned(), metrics),
        ("spans".to_owned(), format!("{:?}", collector.spans)),
        ("bundle".to_owned(), fs::read_to_string(&bundle).unwrap()),
        ("doctor".to_owned(), String::from_utf8_lossy(&doctor.stdout).into_owned()),
        ("log".to_owned(), fs::read_to_string(place.data.join("jackfield.log")).unwrap()),
    ];
    all_texts(&place.data.join("debug"), &mut texts);
    for (place, text) in &texts {
        assert!(!text.is_empty(), "{place} is empty: nothing was tested");
        for path in SEEN.iter().chain(&UNSEEN) {
            assert!(!text.contains(&key(path)), "the key of `{path}` is in {place}");
        }
        for path in BODIES {
            // Of standard error each line is a text by itself in spans, which have none of it.
            assert!(!text.contains(&body(path)), "the private key of `{path}` is in {place}");
        }
    }
    let of = |name: &str| &texts.iter().find(|(place, _)| place.contains(name)).unwrap().1;
    for holds_payloads in ["spans", "raw-streamjson", "normalized-streamjson"] {
        assert!(
            of(holds_payloads).contains("[redacted]"),
            "{holds_payloads} has none of it: nothing was tested"
        );
    }
    // They went there: who follows the session sees them.
    let mut seen = Vec::new();
    for event in socket.events(&id) {
        codec::encode(event, &mut seen);
    }
    let seen = String::from_utf8(seen).unwrap() + &sessions;
    for path in SEEN {
        assert!(seen.contains(&key(path)), "the key of `{path}` was nowhere: nothing was tested");
    }
    for path in BODIES {
        assert!(seen.contains(&body(path)), "the private key of `{path}` was nowhere: nothing was tested");
    }
    assert!(of("bundle").contains("model = \\\"[redacted]\\\""), "{}", of("bundle"));
    assert!(of("log").contains("turn started"), "{}", of("log"));
}
