//! The shape of what a CLI says: which messages, which fields, of which types, and how two CLIs differ in it.
//!
//! Values do not matter here, except those that tell one message from another. The one rule it keeps: a field
//! whose type changed has both vanished and appeared.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::Value;

/// Objects whose fields are names, not parts of the protocol; all their fields count as one.
const MAPS: [&str; 3] = ["modelUsage", "answers", "annotations"];

/// The fields of every message, as `path: type`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Shape {
    fields: BTreeMap<String, BTreeSet<String>>,
}

/// How a newer shape differs from an older one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Drift {
    /// Messages only the newer one has, with their fields.
    pub appeared: BTreeMap<String, BTreeSet<String>>,
    /// Messages only the older one has.
    pub vanished: BTreeSet<String>,
    /// Messages both have, with different fields.
    pub changed: BTreeMap<String, FieldDrift>,
}

/// The fields in which a message differs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct FieldDrift {
    /// Fields only the newer one has.
    pub appeared: BTreeSet<String>,
    /// Fields only the older one has.
    pub vanished: BTreeSet<String>,
}

/// What tells one message from another: its type, its subtype, and that of the request, event or block inside.
pub fn message_name(message: &Value) -> String {
    let tags = [
        &message["type"],
        &message["subtype"],
        &message["request"]["subtype"],
        &message["event"]["type"],
        &message["message"]["content"][0]["type"],
    ];
    let name: Vec<&str> = tags.into_iter().filter_map(Value::as_str).collect();
    if name.is_empty() { "no type".to_owned() } else { name.join("/") }
}

impl Shape {
    /// Adds a line of the CLI's output; a line that is not JSON counts as the message `not json`.
    pub fn add(&mut self, line: &str) {
        let Ok(message) = serde_json::from_str::<Value>(line) else {
            self.fields.entry("not json".to_owned()).or_default();
            return;
        };
        let fields = self.fields.entry(message_name(&message)).or_default();
        walk(&message, "", fields);
    }

    /// What changed from this shape to a newer one.
    pub fn drift(&self, newer: &Self) -> Drift {
        let mut drift = Drift::default();
        for (message, fields) in &newer.fields {
            let Some(before) = self.fields.get(message) else {
                drift.appeared.insert(message.clone(), fields.clone());
                continue;
            };
            let appeared: BTreeSet<String> = fields.difference(before).cloned().collect();
            let vanished: BTreeSet<String> = before.difference(fields).cloned().collect();
            if !appeared.is_empty() || !vanished.is_empty() {
                drift.changed.insert(message.clone(), FieldDrift { appeared, vanished });
            }
        }
        drift.vanished =
            self.fields.keys().filter(|message| !newer.fields.contains_key(*message)).cloned().collect();
        drift
    }
}

impl Drift {
    /// The differences, one per line.
    pub fn report(&self) -> String {
        let mut lines = Vec::new();
        let list = |sign: char, fields: &BTreeSet<String>| -> Vec<String> {
            fields.iter().map(|field| format!("    {sign} {field}")).collect()
        };
        for (message, fields) in &self.appeared {
            lines.push(format!("+ {message}"));
            lines.extend(list('+', fields));
        }
        lines.extend(self.vanished.iter().map(|message| format!("- {message}")));
        for (message, fields) in &self.changed {
            lines.push(format!("  {message}"));
            lines.extend(list('+', &fields.appeared));
            lines.extend(list('-', &fields.vanished));
        }
        if lines.is_empty() {
            lines.push("no difference".to_owned());
        }
        lines.join("\n") + "\n"
    }
}

fn walk(value: &Value, path: &str, fields: &mut BTreeSet<String>) {
    let kind = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(values) => {
            for value in values {
                walk(value, &format!("{path}[]"), fields);
            }
            "list"
        }
        Value::Object(members) => {
            let is_map = MAPS.iter().any(|map| path.ends_with(map));
            for (name, value) in members {
                let name = if is_map { "*" } else { name };
                let path = if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
                walk(value, &path, fields);
            }
            "object"
        }
    };
    if !path.is_empty() {
        fields.insert(format!("{path}: {kind}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(lines: &[&str]) -> Shape {
        let mut shape = Shape::default();
        for line in lines {
            shape.add(line);
        }
        shape
    }

    #[test]
    fn the_same_shape_with_other_values_does_not_drift() {
        let older = shape(&[r#"{"type":"result","modelUsage":{"a":{"n":1}}}"#]);
        let newer = shape(&[r#"{"type":"result","modelUsage":{"b":{"n":2}}}"#]);
        assert_eq!(older.drift(&newer), Drift::default());
        assert_eq!(older.drift(&newer).report(), "no difference\n");
    }

    #[test]
    fn messages_and_fields_that_come_and_go_are_named() {
        let older =
            shape(&[r#"{"type":"system","subtype":"old"}"#, r#"{"type":"result","a":1,"list":[{"b":1}]}"#]);
        let newer =
            shape(&[r#"{"type":"command_lifecycle"}"#, r#"{"type":"result","a":"1","list":[{"c":1}]}"#]);
        assert_eq!(
            older.drift(&newer).report(),
            "+ command_lifecycle\n    + type: string\n- system/old\n  result\n    + a: string\n    \
             + list[].c: number\n    - a: number\n    - list[].b: number\n"
        );
    }
}
