//! What the task tells whoever keeps a journal of it. The one rule it keeps: an input is told before the machine
//! makes anything of it.

use jackfield_api::Timestamp;
use jackfield_core::Input;

use super::Task;
use crate::journal;

impl Task {
    /// Hands an input to the machine.
    pub(super) fn handle(&mut self, now: Timestamp, input: Input<'_>) {
        journal::tell(self.origin.options.journal.as_deref(), now, &input);
        self.machine.handle(now, input);
    }

    /// Tells which process it is.
    pub(super) fn name_process(&self) {
        if let (Some(journal), Some(id)) = (&self.origin.options.journal, self.leash.id()) {
            journal.process(id);
        }
    }

    /// All of this moment was told.
    pub(super) fn pause_journal(&self) {
        if let Some(journal) = &self.origin.options.journal {
            journal.pause();
        }
    }
}
