//! Commands that are done when their line is written: prompts and answers.
//!
//! Not requests, which are done when the CLI answers. The one rule it keeps: who is told that something was said knows
//! that it was written, and a line that never was is told too.

use jackfield_wire::RequestId;

use crate::input::CommandId;

/// Commands whose lines are on their way.
#[derive(Debug, Default)]
pub(crate) struct Promises {
    prompts: Vec<(String, CommandId)>,
    answers: Vec<(RequestId, CommandId)>,
}

impl Promises {
    /// A prompt of this name will be written.
    pub(crate) fn prompt(&mut self, uuid: &str, command: CommandId) {
        self.prompts.push((uuid.to_owned(), command));
    }

    /// An answer to this request of the CLI will be written.
    pub(crate) fn answer(&mut self, request_id: RequestId, command: CommandId) {
        self.answers.push((request_id, command));
    }

    /// A prompt was written: whose it was.
    pub(crate) fn prompt_sent(&mut self, uuid: &str) -> Option<CommandId> {
        let at = self.prompts.iter().position(|(promised, _)| promised == uuid)?;
        Some(self.prompts.remove(at).1)
    }

    /// An answer was written: whose it was.
    pub(crate) fn answer_sent(&mut self, request_id: &RequestId) -> Option<CommandId> {
        let at = self.answers.iter().position(|(promised, _)| promised == request_id)?;
        Some(self.answers.remove(at).1)
    }

    /// Nothing more will be written: whose lines never were.
    pub(crate) fn end(&mut self) -> Vec<CommandId> {
        let (prompts, answers) = (std::mem::take(&mut self.prompts), std::mem::take(&mut self.answers));
        let prompts = prompts.into_iter().map(|(_, command)| command);
        prompts.chain(answers.into_iter().map(|(_, command)| command)).collect()
    }
}
