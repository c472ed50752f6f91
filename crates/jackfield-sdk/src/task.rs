//! The task that owns a session: its process, its machine and its log.
//!
//! One loop. Selecting only says what happened (`Woken`); what to do about it is decided by the machine in a
//! plain call, and the wishes that come out are performed here. Nobody else touches the process.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::future::poll_fn;
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use jackfield_api::command::{Rejection, RejectionCode, Reply, Verdict};
use jackfield_api::permission::PermissionRequest;
use jackfield_api::{Body, Command, Event, PendingId, Snapshot, Timestamp};
use jackfield_core::{
    By, CallId, CommandId, Exit, HostCall, HostReply, Input, Launch, Output, Session as Machine, Signal,
    Transcript,
};
use jackfield_wire::{HostRequest, Line, Lines, OutboundMessage, decode};
use tokio::io::AsyncReadExt;
use tokio::process::{ChildStderr, ChildStdout};
use tokio::sync::{broadcast, mpsc, oneshot};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{Instant, sleep_until};

use crate::callbacks::{Callbacks, Serve};
use crate::conversation::Progress;
use crate::lock::Lock;
use crate::log::Log;
use crate::process::{Leash, Process};
use crate::raw::{Direction, RawLine};
use crate::turn::{TurnError, TurnResult, Turns};
use crate::writer::{self, Write, Written};

/// How much of the CLI's output is read at once.
const CHUNK: usize = 64 * 1024;
/// More reports than lines may wait: the writer never has to wait for one to be read.
const REPORTS: usize = writer::WAITING + 16;
/// The longest line of standard error that is kept.
const STDERR_LINE: usize = 64 * 1024;
/// How many events are put into the log at once.
const TOLD: usize = 32;
/// How long output may still come after the exit, and an exit after the end of output.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// What a handle asks of the task.
#[derive(Debug)]
pub(crate) enum Ask {
    Command(By, Box<Command>, Answer),
    Request(Box<HostRequest>, Answer),
    Prompt(By, Box<jackfield_api::command::Prompt>, Answer, oneshot::Sender<Result<TurnResult, TurnError>>),
    Snapshot(oneshot::Sender<Option<Snapshot>>),
    /// Go on when all handles are gone.
    Detach,
}

/// Where an answer goes.
pub(crate) type Answer = oneshot::Sender<Result<Reply, Rejection>>;

/// A session's task.
pub(crate) struct Task {
    machine: Machine,
    transcript: Option<Transcript>,
    log: Log,
    raw: broadcast::Sender<Arc<RawLine>>,
    callbacks: Callbacks,
    progress: Arc<Progress>,
    servers: BTreeMap<String, Arc<Serve>>,
    turns: Turns,
    answers: BTreeMap<CommandId, Answer>,
    /// Answers of this wake-up.
    answered: Vec<(Answer, Result<Reply, Rejection>)>,
    next_command: u64,
    /// Events of this wake-up.
    told: Vec<Event>,
    to_stdin: mpsc::Sender<Write>,
    leash: Leash,
    calls: JoinSet<(CallId, HostReply)>,
    calling: BTreeMap<CallId, AbortHandle>,
    decisions: JoinSet<(PendingId, Option<Verdict>)>,
    deciding: BTreeMap<PendingId, AbortHandle>,
    detached: bool,
    /// When it began, on a clock that does not jump.
    began: Instant,
    began_at: u64,
}

/// What the task is made with.
pub(crate) struct Parts {
    pub(crate) machine: Machine,
    pub(crate) transcript: Option<Transcript>,
    pub(crate) log: Log,
    pub(crate) raw: broadcast::Sender<Arc<RawLine>>,
    pub(crate) callbacks: Callbacks,
    pub(crate) launch: Launch,
    pub(crate) progress: Arc<Progress>,
    pub(crate) line_limit: usize,
    pub(crate) lock: Option<Lock>,
}

/// What happened.
enum Woken {
    Out(io::Result<Vec<u8>>),
    Err(io::Result<Vec<u8>>),
    Asked(Option<Ask>),
    Written(Option<Written>),
    WriterEnded,
    Exited(Exit),
    Called(CallId, HostReply),
    Decided(PendingId, Option<Verdict>),
    Due,
    Drained,
    LateEnough,
}

/// The ends of the pipes, and how much of them is over.
struct Pipes {
    stdout: Option<ChildStdout>,
    stderr: Option<ChildStderr>,
    exit: Option<Exit>,
    /// When the rest of the end is no longer waited for.
    patience: Option<Instant>,
}

