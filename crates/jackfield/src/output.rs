//! Events to standard output: JSON, one per line, or text to read.
//!
//! The one rule: whoever may wait afterwards flushes first, so a reader never waits for what is known.

use std::env;
use std::io::{self, IsTerminal, Write};

use clap::{Args, ValueEnum};
use jackfield_api::codec;
use jackfield_core::{Output as Wanted, Session};

use crate::readable::{Colours, Readable};
use crate::variables;

/// Written out when it is this full, and whenever nothing more is at hand.
const FULL: usize = 64 * 1024;

/// How to print.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct Printing {
    /// How to print; by default text on a terminal and JSON elsewhere
    #[arg(long, value_enum)]
    format: Option<Form>,
    /// Whether text has colours; `auto` means on a terminal, unless `NO_COLOR` is set or `TERM` is `dumb`
    #[arg(long, value_enum, value_name = "WHEN", default_value_t = When::Auto)]
    color: When,
}

/// How events are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Form {
    /// One JSON object per line
    Json,
    /// Text to read
    Text,
}

/// When there are colours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum When {
    Auto,
    Always,
    Never,
}

impl When {
    /// Whether text on standard output has colours.
    pub(crate) fn colours(self, output: &impl IsTerminal) -> Colours {
        match self {
            Self::Always => Colours::On,
            Self::Auto if output.is_terminal() && colours_are_welcome() => Colours::On,
            Self::Auto | Self::Never => Colours::Off,
        }
    }
}

/// Standard output.
pub(crate) struct Output {
    to: io::StdoutLock<'static>,
    buffer: Vec<u8>,
    readable: Option<Readable>,
}

impl Output {
    /// In the wanted form, or in the one that suits where the output goes.
    pub(crate) fn new(printing: Printing) -> Self {
        let stdout = io::stdout();
        let terminal = stdout.is_terminal();
        let form = printing.format.unwrap_or(if terminal { Form::Text } else { Form::Json });
        let colours = printing.color.colours(&stdout);
        let readable = (form == Form::Text).then(|| Readable::new(colours));
        Self { to: stdout.lock(), buffer: Vec::with_capacity(FULL * 2), readable }
    }

    /// Prints all events that a session has. Its other wishes are for a live CLI, and there is none.
    pub(crate) fn drain(&mut self, session: &mut Session) -> io::Result<()> {
        while let Some(wanted) = session.poll() {
            let Wanted::Event(event) = wanted else { continue };
            if let Some(readable) = &mut self.readable {
                readable.print(&event, &mut self.buffer);
            } else {
                codec::encode(&event, &mut self.buffer);
                self.buffer.push(b'\n');
            }
        }
        if self.buffer.len() >= FULL { self.flush() } else { Ok(()) }
    }

    /// Prints one value as JSON on one line.
    pub(crate) fn print(&mut self, value: &impl serde::Serialize) -> io::Result<()> {
        serde_json::to_writer(&mut self.buffer, value)?;
        self.buffer.push(b'\n');
        Ok(())
    }

    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.to.write_all(&self.buffer)?;
        self.buffer.clear();
        // One event of many megabytes does not stay in memory for good.
        self.buffer.shrink_to(FULL * 2);
        self.to.flush()
    }
}

/// Whether the environment speaks against colours.
fn colours_are_welcome() -> bool {
    let environment = env::vars_os().collect();
    let unable = variables::TERM.get(&environment).is_some_and(|term| term == "dumb");
    variables::NO_COLOR.get(&environment).is_none() && !unable
}
