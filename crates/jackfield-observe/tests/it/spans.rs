//! Every span that begins ends exactly once, and parents contain their children: on all recordings, wherever they
//! are cut off, and with events in any order.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use jackfield_api::{Body, Event, ItemId, Timestamp, ToolCallId, TurnNumber, codec};
use jackfield_core::Transcript;
use jackfield_observe::span::names;
use jackfield_observe::{
    Parent, Payloads, Sampled, Seed, Source, Span, SpanId, Spans, TraceContext, TraceId, TraceParent, Value,
};
use proptest::prelude::*;

use crate::recordings;

pub(crate) fn as_it_is(text: &str) -> Cow<'_, str> {
    Cow::Borrowed(text)
}

pub(crate) fn machine() -> Spans {
    Spans::new(Seed(3 << 64 | 5), as_it_is, None)
}

/// The spans that are over.
pub(crate) fn taken(machine: &mut Spans) -> Vec<Span> {
    let mut taken = Vec::new();
    machine.hand_on(|spans| taken = spans.to_vec());
    taken
}

/// The spans of events behind which the session is put away.
pub(crate) fn spans_of<'a>(events: impl IntoIterator<Item = &'a Event>) -> Vec<Span> {
    spans_from(machine(), events)
}

fn spans_from<'a>(mut machine: Spans, events: impl IntoIterator<Item = &'a Event>) -> Vec<Span> {
    let mut last = Timestamp(0);
    for event in events {
        machine.see(event, &mut ());
        last = last.max(event.at);
    }
    machine.end(last);
    assert_eq!(machine.open_spans(), 0, "something stays open");
    taken(&mut machine)
}

/// Checks what must hold for any spans of these events.
fn check<'a>(spans: &[Span], events: impl IntoIterator<Item = &'a Event>) {
    let calls_with_tasks: BTreeSet<&str> = events
        .into_iter()
        .filter_map(|event| match &event.body {
            Body::Task(task) => task.tool_call_id.as_ref().map(ToolCallId::as_str),
            _ => None,
        })
        .collect();
    // What a task does may go on when its call has a result.
    let goes_on = |call: &Span| match call.attribute("gen_ai.tool.call.id") {
        Some(Value::Name(id)) => calls_with_tasks.contains(&**id),
        _ => false,
    };
    let mut known: BTreeMap<_, &Span> = BTreeMap::new();
    for span in spans {
        assert!(known.insert(span.span_id, span).is_none(), "told twice: {span:?}");
        assert!(span.start <= span.end, "{span:?}");
    }
    for span in spans {
        if let Parent::Ours(parent) = span.parent {
            let parent = known.get(&parent).unwrap_or_else(|| panic!("the parent was never told: {span:?}"));
            assert_eq!(parent.trace_id, span.trace_id);
            assert!(
                parent.start <= span.start && (span.end <= parent.end || goes_on(parent)),
                "{span:?} is not inside of {parent:?}"
            );
        }
    }
}

/// How many spans there are with a name.
fn count(spans: &[Span], name: &str) -> usize {
    spans.iter().filter(|span| span.name == name).count()
}

#[test]
fn every_span_of_every_recording_ends_once_inside_its_parent() {
    for recording in recordings::all() {
        let spans = spans_of(&recording.events);
        check(&spans, &recording.events);
        let events =
            |wanted: fn(&Body) -> bool| recording.events.iter().filter(|event| wanted(&event.body)).count();
        let name = &recording.name;
        assert_eq!(
            count(&spans, names::PROMPT),
            events(|body| matches!(body, Body::TurnStarted(_))),
            "{name}"
        );
        assert_eq!(count(&spans, names::TOOL), events(|body| matches!(body, Body::ToolCall(_))), "{name}");
        assert_eq!(
            count(&spans, names::PERMISSION),
            events(|body| matches!(body, Body::PermissionRequest(_))),
            "{name}"
        );
        let items = recording.events.iter().filter_map(|event| match &event.body {
            Body::MessageChunk(chunk) => Some(chunk.item_id),
            Body::Reasoning(thought) => Some(thought.item_id),
            _ => None,
        });
        let items: BTreeSet<_> = items.collect();
        assert_eq!(count(&spans, names::MESSAGE) + count(&spans, names::REASONING), items.len(), "{name}");
        assert!(
            spans
                .iter()
                .all(|span| span.name != names::PROMPT || span.attribute("jackfield.outcome").is_some())
        );
    }
}

