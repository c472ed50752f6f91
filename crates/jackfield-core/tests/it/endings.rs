//! How a turn is stopped and a run is ended: interrupt, the ladder, a CLI that no longer answers, and the
//! next run of the same session.
//!
//! Every step of the ladder comes at its deadline and not before; the shell only does what it is told.

use jackfield_core::{Exit, Signal};
use serde_json::{Value, json};

use crate::fixtures::CLEAN;
use crate::harness::Step;
use crate::scene::{
    Scene, all_of_type, bash, can_use_tool, init, interrupted, of_type, plain, prompt, result, stream,
    success, text,
};

fn request(id: &str, request: &Value) -> Value {
    json!({ "type": "control_request", "request_id": id, "request": request })
}

fn interrupt(id: &str) -> Value {
    request(id, &json!({ "subtype": "interrupt" }))
}

fn run_ended(reason: &str, exit_code: Option<i32>) -> Value {
    json!({ "type": "run_ended", "reason": reason, "exit_code": exit_code, "stderr_tail": "" })
}

#[test]
fn an_interrupted_turn_ends_with_its_figures_and_one_error() {
    let mut scene = Scene::in_turn();
    let told = scene.ask(&json!({ "type": "interrupt" }));
    assert_eq!(told, [json!({ "write": interrupt("jackfield-1"), "by": "web" })]);
    assert_eq!(
        scene.cli(&success("jackfield-1")),
        [json!({ "accepted": "command-1", "reply": { "type": "done" } })]
    );
    let told = scene.cli(&interrupted());
    let types: Vec<&Value> = told.iter().map(|event| &event["type"]).collect();
    assert_eq!(types, [&json!("complete"), &json!("error")]);
    assert_eq!(
        told[1],
        json!({ "type": "error", "error": "the turn was interrupted", "code": "interrupted" })
    );
    assert_eq!(scene.due_in(), None);
}

#[test]
fn an_interrupt_without_a_turn_is_rejected() {
    let mut scene = Scene::new();
    assert_eq!(
        scene.ask(&json!({ "type": "interrupt" })),
        [json!({ "rejected": "command-1", "code": "not_now" })]
    );
}

#[test]
fn a_turn_that_does_not_stop_is_told_once() {
    let mut scene = Scene::in_turn();
    scene.ask(&json!({ "type": "interrupt" }));
    scene.cli(&success("jackfield-1"));
    assert_eq!(scene.due_in(), Some(30_000));
    assert_eq!(
        scene.take(Step::Deadline),
        [json!({ "type": "notice", "level": "warning", "text": "the turn has not stopped yet" })]
    );
    assert_eq!(scene.due_in(), None);
    assert_eq!(scene.take(Step::Timeout), Vec::<Value>::new());
}

