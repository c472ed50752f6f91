//! `fake-claude`, run as a program.

use std::path::Path;
use std::process::{Output, Stdio};
use std::time::Duration;

use jackfield_testkit::case::Nothing;
use jackfield_testkit::fake::{BAD_SCRIPT, FakeStep, UNEXPECTED, write_script};
use serde_json::json;
use tokio::io::AsyncWriteExt as _;
use tokio::process::{Child, Command};

const PROGRAM: &str = env!("CARGO_BIN_EXE_fake-claude");

fn start(script: &Path, flags: &[&str]) -> Child {
    Command::new(PROGRAM)
        .args(flags)
        .env_clear()
        .env("FAKE_CLAUDE_SCRIPT", script)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap()
}

async fn run(steps: &[FakeStep], flags: &[&str], input: &str) -> Output {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("script.jsonl");
    write_script(&script, steps).unwrap();
    let mut child = start(&script, flags);
    let mut stdin = child.stdin.take().unwrap();
    // A program that ends without reading closes the pipe; what it says and its code are what is tested.
    let _ = stdin.write_all(input.as_bytes()).await;
    drop(stdin);
    child.wait_with_output().await.unwrap()
}

#[tokio::test]
async fn it_says_the_version_of_its_script() {
    let output = run(&[FakeStep::Version("9.9.9".to_owned())], &["--version"], "").await;
    assert_eq!(output.stdout, b"9.9.9 (Claude Code)\n");
    assert!(output.status.success());
}

#[tokio::test]
async fn it_plays_its_script_whatever_the_flags() {
    let steps = [
        FakeStep::Expect(json!({"type": "user"})),
        FakeStep::Stderr("careful".to_owned()),
        FakeStep::Send(json!({"type": "result"})),
        FakeStep::Exit(4),
    ];
    let output = run(&steps, &["-p", "--verbose"], "{\"type\":\"user\"}\n").await;
    assert_eq!(output.stdout, b"{\"type\":\"result\"}\n");
    assert_eq!(output.stderr, b"careful\n");
    assert_eq!(output.status.code(), Some(4));
}

#[tokio::test]
async fn an_unexpected_line_ends_it_with_its_own_code() {
    let output = run(&[FakeStep::Expect(json!({"type": "user"}))], &[], "{\"type\":\"other\"}\n").await;
    assert_eq!(output.status.code(), Some(i32::from(UNEXPECTED)));
    assert!(String::from_utf8_lossy(&output.stderr).contains("expected"));
}

#[tokio::test]
async fn a_missing_script_ends_it_with_its_own_code() {
    let child = start(Path::new("/nonexistent/script.jsonl"), &[]);
    assert_eq!(child.wait_with_output().await.unwrap().status.code(), Some(i32::from(BAD_SCRIPT)));
}

#[tokio::test]
async fn it_can_close_its_output_and_stay() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("script.jsonl");
    let steps = [FakeStep::Send(json!(1)), FakeStep::CloseStdout(Nothing {}), FakeStep::AwaitEof(Nothing {})];
    write_script(&script, &steps).unwrap();
    let mut child = start(&script, &[]);
    let mut output = String::new();
    let mut stdout = child.stdout.take().unwrap();
    let read = tokio::io::AsyncReadExt::read_to_string(&mut stdout, &mut output);
    tokio::time::timeout(Duration::from_secs(30), read).await.expect("the output ends").unwrap();
    assert_eq!(output, "1\n");
    assert!(child.try_wait().unwrap().is_none(), "it stays until its input ends");
    drop(child.stdin.take());
    assert!(child.wait().await.unwrap().success());
}

#[tokio::test]
async fn it_hangs_until_it_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("script.jsonl");
    write_script(&script, &[FakeStep::Send(json!("here")), FakeStep::Hang(Nothing {})]).unwrap();
    let mut child = start(&script, &[]);
    drop(child.stdin.take());
    let mut line = [0; 7];
    let mut stdout = child.stdout.take().unwrap();
    tokio::io::AsyncReadExt::read_exact(&mut stdout, &mut line).await.unwrap();
    assert!(child.try_wait().unwrap().is_none());
    child.kill().await.unwrap();
}
