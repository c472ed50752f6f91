//! What the CLI does that no recording shows, or shows only in the middle of much else.
//!
//! Hand-written lines, and all that comes of them.

use jackfield_core::{HostReply, Options};
use jackfield_wire::HookOutput;
use serde_json::{Value, json};

use crate::harness::Step;
use crate::scene::{
    Scene, all_of_type, assistant, bash, can_use_tool, init, of_type, prompt, result, stream, text,
    tool_result,
};

fn system(subtype: &str, more: &Value) -> Value {
    let mut line = json!({ "type": "system", "subtype": subtype, "uuid": "line", "session_id": "cli-1" });
    line.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    line
}

fn request(id: &str, request: &Value) -> Value {
    json!({ "type": "control_request", "request_id": id, "request": request })
}

fn begin_message(scene: &mut Scene, id: &str) {
    scene.cli(&stream(
        json!({ "type": "message_start", "message": { "id": id, "role": "assistant", "content": [] } }),
    ));
    scene.cli(&stream(
        json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "text", "text": "" } }),
    ));
}

fn piece(text: &str) -> Value {
    stream(
        json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "text_delta", "text": text } }),
    )
}

fn chunk(item: u64, message: &str, text: &str) -> Value {
    json!({ "type": "message_chunk", "item_id": item, "message_id": message, "text": text })
}

fn ended(item: u64, outcome: &str) -> Value {
    json!({ "type": "item_ended", "item_id": item, "outcome": outcome })
}

#[test]
fn a_word_of_the_shell_is_a_notice_also_without_a_run() {
    let mut scene = Scene::new();
    let notice = json!({ "type": "notice", "level": "warning", "text": "the budget is used up" });
    assert_eq!(scene.take(Step::Notice("the budget is used up".to_owned())), std::slice::from_ref(&notice));
    scene.take(Step::Exited(crate::fixtures::CLEAN));
    assert_eq!(scene.take(Step::Notice("the budget is used up".to_owned())), [notice]);
}

#[test]
fn clearing_the_conversation_changes_the_clis_id_and_not_ours() {
    let mut scene = Scene::in_turn();
    scene.cli(&result(0.1));
    scene.host(&prompt("u-2", "/clear"));
    let told = scene.cli(&init("cli-2"));
    let kinds: Vec<&Value> = told.iter().map(|event| &event["type"]).collect();
    assert_eq!(
        kinds,
        [&json!("turn_started"), &json!("user_message"), &json!("queue"), &json!("session_status")]
    );
    assert_eq!(told[0]["trigger"], "command");
    assert_eq!(told[3]["cli_session_id"], "cli-2");
    assert!(scene.stage.events().iter().all(|event| event.session_id.as_str() == "ours"));
}

#[test]
fn a_session_without_a_name_takes_the_clis_first_id_for_all_its_events() {
    let mut stage = crate::harness::Stage::with(Options::default());
    for line in [init("cli-1"), text("m-1", "hi"), init("cli-2")] {
        stage.take(&Step::Line(line.to_string().into_bytes()));
    }
    assert!(!stage.events().is_empty());
    assert!(stage.events().iter().all(|event| event.session_id.as_str() == "cli-1"));
}

#[test]
fn a_status_is_told_again_only_when_something_in_it_changed() {
    let mut scene = Scene::in_turn();
    assert_eq!(scene.cli(&init("cli-1")), Vec::<Value>::new());
    let mut changed = init("cli-1");
    changed["model"] = json!("claude-y");
    let told = scene.cli(&changed);
    assert_eq!(told[0], json!({ "type": "model_changed", "model": "claude-y" }));
    assert_eq!((&told[1]["type"], &told[1]["model"]), (&json!("session_status"), &json!("claude-y")));
    assert_eq!(told.len(), 2);
}

#[test]
fn a_fallback_model_is_told_with_its_reason() {
    let mut scene = Scene::in_turn();
    let line = system(
        "model_fallback",
        &json!({ "trigger": "overloaded", "original_model": "a", "fallback_model": "b", "content": "high demand" }),
    );
    assert_eq!(scene.cli(&line), [json!({ "type": "model_changed", "model": "b", "reason": "high demand" })]);
}

