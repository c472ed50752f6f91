//! Tools through their connection, message by message, as the CLI talks to them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::future::{Ready, pending, ready};
use std::sync::Arc;
use std::time::Duration;

use jackfield_testkit::matching::contains;
use jackfield_testkit::recordings::{self, Direction};
use jackfield_wire::Raw;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::{Barrier, mpsc, oneshot};
use tokio::time::timeout;

use super::*;

/// How long a test waits before it fails.
const TIME_LIMIT: Duration = Duration::from_secs(30);

#[derive(Deserialize, JsonSchema)]
struct Add {
    a: f64,
    b: f64,
}

async fn ask(connection: &Connection, message: &Value) -> Value {
    let answer = connection.serve(&Raw::from_value(message).unwrap());
    timeout(TIME_LIMIT, answer).await.expect("an answer comes").parse().unwrap()
}

fn call(id: u64, tool: &str, arguments: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": tool, "arguments": arguments}})
}

async fn result(tools: &Tools, tool: &str, arguments: &Value) -> Value {
    let answer = ask(&tools.connect(), &call(1, tool, arguments)).await;
    assert_eq!(answer["id"], 1, "{answer}");
    answer["result"].clone()
}

async fn list(tools: &Tools) -> Value {
    let answer = ask(&tools.connect(), &json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})).await;
    answer["result"]["tools"].clone()
}

fn nothing() -> Ready<Result<(), Infallible>> {
    ready(Ok(()))
}

fn text(text: &str) -> Value {
    json!([{"type": "text", "text": text}])
}

