//! A host with its server in a private place, and clients that talk to it over real sockets.
//!
//! The one rule it keeps: nothing of this process is in the environment of what it starts.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use jackfield_api::command::{Agent, Command, Content, CreateSession, Prompt, Rejection, Reply};
use jackfield_api::session::Priority;
use jackfield_api::snapshot::Snapshot;
use jackfield_api::socket::{
    ClientFrame, ClientHello, GivenCommand, ServerFrame, ServerHello, Subscribe, Unsubscribe, Watch,
};
use jackfield_api::{Body, Event, Seq, SessionId, VERSION};
use jackfield_core::Transcript;
use jackfield_host::{Host, Settings};
use jackfield_server::{Listen, Serving, serve};
use tempfile::TempDir;
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::http::{HeaderName, HeaderValue};
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{WebSocketStream, client_async_with_config};

/// What hangs must not hang the tests.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);

pub(crate) struct Stage {
    pub(crate) folder: TempDir,
    pub(crate) settings: Settings,
    pub(crate) host: Host,
    pub(crate) address: SocketAddr,
    pub(crate) token: String,
    pub(crate) serving: Option<Serving>,
    listen: Listen,
}

impl Stage {
    /// With the demo agent, which plays as fast as it can.
    pub(crate) async fn new() -> Self {
        Self::listening(|_| {}).await
    }

    /// The same, listening otherwise.
    pub(crate) async fn listening(change: impl FnOnce(&mut Listen)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut settings = Settings::new(folder.path().join("data"));
        settings.locks = Some(folder.path().join("locks"));
        settings.variables = std::env::vars_os().map(|(name, _)| (name, None)).collect();
        settings.variables.push(("JACKFIELD_DEMO_SPEED".into(), Some("0".into())));
        let own = |command: &str| vec![program().into_os_string(), OsString::from(command)];
        settings.guard = Some(own("guard"));
        settings.demo = Some(own("demo-agent"));
        let mut listen = Listen::new("127.0.0.1:0".parse().unwrap(), &settings.data);
        change(&mut listen);
        Self::begin(folder, settings, listen).await
    }

    pub(crate) async fn with(folder: TempDir, settings: Settings) -> Self {
        let listen = Listen::new("127.0.0.1:0".parse().unwrap(), &settings.data);
        Self::begin(folder, settings, listen).await
    }

    async fn begin(folder: TempDir, settings: Settings, listen: Listen) -> Self {
        let (host, serving) = begun(&settings, &listen).await;
        let token = std::fs::read_to_string(settings.data.join("token")).unwrap().trim().to_owned();
        Self { folder, host, address: serving.address(), token, settings, serving: Some(serving), listen }
    }

    /// Ends server and host in order, and begins again on the same folder and another port.
    pub(crate) async fn restart(&mut self) {
        self.serving.take().unwrap().stop().await;
        self.host.close().await;
        let (host, serving) = begun(&self.settings, &self.listen).await;
        self.host = host;
        self.address = serving.address();
        self.serving = Some(serving);
    }

    pub(crate) async fn end(mut self) {
        self.serving.take().unwrap().stop().await;
        self.host.close().await;
    }

    pub(crate) fn serving(&self) -> &Serving {
        self.serving.as_ref().unwrap()
    }

    /// A ticket that was not used yet.
    pub(crate) fn ticket(&self) -> String {
        self.serving().link().unwrap().split_once("#ticket=").unwrap().1.to_owned()
    }

    /// A program's connection that has said hello.
    pub(crate) async fn client(&self, name: &str) -> Socket {
        let mut socket = self.connect(&[("authorization", &format!("Bearer {}", self.token))]).await.unwrap();
        socket.greet(name, None).await;
        socket
    }