#[test]
fn a_refusal_is_a_notice_and_its_turn_fails() {
    let mut scene = Scene::in_turn();
    let refusal = system(
        "model_refusal_no_fallback",
        &json!({ "original_model": "a", "request_id": "q", "content": "It would be harmful." }),
    );
    assert_eq!(
        scene.cli(&refusal),
        [json!({ "type": "notice", "level": "warning", "text": "It would be harmful." })]
    );
    let mut failure = assistant("m-1", json!({ "type": "text", "text": "API Error: refused" }));
    failure["message"]["model"] = json!("<synthetic>");
    failure["error"] = json!("invalid_request");
    scene.cli(&failure);
    let mut end = result(0.1);
    end["is_error"] = json!(true);
    end["result"] = json!("API Error: refused");
    let told = scene.cli(&end);
    assert_eq!(told[1], json!({ "type": "error", "error": "API Error: refused", "code": "invalid_request" }));
}

#[test]
fn a_refusal_without_words_is_no_empty_notice() {
    let mut scene = Scene::in_turn();
    let refusal = system(
        "model_refusal_no_fallback",
        &json!({ "original_model": "a", "request_id": "q", "content": "", "api_refusal_explanation": null }),
    );
    let told = scene.cli(&refusal);
    assert!(told.iter().all(|event| event["text"] != ""), "{told:?}");
}

#[test]
fn a_compaction_is_told_when_it_begins_and_when_its_boundary_comes() {
    let mut scene = Scene::in_turn();
    let status = |status: &Value, result: &Value| {
        system("status", &json!({ "status": status, "compact_result": result }))
    };
    assert_eq!(
        scene.cli(&status(&json!("compacting"), &json!(null))),
        [
            json!({ "type": "compaction", "trigger": null, "pre_tokens": null, "post_tokens": null, "status": "running" })
        ]
    );
    assert_eq!(scene.cli(&status(&json!(null), &json!("success"))), Vec::<Value>::new());
    let metadata = json!({ "trigger": "auto", "pre_tokens": 900, "post_tokens": 90 });
    assert_eq!(
        scene.cli(&system("compact_boundary", &json!({ "compact_metadata": metadata }))),
        [
            json!({ "type": "compaction", "trigger": "auto", "pre_tokens": 900, "post_tokens": 90, "status": "complete" })
        ]
    );
}

#[test]
fn a_compaction_that_fails_says_why() {
    let mut scene = Scene::in_turn();
    scene.cli(&system("status", &json!({ "status": "compacting" })));
    let failed = json!({ "status": null, "compact_result": "failed", "compact_error": "too short" });
    assert_eq!(
        scene.cli(&system("status", &failed)),
        [json!({
            "type": "compaction", "trigger": null, "pre_tokens": null, "post_tokens": null, "status": "failed",
            "message": "too short",
        })]
    );
}

#[test]
fn streamed_text_is_told_once_and_completed_by_its_final_form() {
    let mut scene = Scene::in_turn();
    begin_message(&mut scene, "m-1");
    assert_eq!(scene.cli(&piece("Hel")), [chunk(8, "m-1", "Hel")]);
    assert_eq!(scene.cli(&piece("lo")), [chunk(8, "m-1", "lo")]);
    assert_eq!(scene.cli(&text("m-1", "Hello")), [ended(8, "complete")]);
    assert_eq!(scene.cli(&stream(json!({ "type": "content_block_stop", "index": 0 }))), Vec::<Value>::new());
    assert_eq!(of_type(&scene.cli(&result(0.1)), &["message_chunk", "item_ended"]), Vec::<Value>::new());
}

#[test]
fn a_final_text_that_is_longer_than_what_streamed_brings_the_rest() {
    let mut scene = Scene::in_turn();
    begin_message(&mut scene, "m-1");
    scene.cli(&piece("Hel"));
    assert_eq!(scene.cli(&text("m-1", "Hello")), [chunk(8, "m-1", "lo"), ended(8, "complete")]);
}

#[test]
fn a_final_text_that_is_not_what_streamed_replaces_it() {
    let mut scene = Scene::in_turn();
    begin_message(&mut scene, "m-1");
    scene.cli(&piece("Hel"));
    assert_eq!(
        scene.cli(&text("m-1", "Good day")),
        [ended(8, "replaced"), chunk(10, "m-1", "Good day"), ended(10, "complete")]
    );
}

#[test]
fn a_silent_retry_delivers_the_text_anew_under_another_item() {
    let mut scene = Scene::in_turn();
    begin_message(&mut scene, "m-1");
    scene.cli(&piece("Hel"));
    assert_eq!(
        scene.cli(&text("m-2", "Hello")),
        [ended(8, "replaced"), chunk(10, "m-2", "Hello"), ended(10, "complete")]
    );
}

