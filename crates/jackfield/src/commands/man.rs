//! `jackfield man`: the manual, a page for the program and one for each command.
//!
//! The pages are made of the help, so that they never differ. The one rule: what is hidden has no page.

use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;

use clap::{Args, Command};
use clap_mangen::Man as Page;

use super::completions::visible;
use crate::failure::Failure;

/// Print the manual, to be shown by `man`
///
/// Without a folder all pages are printed one behind the other.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  jackfield man | man -l -
  jackfield man --dir ~/.local/share/man/man1")]
pub(crate) struct Man {
    /// Write one file for each page into this folder
    #[arg(long, value_name = "FOLDER")]
    dir: Option<PathBuf>,
}

impl Man {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let mut stdout = io::stdout().lock();
        for page in pages() {
            let mut text = Vec::new();
            page.render(&mut text)?;
            match &self.dir {
                None => stdout.write_all(&text)?,
                Some(folder) => {
                    let path = folder.join(page.get_filename());
                    let written = fs::create_dir_all(folder).and_then(|()| fs::write(&path, text));
                    let path = path.display().to_string();
                    written.map_err(|source| Failure::Written { path, source })?;
                }
            }
        }
        Ok(())
    }
}

/// The program's page, and behind it those of its commands at every depth.
fn pages() -> Vec<Page> {
    let mut whole = visible().disable_help_subcommand(true);
    whole.build();
    let mut pages = Vec::new();
    let mut waiting = vec![whole];
    while let Some(command) = waiting.pop() {
        let below: Vec<Command> =
            command.get_subcommands().filter(|below| !below.is_hide_set()).cloned().collect();
        waiting.extend(below.into_iter().rev());
        pages.push(Page::new(command).manual("Jackfield"));
    }
    pages
}
