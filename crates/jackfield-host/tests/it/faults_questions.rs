//! Questions under fault: raced for, answered twice or too late, many at once, never answered.

use jackfield_api::command::{Allow, Answer, Close, Deny, RejectionCode, Verdict};
use jackfield_api::permission::PermissionOutcome;
use jackfield_api::snapshot::SessionState;
use jackfield_api::socket::GivenCommand;
use jackfield_api::{Body, PendingId, SessionId};
use jackfield_host::Host;
use jackfield_testkit::fake::{FakeStep, UNEXPECTED};
use serde_json::json;

use crate::faults_fake::{Faked, answered, ask, init, stay, turn, withdraw};
use crate::stage::{Follower, client, give, give_as, prompt};

/// How many questions are fought for.
const QUESTIONS: usize = 50;

fn yes(pending_id: PendingId) -> Answer {
    Answer { pending_id, verdict: Verdict::Allow(Allow::default()) }
}

fn no(pending_id: PendingId) -> Answer {
    Answer { pending_id, verdict: Verdict::Deny(Deny { message: "no".to_owned(), interrupt: false }) }
}

async fn question(follower: &mut Follower) -> PendingId {
    let asked = follower.until(|body| matches!(body, Body::PermissionRequest(_))).await;
    let Body::PermissionRequest(request) = asked.body else { unreachable!() };
    request.pending_id
}

