//! Commands: each is done once, however often it is sent, and answered the same every time.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use jackfield_api::SessionId;
use jackfield_api::command::{Command, Done, Rejection, RejectionCode, Reply, RewindScope, Verdict};
use jackfield_api::socket::{GivenCommand, Scope};
use tokio::sync::{oneshot, watch};

use super::{Host, unreadable};
use crate::channel::{Answered, Ending, gone, reject};
use crate::client::Client;
use crate::store::Begun;
use crate::trust;

/// The longest name of a command.
const ID: usize = 128;

/// Commands that are being done, so that a repeated one waits for the same answer.
#[derive(Debug, Default)]
pub(super) struct Answers(Mutex<HashMap<String, watch::Receiver<Option<Outcome>>>>);

type Outcome = Result<Reply, Rejection>;

/// The order of each session's commands: they are handed over as they came, however long each is looked up.
#[derive(Debug, Default)]
pub(super) struct Order(Mutex<HashMap<SessionId, oneshot::Receiver<()>>>);

/// A place in that order. Whoever is behind waits until it is dropped.
#[derive(Debug)]
struct Place {
    before: Option<oneshot::Receiver<()>>,
    _held: oneshot::Sender<()>,
}

impl Order {
    fn stand(&self, id: Option<&SessionId>) -> Place {
        let (held, freed) = oneshot::channel();
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        last.retain(|_, freed| freed.try_recv() == Err(oneshot::error::TryRecvError::Empty));
        let before = id.and_then(|id| last.insert(id.clone(), freed));
        Place { before, _held: held }
    }
}

impl Place {
    async fn wait(&mut self) {
        if let Some(before) = self.before.take() {
            // Nothing is ever sent: it ends when the one before lets go.
            let _ = before.await;
        }
    }
}

impl Host {
    /// Does a command, and tells what came of it. A command goes on when who gave it is gone.
    pub async fn command(&self, client: &Client, given: GivenCommand) -> Result<Reply, Rejection> {
        if given.id.is_empty() || given.id.len() > ID {
            let reason = format!("a command needs an id of 1 to {ID} characters");
            return Err(reject(RejectionCode::Invalid, reason));
        }
        client.check(&given.command)?;
        let client = &client.clone().traced(given.traceparent.as_deref(), given.tracestate.as_deref());
        let (first, mut answer) = self.shared.answers.wait(&given.id);
        if let Some(first) = first {
            let (host, client) = (self.clone(), client.clone());
            let place = self.shared.order.stand(given.session_id.as_ref());
            tokio::spawn(async move {
                let id = given.id.clone();
                let outcome = host.once(&client, given, place).await;
                first.send_replace(Some(outcome));
                host.shared.answers.forget(&id);
            });
        }
        let outcome = answer.wait_for(Option::is_some).await;
        outcome.map_or_else(|_| Err(gone()), |outcome| outcome.clone().unwrap_or_else(|| Err(gone())))
    }

    /// Does a command of this very process. Nobody can send it again after the host has died, since whoever gave it
    /// died too; so it need not be on disk that it was begun, and the CLI has a prompt one sync of the disk earlier.
    pub async fn command_here(
        &self,
        client: &Client,
        session_id: Option<SessionId>,
        command: Command,
    ) -> Result<Reply, Rejection> {
        client.check(&command)?;
        let (host, client) = (self.clone(), client.clone());
        let mut place = self.shared.order.stand(session_id.as_ref());
        let doing = tokio::spawn(async move {
            place.wait().await;
            host.perform(&client, session_id, command, place).await
        });
        doing.await.unwrap_or_else(|_| Err(gone()))
    }

    async fn once(&self, client: &Client, given: GivenCommand, mut place: Place) -> Outcome {
        place.wait().await;
        let store = &self.shared.store;
        match store.begin_command(&given.id, given.session_id.as_ref()).await.map_err(unreadable)? {
            Begun::New => {}
            Begun::Answered(outcome) => return outcome,
            Begun::Running | Begun::Lost => {
                let reason =
                    "the host ended while this was being done; look at the session, and ask again if need be";
                return Err(reject(RejectionCode::RunEnded, reason));
            }
        }
        let outcome = self.perform(client, given.session_id, given.command, place).await;
        // If the answer cannot be kept, it is still true.
        let _ = store.end_command(&given.id, &outcome).await;
        outcome
    }

