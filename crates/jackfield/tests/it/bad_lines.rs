//! A bad line is one `malformed` event, and the next line is read as if nothing had been.

use serde_json::Value;

use crate::program::{Finished, events};

const GOOD: &str = r#"{"type":"assistant","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"still here"}],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":1,"output_tokens":1}},"parent_tool_use_id":null,"session_id":"s","uuid":"u"}"#;

/// The bad line and then the good one.
fn before_a_good_line(bad: &[u8]) -> Finished {
    events(&[bad, b"\n", GOOD.as_bytes(), b"\n"].concat())
}

/// What stands between the start and the good line's turn.
fn told_of(finished: &Finished) -> Vec<Value> {
    let events = finished.events();
    assert_eq!(events[0]["type"], "run_started");
    let good = events.iter().position(|event| event["type"] == "turn_started").expect("the good line's turn");
    let chunks: Vec<_> = events[good..].iter().filter(|event| event["type"] == "message_chunk").collect();
    assert_eq!(chunks.len(), 1);
    assert_eq!(chunks[0]["text"], "still here");
    events[1..good].to_vec()
}

#[test]
fn f20_each_bad_line_is_one_malformed_event_and_the_next_line_is_read() {
    let deep = "[".repeat(100_000);
    let nested = format!(r#"{{"type":"assistant","message":{}"#, "{\"a\":".repeat(100_000));
    let bad: [(&str, &[u8]); 12] = [
        ("not JSON", b"Error: something went wrong"),
        ("a byte order mark", b"\xef\xbb\xbf{\"type\":\"keep_alive\"}"),
        ("a NUL", b"{\"type\":\"keep_alive\"\0}"),
        ("a NUL in a string", b"{\"type\":\"keep_\0alive\"}"),
        ("only NULs", b"\0\0\0"),
        ("half an object", br#"{"type":"assistant","message":{"id":"#),
        ("brackets without end", deep.as_bytes()),
        ("objects without end", nested.as_bytes()),
        ("a number beyond all floats", br#"{"type":"result","total_cost_usd":1e999}"#),
        ("an array", br#"[{"type":"keep_alive"}]"#),
        ("a member twice", br#"{"type":"stream_event","event":{"type":"ping"},"event":{"type":"ping"}}"#),
        ("a known message without its body", br#"{"type":"assistant"}"#),
    ];
    for (what, line) in bad {
        let told = told_of(&before_a_good_line(line));
        assert_eq!(told.len(), 1, "{what}: {told:?}");
        assert_eq!(told[0]["type"], "malformed", "{what}");
        assert_ne!(told[0]["reason"], "", "{what}");
        assert_eq!(told[0]["text"].as_str().unwrap().as_bytes(), line, "{what}");
    }
}

#[test]
fn bytes_that_are_not_text_are_replaced_and_the_line_is_still_one_event() {
    let told = told_of(&before_a_good_line(b"{\"type\":\"\xff\xfe"));
    let malformed: Vec<_> = told.iter().filter(|event| event["type"] == "malformed").collect();
    assert_eq!(malformed.len(), 1, "{told:?}");
    assert_eq!(malformed[0]["text"], "{\"type\":\"\u{fffd}\u{fffd}");
}

#[test]
fn f20_a_lone_surrogate_costs_one_character_and_not_the_message() {
    let line = GOOD.replace("still here", r"half \ud83d a pair");
    let finished = events(format!("{line}\n{}\n", GOOD.replace("msg_1", "msg_2")).as_bytes());
    let events = finished.events();
    let texts: Vec<_> =
        events.iter().filter(|event| event["type"] == "message_chunk").map(|event| &event["text"]).collect();
    assert_eq!(texts, ["half \u{fffd} a pair", "still here"]);
    let notices = events.iter().filter(|event| event["type"] == "notice").count();
    assert_eq!(notices, 1);
}

#[test]
fn carriage_returns_and_a_missing_last_newline_are_no_bad_lines() {
    let finished = events(format!("{GOOD}\r\n{}", GOOD.replace("msg_1", "msg_2")).as_bytes());
    let tags = finished.tags();
    assert_eq!(tags.iter().filter(|tag| *tag == "message_chunk").count(), 2);
    assert!(!tags.contains(&"malformed".to_owned()));
}
