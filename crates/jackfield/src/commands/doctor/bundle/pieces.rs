//! Lines without the words of pieces: a text that streams in is left out, and how long each piece was is told.
//!
//! A secret that is said a few letters at a time looks like none in any of its pieces, and whoever puts them together
//! has it. The whole message stands in a line of its own, where it is found. The one rule it keeps: of what cannot be
//! read nothing is shown that may be a piece.

use std::borrow::Cow;

use serde_json::{Map, Value};

/// What stands in a line that holds pieces, by which one is known that cannot be read.
const MARKS: [&str; 4] = ["stream_event", "message_chunk", "reasoning_text", "\"words\""];
/// What of a piece is no part of the text.
const NAMES: [&str; 4] = ["type", "id", "name", "stop_reason"];

/// A line to or from the CLI, of a journal or of events, without the words of pieces; the same if it has none.
pub(super) fn without(line: &str) -> Cow<'_, str> {
    if let Ok(mut value) = serde_json::from_str(line) {
        return match leave_out(&mut value) {
            0 => Cow::Borrowed(line),
            _ => Cow::Owned(value.to_string()),
        };
    }
    // Perhaps the beginning of a line that was too long, or is just being written.
    let may_hold_pieces = MARKS.iter().any(|mark| line.contains(mark));
    if may_hold_pieces { Cow::Owned(length_of(line)) } else { Cow::Borrowed(line) }
}

/// Leaves the words out wherever they are, and says how many texts of them there were.
fn leave_out(value: &mut Value) -> usize {
    match value {
        Value::Object(members) => {
            let mut count = 0;
            for name in holders(members) {
                count += members.get_mut(*name).map_or(0, empty);
            }
            for name in lines_in(members) {
                if let Some(Value::String(line)) = members.get_mut(*name)
                    && let Cow::Owned(left) = without(line)
                {
                    *line = left;
                    count += 1;
                }
            }
            count + members.values_mut().map(leave_out).sum::<usize>()
        }
        Value::Array(all) => all.iter_mut().map(leave_out).sum(),
        _ => 0,
    }
}

/// The members of an object that hold words of pieces.
fn holders(members: &Map<String, Value>) -> &'static [&'static str] {
    match members.get("type").and_then(Value::as_str) {
        Some("content_block_delta" | "message_delta") => &["delta"],
        Some("content_block_start") => &["content_block"],
        Some("message_chunk") => &["text"],
        Some("reasoning") => &["reasoning_text"],
        // Pieces that came at once, in a journal.
        None if members.contains_key("words") && members.contains_key("uuids") => &["words"],
        _ => &[],
    }
}

/// The members of an object that are lines themselves: of a journal's entry, of an event that tells a line.
fn lines_in(members: &Map<String, Value>) -> &'static [&'static str] {
    match members.get("type").and_then(Value::as_str) {
        Some("unknown" | "malformed") => &["text"],
        None if members.contains_key("dir") => &["line"],
        _ => &[],
    }
}

/// Puts its length in the place of every text in a value, and says how many there were.
fn empty(value: &mut Value) -> usize {
    match value {
        Value::String(text) if !text.is_empty() => {
            *text = length_of(text);
            1
        }
        Value::Array(all) => all.iter_mut().map(empty).sum(),
        Value::Object(members) => {
            let texts = members.iter_mut().filter(|(name, _)| !NAMES.contains(&name.as_str()));
            texts.map(|(_, value)| empty(value)).sum()
        }
        _ => 0,
    }
}

