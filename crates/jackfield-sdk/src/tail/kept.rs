//! The newest lines as they lie in memory: their texts one behind the other, and what is known of each.
//!
//! No lock and nobody who follows. The one rule it keeps: the oldest go for the newest, and the newest of all stays.

use std::collections::VecDeque;

use jackfield_api::lines::{KeptLine, KeptLines, LineDirection};
use jackfield_api::{LineNumber, Seq, Timestamp};

/// What a kept line costs beside its text.
pub(super) const BESIDE: usize = 96;
/// For how many lines room is made at once, and for how much text.
const MANY: usize = 32;
const MUCH: usize = 12 * 1024;

/// The newest lines.
#[derive(Debug, Default)]
pub(super) struct Kept {
    /// The texts of all lines, one behind the other.
    pub(super) text: VecDeque<u8>,
    /// How much text went before them.
    gone: usize,
    pub(super) lines: VecDeque<About>,
    /// How many lines there were.
    last: u64,
}

/// What is known of a line.
#[derive(Debug, Clone, Copy)]
pub(super) struct About {
    at: Timestamp,
    direction: LineDirection,
    /// Where its text begins, counted from the first of all, how much of it is kept, and how long it was.
    from: usize,
    kept: usize,
    length: usize,
    /// The first and the last event that were made of it.
    made: Option<(Seq, Seq)>,
}

/// Lines on their way to where they are kept.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    text: String,
    /// Where each begins is counted in this text.
    lines: Vec<About>,
}

impl About {
    /// A line, and the first and the last event that were made of it.
    pub(super) fn new(at: Timestamp, direction: LineDirection, line: &str, made: Option<(Seq, Seq)>) -> Self {
        Self { at, direction, from: 0, kept: 0, length: line.len(), made }
    }

    /// As a reader gets it, with so much of its text.
    pub(super) fn told(&self, number: LineNumber, text: String) -> KeptLine {
        let (first_seq, last_seq) = self.made.unzip();
        let cut = text.len() < self.length;
        let bytes = to_u64(self.length);
        KeptLine { number, at: self.at, direction: self.direction, text, bytes, cut, first_seq, last_seq }
    }
}

impl Waiting {
    /// Takes a line, with as much of its text as may be kept.
    pub(super) fn push(&mut self, about: About, text: &str) {
        if self.lines.capacity() == 0 {
            // Where there is one there are many, mostly; and to make room line by line would be dear.
            (self.text, self.lines) = (String::with_capacity(MUCH), Vec::with_capacity(MANY));
        }
        self.lines.push(About { from: self.text.len(), kept: text.len(), ..about });
        self.text.push_str(text);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }
}

impl Kept {
    /// Keeps lines in so much room; the oldest go.
    pub(super) fn keep(&mut self, waiting: &mut Waiting, room: usize) {
        self.make_room(room, waiting);
        let from = self.gone + self.text.len();
        self.text.extend(waiting.text.as_bytes());
        for mut about in waiting.lines.drain(..) {
            about.from += from;
            self.last += 1;
            self.lines.push_back(about);
        }
        waiting.text.clear();
        // They may be more than there is room for.
        self.make_room(room, waiting);
    }

    /// The number of the newest line.
    pub(super) fn last(&self) -> LineNumber {
        LineNumber(self.last)
    }

    /// The lines behind one, as far as they are there.
    pub(super) fn after(&self, number: LineNumber) -> KeptLines {
        // The number of the oldest line; if there is none, of the next.
        let first = self.last + 1 - self.lines.len() as u64;
        let next = number.0.saturating_add(1);
        let passed = usize::try_from(next.saturating_sub(first)).unwrap_or(usize::MAX);
        let lines = self
            .lines
            .iter()
            .zip(first..)
            .skip(passed)
            .map(|(about, number)| about.told(LineNumber(number), self.text_of(about)));
        KeptLines { lines: lines.collect(), missing: first > next }
    }

    /// Lets the oldest lines go, until others have room beside the rest. The newest of all stays.
    fn make_room(&mut self, room: usize, others: &Waiting) {
        let mut going = 0;
        loop {
            let text = self.text.len() - going + others.text.len();
            let lines = self.lines.len() + others.lines.len();
            if lines <= 1 || text + lines * BESIDE <= room {
                break;
            }
            let Some(oldest) = self.lines.pop_front() else { break };
            going += oldest.kept;
        }
        self.text.drain(..going);
        self.gone += going;
    }

    /// The text of a line, as far as it is kept.
    fn text_of(&self, about: &About) -> String {
        let begin = about.from - self.gone;
        let text = self.text.range(begin..begin + about.kept).copied().collect();
        // It was text when it came, and was cut between letters.
        String::from_utf8(text).unwrap_or_default()
    }
}

pub(super) fn to_u64(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}
