//! What is told of the host itself: figures, processes, lines, debug files.
//!
//! The one rule it keeps: a host here and the running one give the same answers.

use jackfield_api::host::{DebugState, SessionProcess, SessionProcesses};
use jackfield_api::lines::KeptLines;
use jackfield_api::{LineNumber, SessionId};

use crate::client::{Client, Way, of_session};
use crate::error::ClientError;

impl Client {
    /// All figures, in the form that Prometheus reads; `None` where nothing is counted.
    pub async fn figures(&self) -> Result<Option<String>, ClientError> {
        match &self.way {
            Way::Here(host, _) => Ok(host.figures().await),
            Way::Running(remote) => match remote.read("/metrics", []).await {
                Ok(page) => Ok(Some(String::from_utf8_lossy(&page).into_owned())),
                Err(error) if error.code() == Some(jackfield_api::command::RejectionCode::NotFound) => {
                    Ok(None)
                }
                Err(error) => Err(error),
            },
        }
    }

    /// The CLIs that run, and the memory that each takes.
    pub async fn processes(&self) -> Result<Vec<SessionProcess>, ClientError> {
        match &self.way {
            Way::Here(host, _) => Ok(host.processes().await),
            Way::Running(remote) => {
                let told: SessionProcesses = remote.get("/api/processes", []).await?;
                Ok(told.processes)
            }
        }
    }

    /// The newest lines of a session behind one, without secrets.
    pub async fn lines(&self, id: &SessionId, after: LineNumber) -> Result<KeptLines, ClientError> {
        match &self.way {
            Way::Here(host, _) => Ok(host.lines(id, after).await?),
            Way::Running(remote) => {
                remote.get(&of_session(id, "/lines"), [("after", Some(after.to_string()))]).await
            }
        }
    }

    /// Begins or ends a session's debug files.
    pub async fn set_debug(&self, id: &SessionId, wanted: DebugState) -> Result<DebugState, ClientError> {
        match &self.way {
            Way::Here(host, _) => Ok(host.set_debug(id, wanted).await?),
            Way::Running(remote) => remote.put(&of_session(id, "/debug"), &wanted).await,
        }
    }
}
