//! A message of a type that nobody knows, as a newer CLI may send it.

use serde_json::json;

use super::Stage;
use crate::demo::step::{Step, say};

pub(super) fn steps(_: &Stage<'_>) -> Vec<Step> {
    vec![
        Step::Line("demo_surprise", json!({ "content": "a type that no version has" })),
        say("That was a message nobody knows. It is passed on whole, and nothing else changes."),
    ]
}
