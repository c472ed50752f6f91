//! One CLI process: everything that is only true while it lives, and the way it is ended.
//!
//! When a run is over, this value is taken apart and everything open in it is closed. Nothing of it can
//! leak into the next run.

use std::collections::{BTreeMap, VecDeque};

use jackfield_api as api;

use api::conversation::{ItemOutcome, Trigger};
use api::session::RunEndReason;
use api::{Timestamp, ToolCallId};

use crate::calls::Calls;
use crate::gauge::Meter;
use crate::input::{Exit, Launch, Signal};
use crate::outbox::Outbox;
use crate::promises::Promises;
use crate::questions::Questions;
use crate::requests::Requests;
use crate::stream::Stream;
use crate::tasks::Tasks;

/// How many lines of standard error are kept for the end.
const STDERR_LINES: usize = 64;
/// How much they may be together, in bytes.
const STDERR_BYTES: usize = 64 * 1024;
/// How long each step of ending a run may take before the next, harder one.
const STEP: u64 = 5_000;
/// How long a turn may take to stop before a word is said about it.
const STOPPING: u64 = 30_000;

/// A CLI process.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) launch: Launch,
    pub(crate) phase: Phase,
    pub(crate) main: Stream,
    /// Streams of subagents, should a version have them.
    pub(crate) beside: BTreeMap<ToolCallId, Stream>,
    pub(crate) questions: Questions,
    pub(crate) requests: Requests,
    pub(crate) promises: Promises,
    pub(crate) tasks: Tasks,
    pub(crate) meter: Meter,
    /// The commands came with their descriptions; names alone must not replace them.
    pub(crate) commands_described: bool,
    pub(crate) status: Option<api::session::SessionStatus>,
    /// The permission mode that was told last.
    pub(crate) mode: Option<String>,
    /// The conversation is being summarised.
    pub(crate) compacting: bool,
    /// The last result was a failure, and clients know it.
    pub(crate) told_failure: bool,
    pub(crate) ending: Ending,
    stderr: VecDeque<String>,
    stderr_bytes: usize,
}

/// What the process is doing.
#[derive(Debug)]
pub(crate) enum Phase {
    /// It has said nothing yet.
    Starting,
    /// It waits for a prompt.
    Idle,
    /// A turn runs.
    Running(Turn),
    /// A turn runs and was told to stop.
    Interrupting {
        turn: Turn,
        /// When to say that it has not stopped yet.
        deadline: Option<Timestamp>,
    },
}

/// A turn that runs.
#[derive(Debug)]
pub(crate) struct Turn {
    pub(crate) trigger: Trigger,
    /// Something was said or shown, so the result's text would repeat it.
    pub(crate) spoke: bool,
    /// The API's word for what went wrong.
    pub(crate) error: Option<String>,
}

/// How far the ending of a run is.
#[derive(Debug, Default)]
pub(crate) struct Ending {
    /// The next step, and when it is due. None: nobody wants it to end.
    pub(crate) next: Option<(Step, Timestamp)>,
    input_closed: bool,
    signalled: Option<Signal>,
    wedged: bool,
}

/// A step of the ladder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    CloseStdin,
    Terminate,
    Kill,
}

impl Run {
    pub(crate) fn new(launch: Launch) -> Self {
        Self {
            meter: Meter(launch.spent.clone()),
            launch,
            phase: Phase::Starting,
            main: Stream::default(),
            beside: BTreeMap::new(),
            questions: Questions::default(),
            requests: Requests::default(),
            promises: Promises::default(),
            tasks: Tasks::default(),
            commands_described: false,
            status: None,
            mode: None,
            compacting: false,
            told_failure: false,
            ending: Ending::default(),
            stderr: VecDeque::new(),
            stderr_bytes: 0,
        }
    }

    pub(crate) fn turn_mut(&mut self) -> Option<&mut Turn> {
        match &mut self.phase {
            Phase::Running(turn) | Phase::Interrupting { turn, .. } => Some(turn),
            Phase::Starting | Phase::Idle => None,
        }
    }

    pub(crate) fn turn_runs(&self) -> bool {
        matches!(self.phase, Phase::Running(_) | Phase::Interrupting { .. })
    }

    /// The stream of a thread: the main one, or a subagent's.
    pub(crate) fn stream(&mut self, parent: Option<&str>) -> &mut Stream {
        match parent {
            None => &mut self.main,
            Some(parent) => {
                let parent = ToolCallId::from(parent);
                self.beside.entry(parent.clone()).or_insert_with(|| Stream::of(Some(parent)))
            }
        }
    }

