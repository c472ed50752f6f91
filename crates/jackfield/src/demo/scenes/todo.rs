//! A list of things to do, one after the other.

use serde_json::{Value, json};

use super::Stage;
use crate::demo::step::{Call, Reply, Step, Work, say, wait};

const ITEMS: [(&str, &str); 3] = [
    ("Read the greeting", "Reading the greeting"),
    ("Change the greeting", "Changing the greeting"),
    ("Run the tests", "Running the tests"),
];

pub(super) fn steps(_: &Stage<'_>) -> Vec<Step> {
    let mut steps = vec![say("I make a list and work through it.")];
    for done in 0..=ITEMS.len() {
        steps.extend([write(done), wait(700)]);
    }
    steps.push(say("All three are done."));
    steps
}

/// The list when so many are done.
fn list(done: usize) -> Value {
    let status = |at: usize| match at.cmp(&done) {
        std::cmp::Ordering::Less => "completed",
        std::cmp::Ordering::Equal => "in_progress",
        std::cmp::Ordering::Greater => "pending",
    };
    ITEMS
        .iter()
        .enumerate()
        .map(|(at, (content, form))| json!({ "content": content, "status": status(at), "activeForm": form }))
        .collect()
}

fn write(done: usize) -> Step {
    let before = done.checked_sub(1).map_or_else(|| json!([]), list);
    let structured = json!({ "oldTodos": before, "newTodos": list(done) });
    let reply = Reply::new("Todos have been modified successfully.", structured);
    Call::new("TodoWrite", json!({ "todos": list(done) }), Work::Reply(reply)).takes(50).into()
}
