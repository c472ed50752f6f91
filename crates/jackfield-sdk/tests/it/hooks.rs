//! Hooks, questions and plans that a program's callbacks answer, with the real CLIs.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use jackfield_api::command::{Allow, Answers, Deny, Verdict};
use jackfield_api::permission::{PermissionKind, PermissionRequest};
use jackfield_api::tool::HookStatus;
use jackfield_api::{Body, SharedEvent};
use jackfield_sdk::{Callbacks, Pace, TurnResult};
use jackfield_testkit::api::Reply;
use jackfield_wire::{
    HookDecision, HookDetail, HookEvent, HookInput, HookOutput, HookReply, HookSpecificOutput, HookVerdict,
    PermissionMode, PreToolUseOutput, UserPromptSubmitOutput,
};
use serde_json::json;

use super::place::{Place, all, bash, say, start, until, with_both_clis};

with_both_clis!(
    a_hook_allows_denies_or_asks_about_the_tools_it_matches,
    a_prompt_gets_the_context_that_a_hook_adds,
    a_hook_may_keep_the_turn_going_once,
    a_hook_that_takes_too_long_is_withdrawn_and_its_tool_refused,
    a_hook_that_fails_or_panics_decides_nothing,
    questions_of_the_model_are_answered_by_the_callback,
    a_plan_is_sent_back_and_then_approved,
);

type Heard = Arc<Mutex<Vec<String>>>;

fn heard(heard: &Heard) -> Vec<String> {
    heard.lock().unwrap().clone()
}

fn decides(decision: HookDecision) -> HookOutput {
    let output = PreToolUseOutput {
        permission_decision: Some(decision),
        permission_decision_reason: Some("the house says so".to_owned()),
        ..PreToolUseOutput::default()
    };
    says(HookSpecificOutput::PreToolUse(output))
}

fn says(output: HookSpecificOutput) -> HookOutput {
    HookOutput::Now(Box::new(HookReply { hook_specific_output: Some(output), ..HookReply::default() }))
}

fn command(input: &HookInput) -> String {
    let HookDetail::PreToolUse(call) = &input.detail else { panic!("{input:?}") };
    call.tool_input.parse::<serde_json::Value>().unwrap()["command"].as_str().unwrap_or_default().to_owned()
}

/// Says one thing in a session with these callbacks; what came of it, and all events.
async fn run(place: &Place, callbacks: Callbacks) -> (TurnResult, Vec<SharedEvent>) {
    let session = start(place.options(), callbacks).await;
    let mut events = session.events(Pace::Lossless);
    let result = say(&session, "go").await;
    session.close().await;
    (result, all(&mut events).await)
}

async fn a_hook_allows_denies_or_asks_about_the_tools_it_matches(version: &str) {
    let write = Reply::tool_use("Write", json!({"file_path": "/ws/unmatched", "content": ""}));
    let turns =
        vec![bash("touch allowed"), bash("touch denied"), bash("touch asked"), write, Reply::text("done")];
    let place = Place::new(version, turns).await;
    let (hooked, asked) = (Heard::default(), Heard::default());
    let (hooking, asking) = (Arc::clone(&hooked), Arc::clone(&asked));
    let callbacks = Callbacks::new()
        .on_hook(HookEvent::PreToolUse, Some("Bash"), move |input| {
            let command = command(&input);
            hooking.lock().unwrap().push(command.clone());
            async move {
                Ok(decides(match command.rsplit(' ').next() {
                    Some("allowed") => HookDecision::Allow,
                    Some("denied") => HookDecision::Deny,
                    _ => HookDecision::Ask,
                }))
            }
        })
        .on_permission(move |request: PermissionRequest| {
            asking.lock().unwrap().push(request.tool_title);
            async { Some(Verdict::Allow(Allow::default())) }
        });
    let (result, events) = run(&place, callbacks).await;
    assert_eq!((result.text.as_str(), result.error), ("done", None));
    assert_eq!(heard(&hooked), ["touch allowed", "touch denied", "touch asked"]);
    let asked = heard(&asked);
    assert_eq!(asked.len(), 2, "{asked:?}");
    assert!(asked[0].contains("asked") && asked[1].contains("unmatched"), "{asked:?}");
    let made = ["allowed", "denied", "asked", "unmatched"].map(|name| place.file(name).is_some());
    assert_eq!(made, [true, false, true, true]);
    assert_eq!(result.figures.permission_denials.len(), 1);
    let told = place.said().iter().any(|message| message.to_string().contains("the house says so"));
    assert!(told, "the model knows why");
    let statuses = |status: HookStatus| {
        let is_so = |event: &&SharedEvent| matches!(&event.body, Body::Hook(hook) if hook.status == status && hook.hook_name == "hook-0");
        events.iter().filter(is_so).count()
    };
    assert_eq!((statuses(HookStatus::Running), statuses(HookStatus::Complete)), (3, 3));
}

