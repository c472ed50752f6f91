//! Who is told of everything that passes between a session and its CLI, as it passes.
//!
//! Unlike raw lines it is all of it: both directions, standard error, starts, exits and time-outs, in the order in
//! which the session's machine got them. All of one moment is told at once, since much may pass in it, and lines of the
//! CLI are told from where they were read, but for pieces of a text that follow each other, which are a line of their own.
//! The one rule it keeps: what is told, played again, gives the same events.

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

    /// What passed next: lines of a journal, whole ones in each part, and what is said in them. All that can be
    /// somebody's secret is said; the rest are words of the protocol, numbers and names. They can be read without those
    /// before them.
    fn passed(&self, lines: &[&[u8]], said: &[u8]);

    /// A process was started for the session: the CLI's, or its guard's.
    fn process(&self, id: u32);
}

/// Writes down what passes, and tells it.
#[derive(Debug)]
pub(crate) struct Scribe {
    journal: Option<Arc<dyn Journal>>,
    wanted: bool,
    /// What is not told yet, in order.
    parts: Vec<Part>,
    /// What of it does not lie elsewhere.
    own: Vec<u8>,
    said: Vec<u8>,
    /// The time that was written down for lines behind it.
    came: Option<Timestamp>,
    /// Pieces of a text that follow each other.
    series: Series,
    /// Where in memory the bytes are that lines are read from.
    read: Range<usize>,
}

/// A part of what is told.
#[derive(Debug)]
enum Part {
    Own(Range<usize>),
    Read(Range<usize>),
}

impl Scribe {
    pub(crate) fn new(journal: Option<Arc<dyn Journal>>) -> Self {
        let (parts, own, said, series) = (Vec::new(), Vec::new(), Vec::new(), Series::default());
        let mut scribe = Self { journal, wanted: false, parts, own, said, came: None, series, read: 0..0 };
        scribe.ask();
        scribe
    }

    /// Something will pass: asks whether somebody wants to hear of it.
    pub(crate) fn ask(&mut self) {
        self.wanted = self.journal.as_ref().is_some_and(|journal| journal.wants_lines());
    }

