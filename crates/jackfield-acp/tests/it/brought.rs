//! What an editor brings along: servers that ask, further folders, files that are not saved; and how much effort is
//! made.

use std::time::Duration;

use jackfield_api::command::{Mcp, McpAction};
use jackfield_testkit::api::Reply;
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use crate::editor::{Editor, PATIENCE};
use crate::stage::Stage;

with_both_clis![
    a_form_of_an_mcp_server_is_filled_in_in_the_editor,
    further_folders_can_be_read_in_a_new_session_and_in_one_that_goes_on,
    what_is_not_saved_is_said_with_the_prompt,
    effort_is_chosen_while_the_session_runs,
];

/// An MCP server of a few lines, with a tool that asks for a name.
const SERVER: &str = r#"
while IFS= read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case $line in
  *'"method":"initialize"'*)
    printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"form","version":"1"}}}\n' "$id" ;;
  *'"method":"tools/list"'*)
    printf '{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"fill","description":"Asks","inputSchema":{"type":"object"}}]}}\n' "$id" ;;
  *'"name":"fill"'*)
    call=$id
    printf '{"jsonrpc":"2.0","id":900,"method":"elicitation/create","params":{"message":"Who are you?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}}}\n' ;;
  *'"id":900'*)
    name=$(printf '%s' "$line" | sed -n 's/.*"name":"\([a-z]*\)".*/\1/p')
    action=$(printf '%s' "$line" | sed -n 's/.*"action":"\([a-z]*\)".*/\1/p')
    printf '{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"%s: it is %s"}]}}\n' "$call" "$action" "$name" ;;
  esac
done
"#;

/// Whether the model was told something.
fn told(stage: &Stage, words: &str) -> bool {
    let requests = stage.api.as_ref().unwrap().requests();
    requests.iter().any(|request| request.body.to_string().contains(words))
}

