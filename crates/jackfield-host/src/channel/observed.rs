//! One session as it is watched: its events become spans and figures.
//!
//! It is only there where something is switched on; a session without it has one look at a pointer per event. The one
//! rule it keeps: it is told everything and asked nothing.

use std::collections::VecDeque;
use std::sync::Arc;

use jackfield_api::{Body, Event, LineNumber, Seq, Timestamp, TurnNumber, Uuid};
use jackfield_observe::tally::Underway;
use jackfield_observe::{Seed, Spans, Tally, TraceParent};
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
    lines: Option<Lines>,
}

#[derive(Debug)]
struct Counted {
    tally: Tally,
    underway: Underway,
    figures: Arc<Figures>,
}

/// The newest lines with the events that were made of them.
#[derive(Debug)]
struct Lines {
    tail: Arc<RawTail>,
    last: LineNumber,
    ready: VecDeque<(Seq, Seq, String)>,
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
            lines: observe.payloads.map(|_| Lines {
                tail: Arc::clone(tail),
                last: LineNumber(0),
                ready: VecDeque::new(),
            }),
        });
        let counted = figures.map(|figures| Counted {
            tally: Tally::default(),
            underway: Underway::default(),
            figures: Arc::clone(figures),
        });
        (traced.is_some() || counted.is_some()).then(|| Box::new(Self { traced, counted, seen: false }))
    }

    /// An event of the session; the model is the one in effect.
    pub(crate) fn see(&mut self, event: &Event, model: Option<&str>) {
        self.seen = true;
        if let Some(counted) = &mut self.counted {
            counted.tally.see(event, model, &mut counted.underway);
        }
        if let Some(traced) = &mut self.traced {
            // A piece of a block has no line in a span; so the lines of most events are never looked for.
            let is_piece = matches!(event.body, Body::MessageChunk(_) | Body::Reasoning(_));
            let raw = traced.lines.as_mut().filter(|_| !is_piece).and_then(|lines| lines.of(event.seq));
            traced.spans.see(event, raw);
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

impl Lines {
    /// The line that an event was made of, as far as it is still kept.
    fn of(&mut self, seq: Seq) -> Option<&str> {
        if self.ready.back().is_none_or(|(_, last, _)| *last < seq) {
            for line in self.tail.after(self.last).lines {
                self.last = line.number;
                if let (Some(first), Some(last)) = (line.first_seq, line.last_seq) {
                    self.ready.push_back((first, last, line.text));
                }
            }
        }
        while self.ready.front().is_some_and(|(_, last, _)| *last < seq) {
            self.ready.pop_front();
        }
        self.ready.front().filter(|(first, _, _)| *first <= seq).map(|(_, _, text)| text.as_str())
    }
}
