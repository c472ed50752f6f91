//! The spans that are not over yet, and what each is inside of.
//!
//! The one rule it keeps: a span that closes closes first what is inside of it, so parents contain their children. Only
//! what a tool call began in the background goes on without it, and ends with its task.

use std::sync::Arc;

use jackfield_api::{ItemId, PendingId, Timestamp, ToolCallId};

use super::clean::Cleaner;
use super::payload::Redact;
use crate::span::{Attribute, Span, SpanEvent, Value};
use crate::trace_parent::{SpanId, TraceId};

/// How much room is kept for spans to come while a turn runs.
const ROOMS: usize = 32;
const LARGEST_ROOM: usize = 8 * 1024;
/// How many tasks are known at once.
const TASKS: usize = 256;

/// What an open span is found by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Key {
    Turn,
    Item(ItemId),
    Tool(ToolCallId),
    Question(PendingId),
    Hook(String),
}

/// A span that is not over yet.
#[derive(Debug)]
pub(super) struct Open {
    key: Key,
    inside: Option<Key>,
    pub(super) span: Span,
    /// Something is or was inside of it.
    pub(super) has_held: bool,
}

/// The task of a tool call, which may go on when the call has its result.
#[derive(Debug)]
struct Task {
    call: Key,
    /// Where the call stands in its trace, if it is over.
    left: Option<Place>,
}

/// Where a span stands in a trace.
#[derive(Debug, Clone)]
pub(super) struct Place {
    pub(super) trace_id: TraceId,
    pub(super) trace_state: Option<Arc<str>>,
    pub(super) span_id: SpanId,
}

/// Room for what is known of a span, for what happens in it, and for what is said.
#[derive(Debug, Default)]
pub(super) struct Room {
    pub(super) attributes: Vec<Attribute>,
    pub(super) events: Vec<SpanEvent>,
    pub(super) said: String,
}

/// All spans that are not over yet: a handful.
#[derive(Debug)]
pub(super) struct Forest {
    cleaner: Cleaner,
    open: Vec<Open>,
    closed: Vec<Span>,
    /// Rooms of spans that were handed on.
    rooms: Vec<Room>,
    /// Traces that nobody keeps.
    left_out: Vec<TraceId>,
    tasks: Vec<Task>,
}

impl Forest {
    pub(super) fn new(redact: Redact) -> Self {
        Self {
            cleaner: Cleaner::new(redact),
            open: Vec::new(),
            closed: Vec::new(),
            rooms: Vec::new(),
            left_out: Vec::new(),
            tasks: Vec::new(),
        }
    }

