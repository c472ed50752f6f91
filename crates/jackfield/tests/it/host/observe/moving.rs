//! Figures that move when the thing happens that they count, with the real CLI: each is asked for before and after.

use std::collections::BTreeMap;
use std::process::Stdio;

use jackfield_api::Body;
use jackfield_api::command::{Allow, Answer, Deny, Verdict};
use jackfield_testkit::api::{Block, BlockGate, Content, HttpError, Reply};
use jackfield_testkit::cli::{NEWER_VERSION, OLDER_VERSION};
use jackfield_testkit::processes;
use rustix::process::{Pid, Resource, Rlimit, Signal, prlimit};
use serde_json::json;
use tokio::time::timeout;

use super::super::client::prompt;
use super::super::real::cli;
use super::super::server::{PATIENCE, Place};
use super::figures::{ask, samples};

/// The figures of a moment.
struct Figures(BTreeMap<String, f64>);

impl Figures {
    async fn of(place: &Place) -> Self {
        let (status, page) = ask(place, "GET /metrics", "").await;
        assert_eq!(status, 200, "{page}");
        Self(samples(&page))
    }

    /// What a sample is; a counter that was never counted is not there, a gauge always is.
    fn get(&self, name: &str) -> Option<u64> {
        let value = *self.0.get(name)?;
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        Some(value as u64)
    }
}

/// Asks until the samples are so: what was told may be counted a moment later.
async fn until(place: &Place, wanted: &[(&str, Option<u64>)]) -> Figures {
    let mut last = None;
    let reached = async {
        loop {
            let figures = Figures::of(place).await;
            if wanted.iter().all(|(name, value)| figures.get(name) == *value) {
                return figures;
            }
            last = Some(figures);
        }
    };
    let reached = timeout(PATIENCE, reached).await.ok();
    reached.unwrap_or_else(|| {
        let last = last.expect("it was asked");
        let stood: Vec<_> = wanted.iter().map(|(name, _)| last.get(name)).collect();
        panic!("not {wanted:?} but {stood:?}")
    })
}

fn write(name: &str) -> Reply {
    Reply::tool_use("Write", json!({ "file_path": format!("/ws/{name}"), "content": "hello" }))
}

fn failure(status: u16, kind: &str) -> Reply {
    let body = json!({ "type": "error", "error": { "type": kind, "message": "not now" } });
    Reply { http: Some(HttpError { status, body, headers: BTreeMap::new() }), ..Reply::default() }
}

const ALLOWED: &str = "jackfield_permission_wait_seconds_count{outcome=\"allowed\"}";
const DENIED: &str = "jackfield_permission_wait_seconds_count{outcome=\"denied\"}";
const WRITTEN: &str = "jackfield_tool_duration_seconds_count{kind=\"modify_file\",outcome=\"complete\"}";
const NOT_WRITTEN: &str = "jackfield_tool_duration_seconds_count{kind=\"modify_file\",outcome=\"error\"}";
const OPEN: &str = "jackfield_questions_open";
const WAITING: &str = "jackfield_sessions{state=\"waiting\"}";
const CLIS: &str = "jackfield_cli_processes";
const CRASHED: &str = "jackfield_runs_ended_total{reason=\"crashed\"}";

