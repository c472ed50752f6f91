//! Who is told of everything that passes between a session and its CLI, as it passes.
//!
//! Unlike raw lines it is all of it: both directions, standard error, starts, exits and time-outs, in the order in
//! which the session's machine got them. The one rule it keeps: what is told, played again, gives the same events.

use std::fmt::Debug;

use jackfield_api::Timestamp;
use jackfield_core::Input;
pub use jackfield_core::journal::{Entry, LineHead};

/// Who is told. It is called in the middle of the session's work, so it must be quick.
pub trait Journal: Debug + Send + Sync {
    /// Whether lines are wanted now. Asked before one is made.
    fn wants_lines(&self) -> bool;

    /// What passed next.
    fn passed(&self, passed: &Passed<'_>);

    /// All of this moment was told.
    fn pause(&self);

    /// A process was started for the session: the CLI's, or its guard's.
    fn process(&self, id: u32);
}

/// Something that passes between a session and its CLI.
#[derive(Debug)]
pub struct Passed<'a> {
    at: Timestamp,
    input: &'a Input<'a>,
}

impl Passed<'_> {
    /// Appends its line, with the newline; nothing where nothing can come of it. The head is the one of the line
    /// before.
    pub fn write(&self, head: &mut LineHead, out: &mut Vec<u8>) {
        Entry::write(self.at, self.input, head, out);
    }

    /// What it is in a journal; `None` where nothing can come of it.
    pub fn entry(&self) -> Option<Entry> {
        Entry::of(self.at, self.input)
    }
}

/// Tells an input, if somebody wants to hear of it.
pub(crate) fn tell(journal: Option<&dyn Journal>, at: Timestamp, input: &Input<'_>) {
    if let Some(journal) = journal.filter(|journal| journal.wants_lines()) {
        journal.passed(&Passed { at, input });
    }
}