#[test]
fn a_result_whose_text_nobody_has_said_says_it() {
    let mut scene = Scene::in_turn();
    let told = scene.cli(&result(0.1));
    assert_eq!(
        of_type(&told, &["message_chunk", "item_ended"]),
        [
            json!({ "type": "message_chunk", "item_id": 8, "message_id": null, "text": "done" }),
            ended(8, "complete"),
        ]
    );
}

#[test]
fn a_tools_result_that_comes_after_its_turn_is_told_as_late() {
    let mut scene = Scene::in_turn();
    scene.cli(&bash("m-1", "toolu_1", "sleep 9"));
    let told = scene.cli(&result(0.1));
    assert_eq!(of_type(&told, &["tool_update"])[0]["tool_status"], "error");
    let told = scene.cli(&tool_result("toolu_1", "late"));
    assert_eq!(of_type(&told, &["tool_update"]), Vec::<Value>::new());
    assert_eq!(
        of_type(&told, &["notice"]),
        [json!({
            "type": "notice", "level": "warning",
            "text": "a result came for tool call toolu_1, which is not open",
        })]
    );
}

#[test]
fn f25_a_message_that_comes_twice_is_told_once() {
    const UUID: &str = "8f14e45f-ceea-467f-9b3a-0000000000ff";
    let mut scene = Scene::in_turn();
    let mut line = text("m-1", "said");
    line["uuid"] = json!(UUID);
    assert_eq!(of_type(&scene.cli(&line), &["message_chunk"]).len(), 1);
    let twice = format!("the message {UUID} came twice");
    assert_eq!(scene.cli(&line), [json!({ "type": "notice", "level": "warning", "text": twice })]);
    scene.cli(&result(0.1));
    // What is no uuid is no proof.
    line["uuid"] = json!("not a uuid");
    for _ in 0..2 {
        assert_eq!(of_type(&scene.cli(&line), &["notice"]), Vec::<Value>::new());
    }
}

#[test]
fn a_tool_call_that_is_announced_twice_is_called_once() {
    let mut scene = Scene::in_turn();
    scene.cli(&bash("m-1", "toolu_1", "ls"));
    let told = scene.cli(&bash("m-1", "toolu_1", "ls"));
    assert_eq!(
        told,
        [json!({ "type": "notice", "level": "warning", "text": "tool call toolu_1 was announced twice" })]
    );
    scene.cli(&tool_result("toolu_1", "a.txt"));
    assert_eq!(all_of_type(&scene, &["tool_update"]).len(), 1);
}

#[test]
fn an_unknown_request_is_refused_at_once_because_the_cli_would_wait_for_ever() {
    let mut scene = Scene::new();
    let line = request("r-1", &json!({ "subtype": "banana" }));
    let response = json!({ "subtype": "error", "request_id": "r-1", "error": "unsupported request: control_request/banana" });
    assert_eq!(
        scene.cli(&line),
        [
            json!({ "write": { "type": "control_response", "response": response }, "by": "host" }),
            json!({ "type": "unknown", "tag": "control_request/banana", "text": line.to_string() }),
        ]
    );
}

#[test]
fn a_request_that_cannot_be_read_is_refused_too() {
    let mut scene = Scene::new();
    let told = scene.cli(&request("r-1", &json!({ "subtype": "can_use_tool", "tool_name": 7 })));
    assert_eq!(told[0]["write"]["response"]["subtype"], "error");
    assert_eq!(told[1]["type"], "malformed");
    assert_eq!(told.len(), 2);
}

#[test]
fn an_id_that_is_a_number_comes_back_as_a_number() {
    let mut scene = Scene::new();
    let mut line = can_use_tool("", "Bash", "toolu_1", &json!({ "command": "ls" }));
    line["request_id"] = json!(7);
    let told = scene.cli(&line);
    let id = &of_type(&told, &["permission_request"])[0]["pending_id"];
    let told = scene.ask(&json!({ "type": "answer", "pending_id": id, "verdict": { "type": "allow" } }));
    assert_eq!(told[0]["write"]["response"]["request_id"], json!(7));
}

#[test]
fn a_lone_surrogate_is_read_as_a_replacement_character_and_told() {
    let mut scene = Scene::in_turn();
    let line = text("m-1", "half: HALF!").to_string().replace("HALF", "\\ud83d");
    let told = scene.take(Step::Line(line.into_bytes()));
    assert_eq!(told[0]["level"], "warning");
    assert_eq!(told[1..], [chunk(9, "m-1", "half: \u{fffd}!"), ended(9, "complete")]);
}