    /// A connection that has said nothing yet.
    pub(crate) async fn connect(&self, headers: &[(&'static str, &str)]) -> Result<Socket, Error> {
        self.connect_with(TcpSocket::new_v4().unwrap(), headers).await
    }

    pub(crate) async fn connect_with(
        &self,
        socket: TcpSocket,
        headers: &[(&'static str, &str)],
    ) -> Result<Socket, Error> {
        let mut request = format!("ws://{}/api/socket", self.address).into_client_request().unwrap();
        for (name, value) in headers {
            let (name, value) = (HeaderName::from_static(name), HeaderValue::from_str(value).unwrap());
            request.headers_mut().insert(name, value);
        }
        let stream = socket.connect(self.address).await.unwrap();
        let whole = WebSocketConfig::default().max_message_size(None).max_frame_size(None);
        let (socket, _) = client_async_with_config(request, stream, Some(whole)).await?;
        Ok(Socket { socket, hello: None, closed: None })
    }

    pub(crate) fn create(&self) -> CreateSession {
        let cwd = self.folder.path().to_string_lossy().into_owned();
        CreateSession { agent: Some(Agent::Demo), ..CreateSession::new(cwd) }
    }
}

async fn begun(settings: &Settings, listen: &Listen) -> (Host, Serving) {
    let host = Host::open(settings.clone()).await.unwrap();
    let serving = serve(host.clone(), listen.clone()).await.unwrap();
    (host, serving)
}

/// The program `jackfield`, beside the test that runs.
pub(crate) fn program() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let program = test.ancestors().nth(2).unwrap().join("jackfield");
    assert!(program.is_file(), "no {}: run `cargo build -p jackfield`", program.display());
    program
}

/// The client's side of a WebSocket.
pub(crate) struct Socket {
    socket: WebSocketStream<TcpStream>,
    pub(crate) hello: Option<ServerHello>,
    pub(crate) closed: Option<CloseFrame>,
}

impl Socket {
    pub(crate) async fn greet(&mut self, name: &str, key: Option<String>) {
        let hello = ClientHello { version: VERSION, client: name.to_owned(), key };
        self.send(&ClientFrame::Hello(hello)).await;
        let Some(ServerFrame::Hello(hello)) = self.next().await else {
            panic!("no hello: {:?}", self.closed)
        };
        self.hello = Some(hello);
    }

    pub(crate) async fn send(&mut self, frame: &ClientFrame) {
        self.send_text(serde_json::to_string(frame).unwrap()).await;
    }

    pub(crate) async fn send_text(&mut self, text: impl Into<String>) {
        self.send_message(Message::text(text.into())).await;
    }

    pub(crate) async fn send_message(&mut self, message: Message) {
        self.try_send(message).await.unwrap();
    }

    pub(crate) async fn try_send(&mut self, message: Message) -> Result<(), Error> {
        timeout(PATIENCE, self.socket.send(message)).await.unwrap()
    }

    /// The next frame; `None` at the end.
    pub(crate) async fn next(&mut self) -> Option<ServerFrame> {
        loop {
            match timeout(PATIENCE, self.socket.next()).await.unwrap()? {
                Ok(Message::Text(text)) => return Some(serde_json::from_str(&text).unwrap()),
                Ok(Message::Close(frame)) => self.closed = frame,
                Ok(_) => {}
                Err(_) => return None,
            }
        }
    }

    /// The code with which the server ends the connection.
    pub(crate) async fn end(&mut self) -> Option<u16> {
        while self.next().await.is_some() {}
        self.closed.as_ref().map(|frame| frame.code.into())
    }

    /// The next frame that is so; the others are let go.
    pub(crate) async fn until<T>(&mut self, mut found: impl FnMut(ServerFrame) -> Option<T>) -> T {
        loop {
            let frame = self.next().await.unwrap_or_else(|| panic!("it ended: {:?}", self.closed));
            if let Some(found) = found(frame) {
                return found;
            }
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

    /// The answer to a command; frames before it are let go.
    pub(crate) async fn answer(&mut self, wanted: &str) -> Result<Reply, Rejection> {
        self.until(|frame| match frame {
            ServerFrame::Accepted(accepted) if accepted.id == wanted => Some(Ok(accepted.reply)),
            ServerFrame::Rejected(rejected) if rejected.id == wanted => Some(Err(rejected.rejection)),
            _ => None,
        })
        .await
    }

    pub(crate) async fn create(&mut self, stage: &Stage) -> SessionId {
        match self.give(None, stage.create()).await.unwrap() {
            Reply::Created(created) => created.session_id,
            other => panic!("not created: {other:?}"),
        }
    }

    pub(crate) async fn watch(&mut self) {
        self.send(&ClientFrame::Watch(Watch {})).await;
    }

    pub(crate) async fn unsubscribe(&mut self, session_id: &SessionId) {
        self.send(&ClientFrame::Unsubscribe(Unsubscribe { session_id: session_id.clone() })).await;
    }

    pub(crate) async fn subscribe(&mut self, session_id: &SessionId, after: Option<Seq>) {
        self.send(&ClientFrame::Subscribe(Subscribe { session_id: session_id.clone(), after })).await;
    }

    /// Follows a session by this connection alone.
    pub(crate) async fn follow(mut self, session_id: &SessionId, after: Option<Seq>) -> Follower {
        self.subscribe(session_id, after).await;
        Follower {
            socket: self,
            cursor: after,
            begun: None,
            events: Vec::new(),
            read: 0,
            answers: Vec::new(),
        }
    }
}

/// A client of one session that keeps what it was sent, and checks that nothing is missing or doubled.
pub(crate) struct Follower {
    pub(crate) socket: Socket,
    cursor: Option<Seq>,
    pub(crate) begun: Option<Snapshot>,
    pub(crate) events: Vec<Event>,
    read: usize,
    pub(crate) answers: Vec<(String, Result<Reply, Rejection>)>,
}

impl Follower {
    /// The last event that it has.
    pub(crate) fn last(&self) -> Seq {
        self.cursor.unwrap_or_default()
    }

    /// The next frame, taken into account; `false` at the end.
    pub(crate) async fn step(&mut self) -> bool {
        match self.socket.next().await {
            None => return false,
            Some(ServerFrame::Snapshot(sent)) => {
                self.cursor = Some(sent.snapshot.seq);
                self.begun = Some(sent.snapshot);
                self.events.clear();
                self.read = 0;
            }
            Some(ServerFrame::Events(sent)) => {
                for event in sent.events {
                    assert_eq!(event.seq.0, self.last().0 + 1, "a hole or a double");
                    self.cursor = Some(event.seq);
                    self.events.push(event);
                }
            }
            Some(ServerFrame::Current(current)) => assert_eq!(current.seq, self.last()),
            Some(ServerFrame::Accepted(accepted)) => self.answers.push((accepted.id, Ok(accepted.reply))),
            Some(ServerFrame::Rejected(rejected)) => {
                self.answers.push((rejected.id, Err(rejected.rejection)));
            }
            Some(_) => {}
        }
        true
    }

    /// The next event that is so.
    pub(crate) async fn until(&mut self, found: impl Fn(&Body) -> bool) -> Event {
        loop {
            while let Some(event) = self.events.get(self.read) {
                self.read += 1;
                if found(&event.body) {
                    return event.clone();
                }
            }
            assert!(self.step().await, "it ended: {:?}", self.socket.closed);
        }
    }

    pub(crate) async fn completed(&mut self) -> Event {
        self.until(|body| matches!(body, Body::Complete(_))).await
    }

    pub(crate) async fn asked(&mut self) -> jackfield_api::PendingId {
        let event = self.until(|body| matches!(body, Body::PermissionRequest(_))).await;
        let Body::PermissionRequest(request) = event.body else { panic!() };
        request.pending_id
    }

    pub(crate) async fn reach(&mut self, seq: Seq) {
        while self.last() < seq {
            assert!(self.step().await, "it ended at {}: {:?}", self.last(), self.socket.closed);
        }
    }

    /// Gives a command; its answer and whatever comes before it are taken into account.
    pub(crate) async fn give(
        &mut self,
        session_id: &SessionId,
        command: impl Into<Command>,
    ) -> Result<Reply, Rejection> {
        let given = given(Some(session_id), command);
        self.socket.send(&ClientFrame::Command(Box::new(given.clone()))).await;
        loop {
            if let Some((_, answer)) = self.answers.iter().find(|(id, _)| *id == given.id) {
                return answer.clone();
            }
            assert!(self.step().await, "it ended: {:?}", self.socket.closed);
        }
    }

    /// What a front end would show now.
    pub(crate) fn transcript(&self) -> Snapshot {
        let mut transcript = Transcript::from_snapshot(self.begun.clone().unwrap_or_default());
        for event in &self.events {
            transcript.apply(event);
        }
        transcript.snapshot().clone()
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
