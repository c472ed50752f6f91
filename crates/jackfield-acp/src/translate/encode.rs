//! Updates as lines, ready to be sent.
//!
//! Text is nearly all there is, so its line is written by hand, into one buffer for a whole batch. Pieces of one text
//! that are in a batch together, because they came faster than they are sent, become one piece: an editor that is
//! behind has less to read. The one rule it keeps: the line is the same as the protocol's own type gives.

use jackfield_api::codec;
use serde::Serialize;

use super::{Sink, Text};
use crate::schema::{CLIENT_METHOD_NAMES, SessionId, SessionUpdate};

/// How long a piece may get.
const PIECE: usize = 8 * 1024;

/// Updates of one session, as lines.
#[derive(Debug)]
pub struct Lines {
    session: SessionId,
    /// What stands before each update.
    opening: Vec<u8>,
    lines: Vec<u8>,
    /// The text that the last line is a piece of.
    piece: Option<Piece>,
    /// What stands behind a piece of it.
    closing: Vec<u8>,
}

/// A line that is a piece of a text.
#[derive(Debug)]
struct Piece {
    of: Text,
    message: Option<String>,
    /// Where the line begins.
    start: usize,
}

impl Lines {
    /// Updates of this session.
    pub fn new(session: SessionId) -> Self {
        let mut opening =
            b"{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":{\"sessionId\":".to_vec();
        write(&session, &mut opening);
        opening.extend_from_slice(b",\"update\":");
        debug_assert_eq!(CLIENT_METHOD_NAMES.session_update, "session/update");
        Self { session, opening, lines: Vec::new(), piece: None, closing: Vec::new() }
    }

    /// The session.
    pub fn session(&self) -> &SessionId {
        &self.session
    }

    /// What there is by now.
    pub fn lines(&self) -> &[u8] {
        &self.lines
    }

    /// Forgets it, because it was sent.
    pub fn clear(&mut self) {
        self.lines.clear();
        self.piece = None;
    }

    /// Whether a text goes on with the last line.
    fn goes_on(&self, of: Text, message: Option<&str>) -> bool {
        self.piece.as_ref().is_some_and(|piece| {
            piece.of == of && piece.message.as_deref() == message && self.lines.len() - piece.start < PIECE
        })
    }

    fn open(&mut self, of: Text, message: Option<&str>) {
        self.piece = Some(Piece { of, message: message.map(str::to_owned), start: self.lines.len() });
        self.lines.extend_from_slice(&self.opening);
        self.lines.extend_from_slice(match of {
            Text::Message => {
                b"{\"sessionUpdate\":\"agent_message_chunk\",\"content\":{\"type\":\"text\",\"text\":\""
            }
            Text::Thought => {
                b"{\"sessionUpdate\":\"agent_thought_chunk\",\"content\":{\"type\":\"text\",\"text\":\""
            }
        });
        self.closing.clear();
        self.closing.extend_from_slice(b"\"}");
        if let Some(message) = message {
            self.closing.extend_from_slice(b",\"messageId\":");
            write(message, &mut self.closing);
        }
        self.closing.extend_from_slice(b"}}}\n");
    }
}

impl Sink for Lines {
    fn text(&mut self, of: Text, message: Option<&str>, text: &str) {
        if self.goes_on(of, message) {
            self.lines.truncate(self.lines.len() - self.closing.len());
        } else {
            self.open(of, message);
        }
        codec::write_text(text, &mut self.lines);
        self.lines.extend_from_slice(&self.closing);
    }

    fn update(&mut self, update: SessionUpdate) {
        self.piece = None;
        self.lines.extend_from_slice(&self.opening);
        write(&update, &mut self.lines);
        self.lines.extend_from_slice(b"}}\n");
    }
}

fn write(value: &(impl Serialize + ?Sized), to: &mut Vec<u8>) {
    // A vector takes everything, and the protocol has no map with keys that are no strings.
    let _ = serde_json::to_writer(to, value);
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::Value;

    use super::*;
    use crate::schema::{ContentBlock, ContentChunk, MessageId, SessionNotification};

    #[test]
    fn text_written_by_hand_is_what_the_types_give() {
        for (of, message) in [(Text::Message, Some("msg_\"1")), (Text::Thought, None)] {
            let text = "a \"quoted\"\n\\ line \u{1}\u{1f600}";
            let mut lines = Lines::new(SessionId::new("s 1"));
            lines.text(of, message, text);
            let chunk = ContentChunk::new(ContentBlock::from(text)).message_id(message.map(MessageId::new));
            let update = match of {
                Text::Message => SessionUpdate::AgentMessageChunk(chunk),
                Text::Thought => SessionUpdate::AgentThoughtChunk(chunk),
            };
            let by_hand = lines.lines().to_vec();
            lines.clear();
            lines.update(update.clone());
            let read = |line: &[u8]| -> Value { serde_json::from_slice(line).unwrap() };
            assert_eq!(read(&by_hand), read(lines.lines()));
            let whole =
                serde_json::to_value(SessionNotification::new(SessionId::new("s 1"), update)).unwrap();
            assert_eq!(read(&by_hand)["params"], whole);
            assert!(by_hand.ends_with(b"\n") && !by_hand[..by_hand.len() - 1].contains(&b'\n'));
        }
    }

    #[test]
    fn pieces_of_one_text_that_wait_together_become_one_and_others_do_not() {
        let mut lines = Lines::new(SessionId::new("s"));
        let said = [
            (Text::Thought, Some("m1"), "hm\n"),
            (Text::Thought, Some("m1"), "\"so\""),
            (Text::Message, Some("m1"), "a"),
            (Text::Message, Some("m1"), "b"),
            (Text::Message, Some("m2"), "c"),
            (Text::Message, None, "d"),
            (Text::Message, None, "e"),
        ];
        for (of, message, text) in said {
            lines.text(of, message, text);
        }
        lines.update(SessionUpdate::AgentMessageChunk(ContentChunk::new(ContentBlock::from("f"))));
        lines.text(Text::Message, None, "g");
        let texts = |lines: &Lines| -> Vec<String> {
            let lines = std::str::from_utf8(lines.lines()).unwrap().lines();
            let read = |line: &str| serde_json::from_str::<Value>(line).unwrap();
            let text = |line: Value| line["params"]["update"]["content"]["text"].as_str().unwrap().to_owned();
            lines.map(read).map(text).collect()
        };
        assert_eq!(texts(&lines), ["hm\n\"so\"", "ab", "c", "de", "f", "g"]);
        lines.clear();
        lines.text(Text::Message, None, "h");
        assert_eq!(texts(&lines), ["h"]);
        lines.clear();
        for _ in 0..3 * PIECE {
            lines.text(Text::Message, None, "\n");
        }
        assert!(texts(&lines).len() > 3 && texts(&lines).concat().len() == 3 * PIECE);
    }
}
