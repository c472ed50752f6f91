//! Several who want the same at the same moment: of two answers exactly one is taken and exactly one line goes
//! to the CLI; a question that is over drops whoever still thinks about it.

use std::collections::BTreeMap;
use std::sync::Arc;

use jackfield_api::command::{Deny, RejectionCode, Verdict};
use jackfield_api::permission::{PermissionOutcome, PermissionRequest};
use jackfield_api::{Body, PendingId};
use jackfield_sdk::{Callbacks, Direction, Events, Pace, RawLine, Session};
use jackfield_testkit::api::Reply;
use jackfield_testkit::fake::FakeStep;
use serde_json::Value;
use tokio::sync::{Barrier, broadcast, mpsc};
use tokio::time::timeout;

use super::fake::{Fake, answered, ask, closing, opening, prompted, silence, turn_around, withdraw};
use super::place::{PATIENCE, Place, all, bash, say, start, until, with_both_clis};

/// How many questions are fought for.
const QUESTIONS: usize = 1000;

/// The next question.
async fn question(events: &mut Events) -> PendingId {
    let asked = until(events, |body| matches!(body, Body::PermissionRequest(_))).await;
    let Body::PermissionRequest(request) = &asked.body else { unreachable!() };
    request.pending_id
}

fn no() -> Verdict {
    Verdict::Deny(Deny { message: "no".to_owned(), interrupt: false })
}

