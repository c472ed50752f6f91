//! Questions and commands to the running host, over its Unix socket.
//!
//! One connection each: they are rare and the socket is near. The one rule it keeps: a lost connection is made again
//! and the same is asked once more, which is safe because a command's id says that it is the same.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::{SinkExt as _, StreamExt as _};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, SendRequest};
use hyper::{Method, Request, StatusCode};
use hyper_util::rt::TokioIo;
use jackfield_api::VERSION;
use jackfield_api::command::{Rejection, RejectionCode, Reply};
use jackfield_api::socket::{ClientFrame, ClientHello, GivenCommand, ServerFrame, ServerHello};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::net::UnixStream;
use tokio::time::{Instant, sleep, timeout};
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{Error as SocketError, Message};
use tokio_tungstenite::{WebSocketStream, client_async_with_config};
use tokio_util::task::AbortOnDropHandle;

use crate::error::ClientError;

/// The name of the socket in the data folder.
const SOCKET: &str = "host.sock";
/// How long a host that was there may be away.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);
/// How long it may take to say hello.
const HELLO: Duration = Duration::from_secs(10);
/// The longest that is waited between two attempts.
pub(crate) const SELDOM: Duration = Duration::from_secs(1);

/// Letters that stand for themselves in an address.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// The running host.
#[derive(Debug, Clone)]
pub(crate) struct Remote {
    path: Arc<Path>,
    name: Arc<str>,
    host_id: Arc<str>,
}

/// A connection for one question.
type Connection = http1::Connection<TokioIo<UnixStream>, Full<Bytes>>;

/// An answer that goes on.
#[derive(Debug)]
pub(crate) struct Answering {
    pub(crate) body: Incoming,
    /// Carries it.
    _connection: AbortOnDropHandle<()>,
}

/// A WebSocket on which both sides have said hello.
pub(crate) type Socket = WebSocketStream<UnixStream>;

/// Why there was no answer.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// The connection was lost; another may be had.
    Lost(io::Error),
    /// Trying again would bring the same.
    Final(ClientError),
}

impl From<ClientError> for Trouble {
    fn from(error: ClientError) -> Self {
        Self::Final(error)
    }
}

/// When to try again, and when no more. However long all was well before, patience begins with the first loss.
#[derive(Debug)]
pub(crate) struct Attempts {
    until: Option<Instant>,
    pause: Duration,
}

impl Attempts {
    pub(crate) fn new() -> Self {
        Self { until: None, pause: Duration::from_millis(20) }
    }

    /// Waits a little, unless it has been tried for long enough.
    pub(crate) async fn again(&mut self) -> bool {
        let now = Instant::now();
        if now + self.pause > *self.until.get_or_insert(now + PATIENCE) {
            return false;
        }
        sleep(self.pause).await;
        self.pause = (self.pause * 2).min(SELDOM);
        true
    }
}

impl Remote {
    /// The host that runs on a data folder; `None` if nobody listens there.
    pub(crate) async fn find(data: &Path, name: &str) -> Result<Option<Self>, ClientError> {
        let path: Arc<Path> = data.join(SOCKET).into();
        let mut remote = Self { path, name: name.into(), host_id: "".into() };
        match remote.greet().await {
            Ok((_, hello)) => {
                remote.host_id = hello.host_id.into();
                Ok(Some(remote))
            }
            Err(Trouble::Final(error)) => Err(error),
            // Not there, left over from a host that died, or a path that no socket can have.
            Err(Trouble::Lost(error)) => match error.kind() {
                io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused | io::ErrorKind::InvalidInput => {
                    Ok(None)
                }
                _ => Err(remote.unreachable(error)),
            },
        }
    }

    pub(crate) fn host_id(&self) -> &str {
        &self.host_id
    }

    /// Gives a command, under its name as often as it takes.
    pub(crate) async fn command(&self, given: &GivenCommand) -> Result<Reply, ClientError> {
        let path = "/api/commands";
        let answer = self.ask(Method::POST, path, Some(json(given))).await?;
        match read(path, &answer)? {
            ServerFrame::Accepted(accepted) => Ok(accepted.reply),
            other => Err(nonsense(path, format!("{other:?}"))),
        }
    }

