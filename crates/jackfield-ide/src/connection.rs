//! One CLI that is connected: frames of a WebSocket on one side, messages of the protocol on the other.
//!
//! What the messages ask for is the handler's business. The one rule it keeps: a frame that is no message is answered
//! with an error and ends nothing; the end of the connection ends everything that was asked over it.

use std::future::ready;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use axum::extract::ws::{CloseFrame, Message, WebSocket, close_code};
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt as _, StreamExt as _};
use jackfield_workbench::ToolServer;
use rmcp::RoleServer;
use rmcp::model::{
    ClientJsonRpcMessage, CustomNotification, ErrorData, JsonRpcMessage, RequestId, ServerJsonRpcMessage,
    ServerResult,
};
use rmcp::service::{Peer, serve_directly_with_ct};
use rmcp::transport::Transport;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::handler::Handler;
use crate::notices::Notices;

/// How many messages may wait to be written.
const WAITING: usize = 64;
/// How often the other side is asked whether it is there.
const PULSE: Duration = Duration::from_secs(30);
/// How often it may be asked in vain.
const MISSED: u8 = 2;
/// How long the other side has to take the end of a connection.
const FAREWELL: Duration = Duration::from_secs(2);

/// Serves a connection until either side ends it.
pub(crate) async fn attend(
    socket: WebSocket,
    handler: Handler,
    notices: Notices,
    stopping: CancellationToken,
) {
    let gone = handler.gone.clone();
    let _ending = gone.clone().drop_guard();
    let (mut sink, stream) = socket.split();
    let (out, mut waiting) = mpsc::channel(WAITING);
    let pulse = Arc::new(AtomicU8::new(0));
    let listening = CancellationToken::new();
    let wire =
        Wire { stream, out, gone: gone.clone(), listening: listening.clone(), pulse: Arc::clone(&pulse) };
    // The handshake is a request like any other: a client that asks in another order is answered all the same.
    let service = serve_directly_with_ct(ToolServer(handler), wire, None, gone.clone());
    let peer = service.peer().clone();
    tokio::select! {
        () = write(&mut sink, &mut waiting, &pulse) => {}
        () = tell(&peer, &notices, &listening) => {}
        () = gone.cancelled() => {}
        () = stopping.cancelled() => {}
    }
    gone.cancel();
    drop(waiting);
    let close = CloseFrame { code: close_code::AWAY, reason: "".into() };
    let farewell = async {
        let _ = sink.send(Message::Close(Some(close))).await;
        let _ = service.waiting().await;
    };
    let _ = tokio::time::timeout(FAREWELL, farewell).await;
}

/// Tells the CLI what happens in the editor, as soon as it listens.
async fn tell(peer: &Peer<RoleServer>, notices: &Notices, listening: &CancellationToken) {
    listening.cancelled().await;
    let mut listener = notices.listen();
    while let Some(notice) = listener.next().await {
        let notification = CustomNotification::new(notice.method, Some(notice.params));
        if peer.send_notification(notification.into()).await.is_err() {
            return;
        }
    }
}

/// Writes what waits, and asks whether the other side is there.
async fn write(
    sink: &mut SplitSink<WebSocket, Message>,
    waiting: &mut mpsc::Receiver<Message>,
    pulse: &AtomicU8,
) {
    let mut beat = tokio::time::interval_at(tokio::time::Instant::now() + PULSE, PULSE);
    loop {
        let message = tokio::select! {
            message = waiting.recv() => match message {
                Some(message) => message,
                None => return,
            },
            _ = beat.tick() => {
                if pulse.fetch_add(1, Ordering::Relaxed) >= MISSED {
                    return;
                }
                Message::Ping(Vec::new().into())
            }
        };
        if sink.send(message).await.is_err() {
            return;
        }
    }
}

/// The WebSocket as `rmcp` wants it.
struct Wire {
    stream: SplitStream<WebSocket>,
    out: mpsc::Sender<Message>,
    gone: CancellationToken,
    listening: CancellationToken,
    pulse: Arc<AtomicU8>,
}

impl Transport<RoleServer> for Wire {
    type Error = io::Error;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let is_tools = matches!(&message, JsonRpcMessage::Response(response)
            if matches!(response.result, ServerResult::ListToolsResult(_)));
        let (out, listening) = (self.out.clone(), self.listening.clone());
        async move {
            let text = serde_json::to_string(&message)?;
            out.send(Message::Text(text.into())).await.map_err(|_| io::ErrorKind::BrokenPipe)?;
            // What is told before this answer is lost on the CLI, so it stands behind it in the same queue.
            if is_tools {
                listening.cancel();
            }
            Ok(())
        }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            let Some(Ok(message)) = self.stream.next().await else { break };
            self.pulse.store(0, Ordering::Relaxed);
            let refused = match message {
                Message::Text(text) => match serde_json::from_str(&text) {
                    Ok(message) => return Some(message),
                    Err(error) => refusal(&text, &error),
                },
                Message::Binary(_) => {
                    let error = ErrorData::parse_error("a message is text, and this is binary", None);
                    Some(ServerJsonRpcMessage::error(error, None))
                }
                Message::Ping(_) | Message::Pong(_) => None,
                Message::Close(_) => break,
            };
            let Some(text) = refused.and_then(|refused| serde_json::to_string(&refused).ok()) else {
                continue;
            };
            if self.out.try_send(Message::Text(text.into())).is_err() {
                // It asks nonsense, faster than it reads the answers.
                break;
            }
        }
        self.gone.cancel();
        None
    }

    fn close(&mut self) -> impl Future<Output = Result<(), Self::Error>> + Send {
        ready(Ok(()))
    }
}

/// What a text is answered with that is no message of the protocol; nothing, if it wants no answer.
fn refusal(text: &str, error: &serde_json::Error) -> Option<ServerJsonRpcMessage> {
    let Ok(value) = serde_json::from_str::<Value>(text) else {
        let error = ErrorData::parse_error(format!("this is no JSON: {error}"), None);
        return Some(ServerJsonRpcMessage::error(error, None));
    };
    let id = value.get("id").and_then(|id| serde_json::from_value::<RequestId>(id.clone()).ok());
    if id.is_none() && value.get("method").is_some() {
        return None;
    }
    let error = ErrorData::invalid_request(format!("this is no message of the protocol: {error}"), None);
    Some(ServerJsonRpcMessage::error(error, id))
}
