//! How a CLI may end, or not: one that has ended ends the session at once, one that does not listen is ended,
//! and a turn that was cut is never a success.

use std::fs;
use std::time::Duration;

use jackfield_api::command::RejectionCode;
use jackfield_api::conversation::DropReason;
use jackfield_api::session::RunEndReason;
use jackfield_api::{Body, SharedEvent};
use jackfield_sdk::{Callbacks, Pace, Session, StartError, TurnError};
use jackfield_testkit::case::Nothing;
use jackfield_testkit::fake::FakeStep;
use jackfield_testkit::processes;
use rustix::process::Signal;
use serde_json::json;
use tokio::time::timeout;

use super::fake::{Fake, assistant, bytes, init, opening, prompted, ready, result, silence, turn};
use super::faults::{listen, malformed, tags};
use super::place::{self, PATIENCE, all, eventually, say, until};

/// What becomes of a prompt that was written and of which nothing was heard.
const UNHEARD: TurnError = TurnError::Dropped(DropReason::RunEnded);

/// What is told when a turn is cut by this.
async fn cut(fault: Vec<FakeStep>, strike: impl FnOnce(&Fake)) -> (Vec<SharedEvent>, Fake) {
    let mut steps = vec![prompted()];
    steps.extend(opening("before"));
    steps.extend(fault);
    let fake = Fake::new(steps);
    let session = fake.session().await;
    let mut events = session.events(Pace::Lossless);
    let mut watch = session.events(Pace::Lossless);
    let turn = session.prompt("go").await.unwrap();
    until(&mut watch, |body| matches!(body, Body::Stderr(line) if line.text == "now")).await;
    strike(&fake);
    assert_eq!(timeout(PATIENCE, turn.result()).await.unwrap().unwrap_err(), TurnError::RunEnded);
    let events = all(&mut events).await;
    assert!(!tags(&events).contains(&"complete"), "a turn that was cut is no success");
    assert!(matches!(events[events.len() - 2].body, Body::Error(_)), "{:?}", tags(&events));
    let late = session.prompt("too late").await.unwrap_err();
    assert_eq!(late.code(), RejectionCode::RunEnded);
    let late = session.set_mode("plan").await.unwrap_err();
    assert_eq!(late.code(), RejectionCode::RunEnded);
    assert_eq!(fake.alive(), Vec::<u32>::new());
    (events, fake)
}

fn end(events: &[SharedEvent]) -> (RunEndReason, Option<i32>) {
    let Body::RunEnded(end) = &events.last().unwrap().body else { panic!("{:?}", tags(events)) };
    (end.reason, end.exit_code)
}

fn now() -> FakeStep {
    FakeStep::Stderr("now".to_owned())
}

const HALF: &str = r#"{"type":"result","subtype":"success","is_error":false,"result":"bef"#;

#[tokio::test]
async fn half_a_line_and_exit_0_is_no_success() {
    let (events, _fake) = cut(vec![bytes(HALF), now(), FakeStep::Exit(0)], |_| {}).await;
    assert_eq!(malformed(&events), [HALF]);
    assert_eq!(end(&events), (RunEndReason::Closed, Some(0)));
}

#[tokio::test]
async fn a_cli_killed_in_the_middle_of_a_line_ends_the_session() {
    let strike = |fake: &Fake| processes::signal(fake.process(), Signal::KILL);
    let (events, _fake) = cut(vec![bytes(HALF), now(), FakeStep::Hang(Nothing {})], strike).await;
    assert_eq!(malformed(&events), [HALF]);
    assert_eq!(end(&events), (RunEndReason::Crashed, None));
}

#[tokio::test]
async fn exit_1_in_the_middle_of_a_turn_is_a_failure() {
    let (events, _fake) = cut(vec![now(), FakeStep::Exit(1)], |_| {}).await;
    assert_eq!(end(&events), (RunEndReason::Failed, Some(1)));
}

#[tokio::test]
async fn a_cli_that_closes_its_output_and_stays_is_ended() {
    let (events, _fake) =
        cut(vec![now(), FakeStep::CloseStdout(Nothing {}), FakeStep::Hang(Nothing {})], |_| {}).await;
    assert_eq!(end(&events).0, RunEndReason::Killed);
}

