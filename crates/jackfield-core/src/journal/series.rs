//! Pieces of one text that came at once: one line of a journal.
//!
//! The CLI's lines for pieces of a text are the same but for the words and the line's id, which are a sixth of them.
//! The first of those that came at once stands as it came. All that follow right behind it are one line:
//! `{"t":…,"dir":"out","index":…,"delta":…,"session_id":…,"more":{…},"words":[…],"uuids":[…]}`,
//! where `more` has what newer CLIs write behind each. The one rule: what is read of it is,
//! byte for byte, what came.

use std::ops::Range;

use jackfield_api::Timestamp;
use jackfield_wire::{DeltaKind, Piece};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::write_seconds;

/// Writes pieces that follow each other.
#[derive(Debug, Default)]
pub struct Series {
    /// The text that the last piece was one of.
    text: Option<Text>,
    /// Where the words begin of the line that is being written.
    begun: Option<usize>,
    /// The ids of the line, for its end.
    uuids: Vec<u8>,
}

/// What pieces of one text have in common.
#[derive(Debug)]
struct Text {
    at: Timestamp,
    index: u64,
    kind: DeltaKind,
    session_id: [u8; 36],
    rest: Vec<u8>,
}

impl Series {
    /// A line came that stands as it came. A piece that follows it may begin a series.
    #[inline]
    pub fn begin(&mut self, at: Timestamp, piece: Option<&Piece<'_>>) {
        self.text = piece.map(|Piece { index, kind, session_id, rest, .. }| Text {
            at,
            index: *index,
            kind: *kind,
            session_id: **session_id,
            rest: (*rest).to_owned(),
        });
    }

    /// Writes a piece, if it follows what came before it.
    #[inline]
    pub fn follow(&mut self, at: Timestamp, piece: &Piece<'_>, out: &mut Vec<u8>) -> bool {
        let Some(text) = self.text.as_ref().filter(|text| text.has(at, piece)) else { return false };
        if self.begun.is_none() {
            text.write(out);
            self.begun = Some(out.len());
        }
        out.extend_from_slice(piece.words);
        out.push(b',');
        self.uuids.extend_from_slice(piece.uuid);
        self.uuids.push(b',');
        true
    }

    /// Nothing follows any more: ends the line, if one was begun, and says where its words are.
    pub fn end(&mut self, out: &mut Vec<u8>) -> Option<Range<usize>> {
        self.text = None;
        let words = self.begun.take()?;
        // There is no comma behind the last.
        out.pop();
        self.uuids.pop();
        let words = words..out.len();
        out.extend_from_slice(b"],\"uuids\":[");
        out.append(&mut self.uuids);
        out.extend_from_slice(b"]}\n");
        Some(words)
    }
}

impl Text {
    fn has(&self, at: Timestamp, piece: &Piece<'_>) -> bool {
        (self.at, self.index, self.kind) == (at, piece.index, piece.kind)
            && is_same(&self.session_id, piece.session_id)
            && self.rest.len() == piece.rest.len()
            // Mostly it is the line's last brace and nothing else.
            && (piece.rest.len() == 1 || self.rest == piece.rest)
    }

    /// Writes a line up to its words.
    fn write(&self, out: &mut Vec<u8>) {
        write_seconds(self.at, out);
        out.extend_from_slice(b",\"dir\":\"out\",\"index\":");
        // A number cannot fail, nor can a vector that grows.
        let _ = serde_json::to_writer(&mut *out, &self.index);
        // Neither of these has letters that would have to be written otherwise.
        for part in [b",\"delta\":\"", self.kind.name().as_bytes(), b"\",\"session_id\":\"", &self.session_id]
        {
            out.extend_from_slice(part);
        }
        out.extend_from_slice(b"\",\"more\":{");
        out.extend_from_slice(self.rest.strip_prefix(b",").unwrap_or(&self.rest));
        out.extend_from_slice(b",\"words\":[");
    }
}

/// Whether two ids are the same. Without an early end many bytes are looked at at a time, and nothing is called.
fn is_same(one: &[u8; 36], other: &[u8; 36]) -> bool {
    one.iter().zip(other).fold(0, |differs, (one, other)| differs | (one ^ other)) == 0
}

/// What is read of such a line beside its time.
#[derive(Debug, Deserialize)]
pub(super) struct Written<'a> {
    index: u64,
    delta: String,
    session_id: String,
    #[serde(borrow)]
    more: &'a RawValue,
    #[serde(borrow)]
    words: Vec<&'a RawValue>,
    #[serde(borrow)]
    uuids: Vec<&'a RawValue>,
}

