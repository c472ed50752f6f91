//! How prompts end, event by event.

#![allow(clippy::unwrap_used, clippy::panic)]

use jackfield_api::Timestamp;
use jackfield_api::conversation::{DroppedPrompt, Queue, UserMessage};
use jackfield_api::session::RunEndReason;
use jackfield_api::usage::Complete;

use super::*;

fn event(seq: u64, turn: u32, body: impl Into<Body>) -> Event {
    Event {
        body: body.into(),
        seq: Seq(seq),
        at: Timestamp(0),
        session_id: "s".into(),
        turn: Some(TurnNumber(turn)),
        parent_tool_call_id: None,
    }
}

fn said(uuid: &str) -> UserMessage {
    UserMessage { text: String::new(), attachments: Vec::new(), uuid: Some(uuid.into()) }
}

fn complete(reason: &str) -> Complete {
    let data = TurnFigures {
        cost_usd: 0.0,
        total_cost_usd: 0.0,
        duration_ms: 0,
        duration_api_ms: 0,
        num_turns: 1,
        input_tokens: 1,
        output_tokens: 2,
        cache_read_tokens: 3,
        cache_creation_tokens: 4,
        last_message_uuid: None,
        terminal_reason: Some(reason.to_owned()),
        permission_denials: Vec::new(),
        structured_output: None,
        models: Vec::new(),
    };
    Complete { data }
}

fn failure(code: &str) -> Failure {
    Failure { error: "it failed".to_owned(), code: code.to_owned() }
}

fn ended() -> RunEnded {
    RunEnded { reason: RunEndReason::Crashed, exit_code: None, stderr_tail: "boom".to_owned() }
}

fn dropped(uuid: &str, reason: DropReason) -> Queue {
    let prompt = DroppedPrompt { uuid: Some(uuid.into()), text: String::new(), reason };
    Queue { prompts: Vec::new(), dropped: vec![prompt] }
}

/// A prompt in its turn.
fn in_turn() -> Prompts {
    let mut prompts = Prompts::default();
    prompts.begin(RequestId::Number(1), "u".into());
    prompts.given(&"u".into());
    prompts.taken(&"u".into());
    prompts.see(&event(1, 1, said("u")));
    prompts
}

fn endings(prompts: &mut Prompts) -> Vec<Ending> {
    prompts.settle().into_iter().map(|(_, ending, _)| ending).collect()
}

fn stop(reason: StopReason) -> Vec<Ending> {
    vec![Ending::Stop(reason)]
}

#[test]
fn a_turn_that_ended_well_ends_its_prompt_once() {
    let mut prompts = in_turn();
    assert!(endings(&mut prompts).is_empty());
    prompts.see(&event(2, 1, complete("completed")));
    let settled = prompts.settle();
    assert_eq!(settled[0].1, Ending::Stop(StopReason::EndTurn));
    assert_eq!(settled[0].2.as_ref().unwrap().total_tokens, 10);
    prompts.see(&event(3, 1, complete("completed")));
    prompts.see(&event(4, 1, ended()));
    assert!(endings(&mut prompts).is_empty());
}

#[test]
fn a_failure_right_behind_the_end_is_the_turns_and_a_later_one_is_not() {
    let mut prompts = in_turn();
    prompts.see(&event(2, 1, complete("completed")));
    prompts.see(&event(3, 1, failure("overloaded")));
    assert!(matches!(&endings(&mut prompts)[..], [Ending::Failed(_)]));
    let mut prompts = in_turn();
    prompts.see(&event(2, 1, complete("completed")));
    prompts.see(&event(5, 1, failure("overloaded")));
    assert_eq!(endings(&mut prompts), stop(StopReason::EndTurn));
}

#[test]
fn failures_that_are_reasons_to_stop_are_told_as_such() {
    for (code, reason) in [
        ("interrupted", StopReason::Cancelled),
        ("refusal", StopReason::Refusal),
        ("max_output_tokens", StopReason::MaxTokens),
        ("error_max_turns", StopReason::MaxTurnRequests),
        ("error_max_budget_usd", StopReason::MaxTurnRequests),
    ] {
        let mut prompts = in_turn();
        prompts.see(&event(2, 1, complete("completed")));
        prompts.see(&event(3, 1, failure(code)));
        assert_eq!(endings(&mut prompts), stop(reason), "{code}");
    }
    let mut prompts = in_turn();
    prompts.see(&event(2, 1, complete("completed")));
    prompts.see(&event(3, 1, failure("authentication_failed")));
    let [Ending::Failed(error)] = &endings(&mut prompts)[..] else { panic!() };
    assert_eq!(error.code, crate::schema::ErrorCode::AuthRequired);
}

#[test]
fn a_run_that_ends_in_a_turn_is_never_the_end_of_the_turn() {
    let mut prompts = in_turn();
    prompts.see(&event(2, 1, ended()));
    let [Ending::Failed(error)] = &endings(&mut prompts)[..] else { panic!() };
    assert!(error.message.contains("boom"), "{}", error.message);
}

#[test]
fn the_turns_of_others_end_nothing_here() {
    let mut prompts = Prompts::default();
    prompts.begin(RequestId::Number(1), "u".into());
    prompts.given(&"u".into());
    prompts.see(&event(1, 1, said("theirs")));
    prompts.see(&event(2, 1, complete("completed")));
    assert!(endings(&mut prompts).is_empty());
    prompts.see(&event(3, 2, said("u")));
    prompts.see(&event(4, 2, complete("completed")));
    assert_eq!(endings(&mut prompts), stop(StopReason::EndTurn));
}

#[test]
fn a_cancelled_prompt_is_always_cancelled() {
    let finish: [&dyn Fn(&mut Prompts); 5] = [
        &|prompts| prompts.see(&event(2, 1, complete("completed"))),
        &|prompts| prompts.see(&event(2, 1, ended())),
        &|prompts| prompts.see(&event(2, 1, dropped("u", DropReason::RunEnded))),
        &|prompts| prompts.over("gone"),
        &|prompts| prompts.give_up(),
    ];
    for finish in finish {
        let mut prompts = in_turn();
        prompts.cancel(None);
        prompts.cancel(None);
        assert_eq!(prompts.stopping(), [("u".into(), Place::InTurn(TurnNumber(1)))]);
        finish(&mut prompts);
        assert_eq!(endings(&mut prompts), stop(StopReason::Cancelled));
        assert!(prompts.stopping().is_empty());
    }
}

#[test]
fn a_prompt_that_is_held_back_is_dropped_at_once() {
    let mut prompts = Prompts::default();
    prompts.begin(RequestId::Number(1), "u".into());
    prompts.begin(RequestId::Number(2), "v".into());
    prompts.cancel(Some(&RequestId::Number(2)));
    assert_eq!(prompts.drop_held(), ["v".into()]);
    assert_eq!(endings(&mut prompts), stop(StopReason::Cancelled));
}

#[test]
fn a_prompt_that_never_got_a_turn_says_why() {
    let mut prompts = Prompts::default();
    prompts.begin(RequestId::Number(1), "u".into());
    prompts.refused(&"u".into(), "no such program");
    let [Ending::Failed(error)] = &endings(&mut prompts)[..] else { panic!() };
    assert_eq!(error.message, "no such program");
    prompts.begin(RequestId::Number(2), "v".into());
    prompts.see(&event(1, 1, dropped("v", DropReason::Cancelled)));
    assert_eq!(endings(&mut prompts), stop(StopReason::Cancelled));
}
