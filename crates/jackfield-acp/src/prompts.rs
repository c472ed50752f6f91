//! How prompts end: a fold over events, bound by the names of prompts.
//!
//! A turn is not a prompt: several prompts may share a turn, and turns begin that nobody asked for. It asks nobody and
//! sends nothing. The one rule it keeps: each prompt ends exactly once; by `cancelled` if it was cancelled, by
//! `end_turn` only if its turn ended well, and by an error that says why if it did not.

use jackfield_api::conversation::DropReason;
use jackfield_api::session::RunEnded;
use jackfield_api::trouble::Error as Failure;
use jackfield_api::usage::TurnFigures;
use jackfield_api::{Body, Event, Seq, TurnNumber, Uuid};
use serde_json::json;

use crate::schema::{Error, RequestId, StopReason, Usage};

/// The prompts that have no answer yet.
#[derive(Debug, Default)]
pub(crate) struct Prompts {
    open: Vec<Open>,
}

#[derive(Debug)]
struct Open {
    request: RequestId,
    uuid: Uuid,
    place: Place,
    cancelled: bool,
    ending: Option<Ending>,
    usage: Option<Usage>,
}

/// Where a prompt is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// It is held back here.
    Held,
    /// It is on its way to the host.
    Sent,
    /// It waits for its turn.
    Waiting,
    /// Its turn runs.
    InTurn(TurnNumber),
    /// Its turn is over; whether it failed is told right behind.
    Complete(Seq),
}

/// How a prompt ends.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Ending {
    /// With a reason to stop.
    Stop(StopReason),
    /// Not well.
    Failed(Error),
}

impl Prompts {
    /// A prompt came in.
    pub(crate) fn begin(&mut self, request: RequestId, uuid: Uuid) {
        self.open.push(Open {
            request,
            uuid,
            place: Place::Held,
            cancelled: false,
            ending: None,
            usage: None,
        });
    }

    /// It is on its way to the host.
    pub(crate) fn given(&mut self, uuid: &Uuid) {
        for open in self.named(uuid) {
            open.place = Place::Sent;
        }
    }

    /// The host has it.
    pub(crate) fn taken(&mut self, uuid: &Uuid) {
        for open in self.named(uuid) {
            if open.place == Place::Sent {
                open.place = Place::Waiting;
            }
        }
    }

    /// It will not be done, and why.
    pub(crate) fn refused(&mut self, uuid: &Uuid, reason: impl Into<String>) {
        let error = internal(reason, "refused");
        for open in self.named(uuid) {
            open.ending.get_or_insert(Ending::Failed(error.clone()));
        }
    }

    /// All of them are to stop, or the one with this request.
    pub(crate) fn cancel(&mut self, request: Option<&RequestId>) {
        for open in &mut self.open {
            open.cancelled |= request.is_none_or(|request| *request == open.request);
        }
    }

    /// Ends those that were cancelled and are held back here, and tells which these are.
    pub(crate) fn drop_held(&mut self) -> Vec<Uuid> {
        let held = self.open.iter_mut().filter(|open| open.cancelled && open.place == Place::Held);
        held.map(|open| {
            open.ending.get_or_insert(Ending::Stop(StopReason::Cancelled));
            open.uuid.clone()
        })
        .collect()
    }

    /// Ends those that were cancelled, because waiting for them makes no sense any more.
    pub(crate) fn give_up(&mut self) {
        for open in self.open.iter_mut().filter(|open| open.cancelled) {
            open.ending.get_or_insert(Ending::Stop(StopReason::Cancelled));
        }
    }

    /// Those that were cancelled and go on, and where they are.
    pub(crate) fn stopping(&self) -> Vec<(Uuid, Place)> {
        let going = self.open.iter().filter(|open| open.cancelled && open.ending.is_none());
        going.map(|open| (open.uuid.clone(), open.place)).collect()
    }

