//! Stream events beyond the usual delta.

use std::borrow::Cow;

use jackfield_wire::{
    ApiEvent, Block, Delta, Inbound, StopReason, StreamEvent, decode, decode_without_shortcuts,
};

fn event(event: &str, tail: &str) -> StreamEvent<'static> {
    let line = format!(
        r#"{{"type":"stream_event","event":{event},"session_id":"s","parent_tool_use_id":null,"uuid":"u"{tail}}}"#
    );
    let decoded = decode(line.as_bytes());
    assert_eq!(decoded, decode_without_shortcuts(line.as_bytes()));
    match decoded.message.into_owned() {
        Inbound::StreamEvent(event) => event,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_plain_delta_borrows_from_its_line() {
    let line = br#"{"type":"stream_event","event":{"type":"content_block_delta","index":2,"delta":{"type":"thinking_delta","thinking":"plain"}},"session_id":"s","parent_tool_use_id":"t","uuid":"u"}"#;
    let Inbound::StreamEvent(event) = decode(line).message else { panic!("not a stream event") };
    assert!(matches!(event.parent_tool_use_id, Some(Cow::Borrowed("t"))));
    assert!(matches!(
        event.event,
        ApiEvent::ContentBlockDelta { index: 2, delta: Delta::Thinking(Cow::Borrowed("plain")) }
    ));
}

#[test]
fn unknown_deltas_and_events_are_kept_whole() {
    let strange = event(
        r#"{"type":"content_block_delta","index":1,"delta":{"type":"smell_delta","smell":"rose"}}"#,
        "",
    );
    let ApiEvent::ContentBlockDelta { index: 1, delta: Delta::Unknown { tag, raw } } = strange.event else {
        panic!("{strange:?}")
    };
    assert_eq!((tag.as_str(), raw.get()), ("smell_delta", r#"{"type":"smell_delta","smell":"rose"}"#));

    let strange = event(r#"{"type":"message_pause","why":1}"#, "");
    let ApiEvent::Unknown { tag, raw } = strange.event else { panic!("{strange:?}") };
    assert_eq!((tag.as_str(), raw.get()), ("message_pause", r#"{"type":"message_pause","why":1}"#));

    let strange =
        event(r#"{"type":"content_block_start","index":0,"content_block":{"type":"hologram"}}"#, "");
    let ApiEvent::ContentBlockStart { content_block, .. } = strange.event else { panic!("{strange:?}") };
    assert!(matches!(*content_block, Block::Unknown { .. }));
}

#[test]
fn the_other_events_are_read() {
    let end = event(
        r#"{"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":9}}"#,
        "",
    );
    let ApiEvent::MessageDelta(delta) = end.event else { panic!("{end:?}") };
    assert_eq!(delta.stop_reason, Some(StopReason::ToolUse));
    assert_eq!(delta.usage.unwrap().output_tokens, 9);
    assert_eq!(event(r#"{"type":"ping"}"#, "").event, ApiEvent::Ping);
    assert_eq!(event(r#"{"type":"message_stop"}"#, "").event, ApiEvent::MessageStop);
    assert!(matches!(
        event(r#"{"type":"error","error":{"type":"overloaded_error"}}"#, "").event,
        ApiEvent::Error { error: Some(_) }
    ));
}

#[test]
fn members_of_newer_clis_are_read_and_others_ignored() {
    let delta = r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a"}}"#;
    let newer =
        event(delta, r#","user_message_uuid":"p","api_message_id":"m","ttft_ms":12,"shape":{"round":true}"#);
    assert_eq!(newer.ttft_ms, Some(12));
    let more = newer.more.unwrap();
    assert_eq!(more.user_message_uuid.unwrap().as_str(), "p");
    assert_eq!(more.api_message_id.as_deref(), Some("m"));
    assert_eq!(event(delta, "").more, None);
}
