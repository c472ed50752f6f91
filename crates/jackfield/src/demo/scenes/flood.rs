//! Everything at once, for load: short texts, tool calls, and results of many kilobytes.

use std::time::Duration;

use serde_json::json;

use super::Stage;
use crate::demo::step::{Call, Reply, Step, Work, say};

/// How long each result is.
const RESULT: usize = 16 * 1024;
/// More rounds than that would only fill the memory.
const MOST: u64 = 10_000;

pub(super) fn steps(stage: &Stage<'_>) -> Vec<Step> {
    let rounds = super::number(stage, 100).min(MOST);
    let mut steps: Vec<Step> = (1..=rounds).flat_map(round).collect();
    steps.push(say(format!("{rounds} rounds.")));
    steps
}

fn round(number: u64) -> [Step; 2] {
    let line = format!("{number}: the quick brown fox jumps over the lazy dog\n");
    let output = line.repeat(RESULT / line.len());
    let input = json!({ "command": format!("yes {number}"), "description": "Print very much" });
    let mut call = Call::new("Bash", input, Work::Reply(Reply::printed(&output)));
    call.takes = Duration::ZERO;
    [Step::Repeat(50), call.into()]
}
