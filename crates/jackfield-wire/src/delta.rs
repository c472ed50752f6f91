//! The usual delta, and the ends of blocks and messages, read by hand.
//!
//! It knows one form of each, the one the CLI writes; on anything else it gives up and serde reads the
//! line. The rule: what it reads is what serde would have read.

use std::borrow::Cow;

use memchr::memchr2;

use crate::ids::Uuid;
use crate::inbound::Form;
use crate::stream_event::{ApiEvent, Delta, StreamEvent, StreamEventMore};

pub(crate) const HEAD: &str = r#"{"type":"stream_event","event":{"type":""#;
pub(crate) const DELTA: &str = r#"content_block_delta","index":"#;
/// What stands behind the index.
pub(crate) const KIND: &str = r#","delta":{"type":""#;
const BLOCK_STOP: &str = r#"content_block_stop","index":"#;
const MESSAGE_STOP: &str = r#"message_stop"}"#;

/// A stream event in its usual form, and what is known of that; `None` for everything else, well-formed or not.
#[inline]
pub(crate) fn read(text: &str) -> Option<(StreamEvent<'_>, Form)> {
    let rest = text.strip_prefix(HEAD)?;
    let rest = rest.strip_suffix('\r').unwrap_or(rest);
    // A control character may stand in no string, and nothing else here may hold one either.
    if !is_clean(rest) {
        return None;
    }
    let mut reader = Reader { rest, form: Form::Whole };
    if reader.skip(DELTA).is_none() {
        return reader.stop();
    }
    let index = reader.number()?;
    reader.skip(KIND)?;
    let kind = reader.delta_kind()?;
    let piece = reader.string()?;
    reader.skip("}}")?;
    let delta = match kind {
        DeltaKind::Text => Delta::Text(piece),
        DeltaKind::Thinking => Delta::Thinking(piece),
        DeltaKind::InputJson => Delta::InputJson(piece),
        DeltaKind::Signature => Delta::Signature(piece),
    };
    reader.tail(ApiEvent::ContentBlockDelta { index, delta })
}

/// What is added to a block by a piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeltaKind {
    /// Text.
    Text,
    /// Thinking.
    Thinking,
    /// A piece of the tool input's JSON text.
    InputJson,
    /// The thinking's signature.
    Signature,
}

impl DeltaKind {
    /// All of them, the most frequent first.
    pub const ALL: [Self; 4] = [Self::Text, Self::InputJson, Self::Thinking, Self::Signature];

    /// Its name on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Text => "text_delta",
            Self::InputJson => "input_json_delta",
            Self::Thinking => "thinking_delta",
            Self::Signature => "signature_delta",
        }
    }

    /// Its name and the name of its one member, up to the member's opening quote.
    pub(crate) const fn form(self) -> &'static str {
        match self {
            Self::Text => r#"text_delta","text":""#,
            Self::InputJson => r#"input_json_delta","partial_json":""#,
            Self::Thinking => r#"thinking_delta","thinking":""#,
            Self::Signature => r#"signature_delta","signature":""#,
        }
    }
}

struct Reader<'a> {
    rest: &'a str,
    /// Whether everything that was read is in the event.
    form: Form,
}

impl<'a> Reader<'a> {
    /// The end of a block or of a message.
    fn stop(mut self) -> Option<(StreamEvent<'a>, Form)> {
        if self.skip(MESSAGE_STOP).is_some() {
            return self.tail(ApiEvent::MessageStop);
        }
        self.skip(BLOCK_STOP)?;
        let index = self.number()?;
        self.skip("}")?;
        self.tail(ApiEvent::ContentBlockStop { index })
    }

    #[inline]
    fn skip(&mut self, expected: &str) -> Option<()> {
        self.rest = self.rest.strip_prefix(expected)?;
        Some(())
    }

    /// A number in the only form of JSON that needs no thought.
    #[inline]
    fn number(&mut self) -> Option<u64> {
        let mut number = 0;
        let mut end = 0;
        for digit in self.rest.bytes().take_while(u8::is_ascii_digit).take(18) {
            number = number * 10 + u64::from(digit - b'0');
            end += 1;
        }
        let plain = end == 1 || (end > 1 && !self.rest.starts_with('0'));
        let rest = &self.rest[end..];
        if !plain || rest.starts_with(|next: char| matches!(next, '0'..='9' | '.' | 'e' | 'E')) {
            return None;
        }
        self.rest = rest;
        Some(number)
    }

    /// The delta's type and the name of its one member, up to the member's opening quote.
    #[inline]
    fn delta_kind(&mut self) -> Option<DeltaKind> {
        DeltaKind::ALL.into_iter().find(|kind| self.skip(kind.form()).is_some())
    }

