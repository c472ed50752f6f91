//! What the variables of OpenTelemetry and the options of figures ask for: done, or refused in words that help.

use std::net::TcpListener;
use std::process::Output;
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};

use jackfield_api::SessionId;
use jackfield_api::socket::{ClientFrame, GivenCommand};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::timeout;

use super::super::client::{Socket, given, prompt};
use super::super::server::{PATIENCE, Place, Server, eventually};
use super::collector::Collector;
use super::figures::{ask, samples};

const ENDPOINT: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";

/// A session whose spans go where the place's environment says.
async fn begun(place: &Place) -> (Server, Socket, SessionId) {
    let server = place.serve().await;
    let mut socket = place.client("one").await;
    let id = socket.create(place.create()).await;
    socket.follow(&id).await;
    (server, socket, id)
}

fn log(place: &Place) -> String {
    std::fs::read_to_string(place.data.join("jackfield.log")).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_understood_is_passed_over_and_stands_in_the_log() {
    let mut collector = Collector::start().await;
    let mut place = Place::demo();
    collector.wanted_by(&mut place);
    let endpoint = place.environment[ENDPOINT].replace("http://", "HTTP://");
    for (name, value) in [
        (ENDPOINT, endpoint.as_str()),
        ("OTEL_EXPORTER_OTLP_HEADERS", "x-test=told,lonely, two words=2"),
        ("OTEL_EXPORTER_OTLP_TIMEOUT", "soon"),
        ("OTEL_BSP_SCHEDULE_DELAY", "-1"),
        ("OTEL_TRACES_EXPORTER", "otlp, console"),
        ("OTEL_TRACES_SAMPLER", "traceidratio"),
    ] {
        place.environment.insert(name.to_owned(), value.to_owned());
    }
    let (server, mut socket, id) = begun(&place).await;
    socket.give(Some(&id), prompt("hello")).await.unwrap();
    collector.until("streamjson.prompt", 1).await;
    assert!(collector.spans.iter().all(|span| span.header.as_deref() == Some("told")));
    assert!(server.stop().await.success());
    let log = log(&place);
    let line = |words: &str| log.lines().find(|line| line.contains(words)).map(str::to_owned);
    let begins = line("traces are exported").unwrap_or_else(|| panic!("{log}"));
    assert!(begins.contains(" INFO ") && begins.contains(&endpoint), "{begins}");
    for name in [
        "OTEL_EXPORTER_OTLP_HEADERS",
        "OTEL_EXPORTER_OTLP_TIMEOUT",
        "OTEL_BSP_SCHEDULE_DELAY",
        "OTEL_TRACES_SAMPLER",
    ] {
        assert!(line(name).is_some_and(|line| line.contains(" WARN ")), "{name}: {log}");
    }
    assert!(!log.contains("lonely") && !log.contains("two words"), "a header may be a secret: {log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn with_always_on_callers_are_not_asked_whether_they_keep_a_trace() {
    let mut collector = Collector::start().await;
    let mut place = Place::demo();
    collector.wanted_by(&mut place);
    place.environment.insert("OTEL_TRACES_SAMPLER".to_owned(), "always_on".to_owned());
    let (server, mut socket, id) = begun(&place).await;
    let trace = "0af7651916cd43dd8448eb211c80319c";
    let traceparent = Some(format!("00-{trace}-b7ad6b7169203331-00"));
    let command = GivenCommand { traceparent, ..given(Some(&id), prompt("hello")) };
    socket.send(&ClientFrame::Command(Box::new(command.clone()))).await;
    socket.answer(&command.id).await.unwrap();
    collector.until("streamjson.prompt", 1).await;
    assert!(collector.spans.iter().all(|span| span.trace == trace));
    assert!(server.stop().await.success());
}

/// How many spans two turns have.
async fn spans_of_two_turns() -> usize {
    let mut collector = Collector::start().await;
    let mut place = Place::demo();
    collector.wanted_by(&mut place);
    let (server, mut socket, id) = begun(&place).await;
    for _ in 0..2 {
        socket.give(Some(&id), prompt("hello")).await.unwrap();
        socket.completed(&id).await;
    }
    collector.until("streamjson.prompt", 2).await;
    assert!(server.stop().await.success());
    collector.spans.len()
}

/// The only line of a log with these words.
#[track_caller]
fn only_line(log: &str, words: &str) -> String {
    let lines: Vec<&str> = log.lines().filter(|line| line.contains(words)).collect();
    let [line] = lines[..] else { panic!("not once `{words}`: {log}") };
    line.to_owned()
}

/// How many spans are lost by a line of a log.
#[track_caller]
fn lost(line: &str) -> usize {
    let count = line.split(' ').find_map(|word| word.strip_prefix("lost="));
    count.unwrap_or_else(|| panic!("{line}")).parse().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_collector_that_never_answers_is_not_waited_for_long_and_the_loss_is_told() {
    let spans = spans_of_two_turns().await;
    let deaf = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = format!("http://{}", deaf.local_addr().unwrap());
    let mut place = Place::demo();
    for (name, value) in [
        (ENDPOINT, endpoint.as_str()),
        ("OTEL_BSP_SCHEDULE_DELAY", "0"),
        // Longer than any test: it is the end of the host that ends it.
        ("OTEL_EXPORTER_OTLP_TIMEOUT", "3600000"),
    ] {
        place.environment.insert(name.to_owned(), value.to_owned());
    }
    let (server, mut socket, id) = begun(&place).await;
    socket.give(Some(&id), prompt("hello")).await.unwrap();
    // One request is under way, and more waits behind it.
    let (mut request, _) = timeout(PATIENCE, deaf.accept()).await.unwrap().unwrap();
    request.read_u8().await.unwrap();
    socket.completed(&id).await;
    socket.give(Some(&id), prompt("hello")).await.unwrap();
    socket.completed(&id).await;
    assert!(server.stop().await.success());
    let told = only_line(&log(&place), "the last spans were not taken in time");
    assert!(told.contains(" WARN ") && told.contains(&endpoint), "{told}");
    assert_eq!(lost(&told), spans, "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_collector_that_is_away_has_not_taken_is_told_in_the_end_with_all_that_was_lost() {
    let spans = spans_of_two_turns().await;
    let mut place = Place::demo();
    for (name, value) in [
        (ENDPOINT, "http://127.0.0.1:1"),
        ("OTEL_BSP_SCHEDULE_DELAY", "0"),
        // So long each request is tried again.
        ("OTEL_EXPORTER_OTLP_TIMEOUT", "100"),
    ] {
        place.environment.insert(name.to_owned(), value.to_owned());
    }
    let (server, mut socket, id) = begun(&place).await;
    for _ in 0..2 {
        socket.give(Some(&id), prompt("hello")).await.unwrap();
        socket.completed(&id).await;
        // The second turn comes behind what is told at once.
        eventually("the loss is told", || log(&place).contains("spans are not taken")).await;
    }
    assert!(server.stop().await.success());
    let log = log(&place);
    let first = only_line(&log, "spans are not taken");
    let last = only_line(&log, "spans were not taken any more");
    assert!(last.contains(" WARN ") && last.contains("http://127.0.0.1:1"), "{last}");
    assert!(lost(&first) < spans, "{first}");
    assert_eq!(lost(&last), spans, "{last}");
}

/// A collector that answers every request with a status, and reads none.
async fn answering(listener: tokio::net::TcpListener, status: Arc<AtomicU16>) {
    loop {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(stream.read_u8().await.unwrap());
        }
        let head = String::from_utf8(head).unwrap().to_ascii_lowercase();
        let length = head.split_once("content-length: ").unwrap().1.lines().next().unwrap();
        stream.read_exact(&mut vec![0; length.parse().unwrap()]).await.unwrap();
        let status = status.load(Ordering::SeqCst);
        let answer = format!("HTTP/1.1 {status} so\r\nconnection: close\r\ncontent-length: 0\r\n\r\n");
        stream.write_all(answer.as_bytes()).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_collector_that_takes_spans_again_is_told_with_what_was_lost_in_the_meantime() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut place = Place::demo();
    place.environment.insert(ENDPOINT.to_owned(), format!("http://{}", listener.local_addr().unwrap()));
    place.environment.insert("OTEL_BSP_SCHEDULE_DELAY".to_owned(), "0".to_owned());
    // One that is not tried again.
    let status = Arc::new(AtomicU16::new(400));
    let collector = tokio::spawn(answering(listener, Arc::clone(&status)));
    let (server, mut socket, id) = begun(&place).await;
    socket.give(Some(&id), prompt("hello")).await.unwrap();
    socket.completed(&id).await;
    eventually("the loss is told", || log(&place).contains("spans are not taken")).await;
    status.store(200, Ordering::SeqCst);
    socket.give(Some(&id), prompt("hello")).await.unwrap();
    socket.completed(&id).await;
    eventually("they are taken", || log(&place).contains("spans are taken again")).await;
    let again = only_line(&log(&place), "spans are taken again");
    assert!(again.contains(" INFO "), "{again}");
    let (_, page) = ask(&place, "GET /metrics", "").await;
    #[allow(clippy::cast_precision_loss)]
    let told = lost(&again) as f64;
    assert!(told > 0.0, "{again}");
    assert_eq!(samples(&page).get("jackfield_spans_lost_total"), Some(&told), "{again}");
    assert!(server.stop().await.success());
    assert!(!log(&place).contains("any more"), "all that was lost was told");
    collector.abort();
}

/// What a host says that does not begin.
async fn refused(place: &Place, options: &[&str]) -> String {
    let mut command = place.command();
    command.args(options).stdout(std::process::Stdio::null());
    let Output { status, stderr, .. } =
        timeout(PATIENCE, command.output()).await.expect("it is refused").unwrap();
    let said = String::from_utf8(stderr).unwrap();
    assert_eq!(status.code(), Some(1), "{said}");
    assert!(said.contains("\nhint: "), "{said}");
    said
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_that_cannot_be_meant_is_refused_at_the_start() {
    for (endpoint, why) in [
        ("garbage", "`garbage`: it does not begin with `http://`"),
        ("127.0.0.1:4318", "`127.0.0.1:4318`: it does not begin with `http://`"),
        ("http://", "`http://`: it names no host"),
        ("http://:4318", "`http://:4318`: it names no host"),
        ("http://127.0.0.1:99999", "`http://127.0.0.1:99999`: its port is none"),
        ("http://127.0.0.1:otlp", "`http://127.0.0.1:otlp`: its port is none"),
        ("http://a b", "`http://a b`: it is no address"),
        ("HTTPS://127.0.0.1:4318", "`HTTPS://127.0.0.1:4318`: only `http` is spoken"),
    ] {
        let mut place = Place::demo();
        place.environment.insert(ENDPOINT.to_owned(), endpoint.to_owned());
        let said = refused(&place, &[]).await;
        assert!(said.contains(why), "{endpoint}: {said}");
    }
}

/// What Claude Code's own telemetry is mostly set to.
fn set_for_the_cli(place: &mut Place) {
    for (name, value) in [(ENDPOINT, "http://127.0.0.1:4317"), ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")] {
        place.environment.insert(name.to_owned(), value.to_owned());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_set_for_the_cli_is_refused_with_what_sets_traces_apart_from_it() {
    let mut place = Place::demo();
    set_for_the_cli(&mut place);
    let said = refused(&place, &[]).await;
    for name in [
        "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL",
        "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
        "OTEL_TRACES_EXPORTER=none",
    ] {
        assert!(said.split("\nhint: ").nth(1).unwrap().contains(name), "{name}: {said}");
    }
    place.environment.insert("OTEL_TRACES_EXPORTER".to_owned(), "none".to_owned());
    assert!(place.serve().await.stop().await.success());

    let mut place = Place::demo();
    let mut collector = Collector::start().await;
    collector.wanted_by(&mut place);
    let endpoint = format!("{}/v1/traces", place.environment[ENDPOINT]);
    set_for_the_cli(&mut place);
    place.environment.insert("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT".to_owned(), endpoint);
    place.environment.insert("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL".to_owned(), "http/protobuf".to_owned());
    let (server, mut socket, id) = begun(&place).await;
    socket.give(Some(&id), prompt("hello")).await.unwrap();
    collector.until("streamjson.prompt", 1).await;
    assert!(server.stop().await.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_place_for_figures_that_is_not_to_be_had_is_told_by_its_own_name() {
    let place = Place::demo();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = format!("metrics.listen={}", taken.local_addr().unwrap());
    for (options, words) in [
        (&["--set", taken.as_str()][..], "cannot tell figures on "),
        (&["--set", "metrics.listen=0.0.0.0:0"], "cannot tell figures on 0.0.0.0:0: "),
        (
            &["--set", "metrics.listen=127.0.0.1:0", "--set", "metrics.enabled=false"],
            "`metrics.listen` is set, and `metrics.enabled` is off",
        ),
    ] {
        let said = refused(&place, options).await;
        assert!(said.contains(words), "{said}");
        let hint = said.split("\nhint: ").nth(1).unwrap();
        assert!(hint.contains("`metrics.") && !hint.contains("--listen") && !hint.contains("tls"), "{said}");
    }
}
