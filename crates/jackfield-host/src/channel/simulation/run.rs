//! A run in the simulated world: the real session machine, and the pipes between it and the CLI that is played.
//!
//! It does what the SDK's task does with the machine's wishes, except that each waits for its own step. The one rule
//! it keeps: what the machine wants written is written in its order, and nothing after the end.

use std::collections::VecDeque;

use jackfield_api::{Event, Timestamp};
use jackfield_core::{By, CommandId, Exit, Input, Launch, Options, Output, Session};
use jackfield_sdk::wire::Outbound;

use super::cli::Cli;
use super::disk::Outcome;
use crate::channel::book::Book;
use crate::store::SessionRecord;

/// A run: its machine, its CLI, and what is between them and the host.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) machine: Session,
    pub(super) cli: Cli,
    pub(super) to_cli: VecDeque<Option<(Outbound, By)>>,
    pub(super) told: VecDeque<Event>,
    pub(super) answered: VecDeque<(CommandId, Outcome)>,
    pub(super) over: bool,
}

impl Run {
    pub(super) fn start(book: &mut Book<String>, cli: Cli, now: Timestamp) -> Self {
        let next_seq = book.seq().0 + 1;
        let SessionRecord { summary, .. } = book.record_now();
        let options = Options {
            session_id: Some(summary.session_id),
            next_seq: Some(next_seq),
            last_turn: summary.turn,
            ..Options::default()
        };
        let mut run = Self {
            machine: Session::new(options),
            cli,
            to_cli: VecDeque::new(),
            told: VecDeque::new(),
            answered: VecDeque::new(),
            over: false,
        };
        let launch = Launch::from_arguments::<&str>(&[]);
        run.feed(now, Input::Started(launch));
        run
    }

    pub(super) fn feed(&mut self, now: Timestamp, input: Input<'_>) {
        self.machine.handle(now, input);
        while let Some(output) = self.machine.poll() {
            match output {
                Output::Event(event) => self.told.push_back(event),
                Output::Write(line, by) => self.to_cli.push_back(Some((line, by))),
                Output::CloseStdin => self.to_cli.push_back(None),
                Output::Answer(id, outcome) => self.answered.push_back((id, outcome)),
                Output::Signal(signal) => {
                    self.machine.handle(now, Input::Signalled(signal));
                    if !self.over {
                        self.end(now, Exit::Signal(15));
                    }
                }
                Output::Call(..) | Output::CallWithdrawn(_) => {}
            }
        }
    }

    pub(super) fn end(&mut self, now: Timestamp, exit: Exit) {
        self.over = true;
        self.to_cli.clear();
        self.feed(now, Input::Exited(exit));
    }
}
