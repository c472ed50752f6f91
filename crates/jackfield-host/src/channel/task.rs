//! The task that owns a session of the host: its run, its transcript and its way to the disk.
//!
//! One loop. Selecting only says what happened (`Woken`); what to do about it is decided in a plain call. It never
//! waits for the CLI, the disk or a person: each comes back as something that happened.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use jackfield_api::command::{
    Allow, Answer as GivenAnswer, Command, Content, Deny, Done, Prompt, Rejection, RejectionCode, Reply,
    RewindScope, Verdict,
};
use jackfield_api::permission::{Behavior, PermissionOutcome, PermissionRequest};
use jackfield_api::session::Priority;
use jackfield_api::snapshot::{Item, SessionState};
use jackfield_api::socket::Scope;
use jackfield_api::tool::TaskStatus;
use jackfield_api::trouble::{Error, Notice, NoticeLevel};
use jackfield_api::{Body, Event, PendingId, Seq, Timestamp, Uuid};
use jackfield_core::Transcript;
use jackfield_sdk::{Events, Pace, Session, StartError};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

use super::outbox::Outbox;
use super::run::{self, From};
use super::{Answer, Ask, Ending, gone, reject, summary};
use crate::client::Client;
use crate::host::Shared;
use crate::published::{Page, Published};
use crate::rules;
use crate::settings::AfterLimit;
use crate::store::{AppendError, Batch, ResumePoint, SessionRecord};

/// How many events are taken from the run at once.
const TAKEN: usize = 512;
/// After how many events a checkpoint is made, if no turn ends before.
const CHECKPOINT: u64 = 2_000;
/// How many answered questions are remembered.
const DECIDED: usize = 256;
/// How long a session stays loaded that nobody wants.
const UNWANTED: Duration = Duration::from_secs(60);
/// When a batch that could not be stored is tried again.
const AGAIN: Duration = Duration::from_secs(1);

/// A session's task.
pub(crate) struct Task {
    shared: Arc<Shared>,
    record: SessionRecord,
    /// Only what may still change of its items; the others are in the store.
    transcript: Transcript,
    published: Arc<Published>,
    outbox: Outbox,
    run: Run,
    /// What is to be started when this run is over.
    next_run: Option<(From, Vec<Waiting>)>,
    /// What the turn that runs, or ran last, was told.
    told: Vec<Prompt>,
    /// How the last questions ended, for those who answer too late.
    decided: BTreeMap<PendingId, String>,
    doing: JoinSet<Finished>,
    committed: (mpsc::Sender<Result<(), AppendError>>, mpsc::Receiver<Result<(), AppendError>>),
    /// The summary may have changed.
    changed: bool,
    checkpoint_at: Seq,
    checkpoint_due: bool,
    /// When to try again what could not be stored.
    again: Option<Instant>,
    /// When a limit ends that stopped a turn.
    limit_ends: Option<Instant>,
    /// When something was last wanted.
    wanted: Instant,
    ending: Option<(Ending, Vec<oneshot::Sender<()>>)>,
}

/// The CLI process of a session.
enum Run {
    None,
    /// It is being started; commands wait for it.
    Starting(Vec<Waiting>),
    Live(Box<Live>),
}

/// A command that waits for a run.
type Waiting = (Client, Command, Answer);

struct Live {
    session: Session,
    events: Events,
}

/// Something that was done beside the loop.
enum Finished {
    Started(Box<Result<Session, StartError>>),
    Command(Answer, Result<Reply, Rejection>, Effect),
    /// Where a failed turn begins.
    Retry(Answer, From, Box<Prompt>),
    Closed(Option<Answer>),
    Saved,
}

/// What a command changes in what the session is, once it was done.
enum Effect {
    None,
    Mode(String),
    Model(Option<String>),
    Thinking(Option<u64>),
    Answer(PendingId),
}

/// What happened.
enum Woken {
    Asked(Option<Ask>),
    Event(Option<Arc<Event>>),
    Finished(Finished),
    Committed(Result<(), AppendError>),
    Due,
}

impl Task {
    pub(crate) fn create(shared: &Arc<Shared>, record: SessionRecord, events: Vec<Event>) -> Self {
        let mut task = Self::new(shared, record, Transcript::new());
        let cli_session_id = task.record.summary.cli_session_id.clone();
        for event in &events {
            task.take(event);
        }
        // The events of a copy name the conversation that was copied.
        task.record.summary.cli_session_id = cli_session_id;
        task.changed = true;
        task.checkpoint_due = true;
        task
    }

