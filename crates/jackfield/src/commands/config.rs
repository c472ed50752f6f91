//! `jackfield config`: what is set, and by whom.
//!
//! It changes nothing. The one rule: what it prints is a configuration file again.

use std::env;
use std::io::{self, Write};

use clap::Args;
use serde_json::{Value, json};

use crate::config::{self, Effective, Flags};
use crate::failure::Failure;

/// Print the configuration, and where each value comes from
///
/// What is printed is a configuration file itself, with the place of each value behind it: the default, a
/// line of the file, a variable or a flag.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  jackfield config
  jackfield config --example > ~/.config/jackfield/config.toml
  jackfield config --set limits.idle_minutes=5 --json")]
pub(crate) struct Config {
    /// Print a complete file with comments instead
    #[arg(long)]
    example: bool,
    /// Print the reference of all options and variables as Markdown instead
    #[arg(long, conflicts_with = "example")]
    reference: bool,
    /// Print JSON: one object with the file and the options
    #[arg(long, conflicts_with_all = ["example", "reference"])]
    json: bool,
    #[command(flatten)]
    flags: Flags,
}

impl Config {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let text = if self.example {
            config::example()
        } else if self.reference {
            config::reference()
        } else {
            let effective = config::load(&self.flags, &env::vars_os().collect())?;
            if self.json { format!("{:#}\n", object(&effective)) } else { config::effective(&effective) }
        };
        Ok(io::stdout().write_all(text.as_bytes())?)
    }
}

fn object(effective: &Effective) -> Value {
    let options = effective
        .values
        .iter()
        .map(|known| json!({ "option": known.setting.key, "value": known.value, "from": known.from }));
    json!({
        "file": effective.file,
        "file_read": effective.file_read,
        "options": options.collect::<Vec<_>>(),
    })
}
