//! The API fails a few times before it answers.

use serde_json::json;

use super::Stage;
use crate::demo::step::{Step, say, wait};

pub(super) fn steps(_: &Stage<'_>) -> Vec<Step> {
    let mut steps = attempts(2);
    steps.push(say("The API was **overloaded** twice. The third time it answered, so nothing was lost."));
    steps
}

/// So many attempts that fail.
pub(super) fn attempts(count: u64) -> Vec<Step> {
    (1..=count)
        .flat_map(|attempt| {
            let delay = 500 << (attempt - 1);
            let failed = json!({
                "attempt": attempt, "max_retries": 10, "retry_delay_ms": delay, "error_status": 529,
                "error": "overloaded",
            });
            [Step::System("api_retry", failed), wait(delay)]
        })
        .collect()
}
