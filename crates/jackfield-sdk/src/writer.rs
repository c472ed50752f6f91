//! The one writer to the CLI's standard input.
//!
//! Whole lines, one after another, each with a deadline: a CLI that does not read must not hold up the session. It is
//! driven by the session's own task, so that a line is reported before the CLI's answer to it can be read. The one
//! rule it keeps: what was written is reported when it is written, not before.

use std::collections::VecDeque;
use std::future::pending;
use std::io;
use std::time::Duration;

use jackfield_core::By;
use jackfield_wire::Outbound;
use tokio::io::AsyncWriteExt;
use tokio::process::ChildStdin;
use tokio::time::{Instant, timeout_at};

/// How long one line may take.
const DEADLINE: Duration = Duration::from_secs(30);
/// How many lines may wait. A CLI that is this far behind does not read any more.
const WAITING: usize = 1024;

/// What to do with standard input.
#[derive(Debug)]
pub(crate) enum Write {
    Line(Box<Outbound>, By),
    Close,
}

/// What was done with it.
#[derive(Debug)]
pub(crate) enum Written {
    Line(Box<Outbound>, By),
    Closed,
    /// The CLI does not read, or is gone.
    Failed(io::Error),
}

/// Standard input, and what is to be written to it.
#[derive(Debug)]
pub(crate) struct Writer {
    /// `None` once it is closed or has failed; then nothing is written any more.
    stdin: Option<ChildStdin>,
    waiting: VecDeque<Write>,
    line: Option<Line>,
}

/// The line that is being written.
#[derive(Debug)]
struct Line {
    text: String,
    written: usize,
    until: Instant,
}

/// Too much waits to be written.
#[derive(Debug)]
pub(crate) struct FarBehind;

impl Writer {
    pub(crate) fn new(stdin: ChildStdin) -> Self {
        Self { stdin: Some(stdin), waiting: VecDeque::new(), line: None }
    }

    /// Puts something behind what waits.
    pub(crate) fn want(&mut self, write: Write) -> Result<(), FarBehind> {
        if self.waiting.len() >= WAITING {
            return Err(FarBehind);
        }
        if self.stdin.is_some() {
            self.waiting.push_back(write);
        }
        Ok(())
    }

    /// Does the next thing that waits; comes to no end while there is none. Cancel-safe.
    pub(crate) async fn next(&mut self) -> Written {
        let (Some(stdin), Some(first)) = (&mut self.stdin, self.waiting.front()) else {
            return pending().await;
        };
        let outcome = match first {
            Write::Close => Ok(()),
            Write::Line(message, _) => {
                let line = self.line.get_or_insert_with(|| Line::of(message));
                line.write(stdin).await
            }
        };
        self.line = None;
        match (outcome, self.waiting.pop_front()) {
            (Ok(()), Some(Write::Line(message, by))) => Written::Line(message, by),
            (outcome, _) => {
                self.stdin = None;
                self.waiting = VecDeque::new();
                outcome.map_or_else(Written::Failed, |()| Written::Closed)
            }
        }
    }
}

impl Line {
    fn of(message: &Outbound) -> Self {
        Self { text: message.encode() + "\n", written: 0, until: Instant::now() + DEADLINE }
    }

    /// Writes what is left of it. Cancel-safe.
    async fn write(&mut self, stdin: &mut ChildStdin) -> io::Result<()> {
        while let Some(rest) = self.text.as_bytes().get(self.written..).filter(|rest| !rest.is_empty()) {
            match timeout_at(self.until, stdin.write(rest)).await {
                Ok(Ok(0)) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(Ok(written)) => self.written += written,
                Ok(Err(error)) => return Err(error),
                Err(_) => return Err(io::ErrorKind::TimedOut.into()),
            }
        }
        Ok(())
    }
}