    async fn perform(
        &self,
        client: &Client,
        id: Option<SessionId>,
        command: Command,
        place: Place,
    ) -> Outcome {
        let command = match command {
            Command::CreateSession(create) => return self.create(client, *create).await,
            Command::Import(import) => return self.import(&import.cli_session_ids).await,
            command => command,
        };
        let Some(id) = id else {
            let reason = format!("`{}` is for a session: name it", command.tag());
            return Err(reject(RejectionCode::Invalid, reason));
        };
        match command {
            Command::Fork(fork) => self.fork(client, &id, fork.at.as_ref()).await,
            Command::Rewind(rewind) if rewind.scope != RewindScope::Files => {
                self.rewind(client, &id, *rewind).await
            }
            Command::Delete(_) => self.delete(&id).await,
            command => {
                self.expect(client, &id, &command).await;
                let answered = self.hand_over(client, &id, command).await?;
                // The next command may go.
                drop(place);
                answered.await.unwrap_or_else(|_| Err(gone()))
            }
        }
    }

    /// What an answer has written into a trusted folder is no change of the folder.
    async fn expect(&self, client: &Client, id: &SessionId, command: &Command) {
        let Command::Answer(answer) = command else { return };
        let Verdict::Allow(allow) = &answer.verdict else { return };
        if client.scope < Scope::Admin || !allow.remember.iter().any(trust::is_written) {
            return;
        }
        let Ok(Some(session)) = self.session(id).await else { return };
        if session.trusted && session.pending.iter().any(|asked| asked.pending_id == answer.pending_id) {
            // What cannot be kept in mind is asked about again; the answer counts all the same.
            let _ = trust::expect(&self.shared, &session.cwd, &allow.remember).await;
        }
    }

    /// Gives a command to a session.
    pub(super) async fn give(&self, client: &Client, id: &SessionId, command: Command) -> Outcome {
        self.hand_over(client, id, command).await?.await.unwrap_or_else(|_| Err(gone()))
    }

    async fn hand_over(
        &self,
        client: &Client,
        id: &SessionId,
        command: Command,
    ) -> Result<Answered, Rejection> {
        loop {
            let channel = self.channel(id).await?;
            // One that has gone in the meantime is loaded again.
            if let Some(answered) = channel.hand_over(client, command.clone()).await {
                return Ok(answered);
            }
        }
    }

    async fn delete(&self, id: &SessionId) -> Outcome {
        let channel = self.channel(id).await?;
        channel.end(Ending::Deleted).await;
        // Before it is gone itself: where they stay, somebody can ask for it again.
        let watcher = Arc::clone(&channel.watcher);
        let removed = tokio::task::spawn_blocking(move || watcher.remove()).await.map_err(io::Error::other);
        removed.flatten().map_err(|error| {
            reject(RejectionCode::NotNow, format!("cannot remove its debug files: {error}"))
        })?;
        self.shared.store.delete(id).await.map_err(unreadable)?;
        self.shared.registry.remove(id).await;
        self.shared.switches.forget(id);
        channel.published.delete();
        self.shared.feed.delete(id);
        Ok(Reply::Done(Done {}))
    }
}

impl Answers {
    /// A place to wait for the answer; and to whoever is first, the way to give it.
    fn wait(&self, id: &str) -> (Option<watch::Sender<Option<Outcome>>>, watch::Receiver<Option<Outcome>>) {
        let mut doing = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(answer) = doing.get(id) {
            return (None, answer.clone());
        }
        let (first, answer) = watch::channel(None);
        doing.insert(id.to_owned(), answer.clone());
        (Some(first), answer)
    }

    fn forget(&self, id: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(id);
    }
}
