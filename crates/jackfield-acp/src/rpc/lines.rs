//! Lines of standard input.
//!
//! A pipe is opened once more and waited for together with everything else; the one that was given is not made
//! non-blocking, because it may be somebody else's too. What cannot be opened again, as a socket, is read by a thread of
//! its own. The one rule it keeps: a line that is too long is told and passed over, and costs no more memory than the
//! limit.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{ErrorKind, Read as _};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::thread;

use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe;
use tokio::sync::mpsc;

/// The longest line. Prompts have pictures in them.
pub(crate) const LONGEST: usize = 64 * 1024 * 1024;
/// How much is read at once.
const CHUNK: usize = 16 * 1024;
/// How many chunks of a thread wait to be dealt with.
const WAITING: usize = 4;
/// How much room a line's buffer keeps for the next one.
const KEPT: usize = 64 * 1024;

/// What was read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line {
    /// A line without its end.
    Whole(Vec<u8>),
    /// A line that was longer than it may be.
    TooLong,
}

/// Lines, as they come.
#[derive(Debug)]
pub(crate) struct Lines {
    source: Source,
    chunk: Vec<u8>,
    splitter: Splitter,
    found: VecDeque<Line>,
}

#[derive(Debug)]
enum Source {
    /// It is known when something is in it.
    Waited(pipe::Receiver),
    /// A thread reads it.
    Threaded(mpsc::Receiver<Vec<u8>>),
    Ended,
}

impl Lines {
    /// Reads from `input` from now on. Must be called inside a runtime.
    pub(crate) fn new(input: impl Into<OwnedFd>) -> Self {
        let input = input.into();
        let again = pipe::OpenOptions::new().open_receiver(format!("/proc/self/fd/{}", input.as_raw_fd()));
        let source = again.map_or_else(|_| threaded(File::from(input)), Source::Waited);
        Self { source, chunk: Vec::new(), splitter: Splitter::new(LONGEST), found: VecDeque::new() }
    }

    /// The next line that is not empty; none when there are no more. Cancel-safe.
    pub(crate) async fn next(&mut self) -> Option<Line> {
        loop {
            match self.found.pop_front() {
                Some(Line::Whole(line)) if line.is_empty() => {}
                Some(line) => return Some(line),
                None if matches!(self.source, Source::Ended) => return None,
                None => {
                    self.source.read(&mut self.chunk).await;
                    self.splitter.split(&self.chunk, &mut self.found);
                    if self.chunk.is_empty() {
                        self.source = Source::Ended;
                    }
                }
            }
        }
    }
}

impl Source {
    /// Waits for something to read, and reads it; nothing at the end, which an error is too. Cancel-safe.
    async fn read(&mut self, chunk: &mut Vec<u8>) {
        chunk.clear();
        match self {
            Self::Waited(input) => {
                chunk.reserve(CHUNK);
                if input.read_buf(chunk).await.is_err() {
                    chunk.clear();
                }
            }
            Self::Threaded(chunks) => *chunk = chunks.recv().await.unwrap_or_default(),
            Self::Ended => {}
        }
    }
}

fn threaded(mut input: File) -> Source {
    let (to, from) = mpsc::channel(WAITING);
    let reader = thread::Builder::new().name("acp-input".to_owned());
    // Without a thread there is no input: the channel is closed at once, and that is the end.
    let _ = reader.spawn(move || {
        loop {
            let mut chunk = vec![0; CHUNK];
            match input.read(&mut chunk) {
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                read => chunk.truncate(read.unwrap_or(0)),
            }
            if chunk.is_empty() || to.blocking_send(chunk).is_err() {
                return;
            }
        }
    });
    Source::Threaded(from)
}

/// Finds lines in what is read.
#[derive(Debug)]
struct Splitter {
    longest: usize,
    line: Vec<u8>,
    too_long: bool,
}

impl Splitter {
    fn new(longest: usize) -> Self {
        Self { longest, line: Vec::new(), too_long: false }
    }

    /// Takes the next chunk; an empty one is the end.
    fn split(&mut self, chunk: &[u8], found: &mut VecDeque<Line>) {
        let mut from = 0;
        for end in memchr::memchr_iter(b'\n', chunk) {
            self.take(&chunk[from..end]);
            from = end + 1;
            found.push_back(self.end());
        }
        self.take(&chunk[from..]);
        // Half a message that is too long says nothing.
        if chunk.is_empty() && !self.line.is_empty() {
            found.push_back(self.end());
        }
    }

