//! A span: one stretch of time in a turn, with a name, a parent and what is known of it.
//!
//! Plain values; how they travel is known elsewhere. The one rule it keeps: a span is only made when it is over, so
//! there is none that stays open.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use jackfield_api::Timestamp;

use crate::trace_parent::{SpanId, TraceId};

/// A stretch of time that is over.
#[derive(Debug, Clone, PartialEq)]
pub struct Span {
    /// The trace that it belongs to.
    pub trace_id: TraceId,
    /// What others noted of the trace.
    pub trace_state: Option<Arc<str>>,
    /// Its name in the trace.
    pub span_id: SpanId,
    /// What it is a part of.
    pub parent: Parent,
    /// What it is: one of [`names`].
    pub name: Cow<'static, str>,
    /// When it began.
    pub start: Timestamp,
    /// When it ended.
    pub end: Timestamp,
    /// What is known of it.
    pub attributes: Vec<Attribute>,
    /// What happened in it.
    pub events: Vec<SpanEvent>,
    /// How many of those are payloads.
    pub payloads: usize,
    /// How much was left out, because there was too much of it.
    pub events_left_out: u32,
    /// What was said in it, where that goes into spans: the texts of its events, one behind the other.
    pub said: String,
    /// Why it failed, if it did.
    pub failed: Option<String>,
}

/// What a span is a part of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parent {
    /// Nothing: a trace begins with it.
    None,
    /// A span of ours.
    Ours(SpanId),
    /// A span of whoever gave the prompt.
    Remote(SpanId),
}

/// Something that happened at one time.
#[derive(Debug, Clone, PartialEq)]
pub struct SpanEvent {
    /// What.
    pub name: &'static str,
    /// When.
    pub at: Timestamp,
    /// What is known of it.
    pub attributes: Vec<Attribute>,
    /// What was said, where that goes into spans.
    pub payload: Option<Payload>,
}

/// What was said, as much of it as is wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Payload {
    /// Where in [`Span::said`] its text is, without secrets.
    pub place: Range<usize>,
    /// How long it was.
    pub bytes: u64,
}

/// Something that is known.
pub type Attribute = (&'static str, Value);

/// What an attribute holds.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Words, mostly from a list.
    Text(Cow<'static, str>),
    /// A name that others have too.
    Name(Arc<str>),
    /// A whole number.
    Whole(u64),
    /// Any number.
    Number(f64),
    /// Several words.
    Texts(Vec<String>),
}

impl From<&'static str> for Value {
    fn from(text: &'static str) -> Self {
        Self::Text(text.into())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text.into())
    }
}

impl From<Arc<str>> for Value {
    fn from(name: Arc<str>) -> Self {
        Self::Name(name)
    }
}

impl From<u64> for Value {
    fn from(number: u64) -> Self {
        Self::Whole(number)
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Self {
        Self::Number(number)
    }
}

impl Span {
    /// The text of a payload.
    pub fn text(&self, payload: &Payload) -> &str {
        self.said.get(payload.place.clone()).unwrap_or_default()
    }

    /// An attribute by its name.
    pub fn attribute(&self, name: &str) -> Option<&Value> {
        self.attributes.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
    }
}

/// The names of spans.
pub mod names {
    /// A whole turn.
    pub const PROMPT: &str = "streamjson.prompt";
    /// What the CLI says of itself.
    pub const SYSTEM: &str = "streamjson.system";
    /// A block of text.
    pub const MESSAGE: &str = "streamjson.message_chunk";
    /// A block of thinking.
    pub const REASONING: &str = "streamjson.reasoning";
    /// A tool call, from its start to its result.
    pub const TOOL: &str = "streamjson.tool_call";
    /// The context has another size.
    pub const CONTEXT: &str = "streamjson.context_window";
    /// A question, from when it was asked until it was answered.
    pub const PERMISSION: &str = "streamjson.control.control_request.can_use_tool";
    /// The answer to a question.
    pub const PERMISSION_ANSWER: &str = "streamjson.control.permission_response";
    /// A hook, from when it was asked until it answered.
    pub const HOOK: &str = "streamjson.control.control_request.hook_callback";
    /// The answer of a hook; behind it stands the hook's event.
    pub const HOOK_ANSWER: &str = "streamjson.control.hook_response.";
    /// The end of a turn.
    pub const COMPLETE: &str = "streamjson.complete";
}
