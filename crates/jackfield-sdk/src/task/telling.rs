//! What the task tells whoever keeps a journal of it. The one rule it keeps: an input is written down before the
//! machine makes anything of it.

use jackfield_api::Timestamp;
use jackfield_core::Input;

use super::Task;

impl Task {
    /// Hands an input to the machine.
    pub(super) fn handle(&mut self, now: Timestamp, input: Input<'_>) {
        self.scribe.write(now, &input);
        self.machine.handle(now, input);
    }

    /// Tells which process it is.
    pub(super) fn name_process(&self) {
        if let Some(id) = self.leash.id() {
            self.scribe.process(id);
        }
    }
}
