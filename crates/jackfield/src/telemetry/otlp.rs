//! Spans as a collector reads them: the protobuf of OTLP, written by hand.
//!
//! On the way through OpenTelemetry's types every text of a span would be copied three times more, each copy into
//! memory of its own. The one rule it keeps: the official types read what it writes, and find in it what was given; a
//! test does.

use jackfield_api::Timestamp;
use jackfield_observe::{Parent, Span, SpanEvent, Value};
use opentelemetry_sdk::Resource;

/// What stands before the spans of a request: whose they are.
#[derive(Debug)]
pub(super) struct Head {
    resource: Vec<u8>,
    scope: Vec<u8>,
}

impl Head {
    pub(super) fn new(resource: &Resource) -> Self {
        let mut attributes = Vec::new();
        for (name, value) in resource {
            // From the environment come only words.
            write_attribute(1, name.as_str(), Known::Text(&value.as_str()), &mut attributes);
        }
        let mut scope = Vec::new();
        write_text(1, "jackfield", &mut scope);
        write_text(2, env!("CARGO_PKG_VERSION"), &mut scope);
        Self { resource: attributes, scope }
    }

    /// How many bytes it has at most.
    pub(super) fn room(&self) -> usize {
        let mut longest = Vec::new();
        self.write(usize::MAX / 2, &mut longest);
        longest.len()
    }

    /// Writes it for so many bytes of spans.
    fn write(&self, spans: usize, out: &mut Vec<u8>) {
        let scoped = held(self.scope.len()) + spans;
        write_key(1, HELD, out);
        write_number(held(self.resource.len()) + held(scoped), out);
        write_held(1, &self.resource, out);
        write_key(2, HELD, out);
        write_number(scoped, out);
        write_held(1, &self.scope, out);
    }

    /// Writes it right before spans, which have room for it before them, and says where it begins.
    pub(super) fn put(&self, bytes: &mut [u8], room: usize) -> usize {
        let mut head = Vec::with_capacity(room);
        self.write(bytes.len().saturating_sub(room), &mut head);
        let begin = room.saturating_sub(head.len());
        bytes[begin..room].copy_from_slice(&head);
        begin
    }
}

/// Appends a span, as one of those that stand behind a [`Head`].
pub(super) fn write_span(span: &Span, out: &mut Vec<u8>) {
    let (parent, flags) = match span.parent {
        // Sampled; and it is known that the parent is not remote, or that it is.
        Parent::None => (None, 0x101_u32),
        Parent::Ours(id) => (Some(id), 0x101),
        Parent::Remote(id) => (Some(id), 0x301),
    };
    write_nested(2, out, |out| {
        write_held(1, &span.trace_id.0.to_be_bytes(), out);
        write_held(2, &span.span_id.0.to_be_bytes(), out);
        if let Some(state) = &span.trace_state {
            write_text(3, state, out);
        }
        if let Some(parent) = parent {
            write_held(4, &parent.0.to_be_bytes(), out);
        }
        write_text(5, &span.name, out);
        // Of the kinds it is the one for what happens inside.
        write_key(6, NUMBER, out);
        out.push(1);
        write_time(7, span.start, out);
        write_time(8, span.end, out);
        for (name, value) in &span.attributes {
            write_attribute(9, name, value.into(), out);
        }
        for event in &span.events {
            write_nested(11, out, |out| write_event(span, event, out));
        }
        if span.events_left_out > 0 {
            write_key(12, NUMBER, out);
            write_varint(span.events_left_out.into(), out);
        }
        if let Some(words) = &span.failed {
            write_nested(15, out, |out| {
                write_text(2, words, out);
                write_key(3, NUMBER, out);
                out.push(2);
            });
        }
        write_key(16, FOUR, out);
        out.extend_from_slice(&flags.to_le_bytes());
    });
}

fn write_event(span: &Span, event: &SpanEvent, out: &mut Vec<u8>) {
    write_time(1, event.at, out);
    write_text(2, event.name, out);
    for (name, value) in &event.attributes {
        write_attribute(3, name, value.into(), out);
    }
    for (name, known) in payload(span, event).into_iter().flatten() {
        write_attribute(3, name, known, out);
    }
}

