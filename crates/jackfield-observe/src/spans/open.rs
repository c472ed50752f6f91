//! The spans that are not over yet, and what each is inside of.
//!
//! The one rule it keeps: a span that closes closes first what is inside of it, so parents contain their children.

use jackfield_api::{ItemId, PendingId, Timestamp, ToolCallId};

use crate::span::{Attribute, Span, Value};
use crate::trace_parent::TraceId;

/// What an open span is found by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Key {
    Turn,
    Item(ItemId),
    Tool(ToolCallId),
    Question(PendingId),
    Hook { event: String, name: String, call: Option<ToolCallId> },
}

/// A span that is not over yet.
#[derive(Debug)]
pub(super) struct Open {
    key: Key,
    inside: Option<Key>,
    pub(super) span: Span,
    /// How much text it has, for a block.
    pub(super) bytes: u64,
    /// The beginning of that text, where it is wanted.
    pub(super) text: String,
}

/// All spans that are not over yet: a handful.
#[derive(Debug, Default)]
pub(super) struct Forest {
    open: Vec<Open>,
    closed: Vec<Span>,
    /// A trace that nobody keeps.
    left_out: Option<TraceId>,
}

impl Forest {
    pub(super) fn open(&mut self, key: Key, inside: Option<Key>, span: Span) {
        self.open.push(Open { key, inside, span, bytes: 0, text: String::new() });
    }

    /// An open span. What was opened last is found first: it is what is mostly looked for.
    pub(super) fn get(&mut self, key: &Key) -> Option<&mut Open> {
        self.open.iter_mut().rev().find(|open| open.key == *key)
    }

    /// The open span of a block. Most events are pieces of the one that was opened last.
    pub(super) fn block(&mut self, item: ItemId) -> Option<&mut Open> {
        self.open.iter_mut().rev().find(|open| matches!(open.key, Key::Item(known) if known == item))
    }

    pub(super) fn contains(&self, key: &Key) -> bool {
        self.open.iter().any(|open| open.key == *key)
    }

    pub(super) fn len(&self) -> usize {
        self.open.len()
    }

    /// Closes the first span with this key, and before it what is inside of it and has not ended by itself.
    pub(super) fn close(&mut self, key: &Key, at: Timestamp) {
        let Some(index) = self.open.iter().position(|open| open.key == *key) else { return };
        let outer = self.open.remove(index);
        // Two with the same key hold the same things; they stay for the second.
        if !self.contains(key) {
            while let Some(inner) = self.open.iter().find(|open| open.inside.as_ref() == Some(key)) {
                let inner = inner.key.clone();
                if let Some(inner) = self.get(&inner) {
                    inner.unfinished();
                }
                self.close(&inner, at);
            }
        }
        self.finished(outer.span, at);
    }

    /// Closes everything.
    pub(super) fn close_all(&mut self, at: Timestamp) {
        while let Some(open) = self.open.first_mut() {
            open.unfinished();
            let key = open.key.clone();
            self.close(&key, at);
        }
    }

    /// Takes a span in that is over.
    pub(super) fn finished(&mut self, mut span: Span, at: Timestamp) {
        span.end = at.max(span.start);
        if self.left_out != Some(span.trace_id) {
            self.closed.push(span);
        }
    }

    /// Nobody keeps the spans of this trace.
    pub(super) fn leave_out(&mut self, trace: TraceId) {
        self.left_out = Some(trace);
    }

    pub(super) fn take(&mut self) -> Vec<Span> {
        std::mem::take(&mut self.closed)
    }

    pub(super) fn has_closed(&self) -> bool {
        !self.closed.is_empty()
    }
}

impl Open {
    /// A piece of a block; of all of them together so much is kept.
    pub(super) fn hear(&mut self, text: &str, room: usize) {
        self.bytes += u64::try_from(text.len()).unwrap_or(u64::MAX);
        if self.text.len() < room {
            let left = room - self.text.len();
            self.text.push_str(&text[..text.floor_char_boundary(left)]);
        }
    }

    pub(super) fn say(&mut self, name: &'static str, value: impl Into<Value>) {
        self.span.attributes.push((name, value.into()));
    }

    pub(super) fn say_all(&mut self, attributes: impl IntoIterator<Item = Attribute>) {
        self.span.attributes.extend(attributes);
    }

    fn unfinished(&mut self) {
        if self.span.attribute(super::facts::OUTCOME).is_none() {
            self.say(super::facts::OUTCOME, "unfinished");
        }
    }
}
