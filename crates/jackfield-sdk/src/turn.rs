//! A prompt on its way to a result.
//!
//! A turn is not a prompt: prompts merge and join running turns. So a prompt is followed by its uuid to the
//! turn that takes it, and ends with that turn.

use jackfield_api::conversation::DropReason;
use jackfield_api::trouble::Error;
use jackfield_api::usage::TurnFigures;
use jackfield_api::{Body, Event, TurnNumber, Uuid};
use tokio::sync::oneshot;

/// A prompt that was sent.
///
/// As long as this is held, what the turn says is collected for its [result](Turn::result), however much it is:
/// a model says no more than its tokens allow. Who only wants the prompt's name, or reads the events, drops it.
#[derive(Debug)]
pub struct Turn {
    pub(crate) uuid: Uuid,
    pub(crate) outcome: oneshot::Receiver<Result<TurnResult, TurnError>>,
}

impl Turn {
    /// The prompt's name, to cancel or rewind it.
    pub fn uuid(&self) -> &Uuid {
        &self.uuid
    }

    /// Waits for the end of the turn that took the prompt.
    pub async fn result(self) -> Result<TurnResult, TurnError> {
        self.outcome.await.unwrap_or(Err(TurnError::RunEnded))
    }
}

/// How a turn ended.
#[derive(Debug, Clone, PartialEq)]
pub struct TurnResult {
    /// Which turn it was.
    pub turn: TurnNumber,
    /// What was said in it, without subagents; one blank line between messages.
    pub text: String,
    /// Its cost and its tokens.
    pub figures: TurnFigures,
    /// What went wrong; a turn that was interrupted has an error too.
    pub error: Option<Error>,
}

/// Why a prompt has no result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TurnError {
    /// It never entered the conversation.
    #[error("the prompt was dropped: {0:?}")]
    Dropped(DropReason),
    /// The CLI ended before the turn did.
    #[error("the CLI ended in the middle of the turn")]
    RunEnded,
}

type Outcome = oneshot::Sender<Result<TurnResult, TurnError>>;

/// Who waits for which turn.
#[derive(Debug, Default)]
pub(crate) struct Turns {
    waiting: Vec<(Uuid, Outcome)>,
    running: Vec<Outcome>,
    text: String,
    /// A result whose error, if it has one, is the next event.
    ended: Option<TurnResult>,
}

impl Turns {
    pub(crate) fn follow(&mut self, uuid: Uuid, outcome: Outcome) {
        // A prompt that was rejected, or that nobody follows any more.
        self.waiting.retain(|(_, outcome)| !outcome.is_closed());
        self.waiting.push((uuid, outcome));
    }

    pub(crate) fn see(&mut self, event: &Event) {
        if self.waiting.is_empty() && self.running.is_empty() {
            return;
        }
        match &event.body {
            Body::UserMessage(message) => {
                let uuid = message.uuid.as_ref();
                if let Some(at) = self.waiting.iter().position(|(waiting, _)| Some(waiting) == uuid) {
                    self.running.push(self.waiting.remove(at).1);
                }
            }
            Body::MessageChunk(chunk) if event.parent_tool_call_id.is_none() => {
                if !self.is_followed() {
                    self.text = String::new();
                    return;
                }
                if chunk.item_id.0 == event.seq.0 && !self.text.is_empty() {
                    self.text.push_str("\n\n");
                }
                self.text.push_str(&chunk.text);
            }
            Body::TurnStarted(_) => self.text.clear(),
            Body::Queue(queue) => {
                for dropped in &queue.dropped {
                    let uuid = dropped.uuid.as_ref();
                    if let Some(at) = self.waiting.iter().position(|(waiting, _)| Some(waiting) == uuid) {
                        let _ = self.waiting.remove(at).1.send(Err(TurnError::Dropped(dropped.reason)));
                    }
                }
            }
            Body::Complete(complete) => {
                self.ended = Some(TurnResult {
                    turn: event.turn.unwrap_or_default(),
                    text: std::mem::take(&mut self.text),
                    figures: complete.data.clone(),
                    error: None,
                });
            }
            Body::Error(error) => {
                if let Some(ended) = &mut self.ended {
                    ended.error = Some((**error).clone());
                }
            }
            Body::RunEnded(_) => {
                for outcome in
                    self.running.drain(..).chain(self.waiting.drain(..).map(|(_, outcome)| outcome))
                {
                    let _ = outcome.send(Err(TurnError::RunEnded));
                }
            }
            _ => {}
        }
    }

    /// Whether anybody still wants to know what is said: it may be much.
    fn is_followed(&self) -> bool {
        let waiting = self.waiting.iter().map(|(_, outcome)| outcome);
        waiting.chain(&self.running).any(|outcome| !outcome.is_closed())
    }

    /// The line's events are all seen: a turn that has ended gets its outcome.
    pub(crate) fn settle(&mut self) {
        if let Some(ended) = self.ended.take() {
            for outcome in self.running.drain(..) {
                // Who no longer waits does not mind.
                let _ = outcome.send(Ok(ended.clone()));
            }
        }
    }
}