    pub(crate) fn load(shared: &Arc<Shared>, record: SessionRecord, point: ResumePoint) -> Self {
        let mut snapshot = point.checkpoint;
        snapshot.items = point.unsettled;
        let mut transcript = Transcript::from_snapshot(snapshot);
        for event in &point.events {
            transcript.apply(event);
        }
        let mut task = Self::new(shared, record, transcript);
        // What settled behind the checkpoint is in the store already.
        drop(task.transcript.take_settled());
        for event in task.transcript.host_ended(summary::now()) {
            task.take(&event);
        }
        task
    }

    /// Takes events in that were found after the host had died, behind everything else.
    pub(crate) fn recover(&mut self, events: &[Event]) {
        for event in events {
            self.take(event);
        }
    }

    fn new(shared: &Arc<Shared>, record: SessionRecord, transcript: Transcript) -> Self {
        let last = transcript.snapshot().seq;
        let id = record.summary.session_id.clone();
        Self {
            shared: Arc::clone(shared),
            published: Arc::new(Published::new(&id, last)),
            outbox: Outbox::new(id, last),
            record,
            transcript,
            run: Run::None,
            next_run: None,
            told: Vec::new(),
            decided: BTreeMap::new(),
            doing: JoinSet::new(),
            committed: mpsc::channel(4),
            changed: false,
            checkpoint_at: last,
            checkpoint_due: false,
            again: None,
            limit_ends: None,
            wanted: Instant::now(),
            ending: None,
        }
    }

    /// The items of the last turn that may still change or are on their way to the disk.
    pub(crate) fn open_items(&self) -> &[Item] {
        &self.transcript.snapshot().items
    }

    pub(crate) fn record(&self) -> &SessionRecord {
        &self.record
    }

    pub(crate) fn published(&self) -> Arc<Published> {
        Arc::clone(&self.published)
    }

    /// Owns the session until nobody wants it any more.
    pub(crate) async fn run(mut self, mut asks: mpsc::Receiver<Ask>) {
        self.flush();
        loop {
            let due = self.deadline();
            let room = self.outbox.has_room();
            let woken = tokio::select! {
                ask = asks.recv() => Woken::Asked(ask),
                event = next(&mut self.run), if room => Woken::Event(event),
                Some(Ok(finished)) = self.doing.join_next() => Woken::Finished(finished),
                Some(result) = self.committed.1.recv() => Woken::Committed(result),
                () = until(due), if due.is_some() => Woken::Due,
            };
            match woken {
                Woken::Asked(Some(ask)) => self.asked(ask),
                // The registry holds a handle until this task asks it to let go.
                Woken::Asked(None) => break,
                Woken::Event(Some(event)) => self.events(&event),
                Woken::Event(None) => self.run_is_over(),
                Woken::Finished(finished) => self.finished(finished),
                Woken::Committed(result) => self.committed(result),
                Woken::Due => self.due(),
            }
            self.flush();
            if self.is_ended() {
                break;
            }
            if self.is_unwanted() {
                if self.shared.registry.let_go(&self.record.summary.session_id, &asks) {
                    break;
                }
                self.wanted = Instant::now();
            }
        }
        if let Some((_, waiting)) = self.ending.take() {
            for done in waiting {
                // Who no longer waits does not mind.
                let _ = done.send(());
            }
        }
    }

    // ---- what is asked ----

    fn asked(&mut self, ask: Ask) {
        self.wanted = Instant::now();
        match ask {
            Ask::Command(_, _, answer) if self.ending.is_some() => drop(answer.send(Err(gone()))),
            Ask::Command(client, command, answer) => self.command(client, *command, answer),
            Ask::Snapshot(to) => {
                let _ = to.send(self.transcript.snapshot().clone());
            }
            Ask::Record(to) => {
                let _ = to.send(self.record.clone());
            }
            Ask::Warm => {
                if matches!(self.run, Run::None) && self.ending.is_none() && self.refuse_prompt().is_none() {
                    self.start(From::Last, Vec::new());
                }
            }
            Ask::End(ending, done) => {
                let (how, waiting) = self.ending.get_or_insert((ending, Vec::new()));
                if ending == Ending::Deleted {
                    *how = ending;
                }
                waiting.push(done);
                self.close(None);
            }
        }
    }

