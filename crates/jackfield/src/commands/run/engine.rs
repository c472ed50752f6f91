//! What a prompt is given to: a session of a host.
//!
//! The host keeps what happens and shows it to others; here its events are followed, and the agent's own lines where
//! somebody wants those. The one rule it keeps: what was started here is ended here, in order.

use std::io::ErrorKind;
use std::time::Duration;

use jackfield_api::command::{Agent, Close, Delete, Reply};
use jackfield_api::permission::PermissionRequest;
use jackfield_api::{Command, Seq, SessionId, SharedEvent};
use jackfield_client::{Client, ClientError, Subscription, Update};
use tokio::time::timeout;

use super::RunFailure;
use super::own_lines::OwnLines;
use super::reach::Reached;

/// How long one of the last lines may take.
const LAST_LINE: Duration = Duration::from_secs(20);

/// What a prompt is given to.
pub(super) struct Engine {
    pub(super) reached: Reached,
    pub(super) session: SessionId,
    pub(super) updates: Subscription,
    /// The agent's own lines, if they are wanted.
    pub(super) lines: Option<OwnLines>,
    pub(super) found: Found,
    /// Questions that are open already.
    pub(super) pending: Vec<PermissionRequest>,
}

/// How a session was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    /// It was made for the prompt.
    New,
    /// Nothing ran in it.
    Ended,
    /// Its run was there before us, and others may want it.
    AtWork,
}

/// What an engine tells.
pub(super) enum Told {
    Event(SharedEvent),
    /// A line of the agent.
    Line(String),
    /// Lines of the agent were lost.
    Lost(ClientError),
    /// Nothing more comes.
    Over(String),
}

/// A way to give commands.
#[derive(Clone)]
pub(super) struct Orders {
    client: Client,
    session: SessionId,
}

impl Orders {
    pub(super) async fn give(&self, command: Command) -> Result<Reply, ClientError> {
        self.client.command(Some(&self.session), command).await
    }
}

impl Engine {
    pub(super) fn orders(&self) -> Orders {
        Orders { client: self.reached.client.clone(), session: self.session.clone() }
    }

    /// Whether the session lives on when this process ends.
    pub(super) fn goes_on(&self) -> bool {
        self.reached.goes_on()
    }

    /// Whether somebody else had it running before.
    pub(super) fn is_shared(&self) -> bool {
        self.found == Found::AtWork
    }

    /// The next thing. Cancel-safe.
    pub(super) async fn next(&mut self) -> Told {
        loop {
            tokio::select! {
                Some(line) = next_line(&mut self.lines) => match line {
                    Ok(Some(text)) => return Told::Line(text),
                    Ok(None) => {}
                    Err(error) => {
                        self.lines = None;
                        return Told::Lost(error);
                    }
                },
                update = self.updates.next() => match update {
                    Some(Update::Event(event)) => return Told::Event(event),
                    // It begins where it stands; only a host that has forgotten everything would send more.
                    Some(Update::Current(_) | Update::Gap(_) | Update::Snapshot(_)) => {}
                    Some(Update::Over(reason)) => return Told::Over(reason),
                    None => return Told::Over("the session is over".to_owned()),
                },
            }
        }
    }

    /// Why a prompt was not taken, in words that say what to do. A session that was made for it goes.
    pub(super) async fn diagnose(&self, error: ClientError) -> RunFailure {
        let client = &self.reached.client;
        let Ok(Some(session)) = client.session(&self.session).await else {
            return RunFailure::NotTaken(error);
        };
        if self.found == Found::New {
            // If it stays, it is only in the way.
            let _ = client.command(Some(&self.session), Delete {}).await;
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

    /// Ends the run if nobody else wants it. One that is closed already is what was wanted.
    pub(super) async fn leave(&self, leave: Leave) {
        if leave == Leave::Closed {
            let _ = self.reached.client.command(Some(&self.session), Close {}).await;
        }
    }

    /// The next line that was still to come: to the end of a run that was ended, and else to what an event was made of.
    pub(super) async fn last_line(&mut self, leave: Leave, seq: Option<Seq>) -> Option<Told> {
        let lines = self.lines.as_mut()?;
        loop {
            let done = match leave {
                Leave::Closed => lines.are_over(),
                Leave::Running => seq.is_none_or(|seq| lines.are_told_to(seq)),
            };
            if done {
                return None;
            }
            let late = || Err(ClientError::LinesLost(ErrorKind::TimedOut.into()));
            match timeout(LAST_LINE, lines.next()).await.unwrap_or_else(|_| Some(late()))? {
                Ok(Some(text)) => return Some(Told::Line(text)),
                Ok(None) => {}
                Err(error) => {
                    self.lines = None;
                    return Some(Told::Lost(error));
                }
            }
        }
    }
}

/// What becomes of a session's run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Leave {
    /// It ends.
    Closed,
    /// It stays as it is.
    Running,
}

async fn next_line(lines: &mut Option<OwnLines>) -> Option<Result<Option<String>, ClientError>> {
    lines.as_mut()?.next().await
}
