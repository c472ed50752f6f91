//! `jackfield ide`: an editor for the interactive CLI, in a terminal, behind a plugin, or around one CLI.
//!
//! It only composes the server with an editor. The one rule: while it runs there is a lock file, and when it has ended,
//! however it was asked to, there is none.

use std::env;
use std::ffi::OsString;
use std::io::{self, BufReader, IsTerminal as _, Write as _};
use std::path::PathBuf;
use std::process::{ExitCode, ExitStatus};
use std::sync::Arc;

use clap::Args;
use jackfield_ide::{
    Console, Editor, LanguageServers, Link, LinkError, Options, Plain, ServeError, running, serve,
};
use jackfield_sdk::Environment;
use thiserror::Error;
use tokio::process::{Child, Command};
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::config::{self, Flags};
use crate::failure::{Exit, Failure};
use crate::{variables, workbench};

/// Variables of a CLI in which this program runs; the new one is nobody's child.
const NOT_PASSED_ON: [&str; 5] = [
    "CLAUDECODE",
    "CLAUDE_CODE_ENTRYPOINT",
    "CLAUDE_CODE_SESSION_ID",
    "CLAUDE_CODE_CHILD_SESSION",
    "CLAUDE_PID",
];

/// Be the editor that the interactive `claude` connects to
///
/// Without anything else it shows the changes that the CLI proposes here, in this terminal, and asks. A CLI that is
/// started in the same folder finds it with `claude --ide` or `/ide`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  jackfield ide                                  # here, and in another terminal:
  eval \"$(jackfield ide --print-env)\"; claude
  jackfield ide -- claude --resume               # both in one terminal
  jackfield ide --link                           # for a plugin: docs/editor-link.md")]