fn ends(follower: &Follower) -> Vec<(PendingId, Option<PermissionOutcome>)> {
    let end = |body: &Body| match body {
        Body::PermissionResolved(end) => Some((end.pending_id, Some(end.outcome))),
        Body::PermissionCancelled(end) => Some((end.pending_id, None)),
        _ => None,
    };
    follower.events.iter().filter_map(|event| end(&event.body)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn f12_of_two_clients_that_answer_at_once_exactly_one_is_heard_by_the_cli() {
    // The SDK has the same with a thousand; here two clients of a host are told who was first.
    let questions = (0..QUESTIONS).flat_map(|number| {
        let name = format!("question-{number}");
        [ask(&name), answered(&name)]
    });
    let faked = Faked::new(turn(questions).into_iter().chain([stay()])).await;
    let (id, mut follower) = faked.session().await;
    let (phone, laptop) = (client("phone"), client("laptop"));
    give(&faked.host, Some(&id), prompt("go")).await.unwrap();
    let mut expected = Vec::new();
    for _ in 0..QUESTIONS {
        let pending = question(&mut follower).await;
        let (allowed, denied) = tokio::join!(
            give_as(&faked.host, &phone, Some(&id), yes(pending)),
            give_as(&faked.host, &laptop, Some(&id), no(pending)),
        );
        let (winner, outcome, lost) = match (allowed, denied) {
            (Ok(_), Err(lost)) => ("phone", PermissionOutcome::Allowed, lost),
            (Err(lost), Ok(_)) => ("laptop", PermissionOutcome::Denied, lost),
            both => panic!("{both:?}"),
        };
        assert_eq!(lost.code, RejectionCode::TooLate, "{lost:?}");
        assert!(lost.reason.contains(winner), "{lost:?}");
        expected.push((pending, Some(outcome)));
    }
    follower.completed().await;
    assert_eq!(ends(&follower), expected);
    let decisions = faked.host.decisions(Some(&id), None, 100).await.unwrap();
    assert_eq!(decisions.len(), QUESTIONS);
    faked.host.close().await;
}

/// Gives the same command several times at once.
async fn thrice(host: &Host, id: &SessionId, answer: Answer) -> Vec<Result<(), RejectionCode>> {
    let given = GivenCommand {
        id: uuid::Uuid::new_v4().to_string(),
        session_id: Some(id.clone()),
        command: answer.into(),
        traceparent: None,
        tracestate: None,
    };
    let who = client("phone");
    let one = || host.command(&who, given.clone());
    let (first, second, third) = tokio::join!(one(), one(), one());
    [first, second, third, one().await].map(|told| told.map(drop).map_err(|told| told.code)).to_vec()
}

#[tokio::test(flavor = "multi_thread")]
async fn f13_repeated_answers_are_written_once_and_late_ones_never() {
    let middle = [
        ask("one"),
        answered("one"),
        ask("two"),
        withdraw("two"),
        // The next line is for this one: neither a repetition nor an answer to what was withdrawn was written.
        ask("three"),
        answered("three"),
    ];
    let faked = Faked::new(turn(middle).into_iter().chain([stay()])).await;
    let (id, mut follower) = faked.session().await;
    give(&faked.host, Some(&id), prompt("go")).await.unwrap();
    let one = question(&mut follower).await;
    assert_eq!(thrice(&faked.host, &id, yes(one)).await, [Ok(()); 4]);
    let two = question(&mut follower).await;
    follower.until(|body| matches!(body, Body::PermissionCancelled(_))).await;
    let late = give(&faked.host, Some(&id), yes(two)).await.unwrap_err();
    assert_eq!(late.code, RejectionCode::TooLate);
    assert!(late.reason.contains("withdrawn"), "{late:?}");
    assert_eq!(thrice(&faked.host, &id, no(two)).await, [Err(RejectionCode::TooLate); 4]);
    let three = question(&mut follower).await;
    give(&faked.host, Some(&id), no(three)).await.unwrap();
    assert_eq!(give(&faked.host, Some(&id), yes(one)).await.unwrap_err().code, RejectionCode::TooLate);
    follower.completed().await;
    let never = give(&faked.host, Some(&id), yes(PendingId(1_000_000))).await.unwrap_err();
    assert_eq!(never.code, RejectionCode::NotFound);
    // When nothing runs any more it is still too late, and nothing is started for it.
    give(&faked.host, Some(&id), Close {}).await.unwrap();
    follower.until(|body| matches!(body, Body::RunEnded(_))).await;
    assert_eq!(give(&faked.host, Some(&id), yes(three)).await.unwrap_err().code, RejectionCode::TooLate);
    let expected =
        [(one, Some(PermissionOutcome::Allowed)), (two, None), (three, Some(PermissionOutcome::Denied))];
    assert_eq!(ends(&follower), expected);
    faked.host.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn f14_ten_questions_at_once_are_on_the_desk_and_answered_in_any_order() {
    let order = [7, 2, 9, 0, 4, 1, 8, 3, 6, 5];
    let name = |number: usize| format!("question-{number}");
    let asks = (0..10).map(|number| ask(&name(number)));
    let answers = order.iter().map(|number| answered(&name(*number)));
    let faked = Faked::new(turn(asks.chain(answers)).into_iter().chain([stay()])).await;
    let (id, mut follower) = faked.session().await;
    give(&faked.host, Some(&id), prompt("go")).await.unwrap();
    let mut open = Vec::new();
    for _ in 0..10 {
        open.push(question(&mut follower).await);
    }
    let desk: Vec<_> = faked.host.desk().iter().map(|entry| entry.request.pending_id).collect();
    assert_eq!(desk, open);
    for (answered, number) in (1..).zip(order) {
        give(&faked.host, Some(&id), yes(open[number])).await.unwrap();
        assert_eq!(faked.host.desk().len(), 10 - answered);
        assert!(faked.host.desk().iter().all(|entry| entry.request.pending_id != open[number]));
    }
    follower.completed().await;
    faked.host.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn f15_a_question_that_nobody_answers_gets_no_answer_when_the_host_ends() {
    // It ends with a complaint if its input ends before an answer came.
    let waits = FakeStep::Await(json!({"type": "control_response", "response": {"request_id": "one"}}));
    let user = FakeStep::Await(json!({"type": "user"}));
    let faked = Faked::new([user, FakeStep::Send(init()), ask("one"), waits, stay()]).await;
    let (id, mut follower) = faked.session().await;
    give(&faked.host, Some(&id), prompt("go")).await.unwrap();
    let pending = question(&mut follower).await;
    // Everybody goes away: it stays open.
    drop(follower);
    assert_eq!(faked.host.desk().len(), 1);
    faked.host.close().await;

    let host = Host::open(faked.settings.clone()).await.unwrap();
    assert!(host.desk().is_empty());
    let summary = host.session(&id).await.unwrap().unwrap();
    assert_eq!((summary.state, summary.pending.len()), (SessionState::Ended, 0));
    let mut follower = Follower::new(host.subscribe(&id, Some(jackfield_api::Seq(0))).await.unwrap());
    let end = follower.until(|body| matches!(body, Body::RunEnded(_))).await;
    let Body::RunEnded(end) = end.body else { unreachable!() };
    assert_eq!(end.exit_code, Some(i32::from(UNEXPECTED)));
    assert!(end.stderr_tail.contains("got the end of standard input"), "{}", end.stderr_tail);
    assert_eq!(ends(&follower), [(pending, Some(PermissionOutcome::Lost))]);
    let decisions = host.decisions(Some(&id), None, 10).await.unwrap();
    assert_eq!(decisions.iter().map(|one| one.outcome).collect::<Vec<_>>(), [Some(PermissionOutcome::Lost)]);
    host.close().await;
}
