//! What a session's task is asked by its handles, and by the callbacks that decide in their place.

use jackfield_api::command::{Prompt, Rejection, Reply, Verdict};
use jackfield_api::trouble::NoticeLevel;
use jackfield_api::{Command, PendingId, Snapshot};
use jackfield_core::{By, CommandId, Input};
use jackfield_wire::HostRequest;
use tokio::sync::oneshot;

use super::Task;
use crate::conversation::Choice;
use crate::turn::{TurnError, TurnResult};

/// What a handle asks of the task.
#[derive(Debug)]
pub(crate) enum Ask {
    Command(By, Box<Command>, Answer),
    Request(Box<HostRequest>, Answer),
    Prompt(By, Box<Prompt>, Answer, oneshot::Sender<Result<TurnResult, TurnError>>),
    Snapshot(oneshot::Sender<Option<Snapshot>>),
    Notice(NoticeLevel, String),
    /// Go on when all handles are gone.
    Detach,
}

/// Where an answer goes.
pub(crate) type Answer = oneshot::Sender<Result<Reply, Rejection>>;

impl Task {
    pub(super) fn ask(&mut self, ask: Ask) {
        match ask {
            Ask::Command(by, command, answer) => {
                let id = self.await_answer(answer);
                match &*command {
                    Command::Prompt(prompt) => self.progress.sent(prompt),
                    Command::EditQueued(edit) => self.progress.sent(&edit.with),
                    Command::SetModel(set) => {
                        self.choices.insert(id.clone(), Choice::Model(set.model.clone()));
                    }
                    Command::SetThinking(set) => {
                        self.choices.insert(id.clone(), Choice::Thinking(set.max_thinking_tokens));
                    }
                    Command::SetEffort(set) => {
                        self.choices.insert(id.clone(), Choice::Effort(set.effort.clone()));
                    }
                    Command::Close(_) => self.closing = true,
                    _ => {}
                }
                self.feed(Input::Command(id, by, *command));
            }
            Ask::Request(request, answer) => {
                let id = self.await_answer(answer);
                self.feed(Input::Request(id, By::Host, *request));
            }
            Ask::Prompt(by, prompt, answer, outcome) => {
                self.turns.follow(prompt.uuid.clone(), outcome);
                self.progress.sent(&prompt);
                let id = self.await_answer(answer);
                self.feed(Input::Command(id, by, Command::Prompt(prompt)));
            }
            Ask::Snapshot(to) => {
                self.flush();
                let _ = to.send(self.transcript.as_ref().map(|transcript| transcript.snapshot().clone()));
            }
            Ask::Notice(level, text) => self.feed(Input::Notice(level, text)),
            Ask::Detach => self.detached = true,
        }
    }

    fn await_answer(&mut self, answer: Answer) -> CommandId {
        let id = self.name_command();
        self.answers.insert(id.clone(), answer);
        id
    }

    pub(super) fn name_command(&mut self) -> CommandId {
        self.next_command += 1;
        CommandId(self.next_command.to_string().into())
    }

    pub(super) fn decided(&mut self, pending_id: PendingId, verdict: Option<Verdict>) {
        self.calls.deciding.remove(&pending_id);
        if let Some(verdict) = verdict {
            let answer = self.answer(pending_id, verdict);
            self.feed(answer);
        }
    }

    pub(super) fn answer(&mut self, pending_id: PendingId, verdict: Verdict) -> Input<'static> {
        let id = self.name_command();
        let answer = jackfield_api::command::Answer { pending_id, verdict };
        Input::Command(id, By::Host, answer.into())
    }
}
