//! One connection, from its first line to its last.
//!
//! The loop only reads and hands over: what takes time is done by tasks beside it, so that a cancellation or an answer
//! is never behind what waits for it. The one rule it keeps: when the editor is gone, so is everything that was done
//! for it alone.

use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use jackfield_api::SessionId as HostId;
use jackfield_client::Client;
use serde_json::value::RawValue;
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;

use crate::capabilities::{self, LOGIN, Offered};
use crate::log::Log;
use crate::prompts::internal;
use crate::requests;
use crate::rpc::{Incoming, Line, Lines, Outgoing, Peer, Unreadable, invalid, parameters, read};
use crate::schema::{
    AGENT_METHOD_NAMES, AuthenticateRequest, AuthenticateResponse, CancelNotification,
    CancelRequestNotification, Error, InitializeRequest, PROTOCOL_LEVEL_METHOD_NAMES, RequestId, SessionId,
};
use crate::session::{Ask, Live};

/// How long the last words may take to be read.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// How the agent presents itself.
#[derive(Debug, Clone)]
pub struct Options {
    /// The program's version.
    pub version: String,
    /// What logs in, in a terminal: a program and its arguments. Nothing if there is no way.
    pub login: Vec<String>,
    /// Where it writes about itself.
    pub log: Log,
}

/// Why a connection ended badly.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// Nobody reads what is written.
    #[error("cannot write to the editor: it no longer reads")]
    Unread,
}

/// What all parts of a connection share.
pub(crate) struct Connection {
    pub(crate) peer: Peer,
    pub(crate) log: Log,
    offered: OnceLock<Offered>,
    host: watch::Receiver<Option<Result<Client, Arc<str>>>>,
    live: Mutex<HashMap<SessionId, Live>>,
}

/// Speaks with an editor until it is gone. The host is reached meanwhile; what needs it waits.
pub async fn serve<F>(
    options: Options,
    reach: F,
    input: impl Into<OwnedFd>,
    output: impl Into<OwnedFd>,
) -> Result<(), ServeError>
where
    F: Future<Output = Result<Client, String>> + Send + 'static,
{
    let input = input.into();
    let (reached, host) = watch::channel(None);
    tokio::spawn(async move {
        let found = reach.await.map_err(Arc::from);
        reached.send_replace(Some(found));
        // It is held until nobody looks any more.
        reached.closed().await;
    });
    let connection = Arc::new(Connection {
        peer: Peer::new(Outgoing::new(output)),
        log: options.log.clone(),
        offered: OnceLock::new(),
        host,
        live: Mutex::default(),
    });
    connection.log.line("begins");
    let ended = connection.attend(&options, input).await;
    // Sessions end when nobody can ask them any more.
    connection.live().clear();
    if timeout(LAST_WORDS, connection.peer.outgoing.finish()).await.is_err() {
        connection.log.line("the last words were not read");
    }
    connection.log.line("ends");
    ended
}

impl Connection {
    async fn attend(self: &Arc<Self>, options: &Options, input: OwnedFd) -> Result<(), ServeError> {
        let mut lines = Lines::new(input);
        loop {
            tokio::select! {
                () = self.peer.outgoing.broken() => return Err(ServeError::Unread),
                line = lines.next() => match line {
                    Some(Line::Whole(line)) => self.message(options, &line).await,
                    Some(Line::TooLong) => {
                        let error = invalid("the message is too long");
                        self.peer.respond::<()>(&RequestId::Null, Err(error));
                    }
                    None => return Ok(()),
                },
            }
            self.peer.outgoing.bearable().await;
        }
    }

    async fn message(self: &Arc<Self>, options: &Options, line: &[u8]) {
        match read(line) {
            Ok(Incoming::Request { id, method, params }) => {
                let params = params.as_deref();
                if let Err(error) = self.request(options, &id, &method, params).await {
                    self.log.line(&format!("{method} was refused: {}", error.message));
                    self.peer.respond::<()>(&id, Err(error));
                }
            }
            Ok(Incoming::Notification { method, params }) => self.told(&method, params.as_deref()).await,
            Ok(Incoming::Response { id, result }) => self.peer.answered(&id, result),
            Err(unreadable) => {
                let (mut error, reason) = match unreadable {
                    Unreadable::NoJson(reason) => (Error::parse_error(), reason),
                    Unreadable::NoMessage(reason) => (Error::invalid_request(), reason),
                };
                self.log.line(&format!("a line could not be read: {reason}"));
                error.message = format!("{}: {reason}", error.message);
                self.peer.respond::<()>(&RequestId::Null, Err(error));
            }
        }
    }

