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
/// How much longer than a line the room may be that another one had.
const SLACK: usize = 128;

/// The newest lines of a session, in both directions.
#[derive(Debug)]
pub struct RawTail {
    room: usize,
    kept: Mutex<Kept>,
    /// Whether somebody wants the lines whole.
    followed: AtomicBool,
}

#[derive(Debug, Default)]
struct Kept {
    lines: VecDeque<KeptLine>,
    /// For each line the last event that was made of it or of one before it.
    reached: VecDeque<Seq>,
    bytes: usize,
    last: u64,
    /// Who wants all lines.
    spools: Vec<Arc<Spool>>,
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

/// A line before it is known what was made of it.
#[derive(Debug)]
pub(crate) struct Taken {
    direction: LineDirection,
    text: String,
    bytes: u64,
    cut: bool,
    /// All of it, if it was cut and somebody wants it.
    whole: Option<String>,
}

/// Follows one line after the other to the events that are made of it; does nothing where no lines are kept.
#[derive(Debug)]
pub(crate) struct Recorder {
    tail: Option<Arc<RawTail>>,
    line: Option<Taken>,
    /// The room of a line that was let go, for the next one: most are about as long as the others.
    spare: String,
    /// The first and the last event of the line.
    made: Option<(Seq, Seq)>,
}

impl Recorder {
    pub(crate) fn new(tail: Option<Arc<RawTail>>) -> Self {
        Self { tail, line: None, spare: String::new(), made: None }
    }

    /// A line is about to be looked at.
    pub(crate) fn begin(&mut self, take: impl FnOnce(&RawTail, String) -> Taken) {
        self.line = self.tail.as_deref().map(|tail| take(tail, std::mem::take(&mut self.spare)));
        self.made = None;
    }

    /// An event was made.
    pub(crate) fn made(&mut self, seq: Seq) {
        self.made = Some((self.made.map_or(seq, |(first, _)| first), seq));
    }

    /// Nothing more will be made of the line.
    pub(crate) fn end(&mut self, at: Timestamp) {
        if let (Some(tail), Some(line)) = (&self.tail, self.line.take()) {
            self.spare = tail.keep(at, line, self.made);
        }
    }

    /// The run is over, and all events of it are made.
    pub(crate) fn run_ended(&self) {
        if let (Some(tail), Some((_, last_seq))) = (&self.tail, self.made) {
            tail.tell(&mut tail.lock(), &FollowedLine::RunEnded { last_seq });
        }
    }
}

impl RawTail {
    /// Keeps so many bytes of lines; of one line at most an eighth of that.
    pub fn new(room: usize) -> Self {
        Self { room, kept: Mutex::default(), followed: AtomicBool::new(false) }
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
        let lines: Vec<KeptLine> = kept.lines.iter().filter(|line| line.number > number).cloned().collect();
        let first = lines.first().map_or(kept.last + 1, |line| line.number.0);
        KeptLines { lines, missing: first > number.0.saturating_add(1) }
    }

    /// The line that an event was made of, as far as it is kept.
    pub fn line_of(&self, seq: Seq) -> Option<String> {
        let kept = self.lock();
        let line = kept.lines.get(kept.reached.partition_point(|reached| *reached < seq))?;
        (line.first_seq? <= seq).then(|| line.text.clone())
    }

    /// Takes as much of a line as will be kept, into the room of another one if that fits.
    pub(crate) fn take(&self, room: String, direction: Direction, line: &str) -> Taken {
        let direction = match direction {
            Direction::FromCli => LineDirection::FromCli,
            Direction::ToCli => LineDirection::ToCli,
        };
        let most = self.room / SHARE;
        let text = &line[..line.floor_char_boundary(most)];
        let bytes = u64::try_from(line.len()).unwrap_or(u64::MAX);
        let cut = text.len() < line.len();
        let whole = (cut && self.followed.load(Ordering::Relaxed)).then(|| line.to_owned());
        let mut kept = if room.capacity() > text.len() + SLACK { String::new() } else { room };
        kept.clear();
        kept.reserve_exact(text.len());
        kept.push_str(text);
        Taken { direction, text: kept, bytes, cut, whole }
    }