    /// Lines come from these bytes until it is told.
    pub(crate) fn reads(&mut self, bytes: &[u8]) {
        let begin = bytes.as_ptr().addr();
        self.read = begin..begin + bytes.len();
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
                let from = self.own.len();
                Entry::write(at, input, &mut self.own);
                self.wrote(from);
                self.said.extend_from_slice(&self.own[from..]);
            }
        }
    }

    /// A line of the CLI: told as it came, or with the pieces that it follows.
    fn line(&mut self, at: Timestamp, line: &Decoded<'_>) {
        let piece = line.piece();
        if let Some(piece) = &piece
            && self.series.follow(at, piece, &mut self.own)
        {
            return;
        }
        self.end_series();
        if self.came != Some(at) {
            let from = self.own.len();
            write_time(at, &mut self.own);
            self.came = Some(at);
            self.wrote(from);
        }
        self.came(&line.text);
        line.say(&mut self.said);
        self.series.begin(at, piece.as_ref());
    }

    /// Ends the line of pieces that followed each other, if there is one.
    fn end_series(&mut self) {
        if let Some((line, words)) = self.series.end(&mut self.own) {
            self.said.extend_from_slice(&self.own[words]);
            self.said.push(b'\n');
            self.wrote(line.start);
        }
    }

    /// A line that is told as it came.
    fn came(&mut self, line: &str) {
        let place = line.as_ptr().addr();
        if self.read.contains(&place) {
            // With the newline behind it.
            let from = place - self.read.start;
            let to = from + line.len() + 1;
            match self.parts.last_mut() {
                Some(Part::Read(part)) if part.end == from => part.end = to,
                _ => self.parts.push(Part::Read(from..to)),
            }
        } else {
            // It came in two pieces.
            let from = self.own.len();
            self.own.extend_from_slice(line.as_bytes());
            self.own.push(b'\n');
            self.wrote(from);
        }
    }

    /// Something was written down from there on.
    fn wrote(&mut self, from: usize) {
        let to = self.own.len();
        match self.parts.last_mut() {
            Some(Part::Own(part)) => part.end = to,
            _ => self.parts.push(Part::Own(from..to)),
        }
    }

    /// Tells what was written down, and what came in the bytes that were read.
    pub(crate) fn tell(&mut self, read: &[u8]) {
        self.read = 0..0;
        self.end_series();
        let Some(journal) = self.journal.as_ref().filter(|_| !self.parts.is_empty()) else { return };
        let lines: Vec<&[u8]> = self
            .parts
            .iter()
            .map(|part| match part {
                Part::Own(part) => self.own.get(part.clone()),
                Part::Read(part) => read.get(part.clone()),
            })
            .map(Option::unwrap_or_default)
            .collect();
        journal.passed(&lines, &self.said);
        self.parts.clear();
        self.came = None;
        for told in [&mut self.own, &mut self.said] {
            told.clear();
            // A line that was very long does not keep its room.
            told.shrink_to(KEPT);
        }
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
        self.tell(&[]);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::sync::Mutex;

    use jackfield_core::Signal;
    use jackfield_wire::{Lines, decode};

    use super::*;

    /// What was told: lines, how many parts they came in, and what is said in them.
    type Told = (String, usize, String);

    #[derive(Debug, Default)]
    struct Paper(Mutex<Vec<Told>>);

    impl Journal for Paper {
        fn wants_lines(&self) -> bool {
            true
        }

        fn passed(&self, lines: &[&[u8]], said: &[u8]) {
            let text = |bytes: &[u8]| String::from_utf8(bytes.to_owned()).unwrap();
            self.0.lock().unwrap().push((text(&lines.concat()), lines.len(), text(said)));
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
        let lines = told.iter().flat_map(|(lines, ..)| lines.lines());
        let entries = lines.flat_map(|line| reader.read(line).unwrap()).collect::<Vec<_>>();
        entries.into_iter().map(|entry| (entry.dir.clone(), entry.at().0, entry.line)).collect()
    }

    /// Reads chunks as the task does, with an input of another kind behind every line that ends something.
    fn told(chunks: &[&str]) -> Vec<Told> {
        let paper = Arc::new(Paper::default());
        let mut scribe = Scribe::new(Some(Arc::<Paper>::clone(&paper)));
        let mut lines = Lines::default();
        for (chunk, at) in chunks.iter().zip(1000..) {
            scribe.reads(chunk.as_bytes());
            lines.feed(chunk.as_bytes(), |line| {
                let jackfield_wire::Line::Whole(bytes) = line else { return };
                scribe.write(Timestamp(at), &Input::Line(decode(bytes)));
                if bytes.ends_with(b"\"end\"}") {
                    scribe.write(Timestamp(at), &Input::Signalled(Signal::Kill));
                }
            });
            scribe.tell(chunk.as_bytes());
        }
        drop(scribe);
        Arc::into_inner(paper).unwrap().0.into_inner().unwrap()
    }

    #[test]
    fn lines_are_told_from_where_they_were_read_and_only_what_is_said_is_said() {
        let (one, two) = (piece("one"), piece_of(1, r"t\two"));
        let told = told(&[&format!("{one}\n{two}\n"), &format!("{one}\n")]);
        let time = |at: &str| format!("{{\"t\":1.{at},\"dir\":\"out\"}}\n");
        let expected = [
            (format!("{}{one}\n{two}\n", time("000")), 2, "one\nt\two\n".to_owned()),
            (format!("{}{one}\n", time("001")), 2, "one\n".to_owned()),
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
        let [(first, _, said_first), (second, _, said_second)] = told.as_slice() else { panic!("{told:?}") };
        let words = |lines: &str| {
            let parts =
                lines.lines().filter_map(|line| line.split_once("\"words\":")?.1.split_once(",\"uuids"));
            parts.map(|(words, _)| words.to_owned()).collect::<Vec<_>>()
        };
        assert_eq!((words(first), first.lines().count()), (vec![r#"["two"]"#.to_owned()], 3));
        let expected = vec![r#"["four"]"#.to_owned(), r#"["other","other"]"#.to_owned()];
        assert_eq!((words(second), second.lines().count()), (expected, 6));
        assert_eq!(
            (said_first.as_str(), said_second.as_str()),
            ("one\n\"two\"\n", "\"three\"\n\"four\"\nother\n\"other\",\"other\"\none\n",)
        );
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
        // The broken line and the two that are no lines of the CLI are written down, all else lies where it was read.
        assert_eq!((told[0].1, told[1].1), (2, 4));
        assert!(told[1].2.contains("no JSON") && told[1].2.contains(end) && told[1].2.contains("SIGKILL"));
    }

    #[test]
    fn nothing_is_written_down_where_nobody_wants_it() {
        #[derive(Debug)]
        struct Nobody;
        impl Journal for Nobody {
            fn wants_lines(&self) -> bool {
                false
            }
            fn passed(&self, _: &[&[u8]], _: &[u8]) {
                unreachable!();
            }
            fn process(&self, _: u32) {}
        }
        for journal in [None, Some(Arc::new(Nobody) as Arc<dyn Journal>)] {
            let mut scribe = Scribe::new(journal);
            scribe.ask();
            scribe.write(Timestamp(0), &Input::Timeout);
            scribe.write(Timestamp(0), &Input::Line(decode(b"{\"type\":\"keep_alive\"}")));
            scribe.tell(&[]);
            assert!(scribe.own.is_empty() && scribe.said.is_empty());
        }
    }
}