/// Says so when it is dropped.
struct Dropped(mpsc::UnboundedSender<&'static str>);

impl Drop for Dropped {
    fn drop(&mut self) {
        let _ = self.0.send("dropped");
    }
}

/// A tool that says when it has begun, never ends, and says when it is dropped.
fn endless() -> (Tools, mpsc::UnboundedReceiver<&'static str>) {
    #[expect(clippy::disallowed_methods, reason = "two words per call, and a `Drop` cannot wait")]
    let (say, said) = mpsc::unbounded_channel();
    let tools = Tools::new("slow", "1").tool("wait", "Waits", move |(): ()| {
        let say = say.clone();
        async move {
            let _dropped = Dropped(say.clone());
            say.send("began").unwrap();
            pending::<Result<(), Infallible>>().await
        }
    });
    (tools, said)
}

async fn hear(said: &mut mpsc::UnboundedReceiver<&'static str>) -> &'static str {
    timeout(TIME_LIMIT, said.recv()).await.expect("something is said").expect("the tools are there")
}

#[tokio::test]
async fn every_message_of_the_recordings_is_answered_as_it_was() {
    let tools = Tools::new("hosttools", "1.0.0").tool("add", "Adds", |input: Add| async move {
        Ok::<_, Infallible>(format!("{{'a': {}, 'b': {}}}", input.a, input.b))
    });
    for name in ["sdk_via_initialize", "sdk_via_set_servers"] {
        let folder = recordings::fixtures_dir().join("recordings/mcp").join(name);
        let recording = recordings::load(&folder, name).unwrap();
        let mut asked: BTreeMap<String, Value> = BTreeMap::new();
        let mut methods = Vec::new();
        let connection = tools.connect();
        for recorded in &recording.lines {
            let line: Value = serde_json::from_str(&recorded.line).unwrap();
            if recorded.dir == Direction::Out && line["request"]["subtype"] == "mcp_message" {
                asked.insert(line["request_id"].to_string(), line["request"]["message"].clone());
            }
            let answered = line["response"]["request_id"].to_string();
            if recorded.dir == Direction::In
                && let Some(message) = asked.remove(&answered)
            {
                let expected = &line["response"]["response"]["mcp_response"];
                let answer = ask(&connection, &message).await;
                assert!(contains(&answer, expected), "{message}\n{answer}\n{expected}");
                methods.push(message["method"].as_str().unwrap().to_owned());
            }
        }
        assert_eq!(
            methods,
            ["initialize", "notifications/initialized", "tools/list", "tools/call"],
            "{name}"
        );
        assert!(asked.is_empty(), "{asked:?}");
    }
}

#[tokio::test]
async fn older_versions_are_spoken_and_newer_ones_are_talked_down() {
    let tools = Tools::new("calc", "1").tool("nothing", "Does nothing", |(): ()| nothing());
    for (asked, agreed) in
        [("2024-11-05", "2024-11-05"), ("2025-06-18", "2025-06-18"), ("2026-07-28", "2025-11-25")]
    {
        let connection = tools.connect();
        let client = json!({"name": "claude-code", "version": "0"});
        let params = json!({"protocolVersion": asked, "capabilities": {}, "clientInfo": client});
        let initialize = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
        assert_eq!(ask(&connection, &initialize).await["result"]["protocolVersion"], agreed);
        let answer = ask(&connection, &call(1, "nothing", &json!({}))).await;
        assert_eq!(answer["result"], json!({"content": [], "isError": false}));
        // A second handshake is one more request.
        assert_eq!(ask(&connection, &initialize).await["result"]["protocolVersion"], agreed);
        let ping = json!({"jsonrpc": "2.0", "id": 2, "method": "ping"});
        assert_eq!(ask(&connection, &ping).await, json!({"jsonrpc": "2.0", "id": 2, "result": {}}));
    }
}

#[tokio::test]
async fn tools_run_side_by_side_and_each_answer_finds_its_request() {
    let together = Arc::new(Barrier::new(3));
    let tools = Tools::new("calc", "1").tool("meet", "Meets the others", move |name: String| {
        let together = Arc::clone(&together);
        async move {
            together.wait().await;
            Ok::<_, Infallible>(name)
        }
    });
    let connection = tools.connect();
    let meet = |id, name| call(id, "meet", &json!({"input": name}));
    let (first, second, third) = (meet(1, "first"), meet(2, "second"), meet(3, "third"));
    let (third, first, second) =
        tokio::join!(ask(&connection, &third), ask(&connection, &first), ask(&connection, &second));
    for (answer, id, name) in [(first, 1, "first"), (second, 2, "second"), (third, 3, "third")] {
        assert_eq!((&answer["id"], &answer["result"]["content"]), (&json!(id), &text(name)));
    }
}

#[tokio::test]
async fn a_late_answer_does_not_hold_up_an_early_one() {
    let (open, opened) = oneshot::channel::<()>();
    let opened = Arc::new(std::sync::Mutex::new(Some(opened)));
    let tools = Tools::new("calc", "1")
        .tool("late", "Waits", move |(): ()| {
            let opened = opened.lock().unwrap().take().unwrap();
            async move { opened.await.map(|()| "late") }
        })
        .tool("early", "Does not wait", |(): ()| async { Ok::<_, Infallible>("early") });
    let connection = tools.connect();
    let late = connection.serve(&Raw::from_value(&call(1, "late", &json!({}))).unwrap());
    assert_eq!(ask(&connection, &call(2, "early", &json!({}))).await["result"]["content"], text("early"));
    open.send(()).unwrap();
    let late: Value = timeout(TIME_LIMIT, late).await.unwrap().parse().unwrap();
    assert_eq!((&late["id"], &late["result"]["content"]), (&json!(1), &text("late")));
}

#[tokio::test]
async fn a_cancelled_call_is_dropped_and_its_request_is_answered() {
    let (tools, mut said) = endless();
    let connection = tools.connect();
    let waiting = tokio::spawn(connection.serve(&Raw::from_value(&call(2, "wait", &json!({}))).unwrap()));
    assert_eq!(hear(&mut said).await, "began");
    // As the CLI says it on an interrupt [mcp/sdk_tool_silent].
    let cancelled = json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
        "params": {"requestId": 2, "reason": "AbortError: remote-cancel"}});
    assert_eq!(ask(&connection, &cancelled).await, json!({"jsonrpc": "2.0", "result": {}}));
    assert_eq!(hear(&mut said).await, "dropped");
    let answer: Value = timeout(TIME_LIMIT, waiting).await.unwrap().unwrap().parse().unwrap();
    assert_eq!(
        (&answer["id"], &answer["error"]["message"]),
        (&json!(2), &json!("the request was cancelled"))
    );
}

#[tokio::test]
async fn a_call_that_nobody_waits_for_is_cancelled() {
    let (tools, mut said) = endless();
    let connection = tools.connect();
    let waiting = tokio::spawn(connection.serve(&Raw::from_value(&call(1, "wait", &json!({}))).unwrap()));
    assert_eq!(hear(&mut said).await, "began");
    waiting.abort();
    assert_eq!(hear(&mut said).await, "dropped");
}

#[tokio::test]
async fn the_end_of_a_connection_is_the_end_of_its_calls() {
    let (tools, mut said) = endless();
    let connection = tools.connect();
    let waiting = connection.serve(&Raw::from_value(&call(1, "wait", &json!({}))).unwrap());
    assert_eq!(hear(&mut said).await, "began");
    drop((connection, waiting));
    assert_eq!(hear(&mut said).await, "dropped");
}

