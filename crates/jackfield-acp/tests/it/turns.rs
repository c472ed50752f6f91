//! Turns with the real CLIs: what is said, what is shown, and how a prompt ends.

use jackfield_testkit::api::{Block, Content, HttpError, Reply};
use serde_json::json;

use crate::editor::Editor;
use crate::stage::Stage;

with_both_clis![
    a_prompt_is_answered_with_text_thoughts_and_a_reason_to_stop,
    tools_are_shown_with_their_kind_their_place_and_what_came_of_them,
    pictures_links_and_resources_reach_the_model,
    a_failed_turn_is_an_error_and_never_its_end,
    modes_and_models_are_set_both_ways,
    an_mcp_server_of_the_editor_is_started,
    a_slash_command_is_answered,
];

async fn a_prompt_is_answered_with_text_thoughts_and_a_reason_to_stop(version: &str) {
    let thinking = Content::Thinking { thinking: "let me see".to_owned(), signature: None };
    let text = Content::Text { text: "hello from the script".to_owned() };
    let reply = Reply { blocks: vec![Block::new(thinking), Block::new(text)], ..Reply::default() };
    let stage = Stage::new(version, vec![reply, Reply::text("and again")]).await;
    let (mut editor, session, agent) = stage.opened().await;
    let commands = editor.update("available_commands_update").await;
    assert!(!commands["availableCommands"].as_array().unwrap().is_empty());
    let ended = editor.turn(&session, "say hello").await.unwrap();
    assert_eq!(ended["stopReason"], "end_turn");
    assert_eq!(editor.text("agent_message_chunk"), "hello from the script");
    assert!(editor.text("agent_thought_chunk").contains("let me see"));
    assert!(editor.updates("user_message_chunk").is_empty(), "the editor knows what it has said");
    let usage = editor.updates("usage_update");
    assert!(usage.iter().any(|usage| usage["cost"]["currency"] == "USD"), "{usage:?}");
    editor.turn(&session, "once more").await.unwrap();
    assert_eq!(editor.text("agent_message_chunk"), "hello from the scriptand again");
    let answers = editor.seen.iter().filter(|message| message["result"]["stopReason"].is_string()).count();
    assert_eq!(answers, 2, "one answer per prompt");
    stage.end(editor, agent).await;
}

async fn tools_are_shown_with_their_kind_their_place_and_what_came_of_them(version: &str) {
    let turns = vec![
        Reply::tool_use("Read", json!({ "file_path": "/ws/a.txt" })),
        Reply::tool_use(
            "Edit",
            json!({ "file_path": "/ws/a.txt", "old_string": "one", "new_string": "two" }),
        ),
        Reply::text("done"),
    ];
    let stage = Stage::new(version, turns).await;
    stage.sandbox.write("a.txt", "one\n").unwrap();
    let (mut editor, session, agent) = stage.opened().await;
    let prompt = editor.prompt(&session, "edit it");
    let asked = editor.asked_for("session/request_permission").await;
    let card = &asked["params"]["toolCall"];
    assert_eq!((card["kind"].as_str(), card["content"][0]["type"].as_str()), (Some("edit"), Some("diff")));
    assert_eq!(card["content"][0]["newText"], "two");
    editor.choose(&asked, "allow");
    assert_eq!(editor.answered(prompt).await.unwrap()["stopReason"], "end_turn");
    let path = stage.sandbox.places().workspace.join("a.txt");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "two\n");
    let updates = editor.updates("tool_call_update");
    let read = updates.iter().find(|update| update["kind"] == "read").expect("the reading");
    assert_eq!(read["locations"][0]["path"], path.to_str().unwrap());
    let ends = updates.iter().filter(|update| update["status"] == "completed").count();
    assert_eq!(ends, 2);
    // The whole file before and after, once it is known.
    let whole = updates.iter().any(|update| update["content"][0]["newText"] == "two\n");
    assert!(whole, "{updates:#?}");
    stage.end(editor, agent).await;
}

async fn pictures_links_and_resources_reach_the_model(version: &str) {
    // One black pixel.
    const PIXEL: &str =
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
    let stage = Stage::new(version, vec![Reply::text("seen")]).await;
    let (mut editor, session, agent) = stage.opened().await;
    let prompt = json!([
        { "type": "text", "text": "look" },
        { "type": "image", "mimeType": "image/png", "data": PIXEL },
        { "type": "resource_link", "name": "b.rs", "uri": "file:///ws/b.rs" },
        { "type": "resource", "resource": { "uri": "file:///ws/c.rs", "text": "fn unsaved() {}" } },
    ]);
    let ended = editor.call("session/prompt", &json!({ "sessionId": session, "prompt": prompt })).await;
    assert_eq!(ended.unwrap()["stopReason"], "end_turn");
    let requests = stage.api.as_ref().unwrap().requests();
    let body =
        requests.iter().map(|request| request.body.to_string()).find(|body| body.contains("fn unsaved"));
    let body = body.expect("the text of the resource");
    assert!(body.contains("[@b.rs](file:///ws/b.rs)") && body.contains("image/png"), "{body}");
    let refused = json!([{ "type": "audio", "mimeType": "audio/wav", "data": "QQ==" }]);
    let refused = editor.call("session/prompt", &json!({ "sessionId": session, "prompt": refused })).await;
    assert_eq!(refused.unwrap_err()["code"], -32602);
    stage.end(editor, agent).await;
}

