//! The newest lines of a session, kept for whoever looks for what was made of them.
//!
//! Unlike a receiver of raw lines it is there before anybody asks, and one of it can outlive several runs. The one
//! rule it keeps: its memory is bounded, whatever the lines are.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jackfield_api::lines::{KeptLine, KeptLines, LineDirection};
use jackfield_api::{LineNumber, Seq, Timestamp};

use crate::raw::Direction;

/// What a kept line costs beside its text.
const BESIDE: usize = 96;
/// The part of the room that one line may take.
const SHARE: usize = 8;

/// The newest lines of a session, in both directions.
#[derive(Debug)]
pub struct RawTail {
    room: usize,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    lines: VecDeque<KeptLine>,
    bytes: usize,
    last: u64,
}

/// A line before it is known what was made of it.
#[derive(Debug)]
pub(crate) struct Taken {
    direction: LineDirection,
    text: String,
    bytes: u64,
    cut: bool,
}

/// Follows one line after the other to the events that are made of it; does nothing where no lines are kept.
#[derive(Debug)]
pub(crate) struct Recorder {
    tail: Option<Arc<RawTail>>,
    line: Option<Taken>,
    /// The first and the last event of the line.
    made: Option<(Seq, Seq)>,
}

impl Recorder {
    pub(crate) fn new(tail: Option<Arc<RawTail>>) -> Self {
        Self { tail, line: None, made: None }
    }

    /// A line is about to be looked at.
    pub(crate) fn begin(&mut self, take: impl FnOnce(&RawTail) -> Taken) {
        self.line = self.tail.as_deref().map(take);
        self.made = None;
    }

    /// An event was made.
    pub(crate) fn made(&mut self, seq: Seq) {
        self.made = Some((self.made.map_or(seq, |(first, _)| first), seq));
    }

    /// Nothing more will be made of the line.
    pub(crate) fn end(&mut self, at: Timestamp) {
        if let (Some(tail), Some(line)) = (&self.tail, self.line.take()) {
            tail.keep(at, line, self.made);
        }
    }
}

impl RawTail {
    /// Keeps so many bytes of lines; of one line at most an eighth of that.
    pub fn new(room: usize) -> Self {
        Self { room, kept: Mutex::default() }
    }

    /// The lines behind one, as far as they are kept.
    pub fn after(&self, number: LineNumber) -> KeptLines {
        let kept = self.lock();
        let lines: Vec<KeptLine> = kept.lines.iter().filter(|line| line.number > number).cloned().collect();
        let first = lines.first().map_or(kept.last + 1, |line| line.number.0);
        KeptLines { lines, missing: first > number.0.saturating_add(1) }
    }

    /// The line that an event was made of, as far as it is kept.
    pub fn line_of(&self, seq: Seq) -> Option<String> {
        let kept = self.lock();
        // Who asks is not far behind, so it is looked for from the end.
        let made = kept.lines.iter().rev().filter_map(|line| Some((line.first_seq?, line.last_seq?, line)));
        let (first, _, line) = made.take_while(|(_, last, _)| *last >= seq).last()?;
        (first <= seq).then(|| line.text.clone())
    }

    /// Takes as much of a line as will be kept.
    pub(crate) fn take(&self, direction: Direction, line: &str) -> Taken {
        let direction = match direction {
            Direction::FromCli => LineDirection::FromCli,
            Direction::ToCli => LineDirection::ToCli,
        };
        let most = self.room / SHARE;
        let text = &line[..line.floor_char_boundary(most)];
        let bytes = u64::try_from(line.len()).unwrap_or(u64::MAX);
        Taken { direction, text: text.to_owned(), bytes, cut: text.len() < line.len() }
    }

    /// Keeps a line, with the first and the last event that were made of it.
    fn keep(&self, at: Timestamp, line: Taken, made: Option<(Seq, Seq)>) {
        let Taken { direction, text, bytes, cut } = line;
        let mut kept = self.lock();
        kept.last += 1;
        kept.bytes += text.len() + BESIDE;
        let number = LineNumber(kept.last);
        let (first_seq, last_seq) = made.unzip();
        kept.lines.push_back(KeptLine { number, at, direction, text, bytes, cut, first_seq, last_seq });
        while kept.bytes > self.room
            && let Some(oldest) = kept.lines.pop_front()
        {
            kept.bytes -= oldest.text.len() + BESIDE;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keep(tail: &RawTail, text: &str, made: Option<(Seq, Seq)>) {
        tail.keep(Timestamp(1), tail.take(Direction::FromCli, text), made);
    }

    fn numbers(kept: &KeptLines) -> Vec<u64> {
        kept.lines.iter().map(|line| line.number.0).collect()
    }

    #[test]
    fn lines_are_numbered_and_asked_for_behind_one() {
        let tail = RawTail::new(10_000);
        assert_eq!(tail.after(LineNumber(0)), KeptLines { lines: Vec::new(), missing: false });
        for text in ["one", "two", "three"] {
            keep(&tail, text, Some((Seq(1), Seq(2))));
        }
        let kept = tail.after(LineNumber(1));
        assert_eq!((numbers(&kept), kept.missing), (vec![2, 3], false));
        assert_eq!(kept.lines[0].first_seq, Some(Seq(1)));
        assert!(tail.after(LineNumber(3)).lines.is_empty());
        assert!(tail.after(LineNumber(u64::MAX)).lines.is_empty());
    }

    #[test]
    fn an_event_belongs_to_the_line_that_is_looked_at_and_to_no_other() {
        let tail = Arc::new(RawTail::new(10_000));
        let mut recorder = Recorder::new(Some(Arc::clone(&tail)));
        recorder.made(Seq(1));
        for (text, seqs) in [("none", [].as_slice()), ("two", &[2, 3]), ("one", &[4])] {
            recorder.begin(|tail| tail.take(Direction::ToCli, text));
            for seq in seqs {
                recorder.made(Seq(*seq));
            }
            recorder.end(Timestamp(0));
            recorder.made(Seq(9));
        }
        let lines = tail.after(LineNumber(0)).lines;
        let made: Vec<_> = lines.iter().map(|line| line.first_seq.zip(line.last_seq)).collect();
        assert_eq!(made, [None, Some((Seq(2), Seq(3))), Some((Seq(4), Seq(4)))]);
        let found: Vec<_> = (1..=5).map(|seq| tail.line_of(Seq(seq))).collect();
        let found: Vec<_> = found.iter().map(Option::as_deref).collect();
        assert_eq!(found, [None, Some("two"), Some("two"), Some("one"), None]);
    }

    #[test]
    fn old_lines_go_when_there_is_no_room_and_that_is_told() {
        let tail = RawTail::new(10 * (BESIDE + 10));
        for _ in 0..100 {
            keep(&tail, "0123456789", None);
        }
        let kept = tail.after(LineNumber(0));
        assert_eq!((numbers(&kept), kept.missing), ((91..=100).collect(), true));
        assert!(!tail.after(LineNumber(95)).missing);
        assert_eq!(tail.lock().bytes, 10 * (BESIDE + 10));
    }

    #[test]
    fn a_line_that_is_too_long_is_cut_between_characters_and_says_so() {
        let tail = RawTail::new(8 * 5);
        assert!(!tail.take(Direction::ToCli, "12345").cut);
        let cut = tail.take(Direction::ToCli, "1234ä6");
        assert_eq!((cut.text.as_str(), cut.bytes, cut.cut), ("1234", 7, true));
    }
}
