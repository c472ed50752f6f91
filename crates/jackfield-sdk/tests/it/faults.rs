//! What may go wrong with what the CLI says: every line is delivered or reported, however wrong or long it is,
//! and the turn goes on.

use jackfield_api::session::RunEndReason;
use jackfield_api::{Body, SharedEvent};
use jackfield_sdk::{Callbacks, Pace, Session, Switch};
use jackfield_testkit::fake::{Bytes, FakeStep, Flood};
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::fake::{
    Fake, assistant, bytes, delta, init, opening, prompted, result, silence, stream, turn, turn_around,
};
use super::place::{PATIENCE, all, say, start};

/// Two turns, the first with this in its middle; the events of both.
async fn with_a_fault(middle: impl IntoIterator<Item = FakeStep>) -> Vec<SharedEvent> {
    let mut steps = turn_around("before ", "after", middle);
    steps.extend(turn("second"));
    steps.push(silence());
    let fake = Fake::new(steps);
    let session = fake.session().await;
    let events = listen(&session);
    let first = say(&session, "first").await;
    assert_eq!((first.text.as_str(), first.error), ("before after", None));
    assert_eq!(say(&session, "second").await.text, "second");
    session.close().await;
    let events = events.await.unwrap();
    let Body::RunEnded(end) = &events.last().unwrap().body else { panic!("the last event is the end") };
    assert_eq!((end.reason, end.exit_code), (RunEndReason::Closed, Some(0)));
    events
}

/// Reads everything as it comes.
pub(crate) fn listen(session: &Session) -> JoinHandle<Vec<SharedEvent>> {
    let mut events = session.events(Pace::Lossless);
    tokio::spawn(async move { all(&mut events).await })
}

pub(crate) fn malformed(events: &[SharedEvent]) -> Vec<&str> {
    let found = events.iter().filter_map(|event| match &event.body {
        Body::Malformed(line) => Some(line.text.as_str()),
        _ => None,
    });
    found.collect()
}

fn unknown(events: &[SharedEvent]) -> Vec<&str> {
    let found = events.iter().filter_map(|event| match &event.body {
        Body::Unknown(line) => Some(line.tag.as_str()),
        _ => None,
    });
    found.collect()
}

pub(crate) fn tags(events: &[SharedEvent]) -> Vec<&'static str> {
    events.iter().map(|event| event.body.tag()).collect()
}

// ---- lines that are wrong ----

#[tokio::test]
async fn f20_a_line_that_is_not_json_is_told_and_the_turn_goes_on() {
    let half = r#"{"type":"assistant","message":{"id":"#;
    let events = with_a_fault([bytes(format!("{half}\n[SandboxDebug] hello\n"))]).await;
    assert_eq!(malformed(&events), [half, "[SandboxDebug] hello"]);
}

#[tokio::test]
async fn blank_lines_say_nothing() {
    let plain = with_a_fault([]).await;
    let events = with_a_fault([bytes("\n\n  \n\r\n")]).await;
    assert_eq!(tags(&events), tags(&plain));
}

#[tokio::test]
async fn f21_what_is_not_known_is_passed_on() {
    let mut block = assistant("");
    block["message"]["content"] = json!([{"type": "hologram", "light": 1}]);
    let odd_delta =
        stream(&json!({"type": "content_block_delta", "index": 0, "delta": {"type": "smell_delta"}}));
    let lines = [
        json!({"type": "weather", "sunny": true}),
        json!({"type": "system", "subtype": "weather", "uuid": "u", "session_id": "s"}),
        block,
        odd_delta,
    ];
    let events = with_a_fault(lines.clone().map(FakeStep::Send)).await;
    let tags = unknown(&events);
    assert_eq!(tags.len(), 4, "{tags:?}");
    assert_eq!(tags[..3], ["weather", "system/weather", "assistant/hologram"]);
    assert!(tags[3].ends_with("smell_delta"), "{tags:?}");
    let first = events.iter().find_map(|event| match &event.body {
        Body::Unknown(line) => Some(line.text.clone()),
        _ => None,
    });
    assert_eq!(serde_json::from_str::<Value>(&first.unwrap()).unwrap(), lines[0]);
}

#[tokio::test]
async fn f21_a_request_that_is_not_known_is_refused_at_once() {
    let request = json!({"type": "control_request", "request_id": "odd", "request": {"subtype": "sing"}});
    let refusal = json!({"type": "control_response", "response": {"subtype": "error", "request_id": "odd"}});
    let events = with_a_fault([FakeStep::Send(request), FakeStep::Expect(refusal)]).await;
    assert_eq!(unknown(&events), ["control_request/sing"]);
}

#[tokio::test]
async fn f20_text_that_is_not_unicode_arrives_with_replacements_and_is_counted() {
    let surrogate = delta("AA").to_string().replace("AA", r"\ud83d");
    let mut byte = delta("AA").to_string().replace("AA", "A\u{1}").into_bytes();
    let at = byte.iter().position(|byte| *byte == 1).unwrap();
    byte[at] = 0xff;
    byte.push(b'\n');
    let middle = [bytes(surrogate + "\n"), FakeStep::SendRaw(base64(&byte))];

    let mut steps = turn_around("before ", "after", middle);
    // The final text as such a CLI would send it: cut in the middle of the pair too.
    let last =
        steps.iter_mut().find(|step| matches!(step, FakeStep::Send(line) if line["type"] == "assistant"));
    *last.unwrap() = FakeStep::Send(assistant("before \u{fffd}A\u{fffd}after"));
    steps.push(silence());
    let fake = Fake::new(steps);
    let session = fake.session().await;
    let mut events = session.events(Pace::Lossless);
    assert_eq!(say(&session, "go").await.text, "before \u{fffd}A\u{fffd}after");
    session.close().await;
    let events = all(&mut events).await;
    let replaced =
        |event: &&SharedEvent| matches!(&event.body, Body::Notice(notice) if notice.text.contains("U+FFFD"));
    assert_eq!(events.iter().filter(replaced).count(), 2, "one notice for each line");
    assert_eq!(malformed(&events), Vec::<&str>::new());
}

