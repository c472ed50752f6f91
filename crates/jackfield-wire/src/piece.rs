//! A line that is a piece of a text and nothing else, taken apart so that it can be made again.
//!
//! It is known by where its parts lie, which decoding has found; nothing is read twice. The rule: what is made again is
//! the line, byte for byte; a line of any other form is no such piece.

use std::borrow::Cow;

use crate::delta::{DELTA, DeltaKind, HEAD, KIND};
use crate::inbound::{Decoded, Form, Inbound, looks_like_uuid};
use crate::stream_event::{ApiEvent, Delta};

/// What stands between the words and the session.
const SESSION: &[u8; 17] = br#"}},"session_id":""#;
/// What stands between the session and the line's id.
const UUID: &[u8; 35] = br#"","parent_tool_use_id":null,"uuid":"#;
/// A quote, which words and ids have on both sides.
const QUOTE: usize = 1;

/// A piece of a text: all that differs from line to line, and from text to text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece<'a> {
    /// The block's place in the message.
    pub index: u64,
    /// What kind of text it is.
    pub kind: DeltaKind,
    /// The CLI's session, which has the form of a UUID.
    pub session_id: &'a [u8; 36],
    /// The words as they stand in the line, with their quotes.
    pub words: &'a [u8],
    /// The line's id, which has the form of a UUID, with its quotes.
    pub uuid: &'a [u8; 38],
    /// What stands behind it, up to the line's end: members that only newer CLIs write, or none.
    pub rest: &'a [u8],
}

impl Decoded<'_> {
    /// The piece of a text that the line is, if it is nothing else.
    #[inline]
    pub fn piece(&self) -> Option<Piece<'_>> {
        let (Form::Usual | Form::Whole, Inbound::StreamEvent(event)) = (self.form, &self.message) else {
            return None;
        };
        let ApiEvent::ContentBlockDelta { index, delta } = &event.event else { return None };
        let (kind, words) = match delta {
            Delta::Text(words) => (DeltaKind::Text, words),
            Delta::Thinking(words) => (DeltaKind::Thinking, words),
            Delta::InputJson(words) => (DeltaKind::InputJson, words),
            Delta::Signature(words) => (DeltaKind::Signature, words),
            Delta::Citations(_) | Delta::Unknown { .. } => return None,
        };
        let (Some(Cow::Borrowed(session_id)), None, Some(Cow::Borrowed(uuid))) =
            (&event.session_id, &event.parent_tool_use_id, &event.uuid)
        else {
            return None;
        };
        let line = self.text.as_bytes();
        let place = |part: &str| part.as_ptr().addr().checked_sub(line.as_ptr().addr());
        let (session_at, uuid_at) = (place(session_id)?, place(uuid)?.checked_sub(QUOTE)?);
        let session_end = session_at + session_id.len();
        let words_end = session_at.checked_sub(SESSION.len())?;
        // Where there are only these members, nothing else can stand in so much room.
        let is_between = || {
            line.get(words_end..).and_then(<[u8]>::first_chunk) == Some(SESSION)
                && line.get(session_end..).and_then(<[u8]>::first_chunk) == Some(UUID)
        };
        if session_end + UUID.len() != uuid_at
            || !(self.form == Form::Whole || is_between())
            || line.last() != Some(&b'}')
            || !looks_like_uuid(session_id)
            || !looks_like_uuid(uuid)
        {
            return None;
        }
        let words_at = match words {
            Cow::Borrowed(words) => place(words)?,
            // They lie elsewhere, since they were escaped.
            Cow::Owned(_) => before_words(*index, kind),
        };
        let words = line.get(words_at.checked_sub(QUOTE)?..words_end)?;
        let (uuid, rest) = line.get(uuid_at..)?.split_first_chunk()?;
        Some(Piece {
            index: *index,
            kind,
            session_id: session_id.as_bytes().try_into().ok()?,
            words,
            uuid,
            rest,
        })
    }
}

impl Piece<'_> {
    /// The line.
    pub fn line(&self) -> String {
        let index = self.index.to_string();
        let parts: [&[u8]; 11] = [
            HEAD.as_bytes(),
            DELTA.as_bytes(),
            index.as_bytes(),
            KIND.as_bytes(),
            // With the words comes the quote before them.
            self.kind.form().trim_end_matches('"').as_bytes(),
            self.words,
            SESSION,
            self.session_id,
            UUID,
            self.uuid,
            self.rest,
        ];
        String::from_utf8_lossy(&parts.concat()).into_owned()
    }
}