#[test]
fn an_unknown_message_is_passed_on_whole() {
    let mut scene = Scene::new();
    let line = r#"{"type":"banana", "n": 1e400}"#;
    assert_eq!(
        scene.take(Step::Line(line.as_bytes().to_vec())),
        [json!({ "type": "unknown", "tag": "banana", "text": line })]
    );
}

#[test]
fn a_known_message_that_does_not_fit_is_malformed_and_not_unknown() {
    let mut scene = Scene::new();
    let line = r#"{"type":"result","subtype":"success"}"#;
    let told = scene.take(Step::Line(line.as_bytes().to_vec()));
    assert_eq!(told.len(), 1);
    assert_eq!((&told[0]["type"], &told[0]["text"]), (&json!("malformed"), &json!(line)));
}

#[test]
fn a_hook_is_called_by_the_shell_and_its_answer_is_written() {
    let mut scene = Scene::new();
    let hook = json!({
        "subtype": "hook_callback", "callback_id": "h", "tool_use_id": "toolu_1",
        "input": { "hook_event_name": "PreToolUse", "session_id": "cli-1" },
    });
    let told = scene.cli(&request("r-1", &hook));
    let running = json!({
        "type": "hook", "hook_id": "r-1", "hook_event": "PreToolUse", "hook_name": "h", "status": "running",
        "tool_call_id": "toolu_1",
    });
    assert_eq!(told[0], running);
    assert_eq!(told[1]["call"], 1);
    let mut complete = running;
    complete["status"] = json!("complete");
    let response = json!({ "subtype": "success", "request_id": "r-1", "response": {} });
    assert_eq!(
        scene.take(Step::Reply(0, HostReply::Hook(HookOutput::default()))),
        [json!({ "write": { "type": "control_response", "response": response }, "by": "host" }), complete]
    );
}

#[test]
fn a_hook_that_the_cli_no_longer_waits_for_is_withdrawn_and_its_answer_is_not_written() {
    let mut scene = Scene::new();
    let hook =
        json!({ "subtype": "hook_callback", "callback_id": "h", "input": { "hook_event_name": "Stop" } });
    scene.cli(&request("r-1", &hook));
    let told = scene.cli(&json!({ "type": "control_cancel_request", "request_id": "r-1" }));
    assert_eq!(
        told,
        [
            json!({
                "type": "hook", "hook_id": "r-1", "hook_event": "Stop", "hook_name": "h", "status": "cancelled",
                "tool_call_id": null,
            }),
            json!({ "call_withdrawn": 1 }),
        ]
    );
    assert_eq!(scene.take(Step::Reply(0, HostReply::Hook(HookOutput::default()))), Vec::<Value>::new());
}

#[test]
fn a_message_to_a_server_inside_the_host_is_answered_with_its_reply() {
    let mut scene = Scene::new();
    let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" });
    let told = scene.cli(&request(
        "r-1",
        &json!({ "subtype": "mcp_message", "server_name": "host", "message": message }),
    ));
    assert_eq!(told.len(), 1);
    assert_eq!(told[0]["call"], 1);
    let reply = serde_json::from_value(json!({ "jsonrpc": "2.0", "id": 1, "result": {} })).unwrap();
    let told = scene.take(Step::Reply(0, HostReply::Mcp(reply)));
    let answer = json!({ "mcp_response": { "jsonrpc": "2.0", "id": 1, "result": {} } });
    let response = json!({ "subtype": "success", "request_id": "r-1", "response": answer });
    assert_eq!(
        told,
        [json!({ "write": { "type": "control_response", "response": response }, "by": "host" })]
    );
}

/// A turn in which a subagent was started.
fn with_subagent() -> Scene {
    let mut scene = Scene::in_turn();
    let task = json!({ "type": "tool_use", "id": "toolu_task", "name": "Task", "input": { "prompt": "go" } });
    scene.cli(&assistant("m-1", task));
    let started = json!({
        "task_id": "agent-1", "tool_use_id": "toolu_task", "description": "go", "task_type": "local_agent",
    });
    scene.cli(&system("task_started", &started));
    scene
}

