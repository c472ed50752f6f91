//! Sessions that are opened again, listed, copied, closed and removed; and shared with others.

use jackfield_api::command::{Content, Prompt};
use jackfield_api::session::Priority;
use jackfield_testkit::api::Reply;
use serde_json::json;

use crate::stage::Stage;

with_both_clis![
    a_loaded_session_tells_all_that_was_said_and_goes_on,
    a_resumed_session_has_its_commands_and_tells_nothing_of_before,
    sessions_are_listed_copied_closed_and_removed,
    what_others_say_is_shown,
];

async fn a_loaded_session_tells_all_that_was_said_and_goes_on(version: &str) {
    let turns = vec![
        Reply::tool_use("Read", json!({ "file_path": "/ws/a.txt" })),
        Reply::text("first answer"),
        Reply::text("second answer"),
    ];
    let stage = Stage::new(version, turns).await;
    stage.sandbox.write("a.txt", "one\n").unwrap();
    let (mut editor, session, agent) = stage.opened().await;
    editor.turn(&session, "first question").await.unwrap();
    editor.hang_up();
    agent.await.unwrap();

    let (mut editor, agent) = stage.agent();
    editor.hello().await;
    let load = json!({ "sessionId": session, "cwd": stage.cwd(), "mcpServers": [] });
    let loaded = editor.call("session/load", &load).await.unwrap();
    assert_eq!(loaded["modes"]["currentModeId"], "default");
    assert_eq!(editor.text("user_message_chunk"), "first question");
    assert_eq!(editor.text("agent_message_chunk"), "first answer");
    assert_eq!(editor.updates("tool_call").len(), 1);
    assert!(!editor.updates("available_commands_update").is_empty(), "commands come with it");
    assert!(editor.seen.iter().all(|message| message["method"] != "session/request_permission"));
    assert_eq!(editor.turn(&session, "second question").await.unwrap()["stopReason"], "end_turn");
    assert_eq!(editor.text("agent_message_chunk"), "first answersecond answer");
    assert_eq!(editor.text("user_message_chunk"), "first question");
    let requests = stage.api.as_ref().unwrap().requests();
    let last = requests.last().unwrap().body.to_string();
    assert!(last.contains("first answer"), "the CLI remembers");
    stage.end(editor, agent).await;
}

async fn a_resumed_session_has_its_commands_and_tells_nothing_of_before(version: &str) {
    let stage = Stage::new(version, vec![Reply::text("one"), Reply::text("two")]).await;
    let (mut editor, session, agent) = stage.opened().await;
    editor.turn(&session, "hello").await.unwrap();
    editor.hang_up();
    agent.await.unwrap();
    let (mut editor, agent) = stage.agent();
    editor.hello().await;
    let resume = json!({ "sessionId": session, "cwd": stage.cwd() });
    editor.call("session/resume", &resume).await.unwrap();
    let commands = editor.update("available_commands_update").await;
    assert!(!commands["availableCommands"].as_array().unwrap().is_empty());
    editor.turn(&session, "again").await.unwrap();
    assert_eq!(editor.text("agent_message_chunk"), "two");
    assert!(editor.updates("user_message_chunk").is_empty());
    stage.end(editor, agent).await;
}

async fn sessions_are_listed_copied_closed_and_removed(version: &str) {
    let stage = Stage::new(version, vec![Reply::text("one"), Reply::text("two"), Reply::text("three")]).await;
    let (mut editor, session, agent) = stage.opened().await;
    editor.turn(&session, "remember this").await.unwrap();
    let listed = editor.call("session/list", &json!({ "cwd": stage.cwd() })).await.unwrap();
    assert_eq!(listed["sessions"][0]["sessionId"], session.as_str());
    assert_eq!(listed["sessions"][0]["title"], "remember this");
    let elsewhere = editor.call("session/list", &json!({ "cwd": "/nowhere" })).await.unwrap();
    assert_eq!(elsewhere["sessions"], json!([]));
    // Behind the host's own there is what only the CLI knows, which is nothing here.
    let rest = json!({ "cursor": listed["nextCursor"] });
    assert_eq!(editor.call("session/list", &rest).await.unwrap()["sessions"], json!([]));

    let fork = json!({ "sessionId": session, "cwd": stage.cwd(), "mcpServers": [] });
    let copied = editor.call("session/fork", &fork).await.unwrap();
    let copy = copied["sessionId"].as_str().unwrap().to_owned();
    assert_ne!(copy, session);
    editor.turn(&copy, "go on there").await.unwrap();
    editor.turn(&session, "and here").await.unwrap();

    editor.call("session/close", &json!({ "sessionId": copy })).await.unwrap();
    let gone = editor.turn(&copy, "still there?").await.unwrap_err();
    assert_eq!(gone["code"], -32002);
    editor.call("session/delete", &json!({ "sessionId": copy })).await.unwrap();
    assert_eq!(
        editor.call("session/delete", &json!({ "sessionId": copy })).await.unwrap_err()["code"],
        -32002
    );
    let load = json!({ "sessionId": copy, "cwd": stage.cwd(), "mcpServers": [] });
    assert_eq!(editor.call("session/load", &load).await.unwrap_err()["code"], -32002);
    let load = json!({ "sessionId": "nonsense", "cwd": stage.cwd(), "mcpServers": [] });
    assert_eq!(editor.call("session/load", &load).await.unwrap_err()["code"], -32002);
    let listed = editor.call("session/list", &json!({})).await.unwrap();
    assert_eq!(listed["sessions"].as_array().unwrap().len(), 1);
    stage.end(editor, agent).await;
}

async fn what_others_say_is_shown(version: &str) {
    let stage = Stage::new(version, vec![Reply::text("one"), Reply::text("two")]).await;
    let (mut editor, session, agent) = stage.opened().await;
    editor.turn(&session, "mine").await.unwrap();
    let page = stage.client("page");
    let said = Prompt {
        uuid: "00000000-0000-4000-8000-000000000001".into(),
        content: vec![Content::Text { text: "theirs".to_owned() }],
        priority: Priority::Next,
    };
    page.command(Some(&session.as_str().into()), said).await.unwrap();
    let shown = editor.update("user_message_chunk").await;
    assert_eq!(shown["content"]["text"], "theirs");
    editor.update("agent_message_chunk").await;
    assert_eq!(editor.text("agent_message_chunk"), "onetwo");
    stage.end(editor, agent).await;
}
