//! Standard output of a run, in one of its formats.
//!
//! What came of the prompt is decided elsewhere. The one rule it keeps: nothing else is on standard output, and
//! whatever streams is written as it comes.

use std::io::{self, Write};

use clap::ValueEnum;
use jackfield_api::{Event, codec};

use super::outcome::Outcome;
use crate::failure::Exit;

/// What goes to standard output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Form {
    /// The answer alone
    Text,
    /// One object: the answer, the session, the cost, the tokens, what was denied
    Json,
    /// The agent's own lines as it writes them
    StreamJson,
    /// Our events, one per line
    Events,
}

/// Standard output.
#[derive(Debug)]
pub(super) struct Printer {
    pub(super) form: Form,
}

impl Printer {
    /// Whether something is printed before the end.
    pub(super) fn streams(&self) -> bool {
        matches!(self.form, Form::Events | Form::StreamJson)
    }

    pub(super) fn event(&self, event: &Event) -> io::Result<()> {
        if self.form != Form::Events {
            return Ok(());
        }
        let mut line = Vec::new();
        codec::encode(event, &mut line);
        put(line)
    }

    pub(super) fn line(&self, line: String) -> io::Result<()> {
        if self.form != Form::StreamJson {
            return Ok(());
        }
        put(line.into_bytes())
    }

    /// What came of it.
    pub(super) fn end(&self, outcome: &Outcome) -> io::Result<()> {
        match self.form {
            Form::Events | Form::StreamJson => Ok(()),
            Form::Json => put(outcome.object().to_string().into_bytes()),
            Form::Text if !matches!(outcome.exit(), Exit::Done | Exit::Unanswered) => Ok(()),
            Form::Text => {
                let structured =
                    outcome.figures.as_ref().and_then(|figures| figures.structured_output.as_ref());
                let text =
                    structured.map_or_else(|| outcome.text(), |structured| structured.get().to_owned());
                if text.is_empty() { Ok(()) } else { put(text.trim_end().as_bytes().to_vec()) }
            }
        }
    }
}

fn put(mut line: Vec<u8>) -> io::Result<()> {
    line.push(b'\n');
    let mut stdout = io::stdout().lock();
    stdout.write_all(&line)?;
    stdout.flush()
}
