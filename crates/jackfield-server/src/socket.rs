//! A client's WebSocket: one task per connection, in which reading and writing wait for each other in nothing.
//!
//! What the frames say is the contract's business, what comes of a command the host's. The one rule it keeps: a
//! connection ends with a code that says why, and whatever it had is to be had again with a cursor.

#[cfg(test)]
mod autobahn;
mod dictation;
mod ending;
mod reading;
mod writing;

use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::ws::{Message, Utf8Bytes, WebSocket, WebSocketUpgrade};
use axum::extract::{Extension, State};
use axum::response::Response;
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt as _, StreamExt as _};
use jackfield_api::VERSION;
use jackfield_api::socket::{ClientFrame, ClientHello, RefusedFrame, ServerFrame, ServerHello};
use jackfield_host::Client;
use tokio::sync::mpsc;

use crate::access::Caller;
use crate::admission::Arrival;
use crate::refusal::Refusal;
use crate::router::Server;
use ending::Ending;

/// How large a client's frame may be. What is larger comes over `POST /api/commands`.
const FRAME: usize = 1024 * 1024;
/// How much is gathered before it is written.
const BATCH: usize = 64 * 1024;
/// How large what we send may be at most: more than any event can have. Nothing of this is kept in memory; a frame is
/// only taken when the one before it is written.
const LARGEST: usize = 256 * 1024 * 1024;
/// What a server says that is an editor.
const EDITOR: &str = "editor";
/// What a server says that may understand speech; whether it does now is at `GET /api/speech`.
const DICTATION: &str = "dictation";
/// How long a client has to say hello.
const HELLO: Duration = Duration::from_secs(10);
/// How long the other side has to take the end of a connection.
const FAREWELL: Duration = Duration::from_secs(2);

