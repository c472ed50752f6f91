//! Lines of standard input, read by a thread of its own.
//!
//! A thread, because a pipe that is somebody else's too must not be made non-blocking, and not everything that can be
//! standard input can be waited for in another way. The one rule it keeps: a line that is too long is told and passed
//! over, and costs no more memory than the limit.

use std::io::{BufRead, BufReader, Read};
use std::thread;

use tokio::sync::mpsc;

/// The longest line. Prompts have pictures in them.
pub(crate) const LONGEST: usize = 64 * 1024 * 1024;
/// How many lines wait to be dealt with.
const WAITING: usize = 16;
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

/// Reads lines until there are no more; the channel is closed then.
pub(crate) fn follow(input: impl Read + Send + 'static) -> mpsc::Receiver<Line> {
    let (to, from) = mpsc::channel(WAITING);
    let reader = thread::Builder::new().name("acp-input".to_owned());
    // Without a thread there is no input: the channel is closed at once, and that is the end.
    let _ = reader.spawn(move || {
        let mut input = BufReader::new(input);
        while let Some(line) = next(&mut input, LONGEST) {
            if line != Line::Whole(Vec::new()) && to.blocking_send(line).is_err() {
                return;
            }
        }
    });
    from
}

fn next(input: &mut impl BufRead, longest: usize) -> Option<Line> {
    let mut line = Vec::new();
    let mut too_long = false;
    loop {
        let chunk = match input.fill_buf() {
            Ok(chunk) => chunk,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(_) => return None,
        };
        if chunk.is_empty() {
            // Half a message at the end says nothing.
            return (!line.is_empty() && !too_long).then_some(Line::Whole(line));
        }
        let end = chunk.iter().position(|byte| *byte == b'\n');
        let taken = end.unwrap_or(chunk.len());
        if line.len() + taken > longest {
            too_long = true;
            line = Vec::new();
        } else if !too_long {
            line.extend_from_slice(&chunk[..taken]);
        }
        input.consume(end.map_or(taken, |end| end + 1));
        if end.is_some() {
            if too_long {
                return Some(Line::TooLong);
            }
            if line.last() == Some(&b'\r') {
                line.pop();
            }
            if line.capacity() > KEPT {
                line.shrink_to_fit();
            }
            return Some(Line::Whole(line));
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn all(text: &[u8], longest: usize, buffer: usize) -> Vec<Line> {
        let mut input = BufReader::with_capacity(buffer, text);
        std::iter::from_fn(|| next(&mut input, longest)).collect()
    }

    #[test]
    fn lines_are_found_wherever_the_chunks_end() {
        for buffer in 1..12 {
            let lines = all(b"{\"a\":1}\r\n\n{}\nhalf", 100, buffer);
            let whole = |text: &str| Line::Whole(text.as_bytes().to_vec());
            assert_eq!(lines, [whole("{\"a\":1}"), whole(""), whole("{}"), whole("half")], "{buffer}");
        }
    }

    #[test]
    fn a_line_that_is_too_long_is_told_and_the_next_one_is_read() {
        for buffer in [1, 3, 64] {
            let lines = all(b"123456789\n12345678\nabc", 8, buffer);
            let rest = [Line::Whole(b"12345678".to_vec()), Line::Whole(b"abc".to_vec())];
            assert_eq!(lines[0], Line::TooLong);
            assert_eq!(lines[1..], rest);
        }
    }
}
