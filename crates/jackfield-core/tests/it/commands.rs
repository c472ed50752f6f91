//! What clients ask and what is written for it: answers to questions, modes, models.
//!
//! The exact line matters: the CLI denies an allow without its input and a denial without its message
//! [permission/bash_deny_no_message].

use jackfield_core::Options;
use jackfield_core::session::Bypass;
use serde_json::{Value, json};

use crate::harness::Step;
use crate::scene::{Scene, bash, can_use_tool, of_type, success, success_with, tool_result};

/// A session in which the CLI asks whether `ls` may run; the question's number is its `pending_id`.
fn asked(options: Options) -> (Scene, Value) {
    let mut scene = Scene::with(options);
    let told = scene.cli(&can_use_tool(
        "r-1",
        "Bash",
        "toolu_1",
        &json!({ "command": "ls", "description": "list" }),
    ));
    let id = of_type(&told, &["permission_request"])[0]["pending_id"].clone();
    (scene, id)
}

fn answer(id: &Value, verdict: &Value) -> Value {
    json!({ "type": "answer", "pending_id": id, "verdict": verdict })
}

fn answered(request_id: &str, response: &Value) -> Value {
    let response = json!({ "subtype": "success", "request_id": request_id, "response": response });
    json!({ "type": "control_response", "response": response })
}

#[test]
fn allowing_a_tool_writes_the_input_that_was_asked() {
    let (mut scene, id) = asked(Options::default());
    let told = scene.ask(&answer(&id, &json!({ "type": "allow" })));
    let input = json!({ "command": "ls", "description": "list" });
    assert_eq!(
        told,
        [
            json!({ "write": answered("r-1", &json!({ "behavior": "allow", "updatedInput": input })), "by": "web" }),
            json!({ "type": "permission_resolved", "pending_id": id, "outcome": "allowed", "by": "web", "message": null }),
            json!({ "accepted": "command-1", "reply": { "type": "done" } }),
        ]
    );
}

#[test]
fn allowing_a_tool_with_another_input_and_a_rule_writes_both() {
    let (mut scene, id) = asked(Options::default());
    let rule = json!({ "tool_name": "Bash", "rule_content": "ls *" });
    let remember =
        json!({ "type": "add_rules", "rules": [rule], "behavior": "allow", "destination": "local_settings" });
    let told = scene.ask(&answer(
        &id,
        &json!({ "type": "allow", "input": { "command": "pwd" }, "remember": [remember] }),
    ));
    let update = json!({
        "type": "addRules", "rules": [{ "toolName": "Bash", "ruleContent": "ls *" }], "behavior": "allow",
        "destination": "localSettings",
    });
    let response =
        json!({ "behavior": "allow", "updatedInput": { "command": "pwd" }, "updatedPermissions": [update] });
    assert_eq!(told[0], json!({ "write": answered("r-1", &response), "by": "web" }));
}

#[test]
fn s19_everybody_is_told_what_runs_when_it_is_not_what_was_asked() {
    let mut scene = Scene::in_turn();
    scene.cli(&bash("msg_1", "toolu_1", "ls"));
    let told = scene.cli(&can_use_tool("r-1", "Bash", "toolu_1", &json!({ "command": "ls" })));
    let id = of_type(&told, &["permission_request"])[0]["pending_id"].clone();
    let told = scene.ask(&answer(&id, &json!({ "type": "allow", "input": { "command": "pwd" } })));
    let resolved = of_type(&told, &["permission_resolved"]);
    assert_eq!(resolved[0]["input"], json!({ "command": "pwd" }));
    // The call is shown as what it is now, before and after its result.
    let updates = of_type(&told, &["tool_update"]);
    assert_eq!(updates[0]["tool_status"], "running");
    assert_eq!(updates[0]["tool_title"], "$ pwd");
    assert_eq!(updates[0]["normalized"]["command"], "pwd");
    let told = scene.cli(&tool_result("toolu_1", "/ws"));
    assert_eq!(of_type(&told, &["tool_update"])[0]["normalized"]["command"], "pwd");
}

#[test]
fn s19_an_input_that_says_the_same_in_other_words_is_no_change() {
    let (mut scene, id) = asked(Options::default());
    let same = json!({ "description": "list", "command": "ls" });
    let told = scene.ask(&answer(&id, &json!({ "type": "allow", "input": same })));
    assert_eq!(of_type(&told, &["permission_resolved"])[0].get("input"), None);
    assert_eq!(of_type(&told, &["tool_update"]), Vec::<Value>::new());
}

