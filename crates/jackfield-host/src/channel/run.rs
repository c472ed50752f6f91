//! How a run of a session is started: from what was asked for, and from how far the conversation has come.
//!
//! The one rule it keeps: a conversation is resumed if the CLI has it, and begun anew if it has not; it is never
//! lost in silence.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use jackfield_api::command::{Agent, CreateSession, Rejection, RejectionCode};
use jackfield_api::host::{HistoryEntry, ModelOffer, SessionSummary};
use jackfield_api::session::SessionOrigin;
use jackfield_api::snapshot::Item;
use jackfield_api::trouble::NoticeLevel;
use jackfield_api::{Event, Seq, SessionId, Uuid};
use jackfield_observe::TraceContext;
use jackfield_sdk::history::{After, History, HistoryError};
use jackfield_sdk::wire::{McpServer, PermissionMode};
use jackfield_sdk::{
    Basket, Callbacks, Claude, Effort, LocateError, Options, PartOf, RawTail, Session, StartError, Switch,
    Trust,
};
use tokio::time::{Instant, sleep};

use super::reject;
use super::summary::{TITLE, line};
use super::watcher::Watcher;
use crate::host::Shared;
use crate::models;
use crate::settings::{Bypass, Settings};
use crate::store::SessionRecord;
use crate::trust::{self, InEffect, WhichRun};

/// The variables that tell a CLI its place in a trace.
const TRACE_PARENT: &str = "TRACEPARENT";
const TRACE_STATE: &str = "TRACESTATE";

/// Where the conversation goes on.
#[derive(Debug, Clone, Default)]
pub(crate) enum From {
    /// Where it ended.
    #[default]
    Last,
    /// Behind this message.
    Message(Uuid),
    /// At the very beginning, with nothing said.
    Nothing,
}

/// What sees a run beside the session.
pub(crate) struct Seen {
    pub(crate) lines: Arc<RawTail>,
    pub(crate) watcher: Arc<Watcher>,
    /// Where lines are put aside for spans.
    pub(crate) basket: Option<Arc<Basket>>,
    /// The place in a trace that the CLI is told.
    pub(crate) trace: Option<TraceContext>,
}

/// Starts a run, and tells whether the folder takes part.
pub(crate) async fn start(
    shared: &Shared,
    record: &SessionRecord,
    last: Seq,
    from: From,
    seen: Seen,
) -> Result<(Session, Trust), StartError> {
    let which = if last == Seq(0) { WhichRun::First } else { WhichRun::Later };
    let InEffect { trust, notice } = trust::for_run(shared, &record.create, which).await;
    let options =
        options(&shared.settings, record, last).trust(trust).raw_tail(seen.lines).journal(seen.watcher);
    let options = match seen.basket {
        Some(basket) => options.basket(basket),
        None => options,
    };
    let options = match seen.trace {
        Some(TraceContext { parent, state }) => {
            let options = options.variable(TRACE_PARENT, parent.to_string());
            match state {
                Some(state) => options.variable(TRACE_STATE, &*state),
                None => options.without_variable(TRACE_STATE),
            }
        }
        None => options,
    };
    let (options, memory) = conversation(options, record, from).await;
    let session = Session::start(options, callbacks(&shared.settings, &record.create, trust)).await?;
    // A list that could not be kept is told again by the next run.
    let _ = models::heard(&shared.store, record.summary.agent, &offers(&session)).await;
    if memory == Memory::Lost {
        // If it is over already, its end says more.
        let _ = session.notice(NoticeLevel::Warning, FORGOTTEN).await;
    }
    if let Some(notice) = notice {
        let _ = session.notice(notice.level, notice.text).await;
    }
    Ok((session, trust))
}

/// What the session is given; the demo agent uses nothing.
fn callbacks(settings: &Settings, create: &CreateSession, trust: Trust) -> Callbacks {
    let none = Callbacks::new();
    match &settings.outfit {
        Some(outfit) if create.agent != Some(Agent::Demo) => outfit.give(none, Path::new(&create.cwd), trust),
        _ => none,
    }
}

