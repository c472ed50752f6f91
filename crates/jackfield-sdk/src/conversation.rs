//! A conversation that goes on in another run: after a crash, from an earlier message, or twice.
//!
//! Every run is a [`Session`] value of its own, with the options and callbacks of the one it comes from, and
//! the permission mode, model and thinking that were in effect there. The one rule it keeps: where a
//! conversation is cut is read from the CLI's own file, because only what is written there can be resumed.

mod progress;

use std::ffi::OsStr;
use std::path::PathBuf;
use std::time::Duration;

use jackfield_api::command::Content;
use jackfield_api::session::Priority;
use jackfield_api::trouble::NoticeLevel;
use jackfield_api::{Seq, Uuid};
use jackfield_core::Spent;
use jackfield_wire::{PermissionMode, SessionId};
use tokio::time::{Instant, sleep};

pub(crate) use progress::{Choice, Progress};

use crate::history::{History, HistoryError};
use crate::options::Switch;
use crate::{Effort, Environment, Options, Refused, Session, StartError, Turn, environment};

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
    /// Something was answered, and nothing of it is on disk.
    #[error("cannot go on with the conversation {0}: the CLI has not written it down")]
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
        self.part_of = None;
        self
    }
}

impl Session {
    /// Goes on with the conversation in a new run, after a crash for instance. This one is closed first.
    ///
    /// If the CLI was ended before anything was said and written, there is nothing to go on with, and its id may
    /// be spent: then the conversation begins under a new id, and a `notice` says so.
    pub async fn resume(&self) -> Result<Self, ConversationError> {
        let (id, options) = (self.cli_session_id()?, self.options());
        self.close().await;
        let options = self.in_the_same_session(options);
        if written(&options, self.progress()).await?.is_some() {
            return self.begin(options.resume(id)).await;
        }
        if self.progress().lock().last_message.is_some() {
            return Err(ConversationError::NotWritten(id));
        }
        let session = self.begin(options).await?;
        let text = format!("nothing of the conversation {id} was written down: it begins anew");
        session.notice(NoticeLevel::Warning, text).await?;
        Ok(session)
    }

    /// Says again what the turn that failed last was told, in a new run that knows nothing of that turn. This
    /// one is closed first. What the turn did to files stays done.
    pub async fn retry(&self) -> Result<(Self, Turn), ConversationError> {
        let (id, options) = (self.cli_session_id()?, self.options());
        let prompts = self.progress().failed().ok_or(ConversationError::NothingFailed)?;
        self.close().await;
        let options = self.in_the_same_session(options);
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
        continued(&self.origin().options, self.progress())
    }

    /// If it is part of a host's session, so is what goes on in its place, and counts on.
    fn in_the_same_session(&self, mut options: Options) -> Options {
        options.part_of.clone_from(&self.origin().options.part_of);
        if let (Some(session), Some((seq, turn))) = (&mut options.part_of, self.last()) {
            session.next_seq = Seq(seq.0.saturating_add(1));
            session.last_turn = turn;
        }
        options
    }

    async fn begin(&self, options: Options) -> Result<Self, ConversationError> {
        Ok(Self::start(options, self.origin().callbacks.clone()).await?)
    }
}

/// The options of a run that goes on from another: a conversation of its own until they say otherwise.
pub(crate) fn continued(options: &Options, progress: &Progress) -> Options {
    let mut options = options.clone().beginning_anew();
    let state = progress.lock();
    // A word that this version does not know may be one that the CLI cannot be started with.
    let known = state.mode.clone().filter(|mode| !matches!(mode, PermissionMode::Other(_)));
    options.permission_mode = known.or(options.permission_mode);
    for choice in &state.chosen {
        match choice {
            Choice::Model(model) => options.model.clone_from(model),
            Choice::Thinking(tokens) => {
                options.max_thinking_tokens = tokens.map(|tokens| u32::try_from(tokens).unwrap_or(u32::MAX));
            }
            Choice::Effort(effort) => options.effort = effort.clone().map(Effort::Other),
        }
    }
    options
}

/// The conversation's id, if something of it is on disk: only then it can be resumed. A file without a message
/// is none, and yet the CLI gives its name away no more.
pub(crate) async fn written(
    options: &Options,
    progress: &Progress,
) -> Result<Option<SessionId>, ConversationError> {
    let Some(id) = progress.lock().cli_session_id.clone() else { return Ok(None) };
    let messages = messages(options, &id).await?;
    Ok(messages.is_some_and(|messages| !messages.is_empty()).then_some(id))
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

/// What the CLI will count as spent before it has been told anything: what it wrote down of the conversation that it
/// goes on with. Nothing, if it wrote nothing down.
pub(crate) async fn spent(options: &Options) -> Spent {
    let Some(history) = options.history() else { return Spent::default() };
    let (id, latest, cwd) = (options.resume.clone(), options.continue_latest.is_on(), options.cwd.clone());
    if id.is_none() && !latest {
        return Spent::default();
    }
    let read = move || {
        let latest = || history.list_of(&cwd).ok()?.into_iter().next().map(|session| session.id);
        history.spent(&id.or_else(latest)?).ok()?
    };
    tokio::task::spawn_blocking(read).await.ok().flatten().unwrap_or_default()
}
