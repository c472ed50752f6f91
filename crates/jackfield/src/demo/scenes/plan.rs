//! A plan that a person approves or not.

use serde_json::json;

use super::Stage;
use crate::demo::step::{Call, Needs, Outcome, Step, Work, say};

const PLAN: &str = "# A better greeting\n\n1. Trim the name.\n2. End with an exclamation mark.\n\
    3. Test both.\n\n**Risk:** none, it is a demo.";

pub(super) fn steps(_: &Stage<'_>) -> Vec<Step> {
    vec![
        say("Before I touch anything, I make a plan."),
        Call::new("EnterPlanMode", json!({}), Work::EnterPlan).into(),
        Call::new("ExitPlanMode", json!({ "plan": PLAN }), Work::ExitPlan)
            .needs(Needs::Person)
            .takes(0)
            .then(decided)
            .into(),
    ]
}

fn decided(outcome: &Outcome) -> Vec<Step> {
    vec![say(match outcome {
        Outcome::Done(_) => "The plan stands. I would begin now.".to_owned(),
        Outcome::Denied(why) => {
            format!("Then I go on planning, and change nothing. ({why})\n\nYou are still in plan mode.")
        }
    })]
}
