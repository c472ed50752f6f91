//! Prompts: sent, queued, merged, steered, edited, cancelled, doubled – and where each enters.
//!
//! A turn is not a prompt, so what is asked here is always: in which turn does which prompt stand, and once?

use serde_json::{Value, json};

use crate::harness::Step;
use crate::scene::{
    Scene, all_of_type, init, lifecycle, of_type, prompt, prompt_command, replay, result, success_with, text,
    tool_result,
};

fn queue(prompts: &[(&str, &str)]) -> Value {
    let prompts: Vec<Value> = prompts
        .iter()
        .map(|(uuid, text)| json!({ "uuid": uuid, "text": text, "priority": "next" }))
        .collect();
    json!({ "type": "queue", "prompts": prompts })
}

fn dropped(uuid: &str, text: &str, reason: &str) -> Value {
    json!({ "type": "queue", "prompts": [], "dropped": [{ "uuid": uuid, "text": text, "reason": reason }] })
}

fn user_message(uuid: &str, text: &str) -> Value {
    json!({ "type": "user_message", "text": text, "uuid": uuid })
}

#[test]
fn a_prompt_is_written_queued_and_enters_with_its_turn() {
    let mut scene = Scene::new();
    assert_eq!(
        scene.ask(&prompt_command("u-1", "hello")),
        [
            json!({ "write": {
                "type": "user", "uuid": "u-1", "parent_tool_use_id": null, "priority": "next",
                "message": { "role": "user", "content": [{ "type": "text", "text": "hello" }] },
            }, "by": "web" }),
            queue(&[("u-1", "hello")]),
            json!({ "accepted": "command-1", "reply": { "type": "done" } }),
        ]
    );
    assert_eq!(
        of_type(&scene.cli(&init("cli-1")), &["turn_started", "user_message", "queue"]),
        [json!({ "type": "turn_started", "trigger": "prompt" }), user_message("u-1", "hello"), queue(&[])]
    );
}

#[test]
fn each_priority_is_written_as_it_was_asked() {
    for priority in ["now", "next", "later"] {
        let mut scene = Scene::new();
        let mut command = prompt_command("u-1", "hello");
        command["priority"] = json!(priority);
        let told = scene.ask(&command);
        assert_eq!(told[0]["write"]["priority"], priority);
        assert_eq!(told[1]["prompts"][0]["priority"], priority);
    }
}

#[test]
fn f16_a_prompt_is_accepted_when_it_is_written_and_not_before() {
    let mut scene = Scene::new();
    scene.take(Step::Hold);
    let told = scene.ask(&prompt_command("u-1", "hello"));
    assert!(told.iter().all(|told| told["accepted"].is_null()), "{told:?}");
    let told = scene.take(Step::Exited(jackfield_core::Exit::Signal(9)));
    assert!(told.contains(&json!({ "rejected": "command-1", "code": "run_ended" })), "{told:?}");
}

#[test]
fn a_prompt_to_a_run_that_is_being_closed_is_refused() {
    let mut scene = Scene::new();
    scene.take(Step::Hold);
    scene.ask(&json!({ "type": "close" }));
    assert_eq!(
        scene.ask(&prompt_command("u-1", "hello")),
        [json!({ "rejected": "command-2", "code": "not_now" })]
    );
}

#[test]
fn a_prompt_with_a_known_uuid_is_rejected() {
    let mut scene = Scene::new();
    scene.ask(&prompt_command("u-1", "hello"));
    assert_eq!(
        scene.ask(&prompt_command("u-1", "other")),
        [json!({ "rejected": "command-2", "code": "invalid" })]
    );
}

#[test]
fn a_prompt_that_somebody_sent_twice_is_dropped_as_a_duplicate() {
    let mut scene = Scene::new();
    scene.host(&prompt("u-1", "hello"));
    scene.cli(&init("cli-1"));
    assert_eq!(scene.host(&prompt("u-1", "hello")), [dropped("u-1", "hello", "duplicate")]);
}

#[test]
fn an_empty_prompt_is_rejected() {
    let mut scene = Scene::new();
    let empty = json!({ "type": "prompt", "uuid": "u-1", "content": [], "priority": "next" });
    assert_eq!(scene.ask(&empty), [json!({ "rejected": "command-1", "code": "invalid" })]);
}

