//! What went over the wire and what was made of it, side by side in a span: cut, and with secrets taken out.
//!
//! The one rule it keeps: text is looked through for secrets before it is cut, so that none is cut in two and missed.

use std::borrow::Cow;

use jackfield_api::Timestamp;

use crate::span::{Payload, SpanEvent};

/// Whether payloads go into spans, and how much of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Payloads {
    /// How many bytes of one payload at most.
    pub bytes: usize,
}

impl Default for Payloads {
    fn default() -> Self {
        Self { bytes: 4096 }
    }
}

/// The lines of an event, as far as they are known: payloads, where those are wanted.
#[derive(Debug, Clone, Copy, Default)]
pub struct Lines<'a> {
    /// The CLI's line that it was made of.
    pub raw: Option<&'a str>,
    /// Its own.
    pub normalized: Option<&'a str>,
}

/// Takes secrets out of text.
pub type Redact = for<'a> fn(&'a str) -> Cow<'a, str>;

/// How many payloads one span has at most.
const PER_SPAN: usize = 32;
/// How far behind the cut it is looked for the end of a secret.
const BEHIND: usize = 4096;

impl Payloads {
    /// The lines of an event.
    pub(super) fn put(self, to: &mut Vec<SpanEvent>, at: Timestamp, lines: Lines<'_>, redact: Redact) {
        for (name, line) in [("raw", lines.raw), ("normalized", lines.normalized)] {
            if let Some(line) = line {
                self.put_text(to, name, at, line, redact);
            }
        }
    }

    /// One text, under a name.
    pub(super) fn put_text(
        self,
        to: &mut Vec<SpanEvent>,
        name: &'static str,
        at: Timestamp,
        text: &str,
        redact: Redact,
    ) {
        if to.len() < PER_SPAN {
            let payload = Payload { text: cut(text, self.bytes, redact), bytes: length(text) };
            put(to, name, at, payload);
        }
    }

    /// One text that nobody else needs.
    pub(super) fn put_own(
        self,
        to: &mut Vec<SpanEvent>,
        name: &'static str,
        at: Timestamp,
        mut text: String,
        redact: Redact,
    ) {
        if to.len() >= PER_SPAN {
            return;
        }
        let bytes = length(&text);
        match redact(looked_at(&text, self.bytes)) {
            Cow::Borrowed(_) => text.truncate(text.floor_char_boundary(self.bytes)),
            Cow::Owned(redacted) => {
                text = redacted;
                text.truncate(text.floor_char_boundary(self.bytes));
            }
        }
        put(to, name, at, Payload { text, bytes });
    }
}

fn put(to: &mut Vec<SpanEvent>, name: &'static str, at: Timestamp, payload: Payload) {
    to.push(SpanEvent { name, at, attributes: Vec::new(), payload: Some(payload) });
}

fn length(text: &str) -> u64 {
    u64::try_from(text.len()).unwrap_or(u64::MAX)
}

/// As much of a text as must be looked through for so much of it.
fn looked_at(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes.saturating_add(BEHIND))]
}

/// So much of a text, without its secrets.
pub(super) fn cut(text: &str, bytes: usize, redact: Redact) -> String {
    let redacted = redact(looked_at(text, bytes));
    redacted[..redacted.floor_char_boundary(bytes)].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn without_key(text: &str) -> Cow<'_, str> {
        text.replace("SECRET-KEY", "[redacted]").into()
    }

    #[test]
    fn a_secret_on_the_edge_of_the_cut_is_taken_out_whole() {
        for before in 0..24 {
            let text = format!("{}SECRET-KEY and more", "ä".repeat(before));
            let cut = cut(&text, 24, without_key);
            assert!(cut.len() <= 24 && !cut.contains("SEC"), "{cut}");
            let mut events = Vec::new();
            Payloads { bytes: 24 }.put_own(&mut events, "raw", Timestamp(1), text, without_key);
            assert_eq!(events[0].payload.as_ref().map(|payload| &payload.text), Some(&cut));
        }
    }

    #[test]
    fn a_payload_says_how_long_it_was() {
        let mut events = Vec::new();
        Payloads { bytes: 4 }.put_text(&mut events, "raw", Timestamp(1), "0123456789", without_key);
        Payloads { bytes: 4 }.put_own(&mut events, "raw", Timestamp(1), "0123456789".to_owned(), without_key);
        let expected = Payload { text: "0123".to_owned(), bytes: 10 };
        assert!(events.iter().all(|event| event.payload.as_ref() == Some(&expected)), "{events:?}");
        assert_eq!(events.len(), 2);
    }

    #[test]
    fn there_are_never_more_than_so_many() {
        let mut events = Vec::new();
        for _ in 0..100 {
            Payloads::default().put_text(&mut events, "raw", Timestamp(1), "text", without_key);
            Payloads::default().put_own(&mut events, "raw", Timestamp(1), "text".to_owned(), without_key);
        }
        assert_eq!(events.len(), PER_SPAN);
    }
}