#[test]
fn every_span_ends_wherever_a_recording_is_cut_off() {
    for recording in recordings::all().iter().filter(|recording| recording.events.len() < 80) {
        for length in 0..recording.events.len() {
            let events = &recording.events[..length];
            check(&spans_of(events), events);
        }
    }
}

#[test]
fn the_same_events_give_the_same_spans() {
    for recording in recordings::all() {
        assert_eq!(spans_of(&recording.events), spans_of(&recording.events));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn every_span_ends_once_whatever_the_order(
        which in 0_usize..310,
        order in prop::collection::vec(any::<prop::sample::Index>(), 0..120),
        traced in any::<u64>(),
    ) {
        let events = &recordings::all()[which].events;
        // A recording of an editor's wire alone has no events.
        prop_assume!(!events.is_empty());
        let picked: BTreeSet<usize> = order.iter().map(|index| index.index(events.len())).collect();
        // Holes, in order …
        check(&spans_of(picked.iter().map(|index| &events[*index])), events);
        // … and any order, each event once: an event's number is never given twice.
        let mut seen = BTreeSet::new();
        let mixed = order.iter().map(|index| index.index(events.len())).filter(|index| seen.insert(*index));
        let turns: Vec<&Event> = mixed.map(|index| &events[index]).collect();
        check(&spans_of(turns.iter().copied()), events);
        // … also where some of the prompts belong to somebody else's trace.
        let mut machine = machine();
        let prompts = events.iter().filter_map(|event| match &event.body {
            Body::UserMessage(message) => message.uuid.clone(),
            _ => None,
        });
        for (at, prompt) in prompts.enumerate().filter(|(at, _)| traced >> (at % 64) & 1 == 1) {
            let trace_id = TraceId(u128::try_from(at).unwrap() + 1);
            let parent = TraceParent { trace_id, span_id: SpanId(1), sampled: Sampled::Yes };
            machine.prompted(prompt, TraceContext { parent, state: None });
        }
        check(&spans_from(machine, turns), events);
    }
}

#[test]
fn a_prompt_of_a_client_goes_on_with_the_clients_trace() {
    let recording = recordings::named("recordings-2.1.325/subagent");
    let uuid = recording.events.iter().find_map(|event| match &event.body {
        Body::UserMessage(message) => message.uuid.clone(),
        _ => None,
    });
    let parent = TraceParent::read("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01").unwrap();
    let turn = recording.events.iter().find_map(|event| event.turn).unwrap();
    for sampled in [Sampled::Yes, Sampled::No] {
        let mut machine = machine();
        let given = TraceContext { parent: TraceParent { sampled, ..parent }, state: None };
        machine.prompted(uuid.clone().unwrap(), given);
        let place = machine.place(turn, uuid.as_ref()).parent;
        for event in &recording.events {
            machine.see(event, &mut ());
        }
        machine.end(Timestamp(0));
        let spans = taken(&mut machine);
        if sampled == Sampled::No {
            assert_eq!(spans, [], "nobody keeps this trace");
            continue;
        }
        check(&spans, &recording.events);
        let root = spans.iter().find(|span| span.name == names::PROMPT).unwrap();
        assert_eq!((root.trace_id, root.parent), (parent.trace_id, Parent::Remote(parent.span_id)));
        assert_eq!((place.trace_id, place.span_id), (root.trace_id, root.span_id), "it was told before");
        assert!(spans.iter().all(|span| span.trace_id == parent.trace_id));
    }
}

#[test]
fn a_prompt_that_joins_a_turn_leaves_it_in_its_own_trace() {
    for name in ["recordings-2.1.197/steer_during_tool", "recordings-2.1.325/steer_during_tool"] {
        let events = &recordings::named(name).events;
        let joined = events.iter().rev().find_map(|event| match &event.body {
            Body::UserMessage(message) => message.uuid.clone(),
            _ => None,
        });
        let parent = TraceParent::read("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00").unwrap();
        for sampled in [Sampled::Yes, Sampled::No] {
            let mut machine = machine();
            let parent = TraceParent { sampled, ..parent };
            machine.prompted(joined.clone().unwrap(), TraceContext { parent, state: None });
            assert_eq!(spans_from(machine, events), spans_of(events), "{name}");
        }
    }
}

#[test]
fn an_edited_prompt_keeps_its_trace_unless_another_one_is_given() {
    let given = |trace| {
        let parent = TraceParent { trace_id: TraceId(trace), span_id: SpanId(9), sampled: Sampled::Yes };
        TraceContext { parent, state: None }
    };
    let mut machine = machine();
    machine.prompted("a".into(), given(1));
    machine.edited(&"a".into(), "b".into(), None);
    machine.edited(&"b".into(), "c".into(), Some(given(2)));
    machine.edited(&"unknown".into(), "d".into(), None);
    let own = machine.place(TurnNumber(7), None).parent.trace_id;
    // The edit may come too late: then the prompt of before has its turn.
    for (prompt, trace) in [("a", TraceId(1)), ("b", TraceId(1)), ("c", TraceId(2)), ("d", own)] {
        assert_eq!(machine.place(TurnNumber(7), Some(&prompt.into())).parent.trace_id, trace, "{prompt}");
    }
}

/// Events of a session in which a turn runs.
fn in_turn(bodies: &[serde_json::Value]) -> Vec<Event> {
    let begin = serde_json::json!({ "type": "turn_started", "trigger": "prompt" });
    events_of(&[&[begin], bodies].concat())
}

/// Events of a session, one at each moment.
fn events_of(bodies: &[serde_json::Value]) -> Vec<Event> {
    let (mut events, mut turn) = (Vec::new(), 0_u64);
    for (body, seq) in bodies.iter().zip(1_u64..) {
        let mut event = body.clone();
        turn += u64::from(event["type"] == "turn_started");
        for (name, value) in [("seq", seq), ("at", seq), ("turn", turn)] {
            event[name] = value.into();
        }
        event["session_id"] = "s".into();
        events.push(codec::decode(&event.to_string()).unwrap());
    }
    events
}

/// What is known of a span under a name, however often it was said.
fn said<'a>(span: &'a Span, name: &str) -> Vec<&'a Value> {
    span.attributes.iter().filter(|(known, _)| *known == name).map(|(_, value)| value).collect()
}