    pub(crate) async fn get<T: DeserializeOwned, const N: usize>(
        &self,
        path: &str,
        asked: [(&str, Option<String>); N],
    ) -> Result<T, ClientError> {
        read(path, &self.read(path, asked).await?)
    }

    /// An answer that is no JSON.
    pub(crate) async fn read<const N: usize>(
        &self,
        path: &str,
        asked: [(&str, Option<String>); N],
    ) -> Result<Vec<u8>, ClientError> {
        let asked =
            asked.into_iter().filter_map(|(name, value)| Some(format!("{name}={}", segment(&value?))));
        let asked: Vec<String> = asked.collect();
        let path = if asked.is_empty() { path.to_owned() } else { format!("{path}?{}", asked.join("&")) };
        self.ask(Method::GET, &path, None).await
    }

    pub(crate) async fn put<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
    ) -> Result<T, ClientError> {
        let answer = self.ask(Method::PUT, path, Some(json(body))).await?;
        read(path, &answer)
    }

    /// A new WebSocket, and what the host says of itself.
    pub(crate) async fn greet(&self) -> Result<(Socket, ServerHello), Trouble> {
        let greeted = async {
            let stream = self.connect().await?;
            // What a host of the same user sends may be as large as it likes.
            let config = WebSocketConfig::default().max_message_size(None).max_frame_size(None);
            let shaken = client_async_with_config("ws://jackfield/api/socket", stream, Some(config)).await;
            let (mut socket, _) = shaken.map_err(cut)?;
            let hello = ClientHello { version: VERSION, client: self.name.to_string(), key: None };
            send(&mut socket, &ClientFrame::Hello(hello)).await.map_err(cut)?;
            match next(&mut socket).await.map_err(cut)? {
                ServerFrame::Hello(hello) if hello.version == VERSION => Ok((socket, hello)),
                ServerFrame::Hello(hello) => {
                    Err(ClientError::OtherVersion(format!("it speaks version {}", hello.version)).into())
                }
                ServerFrame::Refused(refused) => Err(ClientError::OtherVersion(refused.reason).into()),
                other => Err(nonsense("hello", format!("{other:?}")).into()),
            }
        };
        match timeout(HELLO, greeted).await {
            Ok(greeted) => greeted,
            Err(_) => Err(Trouble::Lost(io::ErrorKind::TimedOut.into())),
        }
    }

    pub(crate) fn unreachable(&self, source: io::Error) -> ClientError {
        ClientError::Unreachable { path: PathBuf::from(&*self.path), source }
    }

    async fn connect(&self) -> Result<UnixStream, Trouble> {
        let stream = UnixStream::connect(&self.path).await.map_err(Trouble::Lost)?;
        let peer = stream.peer_cred().map_err(Trouble::Lost)?;
        if peer.uid() != rustix::process::geteuid().as_raw() {
            return Err(ClientError::Stranger(PathBuf::from(&*self.path)).into());
        }
        Ok(stream)
    }

    async fn ask(&self, method: Method, path: &str, body: Option<Bytes>) -> Result<Vec<u8>, ClientError> {
        let mut attempts = Attempts::new();
        loop {
            match self.ask_once(&method, path, body.clone()).await {
                Ok(answer) => return Ok(answer),
                Err(Trouble::Final(error)) => return Err(error),
                Err(Trouble::Lost(error)) => {
                    if !attempts.again().await {
                        return Err(self.unreachable(error));
                    }
                }
            }
        }
    }

    /// Asks for what is answered bit by bit. It is asked once: what was missed cannot be had again.
    pub(crate) async fn answering(&self, path: &str) -> Result<Answering, ClientError> {
        let asked = async {
            let (mut sender, connection) = self.shake().await?;
            let connection = AbortOnDropHandle::new(tokio::spawn(async {
                // How it ended is told with the answer.
                let _ = connection.await;
            }));
            let request = self.request(&Method::GET, path, None)?;
            let response = sender.send_request(request).await.map_err(lost)?;
            if response.status().is_success() {
                return Ok(Answering { body: response.into_body(), _connection: connection });
            }
            let status = response.status();
            let answer = response.into_body().collect().await.map_err(lost)?.to_bytes();
            Err(refusal(path, status, &answer).into())
        };
        asked.await.map_err(|trouble| match trouble {
            Trouble::Final(error) => error,
            Trouble::Lost(error) => self.unreachable(error),
        })
    }

    async fn shake(&self) -> Result<(SendRequest<Full<Bytes>>, Connection), Trouble> {
        http1::handshake(TokioIo::new(self.connect().await?)).await.map_err(lost)
    }

    fn request(
        &self,
        method: &Method,
        path: &str,
        body: Option<Bytes>,
    ) -> Result<Request<Full<Bytes>>, ClientError> {
        let mut request = Request::builder().method(method).uri(path).header("host", "jackfield");
        if body.is_some() {
            request = request.header("content-type", "application/json");
        }
        let request = request.header("x-jackfield-client", &*self.name);
        let request = request.body(Full::new(body.unwrap_or_default()));
        request.map_err(|error| nonsense(path, error.to_string()))
    }

    async fn ask_once(&self, method: &Method, path: &str, body: Option<Bytes>) -> Result<Vec<u8>, Trouble> {
        let (mut sender, connection) = self.shake().await?;
        let request = self.request(method, path, body)?;
        let asked = async {
            let response = sender.send_request(request).await.map_err(lost)?;
            let status = response.status();
            let answer = response.into_body().collect().await.map_err(lost)?.to_bytes();
            if status.is_success() { Ok(answer.into()) } else { Err(refusal(path, status, &answer).into()) }
        };
        // The connection only carries the question; whichever ends first tells how it went.
        tokio::select! {
            answer = asked => answer,
            Err(error) = connection => Err(lost(error)),
        }
    }
}