    fn command(&mut self, client: Client, command: Command, answer: Answer) {
        match self.begin(client, command, answer) {
            Ok(()) => {}
            Err((answer, rejection)) => drop(answer.send(Err(rejection))),
        }
    }

    /// Does a command, or says at once why not.
    fn begin(&mut self, client: Client, command: Command, answer: Answer) -> Result<(), (Answer, Rejection)> {
        match &command {
            Command::Rename(rename) => {
                let title = rename.title.trim();
                if title.is_empty() {
                    return Err((answer, reject(RejectionCode::Invalid, "the title is empty")));
                }
                self.record.summary.title = title.to_owned();
                self.record.create.title = Some(title.to_owned());
                self.keep_record(answer);
                return Ok(());
            }
            Command::Archive(archive) => {
                self.record.summary.archived = archive.archived;
                self.keep_record(answer);
                return Ok(());
            }
            Command::SetBudget(budget) => {
                if budget.max_budget_usd.is_some_and(|dollars| !(dollars.is_finite() && dollars >= 0.0)) {
                    return Err((answer, reject(RejectionCode::Invalid, "a budget is a number of dollars")));
                }
                self.record.summary.max_budget_usd = budget.max_budget_usd;
                self.record.create.max_budget_usd = budget.max_budget_usd;
                self.keep_record(answer);
                return Ok(());
            }
            Command::Close(_) => {
                self.close(Some(answer));
                return Ok(());
            }
            Command::Retry(_) => return self.retry(answer),
            Command::SetMode(set) if set.permission_mode == "bypassPermissions" => {
                if self.shared.settings.bypass != crate::settings::Bypass::Allowed {
                    let reason = "`bypassPermissions` can only be allowed in the configuration of the host";
                    return Err((answer, reject(RejectionCode::Forbidden, reason)));
                }
            }
            Command::Prompt(_) => {
                if let Some(rejection) = self.refuse_prompt() {
                    return Err((answer, rejection));
                }
                self.limit_ends = None;
                if self.record.summary.archived {
                    self.record.summary.archived = false;
                    self.changed = true;
                }
            }
            Command::Rewind(rewind) if rewind.scope != RewindScope::Files => {
                return Err((answer, reject(RejectionCode::Elsewhere, "only the host can copy a conversation")));
            }
            _ => {}
        }
        match &mut self.run {
            Run::Live(_) => {
                self.perform(client, command, answer);
                Ok(())
            }
            Run::Starting(waiting) => {
                waiting.push((client, command, answer));
                Ok(())
            }
            Run::None => match command {
                Command::Prompt(_) | Command::Rewind(_) | Command::Mcp(_) => {
                    self.start(From::Last, vec![(client, command, answer)]);
                    Ok(())
                }
                Command::SetMode(set) => {
                    self.take_effect(Effect::Mode(set.permission_mode));
                    self.keep_record(answer);
                    Ok(())
                }
                Command::SetModel(set) => {
                    self.take_effect(Effect::Model(set.model));
                    self.keep_record(answer);
                    Ok(())
                }
                Command::SetThinking(set) => {
                    self.take_effect(Effect::Thinking(set.max_thinking_tokens));
                    self.keep_record(answer);
                    Ok(())
                }
                Command::Answer(given) => Err((answer, self.too_late(given.pending_id))),
                _ => Err((answer, reject(RejectionCode::NotNow, "nothing runs in this session"))),
            },
        }
    }

    /// Why no turn may begin now.
    fn refuse_prompt(&self) -> Option<Rejection> {
        if self.again.is_some() {
            let reason = "the host cannot store anything at the moment: is the disk full?";
            return Some(reject(RejectionCode::NotNow, reason));
        }
        if let Some(left) = run::budget_left(&self.record.summary)
            && left <= 0.0
        {
            let budget = self.record.summary.max_budget_usd.unwrap_or_default();
            let reason = format!("the session's budget of ${budget} is used up; raise it to go on");
            return Some(reject(RejectionCode::Forbidden, reason));
        }
        let starts = matches!(self.run, Run::None);
        if starts && self.shared.feed.running() >= self.shared.settings.max_running {
            let most = self.shared.settings.max_running;
            let reason = format!("{most} sessions run already; close one of them first");
            return Some(reject(RejectionCode::NotNow, reason));
        }
        None
    }

