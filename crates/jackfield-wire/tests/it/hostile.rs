//! Inputs that have ended other hosts, one by one.

use jackfield_wire::{
    Block, CliRequest, Content, Decoded, Inbound, RequestId, decode, decode_without_shortcuts,
};

/// Decodes both ways.
fn read(line: &[u8]) -> Decoded<'_> {
    let decoded = decode(line);
    assert_eq!(decoded, decode_without_shortcuts(line));
    decoded
}

fn malformed(line: &[u8]) -> (Option<String>, String) {
    match read(line).message {
        Inbound::Malformed(malformed) => (malformed.tag, malformed.reason),
        other => panic!("not malformed: {other:?}"),
    }
}

fn unknown(line: &[u8]) -> String {
    match read(line).message {
        Inbound::Unknown(unknown) => unknown.tag,
        other => panic!("not unknown: {other:?}"),
    }
}

fn assistant(content: &str) -> String {
    format!(
        r#"{{"type":"assistant","message":{{"id":"m","type":"message","role":"assistant","model":"x","content":[{content}],"stop_reason":null}},"parent_tool_use_id":null,"session_id":"s","uuid":"u"}}"#
    )
}

fn blocks(line: &str) -> Vec<Block> {
    match read(line.as_bytes()).message {
        Inbound::Assistant(assistant) => assistant.message.content,
        other => panic!("not an assistant line: {other:?}"),
    }
}

#[test]
fn a_hundred_thousand_open_brackets_are_malformed() {
    for bracket in ["[", "{\"a\":", "[{\"type\":"] {
        malformed(bracket.repeat(100_000).as_bytes());
    }
    malformed(format!("{}{}", "[".repeat(100_000), "]".repeat(100_000)).as_bytes());
}

