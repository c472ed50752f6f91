//! Turns that no recording has: each with what it takes to see one thing.

use std::collections::BTreeSet;

use jackfield_api::{Body, Event, Timestamp, codec};
use jackfield_core::Transcript;
use jackfield_observe::span::names;
use jackfield_observe::{Parent, Payloads, Seed, Span, Spans, Value};

use crate::recordings;
use crate::spans::{Told, as_it_is, check, count, spans_of, taken};

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
