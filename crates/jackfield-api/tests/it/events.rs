//! Events through the codec, which writes the streaming ones by hand.

use jackfield_api::codec::Encoded;
use jackfield_api::conversation::{MessageChunk, Reasoning};
use jackfield_api::{Body, Event, ItemId, Seq, codec};
use proptest::prelude::*;
use serde_json::Value;

use crate::round_trip;
use crate::samples::{bodies, event, normalized};

fn encoded(event: &Event) -> String {
    let mut line = Vec::new();
    codec::encode(event, &mut line);
    String::from_utf8(line).unwrap()
}

/// As a value, with what no value can hold made harmless.
fn value(text: &str) -> Value {
    serde_json::from_str(&text.replace(r"\ud83d", "half")).unwrap()
}

#[test]
fn every_event_is_read_back_as_it_was_written() {
    for body in bodies() {
        let event = event(body);
        let line = encoded(&event);
        assert_eq!(codec::decode(&line).unwrap(), event, "{line}");
        assert_eq!(serde_json::from_str::<Event>(&line).unwrap(), event, "{line}");
    }
}

#[test]
fn an_event_with_nothing_optional_is_read_back_too() {
    for body in bodies() {
        let event = Event { turn: None, parent_tool_call_id: None, session_id: "".into(), ..event(body) };
        let line = encoded(&event);
        assert_eq!(codec::decode(&line).unwrap(), event, "{line}");
        assert!(line.contains(r#","turn":null"#) && !line.contains("parent_tool_call_id"), "{line}");
    }
}

#[test]
fn the_codec_says_the_same_as_serde() {
    for body in bodies() {
        let event = event(body);
        let by_serde = serde_json::to_string(&event).unwrap();
        assert_eq!(value(&encoded(&event)), value(&by_serde), "{by_serde}");
    }
}

#[test]
fn an_event_is_one_line_that_begins_with_its_type() {
    for body in bodies() {
        let event = event(body);
        let line = encoded(&event);
        assert!(!line.contains(['\n', '\r']), "{line}");
        let tag = event.body.tag();
        assert!(line.starts_with(&format!(r#"{{"type":"{tag}","seq":{},"at":"#, event.seq)), "{line}");
    }
}

#[test]
fn encoding_appends() {
    let event = event(bodies().remove(0));
    let mut out = b"before ".to_vec();
    codec::encode(&event, &mut out);
    assert_eq!(String::from_utf8(out).unwrap(), format!("before {}", encoded(&event)));
}

#[test]
fn what_pieces_of_a_text_have_in_common_is_theirs_alone() {
    let piece = |item, message: Option<&str>| {
        let message_id = message.map(Into::into);
        Body::from(MessageChunk { item_id: ItemId(item), message_id, text: "more \"words\"".into() })
    };
    let thought = Reasoning { item_id: ItemId(1), message_id: Some("m".into()), reasoning_text: "hm".into() };
    let first = event(piece(1, Some("m")));
    let other = |change: fn(&mut Event)| {
        let mut other = first.clone();
        change(&mut other);
        other
    };
    let mut events = vec![
        first.clone(),
        other(|event| event.seq = Seq(7)),
        other(|event| event.turn = None),
        other(|event| event.session_id = "elsewhere".into()),
        other(|event| event.parent_tool_call_id = Some("a call".into())),
        event(piece(2, Some("m"))),
        event(piece(1, Some("another"))),
        event(piece(1, None)),
        event(thought.into()),
    ];
    events.extend(bodies().into_iter().map(event));
    // Each behind each.
    let (mut encoder, mut next) = (codec::Encoder::default(), 0);
    for one in &events {
        for another in &events {
            for event in [one, another] {
                let mut line = b"before ".to_vec();
                let what = encoder.encode(event, &mut line);
                let line = String::from_utf8(line.split_off("before ".len())).unwrap();
                assert_eq!(line, encoded(event));
                let words = match &event.body {
                    Body::MessageChunk(chunk) => Some(chunk.text.as_str()),
                    Body::Reasoning(thought) => Some(thought.reasoning_text.as_str()),
                    _ => None,
                };
                assert_eq!(what == Encoded::Other, words.is_none());
                if let Encoded::Next(before) = what {
                    let ending = format!("{}}}", serde_json::to_string(words.unwrap()).unwrap());
                    assert_eq!(line[before..], ending);
                    next += 1;
                }
            }
        }
    }
    assert!(next > events.len(), "each goes on where it came before");
}

#[test]
fn an_unknown_type_is_an_error_and_not_some_other_event() {
    let line = r#"{"type":"telepathy","seq":1,"at":0,"session_id":"s","turn":null}"#;
    let error = codec::decode(line).unwrap_err().to_string();
    assert!(error.contains("telepathy"), "{error}");
}

#[test]
fn every_kind_of_tool_is_read_back() {
    for normalized in normalized() {
        let text = round_trip(&normalized);
        assert!(text.starts_with(&format!(r#"{{"kind":"{}""#, normalized.tag())), "{text}");
    }
}

fn check_any_text(body: Body, member: &str, text: &str) -> Result<(), TestCaseError> {
    let event = Event { seq: Seq(1), ..event(body) };
    let line = encoded(&event);
    prop_assert!(!line.contains('\n'));
    let read: Value = serde_json::from_str(&line).unwrap();
    prop_assert_eq!(read[member].as_str(), Some(text));
    prop_assert_eq!(codec::decode(&line).unwrap(), event);
    Ok(())
}

proptest! {
    #[test]
    fn any_text_survives_the_hand_written_encoder(
        text in any::<String>(),
        // Strings of the strategy above seldom have the characters that matter.
        awkward in "[\u{0}-\u{1f}\"\\\\/\u{7f}\u{2028}é😀a]{0,40}",
        item in any::<u64>(),
        message in any::<Option<String>>(),
    ) {
        let (item_id, message_id) = (ItemId(item), message.map(Into::into));
        for text in [text, awkward] {
            let chunk = MessageChunk { item_id, message_id: message_id.clone(), text: text.as_str().into() };
            check_any_text(chunk.into(), "text", &text)?;
            let thought = Reasoning { item_id, message_id: message_id.clone(), reasoning_text: text.as_str().into() };
            check_any_text(thought.into(), "reasoning_text", &text)?;
        }
    }
}
