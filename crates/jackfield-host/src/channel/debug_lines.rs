//! Events as they stand in a debug file: line by line, but a text that pours in stands in few of them.
//!
//! Pieces of one text that came in the same millisecond, one right behind the other, have all but their numbers and words
//! in common, which is a tenth of what they are. So they are one line, with the number of the first, all of the words,
//! and `last_seq`, the number of the last. The one rule it keeps: every event is in exactly one line, in its order.

use std::io::Write as _;

use jackfield_api::codec::Encoded;
use jackfield_api::{Seq, Timestamp};

/// What stands behind the words of a piece: the end of them, and its own.
const ENDING: &[u8] = b"\"}";

/// How much room is kept for lines to come.
const KEPT: usize = 64 * 1024;

/// Lines for a debug file, with their newlines.
#[derive(Debug, Default)]
pub(crate) struct DebugLines {
    lines: Vec<u8>,
    /// The last line has pieces, and no ending yet.
    open: Option<Pieces>,
}

#[derive(Debug)]
struct Pieces {
    at: Timestamp,
    first: Seq,
    last: Seq,
}

impl DebugLines {
    /// Takes an event as it was encoded.
    pub(crate) fn push(&mut self, (seq, at): (Seq, Timestamp), line: &[u8], encoded: Encoded) {
        // Where its words end, if it is a piece.
        let words = line.len().saturating_sub(ENDING.len());
        match (encoded, &mut self.open) {
            (Encoded::Other, _) => {
                self.close();
                self.lines.extend_from_slice(line);
                self.lines.push(b'\n');
            }
            (Encoded::Next(before), Some(open)) if open.at == at && open.last.0 + 1 == seq.0 => {
                // Without the quote before them.
                self.lines.extend_from_slice(line.get(before + 1..words).unwrap_or_default());
                open.last = seq;
            }
            (Encoded::First | Encoded::Next(_), _) => {
                self.close();
                self.lines.extend_from_slice(line.get(..words).unwrap_or_default());
                self.open = Some(Pieces { at, first: seq, last: seq });
            }
        }
    }

    /// All lines, the last of them whole.
    pub(crate) fn end(&mut self) -> &mut Vec<u8> {
        self.close();
        &mut self.lines
    }

    /// Lets go of all lines, but not of their room: new memory may lie in the reach of another processor.
    pub(crate) fn clear(&mut self) {
        self.lines.clear();
        self.lines.shrink_to(KEPT);
    }

    fn close(&mut self) {
        let Some(Pieces { first, last, .. }) = self.open.take() else { return };
        if first == last {
            self.lines.extend_from_slice(ENDING);
            self.lines.push(b'\n');
        } else {
            // A vector takes everything.
            let _ = writeln!(self.lines, "\",\"last_seq\":{}}}", last.0);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use jackfield_api::codec::{self, Encoder};
    use jackfield_api::conversation::{MessageChunk, Reasoning};
    use jackfield_api::trouble::Gap;
    use jackfield_api::{Body, Event, ItemId};

    use super::*;

    fn piece(item: u64, text: &str) -> Body {
        MessageChunk { item_id: ItemId(item), message_id: None, text: text.into() }.into()
    }

    fn event(seq: u64, at: u64, body: Body) -> Event {
        let (seq, at, session_id) = (Seq(seq), Timestamp(at), "s".into());
        Event { body, seq, at, session_id, turn: None, parent_tool_call_id: None }
    }

    fn written(events: &[Event]) -> String {
        let (mut encoder, mut lines) = (Encoder::default(), DebugLines::default());
        for event in events {
            let mut line = Vec::new();
            let encoded = encoder.encode(event, &mut line);
            lines.push((event.seq, event.at), &line, encoded);
        }
        String::from_utf8(lines.end().clone()).unwrap()
    }

    /// The line of an event, which has pieces up to this number.
    fn line(event: &Event, last: Option<u64>) -> String {
        let mut line = Vec::new();
        codec::encode(event, &mut line);
        let line = String::from_utf8(line).unwrap();
        match last {
            Some(last) => format!("{},\"last_seq\":{last}}}\n", line.strip_suffix('}').unwrap()),
            None => line + "\n",
        }
    }

    #[test]
    fn pieces_that_came_at_once_are_one_line() {
        let events =
            [event(7, 1, piece(7, "one\n")), event(8, 1, piece(7, "\"two\"")), event(9, 1, piece(7, ""))];
        assert_eq!(written(&events), line(&event(7, 1, piece(7, "one\n\"two\"")), Some(9)));
        assert_eq!(written(&events[..1]), line(&events[0], None));
        assert_eq!(written(&[]), "");
    }

    #[test]
    fn what_does_not_belong_together_stands_in_lines_of_its_own() {
        let thought = Reasoning { item_id: ItemId(1), message_id: None, reasoning_text: "hm".into() };
        let events = [
            event(1, 1, piece(1, "first")),
            event(2, 2, piece(1, "later")),
            event(4, 2, piece(1, "behind a hole")),
            event(5, 2, piece(5, "another text")),
            event(6, 2, piece(1, "the first again")),
            event(7, 2, thought.into()),
            event(8, 2, Gap { from: Seq(0), to: Seq(0) }.into()),
            event(9, 2, piece(1, "behind something else")),
        ];
        let expected: String = events.iter().map(|event| line(event, None)).collect();
        assert_eq!(written(&events), expected);
    }
}
