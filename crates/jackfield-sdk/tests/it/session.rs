//! A live session with the real CLIs: prompts, permissions, interrupts, endings.

use jackfield_api::Body;
use jackfield_api::command::{Allow, Deny, Verdict};
use jackfield_api::permission::PermissionOutcome;
use jackfield_api::session::RunEndReason;
use jackfield_sdk::{Callbacks, Pace, Session, TurnError, query_with};
use jackfield_testkit::api::Reply;
use tokio::time::timeout;

use super::place::{PATIENCE, Place, all, bash, eventually, gated, start, until, with_both_clis};

with_both_clis!(
    a_prompt_gets_its_result,
    a_callback_decides_a_permission,
    a_question_left_open_is_answered_later,
    an_interrupt_ends_the_turn_with_an_error,
    closing_in_the_middle_of_a_turn_interrupts_it,
    a_killed_cli_ends_the_turn_and_the_session,
    a_query_ends_with_its_result,
    dropping_the_last_handle_ends_everything,
    two_owners_of_one_session_never_run,
);

async fn a_prompt_gets_its_result(version: &str) {
    let place = Place::new(version, vec![Reply::text("One."), Reply::text("Two.")]).await;
    let session = start(place.options(), Callbacks::new()).await;
    assert_eq!(session.ready().claude.version.to_string(), version);
    let mut events = session.events(Pace::Lossless);
    let first = session.prompt("first").await.unwrap().result().await.unwrap();
    let second = session.prompt("second").await.unwrap().result().await.unwrap();
    assert_eq!((first.text.as_str(), first.error), ("One.", None));
    assert_eq!((second.text.as_str(), second.turn.0), ("Two.", 2));
    let snapshot = session.snapshot().await.unwrap();
    session.close().await;
    let events = all(&mut events).await;
    let numbers: Vec<u64> = events.iter().map(|event| event.seq.0).collect();
    assert_eq!(numbers, (1..=numbers.len() as u64).collect::<Vec<_>>(), "no hole");
    assert!(snapshot.items.len() > 4);
    let Body::RunEnded(end) = &events.last().unwrap().body else { panic!("the last event is the end") };
    assert_eq!((end.reason, end.exit_code), (RunEndReason::Closed, Some(0)));
}

async fn a_callback_decides_a_permission(version: &str) {
    let place =
        Place::new(version, vec![bash("touch made"), bash("touch refused"), Reply::text("done")]).await;
    let decide = |request: jackfield_api::permission::PermissionRequest| async move {
        let refused = request.tool_title.contains("refused");
        Some(if refused {
            Verdict::Deny(Deny { message: "not this".to_owned(), interrupt: false })
        } else {
            Verdict::Allow(Allow::default())
        })
    };
    let session = start(place.options(), Callbacks::new().on_permission(decide)).await;
    let result = session.prompt("go").await.unwrap().result().await.unwrap();
    assert_eq!(result.error, None);
    assert_eq!(result.figures.permission_denials.len(), 1);
    let workspace = &place.sandbox.places().workspace;
    assert!(workspace.join("made").exists() && !workspace.join("refused").exists());
    session.close().await;
}

async fn a_question_left_open_is_answered_later(version: &str) {
    let place = Place::new(version, vec![bash("touch made"), Reply::text("done")]).await;
    let session = start(place.options(), Callbacks::new()).await;
    let mut events = session.events(Pace::Lossless);
    let turn = session.prompt("go").await.unwrap();
    let asked = until(&mut events, |body| matches!(body, Body::PermissionRequest(_))).await;
    let Body::PermissionRequest(request) = &asked.body else { unreachable!() };
    session.allow(request.pending_id).await.unwrap();
    let again = session.allow(request.pending_id).await;
    assert!(again.is_err(), "a second answer is refused");
    let resolved = until(&mut events, |body| matches!(body, Body::PermissionResolved(_))).await;
    let Body::PermissionResolved(resolved) = &resolved.body else { unreachable!() };
    assert_eq!((resolved.outcome, resolved.pending_id), (PermissionOutcome::Allowed, request.pending_id));
    assert_eq!(turn.result().await.unwrap().text, "done");
    session.close().await;
}

