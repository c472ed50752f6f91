//! Names of traces and spans, and how they are handed on: the W3C's `traceparent` and `tracestate`.
//!
//! It makes no names of chance: they follow from a seed, so that the same events give the same spans. The one rule
//! it keeps: what is not exactly of the form is no `traceparent`, and is never repaired.

use std::fmt;
use std::sync::Arc;

/// How long a `tracestate` may be.
const STATE: usize = 512;

/// A trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TraceId(pub u128);

/// A span of a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SpanId(pub u64);

/// Whether a trace is kept by whoever began it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sampled {
    /// It is.
    Yes,
    /// It is not, and what belongs to it is of no use to anybody.
    No,
}

/// A place in a trace: the text of a `traceparent` header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceParent {
    /// The trace.
    pub trace_id: TraceId,
    /// The span in it.
    pub span_id: SpanId,
    /// Whether the trace is kept.
    pub sampled: Sampled,
}

/// A place in a trace, with what others noted beside it, which is handed on as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceContext {
    /// The place.
    pub parent: TraceParent,
    /// The text of a `tracestate` header.
    pub state: Option<Arc<str>>,
}

impl TraceContext {
    /// Reads a `traceparent` and the `tracestate` beside it. Without the one the other means nothing, and a state that
    /// cannot be one is passed over.
    pub fn read(parent: &str, state: Option<&str>) -> Option<Self> {
        let is_state = |state: &&str| {
            (1..=STATE).contains(&state.len()) && state.bytes().all(|byte| matches!(byte, b' '..=b'~'))
        };
        let parent = TraceParent::read(parent)?;
        Some(Self { parent, state: state.map(str::trim).filter(is_state).map(Arc::from) })
    }
}

impl TraceParent {
    /// Reads a `traceparent`; `None` if it is none.
    pub fn read(text: &str) -> Option<Self> {
        let mut parts = text.split('-');
        let [version, trace, span, flags] = [parts.next()?, parts.next()?, parts.next()?, parts.next()?];
        let version = hexadecimal::<2>(version)?;
        // Later versions may have more behind it; this one has not.
        if version == 0xff || (version == 0 && parts.next().is_some()) {
            return None;
        }
        let trace_id = TraceId(hexadecimal::<32>(trace).filter(|id| *id != 0)?);
        let span_id = SpanId(u64::try_from(hexadecimal::<16>(span).filter(|id| *id != 0)?).ok()?);
        let sampled = if hexadecimal::<2>(flags)? & 1 == 1 { Sampled::Yes } else { Sampled::No };
        Some(Self { trace_id, span_id, sampled })
    }
}

/// Reads lower-case digits, exactly so many.
fn hexadecimal<const DIGITS: usize>(text: &str) -> Option<u128> {
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    let whole = text.len() == DIGITS && text.bytes().all(is_digit);
    whole.then(|| u128::from_str_radix(text, 16).ok()).flatten()
}

impl fmt::Display for TraceParent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let flags = u8::from(self.sampled == Sampled::Yes);
        write!(f, "00-{:032x}-{:016x}-{flags:02x}", self.trace_id.0, self.span_id.0)
    }
}

/// What the names of a session's spans are made from. Two sessions must not have the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seed(pub u128);

impl Seed {
    /// The trace of a turn that nobody else has begun.
    pub(crate) fn trace(self, number: u64) -> TraceId {
        let high = mixed(self.high() ^ mixed(number));
        let low = mixed(self.low().wrapping_add(number));
        TraceId((u128::from(high) << 64 | u128::from(low)).max(1))
    }

    /// The span with this number: another number gives another name.
    pub(crate) fn span(self, number: u64) -> SpanId {
        SpanId(mixed(self.low() ^ number).max(1))
    }

    fn high(self) -> u64 {
        (self.0 >> 64) as u64
    }

    #[expect(clippy::cast_possible_truncation, reason = "the half that is wanted")]
    fn low(self) -> u64 {
        self.0 as u64
    }
}

/// The finaliser of SplitMix64: no two numbers give the same.
fn mixed(number: u64) -> u64 {
    let number = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    #[test]
    fn a_state_is_read_beside_its_parent_if_it_can_be_one() {
        fn state(text: &str) -> Option<Arc<str>> {
            TraceContext::read(GOOD, Some(text)).unwrap().state
        }
        assert_eq!(state(" a=1,b@c=2 ").as_deref(), Some("a=1,b@c=2"));
        assert_eq!(state(&"x".repeat(512)).map(|state| state.len()), Some(512));
        for none in ["", " ", "a=1\nb=2", "a=\u{e9}", &"x".repeat(513)] {
            assert_eq!(state(none), None);
        }
        assert_eq!(TraceContext::read(GOOD, None).unwrap().state, None);
        assert_eq!(TraceContext::read("none", Some("a=1")), None);
    }

    #[test]
    fn what_is_read_is_written_the_same() {
        let read = TraceParent::read(GOOD).unwrap();
        assert_eq!(read.trace_id, TraceId(0x0af7_6519_16cd_43dd_8448_eb21_1c80_319c));
        assert_eq!((read.span_id, read.sampled), (SpanId(0xb7ad_6b71_6920_3331), Sampled::Yes));
        assert_eq!(read.to_string(), GOOD);
        assert_eq!(TraceParent::read(&GOOD.replace("-01", "-00")).unwrap().sampled, Sampled::No);
        // A later version may have more behind it.
        let later = TraceParent::read(&format!("01{}-more", &GOOD[2..])).unwrap();
        assert_eq!(later, read);
    }

    #[test]
    fn what_is_not_of_the_form_is_none() {
        let zeros = "0".repeat(32);
        for bad in [
            "",
            "00",
            &GOOD[1..],
            &GOOD.to_uppercase(),
            &format!("{GOOD}-more"),
            &format!("ff{}", &GOOD[2..]),
            &format!("00-{zeros}-b7ad6b7169203331-01"),
            &format!("00-{}-0000000000000000-01", &GOOD[3..35]),
            &GOOD.replace("0af7", "0ag7"),
            &GOOD.replace("0af7", "+af7"),
            &format!(" {GOOD}"),
        ] {
            assert_eq!(TraceParent::read(bad), None, "{bad}");
        }
    }

    #[test]
    fn names_differ_and_follow_from_the_seed() {
        let seed = Seed(7 << 64 | 9);
        let spans: std::collections::BTreeSet<_> = (0..10_000).map(|number| seed.span(number)).collect();
        let traces: std::collections::BTreeSet<_> = (0..10_000).map(|number| seed.trace(number)).collect();
        assert_eq!((spans.len(), traces.len()), (10_000, 10_000));
        assert_eq!(seed.trace(3), Seed(7 << 64 | 9).trace(3));
        assert_ne!(seed.trace(3), Seed(8 << 64 | 9).trace(3));
    }
}
