//! Very many pieces of text, for load.

use super::Stage;
use crate::demo::step::Step;

pub(super) fn steps(stage: &Stage<'_>) -> Vec<Step> {
    vec![Step::Repeat(super::number(stage, 1000))]
}
