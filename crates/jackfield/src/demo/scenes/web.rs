//! The web is searched, and a page of it fetched.

use serde_json::json;

use super::Stage;
use crate::demo::step::{Call, Needs, Outcome, Reply, Step, Work, say};

const PAGE: &str = "A patch panel, also called a jackfield, is a board with many jacks. With a short cable any \
    of them is joined to any other.";

pub(super) fn steps(_: &Stage<'_>) -> Vec<Step> {
    let query = "what is a jackfield";
    let links = json!([{ "title": "Patch panel", "url": "https://example.org/jackfield" }]);
    let searched = json!({ "query": query, "results": [{ "content": links }], "durationSeconds": 1 });
    let search = Reply::new(
        format!("Web search results for query: \"{query}\"\n\nPatch panel: https://example.org/jackfield"),
        searched,
    );
    let fetched = json!({ "bytes": PAGE.len(), "code": 200, "codeText": "OK", "result": PAGE,
                          "durationMs": 120, "url": "https://example.org/jackfield" });
    let page = json!({ "url": "https://example.org/jackfield", "prompt": "What is it?" });
    vec![
        say("I look it up; no request leaves this machine."),
        Call::new("WebSearch", json!({ "query": query }), Work::Reply(search)).takes(800).into(),
        Call::new("WebFetch", page, Work::Reply(Reply::new(PAGE, fetched)))
            .needs(Needs::Allowance)
            .takes(700)
            .then(fetched_or_not)
            .into(),
    ]
}

fn fetched_or_not(outcome: &Outcome) -> Vec<Step> {
    vec![say(match outcome {
        Outcome::Done(_) => {
            "A *jackfield* is a panel of jacks: [any can be joined to any](https://example.org/jackfield)."
                .to_owned()
        }
        Outcome::Denied(why) => format!("I have only seen the titles then. ({why})"),
    })]
}
