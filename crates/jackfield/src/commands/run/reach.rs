//! A way to a host: the running one, or one in this process when there is none.
//!
//! What is asked of it is not its business. The one rule it keeps: two hosts never use one data folder, and a host of
//! this process ends in order.

use std::io;
use std::path::Path;
use std::time::Duration;

use jackfield_api::command::RejectionCode;
use jackfield_client::{Client, ClientError};
use jackfield_host::observe::{Counting, Lines, Observe};
use jackfield_host::store::{StoreError, Syncing};
use jackfield_host::{Host, Settings};
use jackfield_sdk::Environment;
use tempfile::TempDir;
use thiserror::Error;
use tokio::time::{Instant, sleep};

use crate::commands::serve::settings;
use crate::config::Config;
use crate::failure::{Exit, Failure};
use crate::telemetry::{self, ExportError, Exporting};

/// How often it is looked for while it begins.
const AGAIN: Duration = Duration::from_millis(50);

/// Why a host did not do what a command wanted of it.
#[derive(Debug, Error)]
pub(crate) enum HostFailure {
    #[error(transparent)]
    Client(#[from] ClientError),
    #[error("cannot open the data folder: {0}")]
    Store(#[source] StoreError),
    #[error("{0}, and it does not listen")]
    InUse(#[source] StoreError),
    #[error("cannot make a private folder: {0}")]
    Private(#[source] io::Error),
    #[error("there is no session `{0}`")]
    NoSession(String),
    #[error("there is no session yet")]
    NoSessions,
    #[error("{count} sessions begin with `{prefix}`")]
    Ambiguous { prefix: String, count: usize },
}

impl HostFailure {
    pub(crate) fn exit(&self) -> Exit {
        match self {
            Self::NoSession(_) | Self::NoSessions | Self::Ambiguous { .. } => Exit::Usage,
            Self::Client(error) => match error.code() {
                Some(RejectionCode::Invalid | RejectionCode::NotFound) => Exit::Usage,
                _ => Exit::Failed,
            },
            Self::Store(_) | Self::InUse(_) | Self::Private(_) => Exit::Failed,
        }
    }

    pub(crate) fn hint(&self) -> Option<&'static str> {
        match self {
            Self::NoSession(_) => Some("`jackfield sessions list --all` names them all"),
            Self::NoSessions => Some("`jackfield run \"…\"` begins one"),
            Self::Ambiguous { .. } => Some("give more of its name"),
            Self::InUse(_) => Some(
                "another `jackfield run` may be at work; wait for it, or use another folder with `--data`",
            ),
            Self::Store(StoreError::Newer { .. }) => {
                Some("nothing was changed; use the newer version, or another folder with `--data`")
            }
            Self::Store(_) => Some("the folder must be yours and writable; choose another one with `--data`"),
            Self::Client(ClientError::OtherVersion(_)) => {
                Some("start the running host anew with this version")
            }
            Self::Client(_) | Self::Private(_) => None,
        }
    }
}

/// Who sends the spans of a host of this process, or why nobody does.
type Sending = Result<Option<Exporting>, ExportError>;

/// How a host of this process is set up, with its debug files in a folder, and who sends its spans. Whoever is told
/// anything is at the other end of this process's pipes, so nobody could ask for figures or lines.
fn own_settings(
    config: &Config,
    environment: &Environment,
    folder: &Path,
) -> Result<(Settings, Sending), Failure> {
    let (observe, sending) = match telemetry::observe(config, environment, folder) {
        Ok((observe, exporting)) => (observe, Ok(exporting)),
        // The variables may be meant for other programs.
        Err(error) => (telemetry::without_spans(config, folder), Err(error)),
    };
    let observe = Observe { figures: Counting::Off, lines: Lines::Gone, ..observe };
    Ok((Settings { syncing: Syncing::Behind, observe, ..settings(config, environment)? }, sending))
}

/// A host, and a way to it.
#[derive(Debug)]
pub(crate) struct Reached {
    pub(crate) client: Client,
    own: Option<Own>,
}

/// A host of this process.
#[derive(Debug)]
struct Own {
    host: Host,
    sending: Sending,
    /// Gone with it.
    _folder: Option<TempDir>,
}

impl Reached {
    /// The host that keeps the user's sessions. One that has just begun may take a while to listen.
    pub(crate) async fn usual(
        config: &Config,
        environment: &Environment,
        name: &str,
        patience: Duration,
    ) -> Result<Self, Failure> {
        let folder = config.data_folder()?;
        let until = Instant::now() + patience;
        loop {
            if let Some(client) = Client::running(folder, name).await.map_err(HostFailure::Client)? {
                return Ok(Self { client, own: None });
            }
            let (settings, sending) = own_settings(config, environment, folder)?;
            match Host::open(settings).await {
                Ok(host) => return Ok(Self::own(host, sending, name, None)),
                // It may be just beginning, or just ending.
                Err(StoreError::InUse { .. }) if Instant::now() < until => sleep(AGAIN).await,
                Err(error @ StoreError::InUse { .. }) => return Err(HostFailure::InUse(error).into()),
                Err(error) => return Err(HostFailure::Store(error).into()),
            }
        }
    }

    /// A host that nobody else knows, and that keeps nothing.
    pub(crate) async fn private(
        config: &Config,
        environment: &Environment,
        name: &str,
    ) -> Result<Self, Failure> {
        let folder = tempfile::Builder::new().prefix("jackfield-").tempdir().map_err(HostFailure::Private)?;
        // Debug files stay, where everybody's are.
        let usual = config.data_folder().unwrap_or(folder.path());
        let mut private = config.clone();
        private.data.folder = Some(folder.path().to_owned());
        let (settings, sending) = own_settings(&private, environment, usual)?;
        let host = Host::open(settings).await.map_err(HostFailure::Store)?;
        Ok(Self::own(host, sending, name, Some(folder)))
    }

    fn own(host: Host, sending: Sending, name: &str, folder: Option<TempDir>) -> Self {
        let client = Client::here(host.clone(), name);
        Self { client, own: Some(Own { host, sending, _folder: folder }) }
    }

    /// Says on standard error what cannot be watched of a host of this process, from now on.
    pub(crate) fn warn(&self) {
        if let Some(own) = &self.own {
            telemetry::begin_warnings(own.sending.as_ref().map(Option::as_ref));
        }
    }

    /// Whether it goes on without this process.
    pub(crate) fn goes_on(&self) -> bool {
        self.own.is_none()
    }

    /// Lets go of it; one of this process ends.
    pub(crate) async fn close(self) {
        if let Some(own) = self.own {
            own.host.close().await;
            if let Ok(Some(exporting)) = own.sending {
                exporting.close().await;
            }
        }
    }
}
