//! Claims about all inputs.

use jackfield_wire::{Inbound, Outbound, decode, decode_entry, decode_without_shortcuts};
use proptest::prelude::*;
use proptest::sample::Index;

use crate::recordings::all;

/// Recorded lines of both directions, short enough to mutate many times; rare forms are not
/// drowned in frequent ones because each form is kept a few times only.
fn seeds() -> Vec<String> {
    let mut kept = std::collections::BTreeMap::<String, usize>::new();
    let mut seeds = Vec::new();
    for line in all() {
        if !matches!(line.direction.as_str(), "in" | "out") || line.text.len() > 4_000 {
            continue;
        }
        let form: String =
            line.text.chars().filter(|character| !character.is_ascii_digit()).take(90).collect();
        let count = kept.entry(form).or_default();
        *count += 1;
        if *count <= 3 {
            seeds.push(line.text);
        }
    }
    assert!(seeds.len() > 200, "only {} seeds", seeds.len());
    seeds
}

/// What one change does to a line.
#[derive(Debug, Clone)]
enum Change {
    Cut(Index),
    Remove(Index, usize),
    Replace(Index, u8),
    Insert(Index, Vec<u8>),
    Double(Index, usize),
}

fn change() -> impl Strategy<Value = Change> {
    let token = prop::sample::select(vec![
        "\"",
        "\\",
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "null",
        "0",
        "-1",
        "1.5",
        "1e999",
        "01",
        "true",
        "\\ud83d",
        "\\ude00",
        "\\n",
        "\\\"",
        "\\u0000",
        "\u{1}",
        "\t",
        "\r",
        " ",
        "é",
        "\u{feff}",
        "\"type\":\"user\",",
        ",\"uuid\":\"x\"",
        ",\"session_id\":null",
        ",\"event\":1",
        ",\"type\":\"x\"",
        ",\"ttft_ms\":12",
        ",\"new\":5",
        ",\"new\":\"\\ud83d\"",
        ",\"user_message_uuid\":\"p\"",
        ",\"api_message_id\":null",
        ",\"owed_rows\":1",
        ",\"new\":{}",
    ]);
    prop_oneof![
        any::<Index>().prop_map(Change::Cut),
        (any::<Index>(), 1..8_usize).prop_map(|(at, count)| Change::Remove(at, count)),
        (any::<Index>(), any::<u8>()).prop_map(|(at, byte)| Change::Replace(at, byte)),
        (any::<Index>(), token).prop_map(|(at, token)| Change::Insert(at, token.as_bytes().to_vec())),
        (any::<Index>(), 1..60_usize).prop_map(|(at, count)| Change::Double(at, count)),
    ]
}

fn apply(line: &mut Vec<u8>, change: &Change) {
    if line.is_empty() {
        return;
    }
    match change {
        Change::Cut(at) => line.truncate(at.index(line.len())),
        Change::Remove(at, count) => {
            let at = at.index(line.len());
            let end = (at + count).min(line.len());
            line.drain(at..end);
        }
        Change::Replace(at, byte) => {
            let at = at.index(line.len());
            line[at] = *byte;
        }
        Change::Insert(at, bytes) => {
            let at = at.index(line.len());
            line.splice(at..at, bytes.iter().copied());
        }
        Change::Double(at, count) => {
            let at = at.index(line.len());
            let piece = line[at..(at + count).min(line.len())].to_vec();
            line.splice(at..at, piece);
        }
    }
}

