//! Conversations that go on in another run, judged by what the API is sent.

use std::sync::Arc;
use std::time::Duration;

use jackfield_api::command::RejectionCode;
use jackfield_api::session::{RunEndReason, SessionOrigin};
use jackfield_api::{Body, Event, Seq, TurnNumber, Uuid};
use jackfield_sdk::{Callbacks, ConversationError, Pace, PartOf, Session, StartError, Switch, TurnError};
use jackfield_testkit::api::{HttpError, Reply};
use jackfield_wire::SessionId;
use rustix::process::Signal;
use serde_json::{Value, json};
use tokio::time::timeout;

use super::endings::pass;
use super::journal::Paper;
use super::place::{PATIENCE, Place, all, eventually, gated, say, start, until, with_both_clis};

with_both_clis!(
    a_failed_turn_is_tried_again_as_if_it_had_not_been,
    a_failed_first_turn_begins_a_conversation_anew,
    a_turn_that_was_killed_is_tried_again,
    what_was_interrupted_is_tried_again_with_its_pictures,
    only_what_failed_is_tried_again,
    a_crashed_session_is_resumed,
    a_fork_leaves_the_conversation_as_it_is,
    a_fork_at_a_message_forgets_what_came_after,
    a_conversation_is_rewound_to_before_a_prompt,
    the_mode_in_effect_is_kept,
    the_model_and_the_thinking_that_were_chosen_are_kept,
    a_conversation_that_was_never_written_begins_anew,
    a_prompt_that_was_lost_with_its_conversation_is_said_again_in_a_new_one,
    what_was_answered_and_not_written_cannot_be_resumed,
    a_session_of_a_host_counts_on_in_its_next_run,
    a_wedged_cli_is_ended_and_the_conversation_goes_on,
    a_turn_is_paid_for_once_whatever_run_it_was_in,
);

fn refused() -> Reply {
    let body = json!({"type": "error", "error": {"type": "permission_error", "message": "not for you"}});
    let http = HttpError { status: 403, headers: [].into(), body };
    Reply { http: Some(http), ..Reply::text("") }
}

/// What was said in the last request, without what the CLI adds.
fn last_said(place: &Place) -> Vec<String> {
    let requests = place.requests();
    let messages = requests.last().unwrap()["messages"].as_array().unwrap().clone();
    let texts = |message: &Value| match &message["content"] {
        Value::String(text) => vec![text.clone()],
        Value::Array(blocks) => {
            blocks.iter().filter_map(|block| block["text"].as_str()).map(str::to_owned).collect()
        }
        _ => Vec::new(),
    };
    let added = |text: &String| {
        text.starts_with("<system-reminder>") || text.starts_with("# ") || text.starts_with("[Image")
    };
    let spoken = messages.iter().filter(|message| message["role"] != "system");
    spoken.flat_map(texts).filter(|text| !added(text)).collect()
}

async fn finish(turn: jackfield_sdk::Turn) -> String {
    let result = timeout(PATIENCE, turn.result()).await.unwrap().unwrap();
    assert_eq!(result.error, None);
    result.text
}

/// Says something, and gives the prompt's name and the last message of its turn.
async fn exchange(session: &Session, text: &str) -> (Uuid, Uuid) {
    let turn = session.prompt(text).await.unwrap();
    let uuid = turn.uuid().clone();
    let result = timeout(PATIENCE, turn.result()).await.unwrap().unwrap();
    assert_eq!(result.error, None);
    (uuid, result.figures.last_message_uuid.unwrap())
}

/// The CLI writes in the background; what is not written when it is killed is gone.
async fn written(place: &Place, session: &Session, message: &Uuid) {
    let (history, id) = (place.options().history().unwrap(), session.cli_session_id().unwrap());
    let is_there = || {
        let messages = history.message_uuids(&id).unwrap_or_default();
        messages.iter().any(|one| one.as_str() == message.as_str())
    };
    eventually("the message is on disk", is_there).await;
}

async fn kill(session: &Session) {
    let mut events = session.events(Pace::Lossless);
    jackfield_testkit::processes::signal(session.ready().answer.pid.unwrap(), Signal::KILL);
    until(&mut events, |body| matches!(body, Body::RunEnded(_))).await;
}

