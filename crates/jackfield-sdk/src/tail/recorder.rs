//! From the lines of a run to where they are kept.
//!
//! The one rule it keeps: a line is kept before anybody is told of the events that were made of it.

use std::sync::Arc;

use jackfield_api::lines::FollowedLine;
use jackfield_api::{Event, Seq, Timestamp};

use super::RawTail;
use super::kept::Waiting;
use crate::basket::{Basket, Basketful, is_worth_a_line};
use crate::raw::Direction;

/// Follows one line after the other to the events that are made of it; does nothing where no lines are kept.
///
/// Lines are handed over many at a time: who looks for one is in nobody's way then.
#[derive(Debug)]
pub(crate) struct Recorder {
    tail: Option<Arc<RawTail>>,
    basket: Option<Arc<Basket>>,
    /// The first and the last event of the line.
    made: Option<(Seq, Seq)>,
    /// The line is put aside.
    worthy: bool,
    waiting: Waiting,
    aside: Basketful,
}

impl Recorder {
    pub(crate) fn new(tail: Option<Arc<RawTail>>, basket: Option<Arc<Basket>>) -> Self {
        let (waiting, aside) = (Waiting::default(), Basketful::default());
        Self { tail, basket, made: None, worthy: false, waiting, aside }
    }

    /// Whether lines are kept.
    pub(crate) fn keeps(&self) -> bool {
        self.tail.is_some() || self.basket.is_some()
    }

    /// A line is about to be looked at.
    pub(crate) fn begin(&mut self) {
        (self.made, self.worthy) = (None, false);
    }

    /// An event was made.
    pub(crate) fn made(&mut self, event: &Event) {
        self.made = Some((self.made.map_or(event.seq, |(first, _)| first), event.seq));
        self.worthy |= is_worth_a_line(event);
    }

    /// Nothing more will be made of the line.
    pub(crate) fn end(&mut self, at: Timestamp, direction: Direction, line: &str) {
        if let Some(tail) = &self.tail {
            tail.pass(at, direction, line, self.made, &mut self.waiting);
        }
        if let (Some(basket), Some(made), true) = (&self.basket, self.made, self.worthy) {
            self.aside.push(line, made, basket.most());
        }
    }

    /// Keeps what waits. To be called before its events are told to anybody.
    pub(crate) fn keep(&mut self) {
        if let Some(tail) = &self.tail {
            tail.keep(&mut self.waiting);
        }
        if let Some(basket) = &self.basket {
            basket.put(&mut self.aside);
        }
    }

    /// Lets go of the room for lines: no more come for now. The room of those that are put aside goes round.
    pub(crate) fn let_go(&mut self) {
        self.waiting = Waiting::default();
    }

    /// The run is over, and all events of it are made.
    pub(crate) fn run_ended(&self) {
        if let (Some(tail), Some((_, last_seq))) = (&self.tail, self.made) {
            tail.lock().tell(&FollowedLine::RunEnded { last_seq });
        }
    }
}
