//! The CLI's own files as events: compared with the events of the session that wrote them, and with files that
//! no CLI should have written.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use jackfield_api::conversation::ItemOutcome;
use jackfield_api::session::RunEndReason;
use jackfield_api::snapshot::{Item, ItemContent, SessionState};
use jackfield_api::tool::ToolStatus;
use jackfield_api::{Body, Event, Seq, SharedEvent, Snapshot, Timestamp};
use jackfield_core::Transcript;
use jackfield_sdk::history::{After, History, HistoryError, Known};
use jackfield_sdk::{Callbacks, Pace};
use jackfield_testkit::api::Reply;
use jackfield_wire::{PermissionMode, SessionId};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::time::timeout;

use super::place::{PATIENCE, Place, all, bash, gated, say, start, until, with_both_clis};

with_both_clis!(
    an_imported_session_says_what_the_live_one_said,
    nothing_is_told_again_to_a_host_that_knows_everything,
    what_a_host_has_missed_is_told_once_wherever_it_died,
);

/// A session of the real CLI: its events, and where its file is.
struct Lived {
    events: Vec<SharedEvent>,
    history: History,
    id: SessionId,
    _place: Place,
}

/// Tools that go well and badly, a prompt that joins a turn, a subagent, an interrupt, commands, a compaction.
async fn lived(version: &str) -> Lived {
    let main = |reply: Reply| Reply { matching: Some("MAIN".into()), ..reply };
    let inside = |reply: Reply| Reply { not_match: Some("MAIN".into()), ..reply };
    let task = json!({
        "description": "job", "prompt": "SUB go", "subagent_type": "general-purpose", "run_in_background": false,
    });
    let replies = vec![
        Reply::text("MAIN first answer"),
        main(bash("echo hello")),
        main(Reply::tool_use("Write", json!({"file_path": "/ws/a.txt", "content": "alpha\n"}))),
        main(bash("until test -e go; do sleep 0.02; done; exit 3")),
        main(Reply::text("after the tools")),
        main(Reply::tool_use("Task", task)),
        inside(bash("echo inside")),
        inside(Reply::text("sub done")),
        main(Reply::text("after the agent")),
        gated("and it goes on and on", "stop"),
        Reply { repeat: Some(20), ..Reply::text("fine") },
    ];
    let place = Place::new(version, replies).await;
    let options =
        place.options().variable("IS_SANDBOX", "1").permission_mode(PermissionMode::BypassPermissions);
    let session = start(options.allow_bypass(), Callbacks::new()).await;
    let mut events = session.events(Pace::Lossless);
    let everything = {
        let mut events = session.events(Pace::Lossless);
        tokio::spawn(async move { all(&mut events).await })
    };
    say(&session, "MAIN hello").await;

    let turn = session.prompt("use tools").await.unwrap();
    until(&mut events, |body| matches!(body, Body::ToolCall(call) if call.input.get().contains("until")))
        .await;
    session.prompt("and also this").await.unwrap();
    until(&mut events, |body| matches!(body, Body::Queue(queue) if !queue.prompts.is_empty())).await;
    place.sandbox.write("go", "").unwrap();
    timeout(PATIENCE, turn.result()).await.unwrap().unwrap();

    say(&session, "start an agent").await;
    let turn = session.prompt("stop").await.unwrap();
    until(&mut events, |body| matches!(body, Body::MessageChunk(chunk) if chunk.text.contains("goes"))).await;
    session.interrupt().await.unwrap();
    timeout(PATIENCE, turn.result()).await.unwrap().unwrap();

    for prompt in ["/cost", "/compact", "go on"] {
        say(&session, prompt).await;
    }
    let id = session.cli_session_id().unwrap();
    let history = place.options().history().unwrap();
    drop(events);
    session.close().await;
    drop(session);
    Lived { events: everything.await.unwrap(), history, id, _place: place }
}

impl Lived {
    fn import(&self, next_seq: u64, after: After) -> Vec<Event> {
        self.history.import(&self.id, "ours".into(), Seq(next_seq), after).unwrap()
    }
}

fn fold<'a>(events: impl IntoIterator<Item = &'a Event>) -> Transcript {
    let mut transcript = Transcript::new();
    for event in events {
        transcript.apply(event);
    }
    transcript
}

