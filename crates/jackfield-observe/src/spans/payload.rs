//! What went over the wire and what was made of it, side by side in a span: cut, and with secrets taken out.
//!
//! The one rule it keeps: text is looked through for secrets before it is cut, so that none is cut in two and missed.

use std::borrow::Cow;

use jackfield_api::{ItemId, Timestamp};

use crate::span::{Payload, Span, SpanEvent};

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

/// Where that is what an event tells of. Of most events nothing is asked.
pub trait Source {
    /// The CLI's line that it was made of, as much of it as is looked at, and how long it was.
    fn raw(&mut self) -> Option<(&str, u64)>;
    /// Its own line.
    fn normalized(&self) -> Option<&str>;
    /// The text of a block, which is whole by now.
    fn text(&self, item: ItemId) -> Option<&str>;
}

/// Nothing is known.
impl Source for () {
    fn raw(&mut self) -> Option<(&str, u64)> {
        None
    }

    fn normalized(&self) -> Option<&str> {
        None
    }

    fn text(&self, _: ItemId) -> Option<&str> {
        None
    }
}

/// Takes secrets out of text; borrowed is only what was given, as it was.
pub type Redact = for<'a> fn(&'a str) -> Cow<'a, str>;

/// How many payloads one span has at most.
const PER_SPAN: usize = 32;
/// How many bytes of payloads the spans of one turn have: a trace that is larger than a few megabytes is one that
/// backends cut off, and what ends a turn comes last.
const PER_TURN: usize = 2 * 1024 * 1024;
/// How far behind the cut it is looked for the end of a secret.
const BEHIND: usize = 4096;

impl Payloads {
    /// How many bytes of a text are looked at, so that a secret behind the cut is seen whole.
    pub fn looked_at(self) -> usize {
        self.bytes.saturating_add(BEHIND)
    }
}

/// Puts payloads into spans, as long as the turn has room for them.
#[derive(Debug)]
pub(super) struct Teller {
    payloads: Payloads,
    redact: Redact,
    /// How many bytes the turn may still have.
    left: usize,
}

impl Teller {
    pub(super) fn new(payloads: Payloads, redact: Redact) -> Self {
        Self { payloads, redact, left: PER_TURN }
    }

    /// A turn begins, which has as much room as each.
    pub(super) fn begin_turn(&mut self) {
        self.left = PER_TURN;
    }

    /// What an event tells of, as long as something is left for it: its lines; or the line that ends a block, and the text
    /// of that. The pieces are no lines of their own here: a secret may lie in several of them.
    pub(super) fn put(
        &mut self,
        span: &mut Span,
        at: Timestamp,
        source: &mut dyn Source,
        block: Option<ItemId>,
    ) {
        let Self { payloads, redact, left } = self;
        let (begin, first) = (span.said.len(), span.events.len());
        // Both or none: one is there to be compared with the other.
        if span.payloads + 2 > PER_SPAN || *left == 0 {
            let raw = u32::from(source.raw().is_some());
            let text = block.map_or_else(|| source.normalized(), |item| source.text(item));
            span.events_left_out = span.events_left_out.saturating_add(raw + u32::from(text.is_some()));
            return;
        }
        if let Some((line, bytes)) = source.raw() {
            span.said.push_str(&line[..line.floor_char_boundary(payloads.looked_at())]);
            put(span, "raw", at, begin, bytes);
        }
        if let Some(text) = block.map_or_else(|| source.normalized(), |item| source.text(item)) {
            // A secret at its beginning must not look like the end of another word.
            span.said.push('\n');
            let from = span.said.len();
            span.said.push_str(&text[..text.floor_char_boundary(payloads.looked_at())]);
            put(span, "normalized", at, from, u64::try_from(text.len()).unwrap_or(u64::MAX));
        }
        // Together they are looked through faster than one by one, and mostly there is nothing to do.
        let is_fine =
            |event: &SpanEvent| event.payload.as_ref().is_none_or(|said| said.place.len() <= payloads.bytes);
        let fine = span.events[first..].iter().all(is_fine);
        if !fine || matches!(redact(&span.said[begin..]), Cow::Owned(_)) {
            cut_all(span, (begin, first), payloads.bytes, *redact);
        }
        *left = left.saturating_sub(span.said.len() - begin);
    }
}

/// Cuts the payloads behind a place, and takes their secrets out.
fn cut_all(span: &mut Span, (begin, first): (usize, usize), bytes: usize, redact: Redact) {
    let said = span.said.split_off(begin);
    for payload in span.events[first..].iter_mut().filter_map(|event| event.payload.as_mut()) {
        let text = said.get(payload.place.start - begin..payload.place.end - begin).unwrap_or_default();
        let from = span.said.len();
        span.said.push_str(&cut(text, bytes, redact));
        payload.place = from..span.said.len();
    }
}

