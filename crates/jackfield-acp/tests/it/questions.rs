//! Questions to a person: permissions, the model's own questions, plans; here and elsewhere.

use jackfield_api::Json;
use jackfield_api::command::{Allow, Answer, Verdict};
use jackfield_testkit::api::Reply;
use serde_json::json;

use crate::stage::Stage;

with_both_clis![
    a_permission_is_given_for_once_for_ever_or_not_at_all,
    a_rejection_tells_the_model_why,
    the_first_answer_wins_and_the_other_card_goes,
    what_was_changed_before_it_was_allowed_is_shown_before_it_is_done,
    questions_of_the_model_are_a_form_or_cards,
    a_plan_is_approved_and_the_mode_changes,
];

fn touch(name: &str) -> Reply {
    Reply::tool_use("Bash", json!({ "command": format!("touch {name}"), "description": "Make a file" }))
}

async fn a_permission_is_given_for_once_for_ever_or_not_at_all(version: &str) {
    let turns = vec![
        touch("a1"),
        Reply::text("1"),
        touch("a2"),
        Reply::text("2"),
        touch("a3"),
        Reply::text("3"),
        touch("b"),
        Reply::text("4"),
    ];
    let stage = Stage::new(version, turns).await;
    let (mut editor, session, agent) = stage.opened().await;
    let there = |name: &str| stage.sandbox.places().workspace.join(name).exists();

    let prompt = editor.prompt(&session, "one");
    let asked = editor.asked_for("session/request_permission").await;
    let options = asked["params"]["options"].as_array().unwrap().clone();
    let kinds: Vec<_> = options.iter().map(|option| option["kind"].as_str().unwrap()).collect();
    assert!(
        kinds.contains(&"allow_once") && kinds.contains(&"allow_always") && kinds.contains(&"reject_once")
    );
    editor.choose(&asked, "reject");
    editor.answered(prompt).await.unwrap();
    assert!(!there("a1"));

    let prompt = editor.prompt(&session, "two");
    let asked = editor.asked_for("session/request_permission").await;
    editor.choose(&asked, "allow_always");
    editor.answered(prompt).await.unwrap();
    assert!(there("a2"));

    // What was allowed for ever is not asked again, if the CLI's rule covers it; the next one is another command.
    let prompt = editor.prompt(&session, "three");
    let before = editor.seen.len();
    loop {
        let message = editor.next().await.unwrap();
        if message["method"] == "session/request_permission" {
            editor.choose(&message, "allow");
        }
        if message["id"] == prompt && message.get("method").is_none() {
            break;
        }
    }
    assert!(there("a3"), "{:?}", &editor.seen[before..]);
    stage.end(editor, agent).await;
}

async fn a_rejection_tells_the_model_why(version: &str) {
    let stage = Stage::new(version, vec![touch("x"), Reply::text("fine")]).await;
    let (mut editor, session, agent) = stage.opened().await;
    let prompt = editor.prompt(&session, "go");
    let asked = editor.asked_for("session/request_permission").await;
    editor.choose(&asked, "reject_why");
    let form = editor.asked_for("elicitation/create").await;
    editor.answer(&form, &json!({ "action": "accept", "content": { "reason": "use the other folder" } }));
    assert_eq!(editor.answered(prompt).await.unwrap()["stopReason"], "end_turn");
    let requests = stage.api.as_ref().unwrap().requests();
    assert!(requests.iter().any(|request| request.body.to_string().contains("use the other folder")));
    let failed = editor.updates("tool_call_update");
    assert!(failed.iter().any(|update| update["status"] == "failed"), "{failed:?}");
    stage.end(editor, agent).await;
}

/// Somebody else allows what is asked.
async fn answered_in_the_page(stage: &Stage, session: &str, allow: Allow) {
    let page = stage.client("page");
    let open = page.desk().await.unwrap().pop().expect("an open question");
    let answer = Answer { pending_id: open.request.pending_id, verdict: Verdict::Allow(allow) };
    page.command(Some(&session.into()), answer).await.unwrap();
}