#[tokio::test]
async fn a_silent_cli_is_waited_for_and_a_close_ends_it_at_once() {
    let fake = Fake::new([prompted(), now(), silence()]);
    let session = fake.session().await;
    let mut events = session.events(Pace::Lossless);
    let mut turn = Box::pin(session.prompt("go").await.unwrap().result());
    until(&mut events, |body| matches!(body, Body::Stderr(_))).await;
    assert!(futures_util::poll!(&mut turn).is_pending(), "nothing is made up");
    session.close().await;
    assert_eq!(turn.await.unwrap_err(), UNHEARD);
    assert_eq!(end(&all(&mut events).await), (RunEndReason::Closed, Some(0)));
}

#[tokio::test]
async fn a_silent_cli_in_the_middle_of_a_turn_is_closed_too() {
    let mut steps = vec![prompted()];
    steps.extend(opening("before"));
    // It knows no interrupt either; only the end of its input reaches it.
    steps.push(silence());
    let fake = Fake::new(steps);
    let session = fake.session().await;
    let mut events = session.events(Pace::Lossless);
    let turn = session.prompt("go").await.unwrap();
    until(&mut events, |body| matches!(body, Body::MessageChunk(_))).await;
    let mut raw = session.raw();
    let closing = tokio::spawn(async move { session.close().await });
    let line = timeout(PATIENCE, raw.recv()).await.unwrap().unwrap();
    assert!(line.text.contains("interrupt"), "{}", line.text);
    pass(Duration::from_secs(6)).await;
    timeout(PATIENCE, closing).await.unwrap().unwrap();
    assert_eq!(turn.result().await.unwrap_err(), TurnError::RunEnded);
    let events = all(&mut events).await;
    assert_eq!(end(&events), (RunEndReason::Closed, Some(0)));
    assert!(tags(&events).contains(&"error"), "the turn was cut");
}

#[tokio::test]
async fn the_last_lines_of_standard_error_tell_why_the_cli_died() {
    let words =
        |number: usize| format!("complaint number {number} of a CLI that does not feel well at all today");
    let many = (0..1000).map(words).collect::<Vec<_>>().join("\n");
    let fake = Fake::new([prompted(), FakeStep::Stderr(many), FakeStep::Exit(3)]);
    let session = fake.session().await;
    let events = listen(&session);
    let turn = session.prompt("go").await.unwrap();
    assert_eq!(timeout(PATIENCE, turn.result()).await.unwrap().unwrap_err(), UNHEARD);
    let events = events.await.unwrap();
    let [.., error, end] = &events[..] else { panic!("{:?}", tags(&events)) };
    let Body::Error(error) = &error.body else { panic!("{error:?}") };
    assert!(error.error.contains("code 3") && error.error.contains(&words(999)), "{}", error.error);
    let Body::RunEnded(end) = &end.body else { panic!("{end:?}") };
    assert_eq!((end.reason, end.exit_code), (RunEndReason::Failed, Some(3)));
    let kept: Vec<&str> = end.stderr_tail.lines().collect();
    assert_eq!((kept.len(), kept[0], kept[63]), (64, words(936).as_str(), words(999).as_str()));
}

#[tokio::test]
async fn what_lies_in_the_pipe_of_a_cli_that_is_gone_is_not_lost() {
    // The first half is more than a lossless reader may be behind, so that the second one is not read before
    // the CLI is gone.
    let long = "x".repeat(5 * 1024 * 1024);
    let mut steps = vec![prompted()];
    steps.extend([init(), assistant(&long)].map(FakeStep::Send));
    steps.push(prompted());
    let mut last = assistant("last words");
    last["message"]["id"] = json!("msg_2");
    steps.extend([last, result("last words")].map(FakeStep::Send));
    steps.push(FakeStep::Exit(0));
    let fake = Fake::new(steps);
    let session = fake.session().await;
    let mut slow = session.events(Pace::Lossless);
    let mut quick = session.events(Pace::Lossy);
    let first = session.prompt("first").await.unwrap();
    until(&mut quick, |body| matches!(body, Body::MessageChunk(_))).await;
    session.prompt("second").await.unwrap();
    let text = timeout(PATIENCE, first.result()).await.unwrap().unwrap().text;
    assert_eq!(text, format!("{long}\n\nlast words"));
    let events = all(&mut slow).await;
    let numbers: Vec<u64> = events.iter().map(|event| event.seq.0).collect();
    assert_eq!(numbers, (1..=numbers.len() as u64).collect::<Vec<_>>(), "no hole");
    assert_eq!(end(&events), (RunEndReason::Closed, Some(0)));
}

