//! `jackfield serve`: a host, its server, and a link to its page.
//!
//! It only composes them. The one rule: it ends in order when it is asked once, and at once when it is asked twice.

use std::env;
use std::io::{self, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use jackfield_host::settings::{AfterLimit, Bypass};
use jackfield_host::store::StoreError;
use jackfield_host::{Host, Settings};
use jackfield_ide::Ide;
use jackfield_sdk::Environment;
use jackfield_server::running::{self, AskError, LinkFor};
use jackfield_server::{
    Board, Listen, MetricsError, NoSecret, ServeError, Serving, ServingMetrics, Transport, serve,
    serve_metrics,
};
use thiserror::Error;

use crate::commands::ide::IdeFailure;
use crate::commands::signals::Signals;
use crate::commands::speech;
use crate::config::{self, Config, Flags, Tls};
use crate::failure::{Exit, Failure};
use crate::telemetry::{self, ExportError, Exporting, LogError, begin_log};
use crate::{page_editor, variables, workbench};

/// How long a host that has just begun may take to answer.
const BEGINNING: Duration = Duration::from_secs(5);
/// How often it is asked meanwhile.
const AGAIN: Duration = Duration::from_millis(100);

/// Serve the page, and hold sessions for every client
///
/// Prints a link that lets one browser in, once, within a minute. If a host already runs on the same data folder, a
/// new link of that one is printed.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  jackfield serve
  jackfield serve --listen 127.0.0.1:0 --no-open
  jackfield serve --listen 0.0.0.0:4180 --set server.tls=self
  jackfield serve --ide ~/project                # and be the editor of a `claude` there
  jackfield serve --data /tmp/try-it")]
pub(crate) struct Serve {
    /// Do not open the page in a browser
    #[arg(long)]
    no_open: bool,
    /// Be the editor of an interactive `claude` in this folder; several are possible
    #[arg(long, value_name = "FOLDER")]
    ide: Vec<PathBuf>,
    #[command(flatten)]
    flags: Flags,
}

/// Why nothing is served.
#[derive(Debug, Error)]
pub(crate) enum ServeFailure {
    #[error("cannot open the data folder: {0}")]
    Store(#[from] StoreError),
    #[error("another host uses the data folder, and gives no link: {0}")]
    Running(#[source] AskError),
    #[error(transparent)]
    Serve(#[from] ServeError),
    #[error(transparent)]
    NoSecret(#[from] NoSecret),
    #[error("cannot listen to signals: {0}")]
    Signals(#[source] io::Error),
    #[error("cannot find this program's own file: {0}")]
    Program(#[source] io::Error),
    #[error(transparent)]
    Export(#[from] ExportError),
    #[error(transparent)]
    Log(#[from] LogError),
    #[error(transparent)]
    Metrics(#[from] MetricsError),
    #[error("`metrics.listen` is set, and `metrics.enabled` is off: there would be nothing to tell")]
    NothingCounted,
    #[error("of `server.certificate` and `server.key` only one is set")]
    HalfCertificate,
}

impl ServeFailure {
    pub(crate) fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Serve(ServeError::Address { source, .. }) if source.kind() == io::ErrorKind::AddrInUse => {
                Some("something else listens there; choose another port with `--listen 127.0.0.1:0`")
            }
            Self::Serve(ServeError::Address { .. }) => Some("`--listen 127.0.0.1:4180` is the usual place"),
            Self::Serve(ServeError::NotLoopback(_)) => Some(
                "`--set server.tls=self` makes a certificate, `server.certificate` and `server.key` name yours; \
                 behind a proxy or a tunnel listen on 127.0.0.1",
            ),
            Self::Serve(ServeError::Tls(_)) => Some(
                "`server.certificate` and `server.key` are files in PEM; `server.tls = \"self\"` needs none",
            ),
            Self::Serve(ServeError::Name(_)) => Some("`server.names` has them"),
            Self::Serve(ServeError::BasePath(_)) => Some("`server.base_path` has it"),
            Self::Metrics(MetricsError::NotLoopback(_)) => Some(
                "who asks there needs no login, so `metrics.listen` is an address such as 127.0.0.1:9464; with a \
                 login figures are at the page's address too",
            ),
            Self::Metrics(MetricsError::Address { source, .. })
                if source.kind() == io::ErrorKind::AddrInUse =>
            {
                Some("something else listens there; choose another port for `metrics.listen`")
            }
            Self::Metrics(MetricsError::Address { .. }) => {
                Some("`metrics.listen` has it; 127.0.0.1:9464 is a usual place")
            }
            Self::NothingCounted => Some("set `metrics.enabled = true`, or leave `metrics.listen` out"),
            Self::HalfCertificate => Some("a certificate is of no use without its key; set both or none"),
            Self::Serve(ServeError::Socket { .. }) => Some(
                "the path of a socket can have about 100 characters; choose a shorter folder with `--data`",
            ),
            Self::Store(StoreError::Newer { .. }) => {
                Some("nothing was changed; use the newer version, or another folder with `--data`")
            }
            Self::Store(_) => Some("the folder must be yours and writable; choose another one with `--data`"),
            Self::Export(error) => Some(error.hint()),
            Self::Log(_) => Some("the data folder must be yours and writable, or set `log.level = \"off\"`"),
            Self::Running(_) => Some("end the other host, or choose another folder with `--data`"),
            Self::Serve(ServeError::Access(_)) | Self::NoSecret(_) | Self::Signals(_) | Self::Program(_) => {
                None
            }
        }
    }
}

impl Serve {
    pub(crate) fn run(&self) -> Result<ExitCode, Failure> {
        let environment: Environment = env::vars_os().collect();
        let mut config = config::load(&self.flags, &environment)?.config;
        if !self.ide.is_empty() {
            config.ide.folders.clone_from(&self.ide);
        }
        let folder = config.data_folder()?.to_owned();
        let runtime =
            tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(Failure::Runtime)?;
        let browser = Browser::chosen(self, &config, &environment);
        let code = runtime.block_on(served(&config, folder, &environment, browser));
        // After a second signal nothing is waited for.
        runtime.shutdown_background();
        code
    }
}

/// How a host is set up by the configuration.
pub(crate) fn settings(config: &Config, environment: &Environment) -> Result<Settings, Failure> {
    let program = env::current_exe().map_err(ServeFailure::Program)?;
    let own = |command: &str| vec![program.clone().into_os_string(), command.into()];
    let claude = &config.claude;
    let allowed = claude.environment.allow.iter().filter_map(|name| {
        let value = environment.get(std::ffi::OsStr::new(name))?;
        Some((name.into(), Some(value.clone())))
    });
    let denied = claude.environment.deny.iter().map(|name| (name.into(), None));
    // The only one of ours that an agent may see.
    let speed = &variables::DEMO_SPEED;
    let speed = speed.get(environment).map(|value| (speed.name.into(), Some(value.to_owned())));
    Ok(Settings {
        claude: claude.program.clone(),
        guard: Some(own("guard")),
        demo: config.demo.enabled.then(|| own("demo-agent")),
        variables: allowed.chain(denied).chain(speed).collect(),
        model: claude.model.clone(),
        permission_mode: claude.permission_mode.clone(),
        bypass: if claude.allow_bypass { Bypass::Allowed } else { Bypass::Forbidden },
        budget_usd: config.limits.budget_usd_per_session,
        max_running: config.limits.max_running_sessions,
        idle: match config.limits.idle_minutes {
            0 => None,
            minutes => Some(Duration::from_secs(u64::from(minutes) * 60)),
        },
        after_limit: if config.limits.resume_after_limit { AfterLimit::Retry } else { AfterLimit::Wait },
        outfit: workbench::outfit(config, environment),
        ..Settings::new(config.data_folder()?)
    })
}

async fn served(
    config: &Config,
    folder: PathBuf,
    environment: &Environment,
    browser: Browser,
) -> Result<ExitCode, Failure> {
    let mut signals = Signals::new().map_err(ServeFailure::Signals)?;
    if config.metrics.listen.is_some() && !config.metrics.enabled {
        return Err(ServeFailure::NothingCounted.into());
    }
    let mut listen = listen(config, &folder)?;
    let board = (!config.ide.folders.is_empty()).then(Board::default);
    listen.editor.clone_from(&board);
    listen.speech = speech::dictating(config)?;
    let (observe, exporting) =
        telemetry::observe(config, environment, &folder).map_err(ServeFailure::Export)?;
    let host = match Host::open(Settings { observe, ..settings(config, environment)? }).await {
        Ok(host) => host,
        Err(StoreError::InUse { .. }) => {
            let link = link_of_running(&folder).await.map_err(ServeFailure::Running)?;
            print(&format!(
                "A host already runs on this data folder. A new link, good once and for a minute:\n\n  {link}\n"
            ))?;
            browser.open(&folder, &link);
            return Ok(ExitCode::SUCCESS);
        }
        Err(error) => return Err(ServeFailure::Store(error).into()),
    };
    // Only who has the folder writes into its log.
    if let Err(error) = begin_log(config, &folder) {
        host.close().await;
        return Err(ServeFailure::Log(error).into());
    }
    tracing::info!(version = env!("CARGO_PKG_VERSION"), traces = exporting.is_some(), "host begins");
    if let Some(exporting) = &exporting {
        exporting.tell();
    }
    let serving = match serve(host.clone(), listen).await {
        Ok(serving) => serving,
        Err(error) => {
            host.close().await;
            return Err(ServeFailure::Serve(error).into());
        }
    };
    let metrics = match config.metrics.listen {
        Some(address) => match serve_metrics(host.clone(), address).await {
            Ok(metrics) => Some(metrics),
            Err(error) => {
                stopped(serving, host, None, Watched { exporting, metrics: None }).await;
                return Err(ServeFailure::Metrics(error).into());
            }
        },
        None => None,
    };
    let told = metrics
        .as_ref()
        .map(|metrics| format!("Its figures are at http://{}/metrics\n\n", metrics.address()));
    let watched = Watched { exporting, metrics };
    let ide = match board {
        Some(board) => match editor(config, environment, board).await {
            Ok(ide) => Some(ide),
            Err(error) => {
                stopped(serving, host, None, watched).await;
                return Err(error.into());
            }
        },
        None => None,
    };
    let link = serving.link().map_err(ServeFailure::NoSecret)?;
    let (address, page) = (serving.address(), serving.page());
    let certificate = serving.fingerprint().map(|fingerprint| {
        format!("The SHA-256 fingerprint of its certificate, for comparing with what browsers show:\n\n  {fingerprint}\n\n")
    });
    let connecting = ide.as_ref().map(|ide| {
        format!("The page is the editor of a `claude` that is started with\n\n  CLAUDE_CODE_SSE_PORT={} claude\n\n", ide.port())
    });
    print(&format!(
        "Jackfield serves on {page} (listening on {address})\n\n{}This link lets one browser in, once, within a \
         minute:\n\n  {link}\n\n{}{}`jackfield link` makes another, for a phone as a QR code. Ctrl-C stops the host.\n",
        certificate.unwrap_or_default(),
        connecting.unwrap_or_default(),
        told.unwrap_or_default()
    ))?;
    browser.open(&folder, &link);

    signals.next().await;
    let _ = writeln!(io::stderr(), "jackfield: stopping; once more stops at once");
    tokio::select! {
        () = stopped(serving, host, ide, watched) => Ok(ExitCode::SUCCESS),
        () = signals.next() => Ok(Exit::Interrupted.into()),
    }
}

/// Where and how a server listens by the configuration.
fn listen(config: &Config, folder: &Path) -> Result<Listen, ServeFailure> {
    let server = &config.server;
    let transport = match (&server.certificate, &server.key, server.tls) {
        (Some(certificate), Some(key), _) => {
            Transport::Certificate { certificate: certificate.clone(), key: key.clone() }
        }
        (Some(_), None, _) | (None, Some(_), _) => return Err(ServeFailure::HalfCertificate),
        (None, None, Tls::Own) => Transport::OwnCertificate,
        (None, None, Tls::Off) if server.allow_plain_http_beyond_loopback => Transport::PlainBeyondLoopback,
        (None, None, Tls::Off) => Transport::Plain,
    };
    let (names, base_path) = (server.names.clone(), server.base_path.clone().unwrap_or_default());
    Ok(Listen { transport, names, base_path, ..Listen::new(server.listen, folder) })
}

/// Lets CLIs connect to the page.
async fn editor(config: &Config, environment: &Environment, board: Board) -> Result<Ide, IdeFailure> {
    let lock_folder = workbench::lock_folders(environment).ok_or(IdeFailure::NoHome)?;
    Ok(page_editor::begin(config, environment, lock_folder, board).await?)
}

async fn stopped(serving: Serving, host: Host, ide: Option<Ide>, watched: Watched) {
    if let Some(ide) = ide {
        ide.stop().await;
    }
    if let Some(metrics) = watched.metrics {
        metrics.stop().await;
    }
    serving.stop().await;
    host.close().await;
    // The last spans are those of what was just closed.
    if let Some(exporting) = watched.exporting {
        exporting.close().await;
    }
}

/// What tells others of the host, and is to be ended with it.
#[derive(Debug)]
struct Watched {
    exporting: Option<Exporting>,
    metrics: Option<ServingMetrics>,
}

/// A new link of the host that runs on a folder; one that has just begun may not listen yet.
async fn link_of_running(folder: &Path) -> Result<String, AskError> {
    let asked = async {
        loop {
            match running::link(folder, &LinkFor::default()).await {
                Err(AskError::Connect { .. }) => tokio::time::sleep(AGAIN).await,
                answer => return answer,
            }
        }
    };
    match tokio::time::timeout(BEGINNING, asked).await {
        Ok(answer) => answer,
        Err(_) => running::link(folder, &LinkFor::default()).await,
    }
}

fn print(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout();
    stdout.write_all(text.as_bytes())?;
    stdout.flush()
}

/// Whether the page is opened in a browser.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Browser {
    Opened,
    Left,
}

impl Browser {
    fn chosen(serve: &Serve, config: &Config, environment: &Environment) -> Self {
        // Without a screen a text browser might take the terminal.
        let screen = cfg!(target_os = "macos")
            || variables::DISPLAY.get(environment).is_some()
            || variables::WAYLAND_DISPLAY.get(environment).is_some();
        let wanted = config.server.open_browser && !serve.no_open;
        if wanted && screen && io::stdout().is_terminal() { Self::Opened } else { Self::Left }
    }

    fn open(self, folder: &Path, link: &str) {
        if self == Self::Opened {
            // The link is printed; a browser that does not open is no failure.
            let _ = jackfield_server::doorstep(folder, link).and_then(open::that_detached);
        }
    }
}
