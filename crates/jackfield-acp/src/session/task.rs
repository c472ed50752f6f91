//! The task of one session of one editor.
//!
//! One loop: selecting only says what happened (`Woken`), and what to do about it is decided in a plain call. It waits
//! neither for the host nor for a person; both come back as something that happened. If the editor does not read,
//! nothing more is read of the session. The one rule it keeps: what was told together is sent together, and the answer
//! to a prompt stands behind all that belongs to its turn.

mod asked;
mod questions;

use std::collections::BTreeMap;
use std::sync::Arc;

use jackfield_api::command::Verdict;
use jackfield_api::permission::PermissionRequest;
use jackfield_api::snapshot::Snapshot;
use jackfield_api::trust::FolderTrust;
use jackfield_api::{Body, Event, PendingId, SessionId as HostId};
use jackfield_client::{Client, ClientError, Subscription, Update};
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{Instant, sleep_until};

use super::arriving::{Arriving, Traced};
use super::orders::{self, Orders};
use super::stopping::{Step, Stopping};
use super::{Ask, is_status};
use crate::agent::Connection;
use crate::prompts::{Ending, Prompts, internal};
use crate::schema::{PromptResponse, RequestId};
use crate::settings::{Model, Settings};
use crate::translate::{Lines, Sink as _, Translator, available_commands};
use crate::trust::Said;

/// How much is sent at once.
const BATCH: usize = 64 * 1024;

/// A session's task.
pub(super) struct Task {
    pub(super) connection: Arc<Connection>,
    pub(super) client: Client,
    pub(super) id: HostId,
    pub(super) lines: Lines,
    pub(super) translator: Translator,
    pub(super) settings: Settings,
    folder: String,
    asks: mpsc::Receiver<Ask>,
    prompts: Prompts,
    arriving: Arriving,
    orders: Orders,
    stopping: Stopping,
    /// Questions that a person is being asked here.
    questions: BTreeMap<PendingId, AbortHandle>,
    /// Questions of before, which are asked when the session is run.
    pending: Vec<PermissionRequest>,
    trust: Trust,
    /// How often the folder was looked at.
    looks: u32,
    /// Until when a prompt that comes too early for the next run is said again.
    closing: Option<Instant>,
    title: Option<String>,
    /// A run has told of itself, and no turn of it has ended yet.
    is_new_run: bool,
    doing: JoinSet<Done>,
}

/// What is known of the folder's trust.
enum Trust {
    /// Nobody has looked yet.
    Unknown,
    /// It is being looked at, or a person is being asked under this name; these prompts wait.
    Asking(Vec<Traced>, Option<(AbortHandle, String)>),
    /// There is nothing to ask.
    Settled,
}

/// Something that was done beside the loop.
enum Done {
    Order(orders::Done),
    /// A person has answered, or this editor cannot ask.
    Answered(PendingId, Option<Verdict>),
    /// The host has taken an answer, or not.
    Given(PendingId, Option<ClientError>),
    Stopped(Step, Option<ClientError>),
    Closed(RequestId, Option<ClientError>),
    /// The folder, at the so many-th look.
    Looked(u32, Option<Box<FolderTrust>>),
    Trusted(String, Said),
    Remembered(bool),
    /// What the editor has of the files that this prompt names is in it.
    Ready(Traced),
    /// It was too early for this prompt.
    Early(Traced),
    /// The models, where somebody looked at them, and the session.
    Known(Option<Vec<Model>>, Option<Known>),
}

/// What no event tells of a session.
struct Known {
    title: String,
    thinking: Option<u64>,
    effort: Option<String>,
}

/// What happened.
enum Woken {
    Asked(Option<Ask>),
    Told(Option<Update>),
    Done(Done),
    Nothing,
    Due,
}

impl Task {
    #[allow(clippy::too_many_arguments)]
    pub(super) fn new(
        connection: Arc<Connection>,
        client: Client,
        id: HostId,
        lines: Lines,
        translator: Translator,
        settings: Settings,
        folder: String,
        asks: mpsc::Receiver<Ask>,
    ) -> Self {
        Self {
            connection,
            client,
            id,
            lines,
            translator,
            settings,
            folder,
            asks,
            prompts: Prompts::default(),
            arriving: Arriving::default(),
            orders: Orders::default(),
            stopping: Stopping::default(),
            questions: BTreeMap::new(),
            pending: Vec::new(),
            trust: Trust::Unknown,
            looks: 0,
            is_new_run: false,
            closing: None,
            title: None,
            doing: JoinSet::new(),
        }
    }

    /// How the session stands, where nothing is told of how it came to that.
    pub(super) fn know(&mut self, snapshot: &Snapshot) {
        if let Some(commands) = &snapshot.commands {
            self.lines.update(available_commands(&commands.available_commands));
        }
        self.pending.clone_from(&snapshot.pending);
    }

    /// Tells of an event that was before.
    pub(super) fn recall(&mut self, event: &Event) {
        match &event.body {
            Body::PermissionRequest(request) => self.pending.push((**request).clone()),
            Body::PermissionResolved(over) => self.settled(over.pending_id),
            Body::PermissionCancelled(over) => self.settled(over.pending_id),
            Body::RunEnded(_) => self.pending.clear(),
            _ => {}
        }
        self.translate(event);
    }

    /// Sends what there is.
    pub(super) fn flush(&mut self) {
        self.connection.peer.outgoing.put(self.lines.lines());
        self.lines.clear();
    }

