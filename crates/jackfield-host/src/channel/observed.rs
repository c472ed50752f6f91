//! One session as it is watched: its events become spans and figures.
//!
//! It is only there where something is switched on; a session without it has one look at a pointer per event. The one
//! rule it keeps: it is told everything and asked nothing.

use std::sync::Arc;

use jackfield_api::{Event, ItemId, Timestamp, TurnNumber, Uuid};
use jackfield_observe::tally::Underway;
use jackfield_observe::{Sampled, Seed, Source, Spans, Tally, TraceContext};
use jackfield_sdk::{Basket, Basketful};

use super::Answer;
use super::book::Book;
use crate::observe::{Figures, Observe, Sampling, SpanSink};
use crate::redact::redact;

/// One session as it is watched.
#[derive(Debug)]
pub(crate) struct Observed {
    traced: Option<Traced>,
    counted: Option<Counted>,
}

#[derive(Debug)]
struct Traced {
    spans: Spans,
    sink: Arc<dyn SpanSink>,
    sampling: Sampling,
    /// The lines that events were made of, where what was said goes into spans.
    lines: Option<Aside>,
}

/// Lines, as far as they were taken, and where the others are.
#[derive(Debug)]
struct Aside {
    basket: Arc<Basket>,
    taken: Basketful,
}

/// Where that is what an event tells of.
struct Told<'a> {
    event: &'a Event,
    lines: Option<&'a mut Aside>,
    book: &'a Book<Answer>,
}

impl Source for Told<'_> {
    fn raw(&mut self) -> Option<(&str, u64)> {
        let Aside { basket, taken } = self.lines.as_deref_mut()?;
        taken.line_of(self.event.seq, basket)
    }

    fn normalized(&self) -> Option<&str> {
        simdutf8::basic::from_utf8(self.book.outbox.last_line()).ok()
    }

    fn text(&self, item: ItemId) -> Option<&str> {
        self.book.transcript.text(item)
    }
}

#[derive(Debug)]
struct Counted {
    tally: Tally,
    underway: Underway,
    figures: Arc<Figures>,
}

impl Traced {
    /// A trace that was given, kept or not as it is to be here.
    fn sampled(&self, mut given: TraceContext) -> TraceContext {
        if self.sampling == Sampling::All {
            given.parent.sampled = Sampled::Yes;
        }
        given
    }
}

impl Observed {
    /// `None` where nothing is switched on.
    pub(crate) fn new(observe: &Observe, figures: Option<&Arc<Figures>>) -> Option<Box<Self>> {
        let traced = observe.spans.as_ref().map(|sink| Traced {
            spans: Spans::new(Seed(uuid::Uuid::new_v4().as_u128()), redact, observe.payloads),
            sink: Arc::clone(sink),
            sampling: observe.sampling,
            lines: observe.payloads.map(|payloads| Aside {
                basket: Arc::new(Basket::new(payloads.looked_at())),
                taken: Basketful::default(),
            }),
        });
        let counted = figures.map(|figures| Counted {
            tally: Tally::default(),
            underway: Underway::new(redact),
            figures: Arc::clone(figures),
        });
        (traced.is_some() || counted.is_some()).then(|| Box::new(Self { traced, counted }))
    }

    /// An event of the session, which was taken into its book.
    pub(crate) fn see(&mut self, event: &Event, book: &Book<Answer>) {
        if let Some(counted) = &mut self.counted {
            let status = || book.transcript.snapshot().status.as_ref();
            let model = || status().map(|status| status.model.as_str());
            counted.tally.see(event, model, &mut counted.underway);
        }
        if let Some(traced) = &mut self.traced {
            traced.spans.see(event, &mut Told { event, lines: traced.lines.as_mut(), book });
        }
    }

    /// A prompt belongs to somebody else's trace.
    pub(crate) fn prompted(&mut self, prompt: &Uuid, given: TraceContext) {
        if let Some(traced) = &mut self.traced {
            let given = traced.sampled(given);
            traced.spans.prompted(prompt.clone(), given);
        }
    }

    /// A prompt that waits gets other words and another name.
    pub(crate) fn edited(&mut self, prompt: &Uuid, with: &Uuid, given: Option<TraceContext>) {
        if let Some(traced) = &mut self.traced {
            let given = given.map(|given| traced.sampled(given));
            traced.spans.edited(prompt, with.clone(), given);
        }
    }

    /// Where lines are wanted that events are made of.
    pub(crate) fn basket(&self) -> Option<Arc<Basket>> {
        self.traced.as_ref()?.lines.as_ref().map(|lines| Arc::clone(&lines.basket))
    }

    /// Whether spans are made.
    pub(crate) fn traces(&self) -> bool {
        self.traced.is_some()
    }

    /// The place in a trace that a turn to come will have.
    pub(crate) fn place(&self, turn: TurnNumber, prompt: Option<&Uuid>) -> Option<TraceContext> {
        self.traced.as_ref().map(|traced| traced.spans.place(turn, prompt))
    }

    /// Hands on what is over and what was counted, before anybody is told of the events. The failure of a turn was taken
    /// in together with its end, so of a turn that has its result nothing more comes.
    pub(crate) fn hand_on(&mut self) {
        if let Some(traced) = &mut self.traced {
            traced.spans.settle();
            traced.spans.hand_on(|spans| traced.sink.take(spans));
        }
        if let Some(counted) = &mut self.counted {
            counted.tally.settle(&mut counted.underway);
            counted.figures.take_in(&mut counted.tally);
        }
    }

    /// The session is put away.
    pub(crate) fn end(&mut self, at: Timestamp) {
        if let Some(traced) = &mut self.traced {
            traced.spans.end(at);
        }
        self.hand_on();
    }
}