#[test]
fn a_hundred_thousand_brackets_inside_a_tool_input_survive() {
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let line = assistant(&format!(r#"{{"type":"tool_use","id":"t","name":"Bash","input":{{"x":{deep}}}}}"#));
    let [Block::ToolUse(call)] = &blocks(&line)[..] else { panic!("no tool call") };
    assert_eq!(call.input.get(), format!(r#"{{"x":{deep}}}"#));
    assert!(call.input.parse::<serde_json::Value>().is_err(), "nobody should read that deep");
}

#[test]
fn tool_results_inside_tool_results_do_not_take_the_stack() {
    let mut block = r#"{"type":"text","text":"core"}"#.to_owned();
    for _ in 0..2_000 {
        block = format!(r#"{{"type":"tool_result","tool_use_id":"t","content":[{block}]}}"#);
    }
    let mut blocks = blocks(&assistant(&block));
    let mut depth = 0;
    while let Block::ToolResult(result) = &blocks[0] {
        blocks = result.content.as_ref().unwrap().parse::<Content>().unwrap().into_blocks();
        depth += 1;
    }
    assert_eq!(depth, 2_000);
    assert!(matches!(&blocks[0], Block::Text(block) if block.text == "core"));
}

#[test]
fn a_lone_surrogate_in_text_is_repaired() {
    let line = assistant(r#"{"type":"text","text":"cut \ud83d here"}"#);
    let decoded = read(line.as_bytes());
    assert!(decoded.repaired);
    assert_eq!(decoded.text, line, "the line itself is kept as it came");
    let [Block::Text(block)] = &blocks(&line)[..] else { panic!("no text") };
    assert_eq!(block.text, "cut \u{fffd} here");
}

#[test]
fn a_lone_surrogate_in_a_delta_is_repaired() {
    let line = br#"{"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"\ud83d"}},"session_id":"s","parent_tool_use_id":null,"uuid":"u"}"#;
    let decoded = read(line);
    assert!(decoded.repaired);
    assert!(matches!(decoded.message, Inbound::StreamEvent(_)));
}

#[test]
fn a_lone_surrogate_in_a_raw_value_is_left_alone() {
    let line = assistant(r#"{"type":"tool_use","id":"t","name":"Bash","input":{"command":"\ud83d"}}"#);
    assert!(!read(line.as_bytes()).repaired);
    let [Block::ToolUse(call)] = &blocks(&line)[..] else { panic!("no tool call") };
    assert_eq!(call.input.get(), r#"{"command":"\ud83d"}"#);
}

#[test]
fn a_whole_surrogate_pair_is_one_character() {
    let [Block::Text(block)] = &blocks(&assistant(r#"{"type":"text","text":"\ud83d\ude00"}"#))[..] else {
        panic!("no text")
    };
    assert_eq!(block.text, "😀");
}

#[test]
fn bytes_that_are_not_utf_8_are_replaced_and_the_rest_is_read() {
    let mut line = assistant(r#"{"type":"text","text":"a?b"}"#).into_bytes();
    let place = line.iter().position(|byte| *byte == b'?').unwrap();
    line[place] = 0xFF;
    let decoded = read(&line);
    assert!(decoded.repaired);
    let Inbound::Assistant(assistant) = decoded.message else { panic!("not an assistant line") };
    assert!(matches!(&assistant.message.content[..], [Block::Text(block)] if block.text == "a\u{fffd}b"));
}

#[test]
fn nul_and_control_characters_are_text_only_when_escaped() {
    let [Block::Text(block)] = &blocks(&assistant(r#"{"type":"text","text":"\u0000\u0001"}"#))[..] else {
        panic!("no text")
    };
    assert_eq!(block.text, "\0\u{1}");
    malformed(b"\0");
    malformed(assistant("{\"type\":\"text\",\"text\":\"\u{1}\"}").as_bytes());
}

#[test]
fn the_first_type_wins() {
    assert!(matches!(read(br#"{"type":"keep_alive","type":"banana"}"#).message, Inbound::KeepAlive(_)));
    assert_eq!(unknown(br#"{"type":"banana","type":"keep_alive"}"#), "banana");
    assert_eq!(unknown(br#"{"x":1,"type":"banana"}"#), "banana");
}

#[test]
fn a_known_member_given_twice_is_malformed() {
    let (tag, reason) = malformed(br#"{"type":"prompt_suggestion","suggestion":"a","suggestion":"b"}"#);
    assert_eq!(tag.as_deref(), Some("prompt_suggestion"));
    assert!(reason.contains("duplicate"), "{reason}");
}

#[test]
fn numbers_out_of_range_do_not_lose_a_result() {
    let line = br#"{"type":"result","subtype":"success","is_error":false,"duration_ms":-3,"num_turns":1.6,"duration_api_ms":99999999999999999999999,"total_cost_usd":1e999,"usage":{"input_tokens":1e999,"output_tokens":null}}"#;
    let Inbound::Result(result) = read(line).message else { panic!("not a result") };
    assert_eq!((result.duration_ms, result.num_turns, result.duration_api_ms), (0, 2, u64::MAX));
    assert!(result.total_cost_usd.is_finite() && result.total_cost_usd > 1e300);
    let usage = result.usage.unwrap();
    assert_eq!((usage.input_tokens, usage.output_tokens), (u64::MAX, 0));
}

#[test]
fn ids_that_are_numbers_or_missing_are_kept_as_they_are() {
    let answer = |id: &str| {
        let line = format!(r#"{{"type":"control_response","response":{{"subtype":"success"{id}}}}}"#);
        match read(line.as_bytes()).message {
            Inbound::ControlResponse(response) => response.request_id,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(answer(r#","request_id":"a""#), RequestId::from("a"));
    assert_eq!(answer(""), RequestId::Missing);
    let RequestId::Other(number) = answer(r#","request_id":1.50"#) else { panic!("not kept") };
    assert_eq!(number.get(), "1.50");
}

#[test]
fn what_is_not_an_object_is_malformed_and_says_so() {
    assert!(malformed(b"[{\"type\":\"user\"}]").1.contains("array"));
    assert!(malformed(b"5").1.contains("not an object"));
    assert!(malformed(b"null").1.contains("not an object"));
    assert!(malformed("\u{feff}{\"type\":\"keep_alive\"}".as_bytes()).1.contains("byte order mark"));
    assert!(malformed(b"[SandboxDebug] hello").1.contains("not JSON"));
    assert!(malformed(br#"{"type":"keep_alive"} {"type":"keep_alive"}"#).1.contains("broken JSON"));
    assert!(malformed(b"{}").1.contains("without `type`"));
    assert!(malformed(br#"{"type":5}"#).1.contains("not a string"));
    assert_eq!(malformed(br#"{"type":"assistant","message":{"id"#).0.as_deref(), Some("assistant"));
}

#[test]
fn white_space_is_blank() {
    for line in [&b""[..], b" ", b"\t \r"] {
        assert_eq!(read(line).message, Inbound::Blank);
    }
}

#[test]
fn a_known_message_that_does_not_fit_is_never_unknown() {
    assert_eq!(malformed(br#"{"type":"assistant","message":5}"#).0.as_deref(), Some("assistant"));
    assert_eq!(malformed(br#"{"type":"system","subtype":"init","cwd":5}"#).0.as_deref(), Some("system/init"));
    assert_eq!(malformed(br#"{"type":"system"}"#).0.as_deref(), Some("system"));
    assert_eq!(unknown(br#"{"type":"system","subtype":"foo"}"#), "system/foo");
}

#[test]
fn a_request_that_is_not_understood_still_gives_its_id() {
    let Inbound::Unknown(unknown) =
        read(br#"{"type":"control_request","request_id":7,"request":{"subtype":"foo"}}"#).message
    else {
        panic!("not unknown")
    };
    assert_eq!(unknown.tag, "control_request/foo");
    assert_eq!(unknown.request_id.to_string(), "7");
    let Inbound::Malformed(malformed) =
        read(br#"{"request":{"subtype":"can_use_tool"},"request_id":"r","type":"control_request"}"#).message
    else {
        panic!("not malformed")
    };
    assert_eq!(malformed.tag.as_deref(), Some("control_request/can_use_tool"));
    assert_eq!(malformed.request_id, RequestId::from("r"));
}

#[test]
fn a_strange_block_harms_nothing_but_itself() {
    let line = assistant(
        r#"{"type":"text","text":"a"},{"type":"hologram","x":1},{"type":"text","text":5},7,{"type":"text","text":"b"}"#,
    );
    let blocks = blocks(&line);
    assert!(matches!(&blocks[0], Block::Text(block) if block.text == "a"));
    assert!(
        matches!(&blocks[1], Block::Unknown { tag, raw } if tag == "hologram" && raw.get().contains("\"x\":1"))
    );
    assert!(matches!(&blocks[2], Block::Malformed { tag, .. } if tag == "text"));
    assert!(matches!(&blocks[3], Block::Malformed { tag, raw, .. } if tag.is_empty() && raw.get() == "7"));
    assert!(matches!(&blocks[4], Block::Text(block) if block.text == "b"));
}

#[test]
fn a_strange_suggestion_does_not_lose_the_question() {
    let line = br#"{"type":"control_request","request_id":"r","request":{"subtype":"can_use_tool","tool_name":"Bash","input":{},"tool_use_id":"t","permission_suggestions":[{"type":"new"},{"type":"setMode","mode":"newest","destination":"moon"}]}}"#;
    let Inbound::ControlRequest(control) = read(line).message else { panic!("not a request") };
    let CliRequest::CanUseTool(question) = control.request else { panic!("not a question") };
    assert_eq!(question.permission_suggestions.len(), 2);
    assert_eq!(
        serde_json::to_string(&question.permission_suggestions[1]).unwrap(),
        r#"{"type":"setMode","mode":"newest","destination":"moon"}"#
    );
}

#[test]
fn a_hundred_megabytes_in_one_line_are_read() {
    let megabytes = "x".repeat(100 * 1024 * 1024);
    let line = format!(
        r#"{{"type":"stream_event","event":{{"type":"content_block_delta","index":0,"delta":{{"type":"text_delta","text":"{megabytes}"}}}},"session_id":"s","parent_tool_use_id":null,"uuid":"u"}}"#
    );
    let Inbound::StreamEvent(event) = decode(line.as_bytes()).message else { panic!("not a stream event") };
    let jackfield_wire::ApiEvent::ContentBlockDelta { delta: jackfield_wire::Delta::Text(text), .. } =
        event.event
    else {
        panic!("not a delta")
    };
    assert!(matches!(text, std::borrow::Cow::Borrowed(_)), "a hundred megabytes were copied");
    assert_eq!(text.len(), megabytes.len());
    drop(line);

    let line = assistant(&format!(r#"{{"type":"text","text":5,"x":"{megabytes}"}}"#));
    let Inbound::Assistant(assistant) = decode(line.as_bytes()).message else {
        panic!("not an assistant line")
    };
    let [Block::Malformed { reason, .. }] = &assistant.message.content[..] else { panic!("not malformed") };
    assert!(reason.len() < 300);
    drop((line, assistant));

    let line = format!(r#"{{"type":"assistant","message":"{megabytes}"}}"#);
    let Inbound::Malformed(malformed) = decode(line.as_bytes()).message else { panic!("not malformed") };
    assert!(malformed.reason.len() < 300, "the reason quotes the line");
}