    /// Answers everything that is asked with the reason why the session cannot be followed.
    pub(super) async fn fail(mut self, reason: &str) {
        self.connection.log.line(&format!("session {} is lost: {reason}", self.id));
        while let Some(ask) = self.asks.recv().await {
            let id = match ask {
                Ask::Prompt(id, _) | Ask::SetMode(id, _) | Ask::SetOption(id, _) | Ask::Close(id) => id,
                Ask::Cancel(_) => continue,
            };
            self.connection.peer.respond::<()>(&id, Err(internal(reason, "over")));
        }
    }

    /// Owns the session until nobody asks any more.
    pub(super) async fn run(mut self, mut updates: Subscription) {
        self.flush();
        for request in std::mem::take(&mut self.pending) {
            self.ask(request);
        }
        loop {
            let outgoing = self.connection.peer.outgoing.clone();
            let room = outgoing.has_room();
            let due = self.stopping.due();
            let woken = tokio::select! {
                // What an editor asks comes first: an answer stands behind the cancellation that it belongs to.
                biased;
                ask = self.asks.recv() => Woken::Asked(ask),
                // One that was broken off says nothing.
                Some(done) = self.doing.join_next() => done.map_or(Woken::Nothing, Woken::Done),
                () = until(due), if due.is_some() => Woken::Due,
                update = updates.next(), if room => Woken::Told(update),
                () = outgoing.room(), if !room => Woken::Nothing,
            };
            match woken {
                Woken::Asked(Some(ask)) => self.asked(ask),
                // The editor is gone, or has opened it anew.
                Woken::Asked(None) => break,
                Woken::Told(Some(Update::Over(reason))) => return self.over(&reason).await,
                Woken::Told(None) => return self.over("the session is over").await,
                Woken::Told(Some(update)) => {
                    self.told(update);
                    self.catch_up(&mut updates);
                }
                Woken::Done(done) => self.done(done),
                Woken::Nothing | Woken::Due => {}
            }
            if !updates.has_ready() {
                self.settle();
            } else if self.lines.lines().len() > BATCH {
                self.flush();
            }
        }
        self.prompts.over("the session was closed");
        self.settle();
    }

    async fn over(mut self, reason: &str) {
        self.translator.end(&mut self.lines);
        self.prompts.over(reason);
        self.settle();
        self.fail(reason).await;
    }

    /// All is seen that was told together: sends it, and answers what has ended.
    fn settle(&mut self) {
        self.flush();
        let going = self.prompts.stopping();
        for step in self.stopping.steps(Instant::now(), &going) {
            self.stop(step);
        }
        for (request, ending, usage) in self.prompts.settle() {
            let answer = match ending {
                Ending::Stop(reason) => Ok(PromptResponse::new(reason).usage(usage)),
                Ending::Failed(error) => Err(error),
            };
            self.connection.peer.respond(&request, answer);
        }
        if let Some(order) = self.orders.next() {
            let (client, id) = (self.client.traced(order.purpose.trace()), self.id.clone());
            self.doing.spawn(async move {
                Done::Order((order.purpose, client.command(Some(&id), order.command).await))
            });
        }
    }

    // ---- what the session tells ----

    /// Sees what was told together with what was just seen, as far as it makes one batch.
    fn catch_up(&mut self, updates: &mut Subscription) {
        while self.lines.lines().len() <= BATCH
            && let Some(event) = updates.next_ready()
        {
            self.happened(&event);
        }
    }

    fn told(&mut self, update: Update) {
        match update {
            Update::Event(event) => self.happened(&event),
            // It begins where it stands; only a host that has forgotten everything would send more.
            Update::Snapshot(_) | Update::Gap(_) | Update::Current(_) | Update::Over(_) => {}
        }
    }

    fn happened(&mut self, event: &Event) {
        self.translate(event);
        self.prompts.see(event);
        match &event.body {
            Body::PermissionRequest(request) => self.ask((**request).clone()),
            Body::PermissionResolved(over) => self.settled(over.pending_id),
            Body::PermissionCancelled(over) => self.settled(over.pending_id),
            Body::RunEnded(_) => {
                for asking in std::mem::take(&mut self.questions).into_values() {
                    asking.abort();
                }
            }
            Body::Complete(_) => {
                // What the run offers may have been known only after its status.
                let models = std::mem::take(&mut self.is_new_run);
                self.look(models);
            }
            _ if is_status(event) => {
                self.is_new_run = true;
                self.look(true);
            }
            _ => {}
        }
    }

    fn translate(&mut self, event: &Event) {
        self.translator.see(event, &mut self.lines);
        if let Body::AvailableCommands(commands) = &event.body {
            self.lines.update(available_commands(&commands.available_commands));
        }
        for update in self.settings.see(event) {
            self.lines.update(update);
        }
    }

    /// Looks at what no event tells: the session's title, and the models, which take longer.
    fn look(&mut self, models: bool) {
        let (client, id) = (self.client.clone(), self.id.clone());
        self.doing.spawn(async move {
            let models = if models {
                let settings = client.settings().await;
                Some(settings.map(|settings| super::models(&settings)).unwrap_or_default())
            } else {
                None
            };
            let session = client.session(&id).await.ok().flatten();
            let known = session.map(|it| Known {
                title: it.title,
                thinking: it.max_thinking_tokens,
                effort: it.effort,
            });
            Done::Known(models, known)
        });
    }
}

async fn until(instant: Option<Instant>) {
    if let Some(instant) = instant {
        sleep_until(instant).await;
    }
}