#[test]
fn denying_a_tool_without_words_writes_a_message_all_the_same() {
    let (mut scene, id) = asked(Options::default());
    let told = scene.ask(&answer(&id, &json!({ "type": "deny" })));
    let message = "The user does not want this tool to run.";
    assert_eq!(
        told,
        [
            json!({ "write": answered("r-1", &json!({ "behavior": "deny", "message": message })), "by": "web" }),
            json!({
                "type": "permission_resolved", "pending_id": id, "outcome": "denied", "by": "web",
                "message": message,
            }),
            json!({ "accepted": "command-1", "reply": { "type": "done" } }),
        ]
    );
}

#[test]
fn a_denial_that_stops_the_turn_says_so() {
    let (mut scene, id) = asked(Options::default());
    let told = scene.ask(&answer(&id, &json!({ "type": "deny", "message": "stop", "interrupt": true })));
    let response = json!({ "behavior": "deny", "message": "stop", "interrupt": true });
    assert_eq!(told[0], json!({ "write": answered("r-1", &response), "by": "web" }));
}

#[test]
fn the_second_answer_is_too_late_while_the_first_is_on_its_way() {
    let (mut scene, id) = asked(Options::default());
    scene.take(Step::Hold);
    scene.ask(&answer(&id, &json!({ "type": "allow" })));
    let told = scene.ask(&answer(&id, &json!({ "type": "deny" })));
    assert_eq!(told, [json!({ "rejected": "command-2", "code": "too_late" })]);
    let told = scene.take(Step::Release);
    assert_eq!(of_type(&told, &["permission_resolved"]).len(), 1);
}

#[test]
fn f13_an_answer_is_accepted_when_it_is_written_and_the_question_is_still_open() {
    let (mut scene, id) = asked(Options::default());
    scene.take(Step::Hold);
    let told = scene.ask(&answer(&id, &json!({ "type": "allow" })));
    assert!(told.iter().all(|told| told["accepted"].is_null()), "{told:?}");
    scene.cli(&json!({ "type": "control_cancel_request", "request_id": "r-1" }));
    let told = scene.take(Step::Release);
    assert!(told.contains(&json!({ "rejected": "command-1", "code": "too_late" })), "{told:?}");

    let (mut scene, id) = asked(Options::default());
    scene.take(Step::Hold);
    scene.ask(&answer(&id, &json!({ "type": "allow" })));
    let told = scene.take(Step::Exited(jackfield_core::Exit::Signal(9)));
    assert!(told.contains(&json!({ "rejected": "command-1", "code": "run_ended" })), "{told:?}");
}

#[test]
fn an_answer_after_the_question_was_answered_is_for_nothing() {
    let (mut scene, id) = asked(Options::default());
    scene.ask(&answer(&id, &json!({ "type": "allow" })));
    let told = scene.ask(&answer(&id, &json!({ "type": "deny" })));
    assert_eq!(told, [json!({ "rejected": "command-2", "code": "not_found" })]);
}

#[test]
fn an_answer_after_the_cli_withdrew_the_question_is_for_nothing() {
    let (mut scene, id) = asked(Options::default());
    let cancel = json!({ "type": "control_cancel_request", "request_id": "r-1" });
    assert_eq!(scene.cli(&cancel), [json!({ "type": "permission_cancelled", "pending_id": id })]);
    let told = scene.ask(&answer(&id, &json!({ "type": "allow" })));
    assert_eq!(told, [json!({ "rejected": "command-1", "code": "not_found" })]);
}

#[test]
fn a_cancelled_permission_is_withdrawn_once() {
    let (mut scene, id) = asked(Options::default());
    let cancel = json!({ "type": "control_cancel_request", "request_id": "r-1" });
    scene.cli(&cancel);
    let told = scene.cli(&cancel);
    assert_eq!(of_type(&told, &["permission_cancelled", "permission_resolved"]), Vec::<Value>::new());
    scene.stage.end();
    assert_eq!(id, json!(3));
}

#[test]
fn a_question_that_nobody_answers_in_time_is_denied_and_has_expired() {
    let (mut scene, id) = asked(Options { answer_within: Some(60_000), ..Options::default() });
    assert_eq!(scene.due_in(), Some(60_000));
    scene.take(Step::Wait(59_999));
    assert_eq!(scene.take(Step::Timeout), Vec::<Value>::new());
    let message = "nobody answered in time";
    assert_eq!(
        scene.take(Step::Deadline),
        [
            json!({ "write": answered("r-1", &json!({ "behavior": "deny", "message": message })), "by": "expiry" }),
            json!({
                "type": "permission_resolved", "pending_id": id, "outcome": "expired", "by": "expiry",
                "message": message,
            }),
        ]
    );
    assert_eq!(scene.due_in(), None);
}

