//! A fake key, sent through every path there is, is afterwards in nothing that the host wrote or told of itself.

use std::fs;
use std::path::Path;

use jackfield_api::command::{Allow, Answer, CreateSession, Verdict};
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

const PATHS: [&str; 12] = [
    "prompt", "env", "config", "command", "output", "text", "header", "name", "query", "path", "model",
    "tool",
];

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

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_went_through_every_path_is_in_nothing_that_is_told() {
    let mut collector = Collector::start().await;
    let bash = json!({ "command": format!("echo {} {}", key("command"), "out\"\"put"), "description": "d" });
    let write = json!({ "file_path": "/ws/a.txt", "content": key("output") });
    let said = Content::Text { text: format!("the key is {} indeed", key("text")) };
    let turns = vec![
        Reply::tool_use(key("tool"), json!({})),
        Reply::tool_use("Bash", bash),
        Reply::tool_use("Write", write),
        Reply::tool_use("Read", json!({ "file_path": "/ws/a.txt" })),
        Reply { blocks: vec![Block::new(said)], ..Reply::default() },
    ];
    let (mut place, _api) = Place::real(NEWER_VERSION, turns).await;
    collector.wanted_by(&mut place);
    let config = place.sandbox.places().temporary.join("config.toml");
    let text = format!(
        "[log]\nlevel = \"trace\"\nformat = \"json\"\n[traces]\npayloads = true\n[debug]\nagent_messages = true\n\
         [claude.environment]\nallow = [\"{}\"]\n",
        key("config").replace('-', "_")
    );
    // A name in the configuration cannot have a dash; the key is as good as a comment.
    fs::write(&config, format!("# {}\n{text}", key("config"))).unwrap();
    place.environment.insert("JACKFIELD_CONFIG".to_owned(), config.to_string_lossy().into_owned());
    place.environment.insert("ANTHROPIC_API_KEY".to_owned(), key("env"));
    let mut server = place.serve().await;
    let mut errors = server.child.stderr.take().unwrap();
    let logged = tokio::spawn(async move {
        let mut text = String::new();
        errors.read_to_string(&mut text).await.unwrap();
        text
    });

    let mut socket = place.client(&key("name")).await;
    let id = socket.create(CreateSession { model: Some(key("model")), ..place.create() }).await;
    socket.follow(&id).await;
    socket.give(Some(&id), prompt(&format!("MAIN {}", key("prompt")))).await.unwrap();
    // Only the writing is asked about.
    let pending_id = socket.asked(&id).await;
    let verdict = Verdict::Allow(Allow::default());
    socket.give(Some(&id), Answer { pending_id, verdict }).await.unwrap();
    socket.completed(&id).await;
    let headers =
        format!("authorization: Bearer {}\r\nx-jackfield-client: {}\r\n", key("header"), key("header"));
    assert_eq!(
        ask_network(&server, &format!("GET /api/search?q={}", key("query")), &headers, "").await.0,
        401
    );
    assert_eq!(ask(&place, &format!("GET /api/search?q={}", key("query")), "").await.0, 200);
    assert_eq!(ask(&place, &format!("GET /api/sessions/{}", key("path")), "").await.0, 404);
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
        for path in PATHS {
            assert!(!text.contains(&key(path)), "the key of `{path}` is in {place}");
        }
    }
    let of = |name: &str| &texts.iter().find(|(place, _)| place.contains(name)).unwrap().1;
    for holds_payloads in ["spans", "raw-streamjson", "normalized-streamjson"] {
        assert!(
            of(holds_payloads).contains("[redacted]"),
            "{holds_payloads} has none of it: nothing was tested"
        );
    }
    assert!(of("log").contains("turn started"), "{}", of("log"));
}
