//! A live session: a cheap handle to the task that owns it.
//!
//! Clones are handles to the same session. When the last one is dropped the session ends, with everything it
//! started, unless it was detached.

use std::sync::Arc;

use jackfield_api::command::{
    Allow, Answer, CancelQueued, Close, Content, Interrupt, Prompt, Rejection, RejectionCode, Reply, Verdict,
};
use jackfield_api::session::Priority;
use jackfield_api::trouble::NoticeLevel;
use jackfield_api::{Command, PendingId, Seq, Snapshot, TurnNumber, Uuid};
use jackfield_core::By;
use jackfield_wire::HostRequest;
use tokio::sync::{broadcast, mpsc, oneshot};

use crate::content;
use crate::conversation::Progress;
use crate::error::{Refused, StartError};
use crate::log::{Events, Log, Pace};
use crate::raw::{RawLine, RawLines};
use crate::start;
use crate::task::Ask;
use crate::turn::Turn;
use crate::{Callbacks, Options};

/// A live session.
#[derive(Debug, Clone)]
pub struct Session {
    shared: Arc<Shared>,
}

#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) asks: mpsc::Sender<Ask>,
    pub(crate) log: Log,
    pub(crate) raw: Arc<RawLines>,
    pub(crate) ready: start::Ready,
    pub(crate) progress: Arc<Progress>,
    pub(crate) origin: Arc<start::Origin>,
}

impl Session {
    /// Starts the CLI and waits until it answers.
    pub async fn start(options: Options, callbacks: Callbacks) -> Result<Self, StartError> {
        start::start(options, callbacks).await.map(|shared| Self { shared: Arc::new(shared) })
    }

    /// Says something; the handle follows it to its result.
    pub async fn prompt(&self, text: impl Into<String>) -> Result<Turn, Refused> {
        self.prompt_with(vec![Content::Text { text: text.into() }], Priority::Next).await
    }

    /// Says something with pictures or documents, or with another priority.
    pub async fn prompt_with(&self, content: Vec<Content>, priority: Priority) -> Result<Turn, Refused> {
        let uuid: Uuid = uuid::Uuid::new_v4().to_string().into();
        content::check(&content)?;
        let prompt = Box::new(Prompt { uuid: uuid.clone(), content, priority });
        let (answer, answered) = oneshot::channel();
        let (ended, outcome) = oneshot::channel();
        self.ask(Ask::Prompt(By::Host, prompt, answer, ended)).await?;
        answered.await.unwrap_or_else(|_| Err(over()))?;
        Ok(Turn { uuid, outcome })
    }

    /// Takes back a prompt that still waits.
    pub async fn cancel(&self, uuid: &Uuid) -> Result<(), Refused> {
        self.command(CancelQueued { uuid: uuid.clone() }).await.map(drop)
    }

    /// Stops the running turn.
    pub async fn interrupt(&self) -> Result<(), Refused> {
        self.command(Interrupt {}).await.map(drop)
    }

    /// Answers an open question. Of several answers exactly one is taken.
    pub async fn answer(&self, pending_id: PendingId, verdict: Verdict) -> Result<(), Refused> {
        self.command(Answer { pending_id, verdict }).await.map(drop)
    }

    /// Allows what was asked, as it was asked.
    pub async fn allow(&self, pending_id: PendingId) -> Result<(), Refused> {
        self.answer(pending_id, Verdict::Allow(Allow::default())).await
    }

    /// Ends the session in order: a turn is interrupted, input is closed, and only then it gets harder. Waits
    /// until nothing of it is alive.
    pub async fn close(&self) {
        // A session that is over already refuses; that is what was wanted.
        let _ = self.command(Close {}).await;
        self.shared.log.closed().await;
    }

    /// Events from the oldest that is kept on. Any number of readers, each at its own pace.
    ///
    /// The first reader of all sees how it began, if it comes before a mebibyte was said. What all readers have
    /// read is let go but for the newest few, so one that comes later begins with a `gap`, in whose place a
    /// [snapshot](Session::snapshot) tells what was.
    ///
    /// A lossless reader that nobody reads holds the CLI back once it is [`LOSSLESS_LIMIT`](crate::LOSSLESS_LIMIT)
    /// behind: who keeps one must read it, or a long turn never ends.
    pub fn events(&self, pace: Pace) -> Events {
        self.shared.log.reader(pace, None)
    }

    /// Events behind one that the reader has.
    pub fn events_after(&self, seq: Seq, pace: Pace) -> Events {
        self.shared.log.reader(pace, Some(seq))
    }

    /// The lines themselves, in both directions, from now on. A receiver that lags is told how much it missed.
    pub fn raw(&self) -> broadcast::Receiver<Arc<RawLine>> {
        self.shared.raw.subscribe()
    }

    /// The transcript up to now; `None` if the options did not ask to keep it, or the session is over.
    pub async fn snapshot(&self) -> Option<Snapshot> {
        let (to, from) = oneshot::channel();
        self.ask(Ask::Snapshot(to)).await.ok()?;
        from.await.ok().flatten()
    }

    /// What the CLI said of itself when it was first ready.
    pub fn ready(&self) -> &start::Ready {
        &self.shared.ready
    }

    /// Lets the session go on when all handles are gone. It ends when the CLI does.
    pub async fn detach(self) {
        // A session that is over needs no detaching.
        let _ = self.ask(Ask::Detach).await;
    }

    /// Gives a command of the contract.
    pub async fn command(&self, command: impl Into<Command>) -> Result<Reply, Refused> {
        self.command_by(By::Host, command).await
    }

    /// Gives a command in somebody's name; events that tell what came of it tell the name too.
    pub async fn command_by(&self, by: By, command: impl Into<Command>) -> Result<Reply, Refused> {
        let command = command.into();
        match &command {
            Command::Prompt(prompt) => content::check(&prompt.content)?,
            Command::EditQueued(edit) => content::check(&edit.with.content)?,
            _ => {}
        }
        let (answer, answered) = oneshot::channel();
        self.ask(Ask::Command(by, Box::new(command), answer)).await?;
        Ok(answered.await.unwrap_or_else(|_| Err(over()))?)
    }

    /// Tells something of one's own to everybody who follows the session, as a `notice` in its order.
    pub async fn notice(&self, level: NoticeLevel, text: impl Into<String>) -> Result<(), Refused> {
        self.ask(Ask::Notice(level, text.into())).await
    }

    /// Sends a control request and waits for its answer. There is a typed method for each of them.
    pub async fn request(&self, request: HostRequest) -> Result<Reply, Refused> {
        let (answer, answered) = oneshot::channel();
        self.ask(Ask::Request(Box::new(request), answer)).await?;
        Ok(answered.await.unwrap_or_else(|_| Err(over()))?)
    }

    pub(crate) fn progress(&self) -> &Progress {
        &self.shared.progress
    }

    pub(crate) fn origin(&self) -> &start::Origin {
        &self.shared.origin
    }

    /// The number of the last event, and the last turn.
    pub(crate) fn last(&self) -> Option<(Seq, Option<TurnNumber>)> {
        self.shared.log.last()
    }

    async fn ask(&self, ask: Ask) -> Result<(), Refused> {
        self.shared.asks.send(ask).await.map_err(|_| over().into())
    }
}

pub(crate) fn over() -> Rejection {
    Rejection { code: RejectionCode::RunEnded, reason: "the session is over".to_owned() }
}
