//! The events of every recording, as snapshots. A new folder of a recording is a new test without code.
//!
//! An event is one line, as the codec writes it, except that lists nobody reads are cut to their length and
//! long texts to their beginning. The one rule: what is cut is still counted and summed, so that a change in
//! it shows.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use jackfield_api::codec;
use serde_json::{Map, Value};

use crate::fixtures;

/// Texts longer than this are cut.
const SHOWN: usize = 300;

#[test]
fn every_recording_gives_the_events_of_its_snapshot() {
    insta::glob!("../../../../fixtures", "recordings*/**/transcript.jsonl", |path| {
        let recording = fixtures::load(path);
        let mut text = String::new();
        for event in recording.events(None) {
            let mut line = Vec::new();
            codec::encode(&event, &mut line);
            text.push_str(&short(&String::from_utf8(line).unwrap()));
            text.push('\n');
        }
        insta::with_settings!({ omit_expression => true, prepend_module_to_snapshot => false }, {
            insta::assert_snapshot!("events", text);
        });
    });
}

#[test]
fn every_snapshot_has_its_recording() {
    let known: BTreeSet<String> = fixtures::all()
        .iter()
        .map(|recording| {
            let area = if recording.name.starts_with(|first: char| first.is_ascii_digit()) {
                format!("recordings-{}", recording.name)
            } else {
                format!("recordings/{}", recording.name)
            };
            format!("events@{}__transcript.jsonl.snap", area.replace('/', "__"))
        })
        .collect();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/snapshots");
    let there: BTreeSet<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| Path::new(name).extension().is_some_and(|extension| extension == "snap"))
        .collect();
    assert_eq!(there, known);
}

/// The line, cut. Its members keep their order: only what is long is replaced, in the text itself.
fn short(line: &str) -> String {
    let event: Map<String, Value> = serde_json::from_str(line).unwrap();
    if line.len() <= SHOWN {
        return line.to_owned();
    }
    // `serde_json` sorts members; the codec's order is kept for the envelope, which is all that matters.
    let envelope = ["type", "seq", "at", "session_id", "turn", "parent_tool_call_id"];
    let rest = event.keys().map(String::as_str).filter(|name| !envelope.contains(name));
    let members: Vec<String> = envelope
        .into_iter()
        .filter(|name| event.contains_key(*name))
        .chain(rest)
        .map(|name| format!("{}:{}", Value::from(name), cut(name, &event[name])))
        .collect();
    format!("{{{}}}", members.join(","))
}

fn cut(name: &str, value: &Value) -> Value {
    match value {
        Value::Array(list) if matches!(name, "available_commands" | "tools") => {
            Value::from(format!("({} of them, {})", list.len(), sum(&value.to_string())))
        }
        Value::Array(list) => Value::Array(list.iter().map(|value| cut("", value)).collect()),
        Value::Object(members) => {
            Value::Object(members.iter().map(|(name, value)| (name.clone(), cut(name, value))).collect())
        }
        Value::String(text) if text.len() > SHOWN => {
            let shown = &text[..text.floor_char_boundary(SHOWN)];
            Value::from(format!("{shown}… ({} bytes, {})", text.len(), sum(text)))
        }
        value => value.clone(),
    }
}

/// FNV-1a: enough to see a change, and the same on every machine.
fn sum(text: &str) -> String {
    let step = |sum: u64, byte: u8| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    format!("{:016x}", text.bytes().fold(0xcbf2_9ce4_8422_2325, step))
}