// ---- a CLI that does not listen ----

/// Lets so much time pass for this process, and for nobody else.
pub(crate) async fn pass(time: Duration) {
    tokio::time::pause();
    tokio::time::advance(time).await;
    tokio::time::resume();
}

/// A prompt that does not fit into a pipe.
fn long_prompt() -> String {
    "x".repeat(4 * 1024 * 1024)
}

#[tokio::test]
async fn f23_a_cli_that_never_reads_is_ended_by_the_deadline_of_a_write() {
    let fake = Fake::new([FakeStep::Hang(Nothing {})]);
    let session = fake.session().await;
    let mut events = session.events(Pace::Lossless);
    let passing = async {
        assert_eq!(session.snapshot().await.unwrap().turn, None);
        pass(Duration::from_secs(31)).await;
    };
    // What was never written was not said.
    let (prompted, ()) = tokio::join!(timeout(PATIENCE, session.prompt(long_prompt())), passing);
    assert_eq!(prompted.unwrap().map(drop).unwrap_err().code(), RejectionCode::RunEnded);
    assert_eq!(end(&all(&mut events).await), (RunEndReason::Killed, None));
    assert_eq!(fake.alive(), Vec::<u32>::new());
}

#[tokio::test]
async fn a_cli_that_never_reads_can_be_closed() {
    let fake = Fake::new([FakeStep::Hang(Nothing {})]);
    let session = fake.session().await;
    let closing = async {
        // The prompt is on its way.
        assert!(session.snapshot().await.is_some());
        let passing = async {
            assert!(session.snapshot().await.is_some());
            // The ladder's first step: input cannot be closed, so it is told to end.
            pass(Duration::from_secs(6)).await;
        };
        tokio::join!(timeout(PATIENCE, session.close()), passing).0.unwrap();
    };
    let (prompted, ()) = tokio::join!(timeout(PATIENCE, session.prompt(long_prompt())), closing);
    assert_eq!(prompted.unwrap().map(drop).unwrap_err().code(), RejectionCode::RunEnded);
    assert_eq!(fake.alive(), Vec::<u32>::new());
}

#[tokio::test]
async fn dropping_the_last_handle_ends_a_cli_that_never_reads() {
    let fake = Fake::new([FakeStep::Hang(Nothing {})]);
    let session = fake.session().await;
    let mut events = session.events(Pace::Lossless);
    tokio::select! {
        biased;
        prompted = session.prompt(long_prompt()) => panic!("nobody read it: {:?}", prompted.map(drop)),
        snapshot = session.snapshot() => assert!(snapshot.is_some()),
    }
    drop(session);
    assert_eq!(end(&all(&mut events).await), (RunEndReason::Killed, None));
    assert_eq!(fake.alive(), Vec::<u32>::new());
}

#[tokio::test]
async fn f23_a_wedged_cli_is_found_reported_and_ended() {
    let asked = json!({"type": "control_request", "request": {"subtype": "set_permission_mode"}});
    let mut steps = turn("one");
    steps.extend([FakeStep::Await(asked), now(), FakeStep::Hang(Nothing {})]);
    let fake = Fake::new(steps);
    let session = fake.session().await;
    let mut events = session.events(Pace::Lossless);
    say(&session, "one").await;
    let setting = tokio::spawn({
        let session = session.clone();
        async move { session.set_mode("plan").await }
    });
    until(&mut events, |body| matches!(body, Body::Stderr(line) if line.text == "now")).await;
    pass(Duration::from_secs(31)).await;
    let refused = timeout(PATIENCE, setting).await.unwrap().unwrap().unwrap_err();
    assert_eq!(refused.code(), RejectionCode::TimedOut);
    let events = all(&mut events).await;
    assert!(events.iter().any(|event| matches!(&event.body, Body::Error(error) if error.code == "wedged")));
    assert_eq!(end(&events).0, RunEndReason::Wedged);
    assert_eq!(fake.alive(), Vec::<u32>::new());
}

