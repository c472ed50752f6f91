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
/// For how many lines room is made at once, and for how much text.
const MANY: usize = 32;
const MUCH: usize = 12 * 1024;

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
    /// How many lines there were.
    last: u64,
    /// The last event that was made of one of them.
    reached: Seq,
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
///
/// Lines are handed over many at a time: who looks for one is in nobody's way then.
#[derive(Debug)]
pub(crate) struct Recorder {
    tail: Option<Arc<RawTail>>,
    /// The first and the last event of the line.
    made: Option<(Seq, Seq)>,
    waiting: Waiting,
}

/// Lines on their way to where they are kept.
#[derive(Debug, Default)]
struct Waiting {
    text: String,
    /// Where each begins is counted in this text.
    lines: Vec<About>,
}

impl Recorder {
    pub(crate) fn new(tail: Option<Arc<RawTail>>) -> Self {
        Self { tail, made: None, waiting: Waiting::default() }
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
            tail.pass(at, direction, line, self.made, &mut self.waiting);
        }
    }

    /// Keeps what waits. To be called before its events are told to anybody.
    pub(crate) fn keep(&mut self) {
        if let Some(tail) = &self.tail {
            tail.keep(&mut self.waiting);
        }
    }

    /// Lets go of the room for lines. No more come for now.
    pub(crate) fn let_go(&mut self) {
        self.waiting = Waiting::default();
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

    /// Appends the line that an event was made of, as far as it is kept and at most so many bytes of it, and says how long
    /// it was.
    pub fn line_of(&self, seq: Seq, most: usize, to: &mut String) -> Option<u64> {
        let kept = self.lock();
        let index = kept.lines.partition_point(|line| line.reached < seq);
        let about = kept.lines.get(index)?;
        if about.made?.0 > seq {
            return None;
        }
        kept.read(about, most, to);
        Some(to_u64(about.length))
    }

    /// Takes as much of a line as may be kept, with the first and the last event that were made of it.
    fn pass(
        &self,
        at: Timestamp,
        direction: Direction,
        line: &str,
        made: Option<(Seq, Seq)>,
        waiting: &mut Waiting,
    ) {
        let followed = self.followed.load(Ordering::Relaxed);
        if self.room == 0 && !followed {
            return;
        }
        let direction = match direction {
            Direction::FromCli => LineDirection::FromCli,
            Direction::ToCli => LineDirection::ToCli,
        };
        let text = &line[..line.floor_char_boundary(self.room / SHARE)];
        if waiting.lines.capacity() == 0 {
            // Where there is one there are many, mostly; and to make room line by line would be dear.
            (waiting.text, waiting.lines) = (String::with_capacity(MUCH), Vec::with_capacity(MANY));
        }
        let from = waiting.text.len();
        let about =
            About { at, direction, from, kept: text.len(), length: line.len(), made, reached: Seq(0) };
        waiting.text.push_str(text);
        if !followed {
            return waiting.lines.push(about);
        }
        let mut whole = about.told(LineNumber(0), line.to_owned());
        waiting.lines.push(about);
        self.keep(waiting);
        let mut kept = self.lock();
        whole.number = LineNumber(kept.last);
        kept.tell(&FollowedLine::Line(whole));
    }

    /// Keeps lines; the oldest go.
    fn keep(&self, waiting: &mut Waiting) {
        if waiting.lines.is_empty() {
            return;
        }
        let mut kept = self.lock();
        kept.make_room(self.room, waiting);
        let from = kept.gone + kept.text.len();
        kept.text.extend(waiting.text.as_bytes());
        for mut about in waiting.lines.drain(..) {
            about.from += from;
            about.reached = about.made.map_or(kept.reached, |(_, last)| last);
            kept.reached = about.reached;
            kept.last += 1;
            kept.lines.push_back(about);
        }
        waiting.text.clear();
        // They may be more than there is room for.
        kept.make_room(self.room, waiting);
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
        let bytes = to_u64(self.length);
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
            self.read(about, usize::MAX, &mut text);
            about.told(LineNumber(number), text)
        })
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

    /// Appends the text of a line, so many bytes of it at most.
    fn read(&self, about: &About, most: usize, to: &mut String) {
        let begin = about.from - self.gone;
        let end = begin + about.kept.min(most);
        let (front, back) = self.text.as_slices();
        let middle = front.len();
        let front = &front[begin.min(middle)..end.min(middle)];
        let back = &back[begin.saturating_sub(middle)..end.saturating_sub(middle)];
        let joined;
        let text = if front.is_empty() {
            back
        } else if back.is_empty() {
            front
        } else {
            joined = [front, back].concat();
            &joined
        };
        // It was text when it came; only its last letter can be cut.
        let whole =
            simdutf8::basic::from_utf8(text).ok().or_else(|| Some(text.utf8_chunks().next()?.valid()));
        to.push_str(whole.unwrap_or_default());
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

fn to_u64(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
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
        let mut waiting = Waiting::default();
        tail.pass(Timestamp(1), Direction::FromCli, text, made, &mut waiting);
        tail.keep(&mut waiting);
    }

    fn line_of(tail: &RawTail, seq: u64, most: usize) -> Option<(String, u64)> {
        let mut text = "before ".to_owned();
        let length = tail.line_of(Seq(seq), most, &mut text);
        let text = text.strip_prefix("before ").map(str::to_owned);
        assert!(length.is_some() || text.as_deref() == Some(""), "nothing is appended");
        text.zip(length)
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
        assert_eq!(line_of(&tail, 1, usize::MAX), None);
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
        assert_eq!(tail.after(LineNumber(0)).lines, [], "they are handed over together");
        recorder.keep();
        let lines = tail.after(LineNumber(0)).lines;
        let made: Vec<_> = lines.iter().map(|line| line.first_seq.zip(line.last_seq)).collect();
        assert_eq!(made, [None, Some((Seq(2), Seq(3))), Some((Seq(4), Seq(4)))]);
        for (seq, expected) in [None, Some("two"), Some("two"), Some("one"), None].into_iter().enumerate() {
            let line = line_of(&tail, seq as u64 + 1, usize::MAX);
            assert_eq!(line, expected.map(|text| (text.to_owned(), 3)));
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
            for most in 0..20 {
                let expected = (text[..text.floor_char_boundary(most)].to_owned(), to_u64(text.len()));
                assert_eq!(line_of(&tail, line.number.0, most), Some(expected));
            }
        }
    }

    #[test]
    fn of_more_lines_at_once_than_there_is_room_for_the_newest_are_kept() {
        let tail = Arc::new(RawTail::new(8 * (BESIDE + 10)));
        let mut recorder = Recorder::new(Some(Arc::clone(&tail)));
        for first in [0, 100, 103, 203] {
            let many = if first == 100 { 3 } else { 100 };
            for seq in first + 1..=first + many {
                recorder.begin();
                recorder.made(Seq(seq));
                recorder.end(Timestamp(1), Direction::FromCli, &format!("line {seq}"));
            }
            recorder.keep();
            let kept = tail.after(LineNumber(0));
            assert!(kept.missing && (4..=10).contains(&kept.lines.len()), "{kept:?}");
            for (line, seq) in kept.lines.iter().rev().zip((1..=first + many).rev()) {
                assert_eq!((line.number.0, line.last_seq), (seq, Some(Seq(seq))));
                assert_eq!(
                    line_of(&tail, seq, usize::MAX),
                    Some((line.text.clone(), to_u64(line.text.len())))
                );
                assert_eq!(line.text, format!("line {seq}"));
            }
        }
    }

    #[test]
    fn a_line_that_is_too_long_is_cut_between_characters_and_says_so() {
        let tail = RawTail::new(8 * 5);
        keep(&tail, "12345", None);
        assert!(!tail.after(LineNumber(0)).lines[0].cut);
        keep(&tail, "1234ä6", Some((Seq(1), Seq(1))));
        assert_eq!(line_of(&tail, 1, usize::MAX), Some(("1234".to_owned(), 7)));
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