#[test]
fn an_interrupt_aborts_what_streams_and_closes_what_is_prepared() {
    let mut scene = Scene::in_turn();
    scene.cli(&stream(
        json!({ "type": "message_start", "message": { "id": "m-1", "role": "assistant", "content": [] } }),
    ));
    scene.cli(&stream(json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "thinking", "thinking": "" } })));
    scene.cli(&stream(json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "thinking_delta", "thinking": "hm" } })));
    let tool = json!({ "type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {} });
    scene.cli(&stream(json!({ "type": "content_block_start", "index": 1, "content_block": tool })));
    scene.ask(&json!({ "type": "interrupt" }));
    let told = scene.cli(&interrupted());
    assert_eq!(
        of_type(&told, &["item_ended", "tool_update"]),
        [
            json!({ "type": "item_ended", "item_id": 8, "outcome": "aborted" }),
            json!({
                "type": "tool_update", "tool_call_id": "toolu_1", "tool_status": "error", "normalized": null,
                "output": null, "message": "never called: its input did not arrive whole",
            }),
        ]
    );
}

#[test]
fn closing_an_idle_run_goes_down_the_ladder_at_its_deadlines_only() {
    let mut scene = Scene::new();
    assert_eq!(
        scene.ask(&json!({ "type": "close" })),
        [json!("close stdin"), json!({ "accepted": "command-1", "reply": { "type": "done" } })]
    );
    assert_eq!(scene.due_in(), Some(5_000));
    scene.take(Step::Wait(4_999));
    assert_eq!(scene.take(Step::Timeout), Vec::<Value>::new());
    assert_eq!(scene.take(Step::Deadline), [json!("terminate")]);
    assert_eq!(scene.due_in(), Some(5_000));
    assert_eq!(scene.take(Step::Deadline), [json!("kill")]);
    assert_eq!(scene.take(Step::Exited(Exit::Signal(9))), [run_ended("killed", None)]);
    assert_eq!(scene.due_in(), None);
}

#[test]
fn closing_a_run_in_a_turn_interrupts_it_first() {
    let mut scene = Scene::in_turn();
    assert_eq!(
        scene.ask(&json!({ "type": "close" })),
        [
            json!({ "write": interrupt("jackfield-1"), "by": "web" }),
            json!({ "accepted": "command-1", "reply": { "type": "done" } }),
        ]
    );
    assert_eq!(scene.due_in(), Some(5_000));
    assert_eq!(scene.take(Step::Deadline), [json!("close stdin")]);
    assert_eq!(scene.take(Step::Deadline), [json!("terminate")]);
    let told = scene.take(Step::Exited(Exit::Code(143)));
    assert_eq!(
        of_type(&told, &["error", "run_ended"]),
        [
            json!({ "type": "error", "error": "the run ended in the middle of a turn", "code": "truncated" }),
            run_ended("closed", Some(143)),
        ]
    );
}

#[test]
fn a_run_that_exits_by_itself_after_its_input_was_closed_was_closed() {
    let mut scene = Scene::new();
    scene.ask(&json!({ "type": "close" }));
    assert_eq!(scene.take(Step::Exited(Exit::Code(1))), [run_ended("closed", Some(1))]);
}

#[test]
fn a_cli_that_leaves_a_quick_request_unanswered_is_wedged_and_is_ended() {
    let mut scene = Scene::new();
    scene.ask(&json!({ "type": "set_mode", "permission_mode": "plan" }));
    scene.ask(&json!({ "type": "set_model", "model": "opus" }));
    assert_eq!(scene.due_in(), Some(30_000));
    let told = scene.take(Step::Deadline);
    let mut rejected: Vec<&Value> = told.iter().filter(|output| output["rejected"].is_string()).collect();
    rejected.sort_by_key(|output| output["rejected"].as_str());
    assert_eq!(
        rejected,
        [
            &json!({ "rejected": "command-1", "code": "timed_out" }),
            &json!({ "rejected": "command-2", "code": "timed_out" }),
        ]
    );
    let wedged =
        json!({ "type": "error", "error": "the CLI no longer answers; it is being ended", "code": "wedged" });
    assert_eq!(of_type(&told, &["error"]), [wedged]);
    assert_eq!(told.iter().filter(|output| **output == json!("terminate")).count(), 1);
    assert_eq!(scene.take(Step::Deadline), [json!("kill")]);
    assert_eq!(scene.take(Step::Exited(Exit::Signal(9))), [run_ended("wedged", None)]);
}

#[test]
fn a_slow_request_that_is_not_answered_wedges_nothing() {
    let mut scene = Scene::new();
    scene.ask(&json!({ "type": "mcp", "action": "reconnect", "server": "mini" }));
    assert_eq!(scene.due_in(), Some(300_000));
    assert_eq!(scene.take(Step::Deadline), [json!({ "rejected": "command-1", "code": "timed_out" })]);
    assert_eq!(scene.due_in(), None);
}

#[test]
fn a_crash_is_told_with_the_last_words_of_standard_error() {
    let mut scene = Scene::new();
    scene.take(Step::Stderr("panic: out of memory".to_owned()));
    assert_eq!(
        scene.take(Step::Exited(Exit::Signal(6))),
        [
            json!({
                "type": "error", "error": "the CLI was ended by signal 6: panic: out of memory", "code": "crashed",
            }),
            json!({
                "type": "run_ended", "reason": "crashed", "exit_code": null,
                "stderr_tail": "panic: out of memory",
            }),
        ]
    );
}

#[test]
fn a_process_that_could_not_be_started_is_told() {
    let mut scene = Scene::new();
    let why = "cannot start `claude`: not found in PATH";
    assert_eq!(
        scene.take(Step::Exited(Exit::NotStarted(why.to_owned()))),
        [json!({ "type": "error", "error": why, "code": "not_started" }), run_ended("not_started", None)]
    );
}

#[test]
fn a_signal_that_somebody_else_sent_is_no_crash_of_ours() {
    let mut scene = Scene::new();
    scene.take(Step::Signalled(Signal::Terminate));
    assert_eq!(scene.take(Step::Exited(Exit::Code(143))), [run_ended("closed", Some(143))]);
}

#[test]
fn everything_that_is_open_is_closed_by_the_end_of_the_run() {
    let mut scene = Scene::in_turn();
    scene.cli(&bash("m-1", "toolu_1", "ls"));
    scene.cli(&can_use_tool("r-1", "Bash", "toolu_1", &json!({ "command": "ls" })));
    let hook = json!({ "subtype": "hook_callback", "callback_id": "h", "input": { "hook_event_name": "PreToolUse" } });
    scene.cli(&request("r-2", &hook));
    let told = scene.take(Step::Exited(CLEAN));
    assert_eq!(
        told.iter().map(|output| output["type"].as_str().unwrap_or("-")).collect::<Vec<_>>(),
        ["permission_resolved", "hook", "-", "tool_update", "error", "run_ended"]
    );
    assert_eq!(told[0]["outcome"], "lost");
    assert_eq!(told[1]["status"], "cancelled");
    assert_eq!(told[2], json!({ "call_withdrawn": 1 }));
    assert_eq!(told[3]["tool_status"], "error");
    scene.stage.end();
}

#[test]
fn the_next_run_goes_on_counting_events_and_turns_and_begins_to_count_money_anew() {
    let mut scene = Scene::in_turn();
    scene.cli(&text("m-1", "one"));
    scene.cli(&result(0.5));
    scene.take(Step::Exited(CLEAN));
    scene.start();
    scene.host(&prompt("u-2", "again"));
    scene.cli(&init("cli-1"));
    scene.cli(&text("m-2", "two"));
    scene.cli(&result(0.25));
    let events = scene.stage.events();
    let seqs: Vec<u64> = events.iter().map(|event| event.seq.0).collect();
    assert_eq!(seqs, (1..=seqs.len() as u64).collect::<Vec<_>>());
    let turns: Vec<Option<u32>> = events
        .iter()
        .filter(|event| event.body.tag() == "turn_started")
        .map(|event| event.turn.map(|turn| turn.0))
        .collect();
    assert_eq!(turns, [Some(1), Some(2)]);
    let costs: Vec<(Value, Value)> = all_of_type(&scene, &["complete"])
        .iter()
        .map(|end| (end["data"]["cost_usd"].clone(), end["data"]["total_cost_usd"].clone()))
        .collect();
    assert_eq!(costs, [(json!(0.5), json!(0.5)), (json!(0.25), json!(0.25))]);
}

#[test]
fn the_cost_of_a_turn_is_what_the_total_has_grown() {
    let mut scene = Scene::in_turn();
    scene.cli(&result(0.5));
    scene.host(&prompt("u-2", "again"));
    scene.cli(&init("cli-1"));
    scene.cli(&result(0.75));
    let costs: Vec<Value> =
        all_of_type(&scene, &["complete"]).iter().map(|end| end["data"]["cost_usd"].clone()).collect();
    assert_eq!(costs, [json!(0.5), json!(0.25)]);
}

#[test]
fn a_start_without_an_end_before_it_ends_the_run_that_was_there() {
    let mut scene = Scene::in_turn();
    let told = scene.start();
    let ends = of_type(&told, &["run_ended", "run_started"]);
    assert_eq!(
        ends,
        [
            run_ended("output_ended", None),
            json!({ "type": "run_started", "cli_session_id": null, "claude_code_version": null }),
        ]
    );
    assert_eq!(scene.stage.outputs().iter().map(plain).filter(|told| told["type"] == "run_ended").count(), 1);
}
