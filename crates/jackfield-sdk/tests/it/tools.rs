//! Tools of this program, called by the model through the real CLIs.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use jackfield_sdk::tools::{Hint, ImageType, ToolCall, ToolError, ToolOutput, Tools, schemars};
use jackfield_sdk::{Callbacks, Session};
use jackfield_testkit::api::{Block, Content, Purpose, Reply};
use jackfield_testkit::cli::{NEWER_VERSION, OLDER_VERSION};
use jackfield_testkit::matching::contains;
use serde_json::{Value, json};
use tokio::sync::{Barrier, mpsc};
use tokio::time::timeout;

use super::live::TIME_LIMIT;
use super::place::{Place, start};

/// The smallest picture that a decoder takes: one red pixel.
const PIXEL: &[u8] = &[
    0x89, b'P', b'N', b'G', 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 0x0d, b'I', b'H', b'D', b'R', 0, 0, 0, 1, 0, 0,
    0, 1, 8, 2, 0, 0, 0, 0x90, 0x77, 0x53, 0xde, 0, 0, 0, 0x0c, b'I', b'D', b'A', b'T', 0x78, 0x9c, 0x63,
    0xf8, 0xcf, 0xc0, 0, 0, 3, 1, 1, 0, 0xc9, 0xfe, 0x92, 0xef, 0, 0, 0, 0, b'I', b'E', b'N', b'D', 0xae,
    0x42, 0x60, 0x82,
];

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Add {
    /// The first number.
    a: i64,
    b: i64,
}

/// A session that may call all tools of the set.
async fn session(place: &Place, tools: Tools) -> Session {
    let options = place.options().allow_tool(format!("mcp__{}", tools.name()));
    start(options, Callbacks::new().tools(tools)).await
}

/// The result of a tool call, as the API was told of it.
fn tool_result(place: &Place, tool_call_id: &str) -> Value {
    let conversation = |body: Value| body["messages"].as_array().cloned().unwrap_or_default();
    let blocks = |message: Value| message["content"].as_array().cloned().unwrap_or_default();
    let requests = place.api.requests().into_iter().map(|request| request.body);
    let mut all = requests.flat_map(conversation).flat_map(blocks);
    let is_result = |block: &Value| block["tool_use_id"] == tool_call_id;
    all.find(is_result).unwrap_or_else(|| panic!("the API was told of no result of {tool_call_id}"))
}

fn calls(calls: &[(&str, &str, Value)]) -> Reply {
    let block = |(id, name, input): &(&str, &str, Value)| {
        let (name, id) = ((*name).to_owned(), Some((*id).to_owned()));
        Block::new(Content::ToolUse { name, id, input: input.clone(), raw_json: None })
    };
    Reply { blocks: calls.iter().map(block).collect(), ..Reply::default() }
}

/// Says something and waits for what comes of it.
async fn say(session: &Session, prompt: &str) -> String {
    let turn = session.prompt(prompt).await.unwrap();
    let result = timeout(TIME_LIMIT, turn.result()).await.expect("the turn ends").unwrap();
    assert_eq!(result.error, None);
    result.text
}

async fn the_model_calls_a_function_of_this_program(version: &str) {
    let add = calls(&[("toolu_add", "mcp__calc__add", json!({"a": 1, "b": 2}))]);
    let place = Place::new(version, vec![add, Reply::text("three")]).await;
    let served = Arc::new(Mutex::new(Vec::new()));
    let serving = Arc::clone(&served);
    let tools = Tools::new("calc", "1.0")
        .tool_with("add", "Adds two numbers", move |input: Add, call: ToolCall| {
            serving.lock().unwrap().push(call.tool_call_id().map(ToString::to_string));
            async move { Ok::<_, Infallible>((input.a + input.b).to_string()) }
        })
        .hint(Hint::AlwaysLoaded);
    let session = session(&place, tools).await;
    assert_eq!(say(&session, "add").await, "three");
    session.close().await;

    assert_eq!(*served.lock().unwrap(), [Some("toolu_add".to_owned())]);
    let expected = json!({"type": "tool_result", "content": [{"type": "text", "text": "3"}]});
    assert!(contains(&tool_result(&place, "toolu_add"), &expected));
    let requests = place.api.requests();
    let first = requests.iter().find(|request| request.purpose == Purpose::Conversation).unwrap();
    let offered =
        first.body["tools"].as_array().unwrap().iter().find(|tool| tool["name"] == "mcp__calc__add");
    let expected = json!({"description": "Adds two numbers", "input_schema": {
        "type": "object", "required": ["a", "b"],
        "properties": {"a": {"type": "integer", "description": "The first number."}, "b": {"type": "integer"}},
    }});
    let offered = offered.expect("the model is offered the tool");
    assert!(contains(offered, &expected), "{offered}");
}

#[tokio::test]
async fn the_model_calls_a_function_of_this_program_through_the_older_cli() {
    the_model_calls_a_function_of_this_program(OLDER_VERSION).await;
}

#[tokio::test]
async fn the_model_calls_a_function_of_this_program_through_the_newer_cli() {
    the_model_calls_a_function_of_this_program(NEWER_VERSION).await;
}

