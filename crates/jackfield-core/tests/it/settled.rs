//! *Settled*: items that were taken from a transcript at any moments, united with what is left, are the items
//! of a transcript from which nothing was taken; everything else in it is the same.
//!
//! Run on all recordings and on mutated ones.

use jackfield_api::snapshot::{Item, ItemContent};
use jackfield_api::{Event, Snapshot, codec};
use jackfield_core::Transcript;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::json;

use crate::fixtures;
use crate::harness::Stage;
use crate::mutation::{config, mutated};

#[test]
fn items_that_are_taken_after_every_event_are_all_items() {
    for recording in fixtures::all() {
        let events = recording.events(None);
        assert_eq!(taken(&events, |_| true), whole(&events), "{}", recording.name);
    }
}

#[test]
fn nothing_is_left_of_a_recording_that_ended() {
    for recording in fixtures::all() {
        let mut stage = Stage::new(Some("settled"));
        stage.take(&crate::harness::Step::Hold);
        for step in recording.steps() {
            stage.take(&step);
        }
        stage.end();
        let mut transcript = Transcript::new();
        for event in stage.events() {
            transcript.apply(&event);
        }
        let items = transcript.snapshot().items.clone();
        assert_eq!(transcript.take_settled(), items, "{}", recording.name);
        assert_eq!(transcript.snapshot().items, [], "{}", recording.name);
    }
}

#[test]
fn only_what_can_still_change_is_left() {
    let mut transcript = Transcript::new();
    let bodies = [
        json!({ "type": "run_started", "cli_session_id": null, "claude_code_version": null }),
        json!({ "type": "turn_started", "trigger": "prompt" }),
        json!({ "type": "message_chunk", "item_id": 3, "message_id": null, "text": "one" }),
        json!({ "type": "item_ended", "item_id": 3, "outcome": "complete" }),
        json!({ "type": "message_chunk", "item_id": 5, "message_id": null, "text": "two" }),
        json!({ "type": "tool_preparing", "tool_call_id": "t", "tool_name": "Bash", "bytes": 0 }),
        json!({
            "type": "compaction", "trigger": null, "pre_tokens": null, "post_tokens": null, "status": "running",
        }),
        json!({ "type": "notice", "level": "info", "text": "word" }),
    ];
    for (at, body) in bodies.iter().enumerate() {
        transcript.apply(&event(at as u64 + 1, body));
    }
    let seqs = |items: &[Item]| items.iter().map(|item| item.seq.0).collect::<Vec<_>>();
    assert_eq!(seqs(&transcript.take_settled()), [2, 3, 8]);
    assert_eq!(seqs(&transcript.snapshot().items), [5, 6, 7]);
    assert_eq!(transcript.take_settled(), []);

    let more = json!({ "type": "message_chunk", "item_id": 5, "message_id": null, "text": " three" });
    transcript.apply(&event(9, &more));
    transcript.apply(&event(10, &json!({ "type": "item_ended", "item_id": 5, "outcome": "complete" })));
    let settled = transcript.take_settled();
    assert_eq!(seqs(&settled), [5]);
    assert!(matches!(&settled[0].content, ItemContent::Text(text) if text.text == "two three"));
}

#[test]
fn tasks_that_are_over_are_forgotten_in_the_end_and_running_ones_never() {
    let mut transcript = Transcript::new();
    let mut seq = 0;
    let mut tell = |transcript: &mut Transcript, id: &str, status: &str| {
        seq += 1;
        let task = json!({
            "type": "task", "task_id": id, "tool_call_id": null, "status": status, "description": null,
            "usage": null,
        });
        transcript.apply(&event(seq, &task));
    };
    tell(&mut transcript, "first", "running");
    for number in 0..1_000 {
        let id = format!("task-{number}");
        tell(&mut transcript, &id, "running");
        tell(&mut transcript, &id, "completed");
    }
    let ids: Vec<&str> = transcript.snapshot().tasks.iter().map(|task| task.task_id.as_str()).collect();
    assert_eq!(ids.len(), 100);
    assert_eq!((ids[0], ids[1], ids[99]), ("first", "task-901", "task-999"));
    for number in 0..200 {
        tell(&mut transcript, &format!("at-once-{number}"), "running");
    }
    assert_eq!(transcript.snapshot().tasks.len(), 201);
}

proptest! {
    #![proptest_config(config(192))]

    #[test]
    fn items_taken_at_any_moments_are_all_items(
        recording in select(fixtures::all()),
        moments in vec(any::<Index>(), 0..12),
    ) {
        let events = recording.events(None);
        let moments: Vec<usize> = moments.iter().map(|moment| moment.index(events.len().max(1))).collect();
        prop_assert_eq!(taken(&events, |at| moments.contains(&at)), whole(&events));
    }

    #[test]
    fn items_of_mutated_recordings_can_be_taken_too(play in mutated(), every in 1_usize..9) {
        let mut stage = Stage::new(Some("settled"));
        for step in &play.0 {
            stage.take(step);
        }
        let events = stage.events();
        prop_assert_eq!(taken(&events, |at| at % every == 0), whole(&events));
    }

    /// As a host does it that starts again: the header and what is left are stored and read.
    #[test]
    fn a_transcript_that_was_taken_from_can_be_stored(play in mutated(), at in any::<Index>()) {
        let mut stage = Stage::new(Some("settled"));
        for step in &play.0 {
            stage.take(step);
        }
        let events = stage.events();
        let at = at.index(events.len() + 1);
        let mut transcript = Transcript::new();
        for event in &events[..at] {
            transcript.apply(event);
        }
        let mut items = transcript.take_settled();
        let stored = serde_json::to_string(transcript.snapshot()).unwrap();
        let mut transcript = Transcript::from_snapshot(serde_json::from_str(&stored).unwrap());
        for event in &events[at..] {
            transcript.apply(event);
        }
        items.extend(transcript.snapshot().items.iter().cloned());
        items.sort_by_key(|item| item.seq);
        prop_assert_eq!(Snapshot { items, ..transcript.snapshot().clone() }, whole(&events));
    }
}

fn event(seq: u64, body: &serde_json::Value) -> Event {
    let mut event = body.clone();
    let envelope = json!({ "seq": seq, "at": 0, "session_id": "s", "turn": 1 });
    event.as_object_mut().unwrap().extend(envelope.as_object().unwrap().clone());
    codec::decode(&event.to_string()).unwrap()
}

fn whole(events: &[Event]) -> Snapshot {
    let mut transcript = Transcript::new();
    for event in events {
        transcript.apply(event);
    }
    transcript.snapshot().clone()
}

/// The whole, put together from what was taken behind the events that `now` names, and from what is left.
fn taken(events: &[Event], now: impl Fn(usize) -> bool) -> Snapshot {
    let mut transcript = Transcript::new();
    let mut items = Vec::new();
    for (at, event) in events.iter().enumerate() {
        transcript.apply(event);
        if now(at) {
            let settled = transcript.take_settled();
            assert!(settled.is_sorted_by_key(|item| item.seq));
            items.extend(settled);
        }
    }
    items.extend(transcript.snapshot().items.iter().cloned());
    items.sort_by_key(|item| item.seq);
    Snapshot { items, ..transcript.snapshot().clone() }
}
