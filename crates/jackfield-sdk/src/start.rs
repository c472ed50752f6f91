//! From options to a session that is ready.
//!
//! Everything that can be wrong is found before a process is started: the options, the CLI, its version, and
//! whether somebody else owns the session. Then the CLI is started and asked for its `initialize` answer:
//! nothing else says that it is alive [process/no_output_before_first_message].

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jackfield_api::command::{RejectionCode, Reply};
use jackfield_api::{Body, Seq};
use jackfield_core::{FILE_TOOLS, Launch, RESULT_HOOK, Session as Machine};
use jackfield_wire::{HookEvent, HookMatcher, HostRequest, Initialize, InitializeAnswer, SessionId};
use tokio::sync::{mpsc, oneshot};

use crate::command_line::OptionError;
use crate::conversation::{self, ConversationError, Progress};
use crate::error::{Refused, StartError};
use crate::lock::{Lock, LockError};
use crate::log::{Log, Pace};
use crate::process::{Process, Start};
use crate::session::Shared;
use crate::task::{self, Ask, Parts};
use crate::{Callbacks, Environment, Options, command_line, environment, guard, locate, tree};

/// How many asks may wait for the task.
const ASKS: usize = 64;

/// What the CLI said of itself when it was ready.
#[derive(Debug, Clone, PartialEq)]
pub struct Ready {
    /// The CLI.
    pub claude: locate::Claude,
    /// Commands, models, agents, account.
    pub answer: InitializeAnswer,
}

/// What a session was started with.
#[derive(Debug)]
pub(crate) struct Origin {
    pub(crate) options: Options,
    pub(crate) callbacks: Callbacks,
    pub(crate) claude: locate::Claude,
}

pub(crate) async fn start(options: Options, callbacks: Callbacks) -> Result<Shared, StartError> {
    let inherited: Environment = std::env::vars_os().collect();
    let environment = environment::environment(inherited.clone(), &options);
    let claude = locate::locate(options.claude.as_deref(), &options.first_arguments, &environment).await?;
    let named = named(&options);
    let marker = tree::unique_marker();
    let (start, mut launch) = plan(&named, &claude, environment.clone(), &marker)?;
    launch.spent = conversation::spent(&named).await;
    let lock = own(&named, &inherited, &marker)?;
    let process = match spawn(&start) {
        Ok(process) => process,
        Err(error) => return Err(plainly(error, &claude.path, &options.first_arguments, &environment).await),
    };

    let progress = Arc::new(Progress::new(owned_id(&named).cloned(), named.permission_mode.clone()));
    let log = Log::new(named.part_of.as_ref().map_or(Seq(1), |session| session.next_seq.max(Seq(1))));
    let raw = Arc::default();
    let (asks, asked) = mpsc::channel(ASKS);
    let initialize = initialize(&named, &callbacks);
    let machine = Machine::new(machine_options(&named));
    let origin = Arc::new(Origin { options, callbacks, claude });
    let parts = Parts {
        machine,
        log: log.clone(),
        raw: Arc::clone(&raw),
        progress: Arc::clone(&progress),
        origin: Arc::clone(&origin),
        lock,
    };
    tokio::spawn(task::run(process, launch, parts, asked));

    match ask_initialize(&asks, initialize).await {
        Ok(answer) => {
            let ready = Ready { claude: origin.claude.clone(), answer };
            Ok(Shared { asks, log, raw, ready, progress, origin })
        }
        Err(refused) => {
            // It may be that it is another program than the one that told its version.
            locate::forget(&origin.claude.path);
            // Whoever refuses is still alive, and goes with the last handle.
            drop(asks);
            let end = died(&log).await;
            match end.filter(|_| refused.code() == RejectionCode::RunEnded) {
                Some(died) => {
                    let words = &origin.options.first_arguments;
                    Err(plainly(died, &origin.claude.path, words, &environment).await)
                }
                None => Err(StartError::NotReady(refused)),
            }
        }
    }
}

/// The error of a program that did not come up. One that cannot even tell its version says by that what to do.
async fn plainly(
    error: StartError,
    program: &Path,
    first_arguments: &[OsString],
    environment: &Environment,
) -> StartError {
    let asked = locate::ask_version(program, first_arguments, environment, locate::VERSION_LIMIT).await;
    asked.err().map_or(error, StartError::from)
}

/// Goes on with the conversation of a CLI that was ended, in the same session: its process, how it was started,
/// and what it is to be told first. `None` if there is nothing to go on with.
pub(crate) async fn again(
    origin: &Origin,
    progress: &Progress,
    lock: Option<&mut Lock>,
) -> Result<Option<(Process, Launch, Initialize)>, ConversationError> {
    let options = conversation::continued(&origin.options, progress);
    if options.history().is_none() {
        return Ok(None);
    }
    let Some(id) = conversation::written(&options, progress).await? else { return Ok(None) };
    let options = options.resume(id);
    let marker = tree::unique_marker();
    let environment = environment::environment(std::env::vars_os(), &options);
    let (start, mut launch) =
        plan(&options, &origin.claude, environment, &marker).map_err(StartError::from)?;
    launch.spent = conversation::spent(&options).await;
    if let Some(lock) = lock {
        lock.note_run(&marker).map_err(StartError::from)?;
    }
    Ok(Some((spawn(&start)?, launch, initialize(&options, &origin.callbacks))))
}