impl Written<'_> {
    /// The lines as they came; `None` if that cannot be known.
    pub(super) fn lines(&self) -> Option<Vec<String>> {
        let kind = DeltaKind::ALL.into_iter().find(|kind| kind.name() == self.delta)?;
        let (index, session_id) = (self.index, self.session_id.as_bytes().try_into().ok()?);
        let more = self.more.get().strip_prefix('{')?;
        let rest = if more == "}" { more.to_owned() } else { format!(",{more}") };
        let rest = rest.as_bytes();
        if self.words.len() != self.uuids.len() {
            return None;
        }
        let lines = self.words.iter().zip(&self.uuids).map(|(words, uuid)| {
            let (words, uuid) = (words.get().as_bytes(), uuid.get().as_bytes().try_into().ok()?);
            Some(Piece { index, kind, session_id, words, uuid, rest }.line())
        });
        lines.collect()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use jackfield_wire::decode;

    use super::super::Reader;
    use super::*;

    fn line(index: u64, kind: DeltaKind, words: &str, number: u64) -> String {
        line_with("}", index, kind, words, number)
    }

    fn line_with(rest: &str, index: u64, kind: DeltaKind, words: &str, number: u64) -> String {
        let session_id = b"8f14e45f-ceea-467f-9b3a-000000000000";
        let (words, uuid) = (format!("\"{words}\""), format!("\"00000000-0000-0000-0000-{number:012}\""));
        let (words, uuid, rest) = (words.as_bytes(), uuid.as_bytes().try_into().unwrap(), rest.as_bytes());
        Piece { index, kind, session_id, words, uuid, rest }.line()
    }

    #[test]
    fn pieces_that_follow_each_other_are_one_line_of_which_theirs_are_read() {
        let kinds = DeltaKind::ALL;
        for words in ["", " the", r#"\"a\" \\"#, r"\n\u00e4", "ä→😀"] {
            let kind = kinds[words.len() % kinds.len()];
            let rest = if words.len() % 2 == 0 { "}" } else { ",\"api_message_id\":\"msg_1\"}" };
            let came: Vec<String> = (0..5).map(|number| line_with(rest, 7, kind, words, number)).collect();
            let (mut series, mut out) = (Series::default(), b"before\n".to_vec());
            series.begin(Timestamp(1001), decode(came[0].as_bytes()).piece().as_ref());
            for line in &came[1..] {
                assert!(series.follow(Timestamp(1001), &decode(line.as_bytes()).piece().unwrap(), &mut out));
            }
            let said = series.end(&mut out).unwrap();
            assert_eq!(out[said], [format!("\"{words}\"").as_str(); 4].join(",").into_bytes());
            let written = std::str::from_utf8(&out).unwrap().strip_prefix("before\n").unwrap();
            let read = Reader::default().read(written.strip_suffix('\n').unwrap()).unwrap();
            assert!(read.iter().all(|entry| entry.at() == Timestamp(1001) && entry.dir == "out"));
            assert_eq!(
                read.iter().map(|entry| &entry.line).collect::<Vec<_>>(),
                came[1..].iter().collect::<Vec<_>>()
            );
            assert_eq!(series.end(&mut out), None, "it is over");
        }
    }

    #[test]
    fn what_is_of_another_text_or_time_does_not_follow() {
        let (mut series, mut out) = (Series::default(), Vec::new());
        let mut follows = |at, line: &str, series: &mut Series| {
            series.follow(Timestamp(at), &decode(line.as_bytes()).piece().unwrap(), &mut out)
        };
        let first = line(0, DeltaKind::Text, "a", 1);
        assert!(!follows(1, &first, &mut series), "nothing came before it");
        series.begin(Timestamp(1), decode(first.as_bytes()).piece().as_ref());
        for (at, other) in [
            (2, line(0, DeltaKind::Text, "a", 2)),
            (1, line(1, DeltaKind::Text, "a", 2)),
            (1, line(0, DeltaKind::Thinking, "a", 2)),
            (1, line(0, DeltaKind::Text, "a", 2).replace("8f14e45f", "9f14e45f")),
            (1, line_with(",\"ttft_ms\":1}", 0, DeltaKind::Text, "a", 2)),
        ] {
            assert!(!follows(at, &other, &mut series), "{other}");
        }
        assert!(follows(1, &first, &mut series));
        series.begin(Timestamp(1), None);
        assert!(!follows(1, &first, &mut series), "something else came between them");
    }
}