fn length_of(text: &str) -> String {
    format!("({} bytes left out)", text.len())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use jackfield_api::Timestamp;
    use jackfield_core::journal::{Entry, Series};
    use jackfield_testkit::recordings::{self, Direction};
    use jackfield_wire::decode;

    use super::*;

    /// Every line of the CLI in the recordings that has a piece of a text in it, with the piece.
    fn recorded() -> Vec<(String, String)> {
        let all = recordings::all().unwrap();
        let lines = all.into_iter().flat_map(|recording| recording.lines);
        let said = lines.filter(|line| line.dir == Direction::Out).map(|line| line.line);
        said.filter_map(|line| {
            let value: Value = serde_json::from_str(&line).ok()?;
            let delta = &value["event"]["delta"];
            let members = ["text", "thinking", "partial_json", "signature"];
            let words = members.iter().find_map(|member| delta[member].as_str())?.to_owned();
            (words.len() > 5).then_some((line, words))
        })
        .collect()
    }

    /// All texts of a line, one behind the other.
    fn texts(value: &Value) -> String {
        match value {
            Value::String(text) => text.clone(),
            Value::Array(all) => all.iter().map(texts).collect(),
            Value::Object(members) => members.values().map(texts).collect(),
            _ => String::new(),
        }
    }

    #[test]
    fn no_recorded_line_keeps_the_words_of_its_piece_and_all_say_how_long_they_were() {
        let recorded = recorded();
        let kinds = ["text_delta", "thinking_delta", "input_json_delta", "signature_delta"];
        for kind in kinds {
            assert!(recorded.iter().any(|(line, _)| line.contains(kind)), "no {kind} was recorded");
        }
        for (line, words) in &recorded {
            // As it came, as a journal has it, as an event that nobody knows, and not whole.
            let entry = Entry { t: 1.0, dir: "out".to_owned(), line: line.clone(), by: None, lossy: false };
            let entry = serde_json::to_string(&entry).unwrap();
            let unknown = serde_json::json!({ "type": "unknown", "tag": "a", "text": line }).to_string();
            for form in [line, &entry, &unknown] {
                let left = without(form);
                let value: Value = serde_json::from_str(&left).unwrap();
                assert!(!texts(&value).contains(words.as_str()), "{left}");
                assert!(left.contains(&length_of(words)) && left.contains("content_block_delta"), "{left}");
                let half = &form[..form.floor_char_boundary(form.len() - 3)];
                assert_eq!(without(half), length_of(half));
            }
        }
    }

    #[test]
    fn pieces_that_came_at_once_are_counted_in_the_journal_and_their_words_are_gone() {
        let at = Timestamp(1_000);
        let recorded = recorded();
        let (mut journals, mut out) = (0, Vec::new());
        for pair in recorded.windows(2) {
            let [(first, _), (second, words)] = pair else { continue };
            let mut series = Series::default();
            series.begin(at, decode(first.as_bytes()).piece().as_ref());
            let second = decode(second.as_bytes());
            let Some(piece) = second.piece() else { continue };
            out.clear();
            if series.follow(at, &piece, &mut out) {
                series.end(&mut out);
                let line = String::from_utf8(out.clone()).unwrap();
                assert!(line.contains("\"words\":["), "{line}");
                let left: Value = serde_json::from_str(&without(line.trim_end())).unwrap();
                assert_eq!(left["words"], serde_json::json!([length_of(words)]));
                assert!(left["uuids"].is_array(), "{left}");
                journals += 1;
            }
        }
        assert!(journals > 10, "{journals}");
    }

    #[test]
    fn events_of_pieces_are_known_by_their_type() {
        for (event, left) in [
            (
                r#"{"type":"message_chunk","item_id":"i","text":"one two","seq":1}"#,
                r#"{"type":"message_chunk","item_id":"i","text":"(7 bytes left out)","seq":1}"#,
            ),
            (
                r#"{"type":"reasoning","reasoning_text":"one","last_seq":4}"#,
                r#"{"type":"reasoning","reasoning_text":"(3 bytes left out)","last_seq":4}"#,
            ),
        ] {
            assert_eq!(without(event), left);
        }
    }

    #[test]
    fn what_is_no_piece_stays_as_it_is() {
        let all = recordings::all().unwrap();
        let lines = all.into_iter().flat_map(|recording| recording.lines).map(|line| line.line);
        let whole = lines.filter(|line| line.starts_with(r#"{"type":"assistant""#));
        let mut messages = 0;
        for line in whole {
            assert_eq!(without(&line), line);
            messages += 1;
        }
        assert!(messages > 10);
        for line in [
            "",
            "not JSON",
            r#"{"type":"tool_preparing","tool_name":"Bash","bytes":10}"#,
            r#"{"t":1.5,"dir":"out"}"#,
            r#"{"t":1.5,"dir":"err","line":"some words"}"#,
            r#"{"type":"stream_event","event":{"type":"content_block_start","content_block":{"type":"text","text":""}}}"#,
            r#"{"type":"stream_event","event":{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null}}}"#,
        ] {
            assert!(matches!(without(line), Cow::Borrowed(same) if same == line), "{line}");
        }
    }
}
