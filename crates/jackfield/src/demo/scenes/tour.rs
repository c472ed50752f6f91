//! Everything, in about a minute.

use serde_json::json;

use super::{
    Play, Stage, bash, compact, edit, limit, markdown, plan, question, read, retry, subagent, thinking, todo,
};
use crate::demo::step::{Step, say, wait};

pub(super) fn steps(stage: &Stage<'_>) -> Vec<Step> {
    let parts: [(&str, Play); 10] = [
        ("a thought", thinking::steps),
        ("an answer", markdown::steps),
        ("files", read::steps),
        ("a change, which you may refuse", edit::steps),
        ("commands", bash::steps),
        ("a list of things to do", todo::steps),
        ("a subagent", subagent::steps),
        ("a question", question::steps),
        ("a plan", plan::steps),
        ("what goes wrong elsewhere", trouble),
    ];
    let mut steps = hook();
    steps.push(say(format!("# The tour\n\n{} stops, about a minute.", parts.len())));
    for (number, (name, part)) in (1..).zip(parts) {
        steps.push(say(format!("\n\n### {number}. {name}\n\n")));
        steps.extend(part(stage));
    }
    steps.push(say("\n\nThat was the tour. Below is what it would have cost; `help` lists all scenes."));
    steps
}

/// A hook of the settings, as the CLI tells of it [hooks/settings_command_hooks].
fn hook() -> Vec<Step> {
    let hook =
        json!({ "hook_id": "demo-hook", "hook_name": "SessionStart:startup", "hook_event": "SessionStart" });
    let mut ended = hook.clone();
    for (name, value) in [("output", json!("ready")), ("stdout", json!("ready")), ("stderr", json!(""))] {
        ended[name] = value;
    }
    ended["exit_code"] = 0.into();
    ended["outcome"] = "success".into();
    vec![Step::System("hook_started", hook), wait(100), Step::System("hook_response", ended)]
}

fn trouble(stage: &Stage<'_>) -> Vec<Step> {
    let mut steps = retry::steps(stage);
    steps.push(limit::warning());
    steps.extend(compact::steps(stage));
    steps
}
