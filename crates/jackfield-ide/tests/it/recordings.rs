//! What the real CLI said in the recordings, said again to this server.
//!
//! The editor decides as the one of the recording did, and what the server answers is compared with what the CLI was
//! answered there, in the parts that it reads.

use std::path::Path;

use jackfield_ide::{FileDiagnostics, Mention, Selection, Verdict};
use jackfield_testkit::recordings::workspace_dir;
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

use crate::client::{Client, Scene};
use crate::fake::Asked;

/// A line of a recording.
struct Line {
    direction: String,
    text: String,
}

fn lines(recording: &Path, workspace: &str) -> Vec<Line> {
    let text = std::fs::read_to_string(recording.join("transcript.jsonl")).unwrap();
    let line = |line: &str| {
        let value: Value = serde_json::from_str(line).unwrap();
        let text = value["line"].as_str().unwrap().replace("/ws", workspace);
        Line { direction: value["dir"].as_str().unwrap().to_owned(), text }
    };
    text.lines().map(line).collect()
}

/// What was answered to a request.
fn recorded_answer(lines: &[Line], id: &Value) -> Option<Value> {
    let answers = lines.iter().filter(|line| line.direction == "ide->cli");
    let mut answers = answers.filter_map(|line| serde_json::from_str::<Value>(&line.text).ok());
    answers.find(|answer| answer["id"] == *id && answer.get("method").is_none())
}

fn first_text(answer: &Value) -> &str {
    answer["result"]["content"][0]["text"].as_str().unwrap_or_default()
}

/// Plays one connection's requests; how many answers were compared.
async fn play(scene: &mut Scene, lines: &[Line]) -> usize {
    let mut client: Option<Client> = None;
    let mut before = None;
    let mut compared = 0;
    for (at, line) in lines.iter().enumerate() {
        let Ok(message) = serde_json::from_str::<Value>(&line.text) else { continue };
        match (&*line.direction, message["method"].as_str()) {
            // A new connection; the one before is gone.
            ("cli->ide", None) if message.get("http").is_some() => {
                client = scene.try_to_connect(&[]).await.ok();
            }
            ("cli->ide", Some(_)) => {
                let client = client.as_mut().unwrap();
                let recorded = recorded_answer(&lines[at..], &message["id"]);
                if let Some(recorded) = &recorded {
                    lay_out(scene, &message, recorded);
                }
                client.write(Message::text(line.text.clone())).await;
                decide(scene, &message, recorded.as_ref()).await;
                if let (Some(id), Some(recorded)) = (message["id"].as_u64(), recorded) {
                    compare(&message, &recorded, &client.answer(id).await);
                    compared += 1;
                }
            }
            ("ide->cli", Some(method)) => {
                tell(scene, &message["params"]);
                let client = client.as_mut().unwrap();
                // A selection is told again to who has just come.
                let mut told = client.next_of(method).await;
                while Some(&told) == before.as_ref() {
                    told = client.next_of(method).await;
                }
                compare_notice(&message["params"], &told);
                before = Some(told);
                compared += 1;
            }
            _ => {}
        }
    }
    compared
}

/// Gives the editor the problems that the one of the recording had.
fn lay_out(scene: &Scene, request: &Value, recorded: &Value) {
    if request["params"]["name"] != "getDiagnostics" {
        return;
    }
    let files: Vec<Value> = serde_json::from_str(first_text(recorded)).unwrap();
    let file = |file: &Value| FileDiagnostics {
        path: file["uri"].as_str().unwrap().strip_prefix("file://").unwrap().into(),
        diagnostics: serde_json::from_value(file["diagnostics"].clone()).unwrap(),
    };
    scene.editor.desk.lock().unwrap().diagnostics = files.iter().map(file).collect();
}

