//! An event to and from one line of JSON.
//!
//! An event is encoded once, for all who read it, so this is a hot path: the envelope and the streaming
//! events are written by hand, all else by `serde`. Members stand in the order that a person wants to
//! read: `type`, `seq`, `at`, `session_id`, `turn`, `parent_tool_call_id`, then the event's own.

use compact_str::CompactString;
use serde::Deserialize;
use serde::de::Error as _;

use crate::conversation::{MessageChunk, Reasoning};
use crate::event::{Body, Event};
use crate::id::{ItemId, MessageId, Seq, SessionId, Timestamp, ToolCallId, TurnNumber};

/// Appends `event` as one line of JSON, without the newline.
pub fn encode(event: &Event, out: &mut Vec<u8>) {
    write_head(event, out);
    write_place(event, out);
    match Words::of(&event.body) {
        Some(words) => {
            words.write_before(out);
            words.write(out);
        }
        None => write_members(&event.body, out),
    }
    out.push(b'}');
}

/// Encodes event after event. Pieces of one text have all but their number, their time and their words in common, which
/// is written for the first and copied for the others.
#[derive(Debug, Default)]
pub struct Encoder {
    last: Option<Last>,
    /// What all pieces of the last text have between their time and their words.
    common: Vec<u8>,
}

/// The text that the last piece was of.
#[derive(Debug)]
struct Last {
    session_id: SessionId,
    turn: Option<TurnNumber>,
    parent_tool_call_id: Option<ToolCallId>,
    item: ItemId,
    message: Option<MessageId>,
    member: &'static str,
}

/// What was encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoded {
    /// No piece of a text.
    Other,
    /// A piece of another text than the last one.
    First,
    /// A piece of the same text as the last one. So far into it begin its words, which only a brace stands behind.
    Next(usize),
}

impl Encoder {
    /// Appends `event` exactly as [`encode`] does.
    pub fn encode(&mut self, event: &Event, out: &mut Vec<u8>) -> Encoded {
        let Some(words) = Words::of(&event.body) else {
            encode(event, out);
            return Encoded::Other;
        };
        let goes_on = self.last.as_ref().is_some_and(|last| last.goes_on(event, &words));
        if !goes_on {
            self.common.clear();
            write_place(event, &mut self.common);
            words.write_before(&mut self.common);
            self.last = Some(Last {
                session_id: event.session_id.clone(),
                turn: event.turn,
                parent_tool_call_id: event.parent_tool_call_id.clone(),
                item: words.item,
                message: words.message.cloned(),
                member: words.member,
            });
        }
        let begin = out.len();
        write_head(event, out);
        out.extend_from_slice(&self.common);
        let before = out.len() - begin;
        words.write(out);
        out.push(b'}');
        if goes_on { Encoded::Next(before) } else { Encoded::First }
    }
}

impl Last {
    fn goes_on(&self, event: &Event, words: &Words<'_>) -> bool {
        self.item == words.item
            && self.member == words.member
            && self.turn == event.turn
            && self.message.as_ref() == words.message
            && self.session_id == event.session_id
            && self.parent_tool_call_id == event.parent_tool_call_id
    }
}

/// A piece of a text or of a thought.
struct Words<'a> {
    item: ItemId,
    message: Option<&'a MessageId>,
    member: &'static str,
    text: &'a str,
}

impl<'a> Words<'a> {
    fn of(body: &'a Body) -> Option<Self> {
        match body {
            Body::MessageChunk(MessageChunk { item_id, message_id, text }) => {
                Some(Self { item: *item_id, message: message_id.as_ref(), member: "text", text })
            }
            Body::Reasoning(Reasoning { item_id, message_id, reasoning_text: text }) => {
                Some(Self { item: *item_id, message: message_id.as_ref(), member: "reasoning_text", text })
            }
            _ => None,
        }
    }

    fn write_before(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b",\"item_id\":");
        write_number(self.item.0, out);
        out.extend_from_slice(b",\"message_id\":");
        match self.message {
            Some(id) => write_string(id.as_str(), out),
            None => out.extend_from_slice(b"null"),
        }
        out.extend_from_slice(b",\"");
        out.extend_from_slice(self.member.as_bytes());
        out.extend_from_slice(b"\":");
    }

    fn write(&self, out: &mut Vec<u8>) {
        write_string(self.text, out);
    }
}

fn write_head(event: &Event, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"type\":\"");
    out.extend_from_slice(event.body.tag().as_bytes());
    out.extend_from_slice(b"\",\"seq\":");
    write_number(event.seq.0, out);
    out.extend_from_slice(b",\"at\":");
    write_number(event.at.0, out);
}

fn write_place(event: &Event, out: &mut Vec<u8>) {
    out.extend_from_slice(b",\"session_id\":");
    write_string(event.session_id.as_str(), out);
    out.extend_from_slice(b",\"turn\":");
    match event.turn {
        Some(turn) => write_number(u64::from(turn.0), out),
        None => out.extend_from_slice(b"null"),
    }
    if let Some(parent) = &event.parent_tool_call_id {
        out.extend_from_slice(b",\"parent_tool_call_id\":");
        write_string(parent.as_str(), out);
    }
}

