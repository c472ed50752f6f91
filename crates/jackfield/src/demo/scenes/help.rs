//! The list of scenes, and a first impression for whoever says anything else.

use super::{SCENES, Stage, read};
use crate::demo::files::GREETING;
use crate::demo::step::{Step, say, think};

pub(super) fn steps(_: &Stage<'_>) -> Vec<Step> {
    vec![say(list())]
}

/// An answer to a prompt that names no scene: a thought, a tool, and the list.
pub(super) fn welcome(stage: &Stage<'_>) -> Vec<Step> {
    vec![
        think("This names none of my scenes. I show a little of what I can, and then the list."),
        say(
            "Hello! I am the **demo agent**: a script that behaves like Claude Code. This is me reading a file:",
        ),
        read::file(stage, GREETING),
        say(list()),
    ]
}

fn list() -> String {
    let rows: Vec<String> = SCENES
        .iter()
        .map(|scene| {
            let name = format!("{} {}", scene.name, scene.argument);
            format!("| `{}` | {} |", name.trim_end(), scene.summary)
        })
        .collect();
    format!(
        "## What you can ask me\n\nSay one of these words, or `tour` to see everything. No model is asked, and \
         nothing on your disk is read or changed.\n\n| word | what happens |\n|:--|:--|\n{}",
        rows.join("\n")
    )
}