async fn a_failed_turn_is_an_error_and_never_its_end(version: &str) {
    let http = |status, kind: &str| Reply {
        http: Some(HttpError {
            status,
            body: json!({ "type": "error", "error": { "type": kind, "message": "no" } }),
            headers: [("x-should-retry".to_owned(), "false".to_owned())].into(),
        }),
        repeat: Some(12),
        ..Reply::default()
    };
    for (reply, code) in
        [(http(400, "invalid_request_error"), -32603), (http(401, "authentication_error"), -32000)]
    {
        let stage = Stage::new(version, vec![reply]).await;
        let (mut editor, session, agent) = stage.opened().await;
        let failed = editor.turn(&session, "go").await.expect_err("no end of a turn that failed");
        assert_eq!(failed["code"], code, "{failed}");
        assert!(!failed["message"].as_str().unwrap().is_empty());
        stage.end(editor, agent).await;
    }
}

async fn modes_and_models_are_set_both_ways(version: &str) {
    let stage = Stage::new(version, vec![Reply::text("planned"), Reply::text("done")]).await;
    let (mut editor, agent) = stage.agent();
    editor.hello().await;
    let opened = editor.call("session/new", &json!({ "cwd": stage.cwd(), "mcpServers": [] })).await.unwrap();
    let session = opened["sessionId"].as_str().unwrap().to_owned();
    assert_eq!(opened["modes"]["currentModeId"], "default");
    let set = json!({ "sessionId": session, "modeId": "plan" });
    editor.call("session/set_mode", &set).await.unwrap();
    editor.turn(&session, "plan").await.unwrap();
    let config = json!({ "sessionId": session, "configId": "mode", "value": "acceptEdits" });
    let options = editor.call("session/set_config_option", &config).await.unwrap();
    assert_eq!(options["configOptions"][0]["currentValue"], "acceptEdits");
    // The models are known once the CLI has told them.
    let told = |editor: &Editor| {
        let updates = editor.updates("config_option_update");
        updates.last().map(|update| update["configOptions"][1]["options"].as_array().unwrap().len())
    };
    while told(&editor).is_none_or(|count| count < 2) {
        editor.update("config_option_update").await;
    }
    let config = json!({ "sessionId": session, "configId": "model", "value": "opus" });
    let options = editor.call("session/set_config_option", &config).await.unwrap();
    assert_eq!(options["configOptions"][1]["currentValue"], "opus");
    editor.turn(&session, "go").await.unwrap();
    let requests = stage.api.as_ref().unwrap().requests();
    let last = requests.iter().rev().find(|request| request.body["model"].is_string()).unwrap();
    assert!(last.body["model"].as_str().unwrap().contains("opus"), "{}", last.body["model"]);
    // Others set it too.
    let client = stage.client("page");
    let mode = jackfield_api::command::SetMode { permission_mode: "default".to_owned() };
    client.command(Some(&session.as_str().into()), mode).await.unwrap();
    let changed = editor.update("current_mode_update").await;
    assert_eq!(changed["currentModeId"], "default");
    let unknown = json!({ "sessionId": session, "modeId": "nonsense" });
    assert_eq!(editor.call("session/set_mode", &unknown).await.unwrap_err()["code"], -32602);
    stage.end(editor, agent).await;
}

async fn an_mcp_server_of_the_editor_is_started(version: &str) {
    let stage = Stage::new(version, vec![Reply::text("done")]).await;
    let (mut editor, agent) = stage.agent();
    editor.hello().await;
    let mark = stage.sandbox.places().workspace.join("started");
    let servers = json!([{
        "name": "mine", "command": "/bin/sh", "args": ["-c", "echo $WORD > started"],
        "env": [{ "name": "WORD", "value": "it runs" }],
    }]);
    let params = json!({ "cwd": stage.cwd(), "mcpServers": servers });
    let opened = editor.call("session/new", &params).await.unwrap();
    let session = opened["sessionId"].as_str().unwrap().to_owned();
    editor.turn(&session, "go").await.unwrap();
    assert_eq!(std::fs::read_to_string(mark).unwrap(), "it runs\n");
    stage.end(editor, agent).await;
}

async fn a_slash_command_is_answered(version: &str) {
    let stage = Stage::new(version, vec![Reply::text("one")]).await;
    let (mut editor, session, agent) = stage.opened().await;
    editor.turn(&session, "hello").await.unwrap();
    let ended = editor.turn(&session, "/context").await.unwrap();
    assert_eq!(ended["stopReason"], "end_turn");
    assert!(editor.text("agent_message_chunk").len() > "one".len(), "a command has an answer too");
    stage.end(editor, agent).await;
}
