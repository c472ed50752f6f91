//! The editor's tools in sessions of our own: `jackfield run` with the real CLIs.

use jackfield_testkit::cli::{Cli, PINNED_VERSIONS};
use jackfield_testkit::programs;
use serde_json::{Value, json};
use tokio::process::Command;

use super::stage::{Stage, patiently};
use crate::program::Finished;

/// The model writes a file with a mistake in it.
fn a_mistake() -> Value {
    let input = json!({ "file_path": "/ws/a.py", "content": "x: int = 'text'\n" });
    json!([
        { "blocks": [{ "type": "tool_use", "name": "Write", "input": input }] },
        { "blocks": [{ "type": "text", "text": "I see." }] },
    ])
}

/// `jackfield run` in the stage's folder.
fn run(stage: &Stage, version: &str, words: &[&str]) -> Command {
    let mut command = stage.jackfield(&["run", "--mode", "act"]);
    command.args(words).arg("write it");
    command.env("JACKFIELD_CLAUDE", Cli::locate(version).unwrap().program);
    command.env("JACKFIELD_DATA", stage.sandbox.places().temporary.join("data"));
    let mut command = Command::from(command);
    command.kill_on_drop(true);
    command
}

async fn finished(mut command: Command) -> Finished {
    patiently("the end of the run", command.output()).await.unwrap().into()
}

#[tokio::test]
async fn new_problems_are_told_to_the_model_of_every_run() {
    let pyright = format!("tools.language_servers=py: {} --stdio", programs::pyright().display());
    for version in PINNED_VERSIONS {
        for form in ["text", "stream-json"] {
            let stage = Stage::set(a_mistake()).await;
            let words = ["--trust", "--output-format", form, "--set", &pyright];
            let mut command = run(&stage, version, &words);
            // The language server is a program of Node's.
            command.env("PATH", std::env::var_os("PATH").unwrap());
            let ended = finished(command).await;
            assert_eq!(ended.code, Some(0), "{version}: {}", ended.err);
            let request = stage.last_request();
            assert!(request.contains("This change brought new problems"), "{version} {form}: {request}");
            assert!(request.contains("not assignable"), "{version} {form}: {request}");
        }
    }
}

#[tokio::test]
async fn an_editor_that_has_the_folder_open_saves_its_file_before_the_edit() {
    for version in PINNED_VERSIONS {
        let stage = Stage::set(a_mistake()).await;
        let mut plugin = stage.plugin(&[]).await;
        let problem = json!({
            "message": "x is not what it seems", "severity": "Error",
            "range": { "start": { "line": 0, "character": 0 }, "end": { "line": 0, "character": 1 } },
        });
        let path = stage.workspace().join("a.py");
        let running = tokio::spawn(finished(run(&stage, version, &["--set", "tools.editor=true"])));
        loop {
            let asked = patiently("a question", plugin.next_unanswered()).await;
            let method = asked["method"].as_str().unwrap_or_default().to_owned();
            if asked["params"].get("path").is_some() {
                assert_eq!(asked["params"]["path"], json!(path), "{version}: {asked}");
            }
            match &*method {
                "document_state" => plugin.answers(&asked, &json!({ "dirty": true })).await,
                "save" => {
                    assert!(!path.exists(), "{version}: it is saved before the edit");
                    plugin.answers(&asked, &json!({ "saved": "yes" })).await;
                }
                "diagnostics" => {
                    let found = if path.exists() { json!([problem]) } else { json!([]) };
                    plugin.answers(&asked, &json!([{ "path": path, "diagnostics": found }])).await;
                    if path.exists() {
                        break;
                    }
                }
                _ => {}
            }
        }
        let ended = running.await.unwrap();
        assert_eq!(ended.code, Some(0), "{version}: {}", ended.err);
        assert!(plugin.heard.iter().any(|method| method == "save"), "{version}: {:?}", plugin.heard);
        let request = stage.last_request();
        assert!(request.contains("x is not what it seems"), "{version}: {request}");
    }
}