/// What was said, as attributes.
fn payload<'a>(span: &'a Span, event: &SpanEvent) -> Option<[(&'static str, Known<'a>); 2]> {
    let payload = event.payload.as_ref()?;
    Some([("payload", Known::Text(span.text(payload))), ("payload.bytes", Known::Whole(payload.bytes))])
}

/// What an attribute holds, wherever it is.
#[derive(Debug, Clone, Copy)]
enum Known<'a> {
    Text(&'a str),
    Whole(u64),
    Number(f64),
    Texts(&'a [String]),
}

impl<'a> From<&'a Value> for Known<'a> {
    fn from(value: &'a Value) -> Self {
        match value {
            Value::Text(text) => Self::Text(text),
            Value::Name(name) => Self::Text(name),
            // There are only numbers with a sign, and a negative one would be longer.
            Value::Whole(number) => Self::Whole((*number).min(i64::MAX as u64)),
            Value::Number(number) => Self::Number(*number),
            Value::Texts(texts) => Self::Texts(texts),
        }
    }
}

impl Known<'_> {
    fn length(self) -> usize {
        match self {
            Self::Text(text) => held(text.len()),
            Self::Whole(number) => 1 + number_length(number),
            Self::Number(_) => 9,
            Self::Texts(texts) => held(texts_length(texts)),
        }
    }

    fn write(self, out: &mut Vec<u8>) {
        match self {
            Self::Text(text) => write_text(1, text, out),
            Self::Whole(number) => {
                write_key(3, NUMBER, out);
                write_varint(number, out);
            }
            Self::Number(number) => {
                write_key(4, EIGHT, out);
                out.extend_from_slice(&number.to_le_bytes());
            }
            Self::Texts(texts) => {
                write_key(5, HELD, out);
                write_number(texts_length(texts), out);
                for text in texts {
                    write_key(1, HELD, out);
                    write_number(held(text.len()), out);
                    write_text(1, text, out);
                }
            }
        }
    }
}

fn texts_length(texts: &[String]) -> usize {
    texts.iter().map(|text| held(held(text.len()))).sum()
}

fn write_attribute(field: u64, name: &str, known: Known<'_>, out: &mut Vec<u8>) {
    if let Known::Text(text) = known
        && let (Ok(key @ ..0x80), Some([whole, named, valued, said])) =
            (u8::try_from(field << 3 | HELD), short(name, text))
    {
        // Most are words, and of a few letters: every length is one byte.
        out.extend_from_slice(&[key, whole, 0x0a, named]);
        out.extend_from_slice(name.as_bytes());
        out.extend_from_slice(&[0x12, valued, 0x0a, said]);
        out.extend_from_slice(text.as_bytes());
        return;
    }
    let length = known.length();
    write_key(field, HELD, out);
    write_number(held(name.len()) + held(length), out);
    write_text(1, name, out);
    write_key(2, HELD, out);
    write_number(length, out);
    known.write(out);
}

/// The lengths in an attribute of words: all of it behind its own, its name, its value, and the words in that; `None`
/// where one of them takes more than a byte.
fn short(name: &str, text: &str) -> Option<[u8; 4]> {
    let (named, said) = (u8::try_from(name.len()).ok()?, u8::try_from(text.len()).ok()?);
    let valued = said.checked_add(2)?;
    let whole = named.checked_add(valued)?.checked_add(4)?;
    (whole < 0x80).then_some([whole, named, valued, said])
}

fn write_time(field: u64, at: Timestamp, out: &mut Vec<u8>) {
    write_key(field, EIGHT, out);
    out.extend_from_slice(&at.0.saturating_mul(1_000_000).to_le_bytes());
}

fn write_text(field: u64, text: &str, out: &mut Vec<u8>) {
    write_held(field, text.as_bytes(), out);
}

// ---- protobuf ----

/// How a field is written: as a number of any length, in eight or four bytes, or with its length before it.
const NUMBER: u64 = 0;
const EIGHT: u64 = 1;
const HELD: u64 = 2;
const FOUR: u64 = 5;

/// How long a field is that has its length before it. Its own number is below 16, as nearly all are.
fn held(length: usize) -> usize {
    1 + number_length(u64::try_from(length).unwrap_or(u64::MAX)) + length
}