/// Decodes in every way there is; a panic or a difference fails the test.
fn check(line: &[u8]) {
    let quick = decode(line);
    let thorough = decode_without_shortcuts(line);
    assert_eq!(quick, thorough, "{}", String::from_utf8_lossy(line));
    assert_eq!(quick.text, String::from_utf8_lossy(line));
    assert_eq!(quick.clone().into_owned(), quick);
    if let Inbound::Malformed(malformed) = &quick.message {
        assert!((1..300).contains(&malformed.reason.len()), "{}", malformed.reason);
    }
    if let Some(piece) = quick.piece() {
        assert_eq!(piece.line().as_bytes(), line, "a piece is made again as it was");
    }
    let outbound = Outbound::decode(line);
    assert_eq!(outbound.text, quick.text);
    if let jackfield_wire::OutboundMessage::Known(outbound) = outbound.message {
        let encoded = outbound.encode();
        assert!(!encoded.contains(['\n', '\r']));
        serde_json::from_str::<serde::de::IgnoredAny>(&encoded).expect("what is encoded is JSON");
    }
    decode_entry(line);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4_000, ..ProptestConfig::default() })]

    #[test]
    fn decoding_is_total_on_any_bytes(line in prop::collection::vec(any::<u8>(), 0..300)) {
        check(&line);
    }

    #[test]
    fn decoding_is_total_on_anything_like_json(line in r#"[{}\[\]",:\\a-c0-9eEtrufalsn\. -]{0,80}"#) {
        check(line.as_bytes());
    }

    #[test]
    fn a_delta_with_any_members_around_it_is_read_the_same_both_ways(
        index in prop::sample::select(vec!["0", "7", "12", "007", "-1", "1.0", "1e2", "99999999999999999999", "\"0\""]),
        piece in prop::collection::vec(prop::sample::select(vec![
            "a", "é", "\\n", "\\\"", "\\\\", "\\/", "\\u00e9", "\\ud83d", "\\ude00", "\\x", "\\u12", "\\u+123", "\t", "\u{7f}", "\"",
        ]), 0..5),
        inner in prop::sample::select(vec!["}}", "}}", "}}", ",\"x\":1}}", "},\"x\":1}", "} }", "}"]),
        tail in prop::collection::vec(prop::sample::select(vec![
            ",\"session_id\":\"s\"", ",\"session_id\":null", ",\"parent_tool_use_id\":null",
            ",\"parent_tool_use_id\":\"t\\n\"", ",\"uuid\":\"u\"", ",\"uuid\":5", ", \"uuid\":\"u\"", ",\"ttft_ms\":12",
            ",\"ttft_ms\":012", ",\"ttft_ms\":null", ",\"new\":{}", ",\"new\":\"\\ud83d\"", ",\"new\":3", ",\"n\\u0065w\":3",
            ",\"event\":null", ",\"type\":\"user\"", ",\"user_message_uuid\":\"p\"", ",\"user_message_uuids\":[\"p\"]",
            ",\"api_message_id\":null", ",\"owed_rows\":null", ",\"owed_rows\":1", ",\"\u{1}\":1", ",", "\u{1}",
        ]), 0..5),
        end in prop::sample::select(vec!["}", "}", "}", "}\r", "} ", "}x", ""]),
    ) {
        let line = format!(
            r#"{{"type":"stream_event","event":{{"type":"content_block_delta","index":{index},"delta":{{"type":"text_delta","text":"{}"{inner}{}{end}"#,
            piece.concat(), tail.concat(),
        );
        check(line.as_bytes());
    }

    #[test]
    fn a_delta_of_any_text_is_read_the_same_both_ways(
        text in any::<String>(),
        kind in prop::sample::select(vec![
            ("text_delta", "text"), ("thinking_delta", "thinking"), ("signature_delta", "signature"),
            ("input_json_delta", "partial_json"), ("new_delta", "text"),
        ]),
        index in any::<u64>(),
        parent in prop::option::of("[a-z_\"\\\\é]{0,12}"),
    ) {
        let line = format!(
            r#"{{"type":"stream_event","event":{{"type":"content_block_delta","index":{index},"delta":{{"type":"{}","{}":{}}}}},"session_id":"s","parent_tool_use_id":{},"uuid":"u"}}"#,
            kind.0, kind.1, serde_json::to_string(&text).unwrap(), serde_json::to_string(&parent).unwrap(),
        );
        check(line.as_bytes());
        let decoded = decode(line.as_bytes());
        let Inbound::StreamEvent(event) = decoded.message else { panic!("{decoded:?}") };
        prop_assert_eq!(event.parent_tool_use_id.as_deref(), parent.as_deref());
        let jackfield_wire::ApiEvent::ContentBlockDelta { index: read, delta } = event.event else { panic!("no delta") };
        prop_assert_eq!(read, index);
        let piece = match delta {
            jackfield_wire::Delta::Text(piece) | jackfield_wire::Delta::Thinking(piece)
            | jackfield_wire::Delta::Signature(piece) | jackfield_wire::Delta::InputJson(piece) => piece,
            other => {
                prop_assert_eq!(kind.0, "new_delta", "{:?}", other);
                return Ok(());
            }
        };
        prop_assert_eq!(piece, text);
    }
}

#[test]
fn decoding_is_total_on_changed_recordings_and_shortcuts_agree() {
    let seeds = seeds();
    let mut runner =
        proptest::test_runner::TestRunner::new(ProptestConfig { cases: 30_000, ..Default::default() });
    let input = (any::<Index>(), prop::collection::vec(change(), 1..4));
    runner
        .run(&input, |(seed, changes)| {
            let mut line = seeds[seed.index(seeds.len())].clone().into_bytes();
            for change in &changes {
                apply(&mut line, change);
            }
            check(&line);
            Ok(())
        })
        .unwrap();
}

#[test]
fn decoding_is_total_on_every_cut_of_every_form() {
    for seed in seeds().iter().filter(|seed| seed.len() < 700) {
        for end in 0..seed.len() {
            let line = &seed.as_bytes()[..end];
            assert_eq!(decode(line), decode_without_shortcuts(line));
        }
    }
}
