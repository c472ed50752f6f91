//! A tool of an MCP server, and a form of that server.

use serde_json::{Value, json};

use super::Stage;
use crate::demo::offers::SERVER;
use crate::demo::step::{Call, Needs, Outcome, Reply, Step, Work, say};

pub(super) fn steps(_: &Stage<'_>) -> Vec<Step> {
    let form = json!({
        "mcp_server_name": SERVER, "mode": "form", "message": "Which place is the weather wanted for?",
        "requested_schema": {
            "type": "object", "required": ["place"],
            "properties": { "place": { "type": "string", "title": "Place", "default": "Atlantis" } },
        },
    });
    vec![say(format!("The server `{SERVER}` wants to know something first.")), Step::Form(form, filled_in)]
}

fn filled_in(form: Option<&Value>) -> Vec<Step> {
    let place = form.and_then(|form| form["place"].as_str()).unwrap_or("Atlantis");
    let content = json!([{ "type": "text", "text": format!("{place}: 14 °C, wet") }]);
    let reply = Reply::new(content.clone(), content);
    vec![
        Call::new("mcp__demo__weather", json!({ "place": place }), Work::Reply(reply))
            .needs(Needs::Allowance)
            .then(told)
            .into(),
    ]
}

fn told(outcome: &Outcome) -> Vec<Step> {
    vec![say(match outcome {
        Outcome::Done(input) => {
            format!("In {} it is **14 °C and wet**.", input["place"].as_str().unwrap_or("the sea"))
        }
        Outcome::Denied(why) => format!("Then look out of the window. ({why})"),
    })]
}