/// What is started with these options; nothing is started yet.
fn plan(
    options: &Options,
    claude: &locate::Claude,
    environment: Environment,
    marker: &str,
) -> Result<(Start, Launch), OptionError> {
    let mut arguments = command_line::command_line(options, claude.version)?;
    arguments.splice(..0, options.first_arguments.iter().cloned());
    let words: Vec<_> = arguments.iter().map(|word| word.to_string_lossy()).collect();
    let launch = Launch {
        cli_session_id: owned_id(options).map(|id| id.as_str().to_owned()),
        claude_code_version: Some(claude.version.to_string()),
        ..Launch::from_arguments(&words)
    };
    let start = Start {
        program: claude.path.clone(),
        arguments,
        environment,
        cwd: options.cwd.clone(),
        guard: options.guard.clone().map(guard::words),
        marker: marker.to_owned(),
    };
    Ok((start, launch))
}

fn spawn(start: &Start) -> Result<Process, StartError> {
    Process::start(start).map_err(|source| StartError::Spawn { program: start.program.clone(), source })
}

/// A session that begins here gets its name from us, so that it can be owned before it is started.
fn named(options: &Options) -> Options {
    let mut options = options.clone();
    let goes_on = options.resume.is_some() || options.continue_latest.is_on();
    if options.session_id.is_none() && (!goes_on || options.fork.is_on()) && !options.continue_latest.is_on()
    {
        options.session_id = Some(uuid::Uuid::new_v4().to_string().into());
    }
    options
}

/// The CLI session that will be written to; not known for the one that was used last.
fn owned_id(options: &Options) -> Option<&SessionId> {
    options.session_id.as_ref().or(options.resume.as_ref())
}

impl Options {
    /// Ends what the run of an owner that died has left alive, so that the CLI's record of the session is final.
    /// Blocks for some seconds if it has to. An error if the session has a living owner.
    pub fn end_left_over(&self, id: &SessionId) -> Result<(), LockError> {
        let inherited: Environment = std::env::vars_os().collect();
        match self.locks.clone().or_else(|| default_locks(&inherited)) {
            Some(folder) => Lock::acquire(&folder, id).map(drop),
            None => Ok(()),
        }
    }
}

/// Becomes the owner of the session: two CLIs on one session silently lose a branch
/// [session/two_processes_same_session_b].
fn own(options: &Options, inherited: &Environment, marker: &str) -> Result<Option<Lock>, LockError> {
    let Some(id) = owned_id(options) else { return Ok(None) };
    let folder = options.locks.clone().or_else(|| default_locks(inherited));
    let Some(folder) = folder else { return Ok(None) };
    let mut lock = Lock::acquire(&folder, id)?;
    lock.note_run(marker)?;
    Ok(Some(lock))
}

fn default_locks(inherited: &Environment) -> Option<PathBuf> {
    let folder =
        |name: &str| inherited.get(OsStr::new(name)).filter(|value| !value.is_empty()).map(PathBuf::from);
    let state = folder("XDG_STATE_HOME").or_else(|| Some(folder("HOME")?.join(".local/state")))?;
    Some(state.join("jackfield/locks"))
}

fn machine_options(options: &Options) -> jackfield_core::Options {
    let unknown = || uuid::Uuid::new_v4().to_string();
    let part_of = options.part_of.as_ref();
    jackfield_core::Options {
        // Without a name of ours, nothing would be told before the CLI says its own.
        session_id: Some(part_of.map_or_else(
            || owned_id(options).map_or_else(unknown, |id| id.as_str().to_owned()).into(),
            |session| session.session_id.clone(),
        )),
        next_seq: part_of.map(|session| session.next_seq.0),
        last_turn: part_of.and_then(|session| session.last_turn),
        answer_within: options
            .answer_within
            .map(|limit| u64::try_from(limit.as_millis()).unwrap_or(u64::MAX)),
        bypass_allowed: options.bypass,
    }
}

fn initialize(options: &Options, callbacks: &Callbacks) -> Initialize {
    let mut hooks = callbacks.matchers();
    if options.file_changes.is_on() {
        hooks.entry(HookEvent::PostToolUse).or_default().push(file_changes());
    }
    Initialize {
        hooks,
        sdk_mcp_servers: callbacks.servers.keys().cloned().collect(),
        forward_subagent_text: options.subagent_text.is_on().then_some(true),
        ..Initialize::default()
    }
}

/// The machine answers this hook itself; it is told what a file held before, inside subagents too.
fn file_changes() -> HookMatcher {
    HookMatcher {
        matcher: Some(FILE_TOOLS.to_owned()),
        hook_callback_ids: vec![RESULT_HOOK.into()],
        timeout: None,
        on_failure: None,
    }
}

async fn ask_initialize(
    asks: &mpsc::Sender<Ask>,
    initialize: Initialize,
) -> Result<InitializeAnswer, Refused> {
    let (answer, answered) = oneshot::channel();
    let request = Box::new(HostRequest::Initialize(Box::new(initialize)));
    // If the task is gone already, the channel for the answer is closed too.
    let _ = asks.send(Ask::Request(request, answer)).await;
    let reply = answered.await.unwrap_or_else(|_| Err(crate::session::over()))?;
    let told = if let Reply::Told(told) = reply { told.answer } else { jackfield_api::Json::null() };
    Ok(serde_json::from_str(told.get()).unwrap_or_default())
}

/// How the run ended, if it did.
async fn died(log: &Log) -> Option<StartError> {
    let mut events = log.reader(Pace::Lossy, None);
    loop {
        let event = events.next().await?;
        if let Body::RunEnded(end) = &event.body {
            let (reason, exit_code, stderr) = (end.reason, end.exit_code, end.stderr_tail.clone());
            return Some(StartError::Died { reason, exit_code, stderr });
        }
    }
}
