//! Updates as lines, ready to be sent.
//!
//! Text is nearly all there is, so its line is written by hand, into one buffer for a whole batch. The one rule it
//! keeps: the line is the same as the protocol's own type gives.

use serde::Serialize;

use super::{Sink, Text};
use crate::schema::{CLIENT_METHOD_NAMES, SessionId, SessionUpdate};

/// Updates of one session, as lines.
#[derive(Debug)]
pub struct Lines {
    session: SessionId,
    /// What stands before each update.
    opening: Vec<u8>,
    lines: Vec<u8>,
}

impl Lines {
    /// Updates of this session.
    pub fn new(session: SessionId) -> Self {
        let mut opening =
            b"{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":{\"sessionId\":".to_vec();
        write(&session, &mut opening);
        opening.extend_from_slice(b",\"update\":");
        debug_assert_eq!(CLIENT_METHOD_NAMES.session_update, "session/update");
        Self { session, opening, lines: Vec::new() }
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
    }
}

impl Sink for Lines {
    fn text(&mut self, of: Text, message: Option<&str>, text: &str) {
        self.lines.extend_from_slice(&self.opening);
        self.lines.extend_from_slice(match of {
            Text::Message => {
                b"{\"sessionUpdate\":\"agent_message_chunk\",\"content\":{\"type\":\"text\",\"text\":"
            }
            Text::Thought => {
                b"{\"sessionUpdate\":\"agent_thought_chunk\",\"content\":{\"type\":\"text\",\"text\":"
            }
        });
        write(text, &mut self.lines);
        self.lines.push(b'}');
        if let Some(message) = message {
            self.lines.extend_from_slice(b",\"messageId\":");
            write(message, &mut self.lines);
        }
        self.lines.extend_from_slice(b"}}}\n");
    }

    fn update(&mut self, update: SessionUpdate) {
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
}
