//! *Join-anywhere*: a snapshot at any event, sent over the wire, plus the events behind it is the whole
//! transcript.
//!
//! Run on all recordings (small ones at every event) and on mutated ones.

use jackfield_api::{Event, Snapshot, codec};
use jackfield_core::Transcript;
use proptest::prelude::*;
use proptest::sample::{Index, select};

use crate::fixtures;
use crate::harness::Stage;
use crate::mutation::{config, mutated};

#[test]
fn a_small_recording_can_be_joined_at_every_event() {
    for recording in fixtures::all() {
        let events = recording.events(None);
        if events.len() <= 60 {
            for at in 0..=events.len() {
                assert_eq!(joined(&events, at), whole(&events), "{} at {at}", recording.name);
            }
        }
    }
}

#[test]
fn an_event_that_is_already_in_a_transcript_changes_nothing() {
    for recording in fixtures::all() {
        let events = recording.events(None);
        let mut transcript = Transcript::new();
        for event in &events {
            transcript.apply(event);
            transcript.apply(event);
        }
        assert_eq!(*transcript.snapshot(), whole(&events), "{}", recording.name);
    }
}

#[test]
fn the_events_of_a_recording_are_read_back_as_they_were_written() {
    for recording in fixtures::all() {
        for event in recording.events(None) {
            let mut line = Vec::new();
            codec::encode(&event, &mut line);
            assert_eq!(
                codec::decode(std::str::from_utf8(&line).unwrap()).unwrap(),
                event,
                "{}",
                recording.name
            );
        }
    }
}

proptest! {
    #![proptest_config(config(192))]

    #[test]
    fn a_recording_can_be_joined_anywhere(recording in select(fixtures::all()), at in any::<Index>()) {
        let events = recording.events(None);
        prop_assert_eq!(joined(&events, at.index(events.len() + 1)), whole(&events));
    }

    #[test]
    fn a_mutated_recording_can_be_joined_anywhere(play in mutated(), at in any::<Index>()) {
        let mut stage = Stage::new(Some("join"));
        for step in &play.0 {
            stage.take(step);
        }
        let events = stage.events();
        prop_assert_eq!(joined(&events, at.index(events.len() + 1)), whole(&events));
    }
}

fn whole(events: &[Event]) -> Snapshot {
    fold(Transcript::new(), events)
}

fn joined(events: &[Event], at: usize) -> Snapshot {
    let sent = serde_json::to_string(&whole(&events[..at])).unwrap();
    let snapshot: Snapshot = serde_json::from_str(&sent).unwrap();
    fold(Transcript::from_snapshot(snapshot), &events[at..])
}

fn fold(mut transcript: Transcript, events: &[Event]) -> Snapshot {
    for event in events {
        transcript.apply(event);
    }
    transcript.snapshot().clone()
}
