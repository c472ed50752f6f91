//! `docs/protocol.md` says what the code does: every example is read, and every name is there.

use std::collections::BTreeSet;
use std::path::Path;

use jackfield_api::socket::{ClientFrame, ServerFrame};
use jackfield_api::{Command, Event};
use serde::de::DeserializeOwned;

fn document() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/protocol.md");
    std::fs::read_to_string(path).unwrap()
}

/// The examples of one kind.
pub(crate) fn examples(kind: &str) -> Vec<String> {
    let document = document();
    let opening = format!("```json {kind}\n");
    let parts = document.split(&opening).skip(1);
    parts.map(|part| part.split("```").next().unwrap().replace("\n   ", "\n")).collect()
}

/// The tags that a type knows, from what it says to one that it does not.
fn tags<T: DeserializeOwned + std::fmt::Debug>() -> BTreeSet<String> {
    let error = serde_json::from_str::<T>(
        r#"{"type":"?","seq":1,"at":1,"session_id":"s","turn":null,"id":"c","command":{}}"#,
    );
    let error = error.unwrap_err().to_string();
    let known: BTreeSet<_> = error.split('`').skip(3).step_by(2).map(str::to_owned).collect();
    assert!(known.len() >= 5, "{error}");
    known
}

fn shown<T: DeserializeOwned>(kind: &str, tag: impl Fn(&T) -> &'static str) -> BTreeSet<String> {
    let read = |example: String| {
        let value: T = serde_json::from_str(&example).unwrap_or_else(|error| panic!("{error}: {example}"));
        tag(&value).to_owned()
    };
    examples(kind).into_iter().map(read).collect()
}

#[test]
fn every_frame_and_every_command_has_an_example_that_is_one() {
    assert_eq!(shown("client", ClientFrame::tag), tags::<ClientFrame>());
    assert_eq!(shown("server", ServerFrame::tag), tags::<ServerFrame>());
    assert_eq!(shown("command", Command::tag), tags::<Command>());
}

#[test]
fn every_event_and_every_route_is_named() {
    let document = document();
    for tag in tags::<Event>() {
        assert!(document.contains(&format!("`{tag}`")), "no event `{tag}`");
    }
    let description = serde_json::to_value(jackfield_server::openapi()).unwrap();
    let mut routes = 0;
    for (path, methods) in description["paths"].as_object().unwrap() {
        for method in methods.as_object().unwrap().keys() {
            let route = format!("`{} {path}`", method.to_uppercase());
            assert!(document.contains(&route), "no route {route}");
            routes += 1;
        }
    }
    assert!(routes > 25);
}
