//! The published schema, and whether what we write is what it promises.

use std::collections::BTreeSet;

use jackfield_api::command::{Command, Rejection, RejectionCode, Reply, Verdict};
use jackfield_api::snapshot::{ItemContent, Snapshot};
use jackfield_api::{Body, Event, Normalized, codec};
use serde_json::{Value, json};

use crate::samples::{bodies, event, normalized, verdicts};
use crate::{commands, snapshots};

const SCHEMA: &str = include_str!("../../../../docs/schema/jackfield.schema.json");

/// Whether `text` is what the schema says of `definition`.
pub(crate) fn accepts(definition: &str, text: &str) -> Result<(), String> {
    // Schemas speak of values, and a lone surrogate is in no value.
    let value: Value = serde_json::from_str(&text.replace(r"\ud83d", "half")).unwrap();
    let validator = validator(definition);
    let wrong: Vec<_> = validator.iter_errors(&value).map(|error| error.to_string()).collect();
    if wrong.is_empty() { Ok(()) } else { Err(format!("{definition}: {wrong:?} in {text}")) }
}

fn validator(definition: &str) -> jsonschema::Validator {
    let document: Value = serde_json::from_str(SCHEMA).unwrap();
    let reference = format!("#/$defs/{definition}");
    let schema = json!({ "$schema": document["$schema"], "$defs": document["$defs"], "$ref": reference });
    jsonschema::validator_for(&schema).unwrap()
}

#[test]
fn nothing_in_the_contract_is_without_a_sample() {
    let document: Value = serde_json::from_str(SCHEMA).unwrap();
    let variants = |definition: &str, tag: &str| -> BTreeSet<String> {
        let variants = document["$defs"][definition]["oneOf"].as_array().unwrap().iter();
        variants.map(|variant| variant["properties"][tag]["const"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(variants("Event", "type"), tags(&bodies(), Body::tag));
    assert_eq!(variants("Command", "type"), tags(&commands::commands(), Command::tag));
    assert_eq!(variants("Reply", "type"), tags(&commands::replies(), Reply::tag));
    assert_eq!(variants("Verdict", "type"), tags(&verdicts(), Verdict::tag));
    assert_eq!(variants("Normalized", "kind"), tags(&normalized(), Normalized::tag));
    assert_eq!(variants("ItemContent", "type"), tags(&snapshots::contents(), ItemContent::tag));
}

fn tags<T>(samples: &[T], tag: fn(&T) -> &'static str) -> BTreeSet<String> {
    samples.iter().map(|sample| tag(sample).to_owned()).collect()
}

#[test]
fn every_event_is_what_the_schema_says() {
    for body in bodies() {
        for bare in [event(body.clone()), Event { turn: None, parent_tool_call_id: None, ..event(body) }] {
            let mut line = Vec::new();
            codec::encode(&bare, &mut line);
            accepts("Event", &String::from_utf8(line).unwrap()).unwrap();
        }
    }
}

#[test]
fn every_command_reply_and_snapshot_is_what_the_schema_says() {
    for command in commands::commands() {
        accepts("Command", &serde_json::to_string(&command).unwrap()).unwrap();
    }
    for reply in commands::replies() {
        accepts("Reply", &serde_json::to_string(&reply).unwrap()).unwrap();
    }
    let rejection = Rejection { code: RejectionCode::Forbidden, reason: "no".into() };
    accepts("Rejection", &serde_json::to_string(&rejection).unwrap()).unwrap();
    for snapshot in [Snapshot::default(), snapshots::snapshot()] {
        accepts("Snapshot", &serde_json::to_string(&snapshot).unwrap()).unwrap();
    }
}

#[test]
fn the_schema_refuses_what_is_no_event() {
    let good = r#"{"type":"stderr","seq":1,"at":0,"session_id":"s","turn":null,"text":"x"}"#;
    accepts("Event", good).unwrap();
    for (from, to) in [
        ("stderr", "telepathy"),
        (r#","text":"x""#, ""),
        (r#""seq":1,"#, ""),
        (r#""turn":null,"#, ""),
        (r#""seq":1"#, r#""seq":-1"#),
        (r#""text":"x""#, r#""text":7"#),
    ] {
        let bad = good.replace(from, to);
        assert!(accepts("Event", &bad).is_err(), "{bad}");
    }
}
