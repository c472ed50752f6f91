//! The scripted API over a real connection.

use jackfield_testkit::api::{Block, BlockGate, Content, HttpError, Purpose, Reply, Scenario, ScriptedApi};
use jackfield_testkit::places::Places;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

async fn api(turns: Vec<Reply>) -> ScriptedApi {
    ScriptedApi::start(Scenario { turns }, Places::default()).await.unwrap()
}

async fn connect(api: &ScriptedApi, method: &str, path: &str, body: &Value) -> TcpStream {
    let mut stream = TcpStream::connect(("127.0.0.1", api.port())).await.unwrap();
    let body = body.to_string();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nhost: loopback\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all((head + &body).as_bytes()).await.unwrap();
    stream
}

async fn ask(api: &ScriptedApi, method: &str, path: &str, body: &Value) -> String {
    let mut answer = Vec::new();
    connect(api, method, path, body).await.read_to_end(&mut answer).await.unwrap();
    String::from_utf8(answer).unwrap()
}

fn conversation() -> Value {
    json!({"model": "m", "stream": true, "tools": [{"name": "Bash"}], "messages": []})
}

#[tokio::test]
async fn a_reply_is_streamed_and_kept() {
    let api = api(vec![Reply::text("one two three four")]).await;
    let answer = ask(&api, "POST", "/v1/messages?beta=true", &conversation()).await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert!(answer.contains(r#"{"type":"text_delta","text":"one two three "}"#), "{answer}");
    assert!(answer.contains("event: message_stop"));
    let requests = api.requests();
    assert_eq!((requests.len(), requests[0].reply, requests[0].purpose), (1, Some(0), Purpose::Conversation));
    assert!(api.unused().is_empty());
}

#[tokio::test]
async fn a_request_without_stream_gets_the_message_in_one_piece() {
    let api = api(vec![Reply::text("whole")]).await;
    let mut body = conversation();
    body["stream"] = json!(false);
    let answer = ask(&api, "POST", "/v1/messages", &body).await;
    let message: Value = serde_json::from_str(answer.split("\r\n\r\n").nth(1).unwrap()).unwrap();
    assert_eq!(message["content"], json!([{"type": "text", "text": "whole"}]));
}

#[tokio::test]
async fn requests_on_the_side_consume_nothing() {
    let api = api(vec![Reply::text("kept")]).await;
    let title = json!({"model": "m", "messages": [{"role": "user", "content": "title"}]});
    assert!(ask(&api, "POST", "/v1/messages", &title).await.contains("aside"));
    assert!(ask(&api, "POST", "/v1/messages/count_tokens", &title).await.contains("input_tokens"));
    assert!(ask(&api, "HEAD", "/", &Value::Null).await.starts_with("HTTP/1.1 200"));
    assert!(ask(&api, "GET", "/elsewhere", &Value::Null).await.starts_with("HTTP/1.1 404"));
    assert_eq!(api.unused(), [0]);
    assert_eq!(api.requests().len(), 4);
}

#[tokio::test]
async fn an_exhausted_scenario_is_an_error_and_not_a_made_up_reply() {
    let api = api(Vec::new()).await;
    let answer = ask(&api, "POST", "/v1/messages", &conversation()).await;
    assert!(answer.starts_with("HTTP/1.1 400") && answer.contains("no reply left"), "{answer}");
}

#[tokio::test]
async fn an_http_error_has_its_status_headers_and_body() {
    let http = HttpError {
        status: 429,
        body: json!({"type": "error"}),
        headers: [("retry-after".to_owned(), "1".to_owned())].into(),
    };
    let api = api(vec![Reply { http: Some(http), ..Reply::default() }]).await;
    let answer = ask(&api, "POST", "/v1/messages", &conversation()).await;
    assert!(answer.starts_with("HTTP/1.1 429"), "{answer}");
    assert!(answer.contains("retry-after: 1") && answer.contains(r#"{"type":"error"}"#), "{answer}");
}

#[tokio::test]
async fn a_cut_connection_still_delivers_what_came_before() {
    let api = api(vec![Reply { drop_after_events: Some(3), ..Reply::text("one two three four") }]).await;
    let answer = ask(&api, "POST", "/v1/messages", &conversation()).await;
    assert!(answer.contains("one two three "), "{answer}");
    assert!(!answer.contains("four") && !answer.ends_with("0\r\n\r\n"), "{answer}");
}

#[tokio::test]
async fn a_gated_reply_goes_on_when_it_is_released() {
    let mut block = Block::new(Content::Text { text: "one two three four".to_owned() });
    block.gate = Some(BlockGate { name: "middle".to_owned(), after: 1 });
    let api = api(vec![Reply { blocks: vec![block], ..Reply::default() }]).await;
    let mut stream = connect(&api, "POST", "/v1/messages", &conversation()).await;
    api.gates().reached("middle").await;
    let mut before = Vec::new();
    while !String::from_utf8_lossy(&before).contains("one two three ") {
        assert_ne!(stream.read_buf(&mut before).await.unwrap(), 0);
    }
    assert!(!String::from_utf8_lossy(&before).contains("four"));
    api.gates().release("middle");
    let mut after = String::new();
    stream.read_to_string(&mut after).await.unwrap();
    assert!(after.contains("four") && after.contains("message_stop"), "{after}");
}
