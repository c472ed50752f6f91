//! Thinking, then a short answer.

use super::Stage;
use crate::demo::step::{Step, say, think};

pub(super) fn steps(_: &Stage<'_>) -> Vec<Step> {
    vec![
        think(
            "Somebody wants to see me think. I am a script, so there is nothing to think about, but a \
             thought has a shape of its own: it comes in pieces, it is told apart from the answer, and a \
             reader may want to fold it away.\n\nSo I think a little longer than I need to, and stop here.",
        ),
        say("That was a **thought**. It is kept apart from what I say."),
    ]
}