async fn questions_tools_and_runs(version: &str) {
    let turns = vec![write("a.txt"), write("b.txt"), Reply::text("done"), write("c.txt")];
    let (place, _api) = Place::real(version, turns).await;
    let server = place.serve().await;
    let mut socket = place.client("one").await;
    let none = [(ALLOWED, None), (DENIED, None), (WRITTEN, None), (OPEN, Some(0)), (CLIS, Some(0))];
    until(&place, &none).await;
    let id = socket.create(place.create()).await;
    socket.follow(&id).await;
    socket.give(Some(&id), prompt("write")).await.unwrap();

    let pending_id = socket.asked(&id).await;
    until(&place, &[(OPEN, Some(1)), (WAITING, Some(1)), (CLIS, Some(1)), (ALLOWED, None), (WRITTEN, None)])
        .await;
    let verdict = Verdict::Allow(Allow::default());
    socket.give(Some(&id), Answer { pending_id, verdict }).await.unwrap();
    let pending_id = socket.asked(&id).await;
    until(&place, &[(OPEN, Some(1)), (ALLOWED, Some(1)), (DENIED, None), (WRITTEN, Some(1))]).await;
    let verdict = Verdict::Deny(Deny::default());
    socket.give(Some(&id), Answer { pending_id, verdict }).await.unwrap();
    socket.completed(&id).await;
    let answered = [(OPEN, Some(0)), (WAITING, Some(0)), (ALLOWED, Some(1)), (DENIED, Some(1))];
    let figures =
        until(&place, &[&answered[..], &[(NOT_WRITTEN, Some(1)), (WRITTEN, Some(1))]].concat()).await;
    assert_eq!((figures.get(CRASHED), figures.get(CLIS)), (None, Some(1)));

    // It is killed while it asks: the run is over, and so is the question.
    socket.give(Some(&id), prompt("write again")).await.unwrap();
    socket.asked(&id).await;
    processes::signal(cli(&place), Signal::KILL);
    socket.until(&id, |body| matches!(body, Body::RunEnded(_))).await;
    until(&place, &[(CRASHED, Some(1)), (CLIS, Some(0)), (OPEN, Some(0)), (ALLOWED, Some(1))]).await;
    assert!(server.stop().await.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn questions_tools_and_runs_of_the_older_cli_are_counted_when_they_happen() {
    questions_tools_and_runs(OLDER_VERSION).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn questions_tools_and_runs_of_the_newer_cli_are_counted_when_they_happen() {
    questions_tools_and_runs(NEWER_VERSION).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn prompts_that_wait_and_requests_that_are_tried_again_are_counted() {
    const QUEUED: &str = "jackfield_prompts_queued";
    let retries = |status: &str| format!("jackfield_api_retries_total{{status=\"{status}\"}}");
    let (overloaded, limited) = (retries("529"), retries("429"));
    let mut held = Block::new(Content::Text { text: "one two three four five six seven".to_owned() });
    held.gate = Some(BlockGate { name: "held".to_owned(), after: 1 });
    let held = Reply { blocks: vec![held], ..Reply::default() };
    let turns = vec![
        held,
        failure(529, "overloaded_error"),
        failure(429, "rate_limit_error"),
        Reply::text("at last"),
    ];
    let (place, api) = Place::real(NEWER_VERSION, turns).await;
    let server = place.serve().await;
    let mut socket = place.client("one").await;
    let id = socket.create(place.create()).await;
    socket.follow(&id).await;
    socket.give(Some(&id), prompt("the first")).await.unwrap();
    api.gates().reached("held").await;
    until(&place, &[(QUEUED, Some(0)), (&overloaded, None), (&limited, None)]).await;
    socket.give(Some(&id), prompt("the second")).await.unwrap();
    until(&place, &[(QUEUED, Some(1))]).await;
    api.gates().release("held");
    socket.completed(&id).await;
    socket.completed(&id).await;
    until(&place, &[(QUEUED, Some(0)), (&overloaded, Some(1)), (&limited, Some(1))]).await;
    assert!(server.stop().await.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_api_says_of_limits_is_counted() {
    const WARNED: &str = "jackfield_rate_limits_total{status=\"allowed_warning\"}";
    let headers = [
        ("status", "allowed_warning"),
        ("reset", "1999999999"),
        ("representative-claim", "five_hour"),
        ("5h-utilization", "0.91"),
        ("5h-reset", "1999999999"),
        ("5h-surpassed-threshold", "0.9"),
    ];
    let headers =
        headers.map(|(name, value)| (format!("anthropic-ratelimit-unified-{name}"), value.to_owned()));
    let warned = Reply { headers: headers.into(), ..Reply::text("ok") };
    let (mut place, _api) = Place::real(NEWER_VERSION, vec![warned]).await;
    // Limits are told to those who have a subscription, and not a key.
    place.environment.remove("ANTHROPIC_API_KEY");
    place.environment.insert("CLAUDE_CODE_OAUTH_TOKEN".to_owned(), "dummy".to_owned());
    let server = place.serve().await;
    let mut socket = place.client("one").await;
    let id = socket.create(place.create()).await;
    socket.follow(&id).await;
    until(&place, &[(WARNED, None)]).await;
    socket.give(Some(&id), prompt("hello")).await.unwrap();
    socket.completed(&id).await;
    until(&place, &[(WARNED, Some(1))]).await;
    assert!(server.stop().await.success());
}

/// Lets a process write no file any longer than that; without a length, as long as it likes.
fn limit_files(process: u32, length: Option<u64>) {
    let process = Pid::from_raw(i32::try_from(process).unwrap());
    let limit = Rlimit { current: length, maximum: None };
    prlimit(process, Resource::Fsize, limit).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_disk_that_takes_nothing_is_counted_until_it_does_again() {
    const FAILURES: &str = "jackfield_store_failures_total";
    const QUEUE: &str = "jackfield_store_queue";
    const COMMITS: &str = "jackfield_store_commit_seconds_count";
    let mut held = Block::new(Content::Text { text: "one two three four five six seven".to_owned() });
    held.gate = Some(BlockGate { name: "held".to_owned(), after: 1 });
    let (place, api) =
        Place::real(NEWER_VERSION, vec![Reply { blocks: vec![held], ..Reply::default() }]).await;
    let mut command = tokio::process::Command::new("sh");
    // A write that the limit forbids fails and does not end the server.
    command.args([
        "-c",
        "trap '' XFSZ; exec \"$@\"",
        "sh",
        env!("CARGO_BIN_EXE_jackfield"),
        "serve",
        "--no-open",
    ]);
    command.args(["--listen", "127.0.0.1:0", "--data"]).arg(&place.data);
    command.env_clear().envs(&place.environment).current_dir(&place.sandbox.places().temporary);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).kill_on_drop(true);
    let server = place.serve_as(command).await;
    let mut socket = place.client("one").await;
    let id = socket.create(place.create()).await;
    socket.follow(&id).await;
    socket.give(Some(&id), prompt("hello")).await.unwrap();
    api.gates().reached("held").await;
    let before = until(&place, &[(FAILURES, Some(0)), (QUEUE, Some(0))]).await;
    limit_files(server.id(), Some(4096));
    api.gates().release("held");
    until_failures(&place, FAILURES).await;
    limit_files(server.id(), None);
    socket.completed(&id).await;
    let after = until(&place, &[(QUEUE, Some(0))]).await;
    assert!(after.get(COMMITS) > before.get(COMMITS), "what could not be stored was stored in the end");
    assert!(server.stop().await.success());
}

async fn until_failures(place: &Place, name: &str) {
    let failed = async { while Figures::of(place).await.get(name) == Some(0) {} };
    timeout(PATIENCE, failed).await.expect("that nothing can be stored is counted");
}
