//! The session machine.
//!
//! [`Session::handle`] takes one input and never fails; [`Session::poll`] gives what is to be done, in
//! order; [`Session::deadline`] says when to come back with [`Input::Timeout`]. That is all a shell needs.

use std::collections::VecDeque;

use jackfield_api as api;
use jackfield_wire as wire;

use api::conversation::{ItemOutcome, Trigger, TurnStarted, UserMessage};
use api::session::{RunEnded, RunStarted};
use api::trouble::{Error, Malformed, NoticeLevel, Stderr, Unknown};
use api::{SessionId, Timestamp, TurnNumber};
use wire::Inbound;

use crate::calls::Calls;
use crate::gauge::ContextGauge;
use crate::input::{Exit, FileChange, Input, InputSeen, Launch, Output, Place, Signal};
use crate::outbox::Outbox;
use crate::prompts::{Prompt, Prompts};
use crate::run::{Phase, Run, Step, Turn};
use crate::tools;
use crate::words;

/// What a session is told at its birth.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Our id. Without one the CLI's first id is taken.
    pub session_id: Option<SessionId>,
    /// The number of the first event; 1 for a new session.
    pub next_seq: Option<u64>,
    /// The last turn that there was.
    pub last_turn: Option<TurnNumber>,
    /// How long a question may wait before it is denied, in milliseconds; for ever if absent.
    pub answer_within: Option<u64>,
    /// Whether `bypassPermissions` may be chosen.
    pub bypass_allowed: Bypass,
}

/// Whether the mode that asks for nothing may be chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Bypass {
    /// It may not.
    #[default]
    Forbidden,
    /// It was allowed locally.
    Allowed,
}

/// A session: one conversation, over any number of runs.
#[derive(Debug)]
pub struct Session {
    pub(crate) options: Options,
    pub(crate) out: Outbox,
    pub(crate) run: Option<Box<Run>>,
    pub(crate) calls: Calls,
    pub(crate) prompts: Prompts,
    pub(crate) context: ContextGauge,
    pub(crate) commands: Vec<api::session::SlashCommand>,
    pub(crate) uuids: Uuids,
    next_call: u64,
}

/// The last message that is safe to resume at.
#[derive(Debug, Default)]
pub(crate) struct Uuids {
    pub(crate) safe: Option<api::Uuid>,
    /// An assistant's message is safe once a result confirms it.
    pub(crate) pending: Option<api::Uuid>,
    /// The last lines of the assistant that were heard, as numbers.
    heard: VecDeque<u128>,
}

impl Uuids {
    /// How far back a line that comes twice is known.
    const HEARD: usize = 32;

    /// Whether this line of the assistant was heard already. One whose id is no uuid is new.
    pub(crate) fn is_repeated(&mut self, uuid: &wire::Uuid) -> bool {
        let digits = uuid.as_str().bytes().filter(|&byte| byte != b'-');
        let number = digits
            .map(|byte| char::from(byte).to_digit(16))
            .try_fold(0_u128, |number, digit| number.checked_mul(16)?.checked_add(u128::from(digit?)));
        let Some(number) = number else { return false };
        if self.heard.contains(&number) {
            return true;
        }
        if self.heard.len() == Self::HEARD {
            self.heard.pop_front();
        }
        self.heard.push_back(number);
        false
    }
}

impl Session {
    /// A session without a run.
    pub fn new(options: Options) -> Self {
        Self {
            out: Outbox::new(
                options.session_id.clone(),
                options.next_seq.unwrap_or(1).max(1),
                options.last_turn,
            ),
            options,
            run: None,
            calls: Calls::default(),
            prompts: Prompts::default(),
            context: ContextGauge::default(),
            commands: Vec::new(),
            uuids: Uuids::default(),
            next_call: 0,
        }
    }

    /// Takes one input. Afterwards [`Session::poll`] until it gives nothing.
    pub fn handle(&mut self, at: Timestamp, input: Input<'_>) {
        self.out.set_time(at);
        match input {
            Input::Line(line) => self.on_line(line),
            Input::LongLine { length } => self.out.event(Malformed {
                reason: format!("the line is too long: {length} bytes"),
                text: String::new(),
            }),
            Input::Unreadable { reason, text } => self.out.event(Malformed { reason, text }),
            Input::Sent(line, by) => self.on_sent(line, &by),
            Input::Command(id, by, command) => self.on_command(id, &by, command),
            Input::Request(id, by, request) => self.on_request(id, &by, request),
            Input::Called(id, reply) => self.on_called(id, reply),
            Input::File(change) => self.on_file(&change),
            Input::Notice(level, text) => self.out.notice(level, text),
            Input::Told(event) => self.out.told(*event),
            Input::Stderr(line) => self.on_stderr(line),
            Input::Started(launch) => self.start(launch),
            Input::StdinClosed => {
                if let Some(run) = &mut self.run {
                    run.ending.input_closed(at);
                }
            }
            Input::Signalled(signal) => {
                if let Some(run) = &mut self.run {
                    run.ending.signalled(signal, at);
                }
            }
            Input::Exited(exit) => self.end_run(&exit),
            Input::Timeout => self.on_timeout(),
        }
    }