/// Puts what was said last, from there on.
fn put(span: &mut Span, name: &'static str, at: Timestamp, from: usize, bytes: u64) {
    let payload = Some(Payload { place: from..span.said.len(), bytes });
    span.payloads += 1;
    span.events.push(SpanEvent { name, at, attributes: Vec::new(), payload });
}

/// So much of a text, without its secrets.
pub(crate) fn cut(text: &str, bytes: usize, redact: Redact) -> String {
    let redacted = redact(&text[..text.floor_char_boundary(bytes.saturating_add(BEHIND))]);
    redacted[..redacted.floor_char_boundary(bytes)].to_owned()
}

#[cfg(test)]
mod tests {
    use crate::span::Parent;
    use crate::trace_parent::{SpanId, TraceId};

    use super::*;

    fn without_key(text: &str) -> Cow<'_, str> {
        if text.contains("SECRET-KEY") {
            text.replace("SECRET-KEY", "[redacted]").into()
        } else {
            text.into()
        }
    }

    fn teller(bytes: usize) -> Teller {
        Teller::new(Payloads { bytes }, without_key)
    }

    /// The raw line, and what was made of it.
    impl Source for (&str, &str) {
        fn raw(&mut self) -> Option<(&str, u64)> {
            Some((self.0, u64::try_from(self.0.len()).ok()?))
        }

        fn normalized(&self) -> Option<&str> {
            Some(self.1)
        }

        fn text(&self, _: ItemId) -> Option<&str> {
            Some(self.1)
        }
    }

    fn span() -> Span {
        Span {
            trace_id: TraceId(1),
            trace_state: None,
            span_id: SpanId(1),
            parent: Parent::None,
            name: "span".into(),
            start: Timestamp(1),
            end: Timestamp(1),
            attributes: Vec::new(),
            events: Vec::new(),
            payloads: 0,
            events_left_out: 0,
            said: String::new(),
            failed: None,
        }
    }

    /// All payloads of a span: their names, their texts, and how long those were.
    fn told(span: &Span) -> Vec<(&str, &str, u64)> {
        let payloads = span.events.iter().filter_map(|event| Some((event.name, event.payload.as_ref()?)));
        payloads.map(|(name, payload)| (name, span.text(payload), payload.bytes)).collect()
    }

    #[test]
    fn a_secret_on_the_edge_of_the_cut_is_taken_out_whole() {
        for before in 0..24 {
            let text = format!("{}SECRET-KEY and more", "ä".repeat(before));
            let cut = cut(&text, 24, without_key);
            assert!(cut.len() <= 24 && !cut.contains("SEC"), "{cut}");
            let mut span = span();
            for text in ["before", &text, "behind"] {
                teller(24).put(&mut span, Timestamp(1), &mut (text, text), None);
            }
            let bytes = u64::try_from(text.len()).unwrap_or_default();
            let expected = [("before", 6), (cut.as_str(), bytes), ("behind", 6)]
                .map(|(text, bytes)| [("raw", text, bytes), ("normalized", text, bytes)]);
            assert_eq!(told(&span), expected.concat());
        }
    }

    #[test]
    fn a_payload_says_how_long_it_was() {
        let text = "0123456789".repeat(1000);
        let mut span = span();
        for block in [None, Some(ItemId(1))] {
            teller(4).put(&mut span, Timestamp(1), &mut (&*text, &*text), block);
        }
        let expected = [("raw", "0123", 10_000), ("normalized", "0123", 10_000)];
        assert_eq!(told(&span), [expected, expected].concat());
    }

    #[test]
    fn there_are_never_more_than_so_many() {
        let mut span = span();
        for _ in 0..100 {
            teller(4096).put(&mut span, Timestamp(1), &mut ("text", "text"), None);
        }
        assert_eq!((told(&span).len(), span.events_left_out), (PER_SPAN, 200 - 32));
        assert!(span.said.len() <= PER_SPAN * "text\n".len(), "nothing is held that is not told");
    }

    #[test]
    fn a_secret_right_behind_a_line_that_was_cut_is_taken_out() {
        fn without_word(text: &str) -> Cow<'_, str> {
            let mut words = text.split(|letter: char| !letter.is_ascii_alphanumeric());
            if words.any(|word| word == "secret") { "[redacted]".to_owned().into() } else { text.into() }
        }
        let mut span = span();
        let mut teller = Teller::new(Payloads::default(), without_word);
        teller.put(&mut span, Timestamp(1), &mut ("a li", "secret"), Some(ItemId(1)));
        assert_eq!(told(&span), [("raw", "a li", 4), ("normalized", "[redacted]", 6)]);
    }

    #[test]
    fn where_nothing_is_left_for_them_they_are_counted() {
        let (mut span, mut teller) = (span(), Teller { left: 10, ..teller(4096) });
        for _ in 0..4 {
            teller.put(&mut span, Timestamp(1), &mut ("raw", "text"), None);
        }
        // With what stands between them each pair takes eight bytes; the second is still whole.
        assert_eq!((told(&span).len(), teller.left, span.events_left_out), (4, 0, 4));
    }
}