    /// Hands a command to the run.
    fn perform(&mut self, client: Client, command: Command, answer: Answer) {
        let Run::Live(live) = &self.run else { return };
        let session = live.session.clone();
        let effect = match &command {
            Command::SetMode(set) => Effect::Mode(set.permission_mode.clone()),
            Command::SetModel(set) => Effect::Model(set.model.clone()),
            Command::SetThinking(set) => Effect::Thinking(set.max_thinking_tokens),
            Command::Answer(given) => Effect::Answer(given.pending_id),
            _ => Effect::None,
        };
        if let Command::Prompt(prompt) = &command {
            self.keep_prompt(prompt);
        }
        let performed = async move {
            let result = session.command_by(client.by(), command).await;
            Finished::Command(answer, result.map_err(|refused| refused.0), effect)
        };
        // Looked at once here, so that commands reach the run in the order in which they came.
        let mut performed = Box::pin(performed);
        match poll_once(&mut performed) {
            Some(finished) => self.finished(finished),
            None => drop(self.doing.spawn(performed)),
        }
    }

    fn keep_prompt(&mut self, prompt: &Prompt) {
        if self.transcript.snapshot().state != SessionState::Running {
            self.told.clear();
        }
        self.told.push(prompt.clone());
    }

    fn retry(&mut self, answer: Answer) -> Result<(), (Answer, Rejection)> {
        if let Some(rejection) = self.refuse_prompt() {
            return Err((answer, rejection));
        }
        let failed = self.record.summary.last_error.is_some()
            && self.transcript.snapshot().state != SessionState::Running;
        if !failed {
            return Err((answer, reject(RejectionCode::NotNow, "the last turn did not fail")));
        }
        if self.told.is_empty() {
            let reason = "what the failed turn was told is no longer known; say it again";
            return Err((answer, reject(RejectionCode::NotFound, reason)));
        }
        let prompts: Vec<Uuid> = self.told.iter().map(|prompt| prompt.uuid.clone()).collect();
        let content: Vec<Content> = self.told.iter().flat_map(|prompt| prompt.content.clone()).collect();
        let uuid = uuid::Uuid::new_v4().to_string().into();
        let prompt = Box::new(Prompt { uuid, content, priority: Priority::Next });
        let (shared, record) = (Arc::clone(&self.shared), self.record.clone());
        let session = if let Run::Live(live) = &self.run { Some(live.session.clone()) } else { None };
        self.doing.spawn(async move {
            if let Some(session) = session {
                session.close().await;
            }
            Finished::Retry(answer, run::before(&shared.settings, &record, &prompts).await, prompt)
        });
        Ok(())
    }

    /// Ends the run; answered when it is over.
    fn close(&mut self, answer: Option<Answer>) {
        match &mut self.run {
            Run::Live(live) => {
                let session = live.session.clone();
                self.doing.spawn(async move {
                    session.close().await;
                    Finished::Closed(answer)
                });
            }
            Run::Starting(_) | Run::None => {
                // One that is being started is closed when it is there.
                if let Some(answer) = answer {
                    let _ = answer.send(Ok(Reply::Done(Done {})));
                }
            }
        }
    }

    // ---- runs ----

    /// Starts a run; the commands wait for it.
    pub(crate) fn start(&mut self, from: From, waiting: Vec<Waiting>) {
        self.run = Run::Starting(waiting);
        let (shared, record, last) = (Arc::clone(&self.shared), self.record.clone(), self.seq());
        self.doing.spawn(async move {
            let started = run::start(&shared.settings, &record, last, from).await;
            Finished::Started(Box::new(started))
        });
    }

    fn started(&mut self, started: Result<Session, StartError>) {
        let Run::Starting(waiting) = std::mem::replace(&mut self.run, Run::None) else { return };
        match started {
            Ok(session) => {
                let events = session.events(Pace::Lossless);
                self.run = Run::Live(Box::new(Live { session, events }));
                if self.ending.is_some() {
                    self.close(None);
                }
                for (client, command, answer) in waiting {
                    self.perform(client, command, answer);
                }
            }
            Err(error) => {
                let code = run::code(&error).to_owned();
                let reason = error.to_string();
                self.tell(Error { error: reason.clone(), code });
                for (_, _, answer) in waiting {
                    let _ = answer.send(Err(reject(RejectionCode::NotNow, reason.clone())));
                }
            }
        }
    }