fn number_length(number: u64) -> usize {
    // Seven bits in each byte.
    let bits = u64::BITS - (number | 1).leading_zeros();
    usize::try_from(bits.div_ceil(7)).unwrap_or_default()
}

fn write_key(field: u64, how: u64, out: &mut Vec<u8>) {
    write_varint(field << 3 | how, out);
}

/// Writes a field whose length is not known before: where most need two bytes for it there is room for two, and what
/// needs another number is moved.
fn write_nested(field: u64, out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    write_key(field, HELD, out);
    let at = out.len();
    out.extend_from_slice(&[0; 2]);
    let begin = out.len();
    write(out);
    let length = out.len() - begin;
    if let Ok(length @ 0x80..0x4000) = u16::try_from(length) {
        // Seven bits in each byte, the lower ones first.
        let number = (length & 0x7f) | 0x80 | ((length & 0x3f80) << 1);
        out[at..begin].copy_from_slice(&number.to_le_bytes());
    } else {
        let mut number = Vec::new();
        write_number(length, &mut number);
        out.splice(at..begin, number);
    }
}

fn write_held(field: u64, bytes: &[u8], out: &mut Vec<u8>) {
    write_key(field, HELD, out);
    write_number(bytes.len(), out);
    out.extend_from_slice(bytes);
}

fn write_number(number: usize, out: &mut Vec<u8>) {
    write_varint(u64::try_from(number).unwrap_or(u64::MAX), out);
}