fn base64(bytes: &[u8]) -> Bytes {
    use base64::Engine as _;
    Bytes::Base64(base64::prelude::BASE64_STANDARD.encode(bytes))
}

#[tokio::test]
async fn a_message_without_model_and_usage_is_a_message() {
    let mut line = assistant("bare");
    let message = line["message"].as_object_mut().unwrap();
    message.remove("model");
    message.remove("usage");
    message.insert("id".to_owned(), json!("msg_bare"));
    let mut steps = vec![prompted()];
    steps.extend([init(), line, result("bare")].map(FakeStep::Send));
    steps.push(silence());
    let fake = Fake::new(steps);
    let session = fake.session().await;
    let mut events = session.events(Pace::Lossless);
    assert_eq!(say(&session, "go").await.text, "bare");
    session.close().await;
    let events = all(&mut events).await;
    assert_eq!((malformed(&events), unknown(&events)), (vec![], vec![]));
}

// ---- too much ----

#[tokio::test]
async fn a_megabyte_on_standard_error_holds_nothing_up() {
    let line = "x".repeat(63);
    let many = vec![line; 16 * 1024].join("\n");
    let events = with_a_fault([FakeStep::Stderr(many), FakeStep::Stderr("y".repeat(1024 * 1024))]).await;
    let lines: Vec<&str> = events
        .iter()
        .filter_map(
            |event| if let Body::Stderr(line) = &event.body { Some(line.text.as_str()) } else { None },
        )
        .collect();
    assert_eq!(lines.len(), 16 * 1024 + 1);
    assert_eq!(*lines.last().unwrap(), "(a line of 1048576 bytes)");
}

#[tokio::test]
async fn a_flood_of_65_megabytes_arrives_whole() {
    const COUNT: u64 = 65_000;
    let piece = "x".repeat(900);
    let flood = Flood::Lines { count: COUNT, line: delta(&piece) };
    let mut steps = vec![prompted()];
    steps.extend(opening("begin"));
    steps.push(FakeStep::Flood(flood));
    steps.extend([FakeStep::Send(result("")), silence()]);
    let fake = Fake::new(steps);
    let session = start(fake.options().transcript(Switch::Off), Callbacks::new()).await;
    let mut events = session.events(Pace::Lossless);
    let turn = session.prompt("go").await.unwrap();
    let (mut text, mut next) = (0, 1);
    loop {
        let event = timeout(PATIENCE, events.next()).await.unwrap().expect("the session goes on");
        assert_eq!(event.seq.0, next, "no hole");
        next += 1;
        match &event.body {
            Body::MessageChunk(chunk) => text += chunk.text.len(),
            Body::Complete(_) => break,
            _ => {}
        }
    }
    assert_eq!(text, "begin".len() + usize::try_from(COUNT).unwrap() * piece.len());
    assert!(turn.result().await.unwrap().text.len() == text);
    session.close().await;
}

#[tokio::test]
async fn f18_lines_of_20_megabytes_arrive_whole() {
    const LENGTH: u64 = 20_000_000;
    let around = |line: &Value| {
        let text = line.to_string();
        let (head, tail) = text.split_once("HERE").unwrap();
        (head.to_owned(), format!("{tail}\n"))
    };
    let (head, tail) = around(&assistant("HERE"));
    let tool_result = json!({"type": "user", "parent_tool_use_id": null, "session_id": "s", "uuid": "u", "message": {
        "role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "HERE"}],
    }});
    let mut call = assistant("");
    call["message"]["content"] =
        json!([{"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "cat"}}]);
    let (result_head, result_tail) = around(&tool_result);
    let long = || FakeStep::Flood(Flood::Bytes(LENGTH));
    let fake = Fake::new([
        prompted(),
        FakeStep::Send(init()),
        FakeStep::Send(call),
        bytes(result_head),
        long(),
        bytes(result_tail),
        bytes(head),
        long(),
        bytes(tail),
        FakeStep::Send(result("")),
        silence(),
    ]);
    let session = fake.session().await;
    let events = listen(&session);
    let result = say(&session, "go").await;
    assert_eq!((result.text.len() as u64, result.error), (LENGTH, None));
    session.close().await;
    let output = events.await.unwrap().iter().find_map(|event| match &event.body {
        Body::ToolUpdate(update) => update.output.as_ref().map(|output| output.get().len() as u64),
        _ => None,
    });
    assert!(output.unwrap() >= LENGTH);
}

#[tokio::test]
async fn f18_a_line_over_the_limit_is_told_and_the_next_one_is_read() {
    let mut steps = turn_around("before ", "after", [FakeStep::Flood(Flood::Bytes(65_000_000)), bytes("\n")]);
    steps.push(silence());
    let fake = Fake::new(steps);
    let session = start(fake.options().line_limit(1024 * 1024), Callbacks::new()).await;
    let mut events = session.events(Pace::Lossless);
    assert_eq!(say(&session, "go").await.text, "before after");
    session.close().await;
    let reasons: Vec<String> = all(&mut events)
        .await
        .iter()
        .filter_map(
            |event| if let Body::Malformed(line) = &event.body { Some(line.reason.clone()) } else { None },
        )
        .collect();
    assert_eq!(reasons, ["the line is too long: 65000000 bytes"]);
}
