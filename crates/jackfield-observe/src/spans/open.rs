//! The spans that are not over yet, and what each is inside of.
//!
//! The one rule it keeps: a span that closes closes first what is inside of it, so parents contain their children.

use jackfield_api::{ItemId, PendingId, Timestamp, ToolCallId};

use crate::span::{Attribute, Span, SpanEvent, Value};
use crate::trace_parent::TraceId;

/// How much room is kept for spans to come while a turn runs.
const ROOMS: usize = 32;
const LARGEST_ROOM: usize = 8 * 1024;

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
}

/// Room for what is known of a span, for what happens in it, and for what is said.
#[derive(Debug, Default)]
pub(super) struct Room {
    pub(super) attributes: Vec<Attribute>,
    pub(super) events: Vec<SpanEvent>,
    pub(super) said: String,
}

/// All spans that are not over yet: a handful.
#[derive(Debug, Default)]
pub(super) struct Forest {
    open: Vec<Open>,
    closed: Vec<Span>,
    /// Rooms of spans that were handed on.
    rooms: Vec<Room>,
    /// A trace that nobody keeps.
    left_out: Option<TraceId>,
}

impl Forest {
    pub(super) fn open(&mut self, key: Key, inside: Option<Key>, span: Span) {
        self.open.push(Open { key, inside, span });
    }

    /// An open span. What was opened last is found first: it is what is mostly looked for.
    pub(super) fn get(&mut self, key: &Key) -> Option<&mut Open> {
        self.open.iter_mut().rev().find(|open| open.key == *key)
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

    /// Room for a new span. Much is said in some, and to ask for memory each time would be dear.
    pub(super) fn room(&mut self) -> Room {
        self.rooms.pop().unwrap_or_default()
    }

    /// Shows the spans that are over to who takes them.
    pub(super) fn hand_on(&mut self, take: impl FnOnce(&[Span])) {
        if self.closed.is_empty() {
            return;
        }
        take(&self.closed);
        for Span { mut attributes, mut events, mut said, .. } in self.closed.drain(..) {
            if self.rooms.len() < ROOMS && said.capacity() <= LARGEST_ROOM {
                attributes.clear();
                events.clear();
                said.clear();
                self.rooms.push(Room { attributes, events, said });
            }
        }
        if self.open.is_empty() {
            (self.closed, self.rooms) = (Vec::new(), Vec::new());
        }
    }
}

impl Open {
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