/// Waits until the one server is there.
async fn connected(stage: &Stage, session: &str) {
    let client = stage.client("looks");
    let there = async {
        loop {
            let status = Mcp { action: McpAction::Status, server: None, servers: None };
            let reply = client.command(Some(&session.into()), status).await.unwrap();
            if format!("{reply:?}").contains("connected") {
                return;
            }
            sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(PATIENCE, there).await.expect("the server is connected");
}

/// Lets the call through, and gives the form that it asks for.
async fn asked(editor: &mut Editor) -> Value {
    loop {
        let message = editor.next().await.expect("the agent is there");
        if message["method"] == "session/request_permission" {
            editor.choose(&message, "allow");
        }
        if message["method"] == "elicitation/create" {
            return message;
        }
    }
}

async fn a_form_of_an_mcp_server_is_filled_in_in_the_editor(version: &str) {
    let fill = || Reply::tool_use("mcp__form__fill", json!({}));
    let turns = vec![fill(), Reply::text("done"), fill(), Reply::text("done")];
    let stage = Stage::new(version, turns).await;
    let script = stage.sandbox.places().temporary.join("server.sh");
    std::fs::write(&script, SERVER).unwrap();
    let (mut editor, agent) = stage.agent();
    editor.hello().await;
    let server = json!({ "name": "form", "command": "/bin/sh", "args": [script], "env": [] });
    let new = json!({ "cwd": stage.cwd(), "mcpServers": [server] });
    let session = editor.call("session/new", &new).await.unwrap()["sessionId"].as_str().unwrap().to_owned();
    connected(&stage, &session).await;

    let prompt = editor.prompt(&session, "go");
    let form = asked(&mut editor).await;
    assert_eq!(form["params"]["message"], "Who are you?");
    assert_eq!(form["params"]["requestedSchema"]["properties"]["name"]["type"], "string");
    editor.answer(&form, &json!({ "action": "accept", "content": { "name": "ada" } }));
    assert_eq!(editor.answered(prompt).await.unwrap()["stopReason"], "end_turn");
    assert!(told(&stage, "accept: it is ada"));

    let prompt = editor.prompt(&session, "again");
    let form = asked(&mut editor).await;
    editor.answer(&form, &json!({ "action": "decline" }));
    assert_eq!(editor.answered(prompt).await.unwrap()["stopReason"], "end_turn");
    assert!(told(&stage, "decline: it is") || told(&stage, "cancel: it is"));
    stage.end(editor, agent).await;
}

/// Says something, and tells whether a person was asked before it was done.
async fn was_asked(editor: &mut Editor, session: &str) -> bool {
    let from = editor.seen.len();
    let prompt = editor.prompt(session, "read it");
    loop {
        let message = editor.next().await.expect("the agent is there");
        if message["method"] == "session/request_permission" {
            editor.choose(&message, "allow");
        }
        if message["id"] == prompt && message.get("method").is_none() {
            assert_eq!(message["result"]["stopReason"], "end_turn", "{message}");
            let asked = |message: &Value| message["method"] == "session/request_permission";
            return editor.seen[from..].iter().any(asked);
        }
    }
}

async fn further_folders_can_be_read_in_a_new_session_and_in_one_that_goes_on(version: &str) {
    let elsewhere = tempfile::tempdir().unwrap();
    let file = elsewhere.path().canonicalize().unwrap().join("far.txt");
    std::fs::write(&file, "far away\n").unwrap();
    let folder = file.parent().unwrap().to_owned();
    let read = || Reply::tool_use("Read", json!({ "file_path": file }));
    let turns = (0..3).flat_map(|_| [read(), Reply::text("read")]).collect();
    let stage = Stage::new(version, turns).await;
    let (mut editor, agent) = stage.agent();
    let hello = editor.hello().await;
    assert!(hello["agentCapabilities"]["sessionCapabilities"]["additionalDirectories"].is_object());
    let new =
        |folders: Value| json!({ "cwd": stage.cwd(), "mcpServers": [], "additionalDirectories": folders });
    let refused = editor.call("session/new", &new(json!(["not/absolute"]))).await.unwrap_err();
    assert!(refused["message"].as_str().unwrap().contains("not/absolute"), "{refused}");

    let made = editor.call("session/new", &new(json!([folder]))).await.unwrap();
    let session = made["sessionId"].as_str().unwrap().to_owned();
    assert!(!was_asked(&mut editor, &session).await, "it was one of its folders");
    assert!(told(&stage, "far away"));
    editor.call("session/close", &json!({ "sessionId": session })).await.unwrap();

    // Those of before are not those of now.
    let resume = |folders: Value| json!({ "sessionId": session, "cwd": stage.cwd(), "mcpServers": [], "additionalDirectories": folders });
    editor.call("session/resume", &resume(json!([]))).await.unwrap();
    assert!(was_asked(&mut editor, &session).await, "it is none of its folders any more");
    editor.call("session/close", &json!({ "sessionId": session })).await.unwrap();
    editor.call("session/resume", &resume(json!([folder]))).await.unwrap();
    assert!(!was_asked(&mut editor, &session).await, "it is one again");
    stage.end(editor, agent).await;
}

async fn what_is_not_saved_is_said_with_the_prompt(version: &str) {
    let stage = Stage::new(version, vec![Reply::text("one"), Reply::text("two"), Reply::text("three")]).await;
    let workspace = stage.sandbox.places().workspace.canonicalize().unwrap();
    std::fs::write(workspace.join("open.txt"), "as it was saved\n").unwrap();
    std::fs::write(workspace.join("same.txt"), "nothing new\n").unwrap();
    let link = |name: &str| {
        let uri = format!("file://{}", workspace.join(name).display());
        json!({ "type": "resource_link", "name": name, "uri": uri })
    };
    let (mut editor, session, agent) = stage.opened().await;
    let said = |blocks: Value| json!({ "sessionId": session, "prompt": blocks });
    let blocks = json!([{ "type": "text", "text": "look" }, link("open.txt"), link("same.txt")]);
    let prompt = editor.ask("session/prompt", &said(blocks));
    for _ in 0..2 {
        let wanted = editor.asked_for("fs/read_text_file").await;
        let name = wanted["params"]["path"].as_str().unwrap().rsplit('/').next().unwrap().to_owned();
        let content = if name == "open.txt" { "as it is in the editor\n" } else { "nothing new\n" };
        editor.answer(&wanted, &json!({ "content": content }));
    }
    assert_eq!(editor.answered(prompt).await.unwrap()["stopReason"], "end_turn");
    assert!(told(&stage, r#"not saved yet\">\nas it is in the editor"#) && told(&stage, "same.txt"));
    assert!(!told(&stage, r#"not saved yet\">\nnothing new"#), "what is saved can be read");

    // An editor that cannot say it, and a prompt that is cancelled while it is asked.
    let prompt = editor.ask("session/prompt", &said(json!([link("same.txt")])));
    let wanted = editor.asked_for("fs/read_text_file").await;
    let error = json!({ "code": -32603, "message": "no" });
    editor.write(&json!({ "jsonrpc": "2.0", "id": wanted["id"], "error": error }).to_string());
    assert_eq!(editor.answered(prompt).await.unwrap()["stopReason"], "end_turn");
    let prompt = editor.ask("session/prompt", &said(json!([link("open.txt")])));
    editor.asked_for("fs/read_text_file").await;
    editor.cancel(&session);
    assert_eq!(editor.answered(prompt).await.unwrap()["stopReason"], "cancelled");
    assert_eq!(editor.turn(&session, "go on").await.unwrap()["stopReason"], "end_turn");
    stage.end(editor, agent).await;
}

/// The levels of effort that are offered, and the one that is chosen.
fn effort(options: &Value) -> Option<(Vec<String>, String)> {
    let effort = options.as_array()?.iter().find(|option| option["id"] == "effort")?;
    let levels = effort["options"].as_array()?.iter();
    let levels = levels.map(|level| level["value"].as_str().unwrap().to_owned()).collect();
    Some((levels, effort["currentValue"].as_str()?.to_owned()))
}

async fn effort_is_chosen_while_the_session_runs(version: &str) {
    let stage = Stage::new(version, (0..4).map(|_| Reply::text("ok")).collect()).await;
    let (mut editor, session, agent) = stage.opened().await;
    editor.turn(&session, "hello").await.unwrap();
    let set = |value: &str| json!({ "sessionId": session, "configId": "effort", "value": value });
    let effort_of =
        |request: &jackfield_testkit::api::Request| request.body["output_config"]["effort"].clone();
    for level in ["low", "high"] {
        let answer = editor.call("session/set_config_option", &set(level)).await.unwrap();
        let (levels, chosen) = effort(&answer["configOptions"]).expect("an option");
        assert!(chosen == level && levels.iter().any(|known| known == "default"), "{levels:?}, {chosen}");
        editor.turn(&session, "go on").await.unwrap();
        let last = stage.api.as_ref().unwrap().requests().pop().unwrap();
        assert_eq!(effort_of(&last), level);
    }
    let refused = editor.call("session/set_config_option", &set("a little")).await.unwrap_err();
    assert!(refused["message"].as_str().unwrap().contains("a little"), "{refused}");
    // What was chosen goes on with the session.
    editor.call("session/close", &json!({ "sessionId": session })).await.unwrap();
    let resume = json!({ "sessionId": session, "cwd": stage.cwd(), "mcpServers": [] });
    let resumed = editor.call("session/resume", &resume).await.unwrap();
    assert_eq!(effort(&resumed["configOptions"]).expect("an option").1, "high");
    editor.turn(&session, "go on").await.unwrap();
    assert_eq!(effort_of(&stage.api.as_ref().unwrap().requests().pop().unwrap()), "high");
    stage.end(editor, agent).await;
}