#[test]
fn a_queued_prompt_can_be_cancelled_while_it_waits() {
    let mut scene = Scene::in_turn();
    scene.ask(&prompt_command("u-1", "hello"));
    let told = scene.ask(&json!({ "type": "cancel_queued", "uuid": "u-1" }));
    let request = json!({ "subtype": "cancel_async_message", "message_uuid": "u-1" });
    let line = json!({ "type": "control_request", "request_id": "jackfield-1", "request": request });
    assert_eq!(told, [json!({ "write": line, "by": "web" })]);
    let told = scene.cli(&success_with("jackfield-1", &json!({ "cancelled": true })));
    assert_eq!(of_type(&told, &["queue"]), [dropped("u-1", "hello", "cancelled")]);
    assert!(told.iter().any(|output| output["accepted"] == "command-2"), "{told:?}");
    let told = scene.ask(&json!({ "type": "cancel_queued", "uuid": "u-1" }));
    assert_eq!(told, [json!({ "rejected": "command-3", "code": "not_found" })]);
}

#[test]
fn a_prompt_that_was_taken_meanwhile_cannot_be_cancelled() {
    let mut scene = Scene::in_turn();
    scene.ask(&prompt_command("u-1", "hello"));
    scene.ask(&json!({ "type": "cancel_queued", "uuid": "u-1" }));
    let told = scene.cli(&success_with("jackfield-1", &json!({ "cancelled": false })));
    assert_eq!(of_type(&told, &["queue"]), Vec::<Value>::new());
    assert!(
        told.iter().any(|output| output["rejected"] == "command-2" && output["code"] == "too_late"),
        "{told:?}"
    );
}

#[test]
fn an_edited_prompt_takes_the_place_of_the_one_that_waited() {
    let mut scene = Scene::in_turn();
    scene.ask(&prompt_command("u-1", "helo"));
    let with = json!({ "uuid": "u-2", "content": [{ "type": "text", "text": "hello" }], "priority": "next" });
    let told = scene.ask(&json!({ "type": "edit_queued", "uuid": "u-1", "with": with }));
    assert_eq!(told.len(), 1, "the new prompt is not written before the old one is cancelled: {told:?}");
    let told = scene.cli(&success_with("jackfield-1", &json!({ "cancelled": true })));
    assert_eq!(of_type(&told, &["queue"]), [dropped("u-1", "helo", "cancelled"), queue(&[("u-2", "hello")])]);
    let written: Vec<&Value> = told.iter().filter(|output| output["write"]["type"] == "user").collect();
    assert_eq!(written.len(), 1);
    assert!(told.iter().any(|output| output["accepted"] == "command-2"), "{told:?}");
}

#[test]
fn an_edit_that_comes_too_late_writes_nothing() {
    let mut scene = Scene::in_turn();
    scene.ask(&prompt_command("u-1", "helo"));
    let with = json!({ "uuid": "u-2", "content": [{ "type": "text", "text": "hello" }], "priority": "next" });
    scene.ask(&json!({ "type": "edit_queued", "uuid": "u-1", "with": with }));
    let told = scene.cli(&success_with("jackfield-1", &json!({ "cancelled": false })));
    assert!(told.iter().all(|output| output["write"].is_null()), "{told:?}");
    assert!(
        told.iter().any(|output| output["rejected"] == "command-2" && output["code"] == "too_late"),
        "{told:?}"
    );
}

#[test]
fn an_edit_under_a_known_uuid_is_rejected() {
    let mut scene = Scene::in_turn();
    scene.ask(&prompt_command("u-1", "helo"));
    let with = json!({ "uuid": "u-1", "content": [{ "type": "text", "text": "hello" }], "priority": "next" });
    let told = scene.ask(&json!({ "type": "edit_queued", "uuid": "u-1", "with": with }));
    assert_eq!(told, [json!({ "rejected": "command-2", "code": "invalid" })]);
}

/// The names of the prompts that are cancelled, in order.
fn cancels(told: &[Value]) -> Vec<&str> {
    told.iter().filter_map(|output| output["write"]["request"]["message_uuid"].as_str()).collect()
}

/// The texts of the queue that was told last.
fn waiting(scene: &Scene) -> Vec<String> {
    let queues = all_of_type(scene, &["queue"]);
    let prompts = queues.last().unwrap()["prompts"].as_array().unwrap();
    prompts.iter().map(|prompt| prompt["text"].as_str().unwrap().to_owned()).collect()
}

fn queued(texts: &[&str]) -> Scene {
    let mut scene = Scene::in_turn();
    for text in texts {
        scene.ask(&prompt_command(text, text));
    }
    scene
}