/// What came of a span.
fn outcomes(span: &Span) -> Vec<&Value> {
    said(span, "jackfield.outcome")
}

#[test]
fn the_model_of_a_turn_is_that_of_its_own_run() {
    let turns = [turn_of("one"), turn_of("two")].concat();
    let spans = spans_of(&events_of(&turns));
    for (span, turn) in spans.iter().filter(|span| span.name == names::PROMPT).zip(["one", "two"]) {
        assert_eq!(said(span, "gen_ai.request.model"), [&Value::Name(turn.into())], "{span:?}");
    }
    assert_eq!(count(&spans, names::PROMPT), 2);
}

#[test]
fn no_figure_of_a_turn_has_the_same_name_where_its_end_is_told() {
    let spans: Vec<Span> =
        recordings::all().iter().flat_map(|recording| spans_of(&recording.events)).collect();
    let figures = |of: &str| -> BTreeSet<&str> {
        let known = spans.iter().filter(|span| span.name == of).flat_map(|span| &span.attributes);
        let figures = known.filter(|(_, value)| matches!(value, Value::Whole(_) | Value::Number(_)));
        figures.map(|(name, _)| *name).collect()
    };
    let (turn, end) = (figures(names::PROMPT), figures(names::COMPLETE));
    assert!(turn.is_disjoint(&end), "{turn:?} {end:?}");
    assert!(turn.contains("gen_ai.usage.input_tokens") && turn.contains("jackfield.cost_usd"), "{turn:?}");
    assert!(end.contains("jackfield.complete.input_tokens"), "{end:?}");
}

