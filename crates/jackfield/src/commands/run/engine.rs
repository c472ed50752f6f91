//! What a prompt is given to: a session of a host, or one of the SDK that no host knows.
//!
//! The same events and the same commands either way. A host keeps what happens and shows it to others; the SDK alone
//! has the agent's own lines, and options that the host's contract does not have. The one rule it keeps: what was
//! started here is ended here, in order.

use std::sync::Arc;

use jackfield_api::command::{Agent, Close, Delete, Reply};
use jackfield_api::permission::PermissionRequest;
use jackfield_api::{Command, Event, SessionId};
use jackfield_client::{Client, ClientError, Subscription, Update};
use jackfield_sdk::{By, Direction, Events, Pace, RawLine, Session};
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{broadcast, mpsc, oneshot};

use super::reach::Reached;
use super::{NAME, RunFailure};

/// How many batches of lines wait for standard output. The events hold the agent back long before; if not, it is told
/// how many lines were lost.
const BATCHES: usize = 16_384;
/// How many lines are in a batch.
const BATCH: usize = 512;

/// What a prompt is given to.
pub(super) enum Engine {
    Hosted(Box<Hosted>),
    Alone(Box<Alone>),
}

/// A session of a host.
pub(super) struct Hosted {
    pub(super) reached: Reached,
    pub(super) session: SessionId,
    pub(super) updates: Subscription,
    pub(super) found: Found,
    /// Questions that are open already.
    pub(super) pending: Vec<PermissionRequest>,
}

/// How a session of a host was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    /// It was made for the prompt.
    New,
    /// Nothing ran in it.
    Ended,
    /// Its run was there before us, and others may want it.
    AtWork,
}

/// A session of the SDK.
pub(super) struct Alone {
    session: Session,
    events: Events,
    lines: mpsc::Receiver<Told>,
    finish: Option<oneshot::Sender<()>>,
}

/// What an engine tells.
pub(super) enum Told {
    Event(Arc<Event>),
    /// Lines of the agent.
    Lines(Vec<Arc<RawLine>>),
    /// So many lines of the agent were lost.
    Missed(u64),
    /// Nothing more comes.
    Over(String),
}

/// A way to give commands.
#[derive(Clone)]
pub(super) enum Orders {
    Hosted(Client, SessionId),
    Alone(Session),
}

impl Orders {
    pub(super) async fn give(&self, command: Command) -> Result<Reply, ClientError> {
        match self {
            Self::Hosted(client, session) => client.command(Some(session), command).await,
            Self::Alone(session) => {
                let given = session.command_by(By::Client(NAME.into()), command).await;
                given.map_err(|refused| ClientError::Rejected(refused.0))
            }
        }
    }
}

impl Alone {
    pub(super) fn new(session: Session) -> Self {
        let (to, lines) = mpsc::channel(BATCHES);
        let (finish, finished) = oneshot::channel();
        tokio::spawn(pass(session.raw(), to, finished));
        Self { events: session.events(Pace::Lossless), session, lines, finish: Some(finish) }
    }
}

impl Engine {
    pub(super) fn orders(&self) -> Orders {
        match self {
            Self::Hosted(hosted) => Orders::Hosted(hosted.reached.client.clone(), hosted.session.clone()),
            Self::Alone(alone) => Orders::Alone(alone.session.clone()),
        }
    }

    pub(super) fn session_id(&self) -> Option<&SessionId> {
        match self {
            Self::Hosted(hosted) => Some(&hosted.session),
            Self::Alone(_) => None,
        }
    }

    /// Questions that were open before.
    pub(super) fn take_pending(&mut self) -> Vec<PermissionRequest> {
        match self {
            Self::Hosted(hosted) => std::mem::take(&mut hosted.pending),
            Self::Alone(_) => Vec::new(),
        }
    }

    /// Whether the session lives on when this process ends.
    pub(super) fn goes_on(&self) -> bool {
        matches!(self, Self::Hosted(hosted) if hosted.reached.goes_on())
    }

