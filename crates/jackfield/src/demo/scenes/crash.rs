//! The process ends in the middle of a sentence.

use super::Stage;
use crate::demo::step::{Step, say, think};

pub(super) fn steps(_: &Stage<'_>) -> Vec<Step> {
    vec![
        think("Something is wrong."),
        say("I am about to fall over, in the middle of"),
        Step::Crash("Error: the demo agent crashed on purpose"),
    ]
}
