//! The lines of a running session as they pass, and waiting for one of them.
//!
//! It neither writes nor decides. The one rule it keeps: a line is on the tape, with its time, before anyone
//! acts on it.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use tokio::io::{AsyncBufReadExt as _, AsyncRead, BufReader};
use tokio::sync::watch;

use crate::recordings::{Direction, Recorded};

/// The tape of one run; every clone is the same tape.
#[derive(Debug, Clone)]
pub(crate) struct Tape {
    started: Instant,
    lines: Arc<Mutex<Vec<Recorded>>>,
    ended: Arc<watch::Sender<Progress>>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Progress {
    lines: usize,
    output_ended: bool,
}

/// The CLI closed its output without the line that was waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OutputEnded;

impl Tape {
    pub(crate) fn new() -> Self {
        let (ended, _) = watch::channel(Progress::default());
        Self { started: Instant::now(), lines: Arc::default(), ended: Arc::new(ended) }
    }

    /// Adds a line and gives its place on the tape.
    pub(crate) fn push(&self, dir: Direction, line: impl Into<String>) -> usize {
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        let t = (self.started.elapsed().as_secs_f64() * 1000.0).round() / 1000.0;
        lines.push(Recorded { t, dir, line: line.into() });
        let count = lines.len();
        drop(lines);
        self.ended.send_modify(|progress| progress.lines = count);
        count - 1
    }

    /// Reads a pipe to its end.
    pub(crate) async fn follow(self, dir: Direction, pipe: impl AsyncRead + Unpin) {
        let mut pipe = BufReader::new(pipe);
        let mut line = Vec::new();
        // A read error means the pipe is gone, which is its end.
        while pipe.read_until(b'\n', &mut line).await.is_ok_and(|read| 0 < read) {
            let text = line.strip_suffix(b"\n").unwrap_or(&line);
            self.push(dir, String::from_utf8_lossy(text));
            line.clear();
        }
        if dir == Direction::Out {
            self.ended.send_modify(|progress| progress.output_ended = true);
        }
    }

    /// Waits for a line of the CLI's output at or after a place, and gives its place and text.
    pub(crate) async fn find(
        &self,
        from: usize,
        wanted: impl Fn(&str) -> bool,
    ) -> Result<(usize, String), OutputEnded> {
        let mut progress = self.ended.subscribe();
        let mut next = from;
        loop {
            let seen = *progress.borrow_and_update();
            for place in next..seen.lines {
                let line = self.line(place);
                if line.dir == Direction::Out && wanted(&line.line) {
                    return Ok((place, line.line));
                }
            }
            next = next.max(seen.lines);
            if seen.output_ended || progress.changed().await.is_err() {
                return Err(OutputEnded);
            }
        }
    }

    /// Everything so far.
    pub(crate) fn lines(&self) -> Vec<Recorded> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn line(&self, place: usize) -> Recorded {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)[place].clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_line_that_already_passed_is_found() {
        let tape = Tape::new();
        tape.push(Direction::In, "x");
        tape.push(Direction::Out, "x");
        assert_eq!(tape.find(0, |line| line == "x").await, Ok((1, "x".to_owned())));
    }

    #[tokio::test]
    async fn waiting_ends_with_the_output() {
        let tape = Tape::new();
        tape.clone().follow(Direction::Out, &b"a\xff\nb"[..]).await;
        assert_eq!(tape.find(0, |line| line == "b").await, Ok((1, "b".to_owned())));
        assert_eq!(tape.find(0, |line| line == "c").await, Err(OutputEnded));
    }
}
