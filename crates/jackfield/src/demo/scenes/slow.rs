//! A long answer, to be interrupted.

use super::Stage;
use crate::demo::step::{Step, say};

const LINES: usize = 300;

pub(super) fn steps(_: &Stage<'_>) -> Vec<Step> {
    let lines = (1..=LINES).map(|number| format!("{number}. and still I speak, unless you interrupt me\n"));
    vec![say(format!("This takes about a minute.\n\n{}", lines.collect::<String>()))]
}
