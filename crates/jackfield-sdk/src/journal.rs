//! Who is told of everything that passes between a session and its CLI, as it passes.
//!
//! Unlike raw lines it is all of it: both directions, standard error, starts, exits and time-outs, in the order in
//! which the session's machine got them. All of one moment is told at once, since much may pass in it, and who is told may
//! keep it as it lies. The one rule it keeps: what is told, played again, gives the same events.

use std::fmt::Debug;
use std::ops::Range;
use std::sync::Arc;

use jackfield_api::Timestamp;
use jackfield_core::Input;
pub use jackfield_core::journal::Entry;
use jackfield_core::journal::{Series, may_stand, write_time};
use jackfield_wire::Decoded;

/// How much room is kept for what was written down.
const KEPT: usize = 64 * 1024;

/// Who is told. It is called in the middle of the session's work, so it must be quick.
pub trait Journal: Debug + Send + Sync {
    /// Whether lines are wanted. Asked before some are made.
    fn wants_lines(&self) -> bool;

    /// What passed next. Who keeps its lines takes them, and may leave other room for those to come.
    fn passed(&self, passed: &mut Passed);

    /// A process was started for the session: the CLI's, or its guard's.
    fn process(&self, id: u32);
}

/// What passed: whole lines of a journal, each with its newline.
#[derive(Debug, Default)]
pub struct Passed {
    /// The lines. They can be read without those before them.
    pub lines: Vec<u8>,
    /// Where in them that stands which somebody said, in order. All that can be somebody's secret is said; the rest are
    /// words of the protocol, numbers and names.
    pub said: Vec<Range<usize>>,
}

impl Passed {
    /// Lines in which everything was said.
    pub fn all_said(lines: Vec<u8>) -> Self {
        let said = std::iter::once(0..lines.len()).collect();
        Self { lines, said }
    }

    fn say(&mut self, said: Range<usize>) {
        match self.said.last_mut() {
            // There is a newline between them at most.
            Some(last) if last.end + 1 >= said.start => last.end = said.end,
            _ if said.is_empty() => {}
            _ => self.said.push(said),
        }
    }
}

/// Writes down what passes, and tells it.
#[derive(Debug)]
pub(crate) struct Scribe {
    journal: Option<Arc<dyn Journal>>,
    wanted: bool,
    /// What is not told yet.
    passed: Passed,
    /// The time that was written down for lines behind it.
    came: Option<Timestamp>,
    /// Pieces of a text that follow each other.
    series: Series,
}

impl Scribe {
    pub(crate) fn new(journal: Option<Arc<dyn Journal>>) -> Self {
        let (passed, series) = (Passed::default(), Series::default());
        let mut scribe = Self { journal, wanted: false, passed, came: None, series };
        scribe.ask();
        scribe
    }

    /// Something will pass: asks whether somebody wants to hear of it.
    pub(crate) fn ask(&mut self) {
        self.wanted = self.journal.as_ref().is_some_and(|journal| journal.wants_lines());
    }

    /// Writes an input down, if somebody wants to hear of it.
    pub(crate) fn write(&mut self, at: Timestamp, input: &Input<'_>) {
        if !self.wanted {
            return;
        }
        match input {
            Input::Line(line) if may_stand(line) => self.line(at, line),
            input => {
                self.end_series();
                let from = self.passed.lines.len();
                Entry::write(at, input, &mut self.passed.lines);
                self.passed.say(from..self.passed.lines.len());
            }
        }
    }

    /// A line of the CLI: told as it came, or with the pieces that it follows.
    fn line(&mut self, at: Timestamp, line: &Decoded<'_>) {
        let piece = line.piece();
        if let Some(piece) = &piece
            && self.series.follow(at, piece, &mut self.passed.lines)
        {
            return;
        }
        self.end_series();
        let lines = &mut self.passed.lines;
        if self.came != Some(at) {
            write_time(at, lines);
            self.came = Some(at);
        }
        let from = lines.len();
        lines.extend_from_slice(line.text.as_bytes());
        lines.push(b'\n');
        let said = line.said();
        self.passed.say(from + said.start..from + said.end);
        self.series.begin(at, piece.as_ref());
    }

