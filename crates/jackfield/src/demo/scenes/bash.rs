//! Commands: one with colours, one that fails.

use serde_json::json;

use super::Stage;
use crate::demo::step::{Call, Needs, Outcome, Reply, Step, Work, say};

const COLOURS: &str = "\u{1b}[1m   Compiling\u{1b}[0m jackfield-demo v0.1.0\n\
    \u{1b}[32mtest greets_by_name ... ok\u{1b}[0m\n\
    \u{1b}[32mtest trims_the_name ... ok\u{1b}[0m\n\
    \u{1b}[33mwarning\u{1b}[0m: unused variable: \u{1b}[36m`other`\u{1b}[0m\n\
    \u{1b}[1;32mtest result: ok.\u{1b}[0m 2 passed; 0 failed";

const FAILURE: &str = "Exit code 3\n\u{1b}[1;31merror\u{1b}[0m: the demo always fails here\n  \
    \u{1b}[34m-->\u{1b}[0m src/greeting.rs:5:9";

pub(super) fn steps(_: &Stage<'_>) -> Vec<Step> {
    let test = json!({ "command": "cargo test --color always", "description": "Run the tests" });
    let lint = json!({ "command": "./lint --deny-all", "description": "Run a check that fails" });
    let failure =
        Reply { content: FAILURE.into(), structured: format!("Error: {FAILURE}").into(), failed: true };
    vec![
        say("First a command that needs no permission; nothing is really run."),
        Call::new("Bash", test, Work::Reply(Reply::printed(COLOURS))).takes(900).into(),
        Call::new("Bash", lint, Work::Reply(failure)).needs(Needs::Allowance).then(ended).into(),
    ]
}

fn ended(outcome: &Outcome) -> Vec<Step> {
    vec![say(match outcome {
        Outcome::Done(_) => "The tests pass, and the check fails with **exit code 3**.".to_owned(),
        Outcome::Denied(why) => format!("The tests pass. The check was not run: {why}"),
    })]
}
