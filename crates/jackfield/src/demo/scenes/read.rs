//! A file is read, and one that is not there.

use serde_json::json;

use super::Stage;
use crate::demo::files::{self, GREETING};
use crate::demo::step::{Call, Step, Work, say};

pub(super) fn steps(stage: &Stage<'_>) -> Vec<Step> {
    vec![
        say("I look at a file of mine."),
        file(stage, GREETING),
        say("And at one that is not there, to see a tool fail."),
        file(stage, "jackfield-demo/src/missing.rs"),
        say("The first one says hello; the second one **does not exist**. Both are only in my memory."),
    ]
}

/// One of the agent's own files is read.
pub(super) fn file(stage: &Stage<'_>, name: &str) -> Step {
    Call::new("Read", json!({ "file_path": files::path(stage.cwd, name) }), Work::File).into()
}
