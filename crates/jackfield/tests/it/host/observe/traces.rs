//! A turn of the real CLIs at a real collector: exactly the expected tree, however the turn ends.

use std::collections::BTreeMap;

use jackfield_api::command::{Allow, Answer, Interrupt, Verdict};
use jackfield_api::socket::{ClientFrame, GivenCommand};
use jackfield_api::{Body, SessionId};
use jackfield_host::store::Look;
use jackfield_testkit::api::{Block, BlockGate, Content, HttpError, Reply, ScriptedApi};
use jackfield_testkit::cli::{NEWER_VERSION, OLDER_VERSION};
use jackfield_testkit::processes;
use rustix::process::Signal;
use serde_json::{Value, json};

use super::super::client::{Socket, given, prompt};
use super::super::real::cli;
use super::super::server::{Place, Server};
use super::collector::{Arrived, CONTEXT, Collector};
use super::figures::ask_with;
use crate::program::{Finished, jackfield};

const PROMPT: &str = "MAIN go";
const PROMPT_SPAN: &str = "streamjson.prompt";

/// A subagent that writes a file, for which it must ask.
fn subagent() -> Vec<Reply> {
    let task = json!({
        "description": "job", "prompt": "SUB go", "subagent_type": "general-purpose", "run_in_background": false,
    });
    // The main thread quotes the subagent's prompt, the subagent does not know the main thread's.
    let main = |reply: Reply| Reply { matching: Some(PROMPT.into()), ..reply };
    let inside = |reply: Reply| Reply { not_match: Some(PROMPT.into()), ..reply };
    let write = json!({ "file_path": "/ws/a.txt", "content": "hello" });
    vec![
        main(Reply::tool_use("Task", task)),
        inside(Reply::tool_use("Write", write)),
        inside(Reply::text("sub done")),
        main(Reply::text("all done")),
    ]
}

/// The same in the background: it goes on when the turn that began it is over, and its end begins another.
fn subagent_in_background() -> Vec<Reply> {
    let task = json!({
        "description": "job", "prompt": "SUB go", "subagent_type": "general-purpose", "run_in_background": true,
    });
    let main = |reply: Reply| Reply { matching: Some(PROMPT.into()), ..reply };
    let inside = |reply: Reply| Reply { not_match: Some(PROMPT.into()), ..reply };
    let write = json!({ "file_path": "/ws/a.txt", "content": "hello" });
    let write = Reply { gate: Some("inside".to_owned()), ..Reply::tool_use("Write", write) };
    vec![
        main(Reply::tool_use("Task", task)),
        inside(write),
        inside(Reply::text("sub done")),
        main(Reply::text("it is on its way")),
        main(Reply::text("it is done")),
    ]
}

/// A session of the real CLI whose spans go to a collector.
pub(super) struct Traced {
    pub(super) collector: Collector,
    pub(super) place: Place,
    pub(super) server: Server,
    pub(super) socket: Socket,
    pub(super) id: SessionId,
    pub(super) api: ScriptedApi,
}

impl Traced {
    pub(super) async fn begin(version: &str, replies: Vec<Reply>) -> Self {
        let collector = Collector::start().await;
        let (mut place, api) = Place::real(version, replies).await;
        collector.wanted_by(&mut place);
        let server = place.serve().await;
        let mut socket = place.client("one").await;
        let id = socket.create(place.create()).await;
        socket.follow(&id).await;
        Self { collector, place, server, socket, id, api }
    }
}

impl Traced {
    /// Gives the prompt of which a subagent comes, and allows what that asks for.
    async fn give_and_allow(&mut self) {
        self.socket.give(Some(&self.id), prompt(PROMPT)).await.unwrap();
        self.allow().await;
    }

    async fn allow(&mut self) {
        let pending_id = self.socket.asked(&self.id).await;
        let verdict = Verdict::Allow(Allow::default());
        self.socket.give(Some(&self.id), Answer { pending_id, verdict }).await.unwrap();
    }

