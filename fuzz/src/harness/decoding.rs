//! What must hold for any bytes on the wire.
//!
//! No session here, only lines. The one rule: decoding is total, and every shortcut gives what the long way
//! gives.

use jackfield_wire::{Inbound, Line, Lines, Outbound, OutboundMessage, decode, decode_without_shortcuts};

/// Decodes any bytes as lines in both directions.
pub fn check_decoding(bytes: &[u8]) {
    let whole: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
    for line in &whole {
        check_line(line);
    }
    check_framing(bytes, &whole);
}

fn check_line(line: &[u8]) {
    let quick = decode(line);
    assert_eq!(quick, decode_without_shortcuts(line), "a shortcut gives another value");
    assert_eq!(quick.text, String::from_utf8_lossy(line), "the line's text was not kept");
    if matches!(quick.message, Inbound::Blank) {
        assert!(line.iter().all(u8::is_ascii_whitespace), "a line with something in it is blank");
    }
    assert_eq!(quick.clone().into_owned(), quick, "a message changed when it was freed of its line");

    let sent = Outbound::decode(line);
    assert_eq!(sent.text, String::from_utf8_lossy(line), "the line's text was not kept");
    if let OutboundMessage::Known(message) = sent.message {
        let written = message.encode();
        assert!(!written.contains(['\n', '\r']), "an encoded line holds a line end: {written}");
        let again = Outbound::decode(written.as_bytes()).message;
        assert_eq!(again, OutboundMessage::Known(message), "what was written is not read back: {written}");
    }
}

/// Cuts the bytes in pieces, in a way that depends on the bytes only.
fn check_framing(bytes: &[u8], whole: &[&[u8]]) {
    let limit = 64;
    let mut lines = Lines::new(limit);
    let mut seen = Vec::new();
    let mut rest = bytes;
    while !rest.is_empty() {
        let length = (usize::from(rest[0]) % 13 + 1).min(rest.len());
        let (piece, after) = rest.split_at(length);
        lines.feed(piece, |line| seen.push(describe(line)));
        assert!(lines.kept() <= 2 * limit, "more than the limit is kept");
        rest = after;
    }
    lines.finish(|line| seen.push(describe(line)));
    // A last line without bytes is no line.
    let whole = whole.strip_suffix(&[&[][..]]).unwrap_or(whole);
    let expected: Vec<_> = whole
        .iter()
        .map(|line| if line.len() > limit { Err(line.len() as u64) } else { Ok(line.to_vec()) })
        .collect();
    assert_eq!(seen, expected, "cut bytes give other lines");
}

fn describe(line: Line<'_>) -> Result<Vec<u8>, u64> {
    match line {
        Line::Whole(line) => Ok(line.to_vec()),
        Line::TooLong { length } => Err(length),
    }
}
