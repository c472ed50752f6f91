//! A client of the chaos run: it follows every session, says and answers things at random, and keeps all that it was
//! told and all that it said.
//!
//! It judges nothing but the order of what it is told. The one rule it keeps: a command that was not answered is
//! repeated under its name until it is.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use jackfield_api::command::{Allow, Answer, Close, Command, Content, Deny, Interrupt, Prompt, Verdict};
use jackfield_api::command::{Rejection, RejectionCode};
use jackfield_api::permission::PermissionRequest;
use jackfield_api::session::Priority;
use jackfield_api::socket::{ClientFrame, ClientHello, GivenCommand, ServerFrame, Subscribe, Watch};
use jackfield_api::{Body, Event, Seq, SessionId, ToolCallId, VERSION};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};
use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::http::HeaderValue;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::{WebSocketStream, client_async_with_config};

use super::dice::Dice;
use super::stage::PATIENCE;
use super::violation::{Checked, Violation, cannot, holds};

/// What a client must know to find its server.
#[derive(Debug, Clone)]
pub(super) struct View {
    pub(super) data: PathBuf,
    /// Where the server listens, while it does.
    pub(super) address: watch::Receiver<Option<SocketAddr>>,
    pub(super) sessions: Vec<SessionId>,
    pub(super) prompts: &'static [&'static str],
    /// The disk is full at the moment, or was just now.
    pub(super) full: Arc<AtomicBool>,
}

/// A client, over all its connections.
#[derive(Debug)]
pub(super) struct Client {
    pub(super) name: &'static str,
    way: Way,
    dice: Dice,
    pub(super) told: BTreeMap<SessionId, Told>,
    pub(super) given: Vec<Given>,
    /// Calls that it has allowed, whatever became of that.
    pub(super) allowed: BTreeSet<(SessionId, ToolCallId)>,
    /// How often it was connected.
    pub(super) connections: u64,
}

/// How a client reaches the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    Local,
    Network,
}

/// What a client was told of a session.
#[derive(Debug, Default)]
pub(super) struct Told {
    /// Up to here it was compared, and let go.
    pub(super) compared: Seq,
    pub(super) events: Vec<Event>,
}

/// A command that was given.
#[derive(Debug)]
pub(super) struct Given {
    pub(super) command: GivenCommand,
    pub(super) answer: Option<Result<(), RejectionCode>>,
    /// It was answered while nothing could be stored.
    pub(super) unstored: bool,
}

trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> Stream for T {}
type Socket = WebSocketStream<Box<dyn Stream>>;

/// What a client does next.
enum Act {
    Stay,
    /// The connection is cut.
    Cut,
    /// It reads nothing for so long, and holds its connection.
    Freeze(Duration),
}

impl Told {
    pub(super) fn last(&self) -> Seq {
        self.events.last().map_or(self.compared, |event| event.seq)
    }
}

impl Client {
    pub(super) fn new(name: &'static str, way: Way, dice: Dice) -> Self {
        let (told, given, allowed) = (BTreeMap::new(), Vec::new(), BTreeSet::new());
        Self { name, way, dice, told, given, allowed, connections: 0 }
    }

    /// Does what it likes until a moment.
    pub(super) async fn play(&mut self, view: &View, until: Instant) -> Checked {
        while Instant::now() < until {
            match timeout(Duration::from_secs(5), self.connect(view)).await {
                Ok(Ok(socket)) => self.stay(socket, view, until).await?,
                // There is no server just now.
                _ => sleep(Duration::from_millis(50)).await,
            }
        }
        Ok(())
    }

    /// Gets the answers to all that it has said.
    pub(super) async fn hear(&mut self, view: &View) -> Checked {
        let hearing = async {
            let mut socket = self.connect(view).await.map_err(cannot("come back"))?;
            while self.given.iter().any(|given| given.answer.is_none()) {
                self.step(&mut socket, view).await?;
            }
            Ok(())
        };
        let heard = timeout(PATIENCE, hearing).await;
        let open = || self.given.iter().filter(|given| given.answer.is_none()).count();
        heard
            .unwrap_or_else(|_| Err(Violation::new("commands get no answer")))
            .map_err(|violation| violation.of(format!("{} with {} open commands", self.name, open())))
    }

