//! A session on a stage: a shell that does at once what the machine wants, and writes the journal.
//!
//! Not a model of the CLI: what the CLI says comes as steps. The one rule: every input that a journal
//! holds is written down as it goes in, so that [`replay`] can be compared with what happened.

use std::collections::VecDeque;

use jackfield_api as api;
use jackfield_core::input::FileChange;
use jackfield_core::journal::{Entry, Reader, may_stand, write_time};
use jackfield_core::{
    By, CallId, CommandId, Exit, HostReply, Input, Launch, Options, Output, Session, Signal, Transcript,
};
use jackfield_wire as wire;

use super::ledger::Ledger;

/// Something that happens to a session.
#[derive(Debug, Clone)]
pub enum Step {
    /// So many milliseconds pass.
    Wait(u64),
    /// A process begins.
    Started(Launch),
    /// It writes a line.
    Line(Vec<u8>),
    /// It writes a line longer than we keep.
    LongLine(u64),
    /// The shell met a line that it could make nothing of.
    Unreadable(String),
    /// Somebody else wrote a line to it.
    Sent(Vec<u8>, By),
    /// A client asks for something.
    Command(api::Command, By),
    /// A program asks the CLI for something that is no command.
    Request(wire::HostRequest, By),
    /// A client answers the n-th open question, or one that is not there.
    Answer(usize, api::command::Verdict, By),
    /// The shell has done the n-th open call, or one that is not there.
    Reply(usize, HostReply),
    /// A file was seen to change.
    File(FileChange),
    /// The shell has something to tell.
    Notice(String),
    /// It writes to its standard error.
    Stderr(String),
    /// Somebody closes its input.
    StdinClosed,
    /// Somebody sends it a signal.
    Signalled(Signal),
    /// It ends.
    Exited(Exit),
    /// The host dies, and whatever it ran. Another one tells the end of what was open, and goes on in a new machine.
    HostDied(Launch),
    /// Time-out, now.
    Timeout,
    /// Time-out, when the session wants it.
    Deadline,
    /// The shell is slow from here on: what the machine wants is not done yet.
    Hold,
    /// The shell does what it has held.
    Release,
}

/// A session, and everything that has come out of it.
#[derive(Debug)]
pub struct Stage {
    options: Options,
    session: Session,
    transcript: Transcript,
    at: u64,
    ledger: Ledger,
    outputs: Vec<Output>,
    journal: Vec<String>,
    acts: VecDeque<Output>,
    holding: bool,
    commands: u64,
}

/// A question or a call that is never there.
const NOWHERE: u64 = u64::MAX / 2;

impl Stage {
    /// A session of this name; without one the CLI's first id names it.
    pub fn new(name: Option<&str>) -> Self {
        let options = Options { session_id: name.map(Into::into), ..Options::default() };
        Self::with(options)
    }

    /// A session with these options.
    pub fn with(options: Options) -> Self {
        Self {
            session: Session::new(options.clone()),
            options,
            transcript: Transcript::new(),
            at: 1_000,
            ledger: Ledger::default(),
            outputs: Vec::new(),
            journal: Vec::new(),
            acts: VecDeque::new(),
            holding: false,
            commands: 0,
        }
    }

    /// Takes one step. Gives what came of it.
    pub fn take(&mut self, step: &Step) -> &[Output] {
        let before = self.outputs.len();
        match step {
            Step::Wait(milliseconds) => self.at = self.at.saturating_add(*milliseconds),
            Step::Hold => self.holding = true,
            Step::Release => self.holding = false,
            Step::Deadline => {
                if let Some(deadline) = self.session.deadline() {
                    self.at = self.at.max(deadline.0);
                    self.handle(Input::Timeout);
                }
            }
            Step::Timeout => self.handle(Input::Timeout),
            Step::Started(launch) => self.handle(Input::Started(launch.clone())),
            Step::Line(line) => self.handle(Input::Line(wire::decode(line))),
            Step::LongLine(length) => self.handle(Input::LongLine { length: *length }),
            Step::Unreadable(text) => {
                let reason = "torn".to_owned();
                self.handle(Input::Unreadable { reason, text: text.clone() });
            }
            Step::Sent(line, by) => {
                let line = String::from_utf8_lossy(line).into_owned();
                let entry =
                    Entry { t: self.seconds(), dir: "in".to_owned(), line, by: by.word(), lossy: false };
                if let Some(input) = entry.input() {
                    self.record(&entry);
                    self.take_in(input);
                }
            }
            Step::Command(command, by) => self.command(command.clone(), by),
            Step::Request(request, by) => {
                let id = self.command_id();
                self.handle(Input::Request(id, by.clone(), request.clone()));
            }
            Step::Answer(which, verdict, by) => {
                let open = self.ledger.questions();
                let pending_id = open.get(which % open.len().max(1)).copied();
                let pending_id = pending_id.unwrap_or(api::PendingId(NOWHERE));
                self.command(api::command::Answer { pending_id, verdict: verdict.clone() }.into(), by);
            }
            Step::Reply(which, reply) => {
                let open = self.ledger.calls();
                let id = open.get(which % open.len().max(1)).copied().unwrap_or(CallId(NOWHERE));
                self.ledger.called(id);
                self.handle(Input::Called(id, reply.clone()));
            }
            Step::File(change) => self.handle(Input::File(change.clone())),
            Step::Notice(text) => {
                self.handle(Input::Notice(api::trouble::NoticeLevel::Warning, text.clone()));
            }
            Step::Stderr(line) => self.handle(Input::Stderr(line.clone())),
            Step::StdinClosed => self.handle(Input::StdinClosed),
            Step::Signalled(signal) => self.handle(Input::Signalled(*signal)),
            Step::Exited(exit) => self.handle(Input::Exited(exit.clone())),
            Step::HostDied(launch) => self.host_died(launch.clone()),
        }
        self.perform();
        &self.outputs[before..]
    }

