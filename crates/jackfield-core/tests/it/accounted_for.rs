//! *Accounted for*: every line of the CLI leads to an output, or stands on the written list of silent ones
//! with a reason.
//!
//! Run on the recordings, and on hand-written lines for what they lack. The list is minimal: an entry that no
//! line needs is not on it.

use std::collections::{BTreeMap, BTreeSet};

use jackfield_api::Timestamp;
use jackfield_core::{Input, Options, Session};
use jackfield_wire::decode;
use serde_json::Value;

use crate::fixtures;
use crate::silent::{Silent, why_silent};

/// What no recording has: each is told to a session in the middle of a turn.
const LINES: &[&str] = &[
    "",
    r#"{"type":"keep_alive"}"#,
    r#"{"type":"transcript_mirror","filePath":"/x","entries":[]}"#,
    r#"{"type":"active_goal","goal":null,"uuid":"u","session_id":"s"}"#,
    r#"{"type":"autocompact_state","uuid":"u","session_id":"s"}"#,
    r#"{"type":"system","subtype":"elicitation_complete","mcp_server_name":"mini","elicitation_id":"e","uuid":"u","session_id":"s"}"#,
    r#"{"type":"system","subtype":"control_request_progress","request_id":"r","uuid":"u","session_id":"s"}"#,
    r#"{"type":"assistant","message":{"id":"m","role":"assistant","model":"x","content":[]},"parent_tool_use_id":null,"uuid":"u","session_id":"s"}"#,
    r#"{"type":"assistant","message":{"id":"m","role":"assistant","model":"x","content":[{"type":"text","text":""}]},"parent_tool_use_id":null,"uuid":"u","session_id":"s"}"#,
    r#"{"type":"assistant","message":{"id":"m","role":"assistant","model":"x","content":[{"type":"redacted_thinking","data":"eA=="}]},"parent_tool_use_id":null,"uuid":"u","session_id":"s"}"#,
    r#"{"type":"assistant","message":{"id":"m","role":"assistant","model":"x","content":[{"type":"banana"}]},"parent_tool_use_id":null,"uuid":"u","session_id":"s"}"#,
    r#"{"type":"user","message":{"role":"user","content":[]},"parent_tool_use_id":null,"uuid":"u","session_id":"s"}"#,
    r#"{"type":"user","message":{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"eA=="}}]},"parent_tool_use_id":null,"uuid":"u","session_id":"s"}"#,
    r#"{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_9","content":"late"}]},"parent_tool_use_id":null,"uuid":"u","session_id":"s"}"#,
    r#"{"type":"tool_progress","tool_use_id":"toolu_9","tool_name":"Bash","parent_tool_use_id":null,"elapsed_time_seconds":3,"uuid":"u","session_id":"s"}"#,
    r#"{"type":"control_cancel_request","request_id":"r"}"#,
    r#"{"type":"control_response","response":{"subtype":"error","request_id":"r","error":"no"}}"#,
    r#"{"type":"control_request","request_id":"r","request":{"subtype":"banana"}}"#,
    r#"{"type":"conversation_reset","uuid":"u","session_id":"s"}"#,
    r#"{"type":"system","subtype":"status","status":null,"uuid":"u","session_id":"s"}"#,
    r#"{"type":"system","subtype":"status","status":null,"compact_result":"failed","compact_error":"no","uuid":"u","session_id":"s"}"#,
    r#"{"type":"stream_event","event":{"type":"content_block_start","index":0,"content_block":{"type":"redacted_thinking","data":"eA=="}},"parent_tool_use_id":null,"uuid":"u","session_id":"s"}"#,
    r#"{"type":"stream_event","event":{"type":"content_block_start","index":0,"content_block":{"type":"banana"}},"parent_tool_use_id":null,"uuid":"u","session_id":"s"}"#,
    r#"{"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":{"type":"banana_delta"}},"parent_tool_use_id":null,"uuid":"u","session_id":"s"}"#,
    r#"{"type":"stream_event","event":{"type":"banana"},"parent_tool_use_id":null,"uuid":"u","session_id":"s"}"#,
    r#"{"type":"stream_event","event":{"type":"ping"},"parent_tool_use_id":null,"uuid":"u","session_id":"s"}"#,
    r#"{"type":"stream_event","event":{"type":"error","error":{"type":"overloaded_error","message":"busy"}},"parent_tool_use_id":null,"uuid":"u","session_id":"s"}"#,
];

