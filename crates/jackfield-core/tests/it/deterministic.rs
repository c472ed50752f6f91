//! *Deterministic*: two plays give equal events, and the events of a live session with its commands are
//! those of its journal, `seq` included.
//!
//! Run on all recordings and on mutated ones with commands of every kind.

use jackfield_core::Options;
use jackfield_core::session::Bypass;
use proptest::collection::vec;
use proptest::prelude::*;

use crate::fixtures;
use crate::harness::{Stage, replay};
use crate::mutation::{Play, config, mutated, step};

#[test]
fn two_plays_of_a_recording_give_equal_events() {
    for recording in fixtures::all() {
        assert_eq!(recording.events(None), recording.events(None), "{}", recording.name);
    }
}

#[test]
fn a_recording_gives_the_same_events_as_steps_and_as_a_journal() {
    for recording in fixtures::all() {
        let mut stage = Stage::new(None);
        // A recording has its own times, and its host its own answers.
        stage.take(&crate::harness::Step::Hold);
        for step in recording.steps() {
            stage.take(&step);
        }
        let without_time = |events: Vec<jackfield_api::Event>| -> Vec<_> {
            events
                .into_iter()
                .map(|event| jackfield_api::Event { at: jackfield_api::Timestamp(0), ..event })
                .collect()
        };
        assert_eq!(without_time(stage.events()), without_time(recording.events(None)), "{}", recording.name);
        assert_eq!(replay(None, stage.journal()), stage.events(), "{}", recording.name);
    }
}

proptest! {
    #![proptest_config(config(256))]

    #[test]
    fn a_replay_of_the_journal_gives_the_events_of_the_live_session(play in mutated()) {
        compare(&play)?;
    }

    #[test]
    fn a_replay_of_any_steps_gives_the_events_of_the_live_session(steps in vec(step(), 0..60)) {
        compare(&Play(steps))?;
    }
}

/// The replay knows nothing of the options: limits and permissions of the live session leave their trace in
/// what was written, or nowhere.
fn compare(play: &Play) -> Result<(), TestCaseError> {
    let options =
        Options { answer_within: Some(60_000), bypass_allowed: Bypass::Allowed, ..Options::default() };
    let mut stage = Stage::with(options);
    for step in &play.0 {
        stage.take(step);
    }
    stage.end();
    let again = replay(None, stage.journal());
    prop_assert_eq!(stage.events(), again);
    Ok(())
}