    /// Stops the host: what has arrived by then are these trees and nothing else. Gives all of it.
    async fn has_told(self, turns: &str) -> Collector {
        self.has_told_with(&[], turns).await
    }

    /// The same where tools go on in the background when their calls are over.
    async fn has_told_with(self, in_background: &[&str], turns: &str) -> Collector {
        let Self { mut collector, place, server, id, .. } = self;
        assert!(server.stop().await.success());
        collector.all().await;
        check(&collector.spans, "-", in_background);
        assert_eq!(collector.tree(), turns);
        let stored = Look::at(&place.data).unwrap().unwrap().last_events(&id, usize::MAX).unwrap();
        let changes = stored.iter().filter(|event| event.starts_with(r#"{"type":"context_window""#)).count();
        assert!(changes > 0);
        let told: Vec<&Arrived> = collector.of(CONTEXT).collect();
        assert_eq!(told.len(), changes, "one for each change of the context");
        let turns: Vec<&str> = collector.of(PROMPT_SPAN).map(|span| span.id.as_str()).collect();
        assert!(
            told.iter().all(|span| turns.contains(&span.parent.as_str())),
            "it is the conversation's own"
        );
        collector
    }
}

/// Whether parents contain their children, and every span has a parent that is known, or a trace of its own.
fn check(spans: &[Arrived], remote: &str, in_background: &[&str]) {
    let known: BTreeMap<&str, &Arrived> = spans.iter().map(|span| (span.id.as_str(), span)).collect();
    assert_eq!(known.len(), spans.len(), "a span was told twice");
    for span in spans {
        assert_eq!((span.service.as_deref(), span.scope.as_str()), (Some("jackfield"), "jackfield"));
        assert_eq!(span.header.as_deref(), Some("told"), "the headers of the environment are sent");
        assert!(span.start <= span.end, "{span:?}");
        if span.parent.is_empty() || span.parent == remote {
            assert_eq!(span.name, "streamjson.prompt");
            continue;
        }
        let parent = known.get(span.parent.as_str()).unwrap_or_else(|| panic!("an unknown parent: {span:?}"));
        assert_eq!(parent.trace, span.trace);
        let tool = parent.attributes.get("gen_ai.tool.name").and_then(Value::as_str).unwrap_or_default();
        assert!(
            parent.start <= span.start && (span.end <= parent.end || in_background.contains(&tool)),
            "{span:?} is not inside of {parent:?}"
        );
    }
}

async fn a_whole_turn(version: &str) {
    let mut traced = Traced::begin(version, subagent()).await;
    traced.give_and_allow().await;
    traced.socket.completed(&traced.id).await;
    let id = traced.id.clone();
    let collector = traced
        .has_told(
            "\
prompt complete
  complete
  message_chunk complete
  system
  tool_call Task complete
    control.control_request.can_use_tool Write allowed
      control.permission_response allowed
    tool_call Write complete
",
        )
        .await;
    let of = |name: &str| collector.of(name).next().unwrap();
    let turn = of(PROMPT_SPAN);
    let attribute = |span: &Arrived, name: &str| span.attributes.get(name).cloned().unwrap_or_default();
    assert_eq!(attribute(turn, "gen_ai.operation.name"), json!("invoke_agent"));
    assert_eq!(attribute(turn, "gen_ai.conversation.id"), json!(id.as_str()));
    let model = attribute(of("streamjson.system"), "gen_ai.request.model");
    assert!(model.is_string());
    assert_eq!(attribute(turn, "gen_ai.request.model"), model, "also in the first turn");
    // Four answers of the model, two of them for the subagent.
    assert_eq!(attribute(turn, "gen_ai.usage.input_tokens"), json!(400));
    assert_eq!(attribute(turn, "gen_ai.usage.output_tokens"), json!(100));
    assert!(attribute(turn, "jackfield.cost_usd").as_f64().unwrap() > 0.0);
    assert!(attribute(turn, "jackfield.duration_ms").as_u64().is_some());
    let complete = of("streamjson.complete");
    assert_eq!(attribute(complete, "jackfield.complete.input_tokens"), json!(400));
    assert_eq!(attribute(complete, "jackfield.complete.output_tokens"), json!(100));
    assert_eq!(attribute(complete, "jackfield.complete.cost_usd"), attribute(turn, "jackfield.cost_usd"));
    let twice = complete.attributes.keys().any(|name| name.starts_with("gen_ai.usage"));
    assert!(!twice, "who adds up a trace counts nothing twice: {complete:?}");
    assert_eq!(attribute(of("streamjson.system"), "jackfield.cli_version"), json!(version));
    assert_eq!(attribute(of("streamjson.control.permission_response"), "jackfield.by"), json!("one"));
    assert_eq!(attribute(of("streamjson.message_chunk"), "gen_ai.request.model"), model);
    assert_eq!(attribute(turn, "jackfield.models"), json!([model]), "which one it was that answered");
    let tool = of("streamjson.tool_call");
    assert_eq!(attribute(tool, "gen_ai.operation.name"), json!("execute_tool"));
    let payloads = collector.spans.iter().flat_map(|span| &span.events);
    assert!(!payloads.into_iter().any(|(name, _)| name == "raw" || name == "normalized"), "they are off");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_with_a_tool_a_permission_and_a_subagent_is_one_tree_with_the_older_cli() {
    a_whole_turn(OLDER_VERSION).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_with_a_tool_a_permission_and_a_subagent_is_one_tree_with_the_newer_cli() {
    a_whole_turn(NEWER_VERSION).await;
}

async fn a_subagent_in_the_background(version: &str) {
    let mut traced = Traced::begin(version, subagent_in_background()).await;
    traced.socket.give(Some(&traced.id), prompt(PROMPT)).await.unwrap();
    traced.socket.completed(&traced.id).await;
    traced.api.gates().release("inside");
    traced.allow().await;
    traced.socket.completed(&traced.id).await;
    // The call has its result at once, and the turn its end; what the subagent does stays inside of the call.
    let collector = traced
        .has_told_with(
            &["Task"],
            "\
prompt complete
  complete
  message_chunk complete
prompt complete
  complete
  message_chunk complete
  system
  tool_call Task complete
    control.control_request.can_use_tool Write allowed
      control.permission_response allowed
    message_chunk complete
    tool_call Write complete
",
        )
        .await;
    let of = |tool: &str| {
        let is_it = |span: &&Arrived| span.attributes.get("gen_ai.tool.name") == Some(&json!(tool));
        collector.spans.iter().find(is_it).unwrap()
    };
    let (task, inside) = (of("Task"), of("Write"));
    assert!(task.end < inside.start && inside.trace == task.trace, "{inside:?} goes on behind {task:?}");
    let last = collector.of(PROMPT_SPAN).last().unwrap();
    assert_eq!(last.attributes["jackfield.trigger"], json!("background"));
    assert!(inside.end <= last.start, "it begins no turn: only its end does");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_subagent_in_the_background_stays_inside_its_tool_call_with_the_older_cli() {
    a_subagent_in_the_background(OLDER_VERSION).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_subagent_in_the_background_stays_inside_its_tool_call_with_the_newer_cli() {
    a_subagent_in_the_background(NEWER_VERSION).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_said_stands_raw_and_normalized_side_by_side_where_it_is_wanted() {
    let mut collector = Collector::start().await;
    let (mut place, _api) = Place::real(NEWER_VERSION, vec![Reply::text("all done")]).await;
    collector.wanted_by(&mut place);
    let config = place.sandbox.places().temporary.join("config.toml");
    std::fs::write(&config, "[traces]\npayloads = true\npayload_bytes = 100\n").unwrap();
    place.environment.insert("JACKFIELD_CONFIG".to_owned(), config.to_string_lossy().into_owned());
    let server = place.serve().await;
    let mut socket = place.client("one").await;
    let id = socket.create(place.create()).await;
    socket.follow(&id).await;
    socket.give(Some(&id), prompt(PROMPT)).await.unwrap();
    socket.completed(&id).await;
    collector.until("streamjson.prompt", 1).await;
    for (name, raw, normalized) in [
        ("streamjson.message_chunk", r#"{"type":""#, "all done"),
        ("streamjson.system", r#"{"type":"system""#, r#"{"type":"session_status""#),
        ("streamjson.complete", r#""duration_api_ms":"#, r#"{"type":"complete""#),
    ] {
        let span = collector.spans.iter().find(|span| span.name == name).unwrap();
        let payloads: Vec<_> = span
            .events
            .iter()
            .map(|(name, said)| (name.as_str(), said["payload"].as_str().unwrap()))
            .collect();
        let [("raw", was_raw), ("normalized", was_normalized)] = payloads[..] else { panic!("{span:?}") };
        assert!(was_raw.contains(raw) && was_normalized.starts_with(normalized), "{span:?}");
        assert!(was_raw.len() <= 100 && was_normalized.len() <= 100, "{span:?}");
        assert!(span.events.iter().all(|(_, said)| said["payload.bytes"].as_u64() >= Some(8)), "{span:?}");
    }
    assert!(server.stop().await.success());
}

/// A text that stops in the middle and waits.
fn halting() -> Vec<Reply> {
    let text = Content::Text { text: "one two three four five six".to_owned() };
    let gate = Some(BlockGate { name: "never".to_owned(), after: 2 });
    vec![Reply { blocks: vec![Block { gate, ..Block::new(text) }], ..Reply::default() }]
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interrupted_text_ends_with_its_turn() {
    let mut traced = Traced::begin(NEWER_VERSION, halting()).await;
    traced.socket.give(Some(&traced.id), prompt("go")).await.unwrap();
    traced.socket.until(&traced.id, |body| matches!(body, Body::MessageChunk(_))).await;
    traced.socket.give(Some(&traced.id), Interrupt {}).await.unwrap();
    traced.socket.until(&traced.id, |body| matches!(body, Body::Error(_))).await;
    traced
        .has_told(
            "\
prompt interrupted interrupted
  complete
  message_chunk complete
  system
",
        )
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interrupted_subagent_leaves_no_span_open() {
    let mut traced = Traced::begin(NEWER_VERSION, subagent()).await;
    traced.socket.give(Some(&traced.id), prompt(PROMPT)).await.unwrap();
    traced.socket.asked(&traced.id).await;
    traced.socket.give(Some(&traced.id), Interrupt {}).await.unwrap();
    traced.socket.until(&traced.id, |body| matches!(body, Body::Error(_))).await;
    traced
        .has_told(
            "\
prompt interrupted interrupted
  complete
  system
  tool_call Task error tool_error
    control.control_request.can_use_tool Write withdrawn
    tool_call Write unfinished
",
        )
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_turn_says_what_failed() {
    let error =
        json!({"type": "error", "error": {"type": "invalid_request_error", "message": "no such thing"}});
    let http = HttpError { status: 400, body: error, headers: BTreeMap::new() };
    let mut replies = subagent();
    let last = replies.last_mut().unwrap();
    *last = Reply { http: Some(http), blocks: Vec::new(), ..last.clone() };
    let mut traced = Traced::begin(NEWER_VERSION, replies).await;
    traced.give_and_allow().await;
    let failed = traced.socket.until(&traced.id, |body| matches!(body, Body::Error(_))).await;
    let Body::Error(failed) = failed.body else { unreachable!() };
    let collector = traced
        .has_told(
            "\
prompt failed unknown
  complete
  message_chunk complete
  system
  tool_call Task complete
    control.control_request.can_use_tool Write allowed
      control.permission_response allowed
    tool_call Write complete
",
        )
        .await;
    let turn = collector.of(PROMPT_SPAN).next().unwrap();
    assert_eq!(turn.attributes["error.type"], json!(failed.code));
    assert_eq!(turn.failed.as_deref(), Some(failed.error.as_str()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_cli_leaves_no_span_open() {
    let mut traced = Traced::begin(NEWER_VERSION, subagent()).await;
    traced.socket.give(Some(&traced.id), prompt(PROMPT)).await.unwrap();
    traced.socket.asked(&traced.id).await;
    processes::signal(cli(&traced.place), Signal::KILL);
    traced.socket.until(&traced.id, |body| matches!(body, Body::RunEnded(_))).await;
    traced
        .has_told(
            "\
prompt failed crashed
  system
  tool_call Task error tool_error
    control.control_request.can_use_tool Write lost
    tool_call Write unfinished
",
        )
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_cli_ends_what_goes_on_in_the_background() {
    let mut traced = Traced::begin(NEWER_VERSION, subagent_in_background()).await;
    traced.socket.give(Some(&traced.id), prompt(PROMPT)).await.unwrap();
    traced.socket.completed(&traced.id).await;
    traced.api.gates().release("inside");
    traced.socket.asked(&traced.id).await;
    processes::signal(cli(&traced.place), Signal::KILL);
    traced.socket.until(&traced.id, |body| matches!(body, Body::RunEnded(_))).await;
    traced
        .has_told_with(
            &["Task"],
            "\
prompt complete
  complete
  message_chunk complete
  system
  tool_call Task complete
    control.control_request.can_use_tool Write lost
    tool_call Write error tool_error
",
        )
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_ends_in_the_middle_of_a_turn_leaves_no_span_open() {
    let mut traced = Traced::begin(NEWER_VERSION, subagent()).await;
    traced.socket.give(Some(&traced.id), prompt(PROMPT)).await.unwrap();
    traced.socket.asked(&traced.id).await;
    traced
        .has_told(
            "\
prompt interrupted interrupted
  complete
  system
  tool_call Task error tool_error
    control.control_request.can_use_tool Write withdrawn
    tool_call Write unfinished
",
        )
        .await;
}

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const CALLER: &str = "b7ad6b7169203331";

/// How a client that is a part of a trace gives its command.
#[derive(Clone, Copy, PartialEq)]
enum Over {
    Socket,
    Http,
}

async fn a_trace_goes_through(over: Over) {
    let replies = vec![Reply::text("one"), Reply::text("two")];
    let Traced { mut collector, place, server, mut socket, id, api: _api } =
        Traced::begin(NEWER_VERSION, replies).await;
    let traceparent = format!("00-{TRACE}-{CALLER}-01");
    let command = given(Some(&id), prompt("go"));
    let state = "vendor=1,other@them=2";
    if over == Over::Socket {
        let command =
            GivenCommand { traceparent: Some(traceparent), tracestate: Some(state.to_owned()), ..command };
        socket.send(&ClientFrame::Command(Box::new(command.clone()))).await;
        socket.answer(&command.id).await.unwrap();
    } else {
        let body = serde_json::to_string(&command).unwrap();
        let header =
            format!("traceparent: {traceparent}\r\ntracestate: vendor=1\r\ntracestate: other@them=2\r\n");
        let (status, answer) = ask_with(&place, "POST /api/commands", &header, &body).await;
        assert_eq!(status, 200, "{answer}");
    }
    socket.completed(&id).await;
    collector.until("streamjson.prompt", 1).await;
    check(&collector.spans, CALLER, &[]);
    let turn = collector.spans.iter().find(|span| span.name == "streamjson.prompt").unwrap().clone();
    assert_eq!((turn.trace.as_str(), turn.parent.as_str()), (TRACE, CALLER));
    assert!(collector.spans.iter().all(|span| span.trace == TRACE && span.state == state));
    let environment = std::fs::read(format!("/proc/{}/environ", cli(&place))).unwrap();
    for told in [format!("TRACEPARENT=00-{TRACE}-{}-01", turn.id), format!("TRACESTATE={state}")] {
        assert!(
            environment.split(|byte| *byte == 0).any(|variable| variable == told.as_bytes()),
            "no {told}"
        );
    }

    // The next turn belongs to nobody, and begins a trace of its own.
    socket.give(Some(&id), prompt("again")).await.unwrap();
    socket.completed(&id).await;
    collector.until("streamjson.prompt", 2).await;
    let next = collector.spans.iter().rfind(|span| span.name == "streamjson.prompt").unwrap();
    assert!(next.parent.is_empty() && next.trace != TRACE && next.state.is_empty(), "{next:?}");
    assert!(server.stop().await.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_trace_goes_from_a_client_of_the_socket_through_the_turn_to_the_cli() {
    a_trace_goes_through(Over::Socket).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_trace_goes_from_the_header_of_a_request_through_the_turn_to_the_cli() {
    a_trace_goes_through(Over::Http).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_the_variables_nothing_is_told_to_anybody() {
    let (place, _api) = Place::real(NEWER_VERSION, vec![Reply::text("one")]).await;
    let server = place.serve().await;
    let mut socket = place.client("one").await;
    let id = socket.create(place.create()).await;
    socket.follow(&id).await;
    socket.give(Some(&id), prompt("go")).await.unwrap();
    socket.completed(&id).await;
    let environment = std::fs::read(format!("/proc/{}/environ", cli(&place))).unwrap();
    assert!(!String::from_utf8_lossy(&environment).contains("TRACEPARENT"));
    assert!(server.stop().await.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_collector_that_is_away_holds_nothing_up() {
    let mut place = Place::demo();
    place.environment.insert("OTEL_EXPORTER_OTLP_ENDPOINT".to_owned(), "http://127.0.0.1:1".to_owned());
    let server = place.serve().await;
    let mut socket = place.client("one").await;
    let id = socket.create(place.create()).await;
    socket.follow(&id).await;
    for _ in 0..3 {
        socket.give(Some(&id), prompt("hello")).await.unwrap();
        socket.completed(&id).await;
    }
    let value: Value = json!(socket.events(&id).len());
    assert!(value.as_u64().unwrap() > 10);
    assert!(server.stop().await.success());
}

/// `jackfield run` in a place, with a host of its own.
pub(super) fn run(place: &Place, more: &[&str]) -> Finished {
    let mut command =
        jackfield(["run", "hello", "--agent", "demo", "--timeout", "60", "--output-format", "json"]);
    command.args(more).arg("--data").arg(&place.data).envs(&place.environment);
    command.current_dir(&place.sandbox.places().workspace).output().unwrap().into()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_of_a_programs_own_is_watched_too() {
    let mut collector = Collector::start().await;
    let mut place = Place::demo();
    collector.wanted_by(&mut place);
    place.environment.insert("JACKFIELD_DEBUG_AGENT_MESSAGES".to_owned(), "true".to_owned());
    let files = || std::fs::read_dir(place.data.join("debug")).map_or(0, Iterator::count);
    // Whether its sessions are kept or not.
    for (number, more) in [&[][..], &["--ephemeral"]].into_iter().enumerate() {
        let finished = run(&place, more);
        assert_eq!(finished.code, Some(0), "{}", finished.err);
        collector.until("streamjson.prompt", number + 1).await;
        assert_eq!(files(), 2 * (number + 1), "a journal and the events of each session");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn variables_for_other_programs_do_not_keep_a_program_from_its_own_host() {
    let mut place = Place::demo();
    place.environment.insert("OTEL_EXPORTER_OTLP_ENDPOINT".to_owned(), "https://127.0.0.1:1".to_owned());
    let finished = run(&place, &[]);
    assert_eq!(finished.code, Some(0), "{}", finished.err);
    assert!(!place.data.join("debug").exists(), "nothing is written unless somebody asks for it");
}
