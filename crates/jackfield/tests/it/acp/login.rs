//! Logging in: what an editor is told to run, and what that does.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use jackfield_testkit::api::Scenario;
use serde_json::{Value, json};
use tokio::process::Command;

use super::client::Client;
use super::stage::{Agent, Stage, patiently};

/// A CLI that notes what it was called with, and ends with a code.
fn stand_in(stage: &mut Stage, code: u8) -> std::path::PathBuf {
    let folder = stage.sandbox.places().temporary.clone();
    let (program, noted) = (folder.join("claude"), folder.join("called"));
    std::fs::write(&program, format!("#!/bin/sh\necho \"$@\" >> {}\nexit {code}\n", noted.display()))
        .unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o700)).unwrap();
    stage.claude = program;
    noted
}

/// Runs what an editor is told to run, as it would; gives the exit code and what was complained of.
async fn run(stage: &Stage, words: &[String]) -> (Option<i32>, String) {
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]);
    let output = patiently("the login", stage.prepared(command).output()).await.unwrap();
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

async fn methods(stage: &Stage, capabilities: Value) -> Value {
    let mut client = Client::start(stage);
    let hello = json!({ "protocolVersion": 1, "clientCapabilities": capabilities });
    let told = client.call("initialize", hello).await.unwrap();
    let id = told["authMethods"][0]["id"].clone();
    client.call("authenticate", json!({ "methodId": id })).await.unwrap();
    let unknown = client.call("authenticate", json!({ "methodId": "by magic" })).await.unwrap_err();
    assert!(unknown["message"].as_str().unwrap().contains("by magic"), "{unknown}");
    client.close().await;
    told["authMethods"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_editor_is_told_how_to_log_in_and_that_runs_the_clis_own_login() {
    let mut stage = Stage::set(Agent::Ours, Scenario::default()).await;
    let noted = stand_in(&mut stage, 0);
    let called = |noted: &Path| std::fs::read_to_string(noted).unwrap_or_default();

    // An editor with a terminal adds words to those that it has started the agent with.
    let told = methods(&stage, json!({ "auth": { "terminal": true } })).await;
    assert_eq!((&told[0]["type"], &told[0]["args"]), (&json!("terminal"), &json!(["--login"])));
    let mut words = vec![env!("CARGO_BIN_EXE_jackfield").to_owned(), "acp".to_owned()];
    words.extend(told[0]["args"].as_array().unwrap().iter().map(|word| word.as_str().unwrap().to_owned()));
    assert_eq!(run(&stage, &words).await.0, Some(0));
    assert_eq!(called(&noted), "/login\n");

    // An older one is told the whole command.
    let told = methods(&stage, json!({ "_meta": { "terminal-auth": true } })).await;
    let how = &told[0]["_meta"]["terminal-auth"];
    let mut words = vec![how["command"].as_str().unwrap().to_owned()];
    words.extend(how["args"].as_array().unwrap().iter().map(|word| word.as_str().unwrap().to_owned()));
    assert_eq!(run(&stage, &words).await.0, Some(0));
    assert_eq!(called(&noted), "/login\n/login\n");

    // One that can do neither tells the person.
    let told = methods(&stage, json!({})).await;
    assert!(told[0]["description"].as_str().unwrap().contains("claude /login"), "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_login_that_fails_or_cannot_begin_says_so() {
    let mut stage = Stage::set(Agent::Ours, Scenario::default()).await;
    stand_in(&mut stage, 3);
    let words = [env!("CARGO_BIN_EXE_jackfield"), "acp", "--login"].map(str::to_owned);
    assert_eq!(run(&stage, &words).await.0, Some(1));
    stage.claude = stage.sandbox.places().temporary.join("nowhere");
    let (code, complaint) = run(&stage, &words).await;
    assert!(code != Some(0) && complaint.contains("nowhere"), "{code:?}: {complaint}");
}