pub(crate) struct Ide {
    /// A folder that the CLI may work in; several are possible, the current one if none is named
    #[arg(long, value_name = "DIR")]
    workspace: Vec<PathBuf>,
    /// What the CLI calls this editor
    #[arg(long, value_name = "NAME", default_value = "Jackfield")]
    name: String,
    /// The port; any free one if not given
    #[arg(long, value_name = "PORT", default_value_t = 0, hide_default_value = true)]
    port: u16,
    /// Speak with a plugin over standard input and output, until they are closed
    #[arg(long, conflicts_with = "command")]
    link: bool,
    /// Print what connects a `claude` to the `jackfield ide` that runs for this folder, as a shell reads it, and end
    #[arg(long, conflicts_with_all = ["link", "command", "port"])]
    print_env: bool,
    #[command(flatten)]
    flags: Flags,
    /// A program to start, connected; this ends with it
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// Why there is no editor.
#[derive(Debug, Error)]
pub(crate) enum IdeFailure {
    #[error(transparent)]
    Serve(#[from] ServeError),
    #[error(transparent)]
    Link(#[from] LinkError),
    #[error("cannot tell where the CLI looks for editors: neither CLAUDE_CONFIG_DIR nor HOME is set")]
    NoHome,
    #[error("cannot tell the current folder: {0}")]
    NoFolder(#[source] io::Error),
    #[error("no `jackfield ide` runs for `{}`", .0.display())]
    NotRunning(PathBuf),
    #[error("cannot start `{program}`: {source}")]
    Start { program: String, source: io::Error },
    #[error("cannot wait for `{program}`: {source}")]
    Wait { program: String, source: io::Error },
    #[error("cannot listen to signals: {0}")]
    Signals(#[source] io::Error),
}

impl IdeFailure {
    pub(crate) fn exit(&self) -> Exit {
        match self {
            Self::Serve(ServeError::Workspace(_)) => Exit::Usage,
            _ => Exit::Failed,
        }
    }

    pub(crate) fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NotRunning(_) => Some("start `jackfield ide` in another terminal, in this folder"),
            Self::Serve(ServeError::Workspace(_)) => Some("`--workspace` names a folder that is there"),
            Self::Start { .. } => Some("the program is looked for in PATH"),
            _ => None,
        }
    }
}

impl Ide {
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        let environment: Environment = env::vars_os().collect();
        let lock_folder = workbench::lock_folders(&environment).ok_or(IdeFailure::NoHome)?;
        let here = env::current_dir().map_err(IdeFailure::NoFolder)?;
        if self.print_env {
            let folder = self.workspace.first().cloned().unwrap_or(here);
            let folder = folder.canonicalize().unwrap_or(folder);
            let port = running(&lock_folder, &folder).ok_or(IdeFailure::NotRunning(folder))?;
            let text = format!("export CLAUDE_CODE_SSE_PORT={port} ENABLE_IDE_INTEGRATION=true\n");
            io::stdout().write_all(text.as_bytes())?;
            return Ok(ExitCode::SUCCESS);
        }
        let workspace = if self.workspace.is_empty() { vec![here] } else { self.workspace.clone() };
        let config = config::load(&self.flags, &environment)?.config;
        let folder = workspace.first().cloned().unwrap_or_default();
        let folder = folder.canonicalize().unwrap_or(folder);
        let kernel = Some(workbench::kernel(&config, &environment, folder.clone()));
        let servers = workbench::language_servers(&config, &environment, &folder);
        let options = Options {
            name: self.name.clone(),
            workspace,
            lock_folders: vec![lock_folder],
            port: self.port,
            kernel,
        };
        let runtime =
            tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(Failure::Runtime)?;
        let ended = runtime.block_on(self.serve(options, servers, &environment));
        // A thread may still wait for standard input.
        runtime.shutdown_background();
        ended
    }

    async fn serve(
        &self,
        options: Options,
        servers: Option<Arc<LanguageServers>>,
        environment: &Environment,
    ) -> Result<ExitCode, Failure> {
        let mut signals = Signals::new().map_err(IdeFailure::Signals)?;
        if self.link {
            return Ok(linked(options, &mut signals).await?);
        }
        let visual = variables::VISUAL.get(environment).or_else(|| variables::EDITOR.get(environment));
        let is_asked_here =
            self.command.is_empty() && io::stdin().is_terminal() && io::stdout().is_terminal();
        let console = is_asked_here.then(|| Console::new(BufReader::new(io::stdin()), io::stdout()));
        let mut plain = Plain::new(console, visual.map(OsString::from));
        if let Some(servers) = servers {
            plain = plain.with_language_servers(servers);
        }
        let editor: Arc<dyn Editor> = Arc::new(plain);
        let ide = serve(options, editor).await.map_err(IdeFailure::Serve)?;
        let code = if let [program, arguments @ ..] = &*self.command {
            let mut command = Command::new(program);
            command.args(arguments).envs(ide.environment()).kill_on_drop(true);
            let is_ours =
                |name: &&OsString| name.as_encoded_bytes().starts_with(variables::PREFIX.as_bytes());
            for name in environment.keys().filter(is_ours) {
                command.env_remove(name);
            }
            for name in NOT_PASSED_ON {
                command.env_remove(name);
            }
            accompanied(&program.to_string_lossy(), command, &mut signals).await
        } else {
            let port = ide.port();
            let text = format!(
                "An editor for `claude` waits on port {port}. In another terminal, in this folder:\n\n  \
                 CLAUDE_CODE_SSE_PORT={port} ENABLE_IDE_INTEGRATION=true claude\n\nCtrl-C ends it.\n"
            );
            io::stdout().write_all(text.as_bytes())?;
            let mut connected = ide.connected();
            let mut before = String::new();
            loop {
                tokio::select! {
                    _ = signals.next() => break Ok(ExitCode::SUCCESS),
                    Some(now) = connected.changed() => {
                        let processes = now.iter().filter_map(|one| Some(one.process?.to_string()));
                        let processes = processes.collect::<Vec<_>>().join(", ");
                        // One that has not said yet who it is, is not worth a line.
                        if processes != before {
                            let text = if processes.is_empty() { "nobody" } else { &processes };
                            writeln!(io::stdout(), "Connected: {text}")?;
                            before = processes;
                        }
                    }
                }
            }
        };
        ide.stop().await;
        Ok(code?)
    }
}

async fn linked(options: Options, signals: &mut Signals) -> Result<ExitCode, IdeFailure> {
    let link = Link::new(tokio::io::stdout());
    let ide = serve(options, Arc::<Link>::clone(&link)).await?;
    let ended = tokio::select! {
        ended = link.attend(tokio::io::stdin(), &ide) => ended,
        _ = signals.next() => Ok(()),
    };
    ide.stop().await;
    ended?;
    Ok(ExitCode::SUCCESS)
}

/// Runs a program in this terminal, and ends as it does.
async fn accompanied(
    program: &str,
    mut command: Command,
    signals: &mut Signals,
) -> Result<ExitCode, IdeFailure> {
    let start = |source| IdeFailure::Start { program: program.to_owned(), source };
    let mut child = command.spawn().map_err(start)?;
    loop {
        tokio::select! {
            status = child.wait() => {
                let wait = |source| IdeFailure::Wait { program: program.to_owned(), source };
                return Ok(code(status.map_err(wait)?));
            }
            kind = signals.next() => {
                // What is typed in the terminal, the program has got itself.
                if kind != SignalKind::interrupt() {
                    pass_on(&child, kind);
                }
            }
        }
    }
}

fn pass_on(child: &Child, kind: SignalKind) {
    let id = child.id().and_then(|id| i32::try_from(id).ok()).and_then(rustix::process::Pid::from_raw);
    let signal = rustix::process::Signal::from_named_raw(kind.as_raw_value());
    if let (Some(id), Some(signal)) = (id, signal) {
        // If it has just ended, that is what was wanted.
        let _ = rustix::process::kill_process(id, signal);
    }
}

fn code(status: ExitStatus) -> ExitCode {
    use std::os::unix::process::ExitStatusExt as _;
    // As shells have it.
    let code = status.code().or_else(|| Some(128 + status.signal()?)).unwrap_or(1);
    ExitCode::from(u8::try_from(code).unwrap_or(1))
}

/// The signals that ask for the end.
struct Signals {
    all: [(SignalKind, Signal); 3],
}

impl Signals {
    fn new() -> io::Result<Self> {
        let [interrupt, terminate, hangup] =
            [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()]
                .map(|kind| signal(kind).map(|signal| (kind, signal)));
        Ok(Self { all: [interrupt?, terminate?, hangup?] })
    }

    async fn next(&mut self) -> SignalKind {
        let [interrupt, terminate, hangup] = &mut self.all;
        tokio::select! {
            _ = interrupt.1.recv() => interrupt.0,
            _ = terminate.1.recv() => terminate.0,
            _ = hangup.1.recv() => hangup.0,
        }
    }
}
