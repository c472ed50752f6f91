//! The task that owns a session of the host: its run, its transcript and its way to the disk.
//!
//! One loop. Selecting only says what happened (`Woken`); what to do about it is decided in a plain call. It never
//! waits for the CLI, the disk or a person: each comes back as something that happened.

mod commands;
mod happenings;
mod keeping;
mod runs;

use std::sync::Arc;
use std::time::Duration;

use jackfield_api::command::{Command, Content, Prompt, Rejection, Reply};
use jackfield_api::permission::Behavior;
use jackfield_api::session::Priority;
use jackfield_api::snapshot::{Item, ItemContent, SessionState};
use jackfield_api::tool::TaskStatus;
use jackfield_api::{Event, PendingId, Seq, SharedEvent};
use jackfield_core::Transcript;
use jackfield_sdk::{Events, RawTail, Session, StartError, Trust};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

use super::book::Book;
use super::observed::Observed;
use super::run::From;
use super::watcher::Watcher;
use super::{Answer, Ask, Ending, summary};
use crate::client::Client;
use crate::host::Shared;
use crate::observe::Lines;
use crate::published::Published;
use crate::store::{AppendError, ResumePoint, SessionRecord};

/// How long a session stays loaded that nobody wants.
const UNWANTED: Duration = Duration::from_mins(1);

/// How long a batch may wait to grow while events pour in.
const GROWING: Duration = Duration::from_millis(2);

/// How many bytes of lines are kept for whoever looks for what was made of them.
const LINES: usize = 256 * 1024;

/// A session's task.
pub(crate) struct Task {
    shared: Arc<Shared>,
    book: Book<Answer>,
    published: Arc<Published>,
    /// The newest lines of all its runs.
    lines: Arc<RawTail>,
    watcher: Arc<Watcher>,
    /// Only where something is to be made of its events.
    observed: Option<Box<Observed>>,
    run: Run,
    /// What is to be started when this run is over.
    next_run: Option<(From, Vec<Waiting>)>,
    /// What the turn that runs, or ran last, was told.
    told: Vec<Prompt>,
    doing: JoinSet<Finished>,
    /// How the batch on its way fared.
    committed: (mpsc::Sender<Stored>, mpsc::Receiver<Stored>),
    /// When to try again what could not be stored.
    again: Option<Instant>,
    /// Until when the next batch may grow.
    grows: Option<Instant>,
    /// When a limit ends that stopped a turn.
    limit_ends: Option<Instant>,
    /// When the last such limit ended or ends, in seconds since 1970.
    limit_seen: Option<u64>,
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

/// Whether a batch is on disk.
type Stored = Result<(), AppendError>;

/// A command that waits for a run.
type Waiting = (Client, Command, Answer);

struct Live {
    session: Session,
    events: Events,
    /// It was asked to end.
    closing: bool,
    /// What waits until the disk knows that there is a run.
    opening: Option<Opening>,
}

/// A run of which the disk does not know yet. What it did before that could not be found after a crash.
struct Opening {
    /// The event that must be stored.
    begun: Seq,
    waiting: Vec<Waiting>,
}

/// Something that was done beside the loop.
enum Finished {
    Started(Box<Result<(Session, Trust), StartError>>),
    Command(Answer, Result<Reply, Rejection>, Effect),
    /// Where a failed turn begins, and what it is told again.
    Retry(From, Box<Waiting>),
    Closed(Option<Answer>),
    /// What the rules say to a question, which of them says it, and its note.
    Judged(PendingId, Option<(Behavior, usize, Option<String>)>),
    Saved,
}

/// What a command changes in what the session is, once it was done.
enum Effect {
    None,
    Mode(String),
    Model(Option<String>),
    Thinking(Option<u64>),
    Effort(Option<String>),
    Answer(PendingId),
}

/// What happened.
enum Woken {
    Asked(Option<Ask>),
    Event(Option<SharedEvent>),
    Finished(Finished),
    Committed(Stored),
    Due,
}

impl Task {
    pub(crate) fn create(shared: &Arc<Shared>, record: SessionRecord, events: &[Event]) -> Self {
        let mut task = Self::new(shared, Book::new(record, Transcript::new()));
        let cli_session_id = task.book.record.summary.cli_session_id.clone();
        // What is copied happened elsewhere, and was seen there.
        let observed = task.observed.take();
        task.take_own(events);
        task.observed = observed;
        // The events of a copy name the conversation that was copied.
        task.book.record.summary.cli_session_id = cli_session_id;
        task.book.changed = true;
        task.book.checkpoint_due = true;
        task
    }

    pub(crate) fn load(shared: &Arc<Shared>, record: SessionRecord, point: ResumePoint) -> Self {
        let (book, closing) = Book::load(record, point, summary::now());
        let mut task = Self::new(shared, book);
        task.take_own(&closing);
        task
    }

    /// Remembers what the last turn was told, as far as its words tell it.
    pub(crate) fn remember(&mut self, items: &[Item]) {
        let turn = self.book.transcript.snapshot().turn;
        for item in items.iter().filter(|item| item.turn == turn) {
            if let ItemContent::UserMessage(said) = &item.content
                && let (Some(uuid), true) = (&said.uuid, said.attachments.is_empty())
            {
                let content = vec![Content::Text { text: said.text.clone() }];
                self.told.push(Prompt { uuid: uuid.clone(), content, priority: Priority::Next });
            }
        }
    }