async fn a_failed_turn_is_tried_again_as_if_it_had_not_been(version: &str) {
    let place =
        Place::new(version, vec![Reply::text("One."), refused(), Reply::text("Two."), Reply::text("Three.")])
            .await;
    let session = start(place.options(), Callbacks::new()).await;
    say(&session, "one").await;
    assert!(say(&session, "two").await.error.is_some());
    let (again, turn) = session.retry().await.unwrap();
    assert_eq!(finish(turn).await, "Two.");
    assert_eq!(last_said(&place), ["one", "One.", "two"]);
    assert_eq!(again.cli_session_id().unwrap(), session.cli_session_id().unwrap());
    say(&again, "three").await;
    assert_eq!(last_said(&place), ["one", "One.", "two", "Two.", "three"]);
    again.close().await;
}

async fn a_failed_first_turn_begins_a_conversation_anew(version: &str) {
    let place = Place::new(version, vec![refused(), Reply::text("One.")]).await;
    let session = start(place.options(), Callbacks::new()).await;
    assert!(say(&session, "one").await.error.is_some());
    let (again, turn) = session.retry().await.unwrap();
    assert_eq!(finish(turn).await, "One.");
    assert_eq!(last_said(&place), ["one"]);
    again.close().await;
}

async fn a_turn_that_was_killed_is_tried_again(version: &str) {
    let place = Place::new(
        version,
        vec![
            Reply::text("One."),
            gated("a long text that is never told to its end", "gate"),
            Reply::text("Two."),
        ],
    )
    .await;
    let session = start(place.options(), Callbacks::new()).await;
    let mut events = session.events(Pace::Lossless);
    let (_, last) = exchange(&session, "one").await;
    written(&place, &session, &last).await;
    let turn = session.prompt("two").await.unwrap();
    place.api.gates().reached("gate").await;
    until(&mut events, |body| matches!(body, Body::MessageChunk(chunk) if chunk.text.contains("long"))).await;
    kill(&session).await;
    assert_eq!(turn.result().await.unwrap_err(), TurnError::RunEnded);
    let (again, turn) = session.retry().await.unwrap();
    assert_eq!(finish(turn).await, "Two.");
    assert_eq!(last_said(&place), ["one", "One.", "two"]);
    again.close().await;
}

async fn what_was_interrupted_is_tried_again_with_its_pictures(version: &str) {
    let place = Place::new(
        version,
        vec![gated("a long text that is never told to its end", "gate"), Reply::text("seen")],
    )
    .await;
    let session = start(place.options(), Callbacks::new()).await;
    let mut events = session.events(Pace::Lossless);
    let gif = b"GIF89a\x01\0\x01\0\0\0\0,\0\0\0\0\x01\0\x01\0\0\x02\x01D\0;";
    let content = vec![jackfield_sdk::content::text("look"), jackfield_sdk::content::picture(gif).unwrap()];
    let turn = session.prompt_with(content, jackfield_api::session::Priority::Next).await.unwrap();
    until(&mut events, |body| matches!(body, Body::MessageChunk(_))).await;
    session.interrupt().await.unwrap();
    assert_eq!(turn.result().await.unwrap().error.unwrap().code, "interrupted");
    let (again, turn) = session.retry().await.unwrap();
    assert_eq!(finish(turn).await, "seen");
    assert_eq!(last_said(&place), ["look"]);
    let sent = place.requests().last().unwrap()["messages"].to_string();
    assert!(sent.contains("image/gif"), "{sent}");
    again.close().await;
}

async fn only_what_failed_is_tried_again(version: &str) {
    let place = Place::new(version, vec![Reply::text("One.")]).await;
    let session = start(place.options(), Callbacks::new()).await;
    assert!(matches!(session.retry().await.unwrap_err(), ConversationError::NothingFailed));
    say(&session, "one").await;
    assert!(matches!(session.retry().await.unwrap_err(), ConversationError::NothingFailed));
    session.close().await;
    assert!(matches!(session.retry().await.unwrap_err(), ConversationError::NothingFailed));
}

async fn a_crashed_session_is_resumed(version: &str) {
    let place = Place::new(version, vec![Reply::text("One."), Reply::text("Two.")]).await;
    let session = start(place.options(), Callbacks::new()).await;
    let (_, last) = exchange(&session, "one").await;
    written(&place, &session, &last).await;
    kill(&session).await;
    let resumed = session.resume().await.unwrap();
    exchange(&resumed, "two").await;
    assert_eq!(last_said(&place), ["one", "One.", "two"]);
    assert_eq!(resumed.cli_session_id().unwrap(), session.cli_session_id().unwrap());
    resumed.close().await;
}

