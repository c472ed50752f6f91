//! What a session does, as spans and figures: events in, spans and counts out.
//!
//! No IO: no runtime, clock, randomness, file, thread or lock. It decides nothing about a session and changes nothing
//! in it; where spans and figures go is known above.
//!
//! # Layout
//! * [`spans`] – the machine: events to [`span`]s, one tree per turn
//! * [`trace_parent`] – names of traces and spans, and how they are handed on
//! * [`tally`] – the fold: events to figures, and [`exposition`] – the figures as Prometheus reads them

pub mod exposition;
pub mod histogram;
pub mod span;
pub mod spans;
pub mod tally;
pub mod trace_parent;

pub use span::{Parent, Payload, Span, SpanEvent, Value};
pub use spans::{Payloads, Source, Spans};
pub use tally::Tally;
pub use trace_parent::{Sampled, Seed, SpanId, TraceContext, TraceId, TraceParent};
