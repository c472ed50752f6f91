//! The task that owns a session: its process, its machine and its log.
//!
//! One loop. Selecting only says what happened (`Woken`); what to do about it is decided by the machine in a
//! plain call, and the wishes that come out are performed here. Nobody else touches the process.

mod asks;
mod calls;
mod pipes;
mod telling;
mod wishes;

use std::collections::BTreeMap;
use std::io;
use std::mem::{replace, take};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use futures_util::FutureExt as _;
use jackfield_api::command::{Rejection, RejectionCode, Reply, Verdict};
use jackfield_api::session::RunEndReason;
use jackfield_api::trouble::NoticeLevel;
use jackfield_api::{Body, Event, PendingId, Timestamp};
use jackfield_core::{
    By, CallId, CommandId, Exit, HostReply, Input, Launch, Session as Machine, Signal, Transcript,
};
use jackfield_wire::{HostRequest, Line, Lines, OutboundMessage, decode};
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::clock::Clock;
use crate::conversation::{Choice, Progress};
use crate::journal::Scribe;
use crate::lock::Lock;
use crate::log::Log;
use crate::process::{Leash, Process};
use crate::raw::{Direction, RawLines};
use crate::start::{self, Origin};
use crate::stderr::StandardError;
use crate::tail::Recorder;
use crate::turn::Turns;
use crate::writer::{Writer, Written};
pub(crate) use asks::{Answer, Ask};
use calls::Calls;
use pipes::{Pipes, give_back, read, until};

/// How many events are put into the log at once.
const TOLD: usize = 32;
/// How long output may still come after the exit, and an exit after the end of output.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// How long standard error waits for a lossless reader too. Then it is read all the same, and some is left out.
const STUCK: Duration = Duration::from_secs(1);

/// A session's task.
pub(crate) struct Task {
    machine: Machine,
    transcript: Option<Transcript>,
    log: Log,
    raw: Arc<RawLines>,
    origin: Arc<Origin>,
    progress: Arc<Progress>,
    turns: Turns,
    answers: BTreeMap<CommandId, Answer>,
    /// What is in effect once it is answered.
    choices: BTreeMap<CommandId, Choice>,
    /// Answers of this wake-up.
    answered: Vec<(Answer, Result<Reply, Rejection>)>,
    next_command: u64,
    /// Events of this wake-up.
    told: Vec<Event>,
    recorder: Recorder,
    scribe: Scribe,
    writer: Writer,
    leash: Leash,
    calls: Calls,
    clock: Clock,
    /// It goes on when all handles are gone.
    detached: bool,
    /// Somebody wants it to end.
    closing: bool,
    /// How the run ended, once it did.
    ended: Option<RunEndReason>,
    /// The CLI was ended and the conversation resumed, and nothing has come of it yet.
    resumed: bool,
}

/// What the task is made with.
pub(crate) struct Parts {
    pub(crate) machine: Machine,
    pub(crate) log: Log,
    pub(crate) raw: Arc<RawLines>,
    pub(crate) progress: Arc<Progress>,
    pub(crate) origin: Arc<Origin>,
    pub(crate) lock: Option<Lock>,
}

/// What happened.
enum Woken {
    Out(io::Result<Vec<u8>>),
    Err(io::Result<Vec<u8>>),
    Asked(Option<Ask>),
    Written(Written),
    Exited(Exit),
    Called(CallId, HostReply),
    Decided(PendingId, Option<Verdict>),
    Due,
    Drained,
    Stuck,
    LateEnough,
}

/// Takes a process apart that nobody drives yet.
fn open(process: Process) -> (Pipes, Writer, Leash) {
    let Process { stdin, stdout, stderr, leash } = process;
    (Pipes::new(stdout, stderr), Writer::new(stdin), leash)
}