    /// An interrupt was written.
    pub(crate) fn interrupting(&mut self, now: Timestamp) {
        self.phase = match std::mem::replace(&mut self.phase, Phase::Idle) {
            Phase::Running(turn) => Phase::Interrupting { turn, deadline: Some(later(now, STOPPING)) },
            other => other,
        };
    }

    /// Ends what streams, in all threads.
    pub(crate) fn abandon_streams(&mut self, outcome: ItemOutcome, calls: &mut Calls, out: &mut Outbox) {
        self.main.abandon(outcome, calls, out);
        for mut stream in std::mem::take(&mut self.beside).into_values() {
            stream.abandon(outcome, calls, out);
        }
    }

    pub(crate) fn keep_stderr(&mut self, line: &str) {
        self.stderr_bytes += line.len() + 1;
        self.stderr.push_back(line.to_owned());
        while self.stderr.len() > STDERR_LINES || (self.stderr_bytes > STDERR_BYTES && self.stderr.len() > 1)
        {
            self.stderr_bytes -= self.stderr.pop_front().map_or(0, |line| line.len() + 1);
        }
    }

    pub(crate) fn stderr_tail(&self) -> String {
        let mut tail = self.stderr.iter().map(String::as_str).collect::<Vec<_>>().join("\n");
        if tail.len() > STDERR_BYTES {
            let cut = tail.ceil_char_boundary(tail.len() - STDERR_BYTES);
            tail.drain(..cut);
        }
        tail
    }

    pub(crate) fn deadline(&self) -> Option<Timestamp> {
        let stopping = match self.phase {
            Phase::Interrupting { deadline, .. } => deadline,
            _ => None,
        };
        [self.requests.deadline(), self.questions.deadline(), stopping, self.ending.next.map(|(_, due)| due)]
            .into_iter()
            .flatten()
            .min()
    }
}

impl Ending {
    /// The next step is `step`, after the time that the present one has.
    pub(crate) fn plan(&mut self, step: Step, now: Timestamp) {
        self.next = Some((step, later(now, STEP)));
    }

    /// The input is closed as soon as the turn is over.
    pub(crate) fn waits_for_the_turn(&self) -> bool {
        matches!(self.next, Some((Step::CloseStdin, _)))
    }

    pub(crate) fn is_wanted(&self) -> bool {
        self.next.is_some()
    }

    /// It no longer answers. Tells whether that is news.
    pub(crate) fn wedged(&mut self) -> bool {
        !std::mem::replace(&mut self.wedged, true)
    }

    pub(crate) fn input_closed(&mut self, now: Timestamp) {
        self.input_closed = true;
        if self.is_wanted() {
            self.plan(Step::Terminate, now);
        }
    }

    pub(crate) fn signalled(&mut self, signal: Signal, now: Timestamp) {
        self.signalled = Some(signal);
        if self.is_wanted() {
            self.plan(Step::Kill, now);
        }
    }

    /// The step that is due, with the next one planned behind it.
    pub(crate) fn due(&mut self, now: Timestamp) -> Option<Step> {
        let (step, _) = self.next.filter(|(_, due)| *due <= now)?;
        let next = match step {
            Step::CloseStdin => Step::Terminate,
            Step::Terminate | Step::Kill => Step::Kill,
        };
        self.plan(next, now);
        Some(step)
    }

    /// Why the run ended, seen from what was done to it.
    pub(crate) fn reason(&self, exit: &Exit) -> RunEndReason {
        match (exit, self.signalled) {
            (Exit::NotStarted(_), _) => RunEndReason::NotStarted,
            (Exit::OutputEnded, _) => RunEndReason::OutputEnded,
            _ if self.wedged => RunEndReason::Wedged,
            (_, Some(Signal::Kill)) => RunEndReason::Killed,
            (_, Some(Signal::Terminate)) | (Exit::Code(0), None) => RunEndReason::Closed,
            // After the end of input the exit code only repeats the last result [process/exit_code_follows_last_result].
            (Exit::Code(_), None) if self.input_closed => RunEndReason::Closed,
            (Exit::Code(_), None) => RunEndReason::Failed,
            (Exit::Signal(_), None) => RunEndReason::Crashed,
        }
    }
}

pub(crate) fn later(now: Timestamp, milliseconds: u64) -> Timestamp {
    Timestamp(now.0.saturating_add(milliseconds))
}
