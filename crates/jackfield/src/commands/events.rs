//! `jackfield events`: plain CLI output in, events out.
//!
//! It sees only what the CLI prints, not what it was told. The one rule: no input ends it but the end.

use std::io;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use clap::Args;
use jackfield_api::Timestamp;
use jackfield_core::{Exit, Input, Launch, Options, Session};
use jackfield_wire::{DEFAULT_LINE_LIMIT, Line, Lines, decode};

use crate::failure::Failure;
use crate::output::{Output, Printing};
use crate::source::Source;

/// Turn plain CLI output into events
///
/// Reads what `claude -p … --output-format stream-json --verbose` prints and writes one event per line as
/// JSON, or text to read when standard output is a terminal. A line that cannot be read becomes a
/// `malformed` event.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  claude -p 'say hello' --output-format stream-json --verbose --include-partial-messages | jackfield events
  jackfield events saved.jsonl | jq -r 'select(.type == \"tool_call\").tool_title'
  jackfield events --format text --color always saved.jsonl | less -R")]
pub(crate) struct Events {
    /// A file to read; without one, or with `-`, standard input
    file: Option<PathBuf>,
    #[command(flatten)]
    printing: Printing,
    /// Lines longer than this many bytes are told as `malformed` and not kept
    #[arg(long, value_name = "BYTES", default_value_t = DEFAULT_LINE_LIMIT)]
    line_limit: usize,
}

impl Events {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let mut source = Source::open(self.file.as_deref())?;
        let mut pipe = Pipe {
            session: Session::new(Options::default()),
            output: Output::new(self.printing),
            at: now(),
            broken: None,
        };
        pipe.handle(Input::Started(Launch::output_only()));
        let mut lines = Lines::new(self.line_limit);
        while let Some(chunk) = source.next()? {
            pipe.at = now();
            lines.feed(chunk, |line| pipe.line(line));
            pipe.flush()?;
        }
        lines.finish(|line| pipe.line(line));
        pipe.at = now();
        pipe.handle(Input::Exited(Exit::OutputEnded));
        pipe.flush()
    }
}

/// Lines through a session to the output.
struct Pipe {
    session: Session,
    output: Output,
    at: Timestamp,
    broken: Option<io::Error>,
}

impl Pipe {
    fn line(&mut self, line: Line<'_>) {
        match line {
            Line::Whole(bytes) => self.handle(Input::Line(decode(bytes))),
            Line::TooLong { length } => self.handle(Input::LongLine { length }),
        }
    }

    fn handle(&mut self, input: Input<'_>) {
        if self.broken.is_some() {
            return;
        }
        self.session.handle(self.at, input);
        self.broken = self.output.drain(&mut self.session).err();
    }

    fn flush(&mut self) -> Result<(), Failure> {
        match self.broken.take() {
            Some(error) => Err(error.into()),
            None => Ok(self.output.flush()?),
        }
    }
}

fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}