#[test]
fn a_question_without_a_limit_waits_for_ever() {
    let (mut scene, _) = asked(Options::default());
    assert_eq!(scene.due_in(), None);
    scene.take(Step::Wait(1_000_000_000));
    assert_eq!(scene.take(Step::Timeout), Vec::<Value>::new());
}

#[test]
fn a_question_whose_tool_ends_without_an_answer_is_lost_or_allowed_but_never_open() {
    let (mut scene, id) = asked(Options::default());
    let told = scene.cli(&tool_result("toolu_1", "a.txt"));
    assert_eq!(
        of_type(&told, &["permission_resolved"]),
        [json!({
            "type": "permission_resolved", "pending_id": id, "outcome": "allowed", "by": null,
            "message": "the answer was not seen",
        })]
    );
}

#[test]
fn answers_to_questions_are_merged_into_the_input() {
    let mut scene = Scene::new();
    let input = json!({ "questions": [{ "question": "Which colour?", "header": "Colour", "options": [] }] });
    let told = scene.cli(&can_use_tool("r-1", "AskUserQuestion", "toolu_1", &input));
    let request = &of_type(&told, &["permission_request"])[0];
    let asked =
        json!([{ "question": "Which colour?", "header": "Colour", "multi_select": false, "options": [] }]);
    assert_eq!((&request["kind"], &request["questions"]), (&json!("question"), &asked));
    let verdict = json!({ "type": "answers", "answers": { "Which colour?": "Blue" } });
    let told = scene.ask(&answer(&request["pending_id"], &verdict));
    let mut updated = input;
    updated["answers"] = json!({ "Which colour?": "Blue" });
    let response = json!({ "behavior": "allow", "updatedInput": updated });
    assert_eq!(told[0], json!({ "write": answered("r-1", &response), "by": "web" }));
}

#[test]
fn answers_fit_only_questions() {
    let (mut scene, id) = asked(Options::default());
    let told = scene.ask(&answer(&id, &json!({ "type": "answers", "answers": {} })));
    assert_eq!(told, [json!({ "rejected": "command-1", "code": "invalid" })]);
}

#[test]
fn a_form_is_accepted_with_its_content_and_declined_without() {
    let ask = |id: &str| {
        let request = json!({ "subtype": "elicitation", "mcp_server_name": "mini", "message": "Your name?",
            "mode": "form", "requested_schema": { "type": "object" } });
        json!({ "type": "control_request", "request_id": id, "request": request })
    };
    let mut scene = Scene::new();
    let told = scene.cli(&ask("r-1"));
    assert_eq!(
        told,
        [json!({
            "type": "permission_request", "pending_id": 2, "kind": "elicitation", "tool_call_id": null,
            "tool_name": null, "tool_title": "mini asks", "normalized": null, "input": null, "suggestions": [],
            "reason": null, "message": "Your name?", "schema": { "type": "object" },
        })]
    );
    let told = scene.ask(&answer(&json!(2), &json!({ "type": "allow", "input": { "name": "Ada" } })));
    let response = json!({ "action": "accept", "content": { "name": "Ada" } });
    assert_eq!(told[0], json!({ "write": answered("r-1", &response), "by": "web" }));
    let told = scene.cli(&ask("r-2"));
    let told = scene.ask(&answer(&told[0]["pending_id"], &json!({ "type": "deny" })));
    assert_eq!(told[0], json!({ "write": answered("r-2", &json!({ "action": "decline" })), "by": "web" }));
}

#[test]
fn the_mode_without_questions_is_refused_unless_it_was_allowed() {
    let set = json!({ "type": "set_mode", "permission_mode": "bypassPermissions" });
    let mut scene = Scene::new();
    assert_eq!(scene.ask(&set), [json!({ "rejected": "command-1", "code": "forbidden" })]);
    let mut scene = Scene::with(Options { bypass_allowed: Bypass::Allowed, ..Options::default() });
    let request = json!({ "subtype": "set_permission_mode", "mode": "bypassPermissions" });
    let line = json!({ "type": "control_request", "request_id": "jackfield-1", "request": request });
    assert_eq!(scene.ask(&set), [json!({ "write": line, "by": "web" })]);
}