    /// A string after its opening quote; borrowed when it has no escapes.
    #[inline]
    fn string(&mut self) -> Option<Cow<'a, str>> {
        let bytes = self.rest.as_bytes();
        let end = memchr2(b'"', b'\\', bytes)?;
        if bytes[end] == b'\\' {
            return self.escaped_string(end);
        }
        let text = &self.rest[..end];
        self.rest = &self.rest[end + 1..];
        Some(Cow::Borrowed(text))
    }

    /// A string whose first escape is here.
    fn escaped_string(&mut self, escape: usize) -> Option<Cow<'a, str>> {
        let bytes = self.rest.as_bytes();
        let mut end = escape;
        while bytes[end] == b'\\' {
            end += 2;
            end += memchr2(b'"', b'\\', bytes.get(end..)?)?;
        }
        let text = unescape(&self.rest[..end])?;
        self.rest = &self.rest[end + 1..];
        Some(Cow::Owned(text))
    }

    /// A string or null.
    #[inline]
    fn string_or_null(&mut self, text: &mut Option<Cow<'a, str>>) -> Option<()> {
        if self.skip("null").is_none() {
            self.skip("\"")?;
            *text = Some(self.string()?);
        }
        Some(())
    }

    /// The members after the event, and the end of the line.
    #[inline]
    fn tail(mut self, event: ApiEvent<'a>) -> Option<(StreamEvent<'a>, Form)> {
        let (mut session_id, mut parent_tool_use_id, mut uuid) = (None, None, None);
        let (mut ttft_ms, mut more) = (None, None);
        // One bit per member: serde refuses a second one of the same name, so this must not pass it.
        let mut seen = 0_u8;
        loop {
            let bit = if self.skip(r#","session_id":"#).is_some() {
                self.string_or_null(&mut session_id)?;
                1
            } else if self.skip(r#","parent_tool_use_id":"#).is_some() {
                self.string_or_null(&mut parent_tool_use_id)?;
                2
            } else if self.skip(r#","uuid":"#).is_some() {
                self.string_or_null(&mut uuid)?;
                4
            } else if self.skip(",\"").is_some() {
                self.form = Form::Usual;
                self.rarer_member(&mut ttft_ms, &mut more)?
            } else {
                break;
            };
            if seen & bit != 0 {
                return None;
            }
            seen |= bit;
        }
        let event = StreamEvent { event, session_id, parent_tool_use_id, uuid, ttft_ms, more };
        (self.rest == "}").then_some((event, self.form))
    }

    /// A member that deltas of the recorded CLI do not have, after its opening quote; gives its bit.
    fn rarer_member(
        &mut self,
        ttft_ms: &mut Option<u64>,
        more: &mut Option<Box<StreamEventMore>>,
    ) -> Option<u8> {
        let end = memchr2(b'"', b'\\', self.rest.as_bytes())?;
        let (name, rest) = self.rest.split_at(end);
        self.rest = rest;
        self.skip("\":")?;
        let mut text = None;
        Some(match name {
            "ttft_ms" => {
                *ttft_ms = Some(self.number()?);
                8
            }
            "user_message_uuid" => {
                self.string_or_null(&mut text)?;
                if let Some(uuid) = text {
                    more.get_or_insert_default().user_message_uuid = Some(Uuid::from(&*uuid));
                }
                16
            }
            "api_message_id" => {
                self.string_or_null(&mut text)?;
                if let Some(id) = text {
                    more.get_or_insert_default().api_message_id = Some(id.into_owned());
                }
                32
            }
            "thinking_display" => {
                self.string_or_null(&mut text)?;
                if let Some(display) = text {
                    more.get_or_insert_default().thinking_display = Some(display.into_owned());
                }
                64
            }
            "event" | "user_message_uuids" | "abandoned_blocks" | "owed_rows" => return None,
            // Any other is ignored, as serde does, if it is simple enough to see its end.
            _ => {
                if self.number().is_none() {
                    self.string_or_null(&mut text)?;
                }
                0
            }
        })
    }
}

/// Whether there are no control characters.
#[inline]
fn is_clean(text: &str) -> bool {
    // Without an early end the compiler looks at many bytes at a time.
    text.bytes().fold(u8::MAX, u8::min) >= 0x20
}

/// Undoes JSON escapes; `None` for what is not valid, and for surrogates, which serde handles.
fn unescape(text: &str) -> Option<String> {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = memchr::memchr(b'\\', rest.as_bytes()) {
        plain.push_str(&rest[..at]);
        let mut taken = at + 2;
        plain.push(match rest.as_bytes().get(at + 1)? {
            b'"' => '"',
            b'\\' => '\\',
            b'/' => '/',
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                taken = at + 6;
                let hex = rest.get(at + 2..taken)?;
                if !hex.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                    return None;
                }
                char::from_u32(u32::from_str_radix(hex, 16).ok()?)?
            }
            _ => return None,
        });
        rest = &rest[taken..];
    }
    plain.push_str(rest);
    Some(plain)
}
