//! A file is changed, if that is allowed.

use serde_json::json;

use super::{Stage, read};
use crate::demo::files::{self, GREETING};
use crate::demo::step::{Call, Needs, Outcome, Step, Work, say};

pub(super) fn steps(stage: &Stage<'_>) -> Vec<Step> {
    let edit = Call::new(
        "Edit",
        json!({
            "file_path": files::path(stage.cwd, GREETING),
            "old_string": "    format!(\"Hello {name}\")\n",
            "new_string": "    let name = name.trim();\n    format!(\"Hello, {name}!\")\n",
        }),
        Work::File,
    );
    let write = Call::new(
        "Write",
        json!({
            "file_path": files::path(stage.cwd, "jackfield-demo/CHANGES.md"),
            "content": "# Changes\n\n- Greetings end with an exclamation mark.\n",
        }),
        Work::File,
    );
    vec![
        say("I read the file first, then I change two lines of it."),
        read::file(stage, GREETING),
        edit.needs(Needs::Edit).then(edited).into(),
        write.needs(Needs::Edit).then(written).into(),
    ]
}

fn edited(outcome: &Outcome) -> Vec<Step> {
    match outcome {
        Outcome::Done(_) => vec![say("Done. Now a note about it, in a new file.")],
        Outcome::Denied(why) => vec![say(format!("Then the file stays as it is. ({why})"))],
    }
}

fn written(outcome: &Outcome) -> Vec<Step> {
    vec![say(match outcome {
        Outcome::Done(_) => {
            "That is a diff. **Nothing on your disk was changed**: these files are only in my memory."
        }
        Outcome::Denied(_) => "And no note is written. Nothing on your disk was changed.",
    })]
}