/// The models that a CLI says it has.
fn offers(session: &Session) -> Vec<ModelOffer> {
    let told = session.ready().answer.models.iter();
    told.map(|model| ModelOffer {
        value: model.value.clone(),
        model: model.resolved_model.clone(),
        name: model.display_name.clone(),
        description: model.description.clone(),
        efforts: if model.supports_effort { model.supported_effort_levels.clone() } else { Vec::new() },
    })
    .collect()
}

fn options(settings: &Settings, record: &SessionRecord, last: Seq) -> Options {
    let SessionRecord { create, summary } = record;
    let mut options =
        Options::new(&create.cwd).transcript(Switch::Off).subagent_text(Switch::Off).part_of(PartOf {
            session_id: summary.session_id.clone(),
            next_seq: Seq(last.0 + 1),
            last_turn: summary.turn,
        });
    if create.agent == Some(Agent::Demo) {
        if let Some((program, first)) = settings.demo.as_deref().and_then(<[_]>::split_first) {
            options = options.claude(program).first_arguments(first.iter().cloned());
        }
    } else if let Some(program) = &settings.claude {
        options = options.claude(program);
    }
    if let Some(folder) = &settings.locks {
        options = options.locks(folder);
    }
    if let Some(guard) = &settings.guard {
        options = options.guard(guard.iter().cloned());
    }
    // What the host's own environment has belongs to another trace.
    options = options.without_variable(TRACE_PARENT).without_variable(TRACE_STATE);
    options = with_variables(options, settings);
    if settings.bypass == Bypass::Allowed {
        options = options.allow_bypass();
    }
    if let Some(model) = create.model.as_ref().or(settings.model.as_ref()) {
        options = options.model(model);
    }
    if let Some(mode) = create.permission_mode.as_ref().or(settings.permission_mode.as_ref()) {
        options = options.permission_mode(PermissionMode::from(mode.as_str()));
    }
    if let Some(effort) = &create.effort {
        options = options.effort(Effort::Other(effort.clone()));
    }
    if let Some(tokens) = create.max_thinking_tokens {
        options = options.max_thinking_tokens(u32::try_from(tokens).unwrap_or(u32::MAX));
    }
    for folder in &create.directories {
        options = options.add_directory(folder);
    }
    for (name, server) in mcp_servers(create) {
        options = options.mcp_server(name, server);
    }
    if let Some(schema) = json_schema(create) {
        options = options.json_schema(schema);
    }
    if let Some(left) = budget_left(summary) {
        options = options.max_budget_usd(left);
    }
    options
}

/// Where the user's own configuration of the CLI lies.
pub(crate) fn config_folder(settings: &Settings) -> Option<PathBuf> {
    let options = with_variables(Options::new("/"), settings);
    let given = jackfield_sdk::environment(std::env::vars_os(), &options);
    let folder = |name: &str| given.get(OsStr::new(name)).filter(|path| !path.is_empty()).map(PathBuf::from);
    folder("CLAUDE_CONFIG_DIR").or_else(|| Some(folder("HOME")?.join(".claude")))
}

fn with_variables(mut options: Options, settings: &Settings) -> Options {
    for (name, value) in &settings.variables {
        options = match value {
            Some(value) => options.variable(name, value),
            None => options.without_variable(name),
        };
    }
    options
}

/// The MCP servers that were asked for; what cannot be read was refused when the session was made.
pub(crate) fn mcp_servers(create: &CreateSession) -> Vec<(String, McpServer)> {
    let servers = create.mcp_servers.as_ref();
    let read = servers.and_then(|servers| servers.read::<std::collections::BTreeMap<_, _>>().ok());
    read.unwrap_or_default().into_iter().collect()
}

/// The shape of answers that was asked for; what cannot be read was refused when the session was made.
pub(crate) fn json_schema(create: &CreateSession) -> Option<serde_json::Map<String, serde_json::Value>> {
    create.json_schema.as_ref()?.read().ok()
}