    /// Whether somebody else had it running before.
    pub(super) fn is_shared(&self) -> bool {
        matches!(self, Self::Hosted(hosted) if hosted.found == Found::AtWork)
    }

    /// The next thing. Cancel-safe.
    pub(super) async fn next(&mut self) -> Told {
        match self {
            Self::Hosted(hosted) => loop {
                return match hosted.updates.next().await {
                    Some(Update::Event(event)) => Told::Event(event),
                    // It begins where it stands; only a host that has forgotten everything would send more.
                    Some(Update::Current(_) | Update::Gap(_) | Update::Snapshot(_)) => continue,
                    Some(Update::Over(reason)) => Told::Over(reason),
                    None => Told::Over("the session is over".to_owned()),
                };
            },
            Self::Alone(alone) => tokio::select! {
                // The lines of an event stand before it.
                biased;
                Some(told) = alone.lines.recv() => told,
                event = alone.events.next() => match event {
                    Some(event) => Told::Event(event),
                    None => Told::Over("the agent has ended".to_owned()),
                },
            },
        }
    }

    /// Why a prompt was not taken, in words that say what to do. A session that was made for it goes.
    pub(super) async fn diagnose(&self, error: ClientError) -> RunFailure {
        let Self::Hosted(hosted) = self else { return RunFailure::NotTaken(error) };
        let client = &hosted.reached.client;
        let Ok(Some(session)) = client.session(&hosted.session).await else {
            return RunFailure::NotTaken(error);
        };
        if hosted.found == Found::New {
            // If it stays, it is only in the way.
            let _ = client.command(Some(&hosted.session), Delete {}).await;
        }
        if let Some(budget) = session.max_budget_usd.filter(|budget| session.total_cost_usd >= *budget) {
            return RunFailure::Budget(budget);
        }
        if session.agent == Agent::Claude
            && let Ok(settings) = client.settings().await
            && let Some(claude) = settings.agents.into_iter().find(|known| known.agent == Agent::Claude)
            && let Some(problem) = claude.problem
        {
            return RunFailure::NoCli(problem);
        }
        RunFailure::NotTaken(error)
    }

    /// Ends what was started here, and gives the lines that were still to come.
    pub(super) async fn end(self, leave: Leave) -> Vec<Told> {
        match self {
            Self::Hosted(hosted) => {
                if leave == Leave::Closed {
                    // One that is closed already is what was wanted.
                    let _ = hosted.reached.client.command(Some(&hosted.session), Close {}).await;
                }
                hosted.reached.close().await;
                Vec::new()
            }
            Self::Alone(mut alone) => {
                alone.session.close().await;
                drop(alone.finish.take());
                let mut lines = Vec::new();
                while let Some(told) = alone.lines.recv().await {
                    lines.push(told);
                }
                lines
            }
        }
    }
}

/// What becomes of a session of a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Leave {
    /// Its run ends.
    Closed,
    /// It stays as it is.
    Running,
}

/// Takes lines as fast as they come, so that none is lost while standard output is slow.
async fn pass(
    mut raw: broadcast::Receiver<Arc<RawLine>>,
    to: mpsc::Sender<Told>,
    mut finish: oneshot::Receiver<()>,
) {
    loop {
        let first = tokio::select! {
            biased;
            first = raw.recv() => first,
            _ = &mut finish => return,
        };
        let told = match first {
            Ok(first) => {
                let more = std::iter::from_fn(|| raw.try_recv().ok()).take(BATCH);
                let ours = |line: &Arc<RawLine>| line.direction == Direction::FromCli;
                Told::Lines(std::iter::once(first).chain(more).filter(ours).collect())
            }
            Err(RecvError::Lagged(lines)) => Told::Missed(lines),
            Err(RecvError::Closed) => return,
        };
        if to.send(told).await.is_err() {
            return;
        }
    }
}