    fn run_is_over(&mut self) {
        self.run = Run::None;
        self.wanted = Instant::now();
        if let Some((from, waiting)) = self.next_run.take() {
            self.start(from, waiting);
        }
    }

    fn finished(&mut self, finished: Finished) {
        match finished {
            Finished::Started(started) => self.started(*started),
            Finished::Command(answer, result, effect) => {
                let result = match (result, effect) {
                    (Ok(reply), effect) => {
                        self.take_effect(effect);
                        Ok(reply)
                    }
                    (Err(_), Effect::Answer(id)) if self.is_over(id) => Err(self.too_late(id)),
                    (Err(rejection), _) => Err(rejection),
                };
                let _ = answer.send(result);
            }
            Finished::Retry(answer, from, prompt) => {
                let prompt = (Client::new("retry", Scope::Admin), Command::Prompt(prompt), answer);
                match &mut self.run {
                    Run::None => self.start(from, vec![prompt]),
                    // Somebody was faster.
                    Run::Starting(waiting) => waiting.push(prompt),
                    // It is over, but not all of it was read yet.
                    Run::Live(_) => self.next_run = Some((from, vec![prompt])),
                }
            }
            Finished::Closed(Some(answer)) => drop(answer.send(Ok(Reply::Done(Done {})))),
            Finished::Closed(None) | Finished::Saved => {}
        }
    }

    fn take_effect(&mut self, effect: Effect) {
        let SessionRecord { summary, create } = &mut self.record;
        match effect {
            Effect::None | Effect::Answer(_) => return,
            Effect::Mode(mode) => {
                summary.permission_mode = Some(mode.clone());
                create.permission_mode = Some(mode);
            }
            Effect::Model(model) => create.model = model,
            Effect::Thinking(tokens) => create.max_thinking_tokens = tokens,
        }
        self.changed = true;
        self.save_record(None);
    }

    // ---- events ----

    fn events(&mut self, first: &Arc<Event>) {
        self.take(first);
        for _ in 0..TAKEN {
            let Run::Live(live) = &mut self.run else { return };
            let Some(event) = live.events.try_next() else { return };
            self.take(&event);
        }
    }

    fn take(&mut self, event: &Event) {
        self.transcript.apply(event);
        self.changed |= summary::see(&mut self.record.summary, event);
        let model = self.transcript.snapshot().status.as_ref().map(|status| status.model.as_str());
        self.outbox.push(event, model);
        match &event.body {
            Body::PermissionRequest(request) => self.judge(request),
            Body::PermissionResolved(over) => {
                let by = over.by.as_deref().unwrap_or("somebody");
                let how = match over.outcome {
                    PermissionOutcome::Allowed => format!("{by} has allowed it"),
                    PermissionOutcome::Denied => format!("{by} has denied it"),
                    PermissionOutcome::Expired => "nobody answered in time".to_owned(),
                    PermissionOutcome::Lost => "the run ended".to_owned(),
                };
                self.keep_decision(over.pending_id, how);
            }
            Body::PermissionCancelled(over) => {
                self.keep_decision(over.pending_id, "the CLI has withdrawn it".to_owned());
            }
            Body::Complete(_) => {
                self.checkpoint_due = true;
                self.warn_of_budget();
            }
            Body::RunEnded(_) => self.checkpoint_due = true,
            Body::RateLimit(limit) => {
                self.shared.feed.tell_limit((**limit).clone());
                if limit.status == "rejected" {
                    self.expect_limit(limit.resets_at);
                }
            }
            _ => {}
        }
    }

    /// Tells something of the host's own. Only while nothing runs: a run counts its events itself.
    fn tell(&mut self, body: impl Into<Body>) {
        let event = Event {
            body: body.into(),
            seq: Seq(self.seq().0 + 1),
            at: summary::now(),
            session_id: self.record.summary.session_id.clone(),
            turn: self.transcript.snapshot().turn,
            parent_tool_call_id: None,
        };
        self.take(&event);
    }

    fn notice(&mut self, level: NoticeLevel, text: String) {
        match &self.run {
            Run::Live(live) => {
                let session = live.session.clone();
                tokio::spawn(async move { session.notice(level, text).await });
            }
            _ => self.tell(Notice { level, text }),
        }
    }