    /// Reads until it has all events up to these.
    pub(super) async fn reach(&mut self, view: &View, ends: &BTreeMap<SessionId, Seq>) -> Checked {
        let reaching = async {
            let mut socket = self.connect(view).await.map_err(cannot("come back"))?;
            while ends.iter().any(|(id, end)| self.last(id) < *end) {
                self.step(&mut socket, view).await?;
            }
            Ok(())
        };
        let reached = timeout(PATIENCE, reaching).await;
        reached
            .unwrap_or_else(|_| Err(Violation::new("events do not come")))
            .map_err(|violation| violation.of(self.name))
    }

    fn last(&self, id: &SessionId) -> Seq {
        self.told.get(id).map(Told::last).unwrap_or_default()
    }

    async fn connect(&mut self, view: &View) -> io::Result<Socket> {
        let (stream, address, token): (Box<dyn Stream>, _, _) = match self.way {
            Way::Local => {
                let stream = UnixStream::connect(view.data.join("host.sock")).await?;
                (Box::new(stream), "jackfield".to_owned(), None)
            }
            Way::Network => {
                let address = *view.address.borrow();
                let address = address.ok_or(io::ErrorKind::NotConnected)?;
                let token = std::fs::read_to_string(view.data.join("token"))?;
                (Box::new(TcpStream::connect(address).await?), address.to_string(), Some(token))
            }
        };
        let request = format!("ws://{address}/api/socket").into_client_request();
        let mut request = request.map_err(io::Error::other)?;
        if let Some(token) = token {
            let value = HeaderValue::from_str(&format!("Bearer {}", token.trim()));
            request.headers_mut().insert("authorization", value.map_err(io::Error::other)?);
        }
        let whole = WebSocketConfig::default().max_message_size(None).max_frame_size(None);
        let (mut socket, _) =
            client_async_with_config(request, stream, Some(whole)).await.map_err(io::Error::other)?;
        let hello = ClientHello { version: VERSION, client: self.name.to_owned(), key: None };
        say(&mut socket, &ClientFrame::Hello(hello)).await?;
        say(&mut socket, &ClientFrame::Watch(Watch {})).await?;
        for session_id in &view.sessions {
            let after = Some(self.last(session_id));
            let subscribe = Subscribe { session_id: session_id.clone(), after };
            say(&mut socket, &ClientFrame::Subscribe(subscribe)).await?;
        }
        let open = self.given.iter().filter(|given| given.answer.is_none());
        for given in open.map(|given| given.command.clone()).collect::<Vec<_>>() {
            say(&mut socket, &ClientFrame::Command(Box::new(given))).await?;
        }
        self.connections += 1;
        Ok(socket)
    }

    /// One connection, to its end.
    async fn stay(&mut self, mut socket: Socket, view: &View, until: Instant) -> Checked {
        let mut next = Instant::now() + self.dice.time(20, 2_000);
        loop {
            let message = tokio::select! {
                message = socket.next() => Some(message),
                () = sleep_until(next.min(until)) => None,
            };
            if Instant::now() >= until {
                return Ok(());
            }
            match message {
                Some(Some(Ok(Message::Text(text)))) => {
                    for (session, request) in self.take(&text, view)? {
                        if let Some(answer) = self.answer(&session, &request) {
                            self.give(&mut socket, Some(&session), answer).await;
                        }
                    }
                }
                Some(Some(Ok(_))) => {}
                Some(Some(Err(_)) | None) => return Ok(()),
                None => {
                    next = Instant::now() + self.dice.time(20, 2_000);
                    match self.act(&mut socket, view).await {
                        Act::Stay => {}
                        Act::Cut => return Ok(()),
                        Act::Freeze(time) => sleep_until((Instant::now() + time).min(until)).await,
                    }
                }
            }
        }
    }

    async fn act(&mut self, socket: &mut Socket, view: &View) -> Act {
        let Some(session) = self.dice.of(&view.sessions).cloned() else { return Act::Stay };
        match self.dice.below(20) {
            0 => return Act::Cut,
            1 => return Act::Freeze(self.dice.time(500, 20_000)),
            2 => self.give(socket, Some(&session), Interrupt {}).await,
            3 => self.give(socket, Some(&session), Close {}).await,
            // Some that wait for the turn that runs.
            4 => {
                for _ in 0..3 {
                    self.prompt(socket, &session, view).await;
                }
            }
            _ => self.prompt(socket, &session, view).await,
        }
        Act::Stay
    }