    /// The next thing to be done.
    pub fn poll(&mut self) -> Option<Output> {
        self.out.pop()
    }

    /// When [`Input::Timeout`] is wanted, if nothing else happens before.
    pub fn deadline(&self) -> Option<Timestamp> {
        self.run.as_ref()?.deadline()
    }

    /// Where it is: what another machine would begin with.
    pub fn place(&self) -> Place {
        self.out.place()
    }

    /// Nothing more will come, though no end was seen: tells what was held back for the session's name.
    pub fn finish(&mut self) {
        self.out.name_session("");
    }

    /// Whether a CLI process is there.
    pub fn is_running(&self) -> bool {
        self.run.is_some()
    }

    fn on_line(&mut self, line: wire::Decoded<'_>) {
        self.begin_run_unseen();
        if line.repaired {
            self.out.notice(
                NoticeLevel::Warning,
                "a line held text that is not valid Unicode; what could not be read was replaced by U+FFFD",
            );
        }
        match line.message {
            Inbound::StreamEvent(event) => self.on_stream_event(event),
            Inbound::Assistant(message) => self.on_assistant(&message),
            Inbound::User(message) => self.on_user(&message),
            Inbound::Result(message) => self.on_result(&message),
            Inbound::System(message) => self.on_system(message),
            Inbound::ControlRequest(request) => self.on_control_request(*request),
            Inbound::ControlResponse(response) => self.on_control_response(&response),
            Inbound::ControlCancelRequest(cancel) => self.on_control_cancel(&cancel),
            Inbound::RateLimitEvent(event) => self.out.event(words::rate_limit(&event)),
            Inbound::ToolProgress(progress) => self.on_tool_progress(&progress),
            Inbound::ToolUseSummary(summary) => self.out.notice(NoticeLevel::Info, summary.summary),
            Inbound::AuthStatus(status) => self.on_auth_status(*status),
            Inbound::ConversationReset(_) => {
                if !self.prompts.is_empty() {
                    // It is the first that is heard of the turn that resets (2.1.325/clear).
                    self.in_turn();
                }
                self.out.notice(NoticeLevel::Info, "the conversation begins anew");
            }
            Inbound::CommandLifecycle(lifecycle) => self.on_command_lifecycle(&lifecycle),
            Inbound::PromptSuggestion(suggestion) => {
                self.out.notice(NoticeLevel::Info, format!("suggested next: {}", suggestion.suggestion));
            }
            // Nothing that a client could want: signs of life and copies of what is told elsewhere.
            Inbound::KeepAlive(_)
            | Inbound::TranscriptMirror(_)
            | Inbound::ActiveGoal(_)
            | Inbound::AutocompactState(_)
            | Inbound::Blank => {}
            Inbound::Unknown(unknown) => {
                self.refuse_unknown(&unknown.tag, &unknown.request_id);
                self.out.event(Unknown { tag: unknown.tag, text: line.text.into_owned() });
            }
            Inbound::Malformed(malformed) => {
                self.refuse_unknown(malformed.tag.as_deref().unwrap_or_default(), &malformed.request_id);
                self.out.event(Malformed { reason: malformed.reason, text: line.text.into_owned() });
            }
        }
    }

    fn on_stderr(&mut self, line: String) {
        self.begin_run_unseen();
        if let Some(run) = &mut self.run {
            run.keep_stderr(&line);
        }
        self.out.event(Stderr { text: line });
    }

    fn on_file(&mut self, change: &FileChange) {
        let parent = self.calls.parent_of(&change.tool_call_id);
        let body = tools::file_change(
            &change.tool_call_id,
            &change.path,
            change.before.as_deref(),
            change.after.as_deref(),
        );
        self.out.event_in(parent.as_ref(), body);
    }

    pub(crate) fn next_call(&mut self) -> crate::input::CallId {
        self.next_call += 1;
        crate::input::CallId(self.next_call)
    }

    /// The CLI's session id on a line. The first one names a session that has no name of its own.
    pub(crate) fn saw_cli_session(&mut self, id: &str) {
        if !id.is_empty() {
            self.out.name_session(id);
        }
    }

    // ---- runs ----

    /// Another machine took the place of this one, which knew nothing of what this one knows. If a run is open, nobody
    /// saw its end, and so it has none here: whoever did tell one has numbered it.
    fn begin_anew(&mut self, place: Place) {
        let (session_id, next_seq, last_turn) =
            (place.session_id.clone(), Some(place.next_seq), place.last_turn);
        let mut anew = Self::new(Options { session_id, next_seq, last_turn, ..self.options.clone() });
        std::mem::swap(&mut anew.out, &mut self.out);
        anew.out.go_on_from(place);
        *self = anew;
    }

    fn start(&mut self, mut launch: Launch) {
        if let Some(place) = launch.begins.take() {
            self.begin_anew(place);
        }
        if self.run.is_some() {
            // A start without the end of the one before: it must have gone unseen.
            self.end_run(&Exit::OutputEnded);
        }
        self.out.event(RunStarted {
            cli_session_id: launch.cli_session_id.clone(),
            claude_code_version: launch.claude_code_version.clone(),
        });
        self.run = Some(Box::new(Run::new(launch)));
    }

