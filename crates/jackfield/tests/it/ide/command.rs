//! `jackfield ide` as shells and plugins meet it, without any CLI.

use std::fs;

use serde_json::json;

use super::stage::{Stage, a_word};
use super::terminal::Terminal;
use crate::program::Finished;

#[tokio::test]
async fn the_environment_of_a_running_editor_is_printed_and_without_one_an_error() {
    let stage = Stage::set(a_word()).await;
    let printed = |arguments: &[&str]| -> Finished { stage.jackfield(arguments).output().unwrap().into() };
    let none = printed(&["ide", "--print-env"]);
    assert_eq!((none.code, none.out.as_str()), (Some(1), ""));
    assert!(none.err.contains("no `jackfield ide` runs for"), "{}", none.err);
    let plugin = stage.plugin(&[]).await;
    let some = printed(&["ide", "--print-env"]);
    assert_eq!((some.code, some.err.as_str()), (Some(0), ""));
    let port = plugin.port();
    assert_eq!(some.out, format!("export CLAUDE_CODE_SSE_PORT={port} ENABLE_IDE_INTEGRATION=true\n"));
    assert_eq!(plugin.ends().await, Some(0));
    assert_eq!(printed(&["ide", "--print-env"]).code, Some(1));
}

#[tokio::test]
async fn a_program_is_started_connected_and_its_code_is_the_end() {
    let stage = Stage::set(a_word()).await;
    let script = "ls \"$CLAUDE_CONFIG_DIR/ide\"; echo $CLAUDE_CODE_SSE_PORT $ENABLE_IDE_INTEGRATION; exit 7";
    let ended: Finished = stage.jackfield(&["ide", "--", "sh", "-c", script]).output().unwrap().into();
    assert_eq!((ended.code, ended.err.as_str()), (Some(7), ""));
    let (lock, rest) = ended.out.split_once(".lock\n").unwrap();
    assert_eq!(rest, format!("{lock} true\n"));
    assert_eq!(stage.lock_files(), Vec::<String>::new());
    let missing: Finished = stage.jackfield(&["ide", "--", "not-there"]).output().unwrap().into();
    assert_eq!(missing.code, Some(1));
    assert!(missing.err.contains("cannot start `not-there`"), "{}", missing.err);
}

#[tokio::test]
async fn a_line_that_is_none_is_answered_and_the_link_goes_on() {
    let stage = Stage::set(a_word()).await;
    let mut plugin = stage.plugin(&[]).await;
    plugin.write_line("nonsense").await;
    assert_eq!(plugin.next().await["error"]["code"], json!(-32700));
    plugin.write_line("").await;
    plugin.write(&json!({ "jsonrpc": "2.0", "id": 9, "method": "dance" })).await;
    let refused = plugin.next().await;
    assert_eq!((&refused["id"], &refused["error"]["code"]), (&json!(9), &json!(-32601)));
    plugin.tells("mention", &json!({ "lines": [1, 2] })).await;
    assert_eq!(plugin.next().await["error"]["code"], json!(-32602));
    assert_eq!(plugin.ends().await, Some(0));
}

#[tokio::test]
async fn a_killed_editor_leaves_a_lock_file_that_the_next_one_takes_away() {
    let stage = Stage::set(a_word()).await;
    let plugin = stage.plugin(&[]).await;
    let left = stage.lock_files();
    plugin.killed().await;
    assert_eq!(stage.lock_files(), left);
    let next = stage.plugin(&[]).await;
    assert_eq!(stage.lock_files(), [format!("{}.lock", next.port())]);
}

#[tokio::test]
async fn an_end_in_the_terminal_takes_the_lock_file_away() {
    let stage = Stage::set(a_word()).await;
    let mut terminal = Terminal::run(&stage.jackfield(&["ide"]));
    terminal.sees("Ctrl-C ends it").await;
    assert_eq!(stage.lock_files().len(), 1);
    terminal.press("\x03");
    assert_eq!(terminal.ended(), Some(0));
    assert_eq!(fs::read_dir(stage.lock_folder()).unwrap().count(), 0);
}
