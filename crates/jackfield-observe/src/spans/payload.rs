//! What went over the wire and what was made of it, side by side in a span: cut, and with secrets taken out.
//!
//! The one rule it keeps: text is looked through for secrets before it is cut, so that none is cut in two and missed.

use std::borrow::Cow;

use jackfield_api::{Event, Timestamp, codec};

use crate::span::SpanEvent;

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

/// Takes secrets out of text.
pub type Redact = for<'a> fn(&'a str) -> Cow<'a, str>;

/// How many payloads one span has at most.
const PER_SPAN: usize = 32;
/// How far behind the cut it is looked for the end of a secret.
const BEHIND: usize = 4096;

impl Payloads {
    /// An event and the line that it was made of.
    pub(super) fn put(self, to: &mut Vec<SpanEvent>, event: &Event, raw: Option<&str>, redact: Redact) {
        if to.len() >= PER_SPAN {
            return;
        }
        let mut line = Vec::new();
        codec::encode(event, &mut line);
        if let Some(raw) = raw {
            self.put_text(to, "raw", event.at, raw, redact);
        }
        self.put_text(to, "normalized", event.at, &String::from_utf8_lossy(&line), redact);
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
        if to.len() >= PER_SPAN {
            return;
        }
        let bytes = u64::try_from(text.len()).unwrap_or(u64::MAX);
        let attributes =
            vec![("payload", cut(text, self.bytes, redact).into()), ("payload.bytes", bytes.into())];
        to.push(SpanEvent { name: name.into(), at, attributes });
    }
}

/// So much of a text, without its secrets.
pub(super) fn cut(text: &str, bytes: usize, redact: Redact) -> String {
    let looked_at = &text[..text.floor_char_boundary(bytes.saturating_add(BEHIND))];
    let redacted = redact(looked_at);
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
        }
    }

    #[test]
    fn a_payload_says_how_long_it_was() {
        let mut events = Vec::new();
        Payloads { bytes: 4 }.put_text(&mut events, "raw", Timestamp(1), "0123456789", without_key);
        assert_eq!(events[0].attributes, [("payload", "0123".into()), ("payload.bytes", 10.into())]);
    }

    #[test]
    fn there_are_never_more_than_so_many() {
        let mut events = Vec::new();
        for _ in 0..100 {
            Payloads::default().put_text(&mut events, "raw", Timestamp(1), "text", without_key);
        }
        assert_eq!(events.len(), PER_SPAN);
    }
}