async fn a_fork_leaves_the_conversation_as_it_is(version: &str) {
    let place = Place::new(version, ["One.", "Fork.", "Two."].map(Reply::text).to_vec()).await;
    let session = start(place.options(), Callbacks::new()).await;
    exchange(&session, "one").await;
    let fork = session.fork().await.unwrap();
    assert_ne!(fork.cli_session_id().unwrap(), session.cli_session_id().unwrap());
    exchange(&fork, "other").await;
    assert_eq!(last_said(&place), ["one", "One.", "other"]);
    exchange(&session, "two").await;
    assert_eq!(last_said(&place), ["one", "One.", "two"]);
    fork.close().await;
    session.close().await;
}

async fn a_fork_at_a_message_forgets_what_came_after(version: &str) {
    let place = Place::new(version, ["One.", "Two.", "Fork."].map(Reply::text).to_vec()).await;
    let session = start(place.options(), Callbacks::new()).await;
    let (_, answered) = exchange(&session, "one").await;
    exchange(&session, "two").await;
    let fork = session.fork_at(&answered).await.unwrap();
    exchange(&fork, "other").await;
    assert_eq!(last_said(&place), ["one", "One.", "other"]);
    fork.close().await;
    session.close().await;
}

async fn a_conversation_is_rewound_to_before_a_prompt(version: &str) {
    let place = Place::new(version, ["One.", "Two.", "Again.", "Anew."].map(Reply::text).to_vec()).await;
    let session = start(place.options(), Callbacks::new()).await;
    let (first, _) = exchange(&session, "one").await;
    let (second, _) = exchange(&session, "two").await;
    let rewound = session.rewind(&second).await.unwrap();
    exchange(&rewound, "two, in other words").await;
    assert_eq!(last_said(&place), ["one", "One.", "two, in other words"]);
    rewound.close().await;
    let rewound = session.rewind(&first).await.unwrap();
    exchange(&rewound, "one, in other words").await;
    assert_eq!(last_said(&place), ["one, in other words"]);
    rewound.close().await;
    let unknown = session.rewind(&"11111111-1111-4111-8111-111111111111".into()).await.unwrap_err();
    assert!(matches!(unknown, ConversationError::NoSuchMessage(_)), "{unknown}");
    session.close().await;
}

async fn the_mode_in_effect_is_kept(version: &str) {
    let place = Place::new(version, ["One.", "Two."].map(Reply::text).to_vec()).await;
    let session = start(place.options(), Callbacks::new()).await;
    session.set_mode("plan").await.unwrap();
    exchange(&session, "one").await;
    let resumed = session.resume().await.unwrap();
    let mut events = resumed.events(Pace::Lossless);
    exchange(&resumed, "two").await;
    resumed.close().await;
    let status = |body: &Body| {
        if let Body::SessionStatus(status) = body { Some(status.permission_mode.clone()) } else { None }
    };
    let modes: Vec<_> = all(&mut events).await.iter().filter_map(|event| status(&event.body)).collect();
    assert_eq!(modes, ["plan"]);
}

async fn the_model_and_the_thinking_that_were_chosen_are_kept(version: &str) {
    let place = Place::new(version, ["One.", "Two.", "Three."].map(Reply::text).to_vec()).await;
    let session = start(place.options().model("claude-one"), Callbacks::new()).await;
    exchange(&session, "one").await;
    // A model that is told how much it may think.
    session.set_model(Some("claude-haiku-4-5-20251001")).await.unwrap();
    session.set_thinking(Some(2345)).await.unwrap();
    let resumed = session.resume().await.unwrap();
    exchange(&resumed, "two").await;
    let fork = resumed.fork().await.unwrap();
    exchange(&fork, "three").await;
    let requests = place.requests();
    let in_effect =
        |request: &Value| (request["model"].clone(), request["thinking"]["budget_tokens"].clone());
    assert_eq!(in_effect(&requests[0]).0, "claude-one");
    for request in &requests[1..] {
        assert_eq!(in_effect(request), (json!("claude-haiku-4-5-20251001"), json!(2345)));
    }
    fork.close().await;
    resumed.close().await;
}