#[test]
fn a_subagent_that_goes_on_when_its_turn_is_over_begins_no_turn() {
    let mut scene = with_subagent();
    scene.cli(&tool_result("toolu_task", "it runs in the background"));
    scene.cli(&result(0.1));
    let of_subagent = |mut line: Value| {
        line["parent_tool_use_id"] = json!("toolu_task");
        line
    };
    let hook = json!({
        "subtype": "hook_callback", "callback_id": "h", "tool_use_id": "toolu_1",
        "input": { "hook_event_name": "PreToolUse", "session_id": "cli-1", "agent_id": "agent-1" },
    });
    let mut ask = can_use_tool("r-2", "Bash", "toolu_1", &json!({ "command": "ls" }));
    ask["request"]["agent_id"] = json!("agent-1");
    // A prompt waits all the while.
    scene.host(&prompt("u-2", "and now?"));
    let block =
        json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "text", "text": "" } });
    let lines = [
        of_subagent(stream(block)),
        of_subagent(bash("m-2", "toolu_1", "ls")),
        request("r-1", &hook),
        ask,
        of_subagent(tool_result("toolu_1", "a.txt")),
        of_subagent(text("m-3", "done")),
    ];
    let told: Vec<Value> = lines.iter().flat_map(|line| scene.cli(line)).collect();
    let ours: Vec<&str> = told.iter().filter_map(|event| event["type"].as_str()).collect();
    assert_eq!(
        ours,
        [
            "tool_call",
            "hook",
            "permission_request",
            "permission_resolved",
            "tool_update",
            "message_chunk",
            "item_ended"
        ]
    );
    let inside = |event: &Value| event["type"].is_null() || event["parent_tool_call_id"] == "toolu_task";
    assert!(told.iter().all(inside), "{told:#?}");
    let begun = scene.cli(&init("cli-1"));
    assert_eq!(of_type(&begun, &["turn_started"]), [json!({ "type": "turn_started", "trigger": "prompt" })]);
}

#[test]
fn a_permission_of_a_subagent_belongs_to_the_call_that_started_it() {
    let mut scene = with_subagent();
    // The question comes before the subagent's own line [tools/subagent].
    let mut ask = can_use_tool("r-1", "Bash", "toolu_1", &json!({ "command": "ls" }));
    ask["request"]["agent_id"] = json!("agent-1");
    let told = scene.cli(&ask);
    assert_eq!(of_type(&told, &["permission_request"])[0]["parent_tool_call_id"], "toolu_task");
}

#[test]
fn a_task_whose_end_has_an_unknown_word_has_ended_all_the_same() {
    let mut scene = Scene::in_turn();
    let started = json!({ "task_id": "b-1", "tool_use_id": "toolu_1", "description": "wait", "task_type": "local_bash" });
    scene.cli(&system("task_started", &started));
    let end = json!({
        "task_id": "b-1", "tool_use_id": "toolu_1", "status": "banana", "output_file": "", "summary": "gone",
    });
    let told = scene.cli(&system("task_notification", &end));
    assert_eq!((told.len(), &told[0]["status"]), (1, &json!("stopped")));
    scene.stage.end();
    assert_eq!(all_of_type(&scene, &["task"]).len(), 2);
}

#[test]
fn a_limit_of_the_account_is_told() {
    let mut scene = Scene::in_turn();
    let told =
        json!({ "status": "allowed_warning", "resetsAt": 1_700_000_000_u64, "rateLimitType": "five_hour" });
    let line =
        json!({ "type": "rate_limit_event", "rate_limit_info": told, "uuid": "line", "session_id": "cli-1" });
    assert_eq!(
        scene.cli(&line),
        [json!({
            "type": "rate_limit", "rate_limit_message": "the five hour limit is near", "status": "allowed_warning",
            "resets_at": 1_700_000_000_u64,
        })]
    );
}

#[test]
fn a_tool_of_the_api_ends_with_its_own_kind_of_result() {
    let mut scene = Scene::in_turn();
    for id in ["srvtoolu_1", "srvtoolu_2"] {
        let call =
            json!({ "type": "server_tool_use", "id": id, "name": "web_search", "input": { "query": "tea" } });
        scene.cli(&assistant("msg_1", call));
    }
    let found = json!([{ "type": "web_search_result", "url": "https://tea.example", "title": "Tea" }]);
    let failed = json!({ "type": "web_search_tool_result_error", "error_code": "unavailable" });
    let ended: Vec<Value> = [("srvtoolu_1", found), ("srvtoolu_2", failed)]
        .into_iter()
        .flat_map(|(id, content)| {
            let result = json!({ "type": "web_search_tool_result", "tool_use_id": id, "content": content });
            let told = scene.cli(&assistant("msg_1", result));
            of_type(&told, &["tool_update"])
        })
        .collect();
    let statuses: Vec<_> =
        ended.iter().map(|update| (&update["tool_call_id"], &update["tool_status"])).collect();
    assert_eq!(
        statuses,
        [(&json!("srvtoolu_1"), &json!("complete")), (&json!("srvtoolu_2"), &json!("error"))]
    );
}
