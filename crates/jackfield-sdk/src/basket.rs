//! Lines that are put aside for somebody who makes something of every event.
//!
//! Two tasks share a basket, and may run on two cores: one puts lines in, the other takes all that there are. So they
//! meet once for many lines; to look them up one by one where the other writes them would cost many times as much. Lines
//! of which nothing but pieces of something were made are not put aside: there are too many of them. The room that lines
//! lie in goes round: who brings some gets an empty one for them. The one rule it keeps: its memory is bounded, also
//! where nobody takes anything.

use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use jackfield_api::{Body, Event, Seq};

/// How much may lie in a basket. It is more than events that wait for their reader were made of, as a rule.
const ROOM: usize = 2 * 1024 * 1024;
/// How much room is kept for lines to come: for their texts, and for how many of them.
const KEPT: usize = 32 * 1024;
const MANY: usize = 256;

/// Lines that were put aside and not taken yet.
#[derive(Debug)]
pub struct Basket {
    most: usize,
    lines: Mutex<Basketful>,
}

/// Lines on their way into a basket, or out of it.
#[derive(Debug, Default)]
pub struct Basketful {
    /// Their texts, one behind the other.
    text: String,
    lines: Vec<Line>,
    /// How many of them are behind whoever reads them.
    passed: usize,
}

#[derive(Debug)]
struct Line {
    /// The first and the last event that were made of it.
    made: (Seq, Seq),
    /// Where its text is, and how long it was.
    place: Range<usize>,
    length: u64,
}

impl Basket {
    /// Of each line at most so many bytes are put aside.
    pub fn new(most: usize) -> Self {
        Self { most, lines: Mutex::default() }
    }

    /// Puts lines in. They are gone from where they were.
    pub(crate) fn put(&self, lines: &mut Basketful) {
        if lines.lines.is_empty() {
            return;
        }
        let mut waiting = self.lock();
        if waiting.lines.is_empty() || waiting.text.len() + lines.text.len() > ROOM {
            // Nobody takes them; then the newest stay.
            std::mem::swap(&mut *waiting, lines);
        } else {
            waiting.append(lines);
        }
        lines.clear();
    }

    /// How many bytes of a line are put aside.
    pub(crate) fn most(&self) -> usize {
        self.most
    }

    fn lock(&self) -> MutexGuard<'_, Basketful> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Basketful {
    /// The line that an event was made of, as far as it was put aside, and how long it was. What there is in the basket
    /// is taken where it is needed. Events are asked for in their order: lines before one are let go.
    pub fn line_of(&mut self, seq: Seq, basket: &Basket) -> Option<(&str, u64)> {
        self.pass(seq);
        if self.passed == self.lines.len() {
            self.clear();
            std::mem::swap(self, &mut *basket.lock());
            self.pass(seq);
        }
        let line = self.lines.get(self.passed).filter(|line| line.made.0 <= seq)?;
        Some((self.text.get(line.place.clone())?, line.length))
    }

    /// Goes to the line of an event.
    fn pass(&mut self, seq: Seq) {
        let passed = self.lines.iter().skip(self.passed).take_while(|line| line.made.1 < seq).count();
        self.passed += passed;
    }

    /// Takes a line, and the first and the last event that were made of it.
    pub(crate) fn push(&mut self, line: &str, made: (Seq, Seq), most: usize) {
        let from = self.text.len();
        self.text.push_str(&line[..line.floor_char_boundary(most)]);
        let length = u64::try_from(line.len()).unwrap_or(u64::MAX);
        self.lines.push(Line { made, place: from..self.text.len(), length });
    }

    /// Takes all lines of another.
    fn append(&mut self, other: &mut Self) {
        let from = self.text.len();
        self.text.push_str(&other.text);
        self.lines.extend(
            other
                .lines
                .drain(..)
                .map(|line| Line { place: from + line.place.start..from + line.place.end, ..line }),
        );
    }

    /// Lets go of all lines, but not of their room.
    fn clear(&mut self) {
        self.text.clear();
        self.text.shrink_to(KEPT);
        self.lines.clear();
        self.lines.shrink_to(MANY);
        self.passed = 0;
    }
}

/// Whether somebody may want to see the line that an event was made of: pieces of a text are as good as their lines, and
/// pieces of a tool's input come once more as a whole.
pub(crate) fn is_worth_a_line(event: &Event) -> bool {
    !matches!(event.body, Body::MessageChunk(_) | Body::Reasoning(_) | Body::ToolPreparing(_))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(basket: &Basket, first: u64, last: u64, text: &str) {
        let mut lines = Basketful::default();
        lines.push(text, (Seq(first), Seq(last)), basket.most());
        basket.put(&mut lines);
        assert!(lines.lines.is_empty() && lines.text.is_empty());
    }

    fn line_of(lines: &mut Basketful, seq: u64, basket: &Basket) -> Option<(String, u64)> {
        lines.line_of(Seq(seq), basket).map(|(line, length)| (line.to_owned(), length))
    }

    #[test]
    fn each_event_has_its_line_and_others_have_none() {
        let (basket, mut lines) = (Basket::new(usize::MAX), Basketful::default());
        assert_eq!(line_of(&mut lines, 1, &basket), None);
        for (first, last, text) in [(2, 3, "two"), (5, 5, "five"), (6, 9, "six")] {
            put(&basket, first, last, text);
        }
        let line = |text: &str| Some((text.to_owned(), text.len() as u64));
        for (seq, expected) in [(1, None), (2, line("two")), (2, line("two")), (3, line("two")), (4, None)] {
            assert_eq!(line_of(&mut lines, seq, &basket), expected);
        }
        put(&basket, 12, 12, "twelve");
        for (seq, expected) in [(5, line("five")), (8, line("six")), (12, line("twelve")), (13, None)] {
            assert_eq!(line_of(&mut lines, seq, &basket), expected);
        }
        put(&basket, 14, 14, "fourteen");
        put(&basket, 15, 15, "fifteen");
        assert_eq!(line_of(&mut lines, 15, &basket), line("fifteen"), "others are passed over");
    }

    #[test]
    fn of_a_long_line_as_much_is_put_aside_as_is_wanted() {
        let (basket, mut lines) = (Basket::new(3), Basketful::default());
        put(&basket, 1, 1, "aäö");
        assert_eq!(line_of(&mut lines, 1, &basket), Some(("aä".to_owned(), 5)));
    }

    #[test]
    fn where_nobody_takes_them_the_newest_stay() {
        let (basket, mut lines) = (Basket::new(usize::MAX), Basketful::default());
        let text = "x".repeat(ROOM / 10);
        for seq in 1..=100 {
            put(&basket, seq, seq, &text);
            assert!(basket.lock().text.len() <= ROOM);
        }
        assert!(line_of(&mut lines, 100, &basket).is_some());
        put(&basket, 101, 101, &"x".repeat(2 * ROOM));
        assert!(line_of(&mut lines, 101, &basket).is_some(), "one of any length is there");
    }
}