#[tokio::test]
async fn two_connections_know_nothing_of_each_other() {
    let (tools, mut said) = endless();
    let (one, other) = (tools.connect(), tools.connect());
    let wait = Raw::from_value(&call(1, "wait", &json!({}))).unwrap();
    let kept = tokio::spawn(one.serve(&wait));
    let stopped = tokio::spawn(other.serve(&wait));
    assert_eq!([hear(&mut said).await, hear(&mut said).await], ["began"; 2]);
    let cancelled =
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}});
    ask(&other, &cancelled).await;
    assert_eq!(hear(&mut said).await, "dropped");
    stopped.await.unwrap();
    assert!(!kept.is_finished());
    assert_eq!(said.try_recv().ok(), None);
}

#[tokio::test]
async fn what_a_tool_started_elsewhere_can_see_that_the_call_is_over() {
    let (report, reported) = oneshot::channel();
    let report = Arc::new(std::sync::Mutex::new(Some(report)));
    let tools =
        Tools::new("calc", "1").tool_with("start", "Starts something", move |(): (), call: ToolCall| {
            let report = report.lock().unwrap().take().unwrap();
            assert!(!call.is_over());
            tokio::spawn(async move {
                call.over().await;
                let _ = report.send((call.is_over(), call.tool_call_id().cloned()));
            });
            ready(Ok::<_, Infallible>("started"))
        });
    let mut start = call(1, "start", &json!({}));
    start["params"]["_meta"] = json!({"claudecode/toolUseId": "toolu_1", "progressToken": 2});
    let connection = tools.connect();
    assert_eq!(ask(&connection, &start).await["result"]["content"], text("started"));
    assert_eq!(timeout(TIME_LIMIT, reported).await.unwrap().unwrap(), (true, Some("toolu_1".into())));
}

#[tokio::test]
async fn an_error_is_a_result_with_its_reasons() {
    #[derive(Debug, thiserror::Error)]
    #[error("cannot look it up")]
    struct LookUp(#[source] std::num::ParseIntError);
    let tools =
        Tools::new("calc", "1")
            .tool("look_up", "Looks it up", |key: String| async move {
                key.parse::<i32>().map(drop).map_err(LookUp)
            })
            .tool("refuse", "Refuses", |(): ()| async { Err::<ToolOutput, _>(ToolError::new("not today")) });
    let failed = |words: &str| json!({"content": text(words), "isError": true});
    let looked_up = result(&tools, "look_up", &json!({"input": "x"})).await;
    assert_eq!(looked_up, failed("cannot look it up: invalid digit found in string"));
    assert_eq!(result(&tools, "refuse", &json!({})).await, failed("not today"));
}

#[tokio::test]
async fn a_panic_is_a_result_and_the_next_call_works() {
    let tools = Tools::new("calc", "1")
        .tool("at_once", "Panics", |(): ()| -> Ready<Result<(), Infallible>> { panic!("at once") })
        .tool("later", "Panics", |name: String| async move {
            tokio::task::yield_now().await;
            assert!(name.is_empty(), "later, {name}");
            Ok::<_, Infallible>("fine")
        });
    let connection = tools.connect();
    for (tool, input, words) in [
        ("at_once", json!({}), "the tool panicked: at once"),
        ("later", json!({"input": "please"}), "the tool panicked: later, please"),
    ] {
        let answer = ask(&connection, &call(1, tool, &input)).await;
        assert_eq!(answer["result"], json!({"content": text(words), "isError": true}));
    }
    let answer = ask(&connection, &call(2, "later", &json!({"input": ""}))).await;
    assert_eq!(answer["result"], json!({"content": text("fine"), "isError": false}));
}

#[tokio::test]
async fn input_that_does_not_fit_is_told_to_the_model() {
    let tools = Tools::new("calc", "1").tool("add", "Adds", |input: Add| async move {
        Ok::<_, Infallible>((input.a + input.b).to_string())
    });
    let refused = result(&tools, "add", &json!({"a": 1})).await;
    let words = "the input does not fit the tool: missing field `b`";
    assert_eq!(refused, json!({"content": text(words), "isError": true}));
    // Without arguments at all.
    let bare = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "add"}});
    assert_eq!(ask(&tools.connect(), &bare).await["result"]["isError"], true);
}

#[tokio::test]
async fn what_is_no_call_of_a_tool_is_refused_with_its_id() {
    let connection = Tools::new("calc", "1").connect();
    for (message, code) in [
        (call(7, "missing", &json!({})), -32602),
        (json!({"jsonrpc": "2.0", "id": 7, "method": "no/such/method"}), -32601),
        (json!({"jsonrpc": "2.0", "id": 7, "method": 5}), -32600),
        (json!({"id": 7}), -32600),
    ] {
        let answer = ask(&connection, &message).await;
        assert_eq!(
            (&answer["id"], &answer["error"]["code"]),
            (&json!(7), &json!(code)),
            "{message} {answer}"
        );
    }
    assert_eq!(ask(&connection, &json!("nonsense")).await["id"], Value::Null);
}

