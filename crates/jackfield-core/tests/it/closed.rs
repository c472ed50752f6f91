//! *Closed*: each item, tool call, question, hook call and task that opens is closed exactly once, at the
//! latest by the end of the run, and each command is answered exactly once.
//!
//! Run on all recordings and on mutated ones. The book is kept by the ledger of the harness, from the
//! outputs alone.

use jackfield_api::codec;
use jackfield_core::{CommandId, Options, Output};
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::fixtures;
use crate::harness::{Ledger, Stage, Step};
use crate::mutation::{Play, config, mutated, step};

#[test]
fn everything_that_opens_in_a_recording_is_closed_once() {
    for recording in fixtures::all() {
        let mut stage = Stage::new(None);
        // What the recording's host did is in it; our own acts would be a second host.
        stage.take(&Step::Hold);
        for step in recording.steps() {
            stage.take(&step);
        }
        stage.take(&Step::Exited(fixtures::CLEAN));
        stage.end();
    }
}

#[test]
fn everything_is_closed_wherever_a_recording_is_cut_off() {
    for recording in fixtures::all().iter().filter(|recording| recording.entries.len() < 60) {
        let steps = recording.steps();
        for length in 1..steps.len() {
            let mut stage = Stage::new(Some("cut"));
            for step in &steps[..length] {
                stage.take(step);
            }
            stage.end();
        }
    }
}

proptest! {
    #![proptest_config(config(256))]

    #[test]
    fn everything_that_opens_is_closed_once(play in mutated()) {
        run(&play);
    }

    #[test]
    fn everything_that_any_steps_open_is_closed_once(steps in vec(step(), 0..60)) {
        run(&Play(steps));
    }
}

#[test]
#[should_panic(expected = "items that the run left open")]
fn the_ledger_sees_an_item_that_never_ends() {
    enter(&[chunk(2, 2), run_ended(3)]);
}

#[test]
#[should_panic(expected = "item 2 ended without being open")]
fn the_ledger_sees_an_item_that_ends_twice() {
    let ended = |seq| json!({ "type": "item_ended", "seq": seq, "item_id": 2, "outcome": "complete" });
    enter(&[chunk(2, 2), ended(3), ended(4)]);
}

#[test]
#[should_panic(expected = "seq has a hole")]
fn the_ledger_sees_a_hole() {
    enter(&[chunk(3, 3)]);
}

#[test]
#[should_panic(expected = "commands without an answer")]
fn the_ledger_sees_a_command_without_an_answer() {
    let mut ledger = enter(&[run_ended(2)]);
    ledger.command(&CommandId("c".into()));
    ledger.close();
}

/// A run with these events.
fn enter(events: &[Value]) -> Ledger {
    let mut ledger = Ledger::default();
    let begun =
        json!({ "type": "run_started", "seq": 1, "cli_session_id": null, "claude_code_version": null });
    for event in std::iter::once(&begun).chain(events) {
        let mut event = event.clone();
        event
            .as_object_mut()
            .unwrap()
            .extend([("at".to_owned(), json!(0)), ("session_id".to_owned(), json!("s"))]);
        ledger.enter(&Output::Event(codec::decode(&event.to_string()).unwrap()));
    }
    ledger
}

fn chunk(seq: u64, item: u64) -> Value {
    json!({ "type": "message_chunk", "seq": seq, "item_id": item, "message_id": null, "text": "a" })
}

fn run_ended(seq: u64) -> Value {
    json!({ "type": "run_ended", "seq": seq, "reason": "closed", "exit_code": 0, "stderr_tail": "" })
}

fn run(play: &Play) {
    let options =
        Options { session_id: Some("closed".into()), answer_within: Some(60_000), ..Options::default() };
    let mut stage = Stage::with(options);
    for step in &play.0 {
        stage.take(step);
    }
    stage.end();
}
