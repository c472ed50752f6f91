//! From options to a session that is ready.
//!
//! Everything that can be wrong is found before a process is started: the options, the CLI, its version, and
//! whether somebody else owns the session. Then the CLI is started and asked for its `initialize` answer:
//! nothing else says that it is alive [process/no_output_before_first_message].

use std::ffi::OsStr;
use std::path::PathBuf;
use std::sync::Arc;

use jackfield_api::Body;
use jackfield_api::command::{RejectionCode, Reply};
use jackfield_core::{FILE_TOOLS, Launch, RESULT_HOOK, Session as Machine, Transcript};
use jackfield_wire::{HookEvent, HookMatcher, HostRequest, Initialize, InitializeAnswer, SessionId};
use tokio::sync::{broadcast, mpsc, oneshot};

use crate::conversation::Progress;
use crate::error::{Refused, StartError};
use crate::lock::{Lock, LockError};
use crate::log::{Events, Log, Pace};
use crate::process::{Process, Start};
use crate::session::Shared;
use crate::task::{self, Ask, Parts};
use crate::{Callbacks, Environment, Options, command_line, environment, guard, locate, tree};

/// How many asks may wait for the task.
const ASKS: usize = 64;
/// How many raw lines a receiver may be behind.
const RAW: usize = 1024;

/// What the CLI said of itself when it was ready.
#[derive(Debug, Clone, PartialEq)]
pub struct Ready {
    /// The CLI.
    pub claude: locate::Claude,
    /// Commands, models, agents, account.
    pub answer: InitializeAnswer,
}

pub(crate) async fn start(mut options: Options, callbacks: Callbacks) -> Result<Shared, StartError> {
    let origin = (options.clone(), callbacks.clone());
    let inherited: Environment = std::env::vars_os().collect();
    let environment = environment::environment(inherited.clone(), &options);
    let claude = locate::locate(options.claude.as_deref(), &environment).await?;
    name_session(&mut options);
    let arguments = command_line::command_line(&options, claude.version)?;
    let marker = tree::unique_marker();
    let lock = own(&options, &inherited, &marker)?;
    let start = Start {
        program: claude.path.clone(),
        arguments,
        environment,
        cwd: options.cwd.clone(),
        guard: options.guard.clone().map(guard::words),
        marker,
    };
    let process = Process::start(&start)
        .map_err(|source| StartError::Spawn { program: start.program.clone(), source })?;
    let words: Vec<_> = start.arguments.iter().map(|word| word.to_string_lossy()).collect();
    let launch = Launch {
        cli_session_id: owned_id(&options).map(|id| id.as_str().to_owned()),
        claude_code_version: Some(claude.version.to_string()),
        ..Launch::from_arguments(&words)
    };

    let progress = Arc::new(Progress::new(owned_id(&options).cloned(), options.permission_mode.clone()));
    let log = Log::new();
    let (raw, _) = broadcast::channel(RAW);
    let (asks, asked) = mpsc::channel(ASKS);
    let initialize = initialize(&options, &callbacks);
    let parts = Parts {
        machine: Machine::new(machine_options(&options)),
        transcript: options.transcript.is_on().then(Transcript::new),
        log: log.clone(),
        raw: raw.clone(),
        callbacks,
        launch,
        progress: Arc::clone(&progress),
        line_limit: options.line_limit,
        lock,
    };
    let mut events = log.reader(Pace::Lossy, None);
    tokio::spawn(task::run(process, parts, asked));

    let answer = match ask_initialize(&asks, initialize).await {
        Ok(answer) => answer,
        Err(refused) => {
            // Whoever refuses is still alive, and goes with the last handle.
            drop(asks);
            let end = died(&mut events).await;
            let died = end.filter(|_| refused.code() == RejectionCode::RunEnded);
            return Err(died.unwrap_or(StartError::NotReady(refused)));
        }
    };
    Ok(Shared { asks, log, raw, ready: Ready { claude, answer }, progress, origin })
}

/// A session that begins here gets its name from us, so that it can be owned before it is started.
fn name_session(options: &mut Options) {
    let goes_on = options.resume.is_some() || options.continue_latest.is_on();
    if options.session_id.is_none() && (!goes_on || options.fork.is_on()) && !options.continue_latest.is_on()
    {
        options.session_id = Some(uuid::Uuid::new_v4().to_string().into());
    }
}

/// The CLI session that will be written to; not known for the one that was used last.
fn owned_id(options: &Options) -> Option<&SessionId> {
    options.session_id.as_ref().or(options.resume.as_ref())
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
    jackfield_core::Options {
        // Without a name of ours, nothing would be told before the CLI says its own.
        session_id: Some(owned_id(options).map_or_else(unknown, |id| id.as_str().to_owned()).into()),
        answer_within: options
            .answer_within
            .map(|limit| u64::try_from(limit.as_millis()).unwrap_or(u64::MAX)),
        bypass_allowed: options.bypass,
        ..jackfield_core::Options::default()
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
async fn died(events: &mut Events) -> Option<StartError> {
    loop {
        let event = events.next().await?;
        if let Body::RunEnded(end) = &event.body {
            let (reason, exit_code, stderr) = (end.reason, end.exit_code, end.stderr_tail.clone());
            return Some(StartError::Died { reason, exit_code, stderr });
        }
    }
}
