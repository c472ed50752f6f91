//! How far a session has come, as far as another run needs to know it.
//!
//! Not a transcript. The one rule it keeps: what was said and not answered is not forgotten, so that it can be
//! said again.

use std::mem::discriminant;
use std::sync::{Mutex, MutexGuard, PoisonError};

use jackfield_api::command::Prompt;
use jackfield_api::conversation::{DropReason, DroppedPrompt};
use jackfield_api::{Body, Event, Seq, Uuid};
use jackfield_wire::{PermissionMode, SessionId};

/// How far a session has come, as far as another run needs to know it.
#[derive(Debug, Default)]
pub(crate) struct Progress(Mutex<State>);

#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) cli_session_id: Option<SessionId>,
    pub(super) mode: Option<PermissionMode>,
    /// What was chosen since the start, one of each kind.
    pub(super) chosen: Vec<Choice>,
    pub(super) last_message: Option<Uuid>,
    /// Sent, but in no turn yet.
    waiting: Vec<Prompt>,
    /// What the turn that runs, or ran last, was told.
    told: Vec<Prompt>,
    turn: TurnState,
}

/// What somebody chose in a run, and the CLI took; `None` leaves it to the CLI.
#[derive(Debug)]
pub(crate) enum Choice {
    Model(Option<String>),
    Thinking(Option<u64>),
    Effort(Option<String>),
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum TurnState {
    #[default]
    None,
    Running,
    Complete(Seq),
    Failed,
}

impl State {
    /// A prompt leaves the queue without a turn. One that was lost with its run failed like a turn.
    fn drop_prompt(&mut self, dropped: &DroppedPrompt) {
        let found = self.waiting.iter().position(|prompt| dropped.uuid.as_ref() == Some(&prompt.uuid));
        let Some(prompt) = found.map(|at| self.waiting.remove(at)) else { return };
        if dropped.reason != DropReason::RunEnded {
            return;
        }
        if matches!(self.turn, TurnState::None | TurnState::Complete(_)) {
            self.told.clear();
            self.turn = TurnState::Failed;
        }
        self.told.push(prompt);
    }
}

impl Progress {
    pub(crate) fn new(cli_session_id: Option<SessionId>, mode: Option<PermissionMode>) -> Self {
        Self(Mutex::new(State { cli_session_id, mode, ..State::default() }))
    }

    /// The permission mode in effect.
    pub(crate) fn mode(&self) -> Option<PermissionMode> {
        self.lock().mode.clone()
    }

    pub(crate) fn chose(&self, choice: Choice) {
        let mut state = self.lock();
        state.chosen.retain(|earlier| discriminant(earlier) != discriminant(&choice));
        state.chosen.push(choice);
    }

    pub(crate) fn sent(&self, prompt: &Prompt) {
        self.lock().waiting.push(prompt.clone());
    }

    pub(crate) fn see(&self, event: &Event) {
        match &event.body {
            Body::SessionStatus(status) => {
                let mut state = self.lock();
                state.cli_session_id = Some(status.cli_session_id.as_str().into());
                state.mode = Some(status.permission_mode.as_str().into());
            }
            Body::ModeChanged(changed) => self.lock().mode = Some(changed.permission_mode.as_str().into()),
            Body::TurnStarted(_) => {
                let mut state = self.lock();
                state.told.clear();
                state.turn = TurnState::Running;
            }
            Body::UserMessage(message) => {
                let Some(uuid) = &message.uuid else { return };
                let mut state = self.lock();
                if let Some(at) = state.waiting.iter().position(|prompt| prompt.uuid == *uuid) {
                    let prompt = state.waiting.remove(at);
                    state.told.push(prompt);
                }
            }
            Body::Queue(queue) => {
                for dropped in &queue.dropped {
                    self.lock().drop_prompt(dropped);
                }
            }
            Body::Complete(complete) => {
                let mut state = self.lock();
                state.turn = TurnState::Complete(event.seq);
                state.last_message.clone_from(&complete.data.last_message_uuid);
            }
            Body::Error(_) => {
                let mut state = self.lock();
                // Why a turn failed is told just behind its end.
                if matches!(state.turn, TurnState::Complete(end) if end.0 + 1 == event.seq.0) {
                    state.turn = TurnState::Failed;
                }
            }
            Body::RunEnded(_) => {
                let mut state = self.lock();
                if state.turn == TurnState::Running {
                    state.turn = TurnState::Failed;
                }
            }
            _ => {}
        }
    }

    /// What the last turn was told, if it failed.
    pub(super) fn failed(&self) -> Option<Vec<Prompt>> {
        let state = self.lock();
        let failed = state.turn == TurnState::Failed && !state.told.is_empty();
        failed.then(|| state.told.clone())
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
