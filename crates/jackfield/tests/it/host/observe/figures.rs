//! Figures of the real program: equal to what is stored, and in the form that Prometheus reads.

use std::collections::BTreeMap;
use std::process::Stdio;

use jackfield_api::command::{Allow, Answer, Verdict};
use jackfield_api::permission::PermissionOutcome;
use jackfield_api::tool::ToolStatus;
use jackfield_api::{Body, Event, SessionId};
use jackfield_testkit::api::{Reply, Usage};
use jackfield_testkit::cli::{NEWER_VERSION, OLDER_VERSION};
use jackfield_testkit::programs;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpStream, UnixStream};
use tokio::time::timeout;

use super::super::client::{prompt, stored};
use super::super::server::{PATIENCE, Place, Server};

/// Asks over the Unix socket, and gives the status and the body.
pub(in crate::host) async fn ask(place: &Place, request: &str, body: &str) -> (u16, String) {
    ask_with(place, request, "", body).await
}

/// The same with further headers, each with its line end.
pub(super) async fn ask_with(place: &Place, request: &str, headers: &str, body: &str) -> (u16, String) {
    let stream = UnixStream::connect(place.data.join("host.sock")).await.unwrap();
    spoken(stream, request, "jackfield", headers, body).await
}

/// Speaks HTTP over whatever leads there.
async fn spoken(
    mut stream: impl tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin,
    request: &str,
    host: &str,
    headers: &str,
    body: &str,
) -> (u16, String) {
    let asked = format!(
        "{request} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\ncontent-type: application/json\r\n{headers}\
         content-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(asked.as_bytes()).await.unwrap();
    let mut answer = String::new();
    timeout(PATIENCE, stream.read_to_string(&mut answer)).await.unwrap().unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, body.to_owned())
}

/// Asks over the network.
pub(super) async fn ask_network(server: &Server, request: &str, headers: &str, body: &str) -> (u16, String) {
    let stream = TcpStream::connect(server.address).await.unwrap();
    spoken(stream, request, &server.address.to_string(), headers, body).await
}

/// The samples of a page: the name with its labels, and the value.
pub(in crate::host) fn samples(page: &str) -> BTreeMap<String, f64> {
    let lines = page.lines().filter(|line| line.starts_with("jackfield_"));
    lines
        .map(|line| line.rsplit_once(' ').unwrap())
        .map(|(name, value)| (name.to_owned(), value.parse().unwrap()))
        .collect()
}

/// A host whose demo agent has done so many turns.
async fn after_turns(turns: usize) -> (Place, Server, SessionId) {
    let place = Place::demo();
    let (server, id) = turns_in(&place, &vec![0; turns]).await;
    (place, server, id)
}

/// A host whose CLI has done three turns, two of them with tools, of which one must be allowed.
async fn after_real_turns(version: &str) -> (Place, Server, SessionId) {
    let echo = json!({ "command": "echo one", "description": "d" });
    let write = json!({ "file_path": "/ws/a.txt", "content": "hello" });
    let replies = [
        Reply::tool_use("Bash", echo),
        Reply::text("one"),
        Reply::tool_use("Write", write),
        Reply::text("two"),
        Reply::text("three"),
    ];
    // No two are equal, so that none is taken for another.
    let usage = Usage {
        input_tokens: 101,
        output_tokens: 23,
        cache_creation_input_tokens: 7,
        cache_read_input_tokens: 1_009,
    };
    let replies = replies.map(|reply| Reply { usage: Some(usage), ..reply });
    let (place, _api) = Place::real(version, replies.into()).await;
    let (server, id) = turns_in(&place, &[0, 1, 0]).await;
    (place, server, id)
}