#[test]
fn a_turn_that_is_found_after_a_crash_has_its_own_times() {
    let recording = recordings::named("recordings/basic/partial_all_blocks");
    let ended = serde_json::json!({
        "type": "run_ended", "reason": "host_ended", "exit_code": null, "stderr_tail": "",
    });
    let restart = recording.events.last().unwrap().at.0 + 60_000;
    let mut closing = events_of(&[ended]);
    closing[0].at = Timestamp(restart);
    let found = recording.events.iter().filter(|event| !matches!(event.body, Body::RunEnded(_)));
    let behind = spans_of(closing.iter().chain(found.clone()));
    assert_eq!(behind, spans_of(found));
    let turn = behind.iter().find(|span| span.name == names::PROMPT).unwrap();
    assert!(turn.start < turn.end && turn.end.0 < restart, "{turn:?}");
}

#[test]
fn no_time_goes_back_in_a_turn_that_is_open() {
    let notice = serde_json::json!({ "type": "notice", "level": "info", "text": "t" });
    let context = serde_json::json!({
        "type": "context_window", "context_window_size": 2, "context_window_used": 1,
        "context_window_remaining": 1, "context_efficiency": 50.0,
    });
    let mut events = in_turn(&[notice, context]);
    events[1].at = Timestamp(100);
    let spans = spans_of(&events);
    check(&spans, &events);
    let point = spans.iter().find(|span| span.name == names::CONTEXT).unwrap();
    assert_eq!((point.start, point.end), (Timestamp(100), Timestamp(100)));
}

/// A turn that begins a run with this model.
fn turn_of(model: &str) -> Vec<serde_json::Value> {
    let recording = recordings::named("recordings/basic/partial_all_blocks");
    let found = recording.events.iter().find(|event| matches!(event.body, Body::SessionStatus(_))).unwrap();
    let mut status = serde_json::to_value(found).unwrap();
    status["model"] = model.into();
    let begin = serde_json::json!({ "type": "turn_started", "trigger": "prompt" });
    let end =
        serde_json::json!({ "type": "run_ended", "reason": "closed", "exit_code": null, "stderr_tail": "" });
    vec![begin, status, end]
}

#[test]
fn hooks_of_one_name_are_told_apart_and_what_they_say_begins_no_other() {
    let hook = |id: &str, status: &str| {
        serde_json::json!({
            "type": "hook", "hook_id": id, "hook_event": "SessionStart", "hook_name": "startup", "status": status,
            "tool_call_id": null,
        })
    };
    let events = in_turn(&[
        hook("a", "running"),
        hook("b", "running"),
        hook("b", "running"),
        hook("a", "error"),
        hook("b", "complete"),
    ]);
    let spans = spans_of(&events);
    check(&spans, &events);
    let hooks: Vec<&Span> = spans.iter().filter(|span| span.name == names::HOOK).collect();
    let ends: Vec<_> = hooks.iter().map(|span| (span.start.0, span.end.0, outcomes(span))).collect();
    assert_eq!(ends, [(2, 5, vec![&"error".into()]), (3, 6, vec![&"complete".into()])]);
    let failed: Vec<_> = hooks.iter().map(|span| (said(span, "error.type"), span.failed.is_some())).collect();
    assert_eq!(failed, [(vec![&"hook_error".into()], true), (Vec::new(), false)]);
    for hook in hooks {
        assert_eq!(answers(&spans, hook), 1);
    }
}

/// How many answers are inside of a request.
fn answers(spans: &[Span], request: &Span) -> usize {
    spans.iter().filter(|span| span.parent == Parent::Ours(request.span_id)).count()
}