async fn pictures_values_errors_and_panics_reach_the_model(version: &str) {
    let all = calls(&[
        ("toolu_see", "mcp__odd__see", json!({})),
        ("toolu_know", "mcp__odd__know", json!({})),
        ("toolu_fail", "mcp__odd__fail", json!({})),
        ("toolu_panic", "mcp__odd__panic", json!({"input": 5})),
        ("toolu_misfit", "mcp__odd__panic", json!({"input": "five"})),
    ]);
    let place = Place::new(version, vec![all, Reply::text("seen")]).await;
    let tools = Tools::new("odd", "1.0")
        .tool("see", "Shows", |(): ()| async {
            Ok::<_, Infallible>(ToolOutput::text("look").and(ToolOutput::image(PIXEL, ImageType::Png)))
        })
        .tool("know", "Knows", |(): ()| async {
            Ok::<_, ToolError>(ToolOutput::text("it is").and(ToolOutput::json(&json!({"degrees": 21}))?))
        })
        .tool("fail", "Fails", |(): ()| async { Err::<(), _>(ToolError::new("not today")) })
        .tool("panic", "Panics", |number: u32| async move {
            assert_eq!(number, 4, "another number");
            Ok::<_, Infallible>(())
        });
    let session = session(&place, tools).await;
    assert_eq!(say(&session, "try all").await, "seen");
    session.close().await;

    let seen = tool_result(&place, "toolu_see");
    assert!(contains(&seen["content"][0], &json!({"text": "look"})), "{seen}");
    assert!(
        contains(&seen["content"][1], &json!({"type": "image", "source": {"media_type": "image/png"}})),
        "{seen}"
    );
    let known = tool_result(&place, "toolu_know").to_string();
    assert!(known.contains("it is") && known.contains("degrees"), "{known}");
    for (id, words) in [
        ("toolu_fail", "not today"),
        ("toolu_panic", "the tool panicked"),
        ("toolu_misfit", "the input does not fit the tool"),
    ] {
        let result = tool_result(&place, id);
        assert!(contains(&result, &json!({"is_error": true, "content": {"$contains": words}})), "{result}");
    }
}

#[tokio::test]
async fn pictures_values_errors_and_panics_reach_the_model_through_the_older_cli() {
    pictures_values_errors_and_panics_reach_the_model(OLDER_VERSION).await;
}

#[tokio::test]
async fn pictures_values_errors_and_panics_reach_the_model_through_the_newer_cli() {
    pictures_values_errors_and_panics_reach_the_model(NEWER_VERSION).await;
}

/// Says so when it is dropped.
struct Dropped(mpsc::Sender<&'static str>);

impl Drop for Dropped {
    fn drop(&mut self) {
        // Nobody listens once a test has failed.
        let _ = self.0.try_send("dropped");
    }
}

fn endless(say: mpsc::Sender<&'static str>) -> Tools {
    Tools::new("slow", "1.0").tool("wait", "Waits", move |(): ()| {
        let say = say.clone();
        async move {
            let _dropped = Dropped(say.clone());
            say.try_send("began").unwrap();
            std::future::pending::<Result<(), Infallible>>().await
        }
    })
}

async fn hear(said: &mut mpsc::Receiver<&'static str>) -> Option<&'static str> {
    timeout(TIME_LIMIT, said.recv()).await.expect("something is said")
}

async fn an_interrupt_drops_the_tool_and_the_session_goes_on(version: &str) {
    let wait = || calls(&[("toolu_wait", "mcp__slow__wait", json!({}))]);
    let place = Place::new(version, vec![wait(), Reply::text("later"), wait()]).await;
    let (say_so, mut said) = mpsc::channel(8);
    let session = session(&place, endless(say_so)).await;
    let turn = session.prompt("wait").await.unwrap();
    assert_eq!(hear(&mut said).await, Some("began"));
    session.interrupt().await.unwrap();
    assert_eq!(hear(&mut said).await, Some("dropped"));
    assert!(timeout(TIME_LIMIT, turn.result()).await.unwrap().unwrap().error.is_some());
    assert_eq!(say(&session, "and now").await, "later");
    // What runs at the session's end is dropped too.
    let _turn = session.prompt("again").await.unwrap();
    assert_eq!(hear(&mut said).await, Some("began"));
    drop(session);
    assert_eq!(hear(&mut said).await, Some("dropped"));
    assert_eq!(hear(&mut said).await, None, "the tools went with their session");
}

#[tokio::test]
async fn an_interrupt_drops_the_tool_and_the_session_goes_on_with_the_older_cli() {
    an_interrupt_drops_the_tool_and_the_session_goes_on(OLDER_VERSION).await;
}

#[tokio::test]
async fn an_interrupt_drops_the_tool_and_the_session_goes_on_with_the_newer_cli() {
    an_interrupt_drops_the_tool_and_the_session_goes_on(NEWER_VERSION).await;
}

async fn read_only_tools_run_side_by_side(version: &str) {
    let meet = |id, name: &str| (id, "mcp__pair__meet", json!({"input": name}));
    let both = calls(&[meet("toolu_one", "one"), meet("toolu_two", "two")]);
    let place = Place::new(version, vec![both, Reply::text("met")]).await;
    let together = Arc::new(Barrier::new(2));
    let tools = Tools::new("pair", "1.0")
        .tool("meet", "Waits for the other", move |name: String| {
            let together = Arc::clone(&together);
            async move {
                together.wait().await;
                Ok::<_, Infallible>(name)
            }
        })
        .hint(Hint::ReadOnly);
    let session = session(&place, tools).await;
    assert_eq!(say(&session, "meet").await, "met");
    session.close().await;
    for (id, name) in [("toolu_one", "one"), ("toolu_two", "two")] {
        assert_eq!(tool_result(&place, id)["content"], json!([{"type": "text", "text": name}]));
    }
}

#[tokio::test]
async fn read_only_tools_run_side_by_side_in_the_older_cli() {
    read_only_tools_run_side_by_side(OLDER_VERSION).await;
}

#[tokio::test]
async fn read_only_tools_run_side_by_side_in_the_newer_cli() {
    read_only_tools_run_side_by_side(NEWER_VERSION).await;
}
