//! From the lines of a run to where they are kept.
//!
//! The one rule it keeps: a line is kept before anybody is told of the events that were made of it.

use std::sync::Arc;

use jackfield_api::lines::FollowedLine;
use jackfield_api::{Seq, Timestamp};

use super::RawTail;
use super::kept::Waiting;
use crate::raw::Direction;

/// Follows one line after the other to the events that are made of it; does nothing where no lines are kept.
///
/// Lines are handed over many at a time: who looks for one is in nobody's way then.
#[derive(Debug)]
pub(crate) struct Recorder {
    tail: Option<Arc<RawTail>>,
    /// The first and the last event of the line.
    made: Option<(Seq, Seq)>,
    waiting: Waiting,
}

impl Recorder {
    pub(crate) fn new(tail: Option<Arc<RawTail>>) -> Self {
        Self { tail, made: None, waiting: Waiting::default() }
    }

    /// Whether lines are kept.
    pub(crate) fn keeps(&self) -> bool {
        self.tail.is_some()
    }

    /// A line is about to be looked at.
    pub(crate) fn begin(&mut self) {
        self.made = None;
    }

    /// An event was made.
    pub(crate) fn made(&mut self, seq: Seq) {
        self.made = Some((self.made.map_or(seq, |(first, _)| first), seq));
    }

    /// Nothing more will be made of the line.
    pub(crate) fn end(&mut self, at: Timestamp, direction: Direction, line: &str) {
        if let Some(tail) = &self.tail {
            tail.pass(at, direction, line, self.made, &mut self.waiting);
        }
    }

    /// Keeps what waits. To be called before its events are told to anybody.
    pub(crate) fn keep(&mut self) {
        if let Some(tail) = &self.tail {
            tail.keep(&mut self.waiting);
        }
    }

    /// Lets go of the room for lines. No more come for now.
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
