//! A trace goes on with what it was given beside: with a prompt of an editor and of `jackfield run`, whoever has the
//! host, with a turn that is run again, and with a prompt that gets another name while it waits; and where no spans are
//! made, it goes on to the CLI.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use jackfield_api::command::{Close, Command, EditQueued, Prompt, Reply as Told, Retry};
use jackfield_api::session::Priority;
use jackfield_api::socket::{ClientFrame, GivenCommand};
use jackfield_api::{Body, SessionId};
use jackfield_testkit::api::{HttpError, Reply};
use jackfield_testkit::cli::{NEWER_VERSION, OLDER_VERSION};
use serde_json::json;

use super::super::client::{Socket, given, prompt};
use super::super::real::cli;
use super::super::server::Place;
use super::collector::{Arrived, Collector};
use super::editor::Editor;
use super::traces::{Traced, run};
use crate::program::jackfield;

const CALLER: &str = "b7ad6b7169203331";
const STATE: &str = "vendor=1";

/// One of several traces.
fn trace(number: u32) -> String {
    format!("0af7651916cd43dd8448eb211c8{number:05}")
}

fn parent(number: u32) -> String {
    format!("00-{}-{CALLER}-01", trace(number))
}

/// The turns that are over, in order.
fn turns(collector: &Collector) -> Vec<&Arrived> {
    collector.spans.iter().filter(|span| span.name == "streamjson.prompt").collect()
}

/// Whether a turn is a part of this trace, with what was noted beside it.
#[track_caller]
fn is_part(turn: &Arrived, number: u32, state: &str) {
    let told = (turn.trace.as_str(), turn.parent.as_str(), turn.state.as_str());
    assert_eq!(told, (trace(number).as_str(), CALLER, state));
}

#[track_caller]
fn is_alone(turn: &Arrived) {
    assert!(turn.parent.is_empty() && turn.state.is_empty(), "{turn:?}");
    assert!((0..9).all(|number| turn.trace != trace(number)), "{turn:?}");
}

/// What the CLI that runs was told of its trace.
fn told_to_cli(place: &Place) -> Vec<String> {
    let environment = std::fs::read(format!("/proc/{}/environ", cli(place))).unwrap();
    let variables = String::from_utf8_lossy(&environment).into_owned();
    let mut told: Vec<String> =
        variables.split('\0').filter(|variable| variable.starts_with("TRACE")).map(str::to_owned).collect();
    told.sort();
    told
}

