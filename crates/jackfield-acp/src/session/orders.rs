//! Commands of a session that must reach the host in the order in which they were given.
//!
//! Answers and interrupts are not among them: they must not wait. The one rule it keeps: one is done at a time.

use std::collections::VecDeque;

use jackfield_api::Command;
use jackfield_api::command::Reply;
use jackfield_client::{ClientError, Trace};

use super::arriving::Traced;
use crate::schema::RequestId;

/// A command, and what it is for.
#[derive(Debug)]
pub(super) struct Order {
    pub(super) command: Command,
    pub(super) purpose: Purpose,
}

/// What a command is for.
#[derive(Debug, Clone)]
pub(super) enum Purpose {
    /// A prompt.
    Prompt(Box<Traced>),
    /// The answer to a request to set the mode.
    Mode(RequestId, String),
    /// The answer to a request to set the mode as an option.
    ModeOption(RequestId, String),
    /// The answer to a request to set the model.
    Model(RequestId, String),
    /// The answer to a request to set how much the model may think.
    Thinking(RequestId, Option<u64>),
    /// The answer to a request to set how much effort the model makes.
    Effort(RequestId, Option<String>),
    /// A run that is to begin anew.
    Restart,
}

impl Purpose {
    /// The trace that it is a part of.
    pub(super) fn trace(&self) -> Option<Trace> {
        match self {
            Self::Prompt(traced) => traced.trace.clone(),
            _ => None,
        }
    }
}

/// What came of one.
pub(super) type Done = (Purpose, Result<Reply, ClientError>);

/// One is done at a time.
#[derive(Debug, Default)]
pub(super) struct Orders {
    waiting: VecDeque<Order>,
    busy: bool,
}

impl Orders {
    /// Puts one behind the others.
    pub(super) fn push(&mut self, command: impl Into<Command>, purpose: Purpose) {
        self.waiting.push_back(Order { command: command.into(), purpose });
    }

    /// Puts one before the others, because it was there before.
    pub(super) fn push_first(&mut self, command: impl Into<Command>, purpose: Purpose) {
        self.waiting.push_front(Order { command: command.into(), purpose });
    }

    /// The next one to do, if none is being done.
    pub(super) fn next(&mut self) -> Option<Order> {
        if self.busy {
            return None;
        }
        let order = self.waiting.pop_front()?;
        self.busy = true;
        Some(order)
    }

    /// The one that was being done is.
    pub(super) fn done(&mut self) {
        self.busy = false;
    }
}