    fn take(&mut self, part: &[u8]) {
        if self.line.len() + part.len() > self.longest {
            self.too_long = true;
            self.line = Vec::new();
        } else if !self.too_long {
            self.line.extend_from_slice(part);
        }
    }

    fn end(&mut self) -> Line {
        let mut line = std::mem::take(&mut self.line);
        if std::mem::take(&mut self.too_long) {
            return Line::TooLong;
        }
        if line.last() == Some(&b'\r') {
            line.pop();
        }
        if line.capacity() > KEPT {
            line.shrink_to_fit();
        }
        Line::Whole(line)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::io::{Seek as _, Write as _, pipe};
    use std::os::unix::net::UnixStream;

    use super::*;

    fn all(text: &[u8], longest: usize, chunk: usize) -> Vec<Line> {
        let (mut splitter, mut found) = (Splitter::new(longest), VecDeque::new());
        for chunk in text.chunks(chunk).chain([b"".as_slice()]) {
            splitter.split(chunk, &mut found);
        }
        found.into()
    }

    fn whole(text: &str) -> Line {
        Line::Whole(text.as_bytes().to_vec())
    }

    #[test]
    fn lines_are_found_wherever_the_chunks_end() {
        for chunk in 1..20 {
            let lines = all(b"{\"a\":1}\r\n\n{}\nhalf", 100, chunk);
            assert_eq!(lines, [whole("{\"a\":1}"), whole(""), whole("{}"), whole("half")], "{chunk}");
        }
    }

    #[test]
    fn a_line_that_is_too_long_is_told_and_the_next_one_is_read() {
        for chunk in [1, 3, 64] {
            let lines = all(b"123456789\n12345678\nabc", 8, chunk);
            assert_eq!(lines, [Line::TooLong, whole("12345678"), whole("abc")]);
        }
        assert_eq!(all(b"a\n123456789", 8, 4), [whole("a")]);
    }

    async fn rest(mut lines: Lines) -> Vec<Line> {
        let mut found = Vec::new();
        while let Some(line) = lines.next().await {
            found.push(line);
        }
        found
    }

    /// Longer than what a pipe holds and than a chunk, in pieces that end anywhere.
    fn text() -> Vec<String> {
        (0..200).map(|number| format!("{number}:{}", "x".repeat(number * 37))).collect()
    }

    #[tokio::test]
    async fn whatever_it_is_read_from_the_lines_are_the_same() {
        let expected: Vec<_> = text().iter().map(|line| whole(line)).collect();
        let written = text().join("\n");
        let (from_pipe, mut to_pipe) = pipe().unwrap();
        let (from_socket, mut to_socket) = UnixStream::pair().unwrap();
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(written.as_bytes()).unwrap();
        file.rewind().unwrap();
        let (pipe, socket, file) = (Lines::new(from_pipe), Lines::new(from_socket), Lines::new(file));
        let kinds = [&pipe, &socket, &file].map(|lines| matches!(lines.source, Source::Waited(_)));
        assert_eq!(kinds, [true, false, false]);
        let copy = written.clone();
        let writers = [
            thread::spawn(move || to_pipe.write_all(written.as_bytes()).unwrap()),
            thread::spawn(move || to_socket.write_all(copy.as_bytes()).unwrap()),
        ];
        let (pipe, socket, file) = tokio::join!(rest(pipe), rest(socket), rest(file));
        for writer in writers {
            writer.join().unwrap();
        }
        assert!(pipe == expected && socket == expected && file == expected);
    }

    #[tokio::test]
    async fn a_line_that_comes_in_pieces_is_waited_for() {
        let (from, mut to) = pipe().unwrap();
        let mut lines = Lines::new(from);
        for number in 0..100 {
            let written = format!("{number}");
            let write = async {
                tokio::task::yield_now().await;
                // In two pieces: the first wakes the reader for nothing.
                to.write_all(written.as_bytes()).unwrap();
                tokio::task::yield_now().await;
                to.write_all(b"\n").unwrap();
            };
            let (line, ()) = tokio::join!(lines.next(), write);
            assert_eq!(line, Some(whole(&written)));
        }
    }
}
