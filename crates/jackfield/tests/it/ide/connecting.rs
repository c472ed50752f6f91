//! How the CLI and the editor find each other, and find each other again.

use std::fs;
use std::path::Path;
use std::time::Duration;

use jackfield_testkit::cli::PINNED_VERSIONS;
use serde_json::{Value, json};

use super::stage::{Stage, a_word, patiently};
use super::terminal::Terminal;

#[tokio::test]
async fn a_cli_in_the_same_folder_finds_the_editor_by_its_lock_file() {
    for version in PINNED_VERSIONS {
        let stage = Stage::set(a_word()).await;
        let mut plugin = stage.plugin(&[]).await;
        assert_eq!(stage.lock_files(), [format!("{}.lock", plugin.port())]);
        let terminal = Terminal::run(&stage.claude(version, &["--ide"]));
        plugin.hears_of_connections(1).await;
        drop(terminal);
        assert_eq!(plugin.ends().await, Some(0));
        assert_eq!(stage.lock_files(), Vec::<String>::new(), "{version}");
    }
}

#[tokio::test]
async fn a_cli_finds_the_editor_by_its_environment() {
    for version in PINNED_VERSIONS {
        let stage = Stage::set(a_word()).await;
        let mut plugin = stage.plugin(&[]).await;
        let environment = &plugin.ready["params"]["environment"];
        assert_eq!(environment["CLAUDE_CODE_SSE_PORT"], json!(plugin.port()));
        let mut command = stage.claude(version, &[]);
        for (name, value) in environment.as_object().unwrap() {
            command.env(name, value.as_str().unwrap());
        }
        let _terminal = Terminal::run(&command);
        plugin.hears_of_connections(1).await;
    }
}

#[tokio::test]
async fn a_cli_that_the_editor_starts_is_connected_to_it() {
    for version in PINNED_VERSIONS {
        let problems = json!({ "type": "tool_use", "name": "mcp__ide__getDiagnostics", "input": {} });
        let stage = Stage::set(json!([
            { "blocks": [{ "type": "text", "text": "Hello there." }] },
            { "blocks": [problems] },
            { "gate": "done", "blocks": [{ "type": "text", "text": "There are none." }] },
        ]))
        .await;
        let claude = stage.claude(version, &[]).get_program().to_str().unwrap().to_owned();
        let words = ["ide", "--", &claude, "--permission-mode", "default"];
        let mut terminal = Terminal::run(&stage.jackfield(&words));
        terminal.sees("for agents").await;
        patiently("the CLI's connection", async {
            while !is_connected(&stage.lock_folder()) {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        })
        .await;
        // After a turn it has surely asked for its editor's tools.
        terminal.prompt("good morning").await;
        terminal.sees("Hello there.").await;
        terminal.prompt("any problems?").await;
        terminal.press_until("1", stage.api.gates().reached("done")).await;
        let request = stage.last_request();
        assert!(request.contains("no language server is configured"), "{version}: {request}");
    }
}

/// Whether somebody is connected to the server whose lock file lies there.
fn is_connected(locks: &Path) -> bool {
    let names = fs::read_dir(locks).into_iter().flatten().flatten().map(|entry| entry.file_name());
    let port = names.into_iter().find_map(|name| name.to_str()?.strip_suffix(".lock")?.parse::<u16>().ok());
    let local = port.map(|port| format!("0100007F:{port:04X}"));
    let table = fs::read_to_string("/proc/net/tcp").unwrap();
    let mut rows = table.lines().map(|row| row.split_whitespace().collect::<Vec<_>>());
    // 01 is a connection that stands.
    rows.any(|row| row.get(1).copied() == local.as_deref() && row.get(3) == Some(&"01"))
}

#[tokio::test]
async fn two_clis_are_connected_at_once() {
    let stage = Stage::set(a_word()).await;
    let mut plugin = stage.plugin(&[]).await;
    let run = |version: &str| Terminal::run(&stage.claude(version, &["--ide"]));
    let _terminals = PINNED_VERSIONS.map(run);
    plugin.hears_of_connections(2).await;
}

#[tokio::test]
async fn a_cli_with_another_token_does_not_come_in() {
    for version in PINNED_VERSIONS {
        let stage = Stage::set(a_word()).await;
        let mut plugin = stage.plugin(&[]).await;
        let path = stage.lock_folder().join(format!("{}.lock", plugin.port()));
        let mut lock: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        let right = lock["authToken"].as_str().unwrap().to_owned();
        lock["authToken"] = json!("0".repeat(right.len()));
        fs::write(&path, lock.to_string()).unwrap();
        let mut command = stage.claude(version, &[]);
        command.env("CLAUDE_CODE_SSE_PORT", plugin.port());
        let mut terminal = Terminal::run(&command);
        plugin.until("that it is told", terminal.sees("disconnected")).await;
        assert_eq!(plugin.heard, ["ready"], "{version}");
    }
}

#[tokio::test]
async fn an_editor_that_was_killed_and_comes_back_on_its_port_is_found_again() {
    for version in PINNED_VERSIONS {
        let stage = Stage::set(a_word()).await;
        let mut plugin = stage.plugin(&[]).await;
        let port = plugin.port();
        let _terminal = stage.listening(version, &mut plugin).await;
        plugin.killed().await;
        let mut plugin = stage.plugin(&["--port", &port]).await;
        plugin.hears_of_connections(1).await;
    }
}