async fn an_interrupt_ends_the_turn_with_an_error(version: &str) {
    let turns =
        vec![gated("a long text that is never told to its end by anybody", "gate"), Reply::text("after")];
    let place = Place::new(version, turns).await;
    let session = start(place.options(), Callbacks::new()).await;
    let mut events = session.events(Pace::Lossless);
    let turn = session.prompt("go").await.unwrap();
    until(&mut events, |body| matches!(body, Body::MessageChunk(_))).await;
    session.interrupt().await.unwrap();
    let result = turn.result().await.unwrap();
    assert_eq!(result.error.unwrap().code, "interrupted");
    assert_eq!(session.prompt("next").await.unwrap().result().await.unwrap().text, "after");
    session.close().await;
}

async fn closing_in_the_middle_of_a_turn_interrupts_it(version: &str) {
    let place = Place::new(version, vec![gated("a long text that is never told to its end", "gate")]).await;
    let session = start(place.options(), Callbacks::new()).await;
    let mut events = session.events(Pace::Lossless);
    let turn = session.prompt("go").await.unwrap();
    until(&mut events, |body| matches!(body, Body::MessageChunk(_))).await;
    session.close().await;
    assert_eq!(turn.result().await.unwrap().error.unwrap().code, "interrupted");
    let events = all(&mut events).await;
    let Body::RunEnded(end) = &events.last().unwrap().body else { panic!("the last event is the end") };
    assert_eq!(end.reason, RunEndReason::Closed);
}

async fn a_killed_cli_ends_the_turn_and_the_session(version: &str) {
    let place =
        Place::new(version, vec![gated("a long text that is cut in the middle by a kill", "gate")]).await;
    let session = start(place.options(), Callbacks::new()).await;
    let mut events = session.events(Pace::Lossless);
    let turn = session.prompt("go").await.unwrap();
    until(&mut events, |body| matches!(body, Body::MessageChunk(_))).await;
    let pid = session.ready().answer.pid.unwrap();
    jackfield_testkit::processes::signal(pid, rustix::process::Signal::KILL);
    assert_eq!(turn.result().await.unwrap_err(), TurnError::RunEnded);
    let end = until(&mut events, |body| matches!(body, Body::RunEnded(_))).await;
    let Body::RunEnded(end) = &end.body else { unreachable!() };
    assert_eq!((end.reason, end.exit_code), (RunEndReason::Crashed, None));
    assert!(session.prompt("too late").await.is_err());
}

async fn a_query_ends_with_its_result(version: &str) {
    let place = Place::new(version, vec![Reply::text("Hello.")]).await;
    let mut query = query_with("hi", place.options(), Callbacks::new()).await.unwrap();
    let mut tags = Vec::new();
    while let Some(event) = timeout(PATIENCE, query.next()).await.unwrap() {
        tags.push(event.body.tag());
    }
    assert_eq!(tags.last(), Some(&"complete"));
    assert!(tags.contains(&"message_chunk") && tags.contains(&"user_message"));
}

async fn dropping_the_last_handle_ends_everything(version: &str) {
    let place = Place::new(version, vec![bash("touch started; sleep 300"), Reply::text("never")]).await;
    let allow = |_| async { Some(Verdict::Allow(Allow::default())) };
    let session = start(place.options(), Callbacks::new().on_permission(allow)).await;
    let mut events = session.events(Pace::Lossless);
    let turn = session.prompt("go").await.unwrap();
    let started = place.sandbox.places().workspace.join("started");
    eventually("the tool runs", || started.exists()).await;
    drop(session);
    assert_eq!(turn.result().await.unwrap_err(), TurnError::RunEnded);
    let events = all(&mut events).await;
    assert!(matches!(events.last().unwrap().body, Body::RunEnded(_)));
    let inside = jackfield_testkit::processes::inside(&place.sandbox.places().workspace);
    assert_eq!(inside, Vec::<u32>::new(), "nothing of it is alive");
}

async fn two_owners_of_one_session_never_run(version: &str) {
    let place = Place::new(version, vec![Reply::text("One."), Reply::text("Two.")]).await;
    let id = "11111111-1111-4111-8111-111111111111";
    let first = Session::start(place.options().session_id(id), Callbacks::new()).await.unwrap();
    first.prompt("one").await.unwrap().result().await.unwrap();
    let refused = Session::start(place.options().resume(id), Callbacks::new()).await.unwrap_err();
    assert!(refused.to_string().contains(&std::process::id().to_string()), "{refused}");
    first.close().await;
    let second = Session::start(place.options().resume(id), Callbacks::new()).await.unwrap();
    assert_eq!(second.prompt("two").await.unwrap().result().await.unwrap().text, "Two.");
    second.close().await;
}
