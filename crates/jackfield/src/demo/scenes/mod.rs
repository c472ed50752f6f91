//! The scenes, and which one a prompt means.
//!
//! The one rule: a scene is a pure function from what is known to a list of steps.

mod background;
mod bash;
mod compact;
mod crash;
mod edit;
mod error;
mod flood;
mod help;
mod image;
mod limit;
mod many;
mod markdown;
mod mcp;
mod plan;
mod question;
mod read;
mod retry;
mod search;
mod slow;
mod subagent;
mod thinking;
mod todo;
mod tour;
mod unknown;
mod web;

use super::step::{Step, say};

/// How many words a prompt may have that asks for a scene.
const FEW: usize = 10;

/// What a scene may know.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stage<'a> {
    pub(super) prompt: &'a str,
    pub(super) cwd: &'a str,
    /// It is the first turn of a conversation that goes on.
    pub(super) returning: bool,
}

/// A scene and its name.
#[derive(Debug)]
pub(super) struct Scene {
    pub(super) name: &'static str,
    pub(super) summary: &'static str,
    /// What may stand behind the name.
    pub(super) argument: &'static str,
    play: Play,
}

/// A scene's steps.
type Play = fn(&Stage<'_>) -> Vec<Step>;

const fn scene(name: &'static str, summary: &'static str, play: Play) -> Scene {
    Scene { name, summary, argument: "", play }
}

const fn counted(name: &'static str, summary: &'static str, play: Play) -> Scene {
    Scene { name, summary, argument: "[N]", play }
}

/// All scenes.
pub(super) const SCENES: &[Scene] = &[
    scene("tour", "Everything, in about a minute", tour::steps),
    scene("help", "The list of scenes", help::steps),
    scene("think", "Thinks before it speaks", thinking::steps),
    scene("markdown", "An answer with a table, code and lists", markdown::steps),
    scene("read", "Reads a file, and one that is not there", read::steps),
    scene("edit", "Changes a file: a permission and a diff", edit::steps),
    scene("bash", "Runs commands: colours, and an exit code", bash::steps),
    scene("search", "Looks for files and for words in them", search::steps),
    scene("web", "Searches the web and fetches a page", web::steps),
    scene("todo", "Works through a list", todo::steps),
    scene("subagent", "Gives work to a subagent", subagent::steps),
    scene("question", "Asks you to choose", question::steps),
    scene("plan", "Makes a plan that you approve or not", plan::steps),
    scene("background", "Starts work that ends later, and starts a turn by itself", background::steps),
    scene("retry", "The API fails a few times", retry::steps),
    scene("limit", "A usage limit is near", limit::steps),
    scene("compact", "The conversation is summed up", compact::steps),
    scene("error", "The turn fails, so that you can retry it", error::steps),
    scene("crash", "The process ends in the middle of a turn", crash::steps),
    scene("slow", "A long answer, to be interrupted", slow::steps),
    counted("many", "N pieces of text as fast as possible", many::steps),
    counted("flood", "N rounds of thinking, text and tools as fast as possible", flood::steps),
    scene("image", "A tool gives back a picture", image::steps),
    scene("mcp", "A tool of an MCP server, which asks you for something", mcp::steps),
    scene("unknown", "A message of a type that nobody knows", unknown::steps),
];

/// What follows from a prompt.
pub(super) fn play(stage: &Stage<'_>) -> Vec<Step> {
    let mut steps = match chosen(stage.prompt) {
        Some(scene) => (scene.play)(stage),
        None => help::welcome(stage),
    };
    if stage.returning {
        steps.insert(0, say("Welcome back! I remember nothing, but I act as if we had never stopped.\n\n"));
    }
    steps
}

/// The first word that names a scene, in a prompt of a few. Who writes more says something of their own, such as
/// comments on a plan.
fn chosen(prompt: &str) -> Option<&'static Scene> {
    if words(prompt).nth(FEW).is_some() {
        return None;
    }
    words(prompt).find_map(|word| SCENES.iter().find(|scene| scene.name.eq_ignore_ascii_case(word)))
}

fn words(prompt: &str) -> impl Iterator<Item = &str> {
    prompt.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty())
}

/// The first number in a prompt.
fn number(stage: &Stage<'_>, default: u64) -> u64 {
    words(stage.prompt).find_map(|word| word.parse().ok()).unwrap_or(default)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(prompt: &str) -> Option<&'static str> {
        chosen(prompt).map(|scene| scene.name)
    }

    #[test]
    fn a_scene_is_named_by_a_word_of_the_prompt() {
        assert_eq!(name("tour"), Some("tour"));
        assert_eq!(name("/many 20"), Some("many"));
        assert_eq!(name("Please make a Plan."), Some("plan"));
        assert_eq!(name("planning"), None);
        assert_eq!(name("Comments on the plan:\n- line 3 (“Trim the name.”): think of tabs too"), None);
        assert_eq!(name(""), None);
    }

    #[test]
    fn a_number_is_taken_from_the_prompt() {
        let stage = |prompt| Stage { prompt, cwd: "/ws", returning: false };
        assert_eq!(number(&stage("many 100000"), 7), 100_000);
        assert_eq!(number(&stage("many"), 7), 7);
    }
}
