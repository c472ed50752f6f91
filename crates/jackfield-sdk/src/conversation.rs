//! A conversation that goes on in another run: after a crash, from an earlier message, or twice.
//!
//! Every run is a [`Session`] value of its own, with the options and callbacks of the one it comes from, in
//! the permission mode that was in effect there. The one rule it keeps: where a conversation is cut is read
//! from the CLI's own file, because only what is written there can be resumed.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jackfield_api::command::{Content, Prompt};
use jackfield_api::conversation::{DropReason, DroppedPrompt};
use jackfield_api::session::Priority;
use jackfield_api::{Body, Event, Seq, Uuid};
use jackfield_wire::{PermissionMode, SessionId};
use tokio::time::{Instant, sleep};

use crate::history::{History, HistoryError};
use crate::options::Switch;
use crate::{Callbacks, Environment, Options, Refused, Session, StartError, Turn, environment};

/// Why a conversation did not go on.
#[derive(Debug, thiserror::Error)]
pub enum ConversationError {
    /// The CLI has not told which conversation it is.
    #[error("cannot go on with the conversation: the CLI has not named it yet")]
    Unnamed,
    /// The last turn did not fail.
    #[error("cannot retry the last turn: it did not fail")]
    NothingFailed,
    /// Nothing was said yet.
    #[error("cannot copy the conversation: nothing was said in it yet")]
    Empty,
    /// There is no such message in the conversation.
    #[error("cannot find the message {0} in the conversation")]
    NoSuchMessage(Uuid),
    /// The CLI was ended before it wrote anything down.
    #[error("cannot go on with the conversation {0}: the CLI was ended before it wrote it")]
    NotWritten(SessionId),
    /// It is not known where the CLI keeps its conversations.
    #[error("cannot read the conversation: neither CLAUDE_CONFIG_DIR nor HOME is set")]
    NoConfigFolder,
    /// Its file cannot be read.
    #[error(transparent)]
    History(#[from] HistoryError),
    /// The new run did not start.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The new run did not take the prompt.
    #[error(transparent)]
    Refused(#[from] Refused),
}

impl Options {
    /// The conversations that a CLI with these options keeps; `None` without a home.
    pub fn history(&self) -> Option<History> {
        let environment: Environment = environment(std::env::vars_os(), self);
        let folder = |name: &str| {
            environment.get(OsStr::new(name)).filter(|value| !value.is_empty()).map(PathBuf::from)
        };
        let config = folder("CLAUDE_CONFIG_DIR").or_else(|| Some(folder("HOME")?.join(".claude")))?;
        Some(History::new(config))
    }

    fn beginning_anew(mut self) -> Self {
        (self.session_id, self.resume, self.resume_at, self.resume_drops_turn) = (None, None, None, None);
        (self.continue_latest, self.fork) = (Switch::Off, Switch::Off);
        self
    }
}

impl Session {
    /// Goes on with the conversation in a new run, after a crash for instance. This one is closed first.
    pub async fn resume(&self) -> Result<Self, ConversationError> {
        let (id, options) = (self.cli_session_id()?, self.options());
        self.close().await;
        if messages(&options, &id).await?.is_none() {
            return Err(ConversationError::NotWritten(id));
        }
        self.begin(options.resume(id)).await
    }

    /// Says again what the turn that failed last was told, in a new run that knows nothing of that turn. This
    /// one is closed first. What the turn did to files stays done.
    pub async fn retry(&self) -> Result<(Self, Turn), ConversationError> {
        let (id, options) = (self.cli_session_id()?, self.options());
        let prompts = self.progress().failed().ok_or(ConversationError::NothingFailed)?;
        self.close().await;
        let messages = messages(&options, &id).await?.unwrap_or_default();
        let at = messages.iter().position(|message| prompts.iter().any(|prompt| *message == prompt.uuid));
        // If it ended before the prompt was written, all that was is good.
        let good = messages[..at.unwrap_or(messages.len())].last();
        let options = match good {
            Some(good) => options.resume(id).resume_at(good.as_str()),
            None => options,
        };
        let session = self.begin(options).await?;
        let content: Vec<Content> = prompts.into_iter().flat_map(|prompt| prompt.content).collect();
        let turn = session.prompt_with(content, Priority::Next).await?;
        Ok((session, turn))
    }

    /// Begins a second conversation with a copy of this one. This one goes on as it is.
    pub async fn fork(&self) -> Result<Self, ConversationError> {
        let (id, options) = (self.cli_session_id()?, self.options());
        let last = self.progress().lock().last_message.clone().ok_or(ConversationError::Empty)?;
        match find(&options, &id, &last).await {
            // What a command of the CLI said is not part of the conversation.
            Ok(_) | Err(ConversationError::NoSuchMessage(_)) => {}
            Err(error) => return Err(error),
        }
        self.begin(options.resume(id).fork()).await
    }

    /// Begins a second conversation with a copy of this one up to a message: a prompt's own id, or the
    /// [last message](jackfield_api::usage::TurnFigures::last_message_uuid) of a turn.
    pub async fn fork_at(&self, message: &Uuid) -> Result<Self, ConversationError> {
        let (id, options) = (self.cli_session_id()?, self.options());
        find(&options, &id, message).await?;
        self.begin(options.resume(id).fork().resume_at(message.as_str())).await
    }

    /// Begins a second conversation with a copy of this one up to just before a prompt, which can then be
    /// said in other words. Files stay as they are; [`Session::rewind_files`] takes them back.
    pub async fn rewind(&self, prompt: &Uuid) -> Result<Self, ConversationError> {
        let (id, options) = (self.cli_session_id()?, self.options());
        let options = match find(&options, &id, prompt).await?.last() {
            Some(before) => options.resume(id).fork().resume_at(before.as_str()),
            None => options,
        };
        self.begin(options).await
    }

    /// The CLI's id of the conversation, by which it can be [resumed](Options::resume) later.
    pub fn cli_session_id(&self) -> Result<SessionId, ConversationError> {
        self.progress().lock().cli_session_id.clone().ok_or(ConversationError::Unnamed)
    }

    fn options(&self) -> Options {
        let (options, _) = self.origin();
        let mut options = options.clone().beginning_anew();
        // A word that this version does not know may be one that the CLI cannot be started with.
        let known = self.progress().mode().filter(|mode| !matches!(mode, PermissionMode::Other(_)));
        options.permission_mode = known.or(options.permission_mode);
        options
    }

    async fn begin(&self, options: Options) -> Result<Self, ConversationError> {
        let (_, callbacks): (_, &Callbacks) = self.origin();
        Ok(Self::start(options, callbacks.clone()).await?)
    }
}

/// How long a live CLI may take to write down what it has said; it does so in the background.
const WRITTEN_WITHIN: Duration = Duration::from_secs(2);
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// The messages before this one.
async fn find(options: &Options, id: &SessionId, message: &Uuid) -> Result<Vec<Uuid>, ConversationError> {
    let deadline = Instant::now() + WRITTEN_WITHIN;
    loop {
        let mut messages = messages(options, id).await?.unwrap_or_default();
        if let Some(at) = messages.iter().position(|one| one == message) {
            messages.truncate(at);
            return Ok(messages);
        }
        if Instant::now() > deadline {
            return Err(ConversationError::NoSuchMessage(message.clone()));
        }
        sleep(LOOK_EVERY).await;
    }
}

/// The messages that are on disk; `None` if the conversation is not.
async fn messages(options: &Options, id: &SessionId) -> Result<Option<Vec<Uuid>>, ConversationError> {
    let (history, id) = (options.history().ok_or(ConversationError::NoConfigFolder)?, id.clone());
    // It only fails when the runtime shuts down, which ends this too.
    let read = tokio::task::spawn_blocking(move || history.message_uuids(&id)).await;
    match read.unwrap_or_else(|_| Ok(Vec::new())) {
        Err(HistoryError::NotFound { .. }) => Ok(None),
        messages => Ok(Some(messages?.iter().map(|message| message.as_str().into()).collect())),
    }
}

/// How far a session has come, as far as another run needs to know it.
#[derive(Debug, Default)]
pub(crate) struct Progress(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    cli_session_id: Option<SessionId>,
    mode: Option<PermissionMode>,
    last_message: Option<Uuid>,
    /// Sent, but in no turn yet.
    waiting: Vec<Prompt>,
    /// What the turn that runs, or ran last, was told.
    told: Vec<Prompt>,
    turn: TurnState,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum TurnState {
    #[default]
    None,
    Running,
    Complete(Seq),
    Failed,
}

impl State {
    /// A prompt leaves the queue without a turn. One that was lost with its run failed like a turn.
    fn drop_prompt(&mut self, dropped: &DroppedPrompt) {
        let found = self.waiting.iter().position(|prompt| dropped.uuid.as_ref() == Some(&prompt.uuid));
        let Some(prompt) = found.map(|at| self.waiting.remove(at)) else { return };
        if dropped.reason != DropReason::RunEnded {
            return;
        }
        if matches!(self.turn, TurnState::None | TurnState::Complete(_)) {
            self.told.clear();
            self.turn = TurnState::Failed;
        }
        self.told.push(prompt);
    }
}

impl Progress {
    pub(crate) fn new(cli_session_id: Option<SessionId>, mode: Option<PermissionMode>) -> Self {
        Self(Mutex::new(State { cli_session_id, mode, ..State::default() }))
    }

    /// The permission mode in effect.
    pub(crate) fn mode(&self) -> Option<PermissionMode> {
        self.lock().mode.clone()
    }

    pub(crate) fn sent(&self, prompt: &Prompt) {
        self.lock().waiting.push(prompt.clone());
    }

    pub(crate) fn see(&self, event: &Event) {
        match &event.body {
            Body::SessionStatus(status) => {
                let mut state = self.lock();
                state.cli_session_id = Some(status.cli_session_id.as_str().into());
                state.mode = Some(status.permission_mode.as_str().into());
            }
            Body::ModeChanged(changed) => self.lock().mode = Some(changed.permission_mode.as_str().into()),
            Body::TurnStarted(_) => {
                let mut state = self.lock();
                state.told.clear();
                state.turn = TurnState::Running;
            }
            Body::UserMessage(message) => {
                let Some(uuid) = &message.uuid else { return };
                let mut state = self.lock();
                if let Some(at) = state.waiting.iter().position(|prompt| prompt.uuid == *uuid) {
                    let prompt = state.waiting.remove(at);
                    state.told.push(prompt);
                }
            }
            Body::Queue(queue) => {
                for dropped in &queue.dropped {
                    self.lock().drop_prompt(dropped);
                }
            }
            Body::Complete(complete) => {
                let mut state = self.lock();
                state.turn = TurnState::Complete(event.seq);
                state.last_message.clone_from(&complete.data.last_message_uuid);
            }
            Body::Error(_) => {
                let mut state = self.lock();
                // Why a turn failed is told just behind its end.
                if matches!(state.turn, TurnState::Complete(end) if end.0 + 1 == event.seq.0) {
                    state.turn = TurnState::Failed;
                }
            }
            Body::RunEnded(_) => {
                let mut state = self.lock();
                if state.turn == TurnState::Running {
                    state.turn = TurnState::Failed;
                }
            }
            _ => {}
        }
    }

    /// What the last turn was told, if it failed.
    fn failed(&self) -> Option<Vec<Prompt>> {
        let state = self.lock();
        let failed = state.turn == TurnState::Failed && !state.told.is_empty();
        failed.then(|| state.told.clone())
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