async fn a_conversation_that_was_never_written_begins_anew(version: &str) {
    let place = Place::new(version, vec![Reply::text("One.")]).await;
    let session = start(place.options(), Callbacks::new()).await;
    let id = session.cli_session_id().unwrap();
    kill(&session).await;
    leave_only_a_note(&place, &id);
    for options in [place.options().resume(id.clone()), place.options().session_id(id.clone())] {
        let error = timeout(PATIENCE, Session::start(options, Callbacks::new())).await.unwrap().unwrap_err();
        assert!(matches!(error, StartError::Died { .. }), "{error}");
    }

    let anew = timeout(PATIENCE, session.resume()).await.unwrap().unwrap();
    let mut events = anew.events(Pace::Lossless);
    assert_ne!(anew.cli_session_id().unwrap(), id);
    exchange(&anew, "one").await;
    assert_eq!(last_said(&place), ["one"]);
    anew.close().await;
    let events = all(&mut events).await;
    let told = events.iter().filter_map(|event| match &event.body {
        Body::Notice(notice) => Some(notice.text.as_str()),
        _ => None,
    });
    assert_eq!(told.filter(|text| text.contains(id.as_str())).count(), 1);
    let origin = events.iter().find_map(|event| match &event.body {
        Body::SessionStatus(status) => Some(status.session_status),
        _ => None,
    });
    assert_eq!(origin, Some(SessionOrigin::New));
}

/// What 2.1.197 leaves when it is killed within milliseconds of its first prompt: a file that it neither finds a
/// conversation in nor gives the name away of.
fn leave_only_a_note(place: &Place, id: &SessionId) {
    let workspace = place.sandbox.places().workspace.to_str().unwrap().to_owned();
    let project = jackfield_sdk::wire::project_folder(&workspace);
    let folder = place.sandbox.places().home.join(".claude/projects").join(project);
    std::fs::create_dir_all(&folder).unwrap();
    let note = json!({
        "type": "queue-operation", "operation": "enqueue", "timestamp": "2026-01-01T00:00:00.000Z",
        "sessionId": id, "content": "one",
    });
    std::fs::write(folder.join(format!("{id}.jsonl")), format!("{note}\n")).unwrap();
}

async fn a_prompt_that_was_lost_with_its_conversation_is_said_again_in_a_new_one(version: &str) {
    let turns = vec![gated("a long text that is never told to its end", "gate"), Reply::text("One.")];
    let place = Place::new(version, turns).await;
    let session = start(place.options(), Callbacks::new()).await;
    let id = session.cli_session_id().unwrap();
    let turn = session.prompt("one").await.unwrap();
    place.api.gates().reached("gate").await;
    kill(&session).await;
    assert_eq!(turn.result().await.unwrap_err(), TurnError::RunEnded);
    leave_only_a_note(&place, &id);
    let (again, turn) = timeout(PATIENCE, session.retry()).await.unwrap().unwrap();
    assert_ne!(again.cli_session_id().unwrap(), id);
    assert_eq!(finish(turn).await, "One.");
    assert_eq!(last_said(&place), ["one"]);
    again.close().await;
}

async fn what_was_answered_and_not_written_cannot_be_resumed(version: &str) {
    let place = Place::new(version, vec![Reply::text("One.")]).await;
    let session = start(place.options().persistence(Switch::Off), Callbacks::new()).await;
    exchange(&session, "one").await;
    let error = timeout(PATIENCE, session.resume()).await.unwrap().unwrap_err();
    assert!(matches!(error, ConversationError::NotWritten(_)), "{error}");
}

async fn a_session_of_a_host_counts_on_in_its_next_run(version: &str) {
    let place = Place::new(version, ["One.", "Two.", "Fork."].map(Reply::text).to_vec()).await;
    let part_of = PartOf { session_id: "host-7".into(), next_seq: Seq(101), last_turn: Some(TurnNumber(4)) };
    let session = start(place.options().part_of(part_of), Callbacks::new()).await;
    let mut events = session.events(Pace::Lossless);
    exchange(&session, "one").await;
    let resumed = session.resume().await.unwrap();
    let mut more = resumed.events(Pace::Lossless);
    exchange(&resumed, "two").await;
    // Another conversation is another session.
    let fork = resumed.fork().await.unwrap();
    let mut other = fork.events(Pace::Lossless);
    fork.close().await;
    resumed.close().await;
    let mut all_of_it = all(&mut events).await;
    all_of_it.extend(all(&mut more).await);
    let numbers: Vec<u64> = all_of_it.iter().map(|event| event.seq.0).collect();
    assert_eq!(numbers, (101..101 + numbers.len() as u64).collect::<Vec<_>>());
    assert!(all_of_it.iter().all(|event| event.session_id.as_str() == "host-7"));
    let turns = |found: &Event| matches!(found.body, Body::TurnStarted(_)).then_some(found.turn?.0);
    assert_eq!(all_of_it.iter().filter_map(|event| turns(event)).collect::<Vec<_>>(), [5, 6]);
    let other = all(&mut other).await;
    assert_eq!(other[0].seq, Seq(1));
    assert_ne!(other[0].session_id.as_str(), "host-7");
}