#[tokio::test]
async fn an_output_has_texts_pictures_and_a_value() {
    #[derive(Serialize)]
    struct Weather {
        degrees: i32,
    }
    let tools = Tools::new("calc", "1")
        .tool("picture", "Gives a picture", |(): ()| async {
            let picture = ToolOutput::image(b"\x89PNG", ImageType::Png);
            Ok::<_, ToolError>(picture.and(ToolOutput::json(&Weather { degrees: 21 })?))
        })
        .tool("several", "Gives several", |(): ()| async {
            Ok::<_, ToolError>(
                ToolOutput::text("now").and(ToolOutput::json(&Weather { degrees: 21 })?).and("bye"),
            )
        })
        .tool("list", "Gives a list", |(): ()| async { ToolOutput::json(&[1, 2]) });
    let image = json!({"type": "image", "data": "iVBORw==", "mimeType": "image/png"});
    let value = json!({"type": "text", "text": r#"{"degrees":21}"#});
    assert_eq!(
        result(&tools, "picture", &json!({})).await,
        json!({"content": [image, value], "structuredContent": {"degrees": 21}, "isError": false})
    );
    // The structured value would hide the other texts.
    let (now, bye) = (json!({"type": "text", "text": "now"}), json!({"type": "text", "text": "bye"}));
    assert_eq!(
        result(&tools, "several", &json!({})).await,
        json!({"content": [now, value, bye], "isError": false})
    );
    assert_eq!(result(&tools, "list", &json!({})).await, json!({"content": text("[1,2]"), "isError": false}));
}

#[tokio::test]
async fn the_schema_of_a_tool_is_its_inputs() {
    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only its schema is wanted")]
    enum Shape {
        Circle { radius: u8 },
        Square(Box<Shape>),
    }
    /// Not for the model.
    #[derive(Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only its schema is wanted")]
    struct Draw {
        /// What to draw.
        shape: Shape,
        color: Option<String>,
    }
    let tools = Tools::new("draw", "1")
        .tool("object", "", |_: Draw| nothing())
        .tool("enum", "", |_: Shape| nothing())
        .tool("text", "", |_: String| nothing())
        .tool("nothing", "", |(): ()| nothing());
    let listed = list(&tools).await;
    let schemas: Vec<&Value> = listed.as_array().unwrap().iter().map(|tool| &tool["inputSchema"]).collect();
    let reference = json!({"$ref": "#/$defs/Shape"});
    assert_eq!(schemas[0]["properties"]["shape"]["description"], "What to draw.");
    assert_eq!(schemas[0]["properties"]["color"]["type"], json!(["string", "null"]));
    assert_eq!((&schemas[0]["required"], &schemas[0]["description"]), (&json!(["shape"]), &Value::Null));
    assert_eq!(schemas[1]["properties"], json!({"input": reference}));
    assert!(schemas[1]["$defs"]["Shape"]["oneOf"].is_array(), "{}", schemas[1]);
    assert_eq!(
        schemas[2],
        &json!({"type": "object", "properties": {"input": {"type": "string"}}, "required": ["input"]})
    );
    assert_eq!(schemas[3], &json!({"type": "object", "properties": {}}));
    for schema in schemas {
        assert_eq!((&schema["type"], &schema["$schema"]), (&json!("object"), &Value::Null));
    }
}

#[tokio::test]
async fn titles_and_hints_belong_to_the_tool_before_them() {
    let tools = Tools::new("calc", "1")
        .tool("first", "Old", |(): ()| nothing())
        .tool("second", "Second", |(): ()| nothing())
        .tool("first", "New", |(): ()| nothing())
        .titled("The first")
        .hint(Hint::ReadOnly)
        .hint(Hint::ClosedWorld)
        .hint(Hint::AlwaysLoaded);
    assert_eq!(tools.tool_names().collect::<Vec<_>>(), ["second", "first"]);
    let listed = list(&tools).await;
    assert_eq!((&listed[0]["annotations"], &listed[0]["_meta"]), (&Value::Null, &Value::Null));
    assert_eq!((&listed[1]["description"], &listed[1]["title"]), (&json!("New"), &json!("The first")));
    assert_eq!(listed[1]["annotations"], json!({"readOnlyHint": true, "openWorldHint": false}));
    assert_eq!(listed[1]["_meta"], json!({"anthropic/alwaysLoad": true}));
}
