//! The newest lines of a session, kept for whoever looks for what was made of them.
//!
//! Unlike a receiver of raw lines it is there before anybody asks, and one of it can outlive several runs. Who wants
//! them all follows it, at any pace. The one rule it keeps: its memory is bounded, whatever the lines are and however
//! slowly they are read.

use std::collections::VecDeque;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jackfield_api::lines::{FollowedLine, KeptLine, KeptLines, LineDirection};
use jackfield_api::{LineNumber, Seq, Timestamp};

use crate::raw::Direction;
use crate::spool::Spool;

/// What a kept line costs beside its text.
const BESIDE: usize = 96;
/// The part of the room that one line may take.
const SHARE: usize = 8;

/// The newest lines of a session, in both directions.
#[derive(Debug)]
pub struct RawTail {
    room: usize,
    /// Somebody has followed it. Asked for every line, so that a tail that nobody looks at costs nothing.
    followed: AtomicBool,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    /// The texts of all lines, one behind the other.
    text: VecDeque<u8>,
    /// How much text went before them.
    gone: usize,
    lines: VecDeque<About>,
    last: u64,
    /// Who wants all lines.
    spools: Vec<Arc<Spool>>,
}

/// What is known of a line.
#[derive(Debug)]
struct About {
    at: Timestamp,
    direction: LineDirection,
    /// Where its text begins, counted from the first of all, how much of it is kept, and how long it was.
    from: usize,
    kept: usize,
    length: usize,
    /// The first and the last event that were made of it.
    made: Option<(Seq, Seq)>,
    /// The last event that was made of it or of one before it.
    reached: Seq,
}

/// All lines of a session from a moment on, each as a [`FollowedLine`] in JSON and a newline.
#[derive(Debug)]
pub struct LineFeed {
    spool: Arc<Spool>,
}

impl LineFeed {
    /// The next bytes; `None` when nothing more can come. An error says that lines were lost. Cancel-safe.
    pub async fn next(&mut self) -> Option<io::Result<Vec<u8>>> {
        self.spool.read().await
    }
}

/// Follows one line after the other to the events that are made of it; does nothing where no lines are kept.
#[derive(Debug)]
pub(crate) struct Recorder {
    tail: Option<Arc<RawTail>>,
    /// The first and the last event of the line.
    made: Option<(Seq, Seq)>,
}

impl Recorder {
    pub(crate) fn new(tail: Option<Arc<RawTail>>) -> Self {
        Self { tail, made: None }
    }

    /// Whether lines are kept.
    pub(crate) fn keeps(&self) -> bool {
        self.tail.is_some()
    }

    /// A line is about to be looked at.
    pub(crate) fn begin(&mut self) {
        self.made = None;
    }

    /// An event was made.
    pub(crate) fn made(&mut self, seq: Seq) {
        self.made = Some((self.made.map_or(seq, |(first, _)| first), seq));
    }

    /// Nothing more will be made of the line.
    pub(crate) fn end(&mut self, at: Timestamp, direction: Direction, line: &str) {
        if let Some(tail) = &self.tail {
            tail.keep(at, direction, line, self.made);
        }
    }

    /// The run is over, and all events of it are made.
    pub(crate) fn run_ended(&self) {
        if let (Some(tail), Some((_, last_seq))) = (&self.tail, self.made) {
            tail.lock().tell(&FollowedLine::RunEnded { last_seq });
        }
    }
}

impl RawTail {
    /// Keeps so many bytes of lines; of one line at most an eighth of that. With no room it keeps none, and counts
    /// them only from where it is followed.
    pub fn new(room: usize) -> Self {
        Self { room, followed: AtomicBool::new(false), kept: Mutex::default() }
    }

    /// All lines from now on. Those that nobody has read yet are on the disk of a folder.
    pub fn follow(&self, folder: &Path) -> io::Result<LineFeed> {
        let spool = Arc::new(Spool::new(folder)?);
        self.lock().spools.push(Arc::clone(&spool));
        self.followed.store(true, Ordering::Relaxed);
        Ok(LineFeed { spool })
    }

    /// The lines behind one, as far as they are kept.
    pub fn after(&self, number: LineNumber) -> KeptLines {
        let kept = self.lock();
        let first = kept.first();
        let passed = usize::try_from(number.0.saturating_add(1).saturating_sub(first)).unwrap_or(usize::MAX);
        KeptLines { lines: kept.from(passed).collect(), missing: first > number.0.saturating_add(1) }
    }