    async fn prompt(&mut self, socket: &mut Socket, session: &SessionId, view: &View) {
        let word = self.dice.of(view.prompts).copied().unwrap_or("TALK");
        let content = vec![Content::Text { text: format!("please {word}, says {}", self.name) }];
        let priority =
            *self.dice.of(&[Priority::Next, Priority::Next, Priority::Later]).unwrap_or(&Priority::Next);
        let prompt = Prompt { uuid: self.name_anew().into(), content, priority };
        self.give(socket, Some(session), prompt).await;
    }

    /// What it says to a question, if it says anything.
    fn answer(&mut self, session: &SessionId, request: &PermissionRequest) -> Option<Answer> {
        let verdict = match self.dice.below(4) {
            0 | 1 => Verdict::Allow(Allow::default()),
            2 => Verdict::Deny(Deny { message: format!("{} says no", self.name), interrupt: false }),
            _ => return None,
        };
        if let (Verdict::Allow(_), Some(call)) = (&verdict, &request.tool_call_id) {
            self.allowed.insert((session.clone(), call.clone()));
        }
        Some(Answer { pending_id: request.pending_id, verdict })
    }

    async fn give(&mut self, socket: &mut Socket, session: Option<&SessionId>, command: impl Into<Command>) {
        let command = GivenCommand {
            id: self.name_anew(),
            session_id: session.cloned(),
            command: command.into(),
            traceparent: None,
            tracestate: None,
        };
        self.given.push(Given { command: command.clone(), answer: None, unstored: false });
        // If it does not get through, it is repeated by the next connection.
        let _ = say(socket, &ClientFrame::Command(Box::new(command))).await;
    }

    /// A name that nothing else has, in the form of a UUID: the CLI takes nothing else.
    fn name_anew(&mut self) -> String {
        let (high, low) = (self.dice.below(u64::MAX), self.dice.below(u64::MAX));
        format!(
            "{:08x}-{:04x}-4{:03x}-8{:03x}-{:012x}",
            high >> 32,
            (high >> 16) & 0xffff,
            high & 0xfff,
            (low >> 48) & 0xfff,
            low & 0xffff_ffff_ffff
        )
    }

    /// The next frame.
    async fn step(&mut self, socket: &mut Socket, view: &View) -> Checked {
        match socket.next().await {
            Some(Ok(Message::Text(text))) => self.take(&text, view).map(drop),
            Some(Ok(_)) => Ok(()),
            Some(Err(error)) => Err(cannot("stay connected")(error)),
            None => Err(Violation::new("the server has ended the connection")),
        }
    }

    /// Takes a frame in. Gives the questions in it.
    fn take(&mut self, text: &str, view: &View) -> Checked<Vec<(SessionId, PermissionRequest)>> {
        let frame: ServerFrame = serde_json::from_str(text).map_err(cannot("read a frame"))?;
        let mut asked = Vec::new();
        match frame {
            ServerFrame::Events(sent) => {
                let told = self.told.entry(sent.session_id.clone()).or_default();
                for event in sent.events {
                    holds(event.seq.0 == told.last().0 + 1, || {
                        format!("{}: event {} follows {}", self.name, event.seq, told.last())
                    })?;
                    if let Body::PermissionRequest(request) = &event.body {
                        asked.push((sent.session_id.clone(), (**request).clone()));
                    }
                    told.events.push(event);
                }
            }
            ServerFrame::Snapshot(sent) => {
                return Err(Violation::new(format!("{}: a snapshot of {}", self.name, sent.session_id)));
            }
            ServerFrame::Accepted(accepted) => self.answered(&accepted.id, Ok(()), view),
            ServerFrame::Rejected(rejected) => {
                let Rejection { code, .. } = rejected.rejection;
                self.answered(&rejected.id, Err(code), view);
            }
            ServerFrame::Refused(refused) => return Err(Violation::new(refused.reason)),
            _ => {}
        }
        Ok(asked)
    }

    fn answered(&mut self, id: &str, answer: Result<(), RejectionCode>, view: &View) {
        for given in self.given.iter_mut().filter(|given| given.command.id == id) {
            given.answer = Some(answer);
            given.unstored = view.full.load(Ordering::SeqCst);
        }
    }
}

async fn say(socket: &mut Socket, frame: &ClientFrame) -> io::Result<()> {
    let text = serde_json::to_string(frame)?;
    let said = timeout(Duration::from_secs(10), socket.send(Message::text(text))).await;
    said.map_err(|_| io::ErrorKind::TimedOut)?.map_err(io::Error::other)
}
