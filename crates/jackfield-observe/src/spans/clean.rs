//! What is known of a span, as it may leave: without secrets, and no text longer than a few lines.
//!
//! Most of it are names, and names come from outside too: a model, a tool, a call. The one rule it keeps: whatever is
//! not one of our own words is looked at, however it got into the span.

use std::borrow::Cow;

use super::payload::{Redact, cut};
use crate::span::{Span, Value};

/// How long a text may be.
const WORDS: usize = 1024;

/// How much room is kept for the texts of spans.
const ROOM: usize = 16 * 1024;

/// Cleans spans. Texts of all that are over by now are looked through together, which is faster than one by one.
#[derive(Debug)]
pub(super) struct Cleaner {
    redact: Redact,
    all: String,
}

impl Cleaner {
    pub(super) fn new(redact: Redact) -> Self {
        Self { redact, all: String::new() }
    }

    /// Takes out of spans what must not leave. What was said in them has its own way.
    pub(super) fn clean(&mut self, spans: &mut [Span]) {
        self.all.clear();
        self.all.shrink_to(ROOM);
        let mut is_long = false;
        let mut look = |text: &str| {
            is_long |= text.len() > WORDS;
            self.all.push_str(text);
            self.all.push('\n');
        };
        for span in &*spans {
            if let Cow::Owned(name) = &span.name {
                look(name);
            }
            span.failed.iter().for_each(|words| look(words));
            span.trace_state.iter().for_each(|state| look(state));
            let of_events = span.events.iter().flat_map(|event| &event.attributes);
            for (_, value) in span.attributes.iter().chain(of_events) {
                match value {
                    Value::Text(Cow::Owned(text)) => look(text),
                    Value::Name(name) => look(name),
                    Value::Texts(texts) => texts.iter().for_each(|text| look(text)),
                    Value::Text(Cow::Borrowed(_)) | Value::Whole(_) | Value::Number(_) => {}
                }
            }
        }
        if is_long || matches!((self.redact)(&self.all), Cow::Owned(_)) {
            for span in spans {
                self.take_out(span);
            }
        }
    }

    fn take_out(&self, span: &mut Span) {
        let clean = |text: &str| cut(text, WORDS, self.redact);
        if let Cow::Owned(name) = &mut span.name {
            *name = clean(name);
        }
        span.failed.iter_mut().for_each(|words| *words = clean(words));
        // Half of a state would be none.
        span.trace_state.take_if(|state| matches!((self.redact)(state), Cow::Owned(_)));
        let of_events = span.events.iter_mut().flat_map(|event| &mut event.attributes);
        for (_, value) in span.attributes.iter_mut().chain(of_events) {
            match value {
                Value::Text(Cow::Owned(text)) => *text = clean(text),
                Value::Name(name) => *name = clean(name).into(),
                Value::Texts(texts) => texts.iter_mut().for_each(|text| *text = clean(text)),
                Value::Text(Cow::Borrowed(_)) | Value::Whole(_) | Value::Number(_) => {}
            }
        }
    }
}
