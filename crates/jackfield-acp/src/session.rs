//! One session of one editor: how it is opened, and what can be asked of it.
//!
//! The work is done by its [`task`]. The one rule it keeps: what an editor asks of a session is handed over in the
//! order in which it came.

mod arriving;
mod asking;
mod orders;
mod stopping;
mod task;
mod unsaved;

use std::sync::Arc;

use jackfield_api::snapshot::Snapshot;
use jackfield_api::{Body, Event, Seq, SessionId as HostId};
use jackfield_client::Client;
use serde_json::value::RawValue;
use tokio::sync::mpsc;

use crate::agent::Connection;
use crate::requests::failure;
use crate::rpc::parameters;
use crate::schema::{
    AGENT_METHOD_NAMES, CloseSessionRequest, Error, PromptRequest, RequestId, SessionId,
    SetSessionConfigOptionRequest, SetSessionModeRequest,
};
use crate::settings::{Bypass, Model, Settings};
use crate::translate::{Lines, Prompts, Translator};
use task::Task;

/// How many asks wait for a session.
const ASKS: usize = 64;
/// How many lines of a replay are sent at once.
const BATCH: usize = 64 * 1024;

/// A session that is open.
#[derive(Debug, Clone)]
pub(crate) struct Live {
    /// Where to ask.
    pub(crate) asks: mpsc::Sender<Ask>,
    /// What the host calls it.
    pub(crate) host_id: HostId,
}

/// What is asked of a session.
#[derive(Debug)]
pub(crate) enum Ask {
    /// Say something to the model.
    Prompt(RequestId, Box<PromptRequest>),
    /// Stop all prompts, or the one of this request.
    Cancel(Option<RequestId>),
    /// Set the permission mode.
    SetMode(RequestId, String),
    /// Set an option.
    SetOption(RequestId, Box<SetSessionConfigOptionRequest>),
    /// End the run; the session is not needed now.
    Close(RequestId),
}

impl Ask {
    /// Reads a request that is for a session; `None` if it is another one.
    pub(crate) fn read(
        id: &RequestId,
        method: &str,
        params: Option<&RawValue>,
    ) -> Result<Option<(SessionId, Self)>, Error> {
        let (names, id) = (AGENT_METHOD_NAMES, id.clone());
        Ok(Some(if method == names.session_prompt {
            let asked: PromptRequest = parameters(params)?;
            (asked.session_id.clone(), Self::Prompt(id, Box::new(asked)))
        } else if method == names.session_set_mode {
            let asked: SetSessionModeRequest = parameters(params)?;
            (asked.session_id, Self::SetMode(id, asked.mode_id.0.to_string()))
        } else if method == names.session_set_config_option {
            let asked: SetSessionConfigOptionRequest = parameters(params)?;
            (asked.session_id.clone(), Self::SetOption(id, Box::new(asked)))
        } else if method == names.session_close {
            let asked: CloseSessionRequest = parameters(params)?;
            (asked.session_id, Self::Close(id))
        } else {
            return Ok(None);
        }))
    }
}

/// A session that is about to be opened.
pub(crate) struct Opening {
    connection: Arc<Connection>,
    client: Client,
    name: SessionId,
    host_id: HostId,
    snapshot: Snapshot,
    settings: Settings,
    folder: String,
}

/// A session that has begun and waits to be run.
pub(crate) struct Begun {
    task: Task,
    cursor: Seq,
}

impl Opening {
    /// Looks at the session as it stands.
    pub(crate) async fn prepare(
        connection: &Arc<Connection>,
        client: Client,
        name: SessionId,
        host_id: HostId,
    ) -> Result<Self, Error> {
        let snapshot = client.snapshot(&host_id).await.map_err(failure)?.snapshot;
        let summary = client.session(&host_id).await.map_err(failure)?;
        let thinking = summary.as_ref().and_then(|it| it.max_thinking_tokens);
        let effort = summary.as_ref().and_then(|it| it.effort.clone());
        let (mode, model, folder) =
            summary.map_or((None, None, String::new()), |it| (it.permission_mode, it.model, it.cwd));
        let (bypass, models) = host_settings(&client).await;
        let mut settings = Settings::new(mode, model, bypass);
        // They are told with the answer.
        drop(settings.set_models(models));
        drop(settings.set_thinking(thinking));
        drop(settings.set_effort(effort));
        Ok(Self { connection: Arc::clone(connection), client, name, host_id, snapshot, settings, folder })
    }

    /// The last event that there is.
    pub(crate) fn last(&self) -> Seq {
        self.snapshot.seq
    }

    /// Follows it behind an event.
    pub(crate) fn begin(self, after: Seq) -> (Live, Begun) {
        let Self { connection, client, name, host_id, snapshot, settings, folder } = self;
        let (to, asks) = mpsc::channel(ASKS);
        let live = Live { asks: to, host_id: host_id.clone() };
        let at_end = after == snapshot.seq && after != Seq(0);
        let cost = if at_end { snapshot.total_cost_usd } else { 0.0 };
        let translator = Translator::new(connection.offered().view, Prompts::OfOthers, &folder, cost);
        let task =
            Task::new(connection, client, host_id, Lines::new(name), translator, settings, folder, asks);
        let mut begun = Begun { task, cursor: after };
        if at_end {
            begun.task.know(&snapshot);
        }
        (live, begun)
    }
}

impl Begun {
    /// What is chosen.
    pub(crate) fn settings(&self) -> &Settings {
        &self.task.settings
    }

    /// Tells all that was said so far. What cannot be told at once waits for the editor to read.
    pub(crate) async fn replay(&mut self) -> Result<(), Error> {
        let Self { task, cursor } = self;
        task.translator.replays();
        loop {
            let events = task.client.events(&task.id, *cursor).await.map_err(failure)?;
            let Some(last) = events.last().map(|event| event.seq) else { break };
            for event in &events {
                task.recall(event);
                if task.lines.lines().len() > BATCH {
                    task.flush();
                    task.connection.peer.outgoing.room().await;
                }
            }
            *cursor = last;
        }
        task.flush();
        task.translator.is_live();
        Ok(())
    }

    /// Follows it until nobody asks any more.
    pub(crate) async fn run(self) {
        let Self { task, cursor } = self;
        match task.client.subscribe(&task.id, Some(cursor)).await {
            Ok(updates) => task.run(updates).await,
            Err(error) => task.fail(&error.to_string()).await,
        }
    }
}

/// What the host allows, and the models that it knows.
async fn host_settings(client: &Client) -> (Bypass, Vec<Model>) {
    let Ok(settings) = client.settings().await else { return (Bypass::Forbidden, Vec::new()) };
    let bypass = if settings.bypass_allowed { Bypass::Allowed } else { Bypass::Forbidden };
    (bypass, models(&settings))
}

/// The models that the CLI offers.
fn models(settings: &jackfield_api::host::HostSettings) -> Vec<Model> {
    let claude = settings.agents.iter().find(|agent| agent.agent == jackfield_api::command::Agent::Claude);
    let offers = claude.map(|agent| agent.models.as_slice()).unwrap_or_default();
    let model = |offer: &jackfield_api::host::ModelOffer| Model {
        value: offer.value.clone(),
        name: offer.name.clone(),
        description: offer.description.clone(),
        resolved: offer.model.clone(),
        efforts: offer.efforts.clone(),
    };
    offers.iter().map(model).collect()
}

/// Whether an event says that a run is there and knows itself.
fn is_status(event: &Event) -> bool {
    matches!(event.body, Body::SessionStatus(_) | Body::AvailableCommands(_))
}