    /// Lets the host's rules answer.
    fn judge(&mut self, request: &PermissionRequest) {
        let rules = self.shared.rules.borrow().clone();
        let SessionRecord { summary, create } = &self.record;
        let asked = rules::Asked { session_id: &summary.session_id, folder: &create.cwd, request };
        let judgement = rules::judge(&rules, &asked);
        let Some(number) = judgement.rule else { return };
        let note = rules.rules.get(number).and_then(|rule| rule.note.clone());
        let verdict = match judgement.behavior {
            Behavior::Ask => return,
            Behavior::Allow => Verdict::Allow(Allow::default()),
            Behavior::Deny => Verdict::Deny(Deny {
                message: note.clone().unwrap_or_else(|| "a rule of the host forbids this".to_owned()),
                interrupt: false,
            }),
        };
        let name = note.map_or_else(|| format!("rule {}", number + 1), |note| format!("rule {}: {note}", number + 1));
        let client = Client::new(name, Scope::Admin);
        let command = GivenAnswer { pending_id: request.pending_id, verdict }.into();
        let (answer, _) = oneshot::channel();
        self.perform(client, command, answer);
    }

    fn keep_decision(&mut self, id: PendingId, how: String) {
        self.decided.insert(id, how);
        while self.decided.len() > DECIDED {
            self.decided.pop_first();
        }
    }

    /// Whether this was asked and is no longer open.
    fn is_over(&self, id: PendingId) -> bool {
        let snapshot = self.transcript.snapshot();
        id.0 <= snapshot.seq.0 && !snapshot.pending.iter().any(|request| request.pending_id == id)
    }

    fn too_late(&self, id: PendingId) -> Rejection {
        let how = self.decided.get(&id).map_or("it is over", String::as_str);
        reject(RejectionCode::TooLate, format!("question {id} is no longer open: {how}"))
    }

    fn warn_of_budget(&mut self) {
        let spent = self.transcript.snapshot().total_cost_usd;
        if let Some(budget) = self.record.summary.max_budget_usd
            && spent >= budget
        {
            let text = format!("the budget of ${budget} is used up (${spent:.2} spent); raise it to go on");
            self.notice(NoticeLevel::Warning, text);
        }
    }

    fn expect_limit(&mut self, resets_at: Option<u64>) {
        if self.shared.settings.after_limit == AfterLimit::Retry
            && let Some(resets_at) = resets_at
        {
            let wait = (resets_at * 1000).saturating_sub(summary::now().0);
            self.limit_ends = Some(Instant::now() + Duration::from_millis(wait));
        }
    }

    pub(crate) fn seq(&self) -> Seq {
        self.transcript.snapshot().seq
    }

    // ---- to the disk ----

    /// Hands what there is to the store.
    fn flush(&mut self) {
        if self.outbox.is_due() {
            let settled = self.transcript.take_settled();
            self.changed |= summary::preview(&mut self.record.summary, &settled);
            self.outbox.settle(settled);
            let header = self.transcript.snapshot();
            summary::refresh(&mut self.record.summary, header);
            let far = header.seq.0 - self.checkpoint_at.0 >= CHECKPOINT;
            let checkpoint = (self.checkpoint_due || far).then(|| {
                let mut header = header.clone();
                let unsettled = std::mem::take(&mut header.items);
                (header, unsettled)
            });
            if checkpoint.is_some() {
                (self.checkpoint_due, self.checkpoint_at) = (false, header.seq);
            }
            let told = std::mem::take(&mut self.changed).then(|| self.record.summary.clone());
            if let Some(batch) = self.outbox.send(told, checkpoint) {
                self.store(batch);
            }
        } else if self.outbox.is_empty() && std::mem::take(&mut self.changed) {
            summary::refresh(&mut self.record.summary, self.transcript.snapshot());
            self.shared.feed.tell(self.record.summary.clone(), self.asked_at());
            self.save_record(None);
        }
    }

    fn store(&self, batch: Batch) {
        let (published, shared) = (Arc::clone(&self.published), Arc::clone(&self.shared));
        let page = Page { first: batch.first, last: batch.last, lines: batch.lines.clone() };
        let told = batch.summary.clone().map(|summary| (summary, self.asked_at()));
        let committed = self.committed.0.clone();
        self.shared.store.append_then(
            batch,
            Box::new(move |result| {
                if result.is_ok() {
                    // Who sees a question in the events finds it on the desk.
                    if let Some((summary, asked)) = told {
                        shared.feed.tell(summary, asked);
                    }
                    published.publish(page);
                }
                // One batch is on its way at a time, so there is room; a task that is gone does not mind.
                let _ = committed.try_send(result);
            }),
        );
    }