    /// Takes events in that were found after the host had died, behind everything else.
    pub(crate) fn recover(&mut self, events: &[Event]) {
        self.take_own(events);
    }

    fn new(shared: &Arc<Shared>, book: Book<Answer>) -> Self {
        let last = book.seq();
        let id = book.record.summary.session_id.clone();
        let observe = &shared.settings.observe;
        let lines = Arc::new(RawTail::new(if observe.lines == Lines::Kept { LINES } else { 0 }));
        Self {
            shared: Arc::clone(shared),
            published: Arc::new(Published::new(&id, last)),
            watcher: Arc::new(Watcher::new(observe, &id, shared.switches.of(&id))),
            observed: Observed::new(observe, shared.figures.as_ref()),
            lines,
            book,
            run: Run::None,
            next_run: None,
            told: Vec::new(),
            doing: JoinSet::new(),
            committed: mpsc::channel(4),
            again: None,
            grows: None,
            limit_ends: None,
            limit_seen: None,
            wanted: Instant::now(),
            ending: None,
        }
    }

    /// The items of the last turn that may still change or are on their way to the disk.
    pub(crate) fn open_items(&self) -> &[Item] {
        &self.book.transcript.snapshot().items
    }

    /// The last event.
    pub(crate) fn seq(&self) -> Seq {
        self.book.seq()
    }

    pub(crate) fn record(&self) -> &SessionRecord {
        &self.book.record
    }

    pub(crate) fn published(&self) -> Arc<Published> {
        Arc::clone(&self.published)
    }

    pub(crate) fn lines(&self) -> Arc<RawTail> {
        Arc::clone(&self.lines)
    }

    pub(crate) fn watcher(&self) -> Arc<Watcher> {
        Arc::clone(&self.watcher)
    }

    /// Owns the session until nobody wants it any more.
    pub(crate) async fn run(mut self, mut asks: mpsc::Receiver<Ask>) {
        self.flush();
        loop {
            let due = self.deadline();
            // A run that must end is listened to in any case.
            let room = self.book.outbox.has_room() || self.ending.is_some();
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
                Woken::Event(Some(event)) => self.events(event),
                Woken::Event(None) => self.run_is_over(),
                Woken::Finished(finished) => self.finished(finished),
                Woken::Committed(result) => self.committed(result),
                Woken::Due => self.due(),
            }
            self.flush();
            self.release();
            if self.is_ended() {
                break;
            }
            if self.is_unwanted() {
                if self.shared.registry.let_go(&self.book.record.summary.session_id, &asks) {
                    break;
                }
                self.wanted = Instant::now();
            }
        }
        if let Some(observed) = &mut self.observed {
            observed.end(summary::now());
        }
        if let Some((_, waiting)) = self.ending.take() {
            for done in waiting {
                // Who no longer waits does not mind.
                let _ = done.send(());
            }
        }
    }

    // ---- time ----

    fn deadline(&self) -> Option<Instant> {
        let unwanted = self.is_quiet().then(|| self.wanted + UNWANTED);
        let idle = self.shared.settings.idle.filter(|_| self.is_idle()).map(|idle| self.wanted + idle);
        let grown = self.grows.filter(|_| self.book.outbox.is_due());
        [unwanted, idle, self.again, self.limit_ends, grown].into_iter().flatten().min()
    }

    fn due(&mut self) {
        let now = Instant::now();
        if self.again.is_some_and(|again| again <= now) {
            self.again = None;
            if let Some(batch) = self.book.outbox.again() {
                self.store(&batch);
            }
        }
        if self.limit_ends.is_some_and(|ends| ends <= now) {
            self.limit_ends = None;
            let (answer, _) = oneshot::channel();
            // If it cannot be retried, a person has gone on in the meantime.
            let _ = self.retry(None, answer);
        }
        if self.shared.settings.idle.is_some_and(|idle| self.is_idle() && self.wanted + idle <= now) {
            self.close(None);
            self.wanted = now;
        }
    }

    /// Whether what there is may wait for more that is about to come.
    fn grows(&mut self) -> bool {
        if !self.book.outbox.is_due() {
            return false;
        }
        let could = self.book.outbox.could_grow() && self.ending.is_none();
        self.grows = self.grows.filter(|until| could && Instant::now() < *until);
        self.grows.is_some()
    }

    /// Whether a run is there that does nothing.
    fn is_idle(&self) -> bool {
        let snapshot = self.book.transcript.snapshot();
        let works = snapshot.tasks.iter().any(|task| task.status == TaskStatus::Running);
        let waits = works || !snapshot.pending.is_empty();
        matches!(self.run, Run::Live(_)) && snapshot.state == SessionState::Idle && !waits
    }

    fn is_quiet(&self) -> bool {
        matches!(self.run, Run::None)
            && self.book.outbox.is_empty()
            && self.doing.is_empty()
            && !self.book.changed
    }

    /// Whether all is done that was to be done before the end. A store that takes nothing is not waited for.
    fn is_ended(&self) -> bool {
        let hopeless = matches!(self.run, Run::None) && self.again.is_some();
        self.ending.is_some() && (self.is_quiet() || hopeless)
    }

    fn is_unwanted(&mut self) -> bool {
        if self.published.is_followed() {
            self.wanted = Instant::now();
        }
        self.is_quiet() && self.limit_ends.is_none() && self.wanted + UNWANTED <= Instant::now()
    }
}

async fn next(run: &mut Run) -> Option<SharedEvent> {
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