    /// Ends the line of pieces that followed each other, if there is one.
    fn end_series(&mut self) {
        if let Some(words) = self.series.end(&mut self.passed.lines) {
            self.passed.say(words);
        }
    }

    /// Tells what was written down.
    pub(crate) fn tell(&mut self) {
        self.end_series();
        let Some(journal) = self.journal.as_ref().filter(|_| !self.passed.lines.is_empty()) else { return };
        journal.passed(&mut self.passed);
        let Passed { lines, said } = &mut self.passed;
        lines.clear();
        said.clear();
        // A line that was very long does not keep its room.
        lines.shrink_to(KEPT);
        self.came = None;
    }

    /// Tells which process it is.
    pub(crate) fn process(&self, id: u32) {
        if let Some(journal) = &self.journal {
            journal.process(id);
        }
    }
}

impl Drop for Scribe {
    fn drop(&mut self) {
        self.tell();
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::sync::Mutex;

    use jackfield_core::Signal;
    use jackfield_wire::{Lines, decode};

    use super::*;

    /// What was told: lines, and what is said in them.
    type Told = (String, Vec<String>);

    #[derive(Debug, Default)]
    struct Paper(Mutex<Vec<Told>>);

    impl Journal for Paper {
        fn wants_lines(&self) -> bool {
            true
        }

        fn passed(&self, passed: &mut Passed) {
            let text = |bytes: &[u8]| String::from_utf8(bytes.to_owned()).unwrap();
            let said = passed.said.iter().map(|place| text(&passed.lines[place.clone()])).collect();
            self.0.lock().unwrap().push((text(&passed.lines), said));
        }

        fn process(&self, _: u32) {}
    }

    fn piece(text: &str) -> String {
        piece_of(0, text)
    }

    fn piece_of(index: u64, text: &str) -> String {
        let uuid = "8f14e45f-ceea-467f-9b3a-000000000001";
        format!(
            r#"{{"type":"stream_event","event":{{"type":"content_block_delta","index":{index},"delta":{{"type":"text_delta","text":"{text}"}}}},"session_id":"{uuid}","parent_tool_use_id":null,"uuid":"{uuid}"}}"#
        )
    }

    /// The lines of the CLI and all else that a journal has, with its kind and time.
    fn read(told: &[Told]) -> Vec<(String, u64, String)> {
        let mut reader = jackfield_core::journal::Reader::default();
        let lines = told.iter().flat_map(|(lines, _)| lines.lines());
        let entries = lines.flat_map(|line| reader.read(line).unwrap()).collect::<Vec<_>>();
        entries.into_iter().map(|entry| (entry.dir.clone(), entry.at().0, entry.line)).collect()
    }

    /// Reads chunks as the task does, with an input of another kind behind every line that ends something.
    fn told(chunks: &[&str]) -> Vec<Told> {
        let paper = Arc::new(Paper::default());
        let mut scribe = Scribe::new(Some(Arc::<Paper>::clone(&paper)));
        let mut lines = Lines::default();
        for (chunk, at) in chunks.iter().zip(1000..) {
            lines.feed(chunk.as_bytes(), |line| {
                let jackfield_wire::Line::Whole(bytes) = line else { return };
                scribe.write(Timestamp(at), &Input::Line(decode(bytes)));
                if bytes.ends_with(b"\"end\"}") {
                    scribe.write(Timestamp(at), &Input::Signalled(Signal::Kill));
                }
            });
            scribe.tell();
        }
        drop(scribe);
        Arc::into_inner(paper).unwrap().0.into_inner().unwrap()
    }

    #[test]
    fn lines_are_told_as_they_came_and_of_pieces_only_their_words_are_said() {
        let (one, two) = (piece("one"), piece_of(1, r"t\two"));
        let (all, next) = (r#"{"type":"a"}"#, r#"{"type":"b"}"#);
        let told = told(&[&format!("{one}\n{two}\n"), &format!("{all}\n{next}\n{one}\n{all}\n")]);
        let time = |at: &str| format!("{{\"t\":1.{at},\"dir\":\"out\"}}\n");
        let said = |said: &[&str]| said.iter().map(|said| (*said).to_owned()).collect::<Vec<_>>();
        let expected = [
            (format!("{}{one}\n{two}\n", time("000")), said(&[r#""one""#, r#""t\two""#])),
            (
                format!("{}{all}\n{next}\n{one}\n{all}\n", time("001")),
                said(&[&format!("{all}\n{next}"), r#""one""#, all]),
            ),
        ];
        assert_eq!(told, expected);
    }

    #[test]
    fn of_pieces_that_follow_each_other_the_first_stands_as_it_came_and_the_others_are_one_line() {
        let pieces = ["one", "two", r#"\"three\""#, "four"].map(piece);
        let other = piece_of(1, "other");
        let (front, back) = pieces[2].split_at(100);
        let first = format!("{}\n{}\n{front}", pieces[0], pieces[1]);
        // One that came in two pieces is a piece like all others; a text that was left is another one.
        let second = format!("{back}\n{}\n{other}\n{other}\n{other}\n{}\n", pieces[3], pieces[0]);
        let told = told(&[&first, &second]);
        let [(first, said_first), (second, said_second)] = told.as_slice() else { panic!("{told:?}") };
        let words = |lines: &str| {
            let parts =
                lines.lines().filter_map(|line| line.split_once("\"words\":")?.1.split_once(",\"uuids"));
            parts.map(|(words, _)| words.to_owned()).collect::<Vec<_>>()
        };
        assert_eq!((words(first), first.lines().count()), (vec![r#"["two"]"#.to_owned()], 3));
        let expected = vec![r#"["four"]"#.to_owned(), r#"["other","other"]"#.to_owned()];
        assert_eq!((words(second), second.lines().count()), (expected, 6));
        assert_eq!(said_first, &[r#""one""#, r#""two""#]);
        let expected = [r#""\"three\"""#, r#""four""#, r#""other""#, r#""other","other""#, r#""one""#];
        assert_eq!(said_second, &expected);
        let came = [
            (&pieces[0], 1000),
            (&pieces[1], 1000),
            (&pieces[2], 1001),
            (&pieces[3], 1001),
            (&other, 1001),
            (&other, 1001),
            (&other, 1001),
            (&pieces[0], 1001),
        ];
        assert_eq!(read(&told), came.map(|(line, at)| ("out".to_owned(), at, line.clone())));
    }

    #[test]
    fn what_comes_broken_or_is_no_line_of_the_protocol_stands_in_its_place() {
        let (one, two) = (piece("one"), piece_of(1, "two"));
        let (front, back) = two.split_at(100);
        let end = r#"{"type":"end"}"#;
        let chunks = [&format!("{one}\n{front}"), &format!("{back}\nno JSON\n{end}\n{one}\n{two}\n")];
        let told = told(&chunks.map(String::as_str));
        assert_eq!(told.len(), 2);
        let expected = [
            ("out", 1000, one.as_str()),
            ("out", 1001, &two),
            ("out", 1001, "no JSON"),
            ("out", 1001, end),
            ("meta", 1001, r#"{"signal":"SIGKILL"}"#),
            ("out", 1001, &one),
            ("out", 1001, &two),
        ];
        assert_eq!(read(&told), expected.map(|(dir, at, line)| (dir.to_owned(), at, line.to_owned())));
        for said in ["no JSON", end, "SIGKILL"] {
            assert!(told[1].1.iter().any(|part| part.contains(said)), "{said}: {told:?}");
        }
    }

    #[test]
    fn nothing_is_written_down_where_nobody_wants_it() {
        #[derive(Debug)]
        struct Nobody;
        impl Journal for Nobody {
            fn wants_lines(&self) -> bool {
                false
            }
            fn passed(&self, _: &mut Passed) {
                unreachable!();
            }
            fn process(&self, _: u32) {}
        }
        for journal in [None, Some(Arc::new(Nobody) as Arc<dyn Journal>)] {
            let mut scribe = Scribe::new(journal);
            scribe.ask();
            scribe.write(Timestamp(0), &Input::Timeout);
            scribe.write(Timestamp(0), &Input::Line(decode(b"{\"type\":\"keep_alive\"}")));
            scribe.tell();
            assert!(scribe.passed.lines.is_empty() && scribe.passed.said.is_empty());
        }
    }
}