#[test]
fn prompts_that_wait_are_put_into_another_order() {
    let mut scene = queued(&["a", "b", "c", "d"]);
    let told = scene.ask(&json!({ "type": "reorder_queued", "order": ["c", "a"] }));
    assert_eq!(cancels(&told), ["a", "b", "d"], "c may stay where it is");
    assert!(told.iter().any(|output| output["accepted"] == "command-5"), "{told:?}");
    assert!(
        told.iter().all(|output| output["write"]["type"] != "user"),
        "nothing is written twice: {told:?}"
    );
    for number in 1..=3 {
        let name = format!("jackfield-{number}");
        let told = scene.cli(&success_with(&name, &json!({ "cancelled": true })));
        let written: Vec<&Value> = told.iter().filter(|output| output["write"]["type"] == "user").collect();
        assert_eq!(written.len(), 1);
        assert_eq!(written[0]["by"], "web");
    }
    assert_eq!(waiting(&scene), ["c", "a", "b", "d"]);
}

#[test]
fn a_prompt_that_is_written_again_has_a_new_name_each_time() {
    let mut scene = queued(&["a", "b"]);
    let mut names = vec!["a".to_owned(), "b".to_owned()];
    for number in 1..=6 {
        let queue = all_of_type(&scene, &["queue"]).last().unwrap()["prompts"].clone();
        let order = json!([queue[1]["uuid"], queue[0]["uuid"]]);
        scene.ask(&json!({ "type": "reorder_queued", "order": order }));
        let told = scene.cli(&success_with(&format!("jackfield-{number}"), &json!({ "cancelled": true })));
        let written = told.iter().find(|output| output["write"]["type"] == "user").unwrap();
        let name = written["write"]["uuid"].as_str().unwrap().to_owned();
        assert_eq!(name.len(), 36, "{name}");
        assert!(!names.contains(&name), "{name}");
        names.push(name);
    }
}

#[test]
fn a_prompt_that_the_cli_takes_meanwhile_stays_and_the_others_move() {
    let mut scene = queued(&["a", "b", "c"]);
    scene.ask(&json!({ "type": "reorder_queued", "order": ["c", "b", "a"] }));
    let told = scene.cli(&success_with("jackfield-1", &json!({ "cancelled": false })));
    assert!(told.iter().all(|output| output["write"].is_null()), "{told:?}");
    scene.cli(&success_with("jackfield-2", &json!({ "cancelled": true })));
    assert_eq!(waiting(&scene), ["b", "c", "a"]);
}

#[test]
fn an_order_that_is_already_there_writes_nothing() {
    let mut scene = queued(&["a", "b"]);
    for order in [json!([]), json!(["a"]), json!(["a", "b"])] {
        let told = scene.ask(&json!({ "type": "reorder_queued", "order": order }));
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(told[0]["accepted"].is_string(), "{told:?}");
    }
}

#[test]
fn prompts_of_another_priority_are_left_alone() {
    let mut scene = queued(&["a"]);
    let mut late = prompt_command("late", "late");
    late["priority"] = json!("later");
    scene.ask(&late);
    scene.ask(&prompt_command("b", "b"));
    let told = scene.ask(&json!({ "type": "reorder_queued", "order": ["late", "b"] }));
    assert_eq!(cancels(&told), ["a"]);
}

#[test]
fn an_order_of_prompts_that_do_not_wait_is_rejected() {
    let mut scene = queued(&["a", "b"]);
    let code = |scene: &mut Scene, order: Value| {
        let told = scene.ask(&json!({ "type": "reorder_queued", "order": order }));
        assert_eq!(told.len(), 1, "{told:?}");
        told[0]["code"].clone()
    };
    assert_eq!(code(&mut scene, json!(["b", "first"])), "not_found");
    assert_eq!(code(&mut scene, json!(["b", "b"])), "invalid");
    scene.cli(&result(0.1));
    scene.cli(&lifecycle("b", "started"));
    assert_eq!(code(&mut scene, json!(["b", "a"])), "too_late");
}

#[test]
fn prompts_that_wait_together_are_merged_into_one_turn_when_nobody_tells() {
    let mut scene = Scene::in_turn();
    scene.host(&prompt("u-1", "one"));
    scene.host(&prompt("u-2", "two"));
    scene.cli(&result(0.1));
    assert_eq!(
        of_type(&scene.cli(&init("cli-1")), &["turn_started", "user_message", "queue"]),
        [
            json!({ "type": "turn_started", "trigger": "prompt" }),
            user_message("u-1", "one"),
            user_message("u-2", "two"),
            queue(&[]),
        ]
    );
}