/// Runs a session until its process is gone, and with it the last one that took its place.
///
/// Not an `async fn`: that would hold everything it is given a second time, for as long as the session lives.
pub(crate) fn run(
    process: Process,
    launch: Launch,
    parts: Parts,
    mut asks: mpsc::Receiver<Ask>,
) -> impl Future<Output = ()> + Send {
    let (pipes, writer, leash) = open(process);
    let options = &parts.origin.options;
    let recorder = Recorder::new(options.raw_tail.clone(), options.basket.clone());
    let scribe = Scribe::new(options.journal.clone());
    let mut task = Task {
        machine: parts.machine,
        transcript: options.transcript.is_on().then(Transcript::new),
        log: parts.log,
        raw: parts.raw,
        calls: Calls::new(&parts.origin.callbacks),
        origin: parts.origin,
        progress: parts.progress,
        turns: Turns::default(),
        answers: BTreeMap::new(),
        choices: BTreeMap::new(),
        answered: Vec::new(),
        next_command: 0,
        told: Vec::new(),
        recorder,
        scribe,
        writer,
        leash,
        clock: Clock::new(Instant::now(), SystemTime::now()),
        detached: false,
        closing: false,
        ended: None,
        resumed: false,
    };
    // Nobody else may drive this session until its last process is gone.
    let mut lock = parts.lock;
    task.name_process();
    // Only here does a machine begin: a run that takes the place of a wedged one keeps it.
    let begins = Some(task.machine.place());
    task.feed(Input::Started(Launch { begins, ..launch }));
    task.flush();

    async move {
        let mut next = Some(pipes);
        while let Some(pipes) = next.take() {
            task.drive(pipes, &mut asks).await;
            next = task.go_on(lock.as_mut()).await;
        }
        // Who hears of the end may go on with the session at once.
        drop(lock);
        // The journal has the end first: a host may write something of its own behind it.
        task.scribe.tell();
        task.flush();
        task.log.close();
    }
}

impl Task {
    /// One run of the CLI, to its end.
    async fn drive(&mut self, mut pipes: Pipes, asks: &mut mpsc::Receiver<Ask>) {
        let mut lines = Lines::new(self.origin.options.line_limit);
        let mut stderr = StandardError::new();
        let mut asked = true;
        let mut full_since = None;
        while !pipes.are_over() {
            // What a process leaves in its pipe when it is gone is little, and nobody waits for room to say it.
            let full = self.log.is_full() && pipes.exit.is_none();
            full_since = full_since.filter(|_| full).or_else(|| full.then(Instant::now));
            let stuck = full_since.map(|since| since + STUCK);
            let waits = stuck.is_some_and(|stuck| Instant::now() < stuck);
            let due = self.machine.deadline();
            let alarm = due.map(|due| self.clock.moment(due));
            let woken = tokio::select! {
                read = read(&mut pipes.stdout), if pipes.stdout.is_some() && !full => Woken::Out(read),
                read = read(&mut pipes.stderr), if pipes.stderr.is_some() && !waits => Woken::Err(read),
                ask = asks.recv(), if asked => Woken::Asked(ask),
                done = self.writer.next() => Woken::Written(done),
                exit = self.leash.ended(), if pipes.exit.is_none() => Woken::Exited(exit),
                Some(Ok((id, reply))) = self.calls.done.join_next() => Woken::Called(id, reply),
                Some(Ok((id, verdict))) = self.calls.decided.join_next() => Woken::Decided(id, verdict),
                () = self.log.drained(), if full => Woken::Drained,
                () = until(stuck), if waits => Woken::Stuck,
                () = until(alarm), if alarm.is_some() => Woken::Due,
                () = until(pipes.patience), if pipes.patience.is_some() => Woken::LateEnough,
            };
            self.clock.look(due, Instant::now(), SystemTime::now());
            self.scribe.ask();
            match woken {
                Woken::Out(Ok(chunk)) if !chunk.is_empty() => {
                    // All of it came at once, and a look at the clock for each line would be dear.
                    let now = self.now();
                    lines.feed(&chunk, |line| self.line(now, &line));
                    give_back(chunk);
                }
                Woken::Out(_) => {
                    lines.finish(|line| self.line(self.now(), &line));
                    pipes.stdout = None;
                    pipes.patience.get_or_insert(Instant::now() + LAST_WORDS);
                }
                Woken::Err(Ok(chunk)) if !chunk.is_empty() => {
                    stderr.read(&chunk);
                    give_back(chunk);
                }
                Woken::Err(_) => {
                    stderr.read(&[]);
                    pipes.stderr = None;
                }
                Woken::Asked(Some(ask)) => self.ask(ask),
                Woken::Asked(None) => {
                    asked = false;
                    if !self.detached {
                        // The last handle is gone: so is the session, with everything it started.
                        self.closing = true;
                        self.act(Signal::Kill);
                    }
                }
                Woken::Written(done) => self.written(done),
                Woken::Exited(exit) => {
                    pipes.exit = Some(exit);
                    pipes.patience = Some(Instant::now() + LAST_WORDS);
                }
                Woken::Called(id, reply) => {
                    self.calls.running.remove(&id);
                    self.feed(Input::Called(id, reply));
                }
                Woken::Decided(id, verdict) => self.decided(id, verdict),
                Woken::Due => self.feed(Input::Timeout),
                Woken::Drained | Woken::Stuck => {}
                Woken::LateEnough => {
                    // A pipe that somebody else still holds, or a process that has closed its output and stays.
                    self.act(Signal::Kill);
                    (pipes.stdout, pipes.stderr) = (None, None);
                    pipes.patience = Some(Instant::now() + LAST_WORDS);
                }
            }
            if self.log.is_full() && !pipes.are_over() {
                stderr.wait();
            } else {
                stderr.take().for_each(|line| self.feed(Input::Stderr(line)));
            }
            // The CLI is given its work before anybody else is woken.
            while let Some(done) = self.writer.next().now_or_never() {
                self.written(done);
            }
            self.flush();
        }
        self.feed(Input::Exited(pipes.exit.unwrap_or(Exit::OutputEnded)));
        self.recorder.run_ended();
    }

