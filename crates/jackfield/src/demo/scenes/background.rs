//! Work in the background that ends later.

use std::time::Duration;

use serde_json::json;

use super::Stage;
use crate::demo::step::{Call, Step, Work, say};

pub(super) fn steps(_: &Stage<'_>) -> Vec<Step> {
    let input = json!({
        "command": "sleep 4 && echo done", "description": "Wait four seconds", "run_in_background": true,
    });
    let work = Work::Background { takes: Duration::from_secs(4), then: ended };
    vec![
        say("I start something that takes four seconds, and do not wait for it."),
        Call::new("Bash", input, work).into(),
        say("It runs. This turn is over; the next one begins by itself."),
    ]
}

fn ended() -> Vec<Step> {
    vec![say("The work in the background is done, so I am back, though nobody asked me.")]
}
