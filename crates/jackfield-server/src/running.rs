//! Asking a server that already runs on the same data folder, over its Unix socket.
//!
//! Only for what the commands `serve`, `link` and `devices` need of it; `jackfield-client` has the rest. The one rule it keeps: it never
//! waits for a server that does not answer.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::{Method, Request, StatusCode};
use hyper_util::rt::TokioIo;
use jackfield_api::socket::Scope;
use serde::{Deserialize, Serialize};
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

/// For whom a link is.
#[derive(Debug, Clone, Default, Serialize)]
pub struct LinkFor {
    /// What its holder may do; everything if it is not said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<Scope>,
    /// What the device is called in lists and decisions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// A browser that was let in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Device {
    /// To revoke it by.
    pub id: String,
    /// What its link called it.
    pub name: Option<String>,
    /// What it may do.
    pub scope: Scope,
    /// When it was let in, in milliseconds since 1970.
    pub created: u64,
    /// When it was last there, to the minute.
    pub last_seen: u64,
}

/// A new one-time link of the server that runs on this data folder.
pub async fn link(folder: &Path, wanted: &LinkFor) -> Result<String, AskError> {
    #[derive(Deserialize)]
    struct Ticket {
        link: String,
    }

    let body = serde_json::to_vec(wanted).map_err(failed)?;
    let answer = ask(folder, Method::POST, "/api/tickets", body).await?;
    let ticket: Ticket = serde_json::from_slice(&answer).map_err(failed)?;
    Ok(ticket.link)
}

/// The browsers that the server on this data folder lets in, the last seen first.
pub async fn devices(folder: &Path) -> Result<Vec<Device>, AskError> {
    #[derive(Deserialize)]
    struct List {
        devices: Vec<Device>,
    }

    let answer = ask(folder, Method::GET, "/api/devices", Vec::new()).await?;
    let list: List = serde_json::from_slice(&answer).map_err(failed)?;
    Ok(list.devices)
}

/// Lets one of them in no more, and ends its connections.
pub async fn revoke(folder: &Path, device: &Device) -> Result<(), AskError> {
    ask(folder, Method::DELETE, &format!("/api/devices/{}", device.id), Vec::new()).await.map(drop)
}

async fn ask(folder: &Path, method: Method, target: &str, body: Vec<u8>) -> Result<Bytes, AskError> {
    let path = folder.join(SOCKET);
    let exchanged = tokio::time::timeout(PATIENCE, exchange(&path, method, target, body)).await;
    exchanged.map_err(|_| AskError::TimedOut)?
}

async fn exchange(path: &Path, method: Method, target: &str, body: Vec<u8>) -> Result<Bytes, AskError> {
    let stream = UnixStream::connect(path).await;
    let stream = stream.map_err(|source| AskError::Connect { path: path.to_owned(), source })?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(failed)?;
    let request = Request::builder().method(method).uri(target).header("host", "jackfield");
    let request = request.header("content-type", "application/json");
    let request = request.body(Full::new(Bytes::from(body))).map_err(failed)?;
    let asked = async {
        let response = sender.send_request(request).await.map_err(failed)?;
        if !response.status().is_success() {
            return Err(AskError::Refused(response.status()));
        }
        let body = Limited::new(response.into_body(), ANSWER).collect().await.map_err(AskError::Failed)?;
        Ok(body.to_bytes())
    };
    tokio::select! {
        answer = asked => answer,
        Err(error) = connection => Err(failed(error)),
    }
}

fn failed(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> AskError {
    AskError::Failed(error.into())
}