#[test]
fn merged_prompts_are_bound_by_their_common_replay() {
    let mut scene = Scene::in_turn();
    scene.host(&prompt("u-1", "one"));
    scene.host(&prompt("u-2", "two"));
    scene.cli(&result(0.1));
    let told: Vec<Value> = [scene.cli(&init("cli-1")), scene.cli(&replay("u-2", "one\ntwo"))].concat();
    assert_eq!(of_type(&told, &["user_message"]), [user_message("u-1", "one"), user_message("u-2", "two")]);
}

#[test]
fn a_newer_cli_binds_a_prompt_by_its_lifecycle() {
    let mut scene = Scene::in_turn();
    scene.host(&prompt("u-1", "one"));
    scene.host(&prompt("u-2", "two"));
    scene.cli(&lifecycle("u-1", "queued"));
    scene.cli(&lifecycle("u-2", "queued"));
    scene.cli(&result(0.1));
    assert_eq!(scene.cli(&lifecycle("u-2", "started")), Vec::<Value>::new());
    assert_eq!(
        of_type(&scene.cli(&init("cli-1")), &["turn_started", "user_message", "queue"]),
        [
            json!({ "type": "turn_started", "trigger": "prompt" }),
            user_message("u-2", "two"),
            queue(&[("u-1", "one")]),
        ]
    );
}

#[test]
fn a_prompt_that_joins_a_running_turn_enters_there_and_starts_none() {
    let mut scene = Scene::in_turn();
    scene.host(&prompt("u-1", "and also this"));
    scene.cli(&lifecycle("u-1", "queued"));
    let told = scene.cli(&lifecycle("u-1", "started"));
    assert_eq!(told, [user_message("u-1", "and also this"), queue(&[])]);
    let told = scene.cli(&replay("u-1", "and also this"));
    assert_eq!(told, Vec::<Value>::new());
}

#[test]
fn an_older_cli_tells_by_its_replay_that_a_prompt_joined_a_running_turn() {
    let mut scene = Scene::in_turn();
    scene.host(&prompt("u-1", "and also this"));
    scene.cli(&tool_result("toolu_none", "x"));
    let told = scene.cli(&replay("u-1", "and also this"));
    assert_eq!(told, [user_message("u-1", "and also this"), queue(&[])]);
}

#[test]
fn a_prompt_that_the_cli_discards_leaves_the_queue() {
    let mut scene = Scene::in_turn();
    scene.host(&prompt("u-1", "one"));
    assert_eq!(scene.cli(&lifecycle("u-1", "cancelled")), [dropped("u-1", "one", "cancelled")]);
}

#[test]
fn prompts_that_still_wait_are_dropped_with_their_run() {
    let mut scene = Scene::in_turn();
    scene.host(&prompt("u-1", "one"));
    let told = scene.take(Step::Exited(crate::fixtures::CLEAN));
    assert_eq!(of_type(&told, &["queue"]), [dropped("u-1", "one", "run_ended")]);
}

#[test]
fn the_end_of_background_work_starts_a_turn_that_nobody_asked_for() {
    let mut scene = Scene::in_turn();
    scene.cli(&result(0.1));
    let task = |subtype: &str, more: &Value| {
        let mut line = json!({
            "type": "system", "subtype": subtype, "task_id": "b-1", "tool_use_id": "toolu_1", "uuid": "line",
            "session_id": "cli-1",
        });
        line.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        line
    };
    scene.cli(&task("task_started", &json!({ "description": "wait", "task_type": "local_bash" })));
    let told = scene.cli(&task(
        "task_notification",
        &json!({ "status": "completed", "summary": "done", "output_file": "" }),
    ));
    assert_eq!(
        told,
        [json!({
            "type": "task", "task_id": "b-1", "tool_call_id": "toolu_1", "status": "completed",
            "description": "wait", "usage": null, "task_type": "local_bash", "summary": "done",
        })]
    );
    let told = scene.cli(&init("cli-1"));
    assert_eq!(
        of_type(&told, &["turn_started", "user_message"]),
        [json!({ "type": "turn_started", "trigger": "background" })]
    );
    assert_eq!(of_type(&scene.cli(&text("m-2", "it is done")), &["message_chunk"]).len(), 1);
}