/// Decides on a diff as the recording did: not at all, if the CLI was never answered.
async fn decide(scene: &mut Scene, request: &Value, recorded: Option<&Value>) {
    let tool = request["params"]["name"].as_str().unwrap_or_default();
    if tool == "openDiff" {
        let Asked::Diff(id, diff, verdict) = scene.next_asked().await else { panic!("no diff") };
        assert_eq!(json!(diff.path), request["params"]["arguments"]["new_file_path"]);
        let Some(recorded) = recorded else {
            // Kept open until it is closed.
            tokio::spawn(async move {
                let _open = (id, verdict);
                std::future::pending::<()>().await;
            });
            return;
        };
        match first_text(recorded) {
            "FILE_SAVED" => {
                let content = recorded["result"]["content"][1]["text"].as_str().unwrap().to_owned();
                verdict.send(Verdict::Accepted { content }).unwrap();
            }
            // A tab that a person closed is a no of ours.
            "DIFF_REJECTED" | "TAB_CLOSED" => verdict.send(Verdict::Rejected).unwrap(),
            _ => drop(verdict),
        }
    }
}

fn tell(scene: &Scene, params: &Value) {
    let path = params["filePath"].as_str().unwrap().into();
    if params.get("selection").is_none() {
        let line = |name: &str| params[name].as_u64().map(|line| u32::try_from(line).unwrap());
        scene.ide.notices().mention(Mention { path, lines: line("lineStart").zip(line("lineEnd")) });
        return;
    }
    let range = serde_json::from_value(params["selection"].clone()).ok();
    let text = params["text"].as_str().unwrap().to_owned();
    scene.ide.notices().select(range.map(|range| Selection { path, text, range }));
}

fn compare(request: &Value, recorded: &Value, answer: &Value) {
    match request["method"].as_str().unwrap() {
        "initialize" => {
            let version = |answer: &Value| answer["result"]["protocolVersion"].clone();
            assert_eq!(version(answer), version(recorded));
        }
        "tools/list" => {
            let names = |answer: &Value| {
                let tools = answer["result"]["tools"].as_array().unwrap().iter();
                let mut names: Vec<String> =
                    tools.map(|tool| tool["name"].as_str().unwrap().to_owned()).collect();
                names.sort();
                names
            };
            let (ours, theirs) = (names(answer), names(recorded));
            assert!(theirs.iter().all(|name| ours.contains(name)), "{theirs:?}");
        }
        "tools/call" if request["params"]["name"] == "getDiagnostics" => {
            let read = |answer: &Value| serde_json::from_str::<Value>(first_text(answer)).unwrap();
            assert_eq!(read(answer), read(recorded));
        }
        "tools/call" if recorded.get("error").is_some() => {
            assert_eq!(answer["result"]["isError"], json!(true), "{answer}");
            assert!(!["FILE_SAVED", "TAB_CLOSED", "DIFF_REJECTED"].contains(&first_text(answer)));
        }
        "tools/call" if request["params"]["name"] == "openDiff" => {
            let word = first_text(recorded);
            let expected = if word == "TAB_CLOSED" { "DIFF_REJECTED" } else { word };
            assert_eq!(first_text(answer), expected);
            if word == "FILE_SAVED" {
                assert_eq!(answer["result"]["content"], recorded["result"]["content"]);
            }
        }
        _ => assert_eq!(answer["result"]["content"], recorded["result"]["content"], "{request}"),
    }
}

fn compare_notice(recorded: &Value, told: &Value) {
    if recorded["selection"].is_null() && recorded.get("selection").is_some() {
        assert_eq!(told["selection"], Value::Null);
        return;
    }
    for field in ["text", "filePath", "fileUrl", "lineStart", "lineEnd"] {
        assert_eq!(told[field], recorded[field], "{field}");
    }
    for field in ["start", "end"] {
        assert_eq!(told["selection"][field], recorded["selection"][field], "{field}");
    }
}

#[tokio::test]
async fn the_cli_of_every_recording_gets_the_answers_it_got_there() {
    let mut total = 0;
    let mut recordings: Vec<_> = std::fs::read_dir(workspace_dir().join("fixtures/recordings/ide"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    recordings.sort();
    assert!(recordings.len() >= 23, "{}", recordings.len());
    for recording in recordings {
        let mut scene = Scene::set().await;
        let workspace = scene.workspace.to_str().unwrap().to_owned();
        let compared = play(&mut scene, &lines(&recording, &workspace)).await;
        println!("{}: {compared} answers", recording.display());
        total += compared;
        scene.ide.stop().await;
    }
    assert!(total > 100, "only {total} answers");
}