    /// Keeps a line, with the first and the last event that were made of it. Gives the room of one that had to go.
    fn keep(&self, at: Timestamp, line: Taken, made: Option<(Seq, Seq)>) -> String {
        let Taken { direction, text, bytes, cut, whole } = line;
        let mut kept = self.lock();
        kept.last += 1;
        let number = LineNumber(kept.last);
        let (first_seq, last_seq) = made.unzip();
        let line = KeptLine { number, at, direction, text, bytes, cut, first_seq, last_seq };
        if !kept.spools.is_empty() {
            let text = whole.unwrap_or_else(|| line.text.clone());
            // If nobody wanted it whole when it came, it is told as it is kept.
            let cut = line.cut && text.len() == line.text.len();
            self.tell(&mut kept, &FollowedLine::Line(KeptLine { text, cut, ..line.clone() }));
        }
        kept.bytes += line.text.len() + BESIDE;
        let before = kept.reached.back().copied().unwrap_or_default();
        kept.reached.push_back(last_seq.unwrap_or(before));
        kept.lines.push_back(line);
        let mut spare = String::new();
        while kept.bytes > self.room
            && let Some(oldest) = kept.lines.pop_front()
        {
            kept.reached.pop_front();
            kept.bytes -= oldest.text.len() + BESIDE;
            spare = oldest.text;
        }
        // One that is very long is not held until the next.
        if spare.capacity() > 32 * SLACK { String::new() } else { spare }
    }

    /// Tells something to who follows.
    fn tell(&self, kept: &mut Kept, told: &FollowedLine) {
        // Who has gone wants nothing any more.
        kept.spools.retain(|spool| Arc::strong_count(spool) > 1);
        self.followed.store(!kept.spools.is_empty(), Ordering::Relaxed);
        // Only a map with keys that are no strings can fail.
        let mut line = serde_json::to_vec(told).unwrap_or_default();
        line.push(b'\n');
        kept.spools.iter().for_each(|spool| spool.write(&line));
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
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
        tail.keep(Timestamp(1), tail.take(String::new(), Direction::FromCli, text), made);
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
            recorder.begin(|tail, room| tail.take(room, Direction::ToCli, text));
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
    fn the_room_of_another_line_is_used_where_it_is_not_much_too_large() {
        let tail = RawTail::new(10_000);
        let taken = tail.take("x".repeat(30), Direction::ToCli, "1234");
        assert_eq!((taken.text.as_str(), taken.text.capacity()), ("1234", 30));
        let taken = tail.take("x".repeat(5 + SLACK), Direction::ToCli, "1234");
        assert_eq!((taken.text.as_str(), taken.text.capacity()), ("1234", 4));
        let taken = tail.take("x".to_owned(), Direction::ToCli, "1234");
        assert_eq!(taken.text, "1234");
    }

    #[test]
    fn a_line_that_is_too_long_is_cut_between_characters_and_says_so() {
        let tail = RawTail::new(8 * 5);
        assert!(!tail.take(String::new(), Direction::ToCli, "12345").cut);
        let cut = tail.take(String::new(), Direction::ToCli, "1234ä6");
        assert_eq!((cut.text.as_str(), cut.bytes, cut.cut), ("1234", 7, true));
    }

    #[tokio::test]
    async fn who_follows_is_told_every_line_whole_and_the_end_of_the_run() {
        let folder = tempfile::tempdir().unwrap();
        let tail = Arc::new(RawTail::new(8 * 5));
        let mut recorder = Recorder::new(Some(Arc::clone(&tail)));
        let mut record = |text: &str, seq| {
            recorder.begin(|tail, room| tail.take(room, Direction::FromCli, text));
            recorder.made(Seq(seq));
            recorder.end(Timestamp(0));
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
        assert!(!tail.followed.load(Ordering::Relaxed));
    }
}