    pub(super) fn open(&mut self, key: Key, inside: Option<Key>, span: Span) {
        self.open.push(Open { key, inside, span, has_held: false });
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

    /// Whether nothing is open, and nothing can be inside of what is over.
    pub(super) fn is_empty(&self) -> bool {
        self.open.is_empty() && self.tasks.is_empty()
    }

    /// Whether others may be inside of a span: it is open, or a call whose task goes on.
    pub(super) fn has_place(&self, key: &Key) -> bool {
        self.contains(key) || self.left(key).is_some()
    }

    /// Where such a span stands, for something that will be inside of it.
    pub(super) fn enter(&mut self, key: &Key) -> Option<Place> {
        if let Some(open) = self.get(key) {
            open.has_held = true;
        }
        self.place(key)
    }

    fn place(&self, key: &Key) -> Option<Place> {
        let open = self.open.iter().rev().find(|open| open.key == *key);
        open.map(Open::place).or_else(|| self.left(key).cloned())
    }

    fn left(&self, key: &Key) -> Option<&Place> {
        self.tasks.iter().find(|task| task.call == *key)?.left.as_ref()
    }

    /// An open tool call has a task.
    pub(super) fn task_runs(&mut self, call: Key) {
        let is_known = self.tasks.iter().any(|task| task.call == call);
        if !is_known && self.contains(&call) && self.tasks.len() < TASKS {
            self.tasks.push(Task { call, left: None });
        }
    }

    /// The task of a tool call is over, and with it what went on without the call.
    pub(super) fn task_ended(&mut self, call: &Key, at: Timestamp) {
        self.tasks.retain(|task| task.call != *call);
        if !self.contains(call) {
            self.close_inside(call, at);
        }
    }

    /// Closes a tool call that ended well. If its task still runs, what that does goes on.
    pub(super) fn close_call(&mut self, call: &Key, at: Timestamp) {
        let place = self.place(call);
        match self.tasks.iter_mut().find(|task| task.call == *call) {
            None => self.close(call, at),
            Some(task) => {
                task.left = place;
                if let Some(index) = self.open.iter().position(|open| open.key == *call) {
                    let open = self.open.remove(index);
                    self.finished(open.span, at);
                }
            }
        }
    }

    /// Closes a span, and before it what is inside of it and has not ended by itself.
    pub(super) fn close(&mut self, key: &Key, at: Timestamp) {
        let Some(index) = self.open.iter().position(|open| open.key == *key) else { return };
        let outer = self.open.remove(index);
        self.close_inside(key, at);
        self.finished(outer.span, at);
    }

    fn close_inside(&mut self, key: &Key, at: Timestamp) {
        while let Some(inner) = self.open.iter().find(|open| open.inside.as_ref() == Some(key)) {
            let inner = inner.key.clone();
            if let Some(inner) = self.get(&inner) {
                inner.came_to("unfinished");
            }
            self.close(&inner, at);
        }
    }

    /// Closes everything.
    pub(super) fn close_all(&mut self, at: Timestamp) {
        while let Some(open) = self.open.first_mut() {
            open.came_to("unfinished");
            let key = open.key.clone();
            self.close(&key, at);
        }
        self.tasks.clear();
    }

    /// Takes a span in that is over.
    pub(super) fn finished(&mut self, mut span: Span, at: Timestamp) {
        span.end = at.max(span.start);
        if !self.left_out.contains(&span.trace_id) {
            self.closed.push(span);
        }
    }

    /// Nobody keeps the spans of this trace.
    pub(super) fn leave_out(&mut self, trace: TraceId) {
        self.left_out.push(trace);
    }

    /// Room for a new span. Much is said in some, and to ask for memory each time would be dear.
    pub(super) fn room(&mut self) -> Room {
        self.rooms.pop().unwrap_or_default()
    }

    /// Shows the spans that are over to who takes them.
    pub(super) fn hand_on(&mut self, take: impl FnOnce(&[Span])) {
        let Self { open, tasks, left_out, .. } = self;
        left_out.retain(|trace| {
            let left = tasks.iter().filter_map(|task| task.left.as_ref());
            open.iter().any(|open| open.span.trace_id == *trace)
                || left.into_iter().any(|at| at.trace_id == *trace)
        });
        if self.closed.is_empty() {
            return;
        }
        self.cleaner.clean(&mut self.closed);
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
    fn place(&self) -> Place {
        let Span { trace_id, ref trace_state, span_id, .. } = self.span;
        Place { trace_id, trace_state: trace_state.clone(), span_id }
    }

    pub(super) fn say(&mut self, name: &'static str, value: impl Into<Value>) {
        self.span.attributes.push((name, value.into()));
    }

    /// The same in the place of what was said before.
    pub(super) fn say_anew(&mut self, name: &'static str, value: impl Into<Value>) {
        match self.span.attributes.iter_mut().find(|(known, _)| *known == name) {
            Some((_, said)) => *said = value.into(),
            None => self.say(name, value),
        }
    }

    pub(super) fn say_all(&mut self, attributes: impl IntoIterator<Item = Attribute>) {
        self.span.attributes.extend(attributes);
    }

    /// How it ended, if that was not said before.
    pub(super) fn came_to(&mut self, outcome: &'static str) {
        if self.span.attribute(super::facts::OUTCOME).is_none() {
            self.say(super::facts::OUTCOME, outcome);
        }
    }
}
