//! `jackfield devices`: who was let in, and letting one in no more.
//!
//! It asks the running host. The one rule it keeps: a device is revoked only if exactly one is meant.

use std::env;
use std::io::{self, Write as _};
use std::time::{SystemTime, UNIX_EPOCH};

use clap::{Args, Subcommand};
use jackfield_api::Timestamp;
use jackfield_api::socket::Scope;
use jackfield_sdk::Environment;
use jackfield_server::running::{self, AskError, Device};
use thiserror::Error;

use super::link::no_host;
use super::sessions::table::{ago, table};
use crate::config::{self, Flags};
use crate::failure::{Exit, Failure};
use crate::output::When;

/// List the browsers that were let in, and let one in no more
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  jackfield devices list
  jackfield devices revoke phone")]
pub(crate) struct Devices {
    #[command(subcommand)]
    command: Wanted,
    /// Print JSON
    #[arg(long, global = true)]
    json: bool,
    #[command(flatten)]
    flags: Flags,
}

#[derive(Debug, Subcommand)]
enum Wanted {
    /// List them, the last seen first
    List,
    /// Let one in no more; its connections end at once
    Revoke {
        /// Its name, its id, or the beginning of its id
        device: String,
    },
}

/// Why nothing was done.
#[derive(Debug, Error)]
pub(crate) enum DevicesFailure {
    #[error("no host tells its devices: {0}")]
    Ask(#[from] AskError),
    #[error("there is no device `{0}`")]
    NoDevice(String),
    #[error("{count} devices are called `{word}`, or begin so")]
    Ambiguous { word: String, count: usize },
}

impl DevicesFailure {
    pub(crate) fn exit(&self) -> Exit {
        match self {
            Self::Ask(_) => Exit::Failed,
            Self::NoDevice(_) | Self::Ambiguous { .. } => Exit::Usage,
        }
    }

    pub(crate) fn hint(&self) -> &'static str {
        match self {
            Self::Ask(error) => no_host(error),
            Self::NoDevice(_) => "`jackfield devices list` names them all",
            Self::Ambiguous { .. } => "give the id, or more of it",
        }
    }
}

impl Devices {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let environment: Environment = env::vars_os().collect();
        let config = config::load(&self.flags, &environment)?.config;
        let folder = config.data_folder()?;
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Failure::Runtime)?;
        let devices = runtime.block_on(running::devices(folder)).map_err(DevicesFailure::Ask)?;
        match &self.command {
            Wanted::List => self.print(&devices),
            Wanted::Revoke { device } => {
                let device = chosen(devices, device)?;
                runtime.block_on(running::revoke(folder, &device)).map_err(DevicesFailure::Ask)?;
                if self.json {
                    return self.print(&[device]);
                }
                let name = device.name.as_deref().unwrap_or("the browser");
                Ok(writeln!(io::stdout(), "{name} ({}) is no longer let in", device.id)?)
            }
        }
    }

    fn print(&self, devices: &[Device]) -> Result<(), Failure> {
        if self.json {
            return Ok(writeln!(io::stdout(), "{}", serde_json::to_string(devices).unwrap_or_default())?);
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
        let now = Timestamp(u64::try_from(now).unwrap_or_default());
        let row = |device: &Device| {
            [
                device.id.clone(),
                scope(device.scope).to_owned(),
                ago(Timestamp(device.last_seen), now),
                ago(Timestamp(device.created), now),
                device.name.clone().unwrap_or_default(),
            ]
        };
        let rows: Vec<_> = devices.iter().map(row).collect();
        let stdout = io::stdout();
        let colours = When::Auto.colours(&stdout);
        let heading = ["ID", "MAY", "SEEN", "SINCE", "NAME"];
        Ok(stdout.lock().write_all(&table(heading, &rows, None, colours))?)
    }
}

/// The one that is meant. A name that is also the beginning of another's id is the name.
fn chosen(devices: Vec<Device>, word: &str) -> Result<Device, DevicesFailure> {
    let named = |device: &Device| device.name.as_deref() == Some(word) || device.id == word;
    let begun = |device: &Device| device.id.starts_with(word);
    let exact = devices.iter().any(named);
    let mut found: Vec<Device> =
        devices.into_iter().filter(|device| if exact { named(device) } else { begun(device) }).collect();
    match (found.pop(), found.len()) {
        (None, _) => Err(DevicesFailure::NoDevice(word.to_owned())),
        (Some(device), 0) => Ok(device),
        (Some(_), others) => Err(DevicesFailure::Ambiguous { word: word.to_owned(), count: others + 1 }),
    }
}

fn scope(scope: Scope) -> &'static str {
    match scope {
        Scope::View => "view",
        Scope::Answer => "answer",
        Scope::Admin => "admin",
    }
}