/// Takes a WebSocket.
#[utoipa::path(
    get, path = "/api/socket", tag = "socket",
    responses((status = 101, description = "A WebSocket; see `docs/protocol.md`"))
)]
pub(crate) async fn socket(
    State(server): State<Server>,
    Extension(arrival): Extension<Arrival>,
    Extension(caller): Extension<Caller>,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response, Refusal> {
    let upgrade =
        upgrade.map_err(|rejection| Refusal::new(rejection.status(), "invalid", rejection.body_text()))?;
    let connections = server.connections.clone();
    let response = bounded(upgrade, FRAME)
        .on_upgrade(move |socket| connections.track_future(attend(server, arrival, caller, socket)));
    Ok(response)
}

/// A WebSocket with limits, the largest message among them.
fn bounded(upgrade: WebSocketUpgrade, largest: usize) -> WebSocketUpgrade {
    upgrade
        .max_message_size(largest)
        .max_frame_size(largest)
        .read_buffer_size(4 * 1024)
        .write_buffer_size(BATCH)
        .max_write_buffer_size(LARGEST)
}

async fn attend(server: Server, arrival: Arrival, caller: Caller, socket: WebSocket) {
    let (mut sink, mut stream) = socket.split();
    let ending = tokio::select! {
        ending = converse(&server, &arrival, &caller, &mut sink, &mut stream) => ending,
        () = server.stopping.cancelled() => Ending::Restart,
        () = caller.over.cancelled() => Ending::LoggedOut,
    };
    // Also for who has not taken the last frames yet: the end stands behind them.
    let farewell = async {
        if let Some(close) = ending.frame() {
            sink.send(Message::Close(Some(close))).await?;
        }
        while stream.next().await.is_some_and(|message| message.is_ok()) {}
        Ok::<_, axum::Error>(())
    };
    let _ = tokio::time::timeout(FAREWELL, farewell).await;
}

type Sink = SplitSink<WebSocket, Message>;
type Stream = SplitStream<WebSocket>;

async fn converse(
    server: &Server,
    arrival: &Arrival,
    caller: &Caller,
    sink: &mut Sink,
    stream: &mut Stream,
) -> Ending {
    let hello = match greeted(server, arrival, caller, stream).await {
        Ok(hello) => hello,
        Err(ending) => {
            // The words are for whoever writes a client; the code says the same.
            let refused = RefusedFrame { reason: ending.reason().to_owned() };
            let _ = sink.send(text(&ServerFrame::Refused(refused))).await;
            return ending;
        }
    };
    arrival.admit();
    let client = Client::new(caller.name(&hello.client), caller.scope);
    let capabilities = [(EDITOR, server.editor.is_some()), (DICTATION, server.speech.speech.is_some())];
    let capabilities =
        capabilities.iter().filter(|(_, has)| *has).map(|(name, _)| (*name).to_owned()).collect();
    let answer = ServerHello {
        version: VERSION,
        server_version: env!("CARGO_PKG_VERSION").to_owned(),
        host_id: server.host.id().to_owned(),
        scope: caller.scope,
        capabilities,
    };
    if sink.send(text(&ServerFrame::Hello(answer))).await.is_err() {
        return Ending::Gone;
    }

    let (orders, taken) = mpsc::channel(ORDERS);
    let pulse = Pulse::default();
    tokio::select! {
        ending = reading::read(server, &client, stream, orders, &pulse) => ending,
        ending = writing::write(server, sink, taken, &pulse) => {
            if matches!(ending, Ending::TooSlow) {
                server.host.count_slow_reader();
            }
            ending
        }
    }
}

/// How many orders of the reading side may wait for the writing side.
const ORDERS: usize = 64;

async fn greeted(
    server: &Server,
    arrival: &Arrival,
    caller: &Caller,
    stream: &mut Stream,
) -> Result<ClientHello, Ending> {
    let first = async {
        loop {
            match stream.next().await {
                Some(Ok(Message::Text(text))) => return Ok(text),
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
                Some(Ok(Message::Binary(_))) => return Err(Ending::NoHello),
                Some(Ok(Message::Close(_)) | Err(_)) | None => return Err(Ending::Gone),
            }
        }
    };
    let text = tokio::time::timeout(HELLO, first).await.map_err(|_| Ending::HelloTooLate)??;
    let Ok(ClientFrame::Hello(hello)) = serde_json::from_str(&text) else { return Err(Ending::NoHello) };
    if hello.version != VERSION {
        return Err(Ending::OtherVersion);
    }
    if !server.access.has_key(arrival.door, caller, hello.key.as_deref()) {
        return Err(Ending::WrongKey);
    }
    Ok(hello)
}

/// What the reading side asks of the writing side.
#[derive(Debug)]
enum Order {
    /// Send this.
    Send(bytes::Bytes),
    /// Follow a session.
    Subscribe(jackfield_api::socket::Subscribe),
    /// Follow it no more.
    Unsubscribe(jackfield_api::SessionId),
    /// Follow the list of sessions.
    Watch,
}

/// Whether the other side still answers.
#[derive(Debug, Default)]
struct Pulse {
    unanswered: AtomicU8,
}

impl Pulse {
    /// Something came from it.
    fn felt(&self) {
        self.unanswered.store(0, Ordering::Relaxed);
    }

    /// It is asked once more; how often it was asked in vain.
    fn ask(&self) -> u8 {
        self.unanswered.fetch_add(1, Ordering::Relaxed)
    }
}

fn text(frame: &ServerFrame) -> Message {
    message(encode(frame))
}

fn encode(frame: &ServerFrame) -> bytes::Bytes {
    // Only a map with keys that are no strings can fail, and the contract has none.
    serde_json::to_vec(frame).unwrap_or_default().into()
}

fn message(frame: bytes::Bytes) -> Message {
    // JSON of ours is text.
    Utf8Bytes::try_from(frame).map_or_else(|_| Message::Text(Utf8Bytes::default()), Message::Text)
}
