//! Who is told of everything that passes between a session and its CLI, as it passes.
//!
//! Unlike raw lines it is all of it: both directions, standard error, starts, exits and time-outs, in the order in
//! which the session's machine got them. The one rule it keeps: what is told, played again, gives the same events.

use std::fmt::Debug;

use jackfield_api::Timestamp;
use jackfield_core::Input;
pub use jackfield_core::journal::Entry;

/// Who is told. It is called in the middle of the session's work, so it must be quick.
pub trait Journal: Debug + Send + Sync {
    /// Whether lines are wanted now. Asked before one is made.
    fn wants_lines(&self) -> bool;

    /// The next line.
    fn line(&self, entry: &Entry);

    /// All of this moment was told.
    fn pause(&self);

    /// A process was started for the session: the CLI's, or its guard's.
    fn process(&self, id: u32);
}

/// Tells an input, if somebody wants to hear of it.
pub(crate) fn tell(journal: Option<&dyn Journal>, at: Timestamp, input: &Input<'_>) {
    if let Some(journal) = journal.filter(|journal| journal.wants_lines())
        && let Some(entry) = Entry::of(at, input)
    {
        journal.line(&entry);
    }
}
