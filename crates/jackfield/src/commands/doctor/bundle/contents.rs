//! What is in a bundle, in short: what a person reads who is asked whether it may be written.
//!
//! The one rule it keeps: every part has its lines, and nothing that another program wrote does anything to a terminal.

use std::fmt::Write as _;

use jackfield_api::unseen::is_unseen;
use serde_json::{Map, Value};

/// How many letters of a line are shown.
const WIDTH: usize = 100;

/// All parts, each with a few lines.
pub(super) fn of(sections: &Map<String, Value>) -> String {
    let mut text = String::new();
    for (name, value) in sections {
        let bytes = value.to_string().len();
        // Nothing goes wrong with text in memory.
        let _ = writeln!(text, "  {name:14} {bytes:>8} bytes  {}", what(name));
        for line in lines(name, value) {
            let shown: String = line.chars().take(WIDTH).collect();
            let _ = writeln!(text, "      {shown}");
        }
    }
    plain(&text)
}

/// The whole of it, as it would be written.
pub(super) fn whole(sections: &Map<String, Value>) -> String {
    format!("{:#}\n", Value::Object(sections.clone()))
}

/// Text for a terminal: JSON escapes most of what would do something to it, but not all.
pub(super) fn plain(text: &str) -> String {
    let hides = |letter: char| (letter.is_control() && letter != '\n') || is_unseen(letter);
    let shown = |letter: char| if hides(letter) { '\u{fffd}' } else { letter };
    text.chars().map(shown).collect()
}

fn what(name: &str) -> &'static str {
    match name {
        "versions" => "versions of the program and the system",
        "checks" => "what the doctor found",
        "configuration" => "the configuration in effect",
        "log" => "the last lines of the log",
        "drift" => "messages of the CLI that are not known, and figures",
        "journal" => "the last lines to and from the CLI, of the newest sessions: what was said is in them",
        "events" => "the last stored events of the newest sessions: what was said is in them",
        _ => "the last lines of debug files, if they were on: what was said is in them",
    }
}

/// A part in a few lines.
fn lines(name: &str, value: &Value) -> Vec<String> {
    match (name, value) {
        (_, Value::Null) => Vec::new(),
        (_, Value::String(why)) => vec![Value::from(why.as_str()).to_string()],
        ("versions", Value::Object(members)) => {
            vec![members.iter().map(|(name, value)| format!("{name} {value}")).collect::<Vec<_>>().join(", ")]
        }
        ("checks", Value::Array(checks)) => {
            let count = |state: &str| checks.iter().filter(|check| check["state"] == state).count();
            let [problems, remarks] = ["problem", "remark"].map(count);
            vec![format!("{} checks, {problems} failed, {remarks} with a remark", checks.len())]
        }
        (_, Value::Array(all)) => {
            let last = all.last().map(|last| format!("the last: {last}"));
            [format!("{} lines", all.len())].into_iter().chain(last).collect()
        }
        ("drift", Value::Object(members)) => {
            members.iter().map(|(name, value)| format!("{name}: {value}")).collect()
        }
        // Sessions, or files.
        (_, Value::Object(members)) => {
            let line = |(name, value): (&String, &Value)| match value {
                Value::Array(all) => format!("{}: {} lines", Value::from(name.as_str()), all.len()),
                other => format!("{}: {other}", Value::from(name.as_str())),
            };
            members.iter().map(line).collect()
        }
        (_, other) => vec![other.to_string()],
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::json;

    use super::*;

    #[test]
    fn every_part_is_told_in_a_few_lines() {
        let sections = json!({
            "versions": { "jackfield": "0.1.0", "contract": 1 },
            "checks": [{ "state": "ok" }, { "state": "problem" }, { "state": "remark" }, { "state": "remark" }],
            "configuration": ["# a", "b = 1"],
            "log": ["one", "\u{1b}[2Jtwo\u{9b}2J\u{202e}\u{200b}"],
            "drift": { "host": "not running", "figures": "not known: not running" },
            "journal": "not known: not running",
            "events": { "the-session": ["a", "b", "c"], "other": "not known: x" },
            "debug_files": {},
        });
        let shown = of(sections.as_object().unwrap());
        for line in [
            "jackfield \"0.1.0\", contract 1",
            "4 checks, 1 failed, 2 with a remark",
            "2 lines",
            "the last: \"\\u001b[2Jtwo\u{fffd}2J\u{fffd}\u{fffd}\"",
            "host: \"not running\"",
            "\"not known: not running\"",
            "\"the-session\": 3 lines",
            "\"other\": \"not known: x\"",
        ] {
            assert!(shown.lines().any(|shown| shown.trim() == line), "{line} is not in\n{shown}");
        }
        assert!(!shown.contains(['\u{1b}', '\u{9b}', '\u{202e}', '\u{200b}']), "a terminal would do it");
        let long = json!({ "log": ["x".repeat(5_000)] });
        assert!(of(long.as_object().unwrap()).lines().all(|line| line.len() < 2 * WIDTH));
    }
}
