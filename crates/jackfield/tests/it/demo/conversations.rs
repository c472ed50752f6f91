//! What goes beyond one turn: background work, queues, other runs, requests, ends.

use super::*;

#[tokio::test]
async fn work_in_the_background_starts_a_turn_by_itself() {
    let mut demo = Demo::start(Speed::AtOnce, |options| options).await;
    demo.session.prompt("background").await.unwrap();
    demo.until_turns(2, agree).await;
    let seen = demo.finish().await;
    let triggers = seen.iter().filter_map(|event| match &event.body {
        Body::TurnStarted(turn) => Some(turn.trigger),
        _ => None,
    });
    assert_eq!(triggers.collect::<Vec<_>>(), [Trigger::Prompt, Trigger::Background]);
    assert!(tags(&seen).contains("task"));
}

#[tokio::test]
async fn work_in_the_background_can_be_stopped() {
    let mut demo = Demo::start(Speed::Slow, |options| options).await;
    demo.session.prompt("background").await.unwrap();
    let event = demo.until("task").await;
    let Body::Task(task) = &event.body else { panic!("{event:?}") };
    demo.session.stop_task(task.task_id.clone()).await.unwrap();
    let seen = demo.finish().await;
    let last = seen.iter().rev().find_map(|event| match &event.body {
        Body::Task(task) => Some((task.status, task.summary.clone())),
        _ => None,
    });
    // Told by the agent, not by the end of the run.
    assert_eq!(last, Some((TaskStatus::Stopped, Some("Wait four seconds".to_owned()))));
}

#[tokio::test]
async fn prompts_wait_for_their_turn_and_can_be_taken_back() {
    let mut demo = Demo::start(Speed::AtOnce, |options| options).await;
    let asked = demo.session.prompt("question").await.unwrap();
    let event = demo.until("permission_request").await;
    let Body::PermissionRequest(request) = &event.body else { panic!("{event:?}") };
    let second = demo.session.prompt("limit").await.unwrap();
    let third = demo.session.prompt("help").await.unwrap();
    demo.session.cancel(third.uuid()).await.unwrap();
    demo.session.answer(request.pending_id, agree(request)).await.unwrap();
    assert!(asked.result().await.unwrap().text.contains("Friendly"));
    assert!(second.result().await.unwrap().text.contains("91 %"));
    assert_eq!(third.result().await, Err(TurnError::Dropped(DropReason::Cancelled)));
    demo.finish().await;
}

#[tokio::test]
async fn a_conversation_that_goes_on_is_welcomed_back() {
    let id = "0f0e0d0c-0b0a-4908-8706-050403020100";
    let mut demo = Demo::start(Speed::AtOnce, |options| options.resume(id)).await;
    // What failed in the run before works in this one.
    demo.play("error", agree).await;
    let seen = demo.finish().await;
    assert!(said(&seen).starts_with("Welcome back!"), "{}", said(&seen));
    let status = seen.iter().find_map(|event| match &event.body {
        Body::SessionStatus(status) => Some((status.session_status, status.cli_session_id.clone())),
        _ => None,
    });
    assert_eq!(status, Some((SessionOrigin::Resumed, id.to_owned())));
    assert_eq!(count(&seen, "error"), 0);
}

#[tokio::test]
async fn requests_are_answered_as_the_cli_does() {
    let mut demo = Demo::start(Speed::AtOnce, |options| options).await;
    let ready = demo.session.ready().clone();
    assert_eq!(ready.claude.version.to_string(), "2.1.325");
    assert!(ready.answer.commands.iter().any(|command| command.name == "tour"));
    assert!(!ready.answer.models.is_empty() && ready.answer.account.is_some());

    let session = demo.session.clone();
    let turn = session.prompt("edit").await.unwrap();
    let prompt = turn.uuid().clone();
    demo.until_turns(1, agree).await;
    let preview = session.preview_rewind(&prompt).await.unwrap();
    assert!(preview.can_rewind && preview.files_changed.len() == 2, "{preview:?}");
    assert!(session.rewind_files(&prompt).await.unwrap().can_rewind);
    assert!(session.preview_rewind(&prompt).await.unwrap().files_changed.is_empty());

    session.set_mode("plan").await.unwrap();
    session.set_model(Some("demo-large")).await.unwrap();
    session.set_thinking(Some(0)).await.unwrap();
    session.context_usage().await.unwrap();
    assert_eq!(session.mcp_status().await.unwrap().servers[0].name, "demo");
    let refused = session.other("not_a_request", Object::default()).await.unwrap().unwrap_err();
    assert_eq!(refused.code(), RejectionCode::Unsupported);
    demo.play("limit", agree).await;
    let seen = demo.finish().await;
    let last = seen.iter().rev().find_map(|event| match &event.body {
        Body::SessionStatus(status) => Some((status.model.clone(), status.permission_mode.clone())),
        _ => None,
    });
    assert_eq!(last, Some(("demo-large".to_owned(), "plan".to_owned())));
}

#[tokio::test]
async fn a_crash_ends_the_run_in_the_middle_of_the_turn() {
    let seen = scene("crash", agree).await;
    let Some(Body::RunEnded(end)) = seen.last().map(|event| &event.body) else { panic!("no end") };
    assert_eq!((end.reason, end.exit_code), (RunEndReason::Failed, Some(1)));
    assert!(end.stderr_tail.contains("on purpose"));
}

#[tokio::test]
async fn many_pieces_all_arrive() {
    let seen = scene("many 20000", agree).await;
    assert_eq!(count(&seen, "message_chunk"), 20_000);
}

#[test]
fn what_the_turns_cost_adds_up() {
    let lines = output(&["think", "read", "limit"], &[]);
    let ends: Vec<_> = events(&lines)
        .iter()
        .filter_map(|event| if let Body::Complete(end) = &event.body { Some(end.data.clone()) } else { None })
        .collect();
    assert_eq!(ends.len(), 3);
    let sum: f64 = ends.iter().map(|turn| turn.cost_usd).sum();
    assert!((sum - ends[2].total_cost_usd).abs() < 1e-9 && ends.iter().all(|turn| turn.cost_usd > 0.0));
}

#[test]
fn it_dies_when_it_is_told_to() {
    let mut child = jackfield(["demo-agent"]).stdin(Stdio::piped()).spawn().unwrap();
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    assert_eq!(child.wait().unwrap().signal(), Some(15));
}

#[test]
fn one_bad_line_ends_it() {
    let mut child = jackfield(["demo-agent"]).stdin(Stdio::piped()).spawn().unwrap();
    crate::program::feed(&mut child, b"this is not json\n");
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0));
    assert!(String::from_utf8(output.stderr).unwrap().starts_with("Error parsing streaming input line"));
}
