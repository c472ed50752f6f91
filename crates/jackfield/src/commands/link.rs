//! `jackfield link`: a one-time link of the running host, for another device.
//!
//! What a link lets somebody do is the host's business. The one rule it keeps: the link is on the screen and nowhere
//! else.

use std::env;
use std::io::{self, IsTerminal as _, Write as _};

use clap::{Args, ValueEnum};
use jackfield_api::socket::Scope;
use jackfield_sdk::Environment;
use jackfield_server::running::{self, AskError, LinkFor};
use qrcode::render::unicode::Dense1x2;
use qrcode::{EcLevel, QrCode};
use thiserror::Error;

use crate::config::{self, Flags};
use crate::failure::Failure;

/// Black on white, whatever the terminal's colours are: not every camera reads the reverse.
const PAPER: &str = "\x1b[38;5;16;48;5;231m";
const PLAIN: &str = "\x1b[0m";

/// Print a link that lets another browser in
///
/// It is good once and for a minute. `jackfield devices` lists who came in, and lets nobody in any more.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  jackfield link
  jackfield link --scope answer --name phone --qr")]
pub(crate) struct Link {
    /// What the browser may do
    #[arg(long, value_enum, default_value_t = Allowed::Admin)]
    scope: Allowed,
    /// What the device is called, in lists and in who answered what
    #[arg(long)]
    name: Option<String>,
    /// Also as a QR code, for a phone's camera
    #[arg(long)]
    qr: bool,
    #[command(flatten)]
    flags: Flags,
}

/// What a browser may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Allowed {
    /// Look
    View,
    /// Look, answer questions, prompt, interrupt, and read files
    Answer,
    /// Everything
    Admin,
}

/// Why there is no link.
#[derive(Debug, Error)]
pub(crate) enum LinkFailure {
    #[error("no host gives a link: {0}")]
    Ask(#[from] AskError),
    #[error("cannot draw the link: {0}")]
    Draw(#[from] qrcode::types::QrError),
}

impl LinkFailure {
    pub(crate) fn hint(&self) -> &'static str {
        match self {
            Self::Ask(error) => no_host(error),
            Self::Draw(_) => "without `--qr` it is printed as text",
        }
    }
}

/// What to do about a host that does not answer.
pub(crate) fn no_host(error: &AskError) -> &'static str {
    match error {
        AskError::Connect { .. } => "`jackfield serve` starts a host; `--data` names its folder",
        AskError::Failed(_) | AskError::Refused(_) | AskError::TimedOut => {
            "start the host anew with this version"
        }
    }
}

impl Link {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let environment: Environment = env::vars_os().collect();
        let config = config::load(&self.flags, &environment)?.config;
        let folder = config.data_folder()?;
        let scope = match self.scope {
            Allowed::View => Scope::View,
            Allowed::Answer => Scope::Answer,
            Allowed::Admin => Scope::Admin,
        };
        let wanted = LinkFor { scope: Some(scope), name: self.name.clone() };
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Failure::Runtime)?;
        let link = runtime.block_on(running::link(folder, &wanted)).map_err(LinkFailure::Ask)?;
        let drawn = if self.qr { drawn(&link, io::stdout().is_terminal())? } else { String::new() };
        Ok(writeln!(io::stdout(), "{drawn}{link}")?)
    }
}

fn drawn(link: &str, coloured: bool) -> Result<String, LinkFailure> {
    let code = QrCode::with_error_correction_level(link, EcLevel::L)?;
    let image = code.render::<Dense1x2>().quiet_zone(true).build();
    let (paper, plain) = if coloured { (PAPER, PLAIN) } else { ("", "") };
    let mut drawn = String::new();
    for line in image.lines() {
        drawn.extend([paper, line, plain, "\n"]);
    }
    Ok(drawn)
}