/// Runs a session until its process is gone.
///
/// Not an `async fn`: that would hold everything it is given a second time, for as long as the session lives.
pub(crate) fn run(
    process: Process,
    parts: Parts,
    mut asks: mpsc::Receiver<Ask>,
) -> impl Future<Output = ()> + Send {
    let (to_stdin, wanted) = mpsc::channel(writer::WAITING);
    let (report, mut written) = mpsc::channel(REPORTS);
    let mut pipes =
        Pipes { stdout: Some(process.stdout), stderr: Some(process.stderr), exit: None, patience: None };
    let mut lines = Lines::new(parts.line_limit);
    let mut stderr_lines = Lines::new(STDERR_LINE);
    let mut task = Task::new(parts.machine, process.leash, to_stdin, &parts.log, &parts.raw);
    // Nobody else may drive this session until its process is gone.
    let lock = parts.lock;
    task.transcript = parts.transcript;
    task.servers = parts.callbacks.connect();
    task.callbacks = parts.callbacks;
    task.progress = parts.progress;
    task.feed(Input::Started(parts.launch));
    task.flush();

    async move {
        // Polled here and not in a task of its own: so a line is reported before the CLI's answer to it is read.
        let mut writer = pin!(writer::write(process.stdin, wanted, report));
        let (mut asked, mut writing, mut writer_lives) = (true, true, true);
        while !pipes.are_over() {
            // What a process leaves in its pipe when it is gone is little, and nobody waits for room to say it.
            let full = task.log.is_full() && pipes.exit.is_none();
            let due = task.deadline();
            let woken = tokio::select! {
                read = read(&mut pipes.stdout), if pipes.stdout.is_some() && !full => Woken::Out(read),
                read = read(&mut pipes.stderr), if pipes.stderr.is_some() => Woken::Err(read),
                ask = asks.recv(), if asked => Woken::Asked(ask),
                done = written.recv(), if writing => Woken::Written(done),
                () = &mut writer, if writer_lives => Woken::WriterEnded,
                exit = task.leash.ended(), if pipes.exit.is_none() => Woken::Exited(exit),
                Some(Ok((id, reply))) = task.calls.join_next() => Woken::Called(id, reply),
                Some(Ok((id, verdict))) = task.decisions.join_next() => Woken::Decided(id, verdict),
                () = task.log.drained(), if full => Woken::Drained,
                () = until(due), if due.is_some() => Woken::Due,
                () = until(pipes.patience), if pipes.patience.is_some() => Woken::LateEnough,
            };
            match woken {
                Woken::Out(Ok(chunk)) if !chunk.is_empty() => {
                    // First what these lines may be an answer to.
                    task.take_reports(&mut written);
                    lines.feed(&chunk, |line| task.line(&line));
                    BUFFER.set(chunk);
                }
                Woken::Out(_) => {
                    lines.finish(|line| task.line(&line));
                    pipes.stdout = None;
                    pipes.patience.get_or_insert(Instant::now() + LAST_WORDS);
                }
                Woken::Err(Ok(chunk)) if !chunk.is_empty() => {
                    stderr_lines.feed(&chunk, |line| task.stderr(&line));
                    BUFFER.set(chunk);
                }
                Woken::Err(_) => {
                    stderr_lines.finish(|line| task.stderr(&line));
                    pipes.stderr = None;
                }
                Woken::Asked(Some(ask)) => task.ask(ask),
                Woken::Asked(None) => {
                    asked = false;
                    if !task.detached {
                        // The last handle is gone: so is the session, with everything it started.
                        task.act(Signal::Kill);
                    }
                }
                Woken::Written(Some(done)) => task.written(done),
                Woken::Written(None) => writing = false,
                Woken::WriterEnded => writer_lives = false,
                Woken::Exited(exit) => {
                    pipes.exit = Some(exit);
                    pipes.patience = Some(Instant::now() + LAST_WORDS);
                }
                Woken::Called(id, reply) => {
                    task.calling.remove(&id);
                    task.feed(Input::Called(id, reply));
                }
                Woken::Decided(id, verdict) => task.decided(id, verdict),
                Woken::Due => task.feed(Input::Timeout),
                Woken::Drained => {}
                Woken::LateEnough => {
                    // A pipe that somebody else still holds, or a process that has closed its output and stays.
                    task.act(Signal::Kill);
                    (pipes.stdout, pipes.stderr) = (None, None);
                    pipes.patience = Some(Instant::now() + LAST_WORDS);
                }
            }
            // The CLI is given its work before anybody else is woken.
            writer_lives = writer_lives && is_pending(writer.as_mut()).await;
            task.take_reports(&mut written);
            task.flush();
        }
        task.feed(Input::Exited(pipes.exit.unwrap_or(Exit::OutputEnded)));
        // Who hears of the end may go on with the session at once.
        drop(lock);
        task.flush();
        task.log.close();
    }
}

impl Pipes {
    fn are_over(&self) -> bool {
        self.exit.is_some() && self.stdout.is_none() && self.stderr.is_none()
    }
}

