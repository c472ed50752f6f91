//! Commands: each is done once, however often it is sent, and answered the same every time.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use jackfield_api::SessionId;
use jackfield_api::command::{Command, Done, Rejection, RejectionCode, Reply, RewindScope};
use jackfield_api::socket::GivenCommand;
use tokio::sync::watch;

use super::{Host, unreadable};
use crate::channel::{Ending, gone, reject};
use crate::client::Client;
use crate::store::Begun;

/// The longest name of a command.
const ID: usize = 128;

/// Commands that are being done, so that a repeated one waits for the same answer.
#[derive(Debug, Default)]
pub(super) struct Answers(Mutex<HashMap<String, watch::Receiver<Option<Outcome>>>>);

type Outcome = Result<Reply, Rejection>;

impl Host {
    /// Does a command, and tells what came of it. A command goes on when who gave it is gone.
    pub async fn command(&self, client: &Client, given: GivenCommand) -> Result<Reply, Rejection> {
        if given.id.is_empty() || given.id.len() > ID {
            let reason = format!("a command needs an id of 1 to {ID} characters");
            return Err(reject(RejectionCode::Invalid, reason));
        }
        client.check(&given.command)?;
        let (first, mut answer) = self.shared.answers.wait(&given.id);
        if let Some(first) = first {
            let (host, client) = (self.clone(), client.clone());
            tokio::spawn(async move {
                let id = given.id.clone();
                let outcome = host.once(&client, given).await;
                first.send_replace(Some(outcome));
                host.shared.answers.forget(&id);
            });
        }
        let outcome = answer.wait_for(Option::is_some).await;
        outcome.map_or_else(|_| Err(gone()), |outcome| outcome.clone().unwrap_or_else(|| Err(gone())))
    }

    async fn once(&self, client: &Client, given: GivenCommand) -> Outcome {
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
        let outcome = self.perform(client, given.session_id, given.command).await;
        // If the answer cannot be kept, it is still true.
        let _ = store.end_command(&given.id, &outcome).await;
        outcome
    }

    async fn perform(&self, client: &Client, id: Option<SessionId>, command: Command) -> Outcome {
        let command = match command {
            Command::CreateSession(create) => return self.create(*create).await,
            Command::Import(import) => return self.import(&import.cli_session_ids).await,
            command => command,
        };
        let Some(id) = id else {
            let reason = format!("`{}` is for a session: name it", command.tag());
            return Err(reject(RejectionCode::Invalid, reason));
        };
        match command {
            Command::Fork(fork) => self.fork(&id, fork.at.as_ref()).await,
            Command::Rewind(rewind) if rewind.scope != RewindScope::Files => {
                self.rewind(client, &id, *rewind).await
            }
            Command::Delete(_) => self.delete(&id).await,
            command => self.give(client, &id, command).await,
        }
    }

    /// Gives a command to a session.
    pub(super) async fn give(&self, client: &Client, id: &SessionId, command: Command) -> Outcome {
        loop {
            let channel = self.channel(id).await?;
            // One that has gone in the meantime is loaded again.
            if let Some(outcome) = channel.command(client, command.clone()).await {
                return outcome;
            }
        }
    }

    async fn delete(&self, id: &SessionId) -> Outcome {
        let channel = self.channel(id).await?;
        channel.end(Ending::Deleted).await;
        self.shared.store.delete(id).await.map_err(unreadable)?;
        self.shared.registry.remove(id).await;
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
