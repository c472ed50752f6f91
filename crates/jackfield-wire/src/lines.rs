//! Splitting bytes into lines.
//!
//! It reads nothing and decodes nothing. The rule: only `\n` ends a line (the CLI writes U+2028
//! raw [basic/unicode]), and no input makes it keep more than its limit.

use memchr::memchr;

/// The longest line that is kept unless the caller says otherwise: 64 MiB.
pub const DEFAULT_LINE_LIMIT: usize = 64 * 1024 * 1024;

/// A line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Line<'a> {
    /// The line without its newline; a `\r` before it is kept, being white space in JSON.
    Whole(&'a [u8]),
    /// A line over the limit; its bytes are gone.
    TooLong {
        /// How long it was.
        length: u64,
    },
}

/// Splits a stream that comes in chunks, cut anywhere.
#[derive(Debug)]
pub struct Lines {
    limit: usize,
    /// The kept beginning of the line being read; empty once the line is over the limit.
    partial: Vec<u8>,
    /// How long that line is so far.
    length: u64,
}

/// A buffer larger than this is given back after its line.
const KEPT_CAPACITY: usize = 1024 * 1024;

impl Lines {
    /// Lines of at most `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Self { limit, partial: Vec::new(), length: 0 }
    }

    /// Gives every line that this chunk completes; whole ones without copying.
    pub fn feed(&mut self, chunk: &[u8], mut each: impl FnMut(Line<'_>)) {
        let mut rest = chunk;
        while let Some(end) = memchr(b'\n', rest) {
            let (piece, after) = (&rest[..end], &rest[end + 1..]);
            rest = after;
            if self.length == 0 && piece.len() <= self.limit {
                each(Line::Whole(piece));
            } else {
                self.keep(piece);
                self.end(&mut each);
            }
        }
        self.keep(rest);
    }

    /// Gives the last line, if the stream did not end with a newline.
    pub fn finish(&mut self, mut each: impl FnMut(Line<'_>)) {
        if self.length > 0 {
            self.end(&mut each);
        }
    }

    /// How many bytes are kept for the unfinished line.
    pub fn kept(&self) -> usize {
        self.partial.capacity()
    }

    fn keep(&mut self, piece: &[u8]) {
        self.length += piece.len() as u64;
        if self.is_too_long() {
            self.partial = Vec::new();
        } else {
            self.partial.extend_from_slice(piece);
        }
    }

    fn end(&mut self, each: &mut impl FnMut(Line<'_>)) {
        if self.is_too_long() {
            each(Line::TooLong { length: self.length });
        } else {
            each(Line::Whole(&self.partial));
        }
        self.partial.clear();
        self.partial.shrink_to(KEPT_CAPACITY);
        self.length = 0;
    }

    fn is_too_long(&self) -> bool {
        self.length > self.limit as u64
    }
}

impl Default for Lines {
    fn default() -> Self {
        Self::new(DEFAULT_LINE_LIMIT)
    }
}
