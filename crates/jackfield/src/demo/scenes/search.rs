//! Files and words in them are looked for.

use serde_json::json;

use super::Stage;
use crate::demo::step::{Call, Reply, Step, Work, say};

pub(super) fn steps(_: &Stage<'_>) -> Vec<Step> {
    vec![
        say("I look for files, then for a word in them."),
        glob(),
        grep(),
        say("There are two files, and `greeting` stands in both."),
    ]
}

pub(super) fn glob() -> Step {
    let files = ["jackfield-demo/src/greeting.rs", "jackfield-demo/tests/greets.rs"];
    let structured =
        json!({ "filenames": files, "durationMs": 3, "numFiles": files.len(), "truncated": false });
    let reply = Reply::new(files.join("\n"), structured);
    Call::new("Glob", json!({ "pattern": "**/*.rs" }), Work::Reply(reply)).into()
}

pub(super) fn grep() -> Step {
    let found = "jackfield-demo/src/greeting.rs:4:pub fn greeting(name: &str) -> String {\n\
                 jackfield-demo/tests/greets.rs:1:use jackfield_demo::greeting;";
    let structured =
        json!({ "mode": "content", "numFiles": 0, "filenames": [], "content": found, "numLines": 2 });
    let input = json!({ "pattern": "greeting", "output_mode": "content" });
    Call::new("Grep", input, Work::Reply(Reply::new(found, structured))).into()
}