/// Sends a frame.
pub(crate) async fn send(socket: &mut Socket, frame: &ClientFrame) -> Result<(), SocketError> {
    // Only a map with keys that are no strings can fail, and the contract has none.
    let text = serde_json::to_string(frame).unwrap_or_default();
    socket.send(Message::text(text)).await
}

/// The next frame. One of a kind that is not known says nothing to us.
pub(crate) async fn next(socket: &mut Socket) -> Result<ServerFrame, SocketError> {
    loop {
        match socket.next().await.unwrap_or(Err(SocketError::ConnectionClosed))? {
            Message::Text(text) => {
                if let Ok(frame) = serde_json::from_str(&text) {
                    return Ok(frame);
                }
            }
            Message::Close(_) => return Err(SocketError::ConnectionClosed),
            _ => {}
        }
    }
}

/// A text as one part of an address.
pub(crate) fn segment(text: &str) -> String {
    utf8_percent_encode(text, PLAIN).to_string()
}

fn json(value: &impl Serialize) -> Bytes {
    serde_json::to_vec(value).unwrap_or_default().into()
}

fn read<T: DeserializeOwned>(path: &str, answer: &[u8]) -> Result<T, ClientError> {
    serde_json::from_slice(answer).map_err(|error| nonsense(path, error.to_string()))
}

pub(crate) fn nonsense(asked: &str, reason: String) -> ClientError {
    ClientError::Nonsense { asked: asked.to_owned(), reason }
}

/// What the end of a WebSocket means.
pub(crate) fn cut(error: SocketError) -> Trouble {
    match error {
        SocketError::Io(error) => Trouble::Lost(error),
        SocketError::Http(response) => {
            let body = response.body().clone().unwrap_or_default();
            Trouble::Final(refusal("/api/socket", response.status(), &body))
        }
        error => Trouble::Lost(io::Error::other(error)),
    }
}

fn lost(error: hyper::Error) -> Trouble {
    Trouble::Lost(io::Error::other(error))
}

/// Why the host did not do it, in the words that a host in this process would use.
fn refusal(path: &str, status: StatusCode, answer: &[u8]) -> ClientError {
    #[derive(serde::Deserialize)]
    struct Failure {
        error: Reason,
    }
    #[derive(serde::Deserialize)]
    struct Reason {
        code: String,
        reason: String,
    }
    let Ok(Failure { error: Reason { code, reason } }) = serde_json::from_slice(answer) else {
        return nonsense(path, format!("the status is {status}"));
    };
    match serde_json::from_value::<RejectionCode>(code.into()) {
        Ok(code) => Rejection { code, reason }.into(),
        Err(_) => ClientError::Failed(reason),
    }
}