#[test]
fn where_nobody_has_answered_there_is_no_answer() {
    let request = recordings::all().iter().flat_map(|recording| &recording.events).find_map(|event| {
        matches!(event.body, Body::PermissionRequest(_)).then(|| serde_json::to_value(event).unwrap())
    });
    let request = request.unwrap();
    let resolved = |outcome: &str| {
        serde_json::json!({
            "type": "permission_resolved", "pending_id": request["pending_id"], "outcome": outcome, "by": null,
            "message": null,
        })
    };
    let withdrawn =
        serde_json::json!({ "type": "permission_cancelled", "pending_id": request["pending_id"] });
    let hook = |status: &str| {
        serde_json::json!({
            "type": "hook", "hook_id": "a", "hook_event": "Stop", "hook_name": "stop", "status": status,
            "tool_call_id": null,
        })
    };
    for (asked, over, outcome, answered) in [
        (request.clone(), resolved("allowed"), "allowed", 1),
        (request.clone(), resolved("expired"), "expired", 1),
        (request.clone(), resolved("lost"), "lost", 0),
        (request.clone(), withdrawn, "withdrawn", 0),
        (hook("running"), hook("complete"), "complete", 1),
        (hook("running"), hook("cancelled"), "cancelled", 0),
    ] {
        let events = in_turn(&[asked, over]);
        let spans = spans_of(&events);
        check(&spans, &events);
        let is_request = |span: &&Span| span.name == names::PERMISSION || span.name == names::HOOK;
        let request = spans.iter().find(is_request).unwrap();
        assert_eq!((outcomes(request), answers(&spans, request)), (vec![&outcome.into()], answered));
        assert_eq!((request.start, request.end), (Timestamp(2), Timestamp(3)), "{outcome}");
    }
}

#[test]
fn a_run_that_fails_does_not_make_a_turn_a_bad_one_that_has_its_result() {
    let recording = recordings::named("recordings/basic/partial_all_blocks");
    let complete = recording.events.iter().find(|event| matches!(event.body, Body::Complete(_))).unwrap();
    let complete = serde_json::to_value(complete).unwrap();
    let error = |code: &str| serde_json::json!({ "type": "error", "error": "why", "code": code });
    let ended =
        serde_json::json!({ "type": "run_ended", "reason": "wedged", "exit_code": null, "stderr_tail": "" });
    for (events, outcome, failed) in [
        ([complete.clone(), error("crashed")], "complete", None),
        ([complete.clone(), error("rate_limit")], "failed", Some("why")),
        // A CLI that was given up may have its result on its way.
        ([error("wedged"), complete], "complete", None),
        ([error("wedged"), ended], "failed", Some("why")),
    ] {
        let spans = spans_of(&in_turn(&events));
        let turn = spans.iter().find(|span| span.name == names::PROMPT).unwrap();
        assert_eq!((outcomes(turn), turn.failed.as_deref()), (vec![&outcome.into()], failed), "{events:?}");
    }
}

#[test]
fn of_much_that_happens_in_a_span_the_rest_is_counted() {
    let notice = serde_json::json!({ "type": "notice", "level": "info", "text": "t" });
    let spans = spans_of(&in_turn(&vec![notice; 100]));
    assert_eq!((spans[0].events.len(), spans[0].events_left_out), (64, 36));
}

#[test]
fn what_happens_and_what_is_said_take_no_room_from_each_other() {
    let notice = serde_json::json!({ "type": "notice", "level": "info", "text": "t" });
    let mut machine = Spans::new(Seed(1), as_it_is, Some(Payloads::default()));
    let (events, transcript) = (in_turn(&vec![notice; 100]), Transcript::new());
    for event in &events {
        machine.see(event, &mut Told("{}".to_owned(), &transcript));
    }
    machine.end(Timestamp(0));
    let spans = taken(&mut machine);
    let of = |name: &str| spans[0].events.iter().filter(|event| event.name == name).count();
    assert_eq!((of("notice"), of("raw"), of("normalized")), (64, 16, 16));
    assert_eq!(spans[0].events_left_out, (100 - 64) + 2 * (100 - 16));
}

fn without_echo(text: &str) -> Cow<'_, str> {
    if text.contains("echo") { text.replace("echo", "[redacted]").into() } else { text.into() }
}

/// An event's line, and the transcript with it.
struct Told<'a>(String, &'a Transcript);

impl Source for Told<'_> {
    fn raw(&mut self) -> Option<(&str, u64)> {
        Some(("{\"a raw line\":\"with echo\"}", 1000))
    }

    fn normalized(&self) -> Option<&str> {
        Some(&self.0)
    }

    fn text(&self, item: ItemId) -> Option<&str> {
        self.1.text(item)
    }
}

