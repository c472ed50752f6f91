//! A folder that brings something is asked about before anything of it runs.

use jackfield_testkit::api::Reply;
use serde_json::json;

use crate::stage::Stage;

with_both_clis![a_folder_is_asked_about_before_its_hooks_run, a_folder_that_is_not_trusted_runs_nothing,];

fn hooks() -> String {
    let hook = json!({ "hooks": { "UserPromptSubmit": [{ "hooks": [{ "type": "command", "command": "touch hooked" }] }] } });
    hook.to_string()
}

async fn a_folder_is_asked_about_before_its_hooks_run(version: &str) {
    let stage = Stage::new(version, vec![Reply::text("one"), Reply::text("two")]).await;
    stage.sandbox.write(".claude/settings.json", &hooks()).unwrap();
    let (mut editor, session, agent) = stage.opened().await;
    let hooked = stage.sandbox.places().workspace.join("hooked");
    let prompt = editor.prompt(&session, "go");
    let asked = editor.asked_for("session/request_permission").await;
    let shown = &asked["params"]["toolCall"];
    assert!(shown["content"][0]["content"]["text"].as_str().unwrap().contains("touch hooked"), "{shown}");
    assert!(!hooked.exists(), "nothing runs before it is trusted");
    editor.choose(&asked, "trust");
    assert_eq!(editor.answered(prompt).await.unwrap()["stopReason"], "end_turn");
    assert!(hooked.exists(), "what is trusted takes part");
    // Once is enough, in other sessions too.
    let other = editor.open(&stage.cwd()).await;
    let before = editor.seen.len();
    editor.turn(&other, "again").await.unwrap();
    let asked = editor.seen[before..].iter().any(|message| message["method"] == "session/request_permission");
    assert!(!asked);
    stage.end(editor, agent).await;
}

async fn a_folder_that_is_not_trusted_runs_nothing(version: &str) {
    let stage = Stage::new(version, vec![Reply::text("one"), Reply::text("two")]).await;
    stage.sandbox.write(".claude/settings.json", &hooks()).unwrap();
    let (mut editor, session, agent) = stage.opened().await;
    // Cancelled while it is asked: the prompt ends, and the question comes back with the next.
    let prompt = editor.prompt(&session, "go");
    let asked = editor.asked_for("session/request_permission").await;
    editor.cancel(&session);
    editor.answer(&asked, &json!({ "outcome": { "outcome": "cancelled" } }));
    assert_eq!(editor.answered(prompt).await.unwrap()["stopReason"], "cancelled");
    let prompt = editor.prompt(&session, "go");
    let asked = editor.asked_for("session/request_permission").await;
    editor.choose(&asked, "never");
    assert_eq!(editor.answered(prompt).await.unwrap()["stopReason"], "end_turn");
    editor.turn(&session, "go on").await.unwrap();
    assert!(!stage.sandbox.places().workspace.join("hooked").exists());
    stage.end(editor, agent).await;
}