    /// Ends the run, if there is one, and checks that nothing is left open.
    pub fn end(&mut self) {
        self.take(&Step::Release);
        if self.session.is_running() {
            self.take(&Step::Exited(Exit::Code(0)));
        }
        self.session.finish();
        self.drain();
        self.ledger.close();
    }

    /// Everything that came out.
    pub fn outputs(&self) -> &[Output] {
        &self.outputs
    }

    /// The events that came out.
    pub fn events(&self) -> Vec<api::Event> {
        let event =
            |output: &Output| if let Output::Event(event) = output { Some(event.clone()) } else { None };
        self.outputs.iter().filter_map(event).collect()
    }

    /// The journal, as JSON text.
    pub fn journal(&self) -> &[String] {
        &self.journal
    }

    /// The session.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// The time, in milliseconds.
    pub fn now(&self) -> u64 {
        self.at
    }

    fn host_died(&mut self, launch: Launch) {
        // What waited for a name is told without one: a host names its sessions.
        self.session.finish();
        self.drain();
        self.acts.clear();
        self.ledger.host_died();
        for event in self.transcript.host_ended(api::Timestamp(self.at)) {
            self.write(&Input::Told(Box::new(event.clone())));
            self.put(Output::Event(event));
        }
        let told = self.transcript.snapshot();
        let (next_seq, last_turn) = (Some(told.seq.0 + 1), told.turn);
        self.session = Session::new(Options { next_seq, last_turn, ..self.options.clone() });
        let begins = Some(self.session.place());
        self.handle(Input::Started(Launch { begins, ..launch }));
    }

    fn command(&mut self, command: api::Command, by: &By) {
        let id = self.command_id();
        self.handle(Input::Command(id, by.clone(), command));
    }

    fn command_id(&mut self) -> CommandId {
        self.commands += 1;
        let id = CommandId(format!("command-{}", self.commands).into());
        self.ledger.command(&id);
        id
    }

    fn seconds(&self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "milliseconds within a few years")]
        let seconds = self.at as f64 / 1000.0;
        seconds
    }

    fn record(&mut self, entry: &Entry) {
        self.journal.extend(serde_json::to_string(entry));
    }

    fn handle(&mut self, input: Input<'_>) {
        self.write(&input);
        self.take_in(input);
    }

    /// Writes the journal's line for an input.
    fn write(&mut self, input: &Input<'_>) {
        let at = api::Timestamp(self.at);
        let mut line = Vec::new();
        let mut came = None;
        match input {
            Input::Line(decoded) if may_stand(decoded) && !decoded.text.contains('\n') => {
                write_time(at, &mut line);
                came = Some(decoded.text.clone().into_owned());
            }
            input => Entry::write(at, input, &mut line),
        }
        // It is one line, whatever is in it.
        let line = String::from_utf8(line).unwrap_or_default();
        self.journal.extend(line.strip_suffix('\n').map(str::to_owned));
        self.journal.extend(came);
    }

    fn take_in(&mut self, input: Input<'_>) {
        self.session.handle(api::Timestamp(self.at), input);
        self.drain();
    }

    fn drain(&mut self) {
        while let Some(output) = self.session.poll() {
            self.put(output);
        }
    }

    fn put(&mut self, output: Output) {
        self.ledger.enter(&output);
        match &output {
            Output::Event(event) => self.transcript.apply(event),
            Output::Write(..) | Output::CloseStdin | Output::Signal(_) => self.acts.push_back(output.clone()),
            Output::Answer(..) | Output::Call(..) | Output::CallWithdrawn(_) => {}
        }
        self.outputs.push(output);
    }

    /// Does what the machine wants, unless the shell is slow. A process that is gone hears nothing.
    fn perform(&mut self) {
        while !self.holding
            && let Some(act) = self.acts.pop_front()
        {
            if !self.session.is_running() {
                continue;
            }
            match act {
                Output::Write(line, by) => self.handle(Input::Sent(wire::OutboundMessage::Known(line), by)),
                Output::CloseStdin => self.handle(Input::StdinClosed),
                Output::Signal(signal) => self.handle(Input::Signalled(signal)),
                _ => {}
            }
        }
    }
}

/// The events of a journal, played through a new session.
pub fn replay(name: Option<&str>, journal: &[String]) -> Vec<api::Event> {
    let mut session = Session::new(Options { session_id: name.map(Into::into), ..Options::default() });
    let mut events = Vec::new();
    let mut reader = Reader::default();
    for line in journal {
        for entry in reader.read(line).unwrap_or_default() {
            if let Some(input) = entry.input() {
                session.handle(entry.at(), input);
            }
        }
    }
    session.finish();
    while let Some(output) = session.poll() {
        if let Output::Event(event) = output {
            events.push(event);
        }
    }
    events
}