#[test]
fn payloads_stand_side_by_side_and_only_where_they_are_wanted() {
    let recording = recordings::named("recordings/tools/parallel_subagents");
    assert!(
        spans_of(&recording.events).iter().all(|span| {
            span.events.iter().all(|event| event.name != "raw" && event.name != "normalized")
        })
    );
    let mut machine = Spans::new(Seed(1), without_echo, Some(Payloads { bytes: 200 }));
    let mut transcript = Transcript::new();
    for event in &recording.events {
        transcript.apply(event);
        let mut line = Vec::new();
        codec::encode(event, &mut line);
        machine.see(event, &mut Told(String::from_utf8(line).unwrap(), &transcript));
    }
    machine.end(Timestamp(0));
    let spans = taken(&mut machine);
    let tool = spans.iter().find(|span| span.name == names::TOOL).unwrap();
    let told: Vec<&str> = tool.events.iter().map(|event| event.name).collect();
    assert_eq!(told, ["raw", "normalized", "raw", "normalized"], "its call, and its result");
    assert!(tool.events.iter().all(|event| event.payload.is_some()));
    let block = spans.iter().find(|span| span.name == names::MESSAGE).unwrap();
    let [raw, text] = block.events.as_slice() else { panic!("{block:?}") };
    assert_eq!((raw.name, text.name), ("raw", "normalized"));
    assert_eq!(raw.payload.as_ref().unwrap().bytes, 1000, "as long as it was, and not as it is known");
    let text = text.payload.as_ref().unwrap();
    assert!(!block.text(text).starts_with('{'), "the text of a block, and no line: {block:?}");
    assert_eq!(block.attribute("jackfield.bytes"), Some(&Value::Whole(text.bytes)));
    for span in &spans {
        for event in &span.events {
            for (_, value) in &event.attributes {
                if let Value::Text(text) = value {
                    assert!(!text.contains("echo") && text.len() <= 200, "{text}");
                }
            }
            if let Some(text) = event.payload.as_ref().map(|payload| span.text(payload)) {
                assert!(!text.contains("echo") && text.len() <= 200, "{text}");
            }
        }
    }
}

/// What holds words from a list, which cannot have secrets.
const LISTS: [&str; 8] =
    ["type", "kind", "status", "tool_status", "session_status", "trigger", "outcome", "reason"];

/// A secret in every other text.
fn with_secrets(value: &mut serde_json::Value) {
    match value {
        serde_json::Value::String(text) => *text = format!("{text} SECRET {}", "x".repeat(2000)),
        serde_json::Value::Array(all) => all.iter_mut().for_each(with_secrets),
        serde_json::Value::Object(members) => {
            let texts = members.iter_mut().filter(|(name, _)| !LISTS.contains(&name.as_str()));
            texts.for_each(|(_, member)| with_secrets(member));
        }
        _ => {}
    }
}

fn without_secret(text: &str) -> Cow<'_, str> {
    if text.contains("SECRET") { text.replace("SECRET", "[redacted]").into() } else { text.into() }
}

#[test]
fn names_that_hold_secrets_leave_without_them_whatever_they_name() {
    let mut redacted = BTreeSet::new();
    for recording in recordings::all() {
        let mut machine = Spans::new(Seed(1), without_secret, None);
        for event in &recording.events {
            let mut value = serde_json::to_value(event).unwrap();
            with_secrets(&mut value);
            let Ok(event) = serde_json::from_value::<Event>(value) else {
                machine.see(event, &mut ());
                continue;
            };
            machine.see(&event, &mut ());
        }
        machine.end(Timestamp(0));
        for span in taken(&mut machine) {
            let text = format!("{span:?}");
            assert!(!text.contains("SECRET"), "{}", span.name);
            let failed = span.failed.iter().map(String::len);
            let known = span.attributes.iter().map(|(_, value)| match value {
                Value::Text(text) => text.len(),
                Value::Name(name) => name.len(),
                Value::Texts(texts) => texts.iter().map(String::len).max().unwrap_or_default(),
                Value::Whole(_) | Value::Number(_) => 0,
            });
            assert!(failed.chain(known).all(|length| length <= 1024), "{}", span.name);
            if text.contains("[redacted]") {
                redacted.insert(span.name.split('.').nth(1).unwrap().to_owned());
            }
        }
    }
    let all = ["complete", "control", "message_chunk", "prompt", "reasoning", "system", "tool_call"];
    assert_eq!(redacted, all.map(str::to_owned).into());
}