/// How much stands before the words and behind their quote.
fn before_words(index: u64, kind: DeltaKind) -> usize {
    let digits = index.checked_ilog10().map_or(1, |more| more as usize + 1);
    HEAD.len() + DELTA.len() + digits + KIND.len() + kind.form().len()
}

#[cfg(test)]
mod tests {
    use crate::{decode, decode_without_shortcuts};

    const ID: &str = "8f14e45f-ceea-467f-9b3a-000000000001";

    fn line(index: &str, delta: &str, tail: &str) -> String {
        format!(
            r#"{{"type":"stream_event","event":{{"type":"content_block_delta","index":{index},"delta":{{"type":{delta}}}}},{tail}}}"#
        )
    }

    fn usual() -> String {
        format!(r#""session_id":"{ID}","parent_tool_use_id":null,"uuid":"{ID}""#)
    }

    #[test]
    fn a_piece_of_each_kind_is_made_again_of_what_it_says() {
        for index in ["0", "7", "10", "99", "100", "123456789012345678"] {
            for (kind, member) in [
                ("text_delta", "text"),
                ("thinking_delta", "thinking"),
                ("input_json_delta", "partial_json"),
                ("signature_delta", "signature"),
            ] {
                for words in
                    ["", " the", r#"\"a\" \\"#, r"\n\u00e4\ud83d\ude00", "ä→😀", r#"\"}},\"session_id\":\""#]
                {
                    let line = line(index, &format!(r#""{kind}","{member}":"{words}""#), &usual());
                    for decoded in [decode(line.as_bytes()), decode_without_shortcuts(line.as_bytes())] {
                        if let Some(piece) = decoded.piece() {
                            assert_eq!(piece.line(), line);
                            assert_eq!(piece.words, format!("\"{words}\"").as_bytes());
                        } else {
                            assert!(words.contains(r"\ud83d"), "only a surrogate is left to others: {line}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn what_newer_clis_write_behind_it_is_the_rest() {
        for rest in ["", r#","api_message_id":"msg_1""#, r#","ttft_ms":1,"thinking_display":"updates""#] {
            let line = line("0", r#""text_delta","text":"\"a""#, &(usual() + rest));
            let decoded = decode(line.as_bytes());
            let piece = decoded.piece();
            assert_eq!(
                piece.map(|piece| (piece.line(), piece.rest.len())),
                Some((line.clone(), rest.len() + 1))
            );
        }
    }

    #[test]
    fn a_line_of_any_other_form_is_no_piece() {
        let text = r#""text_delta","text":"a""#;
        let id = "not-a-uuid";
        for line in [
            line("0", text, &format!("{}\r", usual())),
            line("0", text, &format!("{} ", usual())),
            line("0", text, &format!(r#""uuid":"{ID}","parent_tool_use_id":null,"session_id":"{ID}""#)),
            line("0", text, &format!(r#""parent_tool_use_id":null,"session_id":"{ID}","uuid":"{ID}""#)),
            line("0", text, &format!(r#""session_id":"{ID}","uuid":"{ID}""#)),
            line("0", text, &format!(r#""ttft_ms":1,{}"#, usual())),
            line("0", r#""text_delta","text":"a","more":{"b":"c"}"#, &usual()),
            line("0", text, &format!(r#""session_id":"{ID}","parent_tool_use_id":"a","uuid":"{ID}""#)),
            line("0", text, &format!(r#""session_id":"{id}","parent_tool_use_id":null,"uuid":"{ID}""#)),
            line("0", text, &format!(r#""session_id":"{ID}","parent_tool_use_id":null,"uuid":"{id}""#)),
            line("0", r#""text_delta","text":"a","more":1"#, &usual()),
            line("0", r#""citations_delta","citation":{}"#, &usual()),
            format!("{}\r", line("0", text, &usual())),
            r#"{"type":"keep_alive"}"#.to_owned(),
            "no JSON".to_owned(),
        ] {
            assert_eq!(decode(line.as_bytes()).piece(), None, "{line}");
        }
        let line = line("0", text, &usual());
        assert_eq!(decode(line.as_bytes()).into_owned().piece(), None, "its parts lie elsewhere");
    }
}
