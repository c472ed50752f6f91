//! A turn that fails, and works when it is tried again.

use super::{Stage, retry};
use crate::demo::step::{Step, say};

pub(super) fn steps(stage: &Stage<'_>) -> Vec<Step> {
    if stage.returning {
        return vec![say("This time it worked: what failed before was **tried again** in a new run.")];
    }
    let mut steps = retry::attempts(2);
    steps.push(Step::Fail {
        status: 529,
        code: "overloaded",
        text: "API Error: Repeated 529 Overloaded errors. The demo fails on purpose; try again.",
    });
    steps
}