    /// Does a request, sees to it that it is done, or says at once why not.
    async fn request(
        self: &Arc<Self>,
        options: &Options,
        id: &RequestId,
        method: &str,
        params: Option<&RawValue>,
    ) -> Result<(), Error> {
        let names = AGENT_METHOD_NAMES;
        if method == names.initialize {
            let asked: InitializeRequest = parameters(params)?;
            // Only the first time counts.
            let _ = self.offered.set(capabilities::offered(&asked.client_capabilities));
            let who = asked.client_info.as_ref();
            let who =
                who.map_or_else(|| "an editor".to_owned(), |who| format!("{} {}", who.name, who.version));
            self.log.line(&format!("{who} says hello, protocol {}", asked.protocol_version));
            self.peer.respond(id, Ok(capabilities::answer(&asked, &options.version, &options.login)));
            return Ok(());
        }
        if method == names.authenticate {
            let asked: AuthenticateRequest = parameters(params)?;
            if &*asked.method_id.0 != LOGIN {
                return Err(invalid(format!("there is no way to log in called `{}`", asked.method_id.0)));
            }
            // The terminal has done it; whether it is good, the next turn shows.
            self.peer.respond(id, Ok(AuthenticateResponse::new()));
            return Ok(());
        }
        if let Some(beginning) = requests::Beginning::read(method, params)? {
            let (connection, id) = (Arc::clone(self), id.clone());
            tokio::spawn(async move { requests::begin(&connection, &id, beginning).await });
            return Ok(());
        }
        if let Some((session, ask)) = Ask::read(id, method, params)? {
            return match self.session(&session) {
                // A session that is too busy to listen is waited for: others wait for us.
                Some(live) if live.send(ask).await.is_ok() => Ok(()),
                _ => Err(no_session(&session)),
            };
        }
        let mut error = Error::method_not_found();
        error.message = format!("there is no method `{method}`");
        Err(error)
    }

    async fn told(&self, method: &str, params: Option<&RawValue>) {
        if method == AGENT_METHOD_NAMES.session_cancel {
            let Ok(cancel) = parameters::<CancelNotification>(params) else { return };
            if let Some(live) = self.session(&cancel.session_id) {
                let _ = live.send(Ask::Cancel(None)).await;
            }
        } else if method == PROTOCOL_LEVEL_METHOD_NAMES.cancel_request {
            let Ok(cancel) = parameters::<CancelRequestNotification>(params) else { return };
            let all: Vec<_> = self.live().values().cloned().collect();
            for live in all {
                let _ = live.asks.send(Ask::Cancel(Some(cancel.request_id.clone()))).await;
            }
        }
        // Others are none of ours, and a notification cannot be refused.
    }

    /// The host.
    pub(crate) async fn client(&self) -> Result<Client, Error> {
        let mut host = self.host.clone();
        let reached = host.wait_for(Option::is_some).await.map(|reached| reached.clone());
        match reached {
            Ok(Some(Ok(client))) => Ok(client),
            Ok(Some(Err(reason))) => Err(internal(&*reason, "no_host")),
            Ok(None) | Err(_) => Err(internal("the host could not be reached", "no_host")),
        }
    }

    /// What the editor can do.
    pub(crate) fn offered(&self) -> Offered {
        self.offered.get().copied().unwrap_or_default()
    }

    /// A session that is open here.
    fn session(&self, id: &SessionId) -> Option<mpsc::Sender<Ask>> {
        self.live().get(id).map(|live| live.asks.clone())
    }

    /// What the host calls a session: another name only if the editor knows it from the CLI.
    pub(crate) fn host_id(&self, id: &SessionId) -> HostId {
        let live = self.live().get(id).map(|live| live.host_id.clone());
        live.unwrap_or_else(|| HostId::from(&*id.0))
    }

    /// Opens a session; one of the same name ends.
    pub(crate) fn open(&self, id: SessionId, live: Live) {
        self.live().insert(id, live);
    }

    /// Lets go of a session.
    pub(crate) fn close(&self, id: &SessionId) {
        self.live().remove(id);
    }

    /// Lets go of a session that takes no more asks; one of the same name that was opened since stays.
    pub(crate) fn close_ended(&self, id: &SessionId) {
        let mut live = self.live();
        if live.get(id).is_some_and(|live| live.asks.is_closed()) {
            live.remove(id);
        }
    }

    fn live(&self) -> MutexGuard<'_, HashMap<SessionId, Live>> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// There is no such session.
pub(crate) fn no_session(id: &SessionId) -> Error {
    let mut error = Error::session_not_found(id.clone());
    error.message = format!("there is no session `{id}`");
    error
}
