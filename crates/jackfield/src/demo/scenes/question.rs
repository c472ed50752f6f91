//! Questions with options.

use serde_json::json;

use super::Stage;
use crate::demo::step::{Call, Needs, Outcome, Step, Work, say};

pub(super) fn steps(_: &Stage<'_>) -> Vec<Step> {
    let questions = json!({ "questions": [
        { "question": "How should the greeting sound?", "header": "Tone", "multiSelect": false, "options": [
            { "label": "Friendly", "description": "Hello, Ada!" },
            { "label": "Formal", "description": "Good day, Ada." },
            { "label": "Short", "description": "Hi." },
        ] },
        { "question": "Which languages?", "header": "Languages", "multiSelect": true, "options": [
            { "label": "English", "description": "Hello" },
            { "label": "German", "description": "Hallo" },
            { "label": "Icelandic", "description": "Halló" },
        ] },
    ] });
    vec![
        say("I cannot decide this alone."),
        Call::new("AskUserQuestion", questions, Work::Answers)
            .needs(Needs::Person)
            .takes(0)
            .then(answered)
            .into(),
    ]
}

fn answered(outcome: &Outcome) -> Vec<Step> {
    let text = match outcome {
        Outcome::Done(input) => {
            let answers = input["answers"].as_object().into_iter().flatten();
            let lines: Vec<String> = answers
                .map(|(question, answer)| {
                    let words = answer.as_str().map_or_else(|| answer.to_string(), str::to_owned);
                    format!("- {question} **{words}**")
                })
                .collect();
            if lines.is_empty() {
                "No answer is an answer too; I take what I like.".to_owned()
            } else {
                format!("You chose:\n\n{}", lines.join("\n"))
            }
        }
        Outcome::Denied(why) => format!("You would rather not say. ({why})"),
    };
    vec![say(text)]
}