thread_local! {
    /// What this thread reads into. Between a look and the use of what was seen a task stays on its thread; so all
    /// sessions of a thread share one buffer, and one that waits holds none.
    static BUFFER: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// What there is to read; nothing at the end.
async fn read<R: AsyncReadExt + Unpin>(from: &mut Option<R>) -> io::Result<Vec<u8>> {
    let Some(from) = from else { return Ok(Vec::new()) };
    poll_fn(|context| {
        let mut chunk = BUFFER.take();
        chunk.clear();
        chunk.reserve_exact(CHUNK);
        match pin!(from.read_buf(&mut chunk)).poll(context) {
            Poll::Ready(read) => Poll::Ready(read.map(|_| chunk)),
            Poll::Pending => {
                BUFFER.set(chunk);
                Poll::Pending
            }
        }
    })
    .await
}

/// Lets a future do what it can at once; whether there is more to come.
async fn is_pending(mut future: Pin<&mut impl Future>) -> bool {
    poll_fn(|context| Poll::Ready(future.as_mut().poll(context).is_pending())).await
}

async fn until(instant: Option<Instant>) {
    if let Some(instant) = instant {
        sleep_until(instant).await;
    }
}

impl Task {
    fn new(
        machine: Machine,
        leash: Leash,
        to_stdin: mpsc::Sender<Write>,
        log: &Log,
        raw: &broadcast::Sender<Arc<RawLine>>,
    ) -> Self {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self {
            machine,
            transcript: None,
            log: log.clone(),
            raw: raw.clone(),
            callbacks: Callbacks::default(),
            progress: Arc::default(),
            servers: BTreeMap::new(),
            turns: Turns::default(),
            answers: BTreeMap::new(),
            answered: Vec::new(),
            next_command: 0,
            told: Vec::new(),
            to_stdin,
            leash,
            calls: JoinSet::new(),
            calling: BTreeMap::new(),
            decisions: JoinSet::new(),
            deciding: BTreeMap::new(),
            detached: false,
            began: Instant::now(),
            began_at: u64::try_from(since.as_millis()).unwrap_or(u64::MAX),
        }
    }

    fn now(&self) -> Timestamp {
        let elapsed = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        Timestamp(self.began_at.saturating_add(elapsed))
    }

    fn deadline(&self) -> Option<Instant> {
        let due = self.machine.deadline()?;
        Some(self.began + Duration::from_millis(due.0.saturating_sub(self.began_at)))
    }

    fn line(&mut self, line: &Line<'_>) {
        match line {
            Line::Whole(bytes) => {
                let decoded = decode(bytes);
                if self.raw.receiver_count() > 0 {
                    self.pass(Direction::FromCli, &decoded.text);
                }
                self.feed(Input::Line(decoded));
            }
            Line::TooLong { length } => self.feed(Input::LongLine { length: *length }),
        }
    }

    fn stderr(&mut self, line: &Line<'_>) {
        match line {
            Line::Whole(bytes) => self.feed(Input::Stderr(String::from_utf8_lossy(bytes).into_owned())),
            Line::TooLong { length } => self.feed(Input::Stderr(format!("(a line of {length} bytes)"))),
        }
    }

    fn pass(&self, direction: Direction, text: &str) {
        // An error only means that nobody listens.
        let _ = self.raw.send(Arc::new(RawLine { direction, text: text.to_owned() }));
    }

    fn ask(&mut self, ask: Ask) {
        match ask {
            Ask::Command(by, command, answer) => {
                match &*command {
                    Command::Prompt(prompt) => self.progress.sent(prompt),
                    Command::EditQueued(edit) => self.progress.sent(&edit.with),
                    _ => {}
                }
                let id = self.await_answer(answer);
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
            Ask::Detach => self.detached = true,
        }
    }

    fn await_answer(&mut self, answer: Answer) -> CommandId {
        self.next_command += 1;
        let id = CommandId(self.next_command.to_string().into());
        self.answers.insert(id.clone(), answer);
        id
    }

    fn take_reports(&mut self, written: &mut mpsc::Receiver<Written>) {
        while let Ok(done) = written.try_recv() {
            self.written(done);
        }
    }

    fn written(&mut self, done: Written) {
        match done {
            Written::Line(message, by) => {
                if self.raw.receiver_count() > 0 {
                    self.pass(Direction::ToCli, &message.encode());
                }
                self.feed(Input::Sent(OutboundMessage::Known(*message), by));
            }
            Written::Closed => self.feed(Input::StdinClosed),
            Written::Failed(error) if error.kind() == io::ErrorKind::TimedOut => self.act(Signal::Kill),
            // It is going; its exit says the rest.
            Written::Failed(_) => {}
        }
    }

    fn decided(&mut self, pending_id: PendingId, verdict: Option<Verdict>) {
        self.deciding.remove(&pending_id);
        if let Some(verdict) = verdict {
            let answer = self.answer(pending_id, verdict);
            self.feed(answer);
        }
    }

    fn answer(&mut self, pending_id: PendingId, verdict: Verdict) -> Input<'static> {
        self.next_command += 1;
        let id = CommandId(self.next_command.to_string().into());
        let answer = jackfield_api::command::Answer { pending_id, verdict };
        Input::Command(id, By::Host, answer.into())
    }

    fn act(&mut self, signal: Signal) {
        self.leash.signal(signal);
        self.feed(Input::Signalled(signal));
    }

    /// Hands an input to the machine and does what it wants done.
    fn feed(&mut self, input: Input<'_>) {
        let now = self.now();
        self.machine.handle(now, input);
        while let Some(output) = self.machine.poll() {
            match output {
                Output::Event(event) => {
                    self.see(&event);
                    self.told.push(event);
                    if self.told.len() == TOLD {
                        self.log.append(&mut self.told);
                    }
                }
                Output::Write(message, by) => self.write(Write::Line(message, by)),
                Output::CloseStdin => self.write(Write::Close),
                Output::Signal(signal) => {
                    self.leash.signal(signal);
                    self.machine.handle(now, Input::Signalled(signal));
                }
                Output::Answer(id, result) => {
                    self.answered.extend(self.answers.remove(&id).map(|answer| (answer, result)));
                }
                Output::Call(id, call) => self.call(id, call),
                Output::CallWithdrawn(id) => {
                    if let Some(handle) = self.calling.remove(&id) {
                        handle.abort();
                    }
                }
            }
        }
        self.turns.settle();
    }

    fn write(&mut self, write: Write) {
        if let Err(mpsc::error::TrySendError::Full(_)) = self.to_stdin.try_send(write) {
            // It is so far behind that it does not read any more.
            self.leash.signal(Signal::Kill);
            self.machine.handle(self.now(), Input::Signalled(Signal::Kill));
        }
    }

    fn see(&mut self, event: &Event) {
        self.turns.see(event);
        self.progress.see(event);
        if let Some(transcript) = &mut self.transcript {
            transcript.apply(event);
        }
        match &event.body {
            Body::PermissionRequest(request) => self.decide(request),
            Body::PermissionResolved(over) => self.stop_deciding(over.pending_id),
            Body::PermissionCancelled(over) => self.stop_deciding(over.pending_id),
            _ => {}
        }
    }

    fn decide(&mut self, request: &PermissionRequest) {
        let id = request.pending_id;
        let ruled = self.callbacks.rule.and_then(|rule| rule(request, self.progress.mode().as_ref()));
        if let Some(verdict) = ruled {
            // At once: nobody can be faster.
            let answer = self.answer(id, verdict);
            self.machine.handle(self.now(), answer);
        } else if let Some(decide) = self.callbacks.decide.clone() {
            let request = request.clone();
            let handle = self.decisions.spawn(async move { (id, decide(request).await) });
            self.deciding.insert(id, handle);
        }
    }

    fn stop_deciding(&mut self, id: PendingId) {
        if let Some(handle) = self.deciding.remove(&id) {
            handle.abort();
        }
    }

    fn call(&mut self, id: CallId, call: HostCall) {
        let handle = match call {
            HostCall::Hook { callback_id, input, .. } => match self.callbacks.hook(&callback_id) {
                None => return self.fail_call(id, format!("there is no hook {callback_id}")),
                Some(hook) => {
                    let answer = hook.answer(*input);
                    self.calls.spawn(async move {
                        (id, answer.await.map_or_else(HostReply::Failed, HostReply::Hook))
                    })
                }
            },
            HostCall::Mcp { server, message } => match self.servers.get(&server) {
                None => return self.fail_call(id, format!("there is no MCP server {server} here")),
                Some(serve) => {
                    let serving = serve(message);
                    self.calls.spawn(async move { (id, HostReply::Mcp(serving.await)) })
                }
            },
        };
        self.calling.insert(id, handle);
    }

    fn fail_call(&mut self, id: CallId, why: String) {
        let handle = self.calls.spawn(async move { (id, HostReply::Failed(why)) });
        self.calling.insert(id, handle);
    }

    /// Tells what this wake-up brought.
    fn flush(&mut self) {
        self.log.append(&mut self.told);
        // A session that waits holds no room for events.
        self.told = Vec::new();
        self.log.tell();
        for (answer, result) in self.answered.drain(..) {
            // Who no longer waits does not mind.
            let _ = answer.send(result);
        }
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        for answer in std::mem::take(&mut self.answers).into_values() {
            let reason = "the session is over".to_owned();
            let _ = answer.send(Err(Rejection { code: RejectionCode::RunEnded, reason }));
        }
        self.log.close();
    }
}
