//! The course of one prompt, from its sending to its end.
//!
//! One loop: selecting only says what happened (`Woken`), and what to do about it is decided in a plain call. What it
//! asks of the session is done beside it. The one rule it keeps: a question that nobody answers is a no.

use std::collections::VecDeque;
use std::mem::take;
use std::path::Path;
use std::time::Duration;

use jackfield_api::command::{Allow, Answer, Close, Deny, Interrupt, Prompt, RejectionCode, Reply, Verdict};
use jackfield_api::host::HostRules;
use jackfield_api::permission::{Behavior, PermissionRequest};
use jackfield_api::{Body, Command, Event, PendingId, Seq, Timestamp};
use jackfield_client::ClientError;
use jackfield_host::{files, rules};
use tokio::task::JoinSet;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until};

use super::RunFailure;
use super::console::{Console, Weight};
use super::dialog::{Dialog, Heard};
use super::engine::{Engine, Leave, Orders, Told};
use super::outcome::{Outcome, Stopped};
use super::printer::Printer;
use crate::commands::signals::Signals;
use crate::failure::Failure;

/// How often the line of progress is drawn.
const TICK: Duration = Duration::from_millis(100);
/// How long a failure may stand behind the end of its turn, where no end of the run follows.
const AFTERWARDS: Duration = Duration::from_millis(500);
/// How long a turn may take to stop.
const STOPPING: Duration = Duration::from_secs(20);

/// Who answers questions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answering {
    /// Whoever sits at the terminal.
    Person,
    /// Nobody: it is a no.
    Nobody,
    /// Other clients of the host.
    Others,
}

/// How a course ended.
pub(super) enum Ended {
    /// In order.
    Told(Box<Outcome>),
    /// The prompt was not taken.
    NotTaken(RunFailure),
    /// Asked twice to end: nothing is waited for.
    AtOnce,
}

/// One prompt on its way.
pub(super) struct Course {
    pub(super) engine: Engine,
    pub(super) console: Console,
    pub(super) printer: Printer,
    pub(super) answering: Answering,
    /// What was allowed and denied beforehand.
    pub(super) rules: HostRules,
    /// The session's folder.
    pub(super) folder: String,
    pub(super) timeout: Option<Duration>,
}

/// What happened.
enum Woken {
    Told(Told),
    Done(Done),
    Said(Option<String>),
    Signal,
    Due,
    Tick,
}

/// What was asked of the session is done, or not.
enum Done {
    Prompt(Result<Reply, ClientError>),
    Answer(PendingId, Result<Reply, ClientError>),
    Stop(Result<Reply, ClientError>),
    Close,
}

/// Whether it goes on.
enum Flow {
    On,
    Over,
    NotTaken(ClientError),
    AtOnce,
}

struct Running {
    course: Course,
    outcome: Outcome,
    orders: Orders,
    doing: JoinSet<Done>,
    /// Questions that wait for a person, and the one that is being asked.
    waiting: VecDeque<PermissionRequest>,
    dialog: Option<Dialog>,
    last: Seq,
    taken: bool,
    due: Option<Instant>,
}

impl Course {
    /// Says something, and sees it through to its end.
    pub(super) async fn run(self, prompt: Prompt, signals: &mut Signals) -> Result<Ended, Failure> {
        let mut outcome = Outcome::new(&prompt);
        outcome.session_id = Some(self.engine.session.to_string());
        let mut running = Running {
            orders: self.engine.orders(),
            outcome,
            doing: JoinSet::new(),
            waiting: VecDeque::new(),
            dialog: None,
            last: Seq(0),
            taken: false,
            due: self.timeout.map(|timeout| Instant::now() + timeout),
            course: self,
        };
        running.give(prompt.into(), Done::Prompt);
        for request in take(&mut running.course.engine.pending) {
            running.asked(request);
        }
        let flow = running.follow(signals).await;
        running.end(flow).await
    }
}