fn write_varint(mut number: u64, out: &mut Vec<u8>) {
    while let (0x80.., [low, ..]) = (number, number.to_le_bytes()) {
        out.push(low | 0x80);
        number >>= 7;
    }
    out.push(number.to_le_bytes()[0]);
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use jackfield_observe::{Payload, SpanId, TraceId};
    use opentelemetry::KeyValue as Given;
    use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
    use opentelemetry_proto::tonic::common::v1::any_value::Value as Any;
    use opentelemetry_proto::tonic::common::v1::{AnyValue, ArrayValue, KeyValue};
    use opentelemetry_proto::tonic::trace::v1 as official;
    use prost::Message as _;

    use super::*;

    fn any(value: Any) -> AnyValue {
        AnyValue { value: Some(value) }
    }

    fn attribute(name: &str, value: Any) -> KeyValue {
        KeyValue { key: name.to_owned(), value: Some(any(value)), ..KeyValue::default() }
    }

    fn text(text: &str) -> Any {
        Any::StringValue(text.to_owned())
    }

    /// Spans with and without everything, short and long.
    fn spans() -> Vec<Span> {
        let span = |parent, failed: Option<String>, length: usize| Span {
            trace_id: TraceId(0x0af7_6519_16cd_43dd_8448_eb21_1c80_319c),
            trace_state: (length % 2 == 1).then(|| "a=1".into()),
            span_id: SpanId(7),
            parent,
            name: "streamjson.prompt".into(),
            start: Timestamp(1_794_787_539_008),
            end: Timestamp(1_794_787_539_009),
            attributes: vec![
                ("text", "ä".repeat(length).into()),
                ("name", Value::Name("ö".repeat(length).into())),
                ("whole", u64::try_from(length).unwrap().into()),
                ("much", u64::MAX.into()),
                ("number", 0.25.into()),
                ("texts", Value::Texts(vec![String::new(), "x".repeat(length)])),
            ],
            events: vec![
                SpanEvent { name: "none", at: Timestamp(2), attributes: Vec::new(), payload: None },
                SpanEvent {
                    name: "raw",
                    at: Timestamp(1),
                    attributes: vec![("a", "b".into())],
                    payload: Some(Payload { place: 3..3 + length, bytes: 99_999 }),
                },
            ],
            payloads: 1,
            events_left_out: u32::try_from(length).unwrap(),
            said: format!("{{}}{}", "{".repeat(length + 1)),
            failed,
        };
        let plain =
            Span { attributes: Vec::new(), events: Vec::new(), payloads: 0, ..span(Parent::None, None, 0) };
        let lengths = [0, 1, 41, 42, 43, 63, 64, 126, 127, 128, 129, 4096, 16_383, 16_384, 70_000];
        let parents = [Parent::None, Parent::Ours(SpanId(1 << 63)), Parent::Remote(SpanId(1))];
        let failed = |length| (length % 2 == 0).then(|| "f".repeat(length + 1));
        let all =
            lengths.into_iter().flat_map(|length| parents.map(|parent| span(parent, failed(length), length)));
        [plain].into_iter().chain(all).collect()
    }

    /// A span as the official types have it.
    fn expected(span: &Span) -> official::Span {
        let known = |(name, value): &(&'static str, Value)| match value {
            Value::Text(word) => attribute(name, text(word)),
            Value::Name(word) => attribute(name, text(word)),
            Value::Whole(number) => {
                attribute(name, Any::IntValue(i64::try_from(*number).unwrap_or(i64::MAX)))
            }
            Value::Number(number) => attribute(name, Any::DoubleValue(*number)),
            Value::Texts(texts) => {
                let values = texts.iter().map(|word| any(text(word))).collect();
                attribute(name, Any::ArrayValue(ArrayValue { values }))
            }
        };
        let event = |event: &SpanEvent| {
            let payload = event.payload.iter().flat_map(|payload| {
                let bytes = Any::IntValue(payload.bytes.try_into().unwrap());
                [attribute("payload", text(span.text(payload))), attribute("payload.bytes", bytes)]
            });
            official::span::Event {
                time_unix_nano: event.at.0 * 1_000_000,
                name: event.name.to_owned(),
                attributes: event.attributes.iter().map(known).chain(payload).collect(),
                ..official::span::Event::default()
            }
        };
        let (parent_span_id, remote) = match span.parent {
            Parent::None => (Vec::new(), 0),
            Parent::Ours(id) => (id.0.to_be_bytes().to_vec(), 0),
            Parent::Remote(id) => {
                (id.0.to_be_bytes().to_vec(), official::SpanFlags::ContextIsRemoteMask as u32)
            }
        };
        official::Span {
            trace_id: span.trace_id.0.to_be_bytes().to_vec(),
            trace_state: span.trace_state.as_deref().unwrap_or_default().to_owned(),
            span_id: span.span_id.0.to_be_bytes().to_vec(),
            parent_span_id,
            flags: 1 | official::SpanFlags::ContextHasIsRemoteMask as u32 | remote,
            name: span.name.to_string(),
            kind: official::span::SpanKind::Internal.into(),
            start_time_unix_nano: span.start.0 * 1_000_000,
            end_time_unix_nano: span.end.0 * 1_000_000,
            attributes: span.attributes.iter().map(known).collect(),
            events: span.events.iter().map(event).collect(),
            dropped_events_count: span.events_left_out,
            status: span.failed.clone().map(|message| official::Status {
                message,
                code: official::status::StatusCode::Error.into(),
            }),
            ..official::Span::default()
        }
    }

    #[test]
    fn the_official_types_read_what_is_written() {
        let named = Given::new("service.name", "jäckfield");
        let head = Head::new(&Resource::builder_empty().with_attribute(named).build());
        let spans = spans();
        for some in [&spans[..1], &spans[..2], &spans] {
            let room = head.room();
            let mut bytes = vec![0; room];
            for span in some {
                write_span(span, &mut bytes);
            }
            let begin = head.put(&mut bytes, room);
            let request = ExportTraceServiceRequest::decode(&bytes[begin..]).unwrap();
            assert_eq!(request.encode_to_vec(), &bytes[begin..], "it is as short as it can be");
            let [whose] = request.resource_spans.as_slice() else { panic!("{request:?}") };
            let resource = whose.resource.clone().unwrap();
            assert_eq!(resource.attributes, [attribute("service.name", text("jäckfield"))]);
            let [scoped] = whose.scope_spans.as_slice() else { panic!("{request:?}") };
            let scope = scoped.scope.clone().unwrap();
            assert_eq!(
                (scope.name.as_str(), scope.version.as_str()),
                ("jackfield", env!("CARGO_PKG_VERSION"))
            );
            assert_eq!(scoped.spans, some.iter().map(expected).collect::<Vec<_>>());
        }
    }
}