/// Checks that nothing is open and that the numbers have no hole; gives the transcript.
fn whole(events: &[Event], first: u64) -> Snapshot {
    for (event, seq) in events.iter().zip(first..) {
        assert_eq!(event.seq, Seq(seq), "{event:?}");
        assert_eq!(event.session_id.as_str(), "ours");
    }
    assert!(events.is_sorted_by_key(|event| event.at));
    let count = |fits: fn(&Body) -> bool| events.iter().filter(|event| fits(&event.body)).count();
    assert_eq!(count(|body| matches!(body, Body::RunStarted(_))), 1);
    assert_eq!(count(|body| matches!(body, Body::RunEnded(_))), 1);
    let mut transcript = fold(events);
    let snapshot = transcript.snapshot().clone();
    assert_eq!(snapshot.state, SessionState::Ended);
    transcript.take_settled();
    assert_eq!(transcript.snapshot().items, [], "left open");
    snapshot
}

/// What is the same on disk and on the wire: prompts, words of the model, calls with their ends and results.
fn essence(items: &[Item]) -> Vec<(Option<String>, String, String)> {
    let told = |item: &Item| {
        let (kind, words) = match &item.content {
            ItemContent::UserMessage(message) if !message.text.starts_with('/') => {
                let uuid = message.uuid.as_ref().map_or("", |uuid| uuid.as_str());
                ("prompt", format!("{uuid} {}", message.text))
            }
            // A subagent's own words are only on disk.
            ItemContent::Text(text)
                if text.outcome == Some(ItemOutcome::Complete) && item.parent_tool_call_id.is_none() =>
            {
                let id = text.message_id.as_ref().map_or("", |id| id.as_str());
                // What commands print has no name of the API's.
                if !id.starts_with("msg_") {
                    return None;
                }
                ("text", format!("{id} {}", text.text))
            }
            ItemContent::Tool(tool) => {
                let (id, status) = (&tool.tool_call_id, tool.tool_status);
                let output = tool.output.as_ref().map(jackfield_api::Json::get).unwrap_or_default();
                ("tool", format!("{id} {} {status:?} {output} {:?}", tool.tool_title, tool.normalized))
            }
            ItemContent::File(file) => ("file", format!("{} {:?}", file.file_path, file.new_content)),
            _ => return None,
        };
        let parent = item.parent_tool_call_id.as_ref().map(|id| id.as_str().to_owned());
        Some((parent, kind.to_owned(), words))
    };
    items.iter().filter_map(told).collect()
}

async fn an_imported_session_says_what_the_live_one_said(version: &str) {
    let lived = lived(version).await;
    let live = fold(lived.events.iter().map(|event| &**event)).snapshot().clone();
    let events = lived.import(1, After::Beginning);
    let imported = whole(&events, 1);

    let by_name = |snapshot: &Snapshot| {
        let mut essence = essence(&snapshot.items);
        essence.sort();
        essence
    };
    assert_eq!(by_name(&imported), by_name(&live));
    let in_order = |snapshot: &Snapshot, kind: &str| -> Vec<String> {
        let all = essence(&snapshot.items).into_iter();
        all.filter(|(_, own, _)| own == kind).map(|(_, _, words)| words).collect()
    };
    for kind in ["prompt", "text", "tool"] {
        assert_eq!(in_order(&imported, kind), in_order(&live, kind), "the order of each {kind}");
    }

    // Seven turns, all of them over; one was interrupted.
    let completes: Vec<_> = imported
        .items
        .iter()
        .filter_map(|item| match &item.content {
            ItemContent::Complete(complete) => Some(&complete.data),
            _ => None,
        })
        .collect();
    let live_completes = live.items.iter().filter(|item| matches!(item.content, ItemContent::Complete(_)));
    assert_eq!(completes.len(), live_completes.count());
    assert!(completes.iter().all(|figures| figures.cost_usd.abs() < f64::EPSILON));
    assert!(completes[1].output_tokens > completes[0].output_tokens && completes[0].output_tokens > 0);
    let uuids = lived.history.message_uuids(&lived.id).unwrap();
    let last = completes.last().unwrap().last_message_uuid.as_ref().unwrap();
    assert_eq!(last.as_str(), uuids.last().unwrap().as_str());
    let errors: Vec<&str> = events
        .iter()
        .filter_map(
            |event| if let Body::Error(error) = &event.body { Some(error.code.as_str()) } else { None },
        )
        .collect();
    assert_eq!(errors, ["interrupted"]);
    let compactions = imported.items.iter().filter(|item| matches!(item.content, ItemContent::Compaction(_)));
    assert_eq!(compactions.count(), 1);

    let (status, of_live) = (imported.status.unwrap(), live.status.unwrap());
    assert_eq!(status.cwd, of_live.cwd);
    assert_eq!(status.claude_code_version, version);
    assert_eq!(status.cli_session_id, of_live.cli_session_id);
    assert_eq!(imported.last_run.unwrap().reason, RunEndReason::OutputEnded);
}