async fn a_prompt_gets_the_context_that_a_hook_adds(version: &str) {
    let place = Place::new(version, vec![Reply::text("done")]).await;
    let prompts = Heard::default();
    let hearing = Arc::clone(&prompts);
    let callbacks = Callbacks::new().on_hook(HookEvent::UserPromptSubmit, None, move |input| {
        let HookDetail::UserPromptSubmit(submitted) = &input.detail else { panic!("{input:?}") };
        hearing.lock().unwrap().push(submitted.prompt.clone());
        let additional_context = Some("the moon is full".to_owned());
        let output = UserPromptSubmitOutput { additional_context, ..UserPromptSubmitOutput::default() };
        async { Ok(says(HookSpecificOutput::UserPromptSubmit(output))) }
    });
    let (result, _) = run(&place, callbacks).await;
    assert_eq!(result.text, "done");
    assert_eq!(heard(&prompts), ["go"]);
    assert!(place.requests()[0]["messages"].to_string().contains("the moon is full"));
}

async fn a_hook_may_keep_the_turn_going_once(version: &str) {
    let place = Place::new(version, vec![Reply::text("done?"), Reply::text("done!")]).await;
    let stops = Heard::default();
    let hearing = Arc::clone(&stops);
    let callbacks = Callbacks::new().on_hook(HookEvent::Stop, None, move |input| {
        let HookDetail::Stop(stop) = &input.detail else { panic!("{input:?}") };
        let again = stop.stop_hook_active;
        hearing.lock().unwrap().push(again.to_string());
        async move {
            let reply = HookReply {
                decision: Some(HookVerdict::Block),
                reason: Some("look once more".to_owned()),
                ..HookReply::default()
            };
            Ok(if again { HookOutput::default() } else { HookOutput::Now(Box::new(reply)) })
        }
    });
    let (result, _) = run(&place, callbacks).await;
    assert_eq!(result.text, "done?\n\ndone!");
    assert_eq!(heard(&stops), ["false", "true"]);
    assert!(place.requests()[1]["messages"].to_string().contains("look once more"));
}

/// Says so when it is dropped.
struct Dropped(Heard);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.lock().unwrap().push("dropped".to_owned());
    }
}

async fn a_hook_that_takes_too_long_is_withdrawn_and_its_tool_refused(version: &str) {
    let place = Place::new(version, vec![bash("touch made"), Reply::text("done")]).await;
    let ends = Heard::default();
    let ending = Arc::clone(&ends);
    let callbacks = Callbacks::new()
        .on_permission(|_| async { Some(Verdict::Allow(Allow::default())) })
        .on_hook(HookEvent::PreToolUse, None, move |_| {
            let dropped = Dropped(Arc::clone(&ending));
            async move {
                let _dropped = dropped;
                std::future::pending().await
            }
        })
        .within(Duration::from_millis(200));
    let session = start(place.options(), callbacks).await;
    let mut events = session.events(Pace::Lossless);
    let turn = session.prompt("go").await.unwrap();
    until(&mut events, |body| matches!(body, Body::Hook(hook) if hook.status == HookStatus::Cancelled)).await;
    assert_eq!(turn.result().await.unwrap().text, "done");
    session.close().await;
    assert_eq!(heard(&ends), ["dropped"]);
    assert_eq!(place.file("made"), None, "no answer is never a yes");
}

