//! The end of a run whose host died: wherever a recording is cut off, the transcript's own closing events
//! close everything once, as the end of the run would have.
//!
//! The book is kept by the ledger of the harness.

use jackfield_api::session::RunEndReason;
use jackfield_api::snapshot::SessionState;
use jackfield_api::tool::TaskStatus;
use jackfield_api::{Body, Event, Timestamp, ToolCallId};
use jackfield_core::{Exit, Output, Transcript};
use proptest::prelude::*;
use proptest::sample::{Index, select};

use crate::fixtures;
use crate::harness::{Ledger, Stage, Step};
use crate::mutation::{config, mutated};

#[test]
fn everything_is_closed_wherever_the_host_died_in_a_small_recording() {
    for recording in fixtures::all() {
        let events = recording.events(None);
        if events.len() <= 60 {
            for at in 0..=events.len() {
                check(&events[..at]);
            }
        }
    }
}

#[test]
fn what_is_told_is_what_the_end_of_the_run_would_have_told() {
    for recording in fixtures::all().iter().filter(|recording| recording.entries.len() < 60) {
        let steps = recording.steps();
        for length in 1..steps.len() {
            let mut stage = Stage::new(Some("cut"));
            stage.take(&Step::Hold);
            for step in &steps[..length] {
                stage.take(step);
            }
            let told = ended(&stage.events());
            let begun = stage.events().len();
            if !stage.session().is_running() {
                assert!(told.is_empty(), "{}", recording.name);
                continue;
            }
            stage.take(&Step::Exited(Exit::OutputEnded));
            let mut seen = stage.events().split_off(begun);
            // How it ended is the one thing that nobody knows.
            seen.retain(|event| !matches!(event.body, Body::Error(_) | Body::RunEnded(_) | Body::Hook(_)));
            let told: Vec<_> = told[..told.len() - 2].iter().map(closing).collect();
            let seen: Vec<_> = seen.iter().map(closing).collect();
            assert_eq!(told, seen, "{} after {length} steps", recording.name);
        }
    }
}

proptest! {
    #![proptest_config(config(192))]

    #[test]
    fn everything_is_closed_wherever_the_host_died(recording in select(fixtures::all()), at in any::<Index>()) {
        let events = recording.events(None);
        check(&events[..at.index(events.len() + 1)]);
    }

    #[test]
    fn everything_is_closed_wherever_the_host_died_in_a_mutated_recording(play in mutated(), at in any::<Index>()) {
        let mut stage = Stage::new(Some("host"));
        for step in &play.0 {
            stage.take(step);
        }
        let events = stage.events();
        check(&events[..at.index(events.len() + 1)]);
    }
}

/// What an event closes. How a task ended that the CLI had not announced yet is not in the events.
fn closing(event: &Event) -> (Option<ToolCallId>, Body) {
    let mut body = event.body.clone();
    if let Body::Task(task) = &mut body {
        (task.status, task.summary) = (TaskStatus::Stopped, None);
    }
    (event.parent_tool_call_id.clone(), body)
}

fn fold(events: &[Event]) -> Transcript {
    let mut transcript = Transcript::new();
    for event in events {
        transcript.apply(event);
    }
    transcript
}

/// What is told, from a transcript that holds only what can still change, as a host's does.
fn ended(events: &[Event]) -> Vec<Event> {
    let mut transcript = fold(events);
    transcript.take_settled();
    let told = transcript.host_ended(Timestamp(7));
    assert_eq!(told, fold(events).host_ended(Timestamp(7)));
    told
}

fn check(events: &[Event]) {
    let told = ended(events);
    let mut ledger = Ledger::default();
    for event in events.iter().chain(&told) {
        ledger.enter(&Output::Event(event.clone()));
    }
    ledger.close();
    let mut transcript = fold(&[events, told.as_slice()].concat());
    let snapshot = transcript.snapshot().clone();
    assert_eq!(snapshot.state, SessionState::Ended);
    assert!(snapshot.pending.is_empty());
    assert!(snapshot.queue.is_none_or(|queue| queue.prompts.is_empty()));
    assert!(snapshot.tasks.iter().all(|task| task.status != TaskStatus::Running));
    if let Some(last) = told.last() {
        assert!(matches!(&last.body, Body::RunEnded(end) if end.reason == RunEndReason::HostEnded));
        assert!(told.iter().all(|event| event.at == Timestamp(7)));
    }
    transcript.take_settled();
    assert_eq!(transcript.snapshot().items, []);
    assert_eq!(transcript.host_ended(Timestamp(8)), []);
}