/// What a CLI is told that is a part of such a trace where no spans are made.
fn as_given(number: u32) -> [String; 2] {
    [format!("TRACEPARENT={}", parent(number)), format!("TRACESTATE={STATE}")]
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Whose {
    /// The program has a host of its own.
    Own,
    /// Another one runs.
    Running,
}

async fn an_editor(whose: Whose) {
    let mut collector = Collector::start().await;
    let (mut place, _api) = Place::real(NEWER_VERSION, (0..4).map(|_| Reply::text("done")).collect()).await;
    collector.wanted_by(&mut place);
    // A state that the host itself was started with belongs to nobody's prompt.
    place.environment.insert("TRACESTATE".to_owned(), "hosts=own".to_owned());
    let server = if whose == Whose::Running { Some(place.serve().await) } else { None };
    let mut editor = Editor::open(&place).await;
    editor.prompt("one", &json!({ "traceparent": parent(1), "zed.dev/debugMode": true })).await;
    collector.until("streamjson.prompt", 1).await;
    let turn = turns(&collector)[0];
    is_part(turn, 1, "");
    assert_eq!(told_to_cli(&place), [format!("TRACEPARENT=00-{}-{}-01", trace(1), turn.id)]);
    // The next prompt has a trace of its own, or none: also where what was given is no trace.
    editor.prompt("two", &json!({ "traceparent": parent(2), "tracestate": STATE })).await;
    editor.prompt("three", &json!({ "traceparent": parent(3).to_uppercase(), "tracestate": STATE })).await;
    editor.prompt("four", &json!({ "traceparent": [parent(4)], "tracestate": 1 })).await;
    collector.until("streamjson.prompt", 4).await;
    let turns = turns(&collector);
    is_part(turns[1], 2, STATE);
    is_alone(turns[2]);
    is_alone(turns[3]);
    assert_eq!(editor.hang_up().await, "");
    if let Some(server) = server {
        assert!(server.stop().await.success());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_trace_goes_on_from_an_editor_with_a_host_of_its_own() {
    an_editor(Whose::Own).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_trace_goes_on_from_an_editor_through_the_running_host() {
    an_editor(Whose::Running).await;
}

async fn a_program_in_a_traced_job(whose: Whose) {
    let mut collector = Collector::start().await;
    let mut place = Place::demo();
    collector.wanted_by(&mut place);
    let server = if whose == Whose::Running { Some(place.serve().await) } else { None };
    for (number, traceparent) in
        [parent(1), "none of that form".to_owned(), String::new()].into_iter().enumerate()
    {
        place.environment.insert("TRACEPARENT".to_owned(), traceparent);
        place.environment.insert("TRACESTATE".to_owned(), STATE.to_owned());
        let finished = run(&place, &[]);
        assert_eq!((finished.code, finished.err.as_str()), (Some(0), ""));
        collector.until("streamjson.prompt", number + 1).await;
    }
    let turns = turns(&collector);
    is_part(turns[0], 1, STATE);
    is_alone(turns[1]);
    is_alone(turns[2]);
    if let Some(server) = server {
        assert!(server.stop().await.success());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_in_a_traced_job_goes_on_with_its_trace_with_a_host_of_its_own() {
    a_program_in_a_traced_job(Whose::Own).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_in_a_traced_job_goes_on_with_its_trace_in_the_running_host() {
    a_program_in_a_traced_job(Whose::Running).await;
}

/// Gives a command as a part of a trace.
async fn give_in(
    socket: &mut Socket,
    number: u32,
    id: Option<&SessionId>,
    command: impl Into<Command>,
) -> Told {
    let traceparent = Some(parent(number));
    let tracestate = Some(STATE.to_owned());
    let command = GivenCommand { traceparent, tracestate, ..given(id, command) };
    socket.send(&ClientFrame::Command(Box::new(command.clone()))).await;
    socket.answer(&command.id).await.unwrap()
}

impl Traced {
    /// The same in its session.
    async fn give_in(&mut self, number: u32, command: impl Into<Command>) {
        give_in(&mut self.socket, number, Some(&self.id), command).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn where_no_spans_are_made_a_cli_has_the_trace_of_who_has_it_started_and_never_the_hosts() {
    let (mut place, _api) = Place::real(NEWER_VERSION, (0..3).map(|_| Reply::text("done")).collect()).await;
    for (name, value) in [("TRACEPARENT", parent(9).as_str()), ("TRACESTATE", "hosts=own")] {
        place.environment.insert(name.to_owned(), value.to_owned());
    }
    let server = place.serve().await;
    let mut socket = place.client("one").await;
    let id = socket.create(place.create()).await;
    socket.follow(&id).await;
    socket.give(Some(&id), prompt("one")).await.unwrap();
    socket.completed(&id).await;
    assert!(told_to_cli(&place).is_empty(), "nobody gave one");
    socket.give(Some(&id), Close {}).await.unwrap();
    socket.until(&id, |body| matches!(body, Body::RunEnded(_))).await;
    give_in(&mut socket, 1, Some(&id), prompt("two")).await;
    socket.completed(&id).await;
    assert_eq!(told_to_cli(&place), as_given(1), "beside the prompt that starts it");
    socket.give(Some(&id), Close {}).await.unwrap();
    socket.until(&id, |body| matches!(body, Body::RunEnded(_))).await;
    let Told::Created(created) = give_in(&mut socket, 2, None, place.create()).await else { unreachable!() };
    socket.follow(&created.session_id).await;
    socket.give(Some(&created.session_id), prompt("three")).await.unwrap();
    socket.completed(&created.session_id).await;
    assert_eq!(told_to_cli(&place), as_given(2), "it is started ahead with the session");
    assert!(server.stop().await.success());
}

async fn a_run_tells_its_cli_without_spans(whose: Whose) {
    let (mut place, _api) = Place::real(NEWER_VERSION, vec![Reply::text("done")]).await;
    let folder = &place.sandbox.places().temporary;
    let (script, told) = (folder.join("told-cli"), folder.join("told"));
    let program = &place.environment["JACKFIELD_CLAUDE"];
    let words =
        format!("#!/bin/sh\nenv | grep '^TRACE' | sort > '{}'\nexec '{program}' \"$@\"\n", told.display());
    fs::write(&script, words).unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o700)).unwrap();
    let [of_host, of_program] = [9, 1].map(parent);
    place.environment.extend([
        ("JACKFIELD_CLAUDE".to_owned(), script.to_string_lossy().into_owned()),
        ("TRACEPARENT".to_owned(), of_host),
        ("TRACESTATE".to_owned(), STATE.to_owned()),
    ]);
    let server = if whose == Whose::Running { Some(place.serve().await) } else { None };
    place.environment.insert("TRACEPARENT".to_owned(), of_program);
    let mut command = jackfield(["run", "hello", "--timeout", "60", "--data"]);
    command.arg(&place.data).envs(&place.environment).current_dir(&place.sandbox.places().workspace);
    let finished = command.output().unwrap();
    assert!(finished.status.success(), "{finished:?}");
    assert_eq!(fs::read_to_string(told).unwrap().lines().collect::<Vec<_>>(), as_given(1));
    if let Some(server) = server {
        assert!(server.stop().await.success());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_cli_of_a_run_has_its_trace_without_spans_with_a_host_of_its_own() {
    a_run_tells_its_cli_without_spans(Whose::Own).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_cli_of_a_run_has_its_trace_without_spans_in_the_running_host() {
    a_run_tells_its_cli_without_spans(Whose::Running).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_that_is_run_again_goes_on_with_the_trace_beside_the_retry() {
    // One that the CLI does not try again by itself.
    let error = json!({"type": "error", "error": {"type": "permission_error", "message": "no such thing"}});
    let http = HttpError { status: 403, body: error, headers: BTreeMap::new() };
    let refused = Reply { http: Some(http), ..Reply::default() };
    let replies = vec![refused.clone(), refused, Reply::text("done")];
    let mut traced = Traced::begin(NEWER_VERSION, replies).await;
    traced.give_in(1, prompt("go")).await;
    traced.socket.until(&traced.id, |body| matches!(body, Body::Error(_))).await;
    traced.give_in(2, Retry { turn: None }).await;
    traced.socket.until(&traced.id, |body| matches!(body, Body::Error(_))).await;
    traced.collector.until("streamjson.prompt", 2).await;
    let told = told_to_cli(&traced.place);
    // Without one the trace is not that of what is run again.
    traced.socket.give(Some(&traced.id), Retry { turn: None }).await.unwrap();
    traced.socket.completed(&traced.id).await;
    traced.collector.until("streamjson.prompt", 3).await;
    let turns = turns(&traced.collector);
    is_part(turns[0], 1, STATE);
    is_part(turns[1], 2, STATE);
    is_alone(turns[2]);
    let place = format!("TRACEPARENT=00-{}-{}-01", trace(2), turns[1].id);
    assert!(told.contains(&place) && told.contains(&format!("TRACESTATE={STATE}")), "{told:?}");
    assert_eq!(told_to_cli(&traced.place), [format!("TRACEPARENT=00-{}-{}-01", turns[2].trace, turns[2].id)]);
    assert!(traced.server.stop().await.success());
}

async fn prompts_under_other_names(version: &str) {
    let gated = |gate: &str| Reply { gate: Some(gate.to_owned()), ..Reply::text("done") };
    let mut traced = Traced::begin(version, vec![gated("first"), gated("second"), Reply::text("done")]).await;
    let id = traced.id.clone();
    traced.socket.give(Some(&id), prompt("first")).await.unwrap();
    traced.socket.until(&id, |body| matches!(body, Body::UserMessage(_))).await;
    for (number, gate, with) in [(1, "first", "in other words"), (2, "second", "in still other words")] {
        let waits = |text: &str| Prompt { priority: Priority::Later, ..prompt(text) };
        let said = waits("waits");
        traced.give_in(number, said.clone()).await;
        let edit = EditQueued { uuid: said.uuid, with: waits(with) };
        match number {
            1 => drop(traced.socket.give(Some(&id), edit).await.unwrap()),
            // Whoever edits it has a trace too.
            _ => traced.give_in(3, edit).await,
        }
        traced.api.gates().release(gate);
        let is_it = |body: &Body| matches!(body, Body::UserMessage(message) if message.text == with);
        traced.socket.until(&id, is_it).await;
    }
    traced.collector.until("streamjson.prompt", 3).await;
    let turns = turns(&traced.collector);
    is_alone(turns[0]);
    is_part(turns[1], 1, STATE);
    is_part(turns[2], 3, STATE);
    assert!(traced.server.stop().await.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_prompt_that_waits_keeps_its_trace_under_another_name_with_the_older_cli() {
    prompts_under_other_names(OLDER_VERSION).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_prompt_that_waits_keeps_its_trace_under_another_name_with_the_newer_cli() {
    prompts_under_other_names(NEWER_VERSION).await;
}
