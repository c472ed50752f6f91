//! Open questions and commands over connections that come and go.

use jackfield_api::command::{Allow, Answer, CreateSession, Deny, RejectionCode, Reply, Verdict};
use jackfield_api::permission::PermissionOutcome;
use jackfield_api::socket::{ClientFrame, GivenCommand};
use jackfield_api::{Body, PendingId, Seq, SessionId};
use jackfield_host::Settings;
use jackfield_testkit::case::Nothing;
use jackfield_testkit::cli::NEWER_VERSION;
use jackfield_testkit::fake::{self, FakeStep};
use serde_json::json;

use crate::stage::{Follower, Stage, given, prompt};

fn allow(pending_id: PendingId) -> Answer {
    Answer { pending_id, verdict: Verdict::Allow(Allow::default()) }
}

fn deny(pending_id: PendingId) -> Answer {
    let deny = Deny { message: "not now".to_owned(), interrupt: false };
    Answer { pending_id, verdict: Verdict::Deny(deny) }
}

/// A session that asks.
async fn asking(stage: &Stage) -> (SessionId, Follower, PendingId) {
    let mut socket = stage.client("first").await;
    let id = socket.create(stage).await;
    let mut follower = socket.follow(&id, None).await;
    follower.give(&id, prompt("edit")).await.unwrap();
    let pending = follower.asked().await;
    (id, follower, pending)
}