    /// A CLI that no longer answered was ended; the conversation goes on with another one. Not twice in a row
    /// without a result in between: then it is not the process that is at fault.
    async fn go_on(&mut self, lock: Option<&mut Lock>) -> Option<Pipes> {
        let wedged = self.ended.take() == Some(RunEndReason::Wedged);
        if !wedged
            || self.closing
            || !self.origin.options.resumes_wedged()
            || replace(&mut self.resumed, true)
        {
            return None;
        }
        match start::again(&self.origin, &self.progress, lock).await {
            Ok(Some((process, launch, initialize))) => {
                let pipes;
                (pipes, self.writer, self.leash) = open(process);
                self.calls = Calls::new(&self.origin.callbacks);
                self.name_process();
                self.feed(Input::Started(launch));
                let id = self.name_command();
                self.feed(Input::Request(id, By::Host, HostRequest::Initialize(Box::new(initialize))));
                self.flush();
                Some(pipes)
            }
            Ok(None) => None,
            Err(error) => {
                let text = format!("the CLI could not be started again: {error}");
                self.feed(Input::Notice(NoticeLevel::Error, text));
                None
            }
        }
    }

    fn now(&self) -> Timestamp {
        self.clock.at(Instant::now())
    }

    fn line(&mut self, now: Timestamp, line: &Line<'_>) {
        match line {
            Line::Whole(bytes) => {
                let decoded = decode(bytes);
                self.raw.pass(Direction::FromCli, || &*decoded.text);
                let text = decoded.text.clone();
                self.recorder.begin();
                self.feed_at(now, Input::Line(decoded));
                self.recorder.end(now, Direction::FromCli, &text);
                // The failure of a turn is told together with its end.
                let ends = self.told.last().is_some_and(|event| matches!(event.body, Body::Complete(_)));
                if self.told.len() >= TOLD && !ends {
                    self.append();
                }
            }
            Line::TooLong { length } => self.feed_at(now, Input::LongLine { length: *length }),
        }
    }

    fn written(&mut self, done: Written) {
        match done {
            Written::Line(message, by) => {
                self.raw.pass(Direction::ToCli, || message.encode());
                let text = if self.recorder.keeps() { message.encode() } else { String::new() };
                self.recorder.begin();
                self.feed(Input::Sent(OutboundMessage::Known(*message), by));
                self.recorder.end(self.now(), Direction::ToCli, &text);
            }
            Written::Closed => self.feed(Input::StdinClosed),
            Written::Failed(error) if error.kind() == io::ErrorKind::TimedOut => self.act(Signal::Kill),
            // It is going; its exit says the rest.
            Written::Failed(_) => {}
        }
    }

    fn act(&mut self, signal: Signal) {
        self.leash.signal(signal);
        self.feed(Input::Signalled(signal));
    }

    /// Puts what came into the log. Who sees an event there finds its line.
    fn append(&mut self) {
        self.recorder.keep();
        self.log.append(&mut self.told);
    }

    /// Tells what this wake-up brought.
    fn flush(&mut self) {
        self.append();
        // A session that waits holds no room for events and lines.
        self.told = Vec::new();
        self.recorder.let_go();
        self.log.tell();
        self.scribe.tell();
        for (answer, result) in self.answered.drain(..) {
            // Who no longer waits does not mind.
            let _ = answer.send(result);
        }
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        for answer in take(&mut self.answers).into_values() {
            let reason = "the session is over".to_owned();
            let _ = answer.send(Err(Rejection { code: RejectionCode::RunEnded, reason }));
        }
        self.log.close();
    }
}
