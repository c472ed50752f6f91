//! One session as it is watched: its events become spans and figures.
//!
//! It is only there where something is switched on; a session without it has one look at a pointer per event. The one
//! rule it keeps: it is told everything and asked nothing.

use std::sync::Arc;

use jackfield_api::{Body, Event, Timestamp, TurnNumber, Uuid};
use jackfield_observe::tally::Underway;
use jackfield_observe::{Lines, Seed, Spans, Tally, TraceParent};
use jackfield_sdk::RawTail;

use crate::observe::{Figures, Observe, SpanSink};
use crate::redact::redact;

/// One session as it is watched.
#[derive(Debug)]
pub(crate) struct Observed {
    traced: Option<Traced>,
    counted: Option<Counted>,
    /// Something was seen since it was last handed on.
    seen: bool,
}

#[derive(Debug)]
struct Traced {
    spans: Spans,
    sink: Arc<dyn SpanSink>,
    /// The lines, where what was said goes into spans.
    lines: Option<Arc<RawTail>>,
    /// Room for one of them.
    line: String,
}

#[derive(Debug)]
struct Counted {
    tally: Tally,
    underway: Underway,
    figures: Arc<Figures>,
}

impl Observed {
    /// `None` where nothing is switched on.
    pub(crate) fn new(
        observe: &Observe,
        figures: Option<&Arc<Figures>>,
        tail: &Arc<RawTail>,
    ) -> Option<Box<Self>> {
        let traced = observe.spans.as_ref().map(|sink| Traced {
            spans: Spans::new(Seed(uuid::Uuid::new_v4().as_u128()), redact, observe.payloads),
            sink: Arc::clone(sink),
            lines: observe.payloads.map(|_| Arc::clone(tail)),
            line: String::new(),
        });
        let counted = figures.map(|figures| Counted {
            tally: Tally::default(),
            underway: Underway::default(),
            figures: Arc::clone(figures),
        });
        (traced.is_some() || counted.is_some()).then(|| Box::new(Self { traced, counted, seen: false }))
    }

    /// An event of the session and its line; the model is the one in effect.
    pub(crate) fn see(&mut self, event: &Event, line: &[u8], model: Option<&str>) {
        self.seen = true;
        if let Some(counted) = &mut self.counted {
            counted.tally.see(event, model, &mut counted.underway);
        }
        if let Some(traced) = &mut self.traced {
            // A piece of a block has no line in a span; so the lines of most events are never looked for.
            let is_piece = matches!(event.body, Body::MessageChunk(_) | Body::Reasoning(_));
            let lines = match &traced.lines {
                Some(lines) if !is_piece => Lines {
                    raw: lines.line_of(event.seq, &mut traced.line),
                    normalized: str::from_utf8(line).ok(),
                },
                _ => Lines::default(),
            };
            traced.spans.see(event, lines);
        }
    }

    /// A prompt belongs to somebody else's trace.
    pub(crate) fn prompted(&mut self, prompt: &Uuid, parent: TraceParent) {
        if let Some(traced) = &mut self.traced {
            traced.spans.prompted(prompt.clone(), parent);
        }
    }

    /// Whether spans are made.
    pub(crate) fn traces(&self) -> bool {
        self.traced.is_some()
    }

    /// The place in a trace that a turn to come will have.
    pub(crate) fn place(&self, turn: TurnNumber, prompt: Option<&Uuid>) -> Option<TraceParent> {
        self.traced.as_ref().map(|traced| traced.spans.place(turn, prompt))
    }

    /// Hands on what is over. Where nothing came since the last time, nothing more is said of what was.
    pub(crate) fn hand_on(&mut self) {
        let quiet = !std::mem::take(&mut self.seen);
        if let Some(traced) = &mut self.traced {
            if quiet {
                traced.spans.settle();
            }
            if traced.spans.has_some() {
                traced.sink.take(traced.spans.take());
            }
        }
        if let Some(counted) = &mut self.counted {
            if quiet {
                counted.tally.settle(&mut counted.underway);
            }
            counted.figures.take_in(&mut counted.tally);
        }
    }

    /// The session is put away.
    pub(crate) fn end(&mut self, at: Timestamp) {
        if let Some(traced) = &mut self.traced {
            traced.spans.end(at);
        }
        self.seen = false;
        self.hand_on();
    }
}
