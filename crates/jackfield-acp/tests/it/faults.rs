//! What a CLI can do wrong in the middle of a turn, and an editor on its pipes: no hang, and no `end_turn` for what was
//! cut short.

use jackfield_testkit::api::Reply;
use jackfield_testkit::cli::NEWER_VERSION;
use jackfield_testkit::fake::{Bytes, FakeStep, Flood};
use serde_json::{Value, json};

use crate::editor::PATIENCE;
use crate::stage::{Stage, assistant, begin, result, stay, turn};

/// What comes of a turn in whose middle this happens, and what was said.
async fn through(middle: Vec<FakeStep>) -> (Result<Value, Value>, String) {
    let steps: Vec<FakeStep> = turn(middle).into_iter().chain(turn([])).chain([stay()]).collect();
    let stage = Stage::fake(steps).await;
    let (mut editor, session, agent) = stage.opened().await;
    let ended = editor.turn(&session, "go").await;
    let text = editor.text("agent_message_chunk");
    if ended.is_ok() {
        assert_eq!(editor.turn(&session, "again").await.unwrap()["stopReason"], "end_turn");
    }
    stage.end(editor, agent).await;
    (ended, text)
}

fn raw(text: &str) -> FakeStep {
    FakeStep::SendRaw(Bytes::Text(text.to_owned()))
}

