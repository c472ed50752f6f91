//! The lines a host writes to the CLI.
//!
//! They are put together as text, so that a recording has the fields in the order in which a host would write
//! them. The one rule it keeps: every line is one whole JSON object.

use serde_json::{Map, Value, json};

use crate::case::Answer;

/// The line of a `send`.
pub(crate) fn user_line(message: &Value) -> String {
    let (text, fields) = match message {
        Value::String(text) => (text.as_str(), None),
        Value::Object(fields) if fields.contains_key("prompt") => {
            (fields["prompt"].as_str().unwrap_or_default(), Some(fields))
        }
        other => return other.to_string(),
    };
    let (text, others) = (json!(text), members(fields, "prompt"));
    format!(
        r#"{{"type":"user","message":{{"role":"user","content":[{{"type":"text","text":{text}}}]}},"parent_tool_use_id":null,"session_id":""{others}}}"#
    )
}

/// A control request.
pub(crate) fn control_line(id: &str, subtype: &str, fields: &Value) -> String {
    let (subtype, others) = (json!(subtype), members(fields.as_object(), "subtype"));
    format!(r#"{{"type":"control_request","request_id":"{id}","request":{{"subtype":{subtype}{others}}}}}"#)
}

/// The answer to a control request of the CLI.
pub(crate) fn answer_line(answer: &Answer, request: &str) -> String {
    let request: Value = serde_json::from_str(request).unwrap_or_default();
    let input = &request["request"]["input"];
    let response = match answer {
        Answer::Allow => format!(r#"{{"behavior":"allow","updatedInput":{input}}}"#),
        Answer::Deny => r#"{"behavior":"deny","message":"No, not this."}"#.to_owned(),
        Answer::Answers(answers) => {
            let mut input = input.clone();
            input["answers"] = json!(answers);
            format!(r#"{{"behavior":"allow","updatedInput":{input}}}"#)
        }
        Answer::Response(response) => response.to_string(),
    };
    let id = &request["request_id"];
    format!(
        r#"{{"type":"control_response","response":{{"subtype":"success","request_id":{id},"response":{response}}}}}"#
    )
}

/// The members of an object but one, each with a comma before it.
fn members(object: Option<&Map<String, Value>>, except: &str) -> String {
    let kept = object.into_iter().flatten().filter(|(name, _)| *name != except);
    let pieces: Vec<String> = kept.map(|(name, value)| format!(",{}:{value}", json!(name))).collect();
    pieces.concat()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use super::*;
    use crate::matching::contains;

    #[test]
    fn a_text_is_a_prompt_and_an_object_is_a_line() {
        let line = user_line(&json!({"prompt": "say \"hi\"", "uuid": "u"}));
        let value: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(value["message"]["content"][0]["text"], "say \"hi\"");
        assert_eq!(value["uuid"], "u");
        assert_eq!(value.get("prompt"), None);
        assert_eq!(user_line(&json!({"type": "keep_alive"})), r#"{"type":"keep_alive"}"#);
    }

    #[test]
    fn an_answer_carries_the_request_and_its_input() {
        let request = r#"{"type":"control_request","request_id":"r","request":{"input":{"questions":[]}}}"#;
        let answers = Answer::Answers([("Which?".to_owned(), "a".to_owned())].into());
        let value: Value = serde_json::from_str(&answer_line(&answers, request)).unwrap();
        assert_eq!(value["response"]["request_id"], "r");
        assert_eq!(value["response"]["response"]["updatedInput"]["answers"]["Which?"], "a");
        assert!(contains(&value["response"]["response"], &json!({"updatedInput": {"questions": []}})));
    }

    #[test]
    fn a_control_request_begins_with_its_subtype() {
        let line = control_line("host-1", "set_model", &json!({"subtype": "set_model", "model": "x"}));
        assert_eq!(
            line,
            r#"{"type":"control_request","request_id":"host-1","request":{"subtype":"set_model","model":"x"}}"#
        );
    }
}
