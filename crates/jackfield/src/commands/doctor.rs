//! `jackfield doctor`: whether everything that a session needs is there, and how to mend what is not.
//!
//! It changes nothing: the CLI is started once in an empty folder and ended again, and asked nothing that costs
//! money. The one rule: what is wrong is told as a plain sentence with its next step, and told apart.

mod bundle;
mod cli;
mod report;
mod speech;
mod surroundings;
mod tools;

use std::env;
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use jackfield_sdk::Environment;

pub(crate) use self::bundle::BundleError;
use self::bundle::{Bundle, Consent};
use self::report::{Check, Report, Unread};
use crate::config::{self, Effective, Flags};
use crate::failure::Failure;
use crate::output::When;

/// Check the CLI, its login and everything around it
///
/// Starts the CLI once, in an empty folder and without a prompt, and looks at the configuration, the data
/// folder, the port, git, the tools of sessions and the terminal. Ends with 1 if there is a problem, and with
/// 0 if there is none, however many remarks there are.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  jackfield doctor
  jackfield doctor --claude ~/.local/bin/claude
  jackfield doctor --bundle report.json
  jackfield doctor --speech
  jackfield doctor --json | jq -r '.checks[] | select(.state == \"problem\").mend'")]
pub(crate) struct Doctor {
    /// Print JSON: one object with all checks
    #[arg(long)]
    json: bool,
    /// Whether marks have colours; `auto` means on a terminal, unless `NO_COLOR` is set or `TERM` is `dumb`
    #[arg(long, value_enum, value_name = "WHEN", default_value_t = When::Auto)]
    color: When,
    /// How long the CLI may take to tell its version, and to get ready
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=3600))]
    timeout: u64,
    /// Look only at dictation: which engines are here, and how to get one
    #[arg(long)]
    speech: bool,
    /// Put versions, configuration, log, drift and the last lines into one file for a bug report; shown before
    #[arg(long, value_name = "FILE", conflicts_with_all = ["json", "speech"])]
    bundle: Option<PathBuf>,
    /// Write the bundle without asking
    #[arg(long, requires = "bundle")]
    yes: bool,
    #[command(flatten)]
    flags: Flags,
}

impl Doctor {
    pub(crate) fn run(&self) -> Result<ExitCode, Failure> {
        if let Some(path) = &self.bundle {
            bundle::check_place(path)?;
        }
        let environment: Environment = env::vars_os().collect();
        let colours = (!self.json).then(|| self.color.colours(&io::stdout()));
        let unread = if self.bundle.is_some() { Unread::GoesOn } else { Unread::Ends };
        let mut report = Report::new(colours, unread);
        let effective = self.configuration(&environment, &mut report)?;
        let limit = Duration::from_secs(self.timeout);
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .map_err(Failure::Runtime)?;
        if self.speech {
            for check in runtime.block_on(speech::check(&effective.config, limit))? {
                report.add(check)?;
            }
            return Ok(report.end()?.into());
        }
        runtime.block_on(cli::check(&effective, &environment, limit, &mut report))?;
        report.add(surroundings::data_folder(&effective.config))?;
        if let Some(check) = surroundings::disk(&effective.config) {
            report.add(check)?;
        }
        report.add(surroundings::port(effective.config.server.listen))?;
        report.add(runtime.block_on(surroundings::git(&environment, limit)))?;
        for check in runtime.block_on(tools::check(&effective.config, &environment, limit)) {
            report.add(check)?;
        }
        report.add(surroundings::terminal(&environment, &io::stdout()))?;
        let checks = report.checks();
        let exit = report.end()?;
        if let Some(path) = &self.bundle {
            let bundle = runtime.block_on(Bundle::gather(&effective, checks));
            bundle.write(path, if self.yes { Consent::Given } else { Consent::Asked })?;
        }
        Ok(exit.into())
    }

    /// The configuration; where it is wrong it is told, and the defaults take its place.
    fn configuration(&self, environment: &Environment, report: &mut Report) -> Result<Effective, Failure> {
        match config::load(&self.flags, environment) {
            Ok(effective) => {
                let says = match &effective.file {
                    Some(file) if effective.file_read => format!("{} is read", file.display()),
                    Some(file) => format!("there is no {}, the defaults are used", file.display()),
                    None => "there is no home for a configuration file, the defaults are used".to_owned(),
                };
                report.add(Check::ok("configuration", "read", says))?;
                Ok(effective)
            }
            Err(error) => {
                let says = format!("{error}; the defaults are used for the rest of this");
                report.add(Check::problem("configuration", "wrong", says, error.hint()))?;
                Ok(Effective::defaults(environment)?)
            }
        }
    }
}
