//! What the store has of the newest sessions, also where no host runs any more: their last events.
//!
//! Pieces of texts are not shown, whatever there is of them. The one rule it keeps: it only looks, and at no more of a
//! session than so many bytes.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;

use jackfield_host::redact::LineByLine;
use jackfield_host::store::{Archived, Look, SessionQuery, StoreError};
use serde_json::{Map, Value, json};

use super::{LINES, SESSIONS, cut};

/// How much of each session's end is looked at.
const ENOUGH: usize = 1024 * 1024;
/// How many names of unknown messages are told apart.
const NAMES: usize = 64;

/// What is there.
pub(super) struct Stored {
    /// The last events of the newest sessions, or why there are none.
    pub(super) events: Value,
    /// The messages in them that are not known, or cannot be read.
    pub(super) drift: Value,
}

/// What some events tell of drift.
#[derive(Debug, Default, PartialEq)]
struct Drift {
    events: u64,
    unknown: BTreeMap<String, u64>,
    malformed: u64,
}

/// Looks into the store in a folder.
pub(super) fn look(data: &Path) -> Stored {
    match Look::at(data).and_then(|look| look.map(|look| of(&look)).transpose()) {
        Ok(Some(stored)) => stored,
        Ok(None) => nothing("there is no database"),
        Err(error) => nothing(&error.to_string()),
    }
}

fn nothing(why: &str) -> Stored {
    let none = Value::String(format!("not known: {why}"));
    Stored { events: none.clone(), drift: none }
}

fn of(look: &Look) -> Result<Stored, StoreError> {
    let query = SessionQuery { limit: SESSIONS, archived: Archived::All, ..SessionQuery::default() };
    let (mut sessions, mut drift) = (Map::new(), Drift::default());
    for session in look.sessions(&query)?.sessions {
        let id = session.session_id;
        let events = match look.last_events(&id, ENOUGH) {
            Ok(lines) => shown(&lines, &mut drift),
            Err(error) => Value::String(format!("not known: {error}")),
        };
        sessions.insert(id.to_string(), events);
    }
    let Drift { events, unknown, malformed } = drift;
    Ok(Stored {
        events: Value::Object(sessions),
        drift: json!({ "events_looked_at": events, "unknown_messages": unknown, "unreadable_lines": malformed }),
    })
}

/// The last of some events but for pieces of texts; all of them are looked through for drift.
fn shown(lines: &[String], drift: &mut Drift) -> Value {
    let mut shown: Vec<Cow<'_, str>> = Vec::new();
    let mut secrets = LineByLine::default();
    for line in lines {
        let event: Value = serde_json::from_str(line).unwrap_or_default();
        drift.events += 1;
        match event["type"].as_str() {
            // Their words are none of the bundle's business, and where they are known their number is not.
            Some("message_chunk" | "reasoning" | "tool_preparing") => continue,
            Some("unknown") => {
                let name = event["tag"].as_str().unwrap_or_default();
                let name = if drift.unknown.len() < NAMES { name } else { "other" };
                *drift.unknown.entry(name.to_owned()).or_default() += 1;
            }
            Some("malformed") => drift.malformed += 1,
            _ => {}
        }
        // What the CLI says on standard error comes line by line.
        shown.push(secrets.redact(line));
    }
    let last = &shown[shown.len().saturating_sub(LINES)..];
    last.iter().map(|line| Value::String(cut(&super::pieces::without(line)))).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn the_last_events_but_for_pieces_are_shown_and_all_are_looked_through() {
        let mut lines = vec![
            r#"{"type":"unknown","tag":"system/a","text":"{}"}"#.to_owned(),
            r#"{"type":"malformed","reason":"r","text":"{"}"#.to_owned(),
        ];
        for seq in 0..100 {
            lines.push(format!(r#"{{"type":"message_chunk","text":"secret","seq":{seq}}}"#));
            lines.push(format!(r#"{{"type":"notice","text":"n","seq":{seq}}}"#));
        }
        lines.push(r#"{"type":"unknown","tag":"system/a","text":"{}"}"#.to_owned());
        let mut drift = Drift::default();
        let shown = shown(&lines, &mut drift);
        assert_eq!(shown.as_array().unwrap().len(), LINES);
        assert!(shown.to_string().contains("system/a") && !shown.to_string().contains("secret"));
        let unknown = BTreeMap::from([("system/a".to_owned(), 2)]);
        assert_eq!(drift, Drift { events: 203, unknown, malformed: 1 });
    }

    #[test]
    fn a_private_key_that_came_on_standard_error_is_not_shown() {
        let (begin, end) = ("-----BEGIN PRIVATE", "-----END PRIVATE");
        let body = "Zq7wX/Kd".repeat(8);
        let said = [format!("{begin} KEY-----"), body.clone(), body.clone(), format!("{end} KEY-----"), body];
        let lines = said.map(|text| json!({ "type": "stderr", "text": text, "seq": 1 }).to_string());
        let shown = shown(&lines, &mut Drift::default());
        assert_eq!(shown.to_string().matches("[redacted]").count(), 3, "{shown}");
        assert_eq!(shown.to_string().matches("Zq7w").count(), 8, "only what is behind its end: {shown}");
    }

    #[test]
    fn where_nothing_is_stored_that_is_said() {
        let folder = tempfile::tempdir().unwrap();
        let stored = look(folder.path());
        assert_eq!(stored.events, json!("not known: there is no database"));
        assert_eq!(stored.drift, stored.events);
        std::fs::write(folder.path().join("jackfield.db"), "a letter to a friend").unwrap();
        assert!(look(folder.path()).events.as_str().unwrap().starts_with("not known: "));
    }
}
