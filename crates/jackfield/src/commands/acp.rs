//! `jackfield acp`: Claude Code in every editor that speaks the Agent Client Protocol.
//!
//! It only composes the agent with a host. The one rule: standard output has the protocol and nothing else, and when
//! the editor is gone, so is everything that was started for it.

use std::env;
use std::fs::{DirBuilder, File};
use std::io;
use std::os::fd::AsFd as _;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use clap::Args;
use jackfield_acp::{Log, Options, ServeError, serve};
use jackfield_client::Client;
use jackfield_sdk::Environment;
use thiserror::Error;

use super::run::reach::{HostFailure, Reached};
use super::signals::Signals;
use crate::config::{self, Config, Flags};
use crate::failure::{Exit, Failure};

/// Who answered, as others are told.
const NAME: &str = "jackfield acp";
/// How long another host that has just begun is waited for.
const PATIENCE: Duration = Duration::from_secs(1);
/// What it writes about itself, in the data folder.
const LOG: &str = "acp.log";

/// Be an agent of the Agent Client Protocol, on standard input and output
///
/// Editors start it themselves: `docs/editors.md` has an entry for each. It uses the running host if there is one, so
/// that its sessions can be seen and answered in the page, and otherwise a host of its own, which ends with the editor.
/// It writes about itself to `acp.log` in the data folder.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  jackfield acp                        # started by an editor
  jackfield acp --login                # log in, in a terminal
  jackfield acp --data /tmp/try-it")]
pub(crate) struct Acp {
    /// Log in: run the CLI's own login in this terminal, and end
    #[arg(long)]
    login: bool,
    #[command(flatten)]
    flags: Flags,
}

/// Why there is no agent.
#[derive(Debug, Error)]
pub(crate) enum AcpFailure {
    #[error(transparent)]
    Serve(#[from] ServeError),
    #[error("cannot use standard input and output: {0}")]
    Pipes(#[source] io::Error),
    #[error("cannot listen to signals: {0}")]
    Signals(#[source] io::Error),
    #[error("cannot start `{program}` to log in: {source}")]
    Login { program: String, source: io::Error },
}

impl AcpFailure {
    pub(crate) fn exit(&self) -> Exit {
        match self {
            Self::Login { .. } => Exit::NoCli,
            Self::Serve(_) | Self::Pipes(_) | Self::Signals(_) => Exit::Failed,
        }
    }

    pub(crate) fn hint(&self) -> &'static str {
        match self {
            Self::Serve(_) | Self::Pipes(_) | Self::Signals(_) => {
                "an editor starts this; see docs/editors.md"
            }
            Self::Login { .. } => "`jackfield doctor` says what is wrong with the CLI",
        }
    }
}

/// The host that was reached, until it is let go of.
type Held = Arc<Mutex<Option<Reached>>>;

impl Acp {
    pub(crate) fn run(&self) -> Result<ExitCode, Failure> {
        let environment: Environment = env::vars_os().collect();
        let config = config::load(&self.flags, &environment)?.config;
        if self.login {
            return Ok(login(&config)?);
        }
        let log = log(config.data_folder()?);
        // One thread: an editor has few sessions, and what is not handed from thread to thread costs less.
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Failure::Runtime)?;
        let code = runtime.block_on(at_work(config, environment, log));
        // A thread may still wait for standard input.
        runtime.shutdown_background();
        code
    }
}

async fn at_work(config: Config, environment: Environment, log: Log) -> Result<ExitCode, Failure> {
    let mut signals = Signals::new().map_err(AcpFailure::Signals)?;
    let input = io::stdin().as_fd().try_clone_to_owned().map(File::from).map_err(AcpFailure::Pipes)?;
    let output = io::stdout().as_fd().try_clone_to_owned().map(File::from).map_err(AcpFailure::Pipes)?;
    let options = Options { version: env!("CARGO_PKG_VERSION").to_owned(), login: login_words(), log };
    let held = Held::default();
    let reach = reach(config, environment, Arc::clone(&held));
    let served = tokio::select! {
        served = serve(options, reach, input, output) => served,
        () = signals.next() => Ok(()),
    };
    let reached = held.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(reached) = reached {
        reached.close().await;
    }
    served.map_err(AcpFailure::Serve)?;
    Ok(ExitCode::SUCCESS)
}

/// The host that keeps the user's sessions; a private one if another program uses its folder and does not listen.
async fn reach(config: Config, environment: Environment, held: Held) -> Result<Client, String> {
    let reached = match Reached::usual(&config, &environment, NAME, PATIENCE).await {
        Err(Failure::Host(HostFailure::InUse(_))) => Reached::private(&config, &environment, NAME).await,
        reached => reached,
    };
    let reached = reached.map_err(|failure| failure.to_string())?;
    reached.warn();
    let client = reached.client.clone();
    *held.lock().unwrap_or_else(PoisonError::into_inner) = Some(reached);
    Ok(client)
}

/// A log that cannot be opened is no reason to fail.
fn log(folder: &Path) -> Log {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
    made.and_then(|()| Log::open(&folder.join(LOG))).unwrap_or_else(|_| Log::off())
}

/// What logs in, for an editor that wants to run it.
fn login_words() -> Vec<String> {
    let program = env::current_exe().ok().and_then(|program| program.into_os_string().into_string().ok());
    program.map(|program| vec![program, "acp".to_owned(), "--login".to_owned()]).unwrap_or_default()
}

fn login(config: &Config) -> Result<ExitCode, AcpFailure> {
    let program = config.claude.program.clone().unwrap_or_else(|| "claude".into());
    let started = Command::new(&program).arg("/login").status();
    let status =
        started.map_err(|source| AcpFailure::Login { program: program.display().to_string(), source })?;
    Ok(if status.success() { ExitCode::SUCCESS } else { Exit::Failed.into() })
}