async fn a_hook_that_fails_or_panics_decides_nothing(version: &str) {
    let turns = vec![bash("touch failed"), bash("touch panicked"), Reply::text("done")];
    let place = Place::new(version, turns).await;
    let asked = Heard::default();
    let asking = Arc::clone(&asked);
    let callbacks = Callbacks::new()
        .on_permission(move |request: PermissionRequest| {
            asking.lock().unwrap().push(request.tool_title);
            let message = "not today".to_owned();
            async { Some(Verdict::Deny(Deny { message, interrupt: false })) }
        })
        .on_hook(HookEvent::PreToolUse, Some("Bash"), |input| {
            let fails = command(&input).ends_with("failed");
            assert!(fails, "a hook that panics");
            async { Err("no idea".to_owned()) }
        });
    let (result, events) = run(&place, callbacks).await;
    assert_eq!(result.text, "done");
    assert_eq!(heard(&asked).len(), 2, "the usual way was gone");
    assert_eq!((place.file("failed"), place.file("panicked")), (None, None));
    let failed =
        |event: &&SharedEvent| matches!(&event.body, Body::Hook(hook) if hook.status == HookStatus::Error);
    assert_eq!(events.iter().filter(failed).count(), 2);
}

async fn questions_of_the_model_are_answered_by_the_callback(version: &str) {
    let option = |label: &str| json!({"label": label, "description": "one of them"});
    let question = json!({
        "question": "Which colour?", "header": "Colour", "multiSelect": false,
        "options": [option("red"), option("blue")],
    });
    let ask = Reply::tool_use("AskUserQuestion", json!({"questions": [question]}));
    let place = Place::new(version, vec![ask, Reply::text("done")]).await;
    let callbacks = Callbacks::new().on_permission(|request: PermissionRequest| async move {
        assert_eq!(request.kind, PermissionKind::Question);
        let labels: Vec<_> =
            request.questions[0].options.iter().map(|option| option.label.as_str()).collect();
        assert_eq!(labels, ["red", "blue"]);
        let answers = [(request.questions[0].question.clone(), "blue".to_owned())].into();
        Some(Verdict::Answers(Answers { answers }))
    });
    let (result, _) = run(&place, callbacks).await;
    assert_eq!((result.text.as_str(), result.error), ("done", None));
    let told = place.said().last().unwrap().to_string();
    assert!(told.contains("Which colour?") && told.contains("blue"), "{told}");
}

async fn a_plan_is_sent_back_and_then_approved(version: &str) {
    let plan = |text: &str| Reply::tool_use("ExitPlanMode", json!({"plan": text}));
    let place =
        Place::new(version, vec![plan("paint it red"), plan("paint it blue"), Reply::text("done")]).await;
    let plans = Heard::default();
    let hearing = Arc::clone(&plans);
    let callbacks = Callbacks::new().on_permission(move |request: PermissionRequest| {
        assert_eq!(request.kind, PermissionKind::Plan);
        let plan = request.plan.unwrap_or_default();
        let good = plan.contains("blue");
        hearing.lock().unwrap().push(plan);
        async move {
            let message = "not red".to_owned();
            Some(if good {
                Verdict::Allow(Allow::default())
            } else {
                Verdict::Deny(Deny { message, interrupt: false })
            })
        }
    });
    let session = start(place.options().permission_mode(PermissionMode::Plan), callbacks).await;
    let mut events = session.events(Pace::Lossless);
    assert_eq!(say(&session, "go").await.text, "done");
    session.close().await;
    assert_eq!(heard(&plans), ["paint it red", "paint it blue"]);
    assert!(place.said().iter().any(|message| message.to_string().contains("not red")));
    let left = |event: &SharedEvent| matches!(&event.body, Body::ModeChanged(mode) if mode.permission_mode == "default");
    assert!(all(&mut events).await.iter().any(left), "an approved plan ends the planning");
}