/// Why these cannot be folders that tools may reach besides the session's own.
pub(crate) fn refuse_directories(directories: &[String]) -> Option<Rejection> {
    let relative = directories.iter().find(|folder| !Path::new(folder).is_absolute())?;
    Some(reject(RejectionCode::Invalid, format!("the folder {relative} is not an absolute path")))
}

/// What the session may still cost.
pub(crate) fn budget_left(summary: &SessionSummary) -> Option<f64> {
    Some((summary.max_budget_usd? - summary.total_cost_usd).max(0.0))
}

/// How long a live CLI may take to write down what it has said.
const WRITTEN_WITHIN: Duration = Duration::from_secs(2);
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// What the CLI will know of what was said before.
#[derive(Debug, PartialEq, Eq)]
enum Memory {
    /// All that it is to know.
    Whole,
    /// Nothing, although something was said.
    Lost,
}

const FORGOTTEN: &str = "the CLI ended before it had written this conversation down; \
                         it begins anew and remembers nothing of what was said before";

async fn conversation(options: Options, record: &SessionRecord, from: From) -> (Options, Memory) {
    let SessionRecord { create, summary } = record;
    let message = match from {
        From::Nothing => return (options, Memory::Whole),
        From::Message(message) => Some(message),
        From::Last => None,
    };
    let own = summary.cli_session_id.clone();
    if let Some(id) = &own {
        // Where no turn has begun there is nothing that the CLI could be about to write down.
        let patience = summary.turn.map_or(Duration::ZERO, |_| WRITTEN_WITHIN);
        if is_written(&options, create, id, message.as_ref(), patience).await {
            return (resumed(options.resume(id.as_str()), message), Memory::Whole);
        }
    }
    let source = create.cli_session_id.clone().filter(|_| create.origin != SessionOrigin::New);
    if let Some(id) = source.filter(|source| own.as_ref() != Some(source)) {
        let at = message.or_else(|| create.resume_at.clone());
        if is_written(&options, create, &id, at.as_ref(), WRITTEN_WITHIN).await {
            let mut options = resumed(options.resume(id.as_str()), at);
            if create.origin == SessionOrigin::Forked {
                options = options.fork();
            }
            return (options, Memory::Whole);
        }
        return (options, Memory::Lost);
    }
    let said = summary.turn.is_some() && own.is_some();
    (options, if said { Memory::Lost } else { Memory::Whole })
}

fn resumed(options: Options, at: Option<Uuid>) -> Options {
    match at {
        Some(message) => options.resume_at(message.as_str()),
        None => options,
    }
}

/// Whether the CLI has the conversation, up to a message if one is named. One that was killed before it wrote
/// anything has not.
async fn is_written(
    options: &Options,
    create: &CreateSession,
    id: &str,
    up_to: Option<&Uuid>,
    patience: Duration,
) -> bool {
    if create.agent == Some(Agent::Demo) {
        return true;
    }
    let Some(history) = options.history() else { return true };
    match written(history, id, up_to.map(std::slice::from_ref).unwrap_or_default(), patience).await {
        // A file in which nothing was said is not found by the CLI either.
        Ok(messages) => !messages.is_empty(),
        Err(HistoryError::NotFound { .. }) => false,
        // If it cannot be told, the CLI will say what is wrong.
        Err(_) => true,
    }
}

/// The messages of a conversation. A live CLI writes down what it has said a moment later: what is wanted is waited
/// for, and without a wish that there is anything at all.
async fn written(
    history: History,
    id: &str,
    wanted: &[Uuid],
    patience: Duration,
) -> Result<Vec<Uuid>, HistoryError> {
    let deadline = Instant::now() + patience;
    loop {
        let (reading, id) = (history.clone(), id.into());
        let read = tokio::task::spawn_blocking(move || reading.message_uuids(&id)).await;
        // It only fails when the runtime shuts down, which ends this too.
        let messages = read.unwrap_or_else(|_| Ok(Vec::new()));
        let messages: Result<Vec<Uuid>, _> =
            messages.map(|all| all.iter().map(|message| message.as_str().into()).collect());
        let found = match &messages {
            Ok(messages) if wanted.is_empty() => !messages.is_empty(),
            Ok(messages) => wanted.iter().any(|message| messages.contains(message)),
            Err(HistoryError::NotFound { .. }) => false,
            Err(_) => true,
        };
        if found || Instant::now() >= deadline {
            return messages;
        }
        sleep(LOOK_EVERY).await;
    }
}