async fn a_wedged_cli_is_ended_and_the_conversation_goes_on(version: &str) {
    let place = Place::new(version, ["One.", "Two."].map(Reply::text).to_vec()).await;
    let paper = Arc::new(Paper::default());
    let options = place.options().journal(Arc::<Paper>::clone(&paper));
    let session = start(options, Callbacks::new()).await;
    let (mut events, mut told) = (session.events(Pace::Lossless), session.events(Pace::Lossless));
    let (_, last) = exchange(&session, "one").await;
    written(&place, &session, &last).await;
    let id = session.cli_session_id().unwrap();
    jackfield_testkit::processes::signal(session.ready().answer.pid.unwrap(), Signal::STOP);
    let mut raw = session.raw();
    let setting = tokio::spawn({
        let session = session.clone();
        async move { session.set_mode("plan").await }
    });
    let line = timeout(PATIENCE, raw.recv()).await.unwrap().unwrap();
    assert!(line.text.contains("set_permission_mode"), "{}", line.text);
    pass(Duration::from_secs(31)).await;
    let refused = timeout(PATIENCE, setting).await.unwrap().unwrap().unwrap_err();
    assert_eq!(refused.code(), RejectionCode::TimedOut);
    // It is stopped: it does not hear that it should end.
    pass(Duration::from_secs(6)).await;
    let end = until(&mut events, |body| matches!(body, Body::RunEnded(_))).await;
    let Body::RunEnded(end) = &end.body else { unreachable!() };
    assert_eq!(end.reason, RunEndReason::Wedged);

    exchange(&session, "two").await;
    assert_eq!(last_said(&place), ["one", "One.", "two"]);
    assert_eq!(session.cli_session_id().unwrap(), id);
    session.close().await;
    let events = all(&mut events).await;
    let tags: Vec<&str> = events.iter().map(|event| event.body.tag()).collect();
    assert_eq!(tags.first(), Some(&"run_started"));
    assert_eq!(tags.iter().filter(|tag| **tag == "run_ended").count(), 1);
    let inside = jackfield_testkit::processes::inside(&place.sandbox.places().workspace);
    assert_eq!(inside, Vec::<u32>::new(), "nothing of either is alive");
    let told = all(&mut told).await;
    assert_eq!(told.iter().filter(|event| event.body.tag() == "run_started").count(), 2);
    assert_eq!(paper.machines(), 1);
    assert_eq!(paper.played(), told, "the machine was the same");
}

async fn a_turn_is_paid_for_once_whatever_run_it_was_in(version: &str) {
    let place = Place::new(version, ["1", "2", "3", "4", "5", "6"].map(Reply::text).to_vec()).await;
    let cost = async |session: &Session| say(session, "on").await.figures.cost_usd;
    let session = start(place.options(), Callbacks::new()).await;
    let once = cost(&session).await;
    let mut costs = vec![cost(&session).await];
    session.close().await;
    // After an end in peace, which is when 2.1.325 writes down what it has counted.
    let resumed = session.resume().await.unwrap();
    costs.push(cost(&resumed).await);
    let last = say(&resumed, "on").await.figures.last_message_uuid.unwrap();
    written(&place, &resumed, &last).await;
    kill(&resumed).await;
    // After one that was not.
    let latest = start(place.options().continue_latest(), Callbacks::new()).await;
    costs.push(cost(&latest).await);
    let fork = latest.fork().await.unwrap();
    costs.push(cost(&fork).await);
    latest.close().await;
    fork.close().await;
    assert!(0.0 < once && costs.iter().all(|cost| (cost - once).abs() < 1e-9), "{once}: {costs:?}");
}
