//! The conversation is summed up.

use super::Stage;
use crate::demo::step::{Step, say};

pub(super) fn steps(stage: &Stage<'_>) -> Vec<Step> {
    let trigger = if stage.prompt.trim_start().starts_with('/') { "manual" } else { "auto" };
    vec![
        Step::Compact(trigger),
        say("Our conversation is now a **summary** of itself, and there is room for more."),
    ]
}
