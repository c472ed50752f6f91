//! A client of the server: a WebSocket, and the log of all that it was told.
//!
//! The one rule it keeps: an event that does not come right behind the last one fails the test at once.

use std::collections::BTreeMap;
use std::path::Path;

use futures_util::{SinkExt as _, StreamExt as _};
use jackfield_api::command::{Command, Content, Prompt, Rejection, Reply};
use jackfield_api::session::Priority;
use jackfield_api::socket::{ClientFrame, ClientHello, GivenCommand, ServerFrame, Subscribe, Watch};
use jackfield_api::{Body, Event, PendingId, Seq, SessionId, VERSION};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::http::HeaderValue;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::{WebSocketStream, client_async_with_config};

use super::server::PATIENCE;

/// Whatever leads to the server.
pub(crate) trait Way: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> Way for T {}

/// What a client was told of each session.
pub(crate) type Log = BTreeMap<SessionId, Vec<Event>>;

/// The client's side of a WebSocket.
pub(crate) struct Socket {
    stream: WebSocketStream<Box<dyn Way>>,
    /// Everything from the first event on, over all connections.
    pub(crate) log: Log,
    pub(crate) answers: BTreeMap<String, Result<Reply, Rejection>>,
    pub(crate) closed: Option<u16>,
    /// Where the log of a session begins, if it is not at its first event.
    begun: BTreeMap<SessionId, Seq>,
    read: BTreeMap<SessionId, Seq>,
}

impl Socket {
    /// Over the Unix socket.
    pub(crate) async fn local(data: &Path) -> Self {
        let way = UnixStream::connect(data.join("host.sock")).await.unwrap();
        Self::over(Box::new(way), "ws://jackfield/api/socket", None).await
    }

    /// Over TCP, with the token.
    pub(crate) async fn network(way: TcpStream, token: &str) -> Self {
        let address = format!("ws://{}/api/socket", way.peer_addr().unwrap());
        Self::over(Box::new(way), &address, Some(token)).await
    }

    /// Over TCP through something else than the server itself.
    pub(crate) async fn network_as(way: TcpStream, host: std::net::SocketAddr, token: &str) -> Self {
        Self::over(Box::new(way), &format!("ws://{host}/api/socket"), Some(token)).await
    }

    async fn over(way: Box<dyn Way>, address: &str, token: Option<&str>) -> Self {
        let mut request = address.into_client_request().unwrap();
        if let Some(token) = token {
            let value = HeaderValue::from_str(&format!("Bearer {token}")).unwrap();
            request.headers_mut().insert("authorization", value);
        }
        let whole = WebSocketConfig::default().max_message_size(None).max_frame_size(None);
        let (stream, _) =
            timeout(PATIENCE, client_async_with_config(request, way, Some(whole))).await.unwrap().unwrap();
        Self {
            stream,
            log: Log::new(),
            answers: BTreeMap::new(),
            closed: None,
            begun: BTreeMap::new(),
            read: BTreeMap::new(),
        }
    }

    pub(crate) async fn greet(&mut self, name: &str) {
        let hello = ClientHello { version: VERSION, client: name.to_owned(), key: None };
        self.send(&ClientFrame::Hello(hello)).await;
        assert!(matches!(self.step().await, Some(ServerFrame::Hello(_))), "no hello");
    }

    pub(crate) async fn send(&mut self, frame: &ClientFrame) {
        let text = serde_json::to_string(frame).unwrap();
        // A connection that is gone is found by whoever reads.
        let _ = timeout(PATIENCE, self.stream.send(Message::text(text))).await.unwrap();
    }

    pub(crate) async fn send_text(&mut self, text: String) {
        let _ = timeout(PATIENCE, self.stream.send(Message::text(text))).await.unwrap();
    }

    pub(crate) async fn watch(&mut self) {
        self.send(&ClientFrame::Watch(Watch {})).await;
    }

    /// Follows a session behind the last event in the log, from the first on if there is none.
    pub(crate) async fn follow(&mut self, session_id: &SessionId) {
        let after = Some(self.last(session_id));
        self.send(&ClientFrame::Subscribe(Subscribe { session_id: session_id.clone(), after })).await;
    }

    pub(crate) fn last(&self, session_id: &SessionId) -> Seq {
        let begun = self.begun.get(session_id).copied().unwrap_or_default();
        self.log.get(session_id).and_then(|events| events.last()).map_or(begun, |event| event.seq)
    }

    pub(crate) fn events(&self, session_id: &SessionId) -> &[Event] {
        self.log.get(session_id).map_or(&[], Vec::as_slice)
    }

    /// The next frame, taken into the log; `None` at the end.
    pub(crate) async fn step(&mut self) -> Option<ServerFrame> {
        loop {
            let message = timeout(PATIENCE, self.stream.next()).await.expect("the server says something");
            let frame = match message? {
                Ok(Message::Text(text)) => serde_json::from_str(&text).unwrap(),
                Ok(Message::Close(frame)) => {
                    self.closed = frame.map(|frame| frame.code.into());
                    continue;
                }
                Ok(_) => continue,
                Err(_) => return None,
            };
            self.take(&frame);
            return Some(frame);
        }
    }