    /// Something came from a process whose start was not told.
    pub(crate) fn begin_run_unseen(&mut self) {
        if self.run.is_none() {
            self.start(Launch::output_only());
        }
    }

    fn end_run(&mut self, exit: &Exit) {
        self.begin_run_unseen();
        let Some(mut run) = self.run.take() else { return };
        let why = words::RUN_ENDED;
        run.abandon_streams(ItemOutcome::Aborted, &mut self.calls, &mut self.out);
        run.questions.end(why, &mut self.out);
        self.calls.end_run(&mut self.out);
        run.tasks.end_run(&mut self.out);
        self.prompts.end_run(&mut self.out);
        if run.compacting {
            self.out.event(words::compaction_lost(words::RUN_ENDED));
        }
        for command in run.requests.end() {
            self.out.reject(command, api::command::RejectionCode::RunEnded, why);
        }
        for command in run.promises.end() {
            self.out.reject(command, api::command::RejectionCode::RunEnded, why);
        }
        self.uuids.pending = None;
        let reason = run.ending.reason(exit);
        let stderr_tail = run.stderr_tail();
        // An exit code that only repeats the last result says nothing new.
        if !(run.told_failure && matches!(exit, Exit::Code(_)))
            && let Some(error) = words::run_failure(exit, reason, run.turn_runs(), &stderr_tail)
        {
            self.out.event(error);
        }
        let exit_code = if let Exit::Code(code) = exit { Some(*code) } else { None };
        self.out.event(RunEnded { reason, exit_code, stderr_tail });
        // A run that never told its id leaves the session without a name.
        self.finish();
    }

    // ---- turns ----

    /// A line that only occurs in a turn: if none runs, one has begun.
    pub(crate) fn in_turn(&mut self) {
        let Some(run) = &mut self.run else { return };
        if run.turn_runs() {
            return;
        }
        let prompts = self.prompts.open_turn();
        let trigger = match prompts.first() {
            Some(first) if words::is_command(&first.text, &self.commands) => Trigger::Command,
            Some(_) => Trigger::Prompt,
            // With only the output at hand, a turn is somebody's prompt unless a task has just ended.
            None if run.launch.input_seen == InputSeen::OutputOnly && !run.tasks.just_ended() => {
                Trigger::Prompt
            }
            None => Trigger::Background,
        };
        run.phase = Phase::Running(Turn { trigger, spoke: false, error: None });
        self.out.begin_turn();
        self.out.event(TurnStarted { trigger });
        self.enter(prompts);
    }

    /// The same for something that may be a subagent's: one in the background goes on between turns, and begins none.
    pub(crate) fn in_turn_of(&mut self, parent: Option<&api::ToolCallId>) {
        if parent.is_none() {
            self.in_turn();
        }
    }

    /// Prompts enter the conversation.
    pub(crate) fn enter(&mut self, prompts: Vec<Prompt>) {
        if prompts.is_empty() {
            return;
        }
        for prompt in prompts {
            if let Some(uuid) = &prompt.uuid {
                self.uuids.safe = Some(uuid.as_str().into());
            }
            self.out.event(UserMessage::from(prompt));
        }
        self.prompts.tell(Vec::new(), &mut self.out);
    }

    /// Prompts that the CLI has taken enter the turn that runs; if none does, the next one takes them along.
    pub(crate) fn enter_started(&mut self) {
        if self.run.as_ref().is_some_and(|run| run.turn_runs()) {
            let taken = self.prompts.take_started();
            self.enter(taken);
        }
    }

    // ---- time ----

    fn on_timeout(&mut self) {
        let now = self.out.now();
        let Some(run) = &mut self.run else { return };
        if let Phase::Interrupting { deadline, .. } = &mut run.phase
            && deadline.is_some_and(|due| due <= now)
        {
            *deadline = None;
            self.out.notice(NoticeLevel::Warning, "the turn has not stopped yet");
        }
        for request in run.requests.expired(now) {
            let quick = request.is_quick();
            if let Some(command) = request.wish.and_then(|wish| wish.command) {
                let reason = "the CLI did not answer in time";
                self.out.reject(command, api::command::RejectionCode::TimedOut, reason);
            }
            // Its input loop is dead: it hears neither requests nor the end of input.
            if quick && run.ending.wedged() {
                run.ending.plan(Step::Terminate, now);
                self.out.event(Error {
                    error: "the CLI no longer answers; it is being ended".to_owned(),
                    code: "wedged".to_owned(),
                });
                self.out.signal(Signal::Terminate);
            }
        }
        for pending in run.questions.expired(now) {
            self.deny_expired(pending);
        }
        let Some(run) = &mut self.run else { return };
        match run.ending.due(now) {
            None => {}
            Some(Step::CloseStdin) => self.out.close_stdin(),
            Some(Step::Terminate) => self.out.signal(Signal::Terminate),
            Some(Step::Kill) => self.out.signal(Signal::Kill),
        }
    }
}