impl Running {
    async fn follow(&mut self, signals: &mut Signals) -> Result<Flow, Failure> {
        let mut ticks = interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let (console, engine) = (&mut self.course.console, &mut self.course.engine);
            let draws = console.shows_progress() && self.dialog.is_none();
            let woken = tokio::select! {
                told = engine.next() => Woken::Told(told),
                Some(Ok(done)) = self.doing.join_next() => Woken::Done(done),
                line = console.line() => Woken::Said(line),
                () = signals.next() => Woken::Signal,
                () = until(self.due), if self.due.is_some() => Woken::Due,
                _ = ticks.tick(), if draws => Woken::Tick,
            };
            match self.decide(woken)? {
                Flow::On => {}
                flow => return Ok(flow),
            }
        }
    }

    fn decide(&mut self, woken: Woken) -> Result<Flow, Failure> {
        match woken {
            Woken::Told(Told::Event(event)) => return self.event(&event),
            Woken::Told(Told::Line(line)) => self.print(|printer| printer.line(line))?,
            Woken::Told(Told::Lost(error)) => self.lost(&error),
            Woken::Told(Told::Over(reason)) => {
                if self.outcome.completed.is_none() && self.outcome.error.is_none() {
                    let code = "over".to_owned();
                    self.outcome.error = Some(jackfield_api::trouble::Error { error: reason, code });
                }
                return Ok(Flow::Over);
            }
            Woken::Done(done) => return Ok(self.done(done)),
            Woken::Said(line) => self.said(line.as_deref()),
            Woken::Signal if self.outcome.stopped.is_some() => return Ok(Flow::AtOnce),
            Woken::Signal => {
                self.remark(Weight::Remark, "interrupting; once more ends at once");
                self.stop(Stopped::Interrupted);
            }
            Woken::Due if self.outcome.stopped.is_some() || self.outcome.completed.is_some() => {
                return Ok(Flow::Over);
            }
            Woken::Due => {
                let seconds = self.course.timeout.unwrap_or_default().as_secs();
                self.remark(Weight::Failure, &format!("not done within {seconds} s; it is stopped"));
                self.stop(Stopped::TimedOut);
            }
            Woken::Tick => self.course.console.tick(),
        }
        Ok(Flow::On)
    }

    fn event(&mut self, event: &Event) -> Result<Flow, Failure> {
        self.last = event.seq;
        self.print(|printer| printer.event(event))?;
        if let Body::PermissionRequest(request) = &event.body {
            self.asked((**request).clone());
        }
        let completed = self.outcome.completed.is_some();
        self.outcome.see(event);
        self.course.console.see(event);
        match &event.body {
            Body::PermissionResolved(resolved) => {
                let by = resolved.by.as_deref().map(|by| format!(" by {by}")).unwrap_or_default();
                self.settled(resolved.pending_id, &format!("it was answered{by}"));
            }
            Body::PermissionCancelled(cancelled) => self.settled(cancelled.pending_id, "it was withdrawn"),
            Body::ApiRetry(retry) => {
                let text = format!("the API failed ({}); attempt {} follows", retry.error, retry.attempt);
                self.remark(Weight::Warning, &text);
            }
            _ => {}
        }
        if self.outcome.completed.is_some() && !completed {
            if self.closes() {
                // The end of the run says that nothing more belongs to the turn.
                self.give(Close {}.into(), |_| Done::Close);
                self.due = Some(Instant::now() + STOPPING);
            } else {
                self.due = Some(Instant::now() + AFTERWARDS);
            }
        }
        Ok(if self.outcome.is_over(self.last) { Flow::Over } else { Flow::On })
    }

    /// Whether the session's run ends with the prompt: not if it was there before, nor if work goes on in it.
    fn closes(&self) -> bool {
        let engine = &self.course.engine;
        !(engine.is_shared() || engine.goes_on() && self.outcome.has_tasks())
    }

    fn done(&mut self, done: Done) -> Flow {
        match done {
            Done::Prompt(Ok(_)) => self.taken = true,
            Done::Prompt(Err(_)) if self.outcome.stopped.is_some() => return Flow::Over,
            Done::Prompt(Err(error)) => return Flow::NotTaken(error),
            // Somebody else was faster; the event tells who.
            Done::Answer(_, Err(error)) if error.code() == Some(RejectionCode::TooLate) => {}
            Done::Answer(id, Err(error)) => {
                self.remark(Weight::Warning, &format!("the answer to question {id} was not taken: {error}"));
            }
            // Nothing runs, so nothing has to stop.
            Done::Stop(Err(_)) if self.taken => return Flow::Over,
            Done::Answer(_, Ok(_)) | Done::Stop(_) | Done::Close => {}
        }
        Flow::On
    }

    /// A question was asked: a rule answers it, or a person, or it is a no.
    fn asked(&mut self, request: PermissionRequest) {
        let id = request.pending_id;
        let session_id = &self.course.engine.session;
        let asked = rules::Asked { session_id, folder: &self.course.folder, request: &request };
        let resolved = files::resolve(Path::new(&self.course.folder), &rules::files_asked_about(&request));
        match rules::judge_resolved(&self.course.rules, &asked, &resolved).behavior {
            Behavior::Allow => return self.answer(id, Verdict::Allow(Allow::default())),
            Behavior::Deny => {
                self.outcome.refused.insert(id);
                let message = "this was denied beforehand".to_owned();
                return self.answer(id, Verdict::Deny(Deny { message, interrupt: false }));
            }
            Behavior::Ask => {}
        }
        match self.course.answering {
            Answering::Person => {
                self.waiting.push_back(request);
                self.ask_next();
            }
            Answering::Others => {
                let text = format!("it waits for an answer in the host's page: {}", request.tool_title);
                self.remark(Weight::Warning, &text);
            }
            Answering::Nobody => {
                let text = format!("denied, because nobody can be asked: {}", request.tool_title);
                self.remark(Weight::Warning, &text);
                let message = "nobody is there to allow this".to_owned();
                self.answer(id, Verdict::Deny(Deny { message, interrupt: false }));
            }
        }
    }

    /// Shows the next question, if none is being asked.
    fn ask_next(&mut self) {
        if self.dialog.is_some() || self.outcome.stopped.is_some() {
            return;
        }
        let Some(request) = self.waiting.pop_front() else { return };
        let shown = Event {
            body: request.clone().into(),
            seq: Seq(request.pending_id.0),
            at: Timestamp(0),
            session_id: "".into(),
            turn: None,
            parent_tool_call_id: None,
        };
        self.course.console.show(&shown);
        let dialog = Dialog::new(request);
        self.course.console.ask("", &dialog.ask());
        self.dialog = Some(dialog);
    }

    fn said(&mut self, line: Option<&str>) {
        // What is typed while nothing is asked means nothing.
        let Some(dialog) = &mut self.dialog else { return };
        match dialog.hear(line) {
            Heard::More(words) => {
                let ask = dialog.ask();
                self.course.console.ask(&words, &ask);
            }
            Heard::Answer(verdict) => {
                let id = dialog.request.pending_id;
                self.dialog = None;
                self.answer(id, *verdict);
                self.ask_next();
            }
        }
    }

    /// A question is over, however.
    fn settled(&mut self, id: PendingId, words: &str) {
        self.waiting.retain(|request| request.pending_id != id);
        if self.dialog.as_ref().is_some_and(|dialog| dialog.request.pending_id == id) {
            self.dialog = None;
            self.course.console.ask(&format!("\n{words}"), "");
            self.ask_next();
        }
    }

    fn answer(&mut self, pending_id: PendingId, verdict: Verdict) {
        self.give(Answer { pending_id, verdict }.into(), move |result| Done::Answer(pending_id, result));
    }

    fn stop(&mut self, why: Stopped) {
        self.outcome.stopped = Some(why);
        self.dialog = None;
        self.due = Some(Instant::now() + STOPPING);
        self.give(Interrupt {}.into(), Done::Stop);
    }

    fn give(
        &mut self,
        command: Command,
        done: impl FnOnce(Result<Reply, ClientError>) -> Done + Send + 'static,
    ) {
        let orders = self.orders.clone();
        self.doing.spawn(async move { done(orders.give(command).await) });
    }

    fn lost(&mut self, error: &ClientError) {
        let error = jackfield_api::trouble::Error { error: error.to_string(), code: "lost".to_owned() };
        self.outcome.error.get_or_insert(error);
    }

    fn remark(&mut self, weight: Weight, text: &str) {
        self.course.console.remark(weight, text);
    }

    fn print(&mut self, print: impl FnOnce(&Printer) -> std::io::Result<()>) -> Result<(), Failure> {
        if self.course.printer.streams() {
            self.course.console.clear();
        }
        Ok(print(&self.course.printer)?)
    }

    /// Prints what the agent has still to say, if anybody wants to read it.
    async fn last_lines(&mut self, leave: Leave, flow: Result<Flow, Failure>) -> Result<Flow, Failure> {
        let flow = flow?;
        while let Some(told) = self.course.engine.last_line(leave, self.outcome.completed).await {
            match told {
                Told::Line(line) => self.course.printer.line(line)?,
                Told::Lost(error) => self.lost(&error),
                Told::Event(_) | Told::Over(_) => {}
            }
        }
        Ok(flow)
    }

    /// Ends everything, and says what came of it.
    async fn end(mut self, flow: Result<Flow, Failure>) -> Result<Ended, Failure> {
        if matches!(flow, Ok(Flow::AtOnce)) {
            return Ok(Ended::AtOnce);
        }
        let flow = match flow {
            Ok(Flow::NotTaken(error)) => Err(self.course.engine.diagnose(error).await),
            flow => Ok(flow),
        };
        let leave = if self.closes() { Leave::Closed } else { Leave::Running };
        if self.outcome.has_tasks() {
            let text = if leave == Leave::Running {
                "work in the background goes on in the host"
            } else {
                "work in the background was ended; a running host (`jackfield serve`) lets it go on"
            };
            self.remark(Weight::Warning, text);
        }
        self.doing.shutdown().await;
        self.course.engine.leave(leave).await;
        self.course.console.clear();
        let flow = match flow {
            Ok(flow) => self.last_lines(leave, flow).await,
            Err(failure) => {
                self.course.engine.reached.close().await;
                return Ok(Ended::NotTaken(failure));
            }
        };
        self.course.engine.reached.close().await;
        drop(flow?);
        self.course.printer.end(&self.outcome)?;
        if let Some(error) = &self.outcome.error
            && self.outcome.stopped.is_none()
        {
            let text = format!("the turn failed: {} ({})", error.error.trim_end(), error.code);
            self.course.console.remark(Weight::Failure, &text);
        }
        Ok(Ended::Told(Box::new(self.outcome)))
    }
}

async fn until(instant: Option<Instant>) {
    if let Some(instant) = instant {
        sleep_until(instant).await;
    }
}