#[tokio::test(flavor = "multi_thread")]
async fn lines_that_make_no_sense_are_passed_over_and_the_turn_goes_on() {
    let unknown_block = json!({
        "type": "assistant", "parent_tool_use_id": null, "session_id": "s", "uuid": "u-9",
        "message": { "id": "m9", "type": "message", "role": "assistant", "content": [{ "type": "hologram", "x": 1 }] },
    });
    let middles = [
        ("no JSON", vec![raw("{\"type\":\"assistant\",oops}\n")]),
        ("a line of a sandbox", vec![raw("[SandboxDebug] hello\n")]),
        ("blank lines", vec![raw("\n\n  \n")]),
        (
            "an unknown type",
            vec![FakeStep::Send(json!({ "type": "telepathy", "uuid": "u", "session_id": "s" }))],
        ),
        (
            "an unknown subtype",
            vec![FakeStep::Send(json!({ "type": "system", "subtype": "new_thing", "session_id": "s" }))],
        ),
        ("an unknown block", vec![FakeStep::Send(unknown_block)]),
        (
            "half a surrogate",
            vec![raw(
                "{\"type\":\"system\",\"subtype\":\"informational\",\"content\":\"\\ud83d\",\"level\":\"info\",\"session_id\":\"s\",\"uuid\":\"u\"}\n",
            )],
        ),
        ("no UTF-8", vec![FakeStep::SendRaw(Bytes::Base64("eyJ0eXBlIjoi//8ifQo=".to_owned()))]),
        (
            "much on standard error",
            vec![FakeStep::Repeat { times: 16, steps: vec![FakeStep::Stderr("x".repeat(65_536))] }],
        ),
    ];
    for (name, middle) in middles {
        let (ended, text) = through(middle).await;
        assert_eq!(
            ended.unwrap_or_else(|error| panic!("{name}: {error}"))["stopReason"],
            "end_turn",
            "{name}"
        );
        assert_eq!(text, "all is said", "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_that_is_cut_short_is_an_error_and_the_session_can_be_used_again() {
    let half = raw("{\"type\":\"assistant\",\"message\":{\"id\":\"m");
    let endings = [
        ("half a line, then the end", vec![half.clone(), FakeStep::Exit(0)]),
        ("the end in good order, without a result", vec![FakeStep::Exit(0)]),
        ("the end with a code", vec![FakeStep::Stderr("out of luck".to_owned()), FakeStep::Exit(1)]),
    ];
    for (name, ending) in endings {
        let mut steps = begin();
        steps.push(FakeStep::Send(assistant("msg_1", "u-1", "so far")));
        steps.extend(ending);
        let stage = Stage::fake(steps).await;
        let (mut editor, session, agent) = stage.opened().await;
        let failed = editor.turn(&session, "go").await.expect_err(name);
        assert_eq!(failed["code"], -32603, "{name}: {failed}");
        assert_eq!(editor.text("agent_message_chunk"), "so far", "{name}");
        // The next prompt starts another run, which ends the same way: an answer every time.
        editor.turn(&session, "again").await.expect_err(name);
        stage.end(editor, agent).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cli_that_is_killed_in_a_turn_is_an_error() {
    let stage =
        Stage::new(NEWER_VERSION, vec![Reply { gate: Some("never".to_owned()), ..Reply::text("x") }]).await;
    let (mut editor, session, agent) = stage.opened().await;
    let prompt = editor.prompt(&session, "go");
    stage.api.as_ref().unwrap().gates().reached("never").await;
    jackfield_testkit::processes::kill_inside(&stage.sandbox.places().workspace);
    let failed = editor.answered(prompt).await.expect_err("no end of a turn that was killed");
    assert_eq!(failed["code"], -32603, "{failed}");
    stage.end(editor, agent).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_editor_that_vanishes_takes_its_sessions_along() {
    let stage =
        Stage::new(NEWER_VERSION, vec![Reply { gate: Some("never".to_owned()), ..Reply::text("x") }]).await;
    let (mut editor, session, agent) = stage.opened().await;
    editor.prompt(&session, "go");
    stage.api.as_ref().unwrap().gates().reached("never").await;
    assert!(stage.clis() >= 1);
    stage.end(editor, agent).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_is_one_cli() {
    let stage = Stage::new(NEWER_VERSION, vec![Reply { repeat: Some(5), ..Reply::text("x") }]).await;
    let (mut editor, session, agent) = stage.opened().await;
    for _ in 0..3 {
        editor.turn(&session, "go").await.unwrap();
        assert_eq!(stage.clis(), 1);
    }
    let other = editor.open(&stage.cwd()).await;
    editor.turn(&other, "go").await.unwrap();
    assert_eq!(stage.clis(), 2);
    stage.end(editor, agent).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_editor_that_makes_no_sense_is_told_so_and_the_connection_goes_on() {
    let stage = Stage::fake([stay()]).await;
    let (mut editor, agent) = stage.agent();
    for (line, code) in [
        ("{oops", -32700),
        ("[]", -32600),
        ("{}", -32600),
        (r#"{"jsonrpc":"2.0","id":7,"method":"session/dance","params":{}}"#, -32601),
        (r#"{"jsonrpc":"2.0","id":8,"method":"session/new","params":{"cwd":7}}"#, -32602),
        (
            r#"{"jsonrpc":"2.0","id":9,"method":"session/new","params":{"cwd":"relative","mcpServers":[]}}"#,
            -32602,
        ),
        (
            r#"{"jsonrpc":"2.0","id":10,"method":"session/prompt","params":{"sessionId":"none","prompt":[]}}"#,
            -32002,
        ),
        (r#"{"jsonrpc":"2.0","id":11,"method":"authenticate","params":{"methodId":"none"}}"#, -32602),
    ] {
        editor.write(line);
        let told = editor.next().await.unwrap();
        assert_eq!(told["error"]["code"], code, "{line}: {told}");
    }
    editor.notify("session/cancel", &json!({ "sessionId": "none" }));
    editor.notify("nonsense", &json!(7));
    editor.write(r#"{"jsonrpc":"2.0","id":12345,"result":{}}"#);
    let hello = editor.hello().await;
    assert_eq!(hello["protocolVersion"], 1);
    assert_eq!(hello["agentCapabilities"]["promptCapabilities"]["image"], true);
    stage.end(editor, agent).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_editor_that_does_not_read_is_waited_for_and_misses_nothing() {
    const LINES: u64 = 3_000;
    let line = json!({
        "type": "stream_event", "parent_tool_use_id": null, "session_id": "s", "uuid": "u",
        "event": { "type": "content_block_delta", "index": 0, "delta": { "type": "text_delta", "text": "0123456789".repeat(100) } },
    });
    let start = json!({
        "type": "stream_event", "parent_tool_use_id": null, "session_id": "s", "uuid": "u-a",
        "event": { "type": "message_start", "message": { "id": "msg_1", "type": "message", "role": "assistant", "content": [], "model": "m", "usage": {} } },
    });
    let block = json!({
        "type": "stream_event", "parent_tool_use_id": null, "session_id": "s", "uuid": "u-b",
        "event": { "type": "content_block_start", "index": 0, "content_block": { "type": "text", "text": "" } },
    });
    let whole = "0123456789".repeat(100 * usize::try_from(LINES).unwrap());
    let mut steps = begin();
    steps.push(FakeStep::Send(start));
    steps.push(FakeStep::Send(block));
    steps.push(FakeStep::Flood(Flood::Lines { line, count: LINES }));
    steps.push(FakeStep::Send(assistant("msg_1", "u-1", &whole)));
    steps.push(FakeStep::Send(result("done")));
    steps.push(stay());
    let stage = Stage::fake(steps).await;
    let (mut editor, session, agent) = stage.opened().await;
    let prompt = editor.prompt(&session, "go");
    let ended = tokio::time::timeout(PATIENCE, editor.answered(prompt)).await.unwrap().unwrap();
    assert_eq!(ended["stopReason"], "end_turn");
    assert_eq!(editor.text("agent_message_chunk").len(), whole.len());
    stage.end(editor, agent).await;
}