#[test]
fn every_line_of_every_recording_leads_to_an_output_or_is_silent_for_a_reason() {
    let mut unaccounted: BTreeMap<String, (usize, String)> = BTreeMap::new();
    for recording in fixtures::all() {
        for (line, _) in silent_lines(recording).into_iter().filter(|(_, why)| why.is_none()) {
            let tag = kind(&line);
            unaccounted.entry(tag).or_insert_with(|| (0, format!("[{}] {line}", recording.name))).0 += 1;
        }
    }
    assert!(unaccounted.is_empty(), "{} kinds of lines led to nothing: {unaccounted:#?}", unaccounted.len());
}

#[test]
fn every_line_that_no_recording_has_leads_to_an_output_or_is_silent_for_a_reason() {
    let lost = |line: &&&str| !spoken_in_a_turn(line) && why_silent(&decode(line.as_bytes())).is_none();
    let lost: Vec<&&str> = LINES.iter().filter(lost).collect();
    assert!(lost.is_empty(), "lines led to nothing: {lost:#?}");
}

#[test]
fn every_reason_on_the_list_is_needed() {
    let mut used: BTreeSet<Silent> = BTreeSet::new();
    for recording in fixtures::all() {
        used.extend(silent_lines(recording).into_iter().filter_map(|(_, why)| why));
    }
    for line in LINES.iter().filter(|line| !spoken_in_a_turn(line)) {
        used.extend(why_silent(&decode(line.as_bytes())));
    }
    let listed: BTreeSet<Silent> = Silent::ALL.iter().copied().collect();
    assert_eq!(used, listed);
}

#[test]
fn every_reason_says_something_else() {
    let reasons: BTreeSet<&str> = Silent::ALL.iter().map(|silent| silent.reason()).collect();
    assert_eq!(reasons.len(), Silent::ALL.len());
    assert!(reasons.iter().all(|reason| reason.len() > 20));
}

/// Words that tell lines apart, for whoever has to mend the list.
fn kind(line: &str) -> String {
    let line: Value = serde_json::from_str(line).unwrap_or_default();
    let word = |pointer: &str| line.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
    [
        "/type",
        "/subtype",
        "/event/type",
        "/event/delta/type",
        "/event/content_block/type",
        "/state",
        "/response/subtype",
    ]
    .map(word)
    .join(" ")
}

/// The lines that led to nothing, with the reason if there is one.
fn silent_lines(recording: &fixtures::Recording) -> Vec<(String, Option<Silent>)> {
    let mut session = Session::new(Options { session_id: Some("named".into()), ..Options::default() });
    let mut silent = Vec::new();
    for entry in &recording.entries {
        let Some(input) = entry.input() else { continue };
        let line = matches!(input, Input::Line(_)).then(|| decode(entry.line.as_bytes()));
        session.handle(entry.at(), input);
        let spoke = std::iter::from_fn(|| session.poll()).count() > 0;
        if let (Some(line), false) = (line, spoke) {
            silent.push((entry.line.clone(), why_silent(&line)));
        }
    }
    silent
}

fn spoken_in_a_turn(line: &str) -> bool {
    let mut session = Session::new(Options { session_id: Some("named".into()), ..Options::default() });
    let status = r#"{"type":"system","subtype":"status","status":"requesting","uuid":"u","session_id":"s"}"#;
    session.handle(Timestamp(0), Input::Line(decode(status.as_bytes())));
    while session.poll().is_some() {}
    session.handle(Timestamp(0), Input::Line(decode(line.as_bytes())));
    session.poll().is_some()
}