    /// The line that an event was made of, as far as it is kept, in the room of another one.
    pub fn line_of<'a>(&self, seq: Seq, room: &'a mut String) -> Option<&'a str> {
        let kept = self.lock();
        let index = kept.lines.partition_point(|line| line.reached < seq);
        let about = kept.lines.get(index)?;
        if about.made?.0 > seq {
            return None;
        }
        kept.read(about, room);
        Some(room)
    }

    /// Keeps as much of a line as it may take, with the first and the last event that were made of it.
    fn keep(&self, at: Timestamp, direction: Direction, line: &str, made: Option<(Seq, Seq)>) {
        let direction = match direction {
            Direction::FromCli => LineDirection::FromCli,
            Direction::ToCli => LineDirection::ToCli,
        };
        if self.room == 0 && !self.followed.load(Ordering::Relaxed) {
            return;
        }
        let text = &line[..line.floor_char_boundary(self.room / SHARE)];
        let mut kept = self.lock();
        while self.room < kept.text.len() + text.len() + (kept.lines.len() + 1) * BESIDE
            && let Some(oldest) = kept.lines.pop_front()
        {
            kept.text.drain(..oldest.kept);
            kept.gone += oldest.kept;
        }
        kept.last += 1;
        let before = kept.lines.back().map(|line| line.reached).unwrap_or_default();
        let reached = made.map_or(before, |(_, last)| last);
        let from = kept.gone + kept.text.len();
        let about = About { at, direction, from, kept: text.len(), length: line.len(), made, reached };
        if !kept.spools.is_empty() {
            let whole = about.told(LineNumber(kept.last), line.to_owned());
            kept.tell(&FollowedLine::Line(whole));
        }
        kept.text.extend(text.as_bytes());
        kept.lines.push_back(about);
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl About {
    /// As a reader gets it, with so much of its text.
    fn told(&self, number: LineNumber, text: String) -> KeptLine {
        let (first_seq, last_seq) = self.made.unzip();
        let cut = text.len() < self.length;
        let bytes = u64::try_from(self.length).unwrap_or(u64::MAX);
        KeptLine { number, at: self.at, direction: self.direction, text, bytes, cut, first_seq, last_seq }
    }
}

impl Kept {
    /// The number of the oldest line; if there is none, of the next.
    fn first(&self) -> u64 {
        self.last + 1 - self.lines.len() as u64
    }

    /// The lines from one on, as readers get them.
    fn from(&self, index: usize) -> impl Iterator<Item = KeptLine> {
        self.lines.iter().zip(self.first()..).skip(index).map(|(about, number)| {
            let mut text = String::new();
            self.read(about, &mut text);
            about.told(LineNumber(number), text)
        })
    }

    /// Puts the text of a line into a room.
    fn read(&self, about: &About, room: &mut String) {
        let mut text = std::mem::take(room).into_bytes();
        text.clear();
        let (from, to) = (about.from - self.gone, about.from - self.gone + about.kept);
        let (front, back) = self.text.as_slices();
        let middle = front.len();
        text.extend_from_slice(&front[from.min(middle)..to.min(middle)]);
        text.extend_from_slice(&back[from.saturating_sub(middle)..to.saturating_sub(middle)]);
        // It was text when it came.
        *room = String::from_utf8(text).unwrap_or_default();
    }

    /// Tells something to who follows.
    fn tell(&mut self, told: &FollowedLine) {
        // Who has gone wants nothing any more.
        self.spools.retain(|spool| Arc::strong_count(spool) > 1);
        // Only a map with keys that are no strings can fail.
        let mut line = serde_json::to_vec(told).unwrap_or_default();
        line.push(b'\n');
        self.spools.iter().for_each(|spool| spool.write(&line));
    }
}

impl Drop for RawTail {
    fn drop(&mut self) {
        self.lock().spools.iter().for_each(|spool| spool.end());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keep(tail: &RawTail, text: &str, made: Option<(Seq, Seq)>) {
        tail.keep(Timestamp(1), Direction::FromCli, text, made);
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

    #[tokio::test]
    async fn without_room_nothing_is_kept_and_all_can_be_followed() -> io::Result<()> {
        let tail = RawTail::new(0);
        keep(&tail, "one", Some((Seq(1), Seq(1))));
        assert_eq!(tail.after(LineNumber(0)), KeptLines { lines: Vec::new(), missing: false });
        assert_eq!(tail.line_of(Seq(1), &mut String::new()), None);
        let folder = tempfile::tempdir()?;
        let mut feed = tail.follow(folder.path())?;
        keep(&tail, "two", None);
        drop(tail);
        let mut told = Vec::new();
        while let Some(bytes) = feed.next().await {
            told.extend(bytes?);
        }
        let told: FollowedLine = serde_json::from_slice(&told)?;
        let FollowedLine::Line(line) = told else { return Err(io::ErrorKind::InvalidData.into()) };
        assert_eq!((line.number, line.text.as_str(), line.cut), (LineNumber(1), "two", false));
        Ok(())
    }

    #[test]
    fn an_event_belongs_to_the_line_that_is_looked_at_and_to_no_other() {
        let tail = Arc::new(RawTail::new(10_000));
        let mut recorder = Recorder::new(Some(Arc::clone(&tail)));
        recorder.made(Seq(1));
        for (text, seqs) in [("none", [].as_slice()), ("two", &[2, 3]), ("one", &[4])] {
            recorder.begin();
            for seq in seqs {
                recorder.made(Seq(*seq));
            }
            recorder.end(Timestamp(0), Direction::ToCli, text);
            recorder.made(Seq(9));
        }
        let lines = tail.after(LineNumber(0)).lines;
        let made: Vec<_> = lines.iter().map(|line| line.first_seq.zip(line.last_seq)).collect();
        assert_eq!(made, [None, Some((Seq(2), Seq(3))), Some((Seq(4), Seq(4)))]);
        let mut room = String::new();
        for (seq, expected) in [None, Some("two"), Some("two"), Some("one"), None].into_iter().enumerate() {
            assert_eq!(tail.line_of(Seq(seq as u64 + 1), &mut room), expected);
        }
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
        let kept = tail.lock();
        assert_eq!((kept.lines.len(), kept.text.len()), (10, 100));
    }

    #[test]
    fn each_line_has_its_own_text_however_many_went_before_it() {
        let tail = RawTail::new(20 * BESIDE);
        let texts: Vec<String> =
            (0..500).map(|number| format!("{number}{}", "ä".repeat(number % 7))).collect();
        for (text, number) in texts.iter().zip(1..) {
            keep(&tail, text, Some((Seq(number), Seq(number))));
        }
        let kept = tail.after(LineNumber(0)).lines;
        assert!(kept.len() > 10, "{}", kept.len());
        for (line, text) in kept.iter().rev().zip(texts.iter().rev()) {
            assert_eq!(line.text, *text);
            assert_eq!(tail.line_of(Seq(line.number.0), &mut String::new()), Some(text.as_str()));
        }
    }

    #[test]
    fn a_line_that_is_too_long_is_cut_between_characters_and_says_so() {
        let tail = RawTail::new(8 * 5);
        keep(&tail, "12345", None);
        assert!(!tail.after(LineNumber(0)).lines[0].cut);
        keep(&tail, "1234ä6", None);
        let cut = &tail.after(LineNumber(1)).lines[0];
        assert_eq!((cut.text.as_str(), cut.bytes, cut.cut), ("1234", 7, true));
    }

    #[tokio::test]
    async fn who_follows_is_told_every_line_whole_and_the_end_of_the_run() {
        let folder = tempfile::tempdir().unwrap();
        let tail = Arc::new(RawTail::new(8 * 5));
        let mut recorder = Recorder::new(Some(Arc::clone(&tail)));
        let mut record = |text: &str, seq| {
            recorder.begin();
            recorder.made(Seq(seq));
            recorder.end(Timestamp(0), Direction::FromCli, text);
        };
        record("before", 1);
        let mut feed = tail.follow(folder.path()).unwrap();
        record("a long line", 2);
        record("short", 3);
        recorder.made(Seq(4));
        recorder.run_ended();
        drop((recorder, tail));
        let mut told = Vec::new();
        while let Some(bytes) = feed.next().await {
            told.extend(bytes.unwrap());
        }
        let told: Vec<FollowedLine> = told
            .split_inclusive(|byte| *byte == b'\n')
            .map(|line| serde_json::from_slice(line).unwrap())
            .collect();
        let [FollowedLine::Line(long), FollowedLine::Line(short), ended] = told.as_slice() else {
            panic!("{told:?}");
        };
        assert_eq!((long.text.as_str(), long.cut, long.last_seq), ("a long line", false, Some(Seq(2))));
        assert_eq!((short.text.as_str(), short.number), ("short", LineNumber(3)));
        assert_eq!(*ended, FollowedLine::RunEnded { last_seq: Seq(4) });
    }

    #[test]
    fn lines_are_written_for_nobody_who_has_gone() {
        let folder = tempfile::tempdir().unwrap();
        let tail = RawTail::new(10_000);
        drop(tail.follow(folder.path()).unwrap());
        keep(&tail, "line", None);
        assert!(tail.lock().spools.is_empty());
    }
}
