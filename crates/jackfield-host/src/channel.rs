//! One session of the host: a handle to the task that owns it.
//!
//! A session outlives its runs. The task is loaded when somebody wants something of the session, and goes when
//! nobody does and nothing runs.

mod book;
mod debug_lines;
mod observed;
mod outbox;
pub(crate) mod run;
#[cfg(test)]
mod simulation;
pub(crate) mod summary;
pub(crate) mod switches;
mod task;
pub(crate) mod watcher;

use std::sync::Arc;

use jackfield_api::command::{Command, Rejection, RejectionCode, Reply};
use jackfield_api::snapshot::{SessionState, Snapshot};
use jackfield_api::{Event, SessionId};
use jackfield_observe::TraceContext;
use jackfield_sdk::RawTail;
use tokio::sync::{mpsc, oneshot};

use crate::client::Client;
use crate::host::Shared;
use crate::published::Published;
use crate::store::{SessionRecord, StoreError};
use task::Task;
use watcher::Watcher;

/// How many asks may wait for a session.
const ASKS: usize = 64;

/// How many of the last items are compared with what the CLI has written down.
const KNOWN: u32 = 500;

/// A handle to a session that is loaded.
#[derive(Debug, Clone)]
pub(crate) struct Channel {
    asks: mpsc::Sender<Ask>,
    pub(crate) published: Arc<Published>,
    /// The newest lines between the host and the agent.
    pub(crate) lines: Arc<RawTail>,
    /// Its process and its debug files.
    pub(crate) watcher: Arc<Watcher>,
}

/// What is asked of a session's task.
#[derive(Debug)]
pub(crate) enum Ask {
    /// A command of a client.
    Command(Client, Box<Command>, Answer),
    /// The transcript as it stands: its items that may still change, and all the rest.
    Snapshot(oneshot::Sender<Snapshot>),
    /// What the session is, and what was asked for.
    Record(oneshot::Sender<SessionRecord>),
    /// Starts a run, so that the first prompt need not wait for it, as a part of a trace if one is given.
    Warm(Option<TraceContext>),
    /// Ends the run if it does nothing: another session needs its room.
    Yield,
    /// Ends the run and everything else; answered when all is on disk.
    End(Ending, oneshot::Sender<()>),
}

/// What becomes of a session that ends here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// The host goes; the session stays.
    Kept,
    /// It is removed.
    Deleted,
}

/// Where an answer comes from.
pub(crate) type Answered = oneshot::Receiver<Result<Reply, Rejection>>;

/// Where an answer goes.
pub(crate) type Answer = oneshot::Sender<Result<Reply, Rejection>>;

impl Channel {
    /// Loads a session from the store, and closes what a host that died left open.
    pub(crate) async fn load(shared: &Arc<Shared>, id: &SessionId) -> Result<Option<Self>, StoreError> {
        let Some(record) = shared.store.session(id).await? else { return Ok(None) };
        let Some(point) = shared.store.resume_point(id).await? else { return Ok(None) };
        let died = record.summary.state != SessionState::Ended;
        let mut task = Task::load(shared, record, point);
        if died || task.record().summary.last_error.is_some() {
            let mut known = shared.store.items(id, None, KNOWN).await?.items;
            task.remember(&known);
            known.extend(task.open_items().iter().cloned());
            if !died {
                return Ok(Some(Self::spawn(task)));
            }
            let unseen = run::unseen(&shared.settings, task.record(), task.seq(), &known).await;
            task.recover(&unseen);
        }
        Ok(Some(Self::spawn(task)))
    }

    /// A new session, with the events that it begins with.
    pub(crate) async fn create(
        shared: &Arc<Shared>,
        record: SessionRecord,
        events: &[Event],
    ) -> Result<Self, StoreError> {
        shared.store.create(&record).await?;
        Ok(Self::spawn(Task::create(shared, record, events)))
    }

    fn spawn(task: Task) -> Self {
        let (asks, asked) = mpsc::channel(ASKS);
        let (published, lines, watcher) = (task.published(), task.lines(), task.watcher());
        tokio::spawn(task.run(asked));
        Self { asks, published, lines, watcher }
    }

    /// Whether its task is still there.
    pub(crate) fn lives(&self) -> bool {
        !self.asks.is_closed()
    }

    /// Hands a command over; its answer comes later. `None` if the task has just gone.
    pub(crate) async fn hand_over(&self, client: &Client, command: Command) -> Option<Answered> {
        let (answer, answered) = oneshot::channel();
        self.asks.send(Ask::Command(client.clone(), Box::new(command), answer)).await.ok()?;
        Some(answered)
    }

    pub(crate) async fn snapshot(&self) -> Option<Snapshot> {
        let (to, from) = oneshot::channel();
        self.asks.send(Ask::Snapshot(to)).await.ok()?;
        from.await.ok()
    }

    pub(crate) async fn record(&self) -> Option<SessionRecord> {
        let (to, from) = oneshot::channel();
        self.asks.send(Ask::Record(to)).await.ok()?;
        from.await.ok()
    }

    /// Ends its run if it does nothing.
    pub(crate) async fn yield_run(&self) {
        // One that has just gone has no run.
        let _ = self.asks.send(Ask::Yield).await;
    }

    /// Starts a run for a client, so that its first prompt need not wait for it.
    pub(crate) async fn warm(&self, client: &Client) {
        // One that has gone in the meantime is started by its first prompt.
        let _ = self.asks.send(Ask::Warm(client.trace.clone())).await;
    }

    pub(crate) async fn end(&self, ending: Ending) {
        let (to, from) = oneshot::channel();
        if self.asks.send(Ask::End(ending, to)).await.is_ok() {
            // If the task is gone, so is everything of it.
            let _ = from.await;
        }
    }
}

pub(crate) fn gone() -> Rejection {
    reject(RejectionCode::RunEnded, "the host is going down")
}

pub(crate) fn reject(code: RejectionCode, reason: impl Into<String>) -> Rejection {
    Rejection { code, reason: reason.into() }
}
