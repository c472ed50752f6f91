//! A subagent with calls of its own.

use serde_json::json;

use super::{Stage, read, search};
use crate::demo::files::GREETING;
use crate::demo::step::{Call, Reply, Step, Work, say, think};

const REPORT: &str =
    "`greeting` is defined once and used twice. Its tests cover names with and without blanks.";

pub(super) fn steps(stage: &Stage<'_>) -> Vec<Step> {
    let input = json!({
        "description": "Look at the greeting", "subagent_type": "general-purpose",
        "prompt": "Find out where `greeting` is used, and whether it is tested.",
    });
    let count = json!({ "command": "grep -c greeting tests/greets.rs", "description": "Count the uses" });
    let inside = vec![
        think("I look for the files first."),
        search::glob(),
        search::grep(),
        read::file(stage, GREETING),
        Call::new("Bash", count, Work::Reply(Reply::printed("2"))).into(),
        say("I know enough to report."),
    ];
    vec![
        say("I give this to a subagent."),
        Call::new("Task", input, Work::Delegate { steps: inside, report: REPORT }).into(),
        say("The subagent says that `greeting` is **used twice and tested**."),
    ]
}
