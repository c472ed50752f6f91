//! The subcommands, one file each.
//!
//! Each reads, feeds the core, and prints; what events there are is decided in the core. The guard is the
//! SDK's, in a program that is always at hand.

mod acp;
mod completions;
mod config;
mod devices;
mod doctor;
mod events;
mod ide;
mod link;
mod man;
mod replay;
mod run;
mod serve;
mod sessions;
mod signals;
mod speech;
mod top;
mod transcribe;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Subcommand;

pub(crate) use acp::AcpFailure;
pub(crate) use devices::DevicesFailure;
pub(crate) use doctor::BundleError;
pub(crate) use ide::IdeFailure;
pub(crate) use link::LinkFailure;
pub(crate) use run::RunFailure;
pub(crate) use run::reach::HostFailure;
pub(crate) use serve::ServeFailure;
pub(crate) use sessions::SessionsFailure;
pub(crate) use speech::SpeechFailure;
pub(crate) use top::TopFailure;

use crate::demo;
use crate::failure::Failure;

/// What the program can do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Events(events::Events),
    Replay(replay::Replay),
    Doctor(doctor::Doctor),
    Config(config::Config),
    Completions(completions::Completions),
    Man(man::Man),
    Serve(serve::Serve),
    Link(link::Link),
    Devices(devices::Devices),
    Run(Box<run::Run>),
    Sessions(sessions::Sessions),
    Top(top::Top),
    Speech(speech::Speech),
    Transcribe(transcribe::Transcribe),
    Ide(ide::Ide),
    Acp(acp::Acp),
    /// Hold a CLI process, and end its whole tree when the host is gone
    #[command(hide = true)]
    Guard {
        /// The guard's own words, `--`, and the program with its arguments
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<OsString>,
    },
    /// Understand speech, for the process that has started this one
    #[command(hide = true)]
    Recognizer {
        /// The engine, as JSON
        setup: String,
    },
    /// Speak like the CLI, from a script: no account, no model
    #[command(hide = true, disable_help_flag = true, disable_version_flag = true)]
    DemoAgent {
        /// The CLI's own arguments
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<OsString>,
    },
}

impl Command {
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        match self {
            Self::Events(events) => events.run()?,
            Self::Replay(replay) => replay.run()?,
            Self::Doctor(doctor) => return doctor.run(),
            Self::Config(config) => config.run()?,
            Self::Completions(completions) => completions.run()?,
            Self::Man(man) => man.run()?,
            Self::Serve(serve) => return serve.run(),
            Self::Link(link) => link.run()?,
            Self::Devices(devices) => devices.run()?,
            Self::Run(run) => return run.run(),
            Self::Sessions(sessions) => return sessions.run(),
            Self::Top(top) => return top.run(),
            Self::Speech(speech) => speech.run()?,
            Self::Transcribe(transcribe) => transcribe.run()?,
            Self::Ide(ide) => return ide.run(),
            Self::Acp(acp) => return acp.run(),
            Self::Guard { words } => return Ok(jackfield_sdk::guard::run(words)),
            Self::Recognizer { setup } => return Ok(jackfield_speech::recognizer_process(&setup)),
            Self::DemoAgent { words } => return demo::run(&words),
        }
        Ok(ExitCode::SUCCESS)
    }
}
