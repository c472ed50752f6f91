//! `jackfield completions`: a script that makes a shell complete the command line.
//!
//! The one rule: it offers what the help shows, and nothing that is hidden.

use std::io::{self, Write};

use clap::{Args, Command, CommandFactory};
use clap_complete::Shell;

use crate::failure::Failure;

/// Print a completion script for a shell
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  jackfield completions bash > ~/.local/share/bash-completion/completions/jackfield
  jackfield completions zsh > ~/.zfunc/_jackfield
  jackfield completions fish > ~/.config/fish/completions/jackfield.fish")]
pub(crate) struct Completions {
    /// The shell
    shell: Shell,
}

impl Completions {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut visible(), "jackfield", &mut script);
        Ok(io::stdout().write_all(&script)?)
    }
}

/// The program's command line without what is hidden.
pub(super) fn visible() -> Command {
    let whole = crate::Arguments::command();
    let text = |text: Option<&clap::builder::StyledStr>| text.cloned().unwrap_or_default();
    Command::new("jackfield")
        .version(env!("CARGO_PKG_VERSION"))
        .propagate_version(true)
        .about(text(whole.get_about()))
        .after_help(text(whole.get_after_help()))
        .subcommand_required(true)
        .args(whole.get_arguments().filter(|argument| !argument.is_hide_set()))
        .subcommands(whole.get_subcommands().filter(|command| !command.is_hide_set()))
}