/// Reads an event back from its line. What streams, as [`encode`] writes it, is read in one go.
pub fn decode(line: &str) -> Result<Event, serde_json::Error> {
    if line.starts_with("{\"type\":\"message_chunk\",") {
        let Piece { seq, at, session_id, turn, parent_tool_call_id, item_id, message_id, text } =
            serde_json::from_str(line)?;
        let body = Body::MessageChunk(MessageChunk { item_id, message_id, text });
        return Ok(Event { body, seq, at, session_id, turn, parent_tool_call_id });
    }
    if line.starts_with("{\"type\":\"reasoning\",") {
        let Piece { seq, at, session_id, turn, parent_tool_call_id, item_id, message_id, text } =
            serde_json::from_str(line)?;
        let body = Body::Reasoning(Reasoning { item_id, message_id, reasoning_text: text });
        return Ok(Event { body, seq, at, session_id, turn, parent_tool_call_id });
    }
    let Envelope { seq, at, session_id, turn, parent_tool_call_id } = serde_json::from_str(line)?;
    Ok(Event { body: Body::from_text(line)?, seq, at, session_id, turn, parent_tool_call_id })
}

/// What every event has.
#[derive(Deserialize)]
struct Envelope {
    seq: Seq,
    at: Timestamp,
    session_id: SessionId,
    turn: Option<TurnNumber>,
    parent_tool_call_id: Option<ToolCallId>,
}

/// A piece of text or of a thought, with its envelope.
#[derive(Deserialize)]
struct Piece {
    seq: Seq,
    at: Timestamp,
    session_id: SessionId,
    turn: Option<TurnNumber>,
    parent_tool_call_id: Option<ToolCallId>,
    item_id: ItemId,
    message_id: Option<MessageId>,
    #[serde(alias = "reasoning_text")]
    text: CompactString,
}

impl<'de> Deserialize<'de> for Event {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let raw = Box::<serde_json::value::RawValue>::deserialize(from)?;
        decode(raw.get()).map_err(D::Error::custom)
    }
}

/// The members that `serde` writes for a body, without its braces and its tag.
fn write_members(body: &Body, out: &mut Vec<u8>) {
    let start = out.len();
    // Only a map with keys that are no strings can fail, and the contract has none.
    if serde_json::to_writer(&mut *out, body).is_err() {
        out.truncate(start);
        return;
    }
    // `{"type":"…"` is what the envelope has already; what follows is `,"member":…}` or `}`.
    let written = b"{\"type\":\"\"".len() + body.tag().len();
    out.drain(start..start + written);
    out.pop();
}

fn write_number(number: u64, out: &mut Vec<u8>) {
    // A number cannot fail, nor can a vector that grows.
    let _ = serde_json::to_writer(out, &number);
}

fn write_string(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    write_text(text, out);
    out.push(b'"');
}

/// Appends the inside of a JSON string. Text that needs no escape, which is nearly all of it, is copied whole.
pub fn write_text(text: &str, out: &mut Vec<u8>) {
    if is_plain(text.as_bytes()) {
        out.extend_from_slice(text.as_bytes());
    } else {
        write_escaped(text.as_bytes(), out);
    }
}

/// Whether nothing needs an escape, eight bytes at a time.
fn is_plain(bytes: &[u8]) -> bool {
    const fn each(byte: u8) -> u64 {
        u64::from_ne_bytes([byte; 8])
    }
    // The highest bit of a byte is set where the byte is smaller than `than` (which is at most 128) …
    let smaller = |word: u64, than: u8| word.wrapping_sub(each(than)) & !word;
    // … and where it is equal, because only then is the difference smaller than 1. A borrow may set a bit
    // above a true one as well, never without one.
    let equal = |word: u64, to: u8| smaller(word ^ each(to), 1);
    let special = |word: u64| (smaller(word, b' ') | equal(word, b'"') | equal(word, b'\\')) & each(0x80);

    let Some(last) = bytes.last_chunk::<8>() else {
        return bytes.iter().all(|&byte| ESCAPES[usize::from(byte)] == 0);
    };
    let (words, _) = bytes.as_chunks::<8>();
    // The last word overlaps the one before, which costs less than looking at single bytes.
    let found = words.iter().chain([last]).fold(0, |found, word| found | special(u64::from_ne_bytes(*word)));
    found == 0
}

fn write_escaped(bytes: &[u8], out: &mut Vec<u8>) {
    let mut from = 0;
    for (at, &byte) in bytes.iter().enumerate() {
        let escape = ESCAPES[usize::from(byte)];
        if escape == 0 {
            continue;
        }
        out.extend_from_slice(&bytes[from..at]);
        from = at + 1;
        if escape == b'u' {
            const HEX: &[u8; 16] = b"0123456789abcdef";
            let (high, low) = (HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]);
            out.extend_from_slice(&[b'\\', b'u', b'0', b'0', high, low]);
        } else {
            out.extend_from_slice(&[b'\\', escape]);
        }
    }
    out.extend_from_slice(&bytes[from..]);
}

/// For each byte the letter behind its backslash, or 0 if it stands for itself.
const ESCAPES: [u8; 256] = {
    let mut table = [0; 256];
    let mut control = 0;
    while control < 32 {
        table[control] = b'u';
        control += 1;
    }
    table[8] = b'b';
    table[9] = b't';
    table[10] = b'n';
    table[12] = b'f';
    table[13] = b'r';
    table[b'"' as usize] = b'"';
    table[b'\\' as usize] = b'\\';
    table
};