    fn committed(&mut self, result: Result<(), AppendError>) {
        match result {
            Ok(()) => {
                self.again = None;
                self.outbox.stored();
            }
            Err(error) => {
                self.again = Some(Instant::now() + AGAIN);
                let mut told = self.record.summary.clone();
                told.last_error = Some(format!("the host cannot store what happens: {error}"));
                self.shared.feed.tell(told, self.asked_at());
            }
        }
    }

    fn asked_at(&self) -> BTreeMap<PendingId, Timestamp> {
        let snapshot = self.transcript.snapshot();
        // A question's name is the number of the event that asked it.
        let asked = |id: PendingId| Some(snapshot.items.iter().find(|item| item.seq.0 == id.0)?.at);
        let pending = snapshot.pending.iter().map(|request| request.pending_id);
        pending.filter_map(|id| Some((id, asked(id)?))).collect()
    }

    fn keep_record(&mut self, answer: Answer) {
        self.record.summary.updated_at = summary::now();
        self.shared.feed.tell(self.record.summary.clone(), self.asked_at());
        self.save_record(Some(answer));
    }

    fn save_record(&mut self, answer: Option<Answer>) {
        let (store, record) = (self.shared.store.clone(), self.record.clone());
        let saved = async move {
            let saved = store.update(&record).await;
            if let Some(answer) = answer {
                let failed = |error: crate::store::StoreError| reject(RejectionCode::NotNow, error.to_string());
                let _ = answer.send(saved.map(|()| Reply::Done(Done {})).map_err(failed));
            }
            Finished::Saved
        };
        self.doing.spawn(saved);
    }

    // ---- time ----

    fn deadline(&self) -> Option<Instant> {
        let unwanted = self.is_quiet().then(|| self.wanted + UNWANTED);
        let idle = self.shared.settings.idle.filter(|_| self.is_idle()).map(|idle| self.wanted + idle);
        [unwanted, idle, self.again, self.limit_ends].into_iter().flatten().min()
    }

    fn due(&mut self) {
        let now = Instant::now();
        if self.again.is_some_and(|again| again <= now) {
            self.again = None;
            if let Some(batch) = self.outbox.again() {
                self.store(batch);
            }
        }
        if self.limit_ends.is_some_and(|ends| ends <= now) {
            self.limit_ends = None;
            let (answer, _) = oneshot::channel();
            // If it cannot be retried, a person has gone on in the meantime.
            let _ = self.retry(answer);
        }
        if self.shared.settings.idle.is_some_and(|idle| self.is_idle() && self.wanted + idle <= now) {
            self.close(None);
            self.wanted = now;
        }
    }

    /// Whether a run is there that does nothing.
    fn is_idle(&self) -> bool {
        let snapshot = self.transcript.snapshot();
        let works = snapshot.tasks.iter().any(|task| task.status == TaskStatus::Running);
        matches!(self.run, Run::Live(_)) && snapshot.state == SessionState::Idle && !works
    }

    fn is_quiet(&self) -> bool {
        matches!(self.run, Run::None) && self.outbox.is_empty() && self.doing.is_empty() && !self.changed
    }

    fn is_ended(&self) -> bool {
        self.ending.is_some() && self.is_quiet()
    }

    fn is_unwanted(&mut self) -> bool {
        if self.published.is_followed() {
            self.wanted = Instant::now();
        }
        self.is_quiet() && self.limit_ends.is_none() && self.wanted + UNWANTED <= Instant::now()
    }
}

async fn next(run: &mut Run) -> Option<Arc<Event>> {
    match run {
        Run::Live(live) => live.events.next().await,
        Run::Starting(_) | Run::None => std::future::pending().await,
    }
}

async fn until(instant: Option<Instant>) {
    if let Some(instant) = instant {
        sleep_until(instant).await;
    }
}

/// Lets a future do what it can at once.
fn poll_once<T>(future: &mut Pin<Box<impl Future<Output = T>>>) -> Option<T> {
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    match future.as_mut().poll(&mut context) {
        std::task::Poll::Ready(done) => Some(done),
        std::task::Poll::Pending => None,
    }
}