async fn the_first_answer_wins_and_the_other_card_goes(version: &str) {
    let stage = Stage::new(version, vec![touch("x"), Reply::text("done")]).await;
    let (mut editor, session, agent) = stage.opened().await;
    let prompt = editor.prompt(&session, "go");
    let asked = editor.asked_for("session/request_permission").await;
    answered_in_the_page(&stage, &session, Allow::default()).await;
    let taken_back = editor.until(|message| message["method"] == "$/cancel_request").await;
    assert_eq!(taken_back["params"]["requestId"], asked["id"]);
    // Too late, and of no consequence.
    editor.choose(&asked, "reject");
    assert_eq!(editor.answered(prompt).await.unwrap()["stopReason"], "end_turn");
    assert!(stage.sandbox.places().workspace.join("x").exists());
    stage.end(editor, agent).await;
}

async fn what_was_changed_before_it_was_allowed_is_shown_before_it_is_done(version: &str) {
    let stage = Stage::new(version, vec![touch("x"), Reply::text("done")]).await;
    let (mut editor, session, agent) = stage.opened().await;
    let prompt = editor.prompt(&session, "go");
    let asked = editor.asked_for("session/request_permission").await;
    let input = json!({ "command": "touch y", "description": "Make another file" });
    let allow = Allow { input: Some(Json::of(&input)), remember: Vec::new() };
    answered_in_the_page(&stage, &session, allow).await;
    assert_eq!(editor.answered(prompt).await.unwrap()["stopReason"], "end_turn");
    assert!(stage.sandbox.places().workspace.join("y").exists());

    let call = &asked["params"]["toolCall"]["toolCallId"];
    let updates = editor.updates("tool_call_update");
    let updates: Vec<_> = updates.iter().filter(|update| update["toolCallId"] == *call).collect();
    let changed = updates.iter().position(|update| update["rawInput"] == input).expect("the changed input");
    let ended = updates.iter().position(|update| update["status"] == "completed").expect("the end");
    assert!(changed < ended, "{updates:?}");
    assert_eq!(updates[changed]["title"], "touch y");
    stage.end(editor, agent).await;
}

async fn questions_of_the_model_are_a_form_or_cards(version: &str) {
    let question = json!({ "questions": [{
        "question": "Which colour?", "header": "Colour", "multiSelect": false,
        "options": [{ "label": "Red", "description": "warm" }, { "label": "Blue", "description": "cold" }],
    }] });
    let ask = || Reply::tool_use("AskUserQuestion", question.clone());
    let stage = Stage::new(version, vec![ask(), Reply::text("one"), ask(), Reply::text("two")]).await;
    let answered = |word: &str| {
        let requests = stage.api.as_ref().unwrap().requests();
        requests.iter().any(|request| request.body.to_string().contains(word))
    };
    let (mut editor, session, agent) = stage.opened().await;
    let prompt = editor.prompt(&session, "ask me");
    let form = editor.asked_for("elicitation/create").await;
    assert_eq!(form["params"]["requestedSchema"]["properties"]["question_0"]["oneOf"][1]["const"], "Blue");
    editor.answer(&form, &json!({ "action": "accept", "content": { "question_0_custom": "Ultraviolet" } }));
    editor.answered(prompt).await.unwrap();
    assert!(answered("Ultraviolet"));
    editor.hang_up();
    agent.await.unwrap();

    let (mut editor, agent) = stage.agent();
    editor.hello_with(&json!({})).await;
    let session = editor.open(&stage.cwd()).await;
    let prompt = editor.prompt(&session, "ask me");
    let card = editor.asked_for("session/request_permission").await;
    assert_eq!(card["params"]["toolCall"]["title"], "Which colour?");
    editor.choose(&card, "answer_1");
    editor.answered(prompt).await.unwrap();
    assert!(answered("Blue"));
    stage.end(editor, agent).await;
}

async fn a_plan_is_approved_and_the_mode_changes(version: &str) {
    let plan = json!({ "plan": "1. do this\n2. do that" });
    let turns = vec![Reply::tool_use("ExitPlanMode", plan), Reply::text("done")];
    let stage = Stage::new(version, turns).await;
    let (mut editor, session, agent) = stage.opened().await;
    editor.call("session/set_mode", &json!({ "sessionId": session, "modeId": "plan" })).await.unwrap();
    let prompt = editor.prompt(&session, "plan it");
    let asked = editor.asked_for("session/request_permission").await;
    assert_eq!(asked["params"]["toolCall"]["kind"], "switch_mode");
    editor.choose(&asked, "plan_accept_edits");
    assert_eq!(editor.answered(prompt).await.unwrap()["stopReason"], "end_turn");
    let modes = editor.updates("current_mode_update");
    assert_eq!(modes.last().expect("another mode")["currentModeId"], "acceptEdits");
    stage.end(editor, agent).await;
}