#[tokio::test(flavor = "multi_thread")]
async fn f11_who_comes_back_sees_the_open_questions_and_never_the_answered_ones() {
    let stage = Stage::new().await;
    let (id, mut follower, first) = asking(&stage).await;
    let cursor = follower.last();
    drop(follower);

    follower = stage.client("again").await.follow(&id, None).await;
    assert!(follower.step().await);
    let open: Vec<_> =
        follower.begun.as_ref().unwrap().pending.iter().map(|asked| asked.pending_id).collect();
    assert_eq!(open, [first]);
    follower.give(&id, allow(first)).await.unwrap();
    let second = follower.asked().await;
    drop(follower);

    let mut late = stage.client("late").await.follow(&id, None).await;
    assert!(late.step().await);
    let open: Vec<_> = late.begun.as_ref().unwrap().pending.iter().map(|asked| asked.pending_id).collect();
    assert_eq!(open, [second]);
    // With a cursor: the end of the first and the second itself, each once.
    let mut back = stage.client("back").await.follow(&id, Some(cursor)).await;
    back.reach(late.last()).await;
    let ends = back.events.iter().filter(|event| matches!(event.body, Body::PermissionResolved(_)));
    assert_eq!(ends.count(), 1);
    let asked = back.events.iter().filter(|event| matches!(event.body, Body::PermissionRequest(_)));
    assert_eq!(asked.count(), 1);
    stage.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn f12_of_two_who_answer_at_once_one_wins_and_the_other_is_told_who() {
    let stage = Stage::new().await;
    let (id, mut one, mut pending) = asking(&stage).await;
    let mut two = stage.client("second").await.follow(&id, None).await;
    for round in 0..20 {
        two.reach(Seq(pending.0)).await;
        let (yes, no) = tokio::join!(one.give(&id, allow(pending)), two.give(&id, deny(pending)));
        let (outcome, winner, lost) = match (yes, no) {
            (Ok(_), Err(lost)) => (PermissionOutcome::Allowed, "first", lost),
            (Err(lost), Ok(_)) => (PermissionOutcome::Denied, "second", lost),
            both => panic!("round {round}: {both:?}"),
        };
        assert_eq!(lost.code, RejectionCode::TooLate, "{lost:?}");
        for follower in [&mut one, &mut two] {
            let end = follower
                .until(|body| matches!(body, Body::PermissionResolved(end) if end.pending_id == pending));
            let Body::PermissionResolved(end) = end.await.body else { panic!() };
            assert_eq!((end.outcome, end.by.as_deref()), (outcome, Some(winner)), "round {round}");
        }
        // The next question, of this turn or of the next.
        let next = one.until(|body| matches!(body, Body::PermissionRequest(_) | Body::Complete(_))).await;
        pending = if let Body::PermissionRequest(request) = next.body {
            request.pending_id
        } else {
            one.give(&id, prompt("edit")).await.unwrap();
            one.asked().await
        };
    }
    stage.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn f13_a_repeated_answer_is_acknowledged_the_same_and_done_once() {
    let stage = Stage::new().await;
    let (id, mut follower, pending) = asking(&stage).await;
    let command = given(Some(&id), allow(pending));
    for _ in 0..3 {
        follower.socket.send(&ClientFrame::Command(Box::new(command.clone()))).await;
    }
    while follower.answers.iter().filter(|(answered, _)| *answered == command.id).count() < 3 {
        assert!(follower.step().await);
    }
    assert!(follower.answers.iter().all(|(_, answer)| answer.is_ok()), "{:?}", follower.answers);
    // The same words under another name are another command, and too late.
    assert_eq!(follower.give(&id, allow(pending)).await.unwrap_err().code, RejectionCode::TooLate);
    let next = follower.asked().await;
    follower.give(&id, deny(next)).await.unwrap();
    follower.completed().await;
    let ends = follower
        .events
        .iter()
        .filter(|event| matches!(&event.body, Body::PermissionResolved(end) if end.pending_id == pending));
    assert_eq!(ends.count(), 1);
    stage.end().await;
}

/// A CLI that asks ten things at once, and goes on when they were answered in this order.
fn asking_ten(order: &[usize]) -> Vec<FakeStep> {
    let ready = json!({ "commands": [], "agents": [], "models": [], "output_style": "default" });
    let response = json!({ "subtype": "success", "request_id": "$request_id", "response": ready });
    let ask = |number: usize| {
        FakeStep::Send(json!({ "type": "control_request", "request_id": format!("ask-{number}"), "request": {
            "subtype": "can_use_tool", "tool_name": "Bash", "tool_use_id": format!("toolu_{number}"),
            "input": { "command": format!("echo {number}") }, "permission_suggestions": [],
        } }))
    };
    let answered = |number: &usize| {
        let response = json!({ "request_id": format!("ask-{number}"), "response": { "behavior": "allow" } });
        FakeStep::Expect(json!({ "type": "control_response", "response": response }))
    };
    let result = json!({
        "type": "result", "subtype": "success", "is_error": false, "duration_ms": 1, "duration_api_ms": 1,
        "num_turns": 1, "result": "done", "stop_reason": "end_turn", "session_id": "s", "uuid": "u-result",
        "total_cost_usd": 0.0, "usage": { "input_tokens": 1, "output_tokens": 2 }, "modelUsage": {},
        "permission_denials": [], "terminal_reason": "completed",
    });
    let mut steps = vec![
        FakeStep::Version(NEWER_VERSION.to_owned()),
        FakeStep::Expect(json!({ "type": "control_request", "request": { "subtype": "initialize" } })),
        FakeStep::Send(json!({ "type": "control_response", "response": response })),
        FakeStep::Await(json!({ "type": "user" })),
    ];
    steps.extend((0..10).map(ask));
    steps.extend(order.iter().map(answered));
    steps.extend([FakeStep::Send(result), FakeStep::AwaitEof(Nothing {})]);
    steps
}

#[tokio::test(flavor = "multi_thread")]
async fn f14_ten_open_questions_are_all_seen_and_answered_in_any_order() {
    let order = [7, 0, 9, 3, 1, 8, 2, 6, 4, 5];
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("script");
    fake::write_script(&script, &asking_ten(&order)).unwrap();
    let mut settings = Settings::new(folder.path().join("data"));
    settings.claude = Some(fake::program().unwrap());
    settings.locks = Some(folder.path().join("locks"));
    settings.variables = std::env::vars_os().map(|(name, _)| (name, None)).collect();
    settings.variables.push(("FAKE_CLAUDE_SCRIPT".into(), Some(script.into())));
    let cwd = folder.path().to_string_lossy().into_owned();
    let stage = Stage::with(folder, settings).await;

    let mut one = stage.client("one").await;
    let Ok(Reply::Created(created)) = one.give(None, CreateSession::new(cwd)).await else { panic!() };
    let id = created.session_id;
    let mut one = one.follow(&id, None).await;
    one.give(&id, prompt("do ten things")).await.unwrap();
    let mut pending = Vec::new();
    for _ in 0..10 {
        pending.push(one.asked().await);
    }
    let desk = stage.host.desk();
    let open: Vec<_> = desk.iter().map(|entry| entry.request.pending_id).collect();
    assert_eq!(open, pending);
    let mut two = stage.client("two").await.follow(&id, None).await;
    for (number, index) in order.into_iter().enumerate() {
        let follower = if number % 2 == 0 { &mut one } else { &mut two };
        follower.give(&id, allow(pending[index])).await.unwrap();
    }
    one.completed().await;
    assert!(stage.host.desk().is_empty());
    stage.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn f15_an_answer_that_never_came_is_never_yes() {
    let mut stage = Stage::new().await;
    let (id, follower, pending) = asking(&stage).await;
    let cursor = follower.last();
    // Everybody goes away: it stays open.
    drop(follower);
    let desk = stage.host.desk();
    assert_eq!(desk.iter().map(|entry| entry.request.pending_id).collect::<Vec<_>>(), [pending]);
    // The host goes away: it is lost, and the tool did not run.
    stage.restart().await;
    let mut back = stage.client("back").await.follow(&id, Some(cursor)).await;
    let end =
        back.until(|body| matches!(body, Body::PermissionResolved(_) | Body::PermissionCancelled(_))).await;
    if let Body::PermissionResolved(end) = &end.body {
        assert_ne!(end.outcome, PermissionOutcome::Allowed);
    }
    back.until(|body| matches!(body, Body::RunEnded(_))).await;
    let changed = back.events.iter().any(|event| matches!(event.body, Body::FileUpdated(_)));
    assert!(!changed, "{:#?}", back.events);
    assert!(stage.host.desk().is_empty());
    stage.end().await;
}

/// Sends a command over a connection that breaks before the answer comes.
async fn give_and_vanish(stage: &Stage, command: &GivenCommand) {
    let mut socket = stage.client("vanishing").await;
    socket.send(&ClientFrame::Command(Box::new(command.clone()))).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn f16_a_command_whose_answer_was_lost_is_repeated_and_done_once() {
    let mut stage = Stage::new().await;
    let mut socket = stage.client("first").await;
    let id = socket.create(&stage).await;
    let mut follower = socket.follow(&id, None).await;
    let command = given(Some(&id), prompt("help"));
    give_and_vanish(&stage, &command).await;
    give_and_vanish(&stage, &command).await;
    let mut socket = stage.client("back").await;
    socket.send(&ClientFrame::Command(Box::new(command.clone()))).await;
    socket.answer(&command.id).await.unwrap();
    follower.completed().await;
    // Also when the host was stopped in between.
    stage.restart().await;
    let mut socket = stage.client("later").await;
    socket.send(&ClientFrame::Command(Box::new(command.clone()))).await;
    socket.answer(&command.id).await.unwrap();
    let mut all = socket.follow(&id, Some(Seq(0))).await;
    all.give(&id, prompt("think")).await.unwrap();
    all.completed().await;
    all.completed().await;
    let prompts: Vec<_> = all
        .events
        .iter()
        .filter_map(|event| match &event.body {
            Body::UserMessage(message) => Some(message.text.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(prompts, ["help", "think"]);
    stage.end().await;
}