    /// Sees what happened.
    pub(crate) fn see(&mut self, event: &Event) {
        match &event.body {
            Body::UserMessage(said) => {
                let Some((uuid, turn)) = said.uuid.as_ref().zip(event.turn) else { return };
                for open in self.named(uuid) {
                    if matches!(open.place, Place::Sent | Place::Waiting) {
                        open.place = Place::InTurn(turn);
                    }
                }
            }
            Body::Queue(queue) => {
                for dropped in &queue.dropped {
                    let Some(uuid) = &dropped.uuid else { continue };
                    let ending = match dropped.reason {
                        DropReason::Cancelled => Ending::Stop(StopReason::Cancelled),
                        DropReason::Duplicate => {
                            Ending::Failed(internal("the prompt was sent before", "duplicate"))
                        }
                        DropReason::RunEnded => {
                            Ending::Failed(internal("the CLI ended before it took the prompt", "run_ended"))
                        }
                    };
                    for open in self.named(uuid) {
                        open.ending.get_or_insert(ending.clone());
                    }
                }
            }
            Body::Complete(complete) => {
                let ending = well(complete.data.terminal_reason.as_deref());
                let usage = usage(&complete.data);
                for open in self.in_turn(event.turn) {
                    open.place = Place::Complete(event.seq);
                    open.usage = Some(usage.clone());
                    open.ending.get_or_insert(ending.clone());
                }
            }
            Body::Error(failure) => {
                let ending = failed(failure);
                for open in &mut self.open {
                    // Behind the end of the turn it belongs to it only if it stands next to it.
                    match open.place {
                        Place::Complete(seq) if seq.0 + 1 == event.seq.0 => {
                            open.ending = Some(ending.clone());
                        }
                        Place::InTurn(turn) if event.turn == Some(turn) => {
                            open.ending.get_or_insert(ending.clone());
                        }
                        _ => {}
                    }
                }
            }
            Body::RunEnded(ended) => {
                for open in self.open.iter_mut().filter(|open| matches!(open.place, Place::InTurn(_))) {
                    open.ending.get_or_insert_with(|| Ending::Failed(internal(words(ended), "run_ended")));
                }
            }
            _ => {}
        }
    }

    /// Nothing more will be told.
    pub(crate) fn over(&mut self, reason: &str) {
        for open in &mut self.open {
            open.ending.get_or_insert_with(|| Ending::Failed(internal(reason, "over")));
        }
    }

    /// Takes out those that have ended. Only when all is seen that was told together: a failure stands behind the end
    /// of its turn.
    pub(crate) fn settle(&mut self) -> Vec<(RequestId, Ending, Option<Usage>)> {
        let mut settled = Vec::new();
        self.open.retain_mut(|open| {
            let Some(ending) = open.ending.take() else { return true };
            let ending = if open.cancelled { Ending::Stop(StopReason::Cancelled) } else { ending };
            settled.push((open.request.clone(), ending, open.usage.take()));
            false
        });
        settled
    }

    fn named<'a>(&'a mut self, uuid: &'a Uuid) -> impl Iterator<Item = &'a mut Open> {
        self.open.iter_mut().filter(move |open| open.uuid == *uuid)
    }

    fn in_turn(&mut self, turn: Option<TurnNumber>) -> impl Iterator<Item = &mut Open> {
        self.open.iter_mut().filter(move |open| matches!(open.place, Place::InTurn(its) if turn == Some(its)))
    }
}

/// How a turn ended that did not fail.
fn well(reason: Option<&str>) -> Ending {
    Ending::Stop(match reason {
        Some("aborted_streaming" | "aborted_tools") => StopReason::Cancelled,
        Some("max_turns" | "budget_exhausted" | "structured_output_retry_exhausted") => {
            StopReason::MaxTurnRequests
        }
        _ => StopReason::EndTurn,
    })
}

fn usage(figures: &TurnFigures) -> Usage {
    let TurnFigures { input_tokens, output_tokens, cache_read_tokens, cache_creation_tokens, .. } = *figures;
    let all = input_tokens + output_tokens + cache_read_tokens + cache_creation_tokens;
    Usage::new(all, input_tokens, output_tokens)
        .cached_read_tokens(cache_read_tokens)
        .cached_write_tokens(cache_creation_tokens)
}

fn failed(failure: &Failure) -> Ending {
    let stop = match failure.code.as_str() {
        "interrupted" => StopReason::Cancelled,
        "error_max_turns"
        | "error_max_budget_usd"
        | "error_max_structured_output_retries"
        | "max_turns"
        | "budget_exhausted" => StopReason::MaxTurnRequests,
        "max_output_tokens" => StopReason::MaxTokens,
        "refusal" => StopReason::Refusal,
        "authentication_failed" | "oauth_org_not_allowed" => {
            let mut error = Error::auth_required();
            error.message = format!("Authentication required: {}", failure.error.trim());
            return Ending::Failed(error.data(json!({ "errorKind": failure.code })));
        }
        _ => return Ending::Failed(internal(failure.error.trim(), &failure.code)),
    };
    Ending::Stop(stop)
}

fn words(ended: &RunEnded) -> String {
    let tail = ended.stderr_tail.trim();
    let code = ended.exit_code.map_or_else(String::new, |code| format!(", exit code {code}"));
    let tail = if tail.is_empty() { String::new() } else { format!(": {tail}") };
    format!("the CLI ended before the turn was over ({:?}{code}){tail}", ended.reason).to_lowercase()
}

/// Something went wrong that is not the editor's fault.
pub(crate) fn internal(reason: impl Into<String>, kind: &str) -> Error {
    let mut error = Error::internal_error();
    error.message = reason.into();
    error.data(json!({ "errorKind": kind }))
}

#[cfg(test)]
mod tests;
