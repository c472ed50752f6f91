//! The list of sessions as it changes.
//!
//! State, not events: who reads slowly gets what changed once, as it stands then. The one rule it keeps: after a lost
//! connection the whole list is told again, because what was deleted meanwhile nobody tells.

use jackfield_api::host::SessionSummary;
use jackfield_api::socket::{ClientFrame, SentSessions, ServerFrame, Watch};
use jackfield_host::Host;
use tokio::sync::mpsc;

use crate::client::{Client, Way};
use crate::error::ClientError;
use crate::remote::{Attempts, Remote, Trouble, cut, next, send};

/// Somebody who watches the list of sessions.
#[derive(Debug)]
pub struct Watching {
    told: mpsc::Receiver<Result<Watched, ClientError>>,
}

/// What is told of the list.
#[derive(Debug, Clone, PartialEq)]
pub enum Watched {
    /// All that live, and the newest of the others; what is not among them is of no more interest.
    All(Vec<SessionSummary>),
    /// Those that changed, and those that were deleted.
    Changed(SentSessions),
    /// The connection is lost: what was told may be old. Told once, before all of the list or an error.
    Away,
}

impl Client {
    /// Watches the list of sessions: first all of it, then what changes. Archived ones are among them.
    pub fn watch(&self) -> Watching {
        // One at a time: what changes meanwhile is told together.
        let (to, told) = mpsc::channel(1);
        match &self.way {
            Way::Here(host, _) => tokio::spawn(here(host.clone(), to)),
            Way::Running(remote) => tokio::spawn(running(remote.clone(), to)),
        };
        Watching { told }
    }
}

impl Watching {
    /// What is told next; `None` once it is over. Cancel-safe: a dropped future loses nothing.
    pub async fn next(&mut self) -> Option<Result<Watched, ClientError>> {
        self.told.recv().await
    }
}

type To = mpsc::Sender<Result<Watched, ClientError>>;

async fn here(host: Host, to: To) {
    let mut watching = host.watch().await;
    let mut begun = false;
    loop {
        let frame = tokio::select! {
            () = to.closed() => return,
            frame = watching.next() => frame,
        };
        // A frame of this very process can be read.
        if let Ok(ServerFrame::Sessions(sent)) = serde_json::from_slice(&frame)
            && to.send(Ok(told(&mut begun, sent))).await.is_err()
        {
            return;
        }
    }
}

pub(crate) async fn running(remote: Remote, to: To) {
    let watched = async {
        let (mut attempts, mut is_away) = (Attempts::new(), false);
        loop {
            match connected(&remote, &to, &mut attempts, &mut is_away).await {
                Ok(()) => return None,
                Err(Trouble::Final(error)) => return Some(error),
                Err(Trouble::Lost(error)) => {
                    if !std::mem::replace(&mut is_away, true) && to.send(Ok(Watched::Away)).await.is_err() {
                        return None;
                    }
                    if !attempts.again().await {
                        return Some(remote.unreachable(error));
                    }
                }
            }
        }
    };
    let ended = tokio::select! {
        () = to.closed() => None,
        ended = watched => ended,
    };
    if let Some(error) = ended {
        // Nobody reads: nobody minds.
        let _ = to.send(Err(error)).await;
    }
}

/// One connection, until nobody reads.
async fn connected(
    remote: &Remote,
    to: &To,
    attempts: &mut Attempts,
    is_away: &mut bool,
) -> Result<(), Trouble> {
    let (mut socket, _) = remote.greet().await?;
    send(&mut socket, &ClientFrame::Watch(Watch {})).await.map_err(cut)?;
    let mut begun = false;
    loop {
        let frame = next(&mut socket).await.map_err(cut)?;
        // It is there again: the next loss is another one.
        (*attempts, *is_away) = (Attempts::new(), false);
        if let ServerFrame::Sessions(sent) = frame
            && to.send(Ok(told(&mut begun, sent))).await.is_err()
        {
            return Ok(());
        }
    }
}

/// The first of a connection is the whole list.
fn told(begun: &mut bool, sent: SentSessions) -> Watched {
    if std::mem::replace(begun, true) { Watched::Changed(sent) } else { Watched::All(sent.sessions) }
}