async fn nothing_is_told_again_to_a_host_that_knows_everything(version: &str) {
    let lived = lived(version).await;
    let live = fold(lived.events.iter().map(|event| &**event)).snapshot().clone();
    assert_eq!(lived.import(1, After::Known(live.items.iter().collect())), []);
}

/// The host is cut off behind each of its events and ends what it has; what it then takes from the file is the
/// rest, and nothing twice.
async fn what_a_host_has_missed_is_told_once_wherever_it_died(version: &str) {
    let lived = lived(version).await;
    let mut live: Vec<Event> = lived.events.iter().map(|event| (**event).clone()).collect();
    for event in &mut live {
        event.session_id = "ours".into();
    }
    let wanted = names(&fold(&live).snapshot().items);
    for cut in 1..live.len() {
        let mut events = live[..cut].to_vec();
        events.extend(fold(&events).host_ended(Timestamp(0)));
        let known: Known = fold(&events).snapshot().items.iter().collect();
        let next_seq = events.len() as u64 + 1;
        let found = lived.import(next_seq, After::Known(known));
        if !found.is_empty() {
            whole(&found, next_seq);
            let begun = |event: &&Event| matches!(event.body, Body::TurnStarted(_));
            assert!(found.iter().find(begun).is_none_or(|event| event.turn > events[events.len() - 1].turn));
        }
        events.extend(found);
        let snapshot = fold(&events).snapshot().clone();
        let names = names(&snapshot.items);
        assert_eq!(names, wanted, "cut behind event {cut}: {:?}", live[cut - 1]);
        // A call that was lost has its result in a notice.
        for item in &snapshot.items {
            if let ItemContent::Tool(tool) = &item.content
                && tool.tool_status == ToolStatus::Error
                && tool.output.is_none()
                && item.parent_tool_call_id.is_none()
            {
                let id = tool.tool_call_id.as_str();
                let told = |item: &Item| matches!(&item.content, ItemContent::Notice(notice) if notice.text.contains(id));
                assert!(snapshot.items.iter().any(told), "cut behind event {cut}: the result of {id}");
            }
        }
    }
}

/// How often each prompt, text and call of the main thread is there.
fn names(items: &[Item]) -> BTreeMap<String, usize> {
    let mut names = BTreeMap::new();
    for (_, kind, words) in essence(items).into_iter().filter(|(parent, ..)| parent.is_none()) {
        let name = match kind.as_str() {
            "tool" => words.split(' ').next().unwrap().to_owned(),
            "file" => continue,
            _ => words,
        };
        *names.entry(name).or_default() += 1;
    }
    names
}

const ID: &str = "ca1ec603-3246-4ddc-99e9-80bdc98145ac";

/// A configuration folder with one session of these lines.
fn with_lines(lines: &str) -> (TempDir, History) {
    let config = tempfile::tempdir().unwrap();
    let project: PathBuf = config.path().join("projects").join("-ws");
    fs::create_dir_all(&project).unwrap();
    fs::write(project.join(format!("{ID}.jsonl")), lines).unwrap();
    let history = History::new(config.path());
    (config, history)
}

fn import(lines: &str) -> Vec<Event> {
    let (_config, history) = with_lines(lines);
    history.import(&ID.into(), "ours".into(), Seq(5), After::Beginning).unwrap()
}

fn prompt(number: usize, parent: Option<usize>, content: &Value) -> Value {
    json!({
        "type": "user", "uuid": format!("u-{number}"), "parentUuid": parent.map(|parent| format!("u-{parent}")),
        "message": {"role": "user", "content": content}, "timestamp": "2026-11-15T06:13:37.326Z",
    })
}

fn answer(number: usize, block: &Value) -> Value {
    json!({
        "type": "assistant", "uuid": format!("u-{number}"), "parentUuid": format!("u-{}", number - 1),
        "message": {"id": format!("msg_{number}"), "role": "assistant", "model": "claude-x", "content": [block]},
    })
}

fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