/// The message before the first of these prompts: where the conversation was still good.
pub(crate) async fn before(settings: &Settings, record: &SessionRecord, prompts: &[Uuid]) -> From {
    if record.create.agent == Some(Agent::Demo) {
        // It writes nothing down, and remembers nothing either.
        return From::Last;
    }
    let Some(id) = record.summary.cli_session_id.as_deref() else { return From::Nothing };
    let Some(history) = options(settings, record, Seq(0)).history() else { return From::Last };
    let Ok(messages) = written(history, id, prompts, WRITTEN_WITHIN).await else { return From::Nothing };
    let at = messages.iter().position(|message| prompts.contains(message));
    // If it ended before the prompt was written, all that was is good.
    match messages[..at.unwrap_or(messages.len())].last() {
        Some(good) => From::Message(good.clone()),
        None => From::Nothing,
    }
}

/// Waits until the CLI has written a conversation down, if it is about to.
pub(crate) async fn await_written(history: &History, id: &str) {
    // Whoever reads it next is told what is wrong.
    let _ = written(history.clone(), id, &[], WRITTEN_WITHIN).await;
}

/// What the CLI did after the host had died, by its own record.
pub(crate) async fn unseen(
    settings: &Settings,
    record: &SessionRecord,
    last: Seq,
    known: &[Item],
) -> Vec<Event> {
    if record.create.agent == Some(Agent::Demo) {
        return Vec::new();
    }
    let Some(cli_id) = record.summary.cli_session_id.clone() else { return Vec::new() };
    let options = options(settings, record, last);
    let Some(history) = options.history() else { return Vec::new() };
    let after = After::Known(known.iter().collect());
    let session = record.summary.session_id.clone();
    let read = tokio::task::spawn_blocking(move || {
        let cli_id = cli_id.as_str().into();
        options.end_left_over(&cli_id).ok()?;
        history.import(&cli_id, session, Seq(last.0 + 1), after).ok()
    });
    // What cannot be read now is still there for the CLI when the conversation goes on.
    read.await.ok().flatten().unwrap_or_default()
}

/// Where the CLI keeps its conversations.
pub(crate) fn history(settings: &Settings, record: &SessionRecord) -> Option<History> {
    options(settings, record, Seq(0)).history()
}

/// A conversation of the CLI's history, in the words of the contract.
pub(crate) fn history_entry(
    found: &jackfield_sdk::history::SessionSummary,
    cli_session_id: String,
    session_id: Option<SessionId>,
) -> HistoryEntry {
    let title = found.title.as_ref().or(found.first_prompt.as_ref());
    HistoryEntry {
        cli_session_id,
        cwd: found.cwd.clone(),
        title: title.map(|title| line(title, TITLE)).unwrap_or_default(),
        updated_at: found.modified,
        session_id,
    }
}

/// The CLI that sessions are started with.
pub(crate) async fn locate(settings: &Settings) -> Result<Claude, LocateError> {
    let environment =
        jackfield_sdk::environment(std::env::vars_os(), &with_variables(Options::new("/"), settings));
    jackfield_sdk::locate(settings.claude.as_deref(), &[], &environment).await
}

/// What a failed start is called in the `error` event, and what to do about it.
pub(crate) fn code(error: &StartError) -> &'static str {
    match error {
        StartError::Locate(LocateError::NotFound { .. } | LocateError::Missing { .. }) => "cli_missing",
        StartError::Locate(LocateError::TooOld { .. }) => "cli_too_old",
        StartError::Locate(_) => "cli_unusable",
        StartError::Options(_) => "unsupported",
        StartError::Owned(_) => "owned_elsewhere",
        StartError::Spawn { .. } | StartError::Died { .. } | StartError::NotReady(_) => "start_failed",
    }
}
