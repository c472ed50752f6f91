//! The CLI's standard error, which is always read: a full pipe would stop the CLI.
//!
//! What it says goes on as lines. While there is no room for them in the log, the newest wait here, and of the
//! others only their number is known. The one rule it keeps: memory is bounded, and what was left out is told.

use std::collections::VecDeque;

use jackfield_wire::{Line, Lines};

/// The longest line that is kept.
const LINE: usize = 64 * 1024;
/// How many lines wait for room, at most.
const WAITING: usize = 64;
/// How much they may be together, in bytes.
const WAITING_BYTES: usize = 64 * 1024;

/// Lines of standard error on their way to the log.
#[derive(Debug)]
pub(crate) struct StandardError {
    lines: Lines,
    waiting: VecDeque<String>,
    bytes: usize,
    left_out: u64,
}

impl StandardError {
    pub(crate) fn new() -> Self {
        Self { lines: Lines::new(LINE), waiting: VecDeque::new(), bytes: 0, left_out: 0 }
    }

    /// Takes what was read; nothing at the end.
    pub(crate) fn read(&mut self, chunk: &[u8]) {
        let (waiting, length) = (&mut self.waiting, &mut self.bytes);
        let keep = |line: Line<'_>| {
            let text = match line {
                Line::Whole(bytes) => String::from_utf8_lossy(bytes).into_owned(),
                Line::TooLong { length } => format!("(a line of {length} bytes)"),
            };
            *length += text.len();
            waiting.push_back(text);
        };
        if chunk.is_empty() {
            self.lines.finish(keep);
        } else {
            self.lines.feed(chunk, keep);
        }
    }

    /// The lines for which there is room now, and a word about those that are gone.
    pub(crate) fn take(&mut self) -> impl Iterator<Item = String> {
        let left_out = std::mem::take(&mut self.left_out);
        let word = (left_out > 0).then(|| format!("({left_out} lines of standard error were left out)"));
        self.bytes = 0;
        word.into_iter().chain(std::mem::take(&mut self.waiting))
    }

    /// There is no room: only the newest lines go on waiting.
    pub(crate) fn wait(&mut self) {
        while self.waiting.len() > WAITING || (self.bytes > WAITING_BYTES && self.waiting.len() > 1) {
            self.bytes -= self.waiting.pop_front().map_or(0, |line| line.len());
            self.left_out += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(stderr: &mut StandardError) -> Vec<String> {
        stderr.take().collect()
    }

    #[test]
    fn lines_pass_while_there_is_room() {
        let mut stderr = StandardError::new();
        stderr.read(b"one\ntwo\nthr");
        assert_eq!(taken(&mut stderr), ["one", "two"]);
        stderr.read(b"ee\nfour");
        stderr.read(b"");
        assert_eq!(taken(&mut stderr), ["three", "four"]);
    }

    #[test]
    fn without_room_the_newest_wait_and_the_others_are_counted() {
        let mut stderr = StandardError::new();
        for number in 0..1000 {
            stderr.read(format!("line {number}\n").as_bytes());
            stderr.wait();
        }
        let lines = taken(&mut stderr);
        assert_eq!(lines[0], "(936 lines of standard error were left out)");
        assert_eq!(lines[1..].first().map(String::as_str), Some("line 936"));
        assert_eq!((lines.len(), lines[64].as_str()), (65, "line 999"));
        assert_eq!(taken(&mut stderr), Vec::<String>::new(), "it is told once");
    }

    #[test]
    fn long_lines_do_not_wait_together() {
        let mut stderr = StandardError::new();
        for _ in 0..10 {
            stderr.read(&[b"x".repeat(60_000), b"\n".to_vec()].concat());
            stderr.wait();
        }
        let lines = taken(&mut stderr);
        assert_eq!((lines.len(), lines[1].len()), (2, 60_000));
        assert_eq!(lines[0], "(9 lines of standard error were left out)");
    }
}