fn joined(lines: &[Value]) -> String {
    lines.iter().map(Value::to_string).collect::<Vec<_>>().join("\n") + "\n"
}

#[test]
fn an_empty_file_and_one_without_a_conversation_tell_nothing() {
    assert_eq!(import(""), []);
    assert_eq!(import("\n\n"), []);
    assert_eq!(
        import(&joined(&[json!({"type": "mode", "mode": "normal"}), json!({"type": "new-thing"})])),
        []
    );
}

#[test]
fn a_session_that_is_not_there_cannot_be_imported() {
    let (_config, history) = with_lines("");
    let other = "00000000-0000-4000-8000-000000000000";
    let error = history.import(&other.into(), "ours".into(), Seq(1), After::Beginning).unwrap_err();
    assert!(matches!(error, HistoryError::NotFound { .. }), "{error}");
}

#[test]
fn a_torn_last_line_is_told_and_the_rest_is_there() {
    let lines = joined(&[prompt(1, None, &json!("hello")), answer(2, &text("hi"))]);
    let events = import(&(lines + r#"{"type":"user","uuid":"u-3","parentUuid":"u-2","mess"#));
    let snapshot = whole(&events, 5);
    assert_eq!(essence(&snapshot.items).len(), 2);
    let warned = |item: &Item| matches!(&item.content, ItemContent::Notice(notice) if notice.text.contains("cannot be read"));
    assert_eq!(snapshot.items.iter().filter(|item| warned(item)).count(), 1);
}

#[test]
fn entries_that_nobody_knows_harm_nothing() {
    let lines = [
        json!({"type": "new-thing", "uuid": "u-0", "message": 7}),
        prompt(1, None, &json!([{"type": "hologram", "x": 1}, {"type": "text", "text": "hello"}])),
        json!({"type": "new-thing", "uuid": "u-2", "parentUuid": "u-1"}),
        answer(3, &json!({"type": "hologram", "x": 1})),
        answer(4, &text("hi")),
        json!({"type": "attachment", "uuid": "u-5", "parentUuid": "u-4", "attachment": {"type": "queued_command"}}),
        json!({"type": "attachment", "uuid": "u-6", "parentUuid": "u-5", "attachment": []}),
        json!({"type": "system", "uuid": "u-7", "parentUuid": "u-6", "subtype": "compact_boundary", "compactMetadata": 3}),
        // A result without its call, and a call that is called twice.
        prompt(8, Some(7), &json!([{"type": "tool_result", "tool_use_id": "toolu_none", "content": "x"}])),
        answer(9, &json!({"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "ls"}})),
        answer(10, &json!({"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": 7})),
    ];
    let events = import(&joined(&lines));
    let snapshot = whole(&events, 5);
    let prompts: Vec<_> =
        essence(&snapshot.items).into_iter().filter(|(_, kind, _)| kind == "prompt").collect();
    assert_eq!(prompts.len(), 1);
}

#[test]
fn a_turn_that_was_cut_off_says_so() {
    let call = json!({"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "ls"}});
    let result = json!([{"type": "tool_result", "tool_use_id": "toolu_1", "content": "x"}]);
    let cut = [
        vec![prompt(1, None, &json!("hello"))],
        vec![prompt(1, None, &json!("hello")), answer(2, &call)],
        vec![prompt(1, None, &json!("hello")), answer(2, &call), prompt(3, Some(2), &result)],
    ];
    for lines in cut {
        let events = import(&joined(&lines));
        whole(&events, 5);
        let codes: Vec<_> = events
            .iter()
            .filter_map(|event| match &event.body {
                Body::Error(error) => Some(error.code.as_str()),
                Body::Complete(_) => Some("complete"),
                _ => None,
            })
            .collect();
        assert_eq!(codes, ["truncated"], "{lines:?}");
    }
}

#[test]
fn a_hundred_thousand_lines_are_imported() {
    let exchange = |number: usize| {
        let parent = (number > 0).then(|| 2 * number);
        let said = prompt(2 * number + 1, parent, &json!(format!("prompt {number}")));
        [said, answer(2 * number + 2, &text("an answer"))]
    };
    let lines: Vec<Value> = (0..50_000).flat_map(exchange).collect();
    let events = import(&joined(&lines));
    let snapshot = whole(&events, 5);
    assert_eq!(essence(&snapshot.items).len(), 100_000);
    assert_eq!(snapshot.turn.map(|turn| turn.0), Some(50_000));
}