#[tokio::test]
async fn a_cli_that_is_wedged_twice_in_a_row_is_not_started_again() {
    const SESSION: &str = "44444444-4444-4444-8444-444444444444";
    let asked = json!({"type": "control_request", "request": {"subtype": "set_permission_mode"}});
    let fake = Fake::new([FakeStep::Await(asked), now(), FakeStep::Hang(Nothing {})]);
    // What was said before: without it there would be nothing to go on with.
    let config = fake.sandbox.places().home.join(".claude");
    let folder = config.join("projects/-somewhere");
    fs::create_dir_all(&folder).unwrap();
    let message = json!({
        "type": "user", "uuid": "55555555-5555-4555-8555-555555555555", "parentUuid": null, "sessionId": SESSION,
        "isSidechain": false, "message": {"role": "user", "content": "one"},
    });
    fs::write(folder.join(format!("{SESSION}.jsonl")), format!("{message}\n")).unwrap();
    let options = fake.options().variable("CLAUDE_CONFIG_DIR", config).resume(SESSION);
    let session = place::start(options, Callbacks::new()).await;
    let mut events = session.events(Pace::Lossless);
    for _ in 0..2 {
        let setting = tokio::spawn({
            let session = session.clone();
            async move { session.set_mode("plan").await }
        });
        until(&mut events, |body| matches!(body, Body::Stderr(line) if line.text == "now")).await;
        pass(Duration::from_secs(31)).await;
        let refused = timeout(PATIENCE, setting).await.unwrap().unwrap().unwrap_err();
        assert_eq!(refused.code(), RejectionCode::TimedOut);
        let end = until(&mut events, |body| matches!(body, Body::RunEnded(_))).await;
        let Body::RunEnded(end) = &end.body else { unreachable!() };
        assert_eq!(end.reason, RunEndReason::Wedged);
    }
    assert_eq!(all(&mut events).await, [], "that was all");
    assert_eq!(fake.alive(), Vec::<u32>::new());
}

// ---- a CLI that does not start ----

#[tokio::test]
async fn a_cli_that_dies_before_it_is_ready_says_why() {
    let fake = Fake::from_the_start([FakeStep::Stderr("no disk".to_owned()), FakeStep::Exit(4)]);
    let error =
        timeout(PATIENCE, Session::start(fake.options(), Callbacks::new())).await.unwrap().unwrap_err();
    let StartError::Died { reason, exit_code, stderr } = &error else { panic!("{error}") };
    assert_eq!((*reason, *exit_code, stderr.as_str()), (RunEndReason::Failed, Some(4), "no disk"));
}

#[tokio::test]
async fn a_cli_that_refuses_to_be_initialised_is_ended() {
    let response = json!({"subtype": "error", "request_id": "$request_id", "error": "not with me"});
    let [expect, _] = ready();
    let fake = Fake::from_the_start([
        expect,
        FakeStep::Send(json!({"type": "control_response", "response": response})),
        FakeStep::Hang(Nothing {}),
    ]);
    let error =
        timeout(PATIENCE, Session::start(fake.options(), Callbacks::new())).await.unwrap().unwrap_err();
    let StartError::NotReady(refused) = &error else { panic!("{error}") };
    assert!(refused.to_string().contains("not with me"), "{refused}");
    assert_eq!(fake.alive(), Vec::<u32>::new());
}

#[tokio::test]
async fn a_start_that_nobody_waits_for_any_more_leaves_nothing_behind() {
    let fake = Fake::from_the_start([FakeStep::Hang(Nothing {})]);
    let starting = tokio::spawn(Session::start(fake.options(), Callbacks::new()));
    eventually("it starts", || fake.alive().len() == 2).await;
    starting.abort();
    eventually("nothing is left", || fake.alive().is_empty()).await;
}
