//! Who is told of everything that passes between a session and its CLI, as it passes.
//!
//! Unlike raw lines it is all of it: both directions, standard error, starts, exits and time-outs, in the order in
//! which the session's machine got them. All of one moment is told at once, since much may pass in it. The one rule it
//! keeps: what is told, played again, gives the same events.

use std::fmt::Debug;
use std::sync::Arc;

use jackfield_api::Timestamp;
use jackfield_core::Input;
pub use jackfield_core::journal::{Entry, LineBefore};

/// What is told together at most, where more passes in one moment.
const TOGETHER: usize = 256 * 1024;

/// Who is told. It is called in the middle of the session's work, so it must be quick.
pub trait Journal: Debug + Send + Sync {
    /// Whether lines are wanted now. Asked before one is made.
    fn wants_lines(&self) -> bool;

    /// What passed next: lines of a journal, each with its newline, and what is new in them, as [`Entry::write`] tells
    /// it apart. Says what is wanted of those behind them.
    fn passed(&self, lines: &[u8], new: &[u8]) -> News;

    /// A process was started for the session: the CLI's, or its guard's.
    fn process(&self, id: u32);
}

/// Whether somebody wants to know what is new in lines: what was not said in the ones before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum News {
    /// Nobody does.
    #[default]
    Unwanted,
    /// Somebody does, who knows of nothing before.
    Anew,
    /// Somebody does.
    Wanted,
}

/// Writes down what passes, and tells it.
#[derive(Debug)]
pub(crate) struct Scribe {
    journal: Option<Arc<dyn Journal>>,
    before: LineBefore,
    /// What is not told yet, and what is new in it.
    lines: Vec<u8>,
    new: Vec<u8>,
}

impl Scribe {
    pub(crate) fn new(journal: Option<Arc<dyn Journal>>) -> Self {
        Self { journal, before: LineBefore::default(), lines: Vec::new(), new: Vec::new() }
    }

    /// Writes an input down, if somebody wants to hear of it.
    pub(crate) fn write(&mut self, at: Timestamp, input: &Input<'_>) {
        if self.journal.as_ref().is_some_and(|journal| journal.wants_lines()) {
            Entry::write(at, input, &mut self.before, &mut self.lines, &mut self.new);
            if self.lines.len() > TOGETHER {
                self.tell();
            }
        }
    }

    /// Tells what was written down.
    pub(crate) fn tell(&mut self) {
        let Some(journal) = self.journal.as_ref().filter(|_| !self.lines.is_empty()) else { return };
        if journal.passed(&self.lines, &self.new) == News::Anew {
            self.before = LineBefore::default();
        }
        for told in [&mut self.lines, &mut self.new] {
            told.clear();
            // A line that was very long does not keep its room.
            told.shrink_to(TOGETHER);
        }
    }

    /// Tells which process it is.
    pub(crate) fn process(&self, id: u32) {
        if let Some(journal) = &self.journal {
            journal.process(id);
        }
    }
}

impl Drop for Scribe {
    fn drop(&mut self) {
        self.tell();
    }
}