/// Turns in which so much is asked, and allowed.
async fn turns_in(place: &Place, turns: &[usize]) -> (Server, SessionId) {
    let server = place.serve().await;
    let mut socket = place.client("one").await;
    let id = socket.create(place.create()).await;
    socket.follow(&id).await;
    for asked in turns {
        socket.give(Some(&id), prompt("hello")).await.unwrap();
        for _ in 0..*asked {
            let pending_id = socket.asked(&id).await;
            let verdict = Verdict::Allow(Allow::default());
            socket.give(Some(&id), Answer { pending_id, verdict }).await.unwrap();
        }
        socket.completed(&id).await;
    }
    (server, id)
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_thousand_turns_figures_equal_what_is_stored() {
    figures_equal_what_is_stored(after_turns(1_000).await, 1_000).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn after_turns_of_the_older_cli_figures_equal_what_is_stored() {
    figures_equal_what_is_stored(after_real_turns(OLDER_VERSION).await, 3).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn after_turns_of_the_newer_cli_figures_equal_what_is_stored() {
    figures_equal_what_is_stored(after_real_turns(NEWER_VERSION).await, 3).await;
}

/// What is stored, and the figures of the same moment. A CLI may say something behind its result.
async fn at_rest(place: &Place, id: &SessionId) -> (Vec<Event>, String) {
    loop {
        let events = stored(&place.data, id).await;
        let (status, page) = ask(place, "GET /metrics", "").await;
        assert_eq!(status, 200, "{page}");
        let samples = samples(&page);
        let counted = samples.iter().filter(|(name, _)| name.starts_with("jackfield_events_total"));
        let counted: f64 = counted.map(|(_, count)| count).sum();
        #[allow(clippy::cast_precision_loss)]
        let ahead = counted - events.len() as f64;
        assert!(ahead > -0.5, "{ahead} events: nobody is told of what is not counted");
        if ahead < 0.5 {
            return (events, page);
        }
    }
}

async fn figures_equal_what_is_stored((place, server, id): (Place, Server, SessionId), turns: u32) {
    let (events, page) = timeout(PATIENCE, at_rest(&place, &id)).await.unwrap();
    let samples = samples(&page);
    let mut expected: BTreeMap<String, u64> = BTreeMap::new();
    let mut add = |name: String, count: u64| *expected.entry(name).or_default() += count;
    let (mut calls, mut cost) = (BTreeMap::new(), 0.0);
    for event in &events {
        add(format!("jackfield_events_total{{type=\"{}\"}}", event.body.tag()), 1);
        match &event.body {
            Body::Complete(complete) => {
                add("jackfield_turns_total{outcome=\"complete\"}".to_owned(), 1);
                cost += complete.data.cost_usd;
                for model in &complete.data.models {
                    for (kind, tokens) in [
                        ("input", model.input_tokens),
                        ("output", model.output_tokens),
                        ("cache_read", model.cache_read_tokens),
                        ("cache_creation", model.cache_creation_tokens),
                    ] {
                        let labels = format!("model=\"{}\",kind=\"{kind}\"", model.model);
                        add(format!("jackfield_tokens_total{{{labels}}}"), tokens);
                    }
                }
            }
            Body::ToolCall(call) => drop(calls.insert(&call.tool_call_id, call.normalized.tag())),
            Body::ToolUpdate(update) if update.tool_status == ToolStatus::Complete => {
                let labels = format!("kind=\"{}\",outcome=\"complete\"", calls[&update.tool_call_id]);
                add(format!("jackfield_tool_duration_seconds_count{{{labels}}}"), 1);
            }
            Body::PermissionResolved(resolved) => {
                assert_eq!(resolved.outcome, PermissionOutcome::Allowed);
                add("jackfield_permission_wait_seconds_count{outcome=\"allowed\"}".to_owned(), 1);
            }
            _ => {}
        }
    }
    assert_eq!(expected["jackfield_turns_total{outcome=\"complete\"}"], u64::from(turns));
    let counted = [
        "jackfield_events_total",
        "jackfield_turns_total",
        "jackfield_tokens_total",
        "jackfield_tool_duration_seconds_count",
        "jackfield_permission_wait_seconds_count",
    ];
    let told = samples.iter().filter(|(name, _)| counted.iter().any(|counted| name.starts_with(counted)));
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let told: BTreeMap<String, u64> = told.map(|(name, value)| (name.clone(), *value as u64)).collect();
    assert_eq!(told, expected, "{page}");
    let sum = |name: &str, label: &str| -> f64 {
        samples
            .iter()
            .filter(|(key, _)| key.starts_with(name) && key.contains(label))
            .map(|(_, value)| value)
            .sum()
    };
    assert!((sum("jackfield_cost_usd_total", "") - cost).abs() < 1e-6, "{page}");
    assert!(sum("jackfield_store_commit_seconds_count", "") > 0.0, "{page}");
    assert!(sum("jackfield_memory_bytes", "process=\"host\"") > 1e6, "{page}");
    assert!(sum("jackfield_memory_bytes", "process=\"cli\"") > 1e6, "{page}");
    assert!((sum("jackfield_sessions", "state=\"idle\"") - 1.0).abs() < 0.5, "{page}");
    assert!(server.stop().await.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn who_asks_for_figures_over_the_network_needs_a_login() {
    let (place, server, _) = after_turns(1).await;
    assert_eq!(ask_network(&server, "GET /metrics", "", "").await.0, 401);
    let token = format!("authorization: Bearer {}\r\n", place.token());
    let (status, page) = ask_network(&server, "GET /metrics", &token, "").await;
    assert_eq!(status, 200, "{page}");
    assert!(server.stop().await.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_port_of_their_own_tells_figures_to_this_machine_and_to_no_page() {
    let mut place = Place::demo();
    let config = place.sandbox.places().temporary.join("config.toml");
    std::fs::write(&config, "[metrics]\nlisten = \"127.0.0.1:0\"\n").unwrap();
    place.environment.insert("JACKFIELD_CONFIG".to_owned(), config.to_string_lossy().into_owned());
    let mut server = place.serve().await;
    let address = loop {
        let line =
            timeout(PATIENCE, server.said.next_line()).await.unwrap().unwrap().expect("it tells the port");
        if let Some((_, address)) = line.split_once("figures are at http://") {
            break address.trim_end_matches("/metrics").to_owned();
        }
    };
    let asked = async |host: &str, path: &str| {
        let stream = TcpStream::connect(&address).await.unwrap();
        spoken(stream, &format!("GET {path}"), host, "", "").await
    };
    let (status, page) = asked(&address, "/metrics").await;
    assert!(status == 200 && page.contains("jackfield_sessions{state=\"idle\"} 0"), "{status} {page}");
    assert_eq!(asked("evil.example", "/metrics").await.0, 421);
    assert_eq!(asked(&address, "/api/sessions").await.0, 404);
    assert!(server.stop().await.success());
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs promtool, which `cargo xtask test` fetches"]
async fn figures_are_accepted_by_promtool() {
    accepted_by_promtool(after_turns(3).await).await;
    accepted_by_promtool(after_real_turns(NEWER_VERSION).await).await;
}

async fn accepted_by_promtool((place, server, _): (Place, Server, SessionId)) {
    let (_, page) = ask(&place, "GET /metrics", "").await;
    let mut promtool = tokio::process::Command::new(programs::promtool())
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    promtool.stdin.take().unwrap().write_all(page.as_bytes()).await.unwrap();
    let judged = timeout(PATIENCE, promtool.wait_with_output()).await.unwrap().unwrap();
    let said =
        String::from_utf8_lossy(&judged.stdout).into_owned() + &String::from_utf8_lossy(&judged.stderr);
    assert!(judged.status.success() && said.trim().is_empty(), "{said}\n{page}");
    assert!(server.stop().await.success());
}
