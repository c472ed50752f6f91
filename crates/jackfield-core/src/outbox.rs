//! Where outputs wait to be polled, and where events get their envelope.
//!
//! The one rule: a `seq` is given out here and nowhere else, so it has no hole. What a host told without a machine has its
//! number already, and is only passed on where a journal is played.
//!
//! A bare replay is named after the CLI's first session id, which comes some lines after its first events.
//! Those are held back until the name is known, so that all events of a session bear the same one.

use std::collections::VecDeque;

use jackfield_api as api;
use jackfield_wire::Outbound;

use crate::input::{By, CallId, CommandId, HostCall, Output, Place, Signal};

/// How many events may wait for the session's name. Output that never tells one is told without.
const HELD_AT_MOST: usize = 64;

/// Outputs in order.
#[derive(Debug)]
pub(crate) struct Outbox {
    queue: VecDeque<Output>,
    /// Events that wait for the session's name.
    held: Vec<api::Event>,
    next_seq: u64,
    at: api::Timestamp,
    session_id: Option<api::SessionId>,
    turn: Option<api::TurnNumber>,
}

impl Outbox {
    pub(crate) fn new(
        session_id: Option<api::SessionId>,
        next_seq: u64,
        turn: Option<api::TurnNumber>,
    ) -> Self {
        let (queue, held, at) = (VecDeque::new(), Vec::new(), api::Timestamp(0));
        Self { queue, held, next_seq, at, session_id, turn }
    }

    pub(crate) fn pop(&mut self) -> Option<Output> {
        self.queue.pop_front()
    }

    pub(crate) fn set_time(&mut self, at: api::Timestamp) {
        self.at = at;
    }

    pub(crate) fn now(&self) -> api::Timestamp {
        self.at
    }

    /// The number that the next event will have.
    pub(crate) fn next_seq(&self) -> u64 {
        self.next_seq
    }

    /// Where the session is.
    pub(crate) fn place(&self) -> Place {
        Place { session_id: self.session_id.clone(), next_seq: self.next_seq, last_turn: self.turn }
    }

    /// Goes on from another place. What waits to be polled is told all the same.
    pub(crate) fn go_on_from(&mut self, place: Place) {
        self.name_session(place.session_id.as_ref().map_or("", api::SessionId::as_str));
        self.session_id = place.session_id;
        self.next_seq = place.next_seq.max(1);
        self.turn = place.last_turn;
    }

    /// An event that has its number already.
    pub(crate) fn told(&mut self, event: api::Event) {
        self.name_session(event.session_id.as_str());
        self.next_seq = event.seq.0.saturating_add(1);
        self.turn = event.turn;
        self.queue.push_back(Output::Event(event));
    }

    /// Names the session, unless it has a name.
    pub(crate) fn name_session(&mut self, id: &str) {
        if self.session_id.is_some() {
            return;
        }
        let id = api::SessionId::from(id);
        for mut event in self.held.drain(..) {
            event.session_id = id.clone();
            self.queue.push_back(Output::Event(event));
        }
        self.session_id = Some(id);
    }

    pub(crate) fn begin_turn(&mut self) {
        self.turn = Some(api::TurnNumber(self.turn.map_or(1, |turn| turn.0.saturating_add(1))));
    }

    pub(crate) fn event(&mut self, body: impl Into<api::Body>) {
        self.event_in(None, body);
    }

    /// An event that belongs to a subagent's tool call.
    pub(crate) fn event_in(&mut self, parent: Option<&api::ToolCallId>, body: impl Into<api::Body>) {
        let event = api::Event {
            body: body.into(),
            seq: api::Seq(self.next_seq),
            at: self.at,
            session_id: self.session_id.clone().unwrap_or_else(|| "".into()),
            turn: self.turn,
            parent_tool_call_id: parent.cloned(),
        };
        // A journal may say that it begins anywhere.
        self.next_seq = self.next_seq.saturating_add(1);
        if self.session_id.is_some() {
            self.queue.push_back(Output::Event(event));
            return;
        }
        self.held.push(event);
        if self.held.len() >= HELD_AT_MOST {
            self.name_session("");
        }
    }

    pub(crate) fn notice(&mut self, level: api::trouble::NoticeLevel, text: impl Into<String>) {
        self.event(api::trouble::Notice { level, text: text.into() });
    }

    pub(crate) fn write(&mut self, message: Outbound, by: By) {
        self.queue.push_back(Output::Write(message, by));
    }

    pub(crate) fn accept(&mut self, command: CommandId, reply: api::command::Reply) {
        self.queue.push_back(Output::Answer(command, Ok(reply)));
    }

    pub(crate) fn reject(
        &mut self,
        command: CommandId,
        code: api::command::RejectionCode,
        reason: impl Into<String>,
    ) {
        let rejection = api::command::Rejection { code, reason: reason.into() };
        self.queue.push_back(Output::Answer(command, Err(rejection)));
    }

    pub(crate) fn call(&mut self, id: CallId, call: HostCall) {
        self.queue.push_back(Output::Call(id, call));
    }

    pub(crate) fn withdraw_call(&mut self, id: CallId) {
        self.queue.push_back(Output::CallWithdrawn(id));
    }

    pub(crate) fn close_stdin(&mut self) {
        self.queue.push_back(Output::CloseStdin);
    }

    pub(crate) fn signal(&mut self, signal: Signal) {
        self.queue.push_back(Output::Signal(signal));
    }
}