/// The answers that were written, by the question's name, and how often.
async fn written(mut raw: broadcast::Receiver<Arc<RawLine>>) -> BTreeMap<String, usize> {
    let mut answers = BTreeMap::new();
    loop {
        let line = match raw.recv().await {
            Ok(line) => line,
            Err(broadcast::error::RecvError::Closed) => return answers,
            Err(error) => panic!("{error}"),
        };
        let message: Value = serde_json::from_str(&line.text).unwrap();
        if line.direction == Direction::ToCli && message["type"] == "control_response" {
            let name = message["response"]["request_id"].as_str().unwrap().to_owned();
            *answers.entry(name).or_default() += 1;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_answers_to_one_question_exactly_one_is_written() {
    // The fake asks the next question only after the next line was the answer to the last: a second line for
    // a question would end it.
    let questions = (0..QUESTIONS).flat_map(|number| {
        let name = format!("question-{number}");
        [FakeStep::Send(ask(&name)), answered(&name)]
    });
    let mut steps = turn_around("asks", "", questions);
    steps.push(silence());
    let fake = Fake::new(steps);
    let session = fake.session().await;
    let mut events = session.events(Pace::Lossless);
    let everything = {
        let mut events = session.events(Pace::Lossless);
        tokio::spawn(async move { all(&mut events).await })
    };
    let answers = tokio::spawn(written(session.raw()));
    let turn = session.prompt("go").await.unwrap();
    let mut expected = BTreeMap::new();
    for _ in 0..QUESTIONS {
        let pending_id = question(&mut events).await;
        let together = Arc::new(Barrier::new(2));
        let answer = |verdict: Option<Verdict>| {
            let (session, together) = (session.clone(), Arc::clone(&together));
            tokio::spawn(async move {
                together.wait().await;
                match verdict {
                    Some(verdict) => session.answer(pending_id, verdict).await,
                    None => session.allow(pending_id).await,
                }
            })
        };
        let (yes, no) = (answer(None), answer(Some(no())));
        let (yes, no) = (yes.await.unwrap(), no.await.unwrap());
        let refused = match (&yes, &no) {
            (Ok(()), Err(refused)) | (Err(refused), Ok(())) => refused,
            both => panic!("{both:?}"),
        };
        let code = refused.code();
        assert!(matches!(code, RejectionCode::TooLate | RejectionCode::NotFound), "{refused}");
        let outcome = if yes.is_ok() { PermissionOutcome::Allowed } else { PermissionOutcome::Denied };
        assert_eq!(expected.insert(pending_id, outcome), None);
    }
    timeout(PATIENCE, turn.result()).await.unwrap().unwrap();
    session.close().await;
    drop(session);
    let mut outcomes = BTreeMap::new();
    for event in everything.await.unwrap() {
        if let Body::PermissionResolved(over) = &event.body {
            assert_eq!(outcomes.insert(over.pending_id, over.outcome), None, "it ends once");
        }
    }
    assert_eq!(outcomes, expected);
    let answers = answers.await.unwrap();
    assert_eq!(answers.len(), QUESTIONS);
    assert!(answers.values().all(|times| *times == 1), "{answers:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_question_that_is_withdrawn_while_it_is_answered_ends_once() {
    const ROUNDS: usize = 200;
    let questions = (0..ROUNDS).flat_map(|number| {
        let name = format!("question-{number}");
        [FakeStep::Send(ask(&name)), FakeStep::Send(withdraw(&name))]
    });
    let mut steps = turn_around("asks", "", questions);
    steps.push(silence());
    let fake = Fake::new(steps);
    let session = fake.session().await;
    let mut events = session.events(Pace::Lossless);
    let answers = tokio::spawn(written(session.raw()));
    let answering = tokio::spawn({
        let (session, mut events) = (session.clone(), session.events(Pace::Lossless));
        async move {
            let mut accepted = 0;
            for _ in 0..ROUNDS {
                let pending_id = question(&mut events).await;
                match session.allow(pending_id).await {
                    Ok(()) => accepted += 1,
                    Err(refused) => assert_eq!(refused.code(), RejectionCode::NotFound, "{refused}"),
                }
            }
            accepted
        }
    });
    say(&session, "go").await;
    let accepted: usize = timeout(PATIENCE, answering).await.unwrap().unwrap();
    session.close().await;
    drop(session);

    let mut ends: BTreeMap<PendingId, usize> = BTreeMap::new();
    for event in all(&mut events).await {
        match &event.body {
            Body::PermissionRequest(request) => assert_eq!(ends.insert(request.pending_id, 0), None),
            Body::PermissionResolved(over) => *ends.get_mut(&over.pending_id).unwrap() += 1,
            Body::PermissionCancelled(over) => *ends.get_mut(&over.pending_id).unwrap() += 1,
            _ => {}
        }
    }
    assert_eq!(ends.len(), ROUNDS);
    assert!(ends.values().all(|times| *times == 1), "{ends:?}");
    let answers = answers.await.unwrap();
    assert_eq!(answers.values().sum::<usize>(), accepted, "what was accepted was written, once");
}

#[tokio::test]
async fn an_answer_that_comes_after_the_withdrawal_is_refused() {
    let withdrawn = [FakeStep::Send(ask("one")), FakeStep::Send(withdraw("one"))];
    let mut steps = turn_around("asks", "", withdrawn);
    steps.push(silence());
    let fake = Fake::new(steps);
    let session = fake.session().await;
    let mut events = session.events(Pace::Lossless);
    let answers = tokio::spawn(written(session.raw()));
    let turn = session.prompt("go").await.unwrap();
    let pending_id = question(&mut events).await;
    until(&mut events, |body| matches!(body, Body::PermissionCancelled(_))).await;
    let refused = session.allow(pending_id).await.unwrap_err();
    assert_eq!(refused.code(), RejectionCode::NotFound);
    turn.result().await.unwrap();
    session.close().await;
    drop(session);
    assert_eq!(answers.await.unwrap(), BTreeMap::new());
}

#[tokio::test]
async fn questions_that_are_open_together_are_answered_in_any_order() {
    let names: Vec<String> = (0..10).map(|number| format!("question-{number}")).collect();
    let mut steps = vec![prompted()];
    steps.extend(opening("asks"));
    steps.extend(names.iter().map(|name| FakeStep::Send(ask(name))));
    steps.extend(names.iter().rev().map(|name| answered(name)));
    steps.extend(closing("asks"));
    steps.push(silence());
    let fake = Fake::new(steps);
    let session = fake.session().await;
    let mut events = session.events(Pace::Lossless);
    let turn = session.prompt("go").await.unwrap();
    let mut open = Vec::new();
    for _ in &names {
        open.push(question(&mut events).await);
    }
    assert_eq!(session.snapshot().await.unwrap().pending.len(), names.len());
    for pending_id in open.into_iter().rev() {
        session.allow(pending_id).await.unwrap();
    }
    assert_eq!(timeout(PATIENCE, turn.result()).await.unwrap().unwrap().text, "asks");
    assert!(session.snapshot().await.unwrap().pending.is_empty());
    session.close().await;
}

/// Says so when it is dropped.
struct Dropped(mpsc::Sender<&'static str>);

impl Drop for Dropped {
    fn drop(&mut self) {
        // Nobody listens once a test has failed.
        let _ = self.0.try_send("dropped");
    }
}

/// Never decides, and tells what becomes of it.
fn undecided() -> (Callbacks, mpsc::Receiver<&'static str>) {
    let (say, said) = mpsc::channel(8);
    let decide = move |_: PermissionRequest| {
        let say = say.clone();
        async move {
            let _dropped = Dropped(say.clone());
            say.try_send("began").unwrap();
            std::future::pending().await
        }
    };
    (Callbacks::new().on_permission(decide), said)
}

async fn hear(said: &mut mpsc::Receiver<&'static str>) -> Option<&'static str> {
    timeout(PATIENCE, said.recv()).await.expect("something is said")
}

with_both_clis!(an_interrupt_drops_the_callback_that_still_decides);

async fn an_interrupt_drops_the_callback_that_still_decides(version: &str) {
    let place = Place::new(version, vec![bash("touch made"), Reply::text("after"), bash("touch made")]).await;
    let (callbacks, mut said) = undecided();
    let session = start(place.options(), callbacks).await;
    let mut events = session.events(Pace::Lossless);
    let turn = session.prompt("go").await.unwrap();
    assert_eq!(hear(&mut said).await, Some("began"));
    session.interrupt().await.unwrap();
    assert_eq!(hear(&mut said).await, Some("dropped"));
    until(&mut events, |body| matches!(body, Body::PermissionCancelled(_))).await;
    assert_eq!(timeout(PATIENCE, turn.result()).await.unwrap().unwrap().error.unwrap().code, "interrupted");
    assert_eq!(say(&session, "and now").await.text, "after");
    // What is still being decided at the session's end is dropped too.
    let _turn = session.prompt("again").await.unwrap();
    assert_eq!(hear(&mut said).await, Some("began"));
    drop(session);
    assert_eq!(hear(&mut said).await, Some("dropped"));
    assert_eq!(hear(&mut said).await, None, "the callbacks went with their session");
    assert_eq!(place.file("made"), None);
}

#[tokio::test]
async fn an_answer_from_elsewhere_drops_the_callback() {
    let asked = [FakeStep::Send(ask("one")), answered("one")];
    let mut steps = turn_around("asks", "", asked);
    steps.push(silence());
    let fake = Fake::new(steps);
    let (callbacks, mut said) = undecided();
    let session: Session = start(fake.options(), callbacks).await;
    let mut events = session.events(Pace::Lossless);
    let turn = session.prompt("go").await.unwrap();
    let pending_id = question(&mut events).await;
    assert_eq!(hear(&mut said).await, Some("began"));
    session.allow(pending_id).await.unwrap();
    assert_eq!(hear(&mut said).await, Some("dropped"));
    turn.result().await.unwrap();
    session.close().await;
}

#[tokio::test]
async fn a_callback_that_panics_leaves_the_question_open() {
    let asked = [FakeStep::Send(ask("one")), answered("one")];
    let mut steps = turn_around("asks", "", asked);
    steps.push(silence());
    let fake = Fake::new(steps);
    let (say_so, mut said) = mpsc::channel(8);
    let decide = move |_: PermissionRequest| {
        let dropped = Dropped(say_so.clone());
        async move {
            let _dropped = dropped;
            panic!("a callback that panics")
        }
    };
    let session = start(fake.options(), Callbacks::new().on_permission(decide)).await;
    let mut events = session.events(Pace::Lossless);
    let turn = session.prompt("go").await.unwrap();
    let pending_id = question(&mut events).await;
    assert_eq!(hear(&mut said).await, Some("dropped"));
    session.allow(pending_id).await.unwrap();
    turn.result().await.unwrap();
    session.close().await;
}