    fn take(&mut self, frame: &ServerFrame) {
        match frame {
            ServerFrame::Events(sent) => {
                for event in &sent.events {
                    assert_eq!(event.seq.0, self.last(&sent.session_id).0 + 1, "a hole or a double");
                    assert_eq!(event.session_id, sent.session_id);
                    self.log.entry(sent.session_id.clone()).or_default().push(event.clone());
                }
            }
            ServerFrame::Snapshot(sent) => {
                self.log.remove(&sent.session_id);
                self.begun.insert(sent.session_id.clone(), sent.snapshot.seq);
            }
            ServerFrame::Current(current) => assert_eq!(current.seq, self.last(&current.session_id)),
            ServerFrame::Accepted(accepted) => {
                self.answers.insert(accepted.id.clone(), Ok(accepted.reply.clone()));
            }
            ServerFrame::Rejected(rejected) => {
                self.answers.insert(rejected.id.clone(), Err(rejected.rejection.clone()));
            }
            _ => {}
        }
    }

    pub(crate) async fn give(
        &mut self,
        session_id: Option<&SessionId>,
        command: impl Into<Command>,
    ) -> Result<Reply, Rejection> {
        let given = given(session_id, command);
        self.send(&ClientFrame::Command(Box::new(given.clone()))).await;
        self.answer(&given.id).await
    }

    /// The answer to a command.
    pub(crate) async fn answer(&mut self, id: &str) -> Result<Reply, Rejection> {
        loop {
            if let Some(answer) = self.answers.get(id) {
                return answer.clone();
            }
            assert!(self.step().await.is_some(), "it ended: {:?}", self.closed);
        }
    }

    pub(crate) async fn create(&mut self, create: jackfield_api::command::CreateSession) -> SessionId {
        match self.give(None, create).await.unwrap() {
            Reply::Created(created) => created.session_id,
            other => panic!("not created: {other:?}"),
        }
    }

    /// The next event of a session that is so, of those that were not looked at before.
    pub(crate) async fn until(&mut self, session_id: &SessionId, found: impl Fn(&Body) -> bool) -> Event {
        loop {
            let read = self.read.entry(session_id.clone()).or_default();
            let events = self.log.get(session_id).map_or(&[][..], Vec::as_slice);
            let new = &events[events.partition_point(|event| event.seq <= *read)..];
            if let Some(event) = new.iter().find(|event| found(&event.body)) {
                *read = event.seq;
                return event.clone();
            }
            *read = new.last().map_or(*read, |event| event.seq);
            let tail: Vec<_> = events.iter().rev().take(8).map(|event| event.body.tag()).collect();
            assert!(self.step().await.is_some(), "it ended ({:?}) behind {tail:?}", self.closed);
        }
    }

    /// Looks at no event up to this one.
    pub(crate) fn skip(&mut self, session_id: &SessionId, upto: Seq) {
        self.read.insert(session_id.clone(), upto);
    }

    pub(crate) async fn completed(&mut self, session_id: &SessionId) -> Event {
        self.until(session_id, |body| matches!(body, Body::Complete(_))).await
    }

    pub(crate) async fn asked(&mut self, session_id: &SessionId) -> PendingId {
        let asked = self.until(session_id, |body| matches!(body, Body::PermissionRequest(_))).await;
        let Body::PermissionRequest(request) = asked.body else { unreachable!() };
        request.pending_id
    }

    /// Reads up to an event.
    pub(crate) async fn reach(&mut self, session_id: &SessionId, seq: Seq) {
        while self.last(session_id) < seq {
            assert!(self.step().await.is_some(), "it ended: {:?}", self.closed);
        }
    }

    /// The code with which the connection ends.
    pub(crate) async fn end(&mut self) -> Option<u16> {
        while self.step().await.is_some() {}
        self.closed
    }
}

pub(crate) fn given(session_id: Option<&SessionId>, command: impl Into<Command>) -> GivenCommand {
    GivenCommand {
        id: new_id(),
        session_id: session_id.cloned(),
        command: command.into(),
        traceparent: None,
        tracestate: None,
    }
}

pub(crate) fn prompt(text: &str) -> Prompt {
    let content = vec![Content::Text { text: text.to_owned() }];
    Prompt { uuid: new_id().into(), content, priority: Priority::Next }
}

pub(crate) fn new_id() -> String {
    uuid::Uuid::new_v4().to_string()
}

/// All events of a session as the host has them, read from the first on.
pub(crate) async fn stored(data: &Path, session_id: &SessionId) -> Vec<Event> {
    let host = jackfield_client::Client::running(data, "reader").await.unwrap().expect("a host runs");
    let mut events: Vec<Event> = Vec::new();
    loop {
        let after = events.last().map_or(Seq(0), |event| event.seq);
        let more = host.events(session_id, after).await.unwrap();
        if more.is_empty() {
            return events;
        }
        events.extend(more);
    }
}
