//! A usage limit comes near.

use serde_json::json;

use super::Stage;
use crate::demo::step::{Step, say};

/// Far enough in the future for any demo.
const RESETS_AT: u64 = 4_102_444_800;

pub(super) fn steps(_: &Stage<'_>) -> Vec<Step> {
    vec![warning(), say("You have used **91 %** of your five hours. (You have not; I have no account.)")]
}

pub(super) fn warning() -> Step {
    let told = json!({
        "status": "allowed_warning", "resetsAt": RESETS_AT, "rateLimitType": "five_hour",
        "utilization": 0.91, "isUsingOverage": false, "surpassedThreshold": 0.9,
    });
    Step::Line("rate_limit_event", json!({ "rate_limit_info": told }))
}