#[test]
fn the_mode_without_questions_is_refused_as_a_rule_to_remember_too() {
    let (mut scene, id) = asked(Options::default());
    let remember = json!({ "type": "set_mode", "mode": "bypassPermissions", "destination": "session" });
    let told = scene.ask(&answer(&id, &json!({ "type": "allow", "remember": [remember] })));
    assert_eq!(told, [json!({ "rejected": "command-1", "code": "forbidden" })]);
    let told = scene.ask(&answer(&id, &json!({ "type": "allow" })));
    assert_eq!(told.len(), 3);
}

#[test]
fn a_mode_that_does_not_exist_never_reaches_the_cli() {
    let mut scene = Scene::new();
    let told = scene.ask(&json!({ "type": "set_mode", "permission_mode": "nonsense" }));
    assert_eq!(told, [json!({ "rejected": "command-1", "code": "invalid" })]);
}

#[test]
fn a_mode_is_accepted_when_the_cli_has_answered_and_told_once() {
    let mut scene = Scene::in_turn();
    scene.ask(&json!({ "type": "set_mode", "permission_mode": "plan" }));
    let status = json!({
        "type": "system", "subtype": "status", "status": null, "permissionMode": "plan", "uuid": "line",
        "session_id": "cli-1",
    });
    assert_eq!(scene.cli(&status), [json!({ "type": "mode_changed", "permission_mode": "plan" })]);
    assert_eq!(
        scene.cli(&success_with("jackfield-1", &json!({ "mode": "plan" }))),
        [json!({ "accepted": "command-1", "reply": { "type": "told", "answer": { "mode": "plan" } } })]
    );
}

#[test]
fn a_model_is_accepted_when_the_cli_has_answered() {
    let mut scene = Scene::new();
    let request = json!({ "subtype": "set_model", "model": "opus" });
    let line = json!({ "type": "control_request", "request_id": "jackfield-1", "request": request });
    assert_eq!(
        scene.ask(&json!({ "type": "set_model", "model": "opus" })),
        [json!({ "write": line, "by": "web" })]
    );
    assert_eq!(
        scene.cli(&success("jackfield-1")),
        [
            json!({ "type": "model_changed", "model": "opus" }),
            json!({ "accepted": "command-1", "reply": { "type": "done" } }),
        ]
    );
}

#[test]
fn a_request_that_the_cli_does_not_know_is_unsupported() {
    let mut scene = Scene::new();
    scene.ask(&json!({ "type": "rename", "title": "a title" }));
    let response = json!({
        "subtype": "error", "request_id": "jackfield-1",
        "error": "Unsupported control request subtype: rename_session",
    });
    let told = scene.cli(&json!({ "type": "control_response", "response": response }));
    let answers: Vec<&Value> = told.iter().filter(|output| output["rejected"].is_string()).collect();
    assert_eq!(answers, [&json!({ "rejected": "command-1", "code": "unsupported" })]);
}

#[test]
fn a_command_that_waits_is_rejected_when_its_run_ends() {
    let mut scene = Scene::new();
    scene.ask(&json!({ "type": "set_model", "model": "opus" }));
    let told = scene.take(Step::Exited(crate::fixtures::CLEAN));
    assert_eq!(
        told,
        [
            json!({ "rejected": "command-1", "code": "run_ended" }),
            json!({ "type": "run_ended", "reason": "closed", "exit_code": 0, "stderr_tail": "" }),
        ]
    );
}

#[test]
fn nothing_can_be_asked_of_a_session_without_a_run() {
    let mut scene = Scene::new();
    scene.take(Step::Exited(crate::fixtures::CLEAN));
    for command in [
        crate::scene::prompt_command("u-1", "hello"),
        json!({ "type": "interrupt" }),
        json!({ "type": "set_model", "model": "opus" }),
        json!({ "type": "close" }),
    ] {
        let told = scene.ask(&command);
        assert_eq!(told.len(), 1, "{command}");
        assert_eq!(told[0]["code"], "not_now", "{command}");
    }
}

#[test]
fn what_is_for_the_host_is_sent_elsewhere() {
    let mut scene = Scene::new();
    for command in [
        json!({ "type": "fork" }),
        json!({ "type": "retry" }),
        json!({ "type": "archive", "archived": true }),
        json!({ "type": "delete" }),
        json!({ "type": "import" }),
        json!({ "type": "set_budget", "max_budget_usd": 1.5 }),
        json!({ "type": "rewind", "uuid": "u-1", "scope": "both" }),
    ] {
        let told = scene.ask(&command);
        assert_eq!(told.len(), 1, "{command}");
        assert_eq!(told[0]["code"], "elsewhere", "{command}");
    }
}
