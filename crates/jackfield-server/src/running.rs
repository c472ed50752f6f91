//! Asking a server that already runs on the same data folder, over its Unix socket.
//!
//! Only for what the `serve` command needs of it; `jackfield-client` has the rest. The one rule it keeps: it never
//! waits for a server that does not answer.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use http_body_util::{BodyExt as _, Empty, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::{Method, Request, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::UnixStream;

use crate::serving::SOCKET;

/// How long a server may take to answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long its answer may be.
const ANSWER: usize = 64 * 1024;

/// Why a running server gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum AskError {
    /// It is not there.
    #[error("cannot connect to `{}`: {source}", path.display())]
    Connect {
        /// The socket.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// The connection failed.
    #[error("cannot ask the running server: {0}")]
    Failed(#[from] Box<dyn std::error::Error + Send + Sync>),
    /// It said no.
    #[error("the running server answered {0}")]
    Refused(StatusCode),
    /// It said nothing.
    #[error("the running server did not answer within {} s", PATIENCE.as_secs())]
    TimedOut,
}

/// A new one-time link of the server that runs on this data folder.
pub async fn link(folder: &Path) -> Result<String, AskError> {
    tokio::time::timeout(PATIENCE, ask(&folder.join(SOCKET))).await.map_err(|_| AskError::TimedOut)?
}

async fn ask(path: &Path) -> Result<String, AskError> {
    #[derive(serde::Deserialize)]
    struct Ticket {
        link: String,
    }

    let stream = UnixStream::connect(path).await;
    let stream = stream.map_err(|source| AskError::Connect { path: path.to_owned(), source })?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(failed)?;
    let request = Request::builder().method(Method::POST).uri("/api/tickets").header("host", "jackfield");
    let request = request.body(Empty::<Bytes>::new()).map_err(failed)?;
    let asked = async {
        let response = sender.send_request(request).await.map_err(failed)?;
        if response.status() != StatusCode::OK {
            return Err(AskError::Refused(response.status()));
        }
        let body = Limited::new(response.into_body(), ANSWER).collect().await.map_err(AskError::Failed)?;
        let ticket: Ticket = serde_json::from_slice(&body.to_bytes()).map_err(failed)?;
        Ok(ticket.link)
    };
    tokio::select! {
        answer = asked => answer,
        Err(error) = connection => Err(failed(error)),
    }
}

fn failed(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> AskError {
    AskError::Failed(error.into())
}
