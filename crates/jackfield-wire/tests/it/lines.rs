//! Splitting into lines.

use jackfield_wire::{Line, Lines};
use proptest::prelude::*;

/// A line, owned: its bytes, or how long it was.
type Owned = Result<Vec<u8>, u64>;

fn own(line: Line<'_>) -> Owned {
    match line {
        Line::Whole(bytes) => Ok(bytes.to_vec()),
        Line::TooLong { length } => Err(length),
    }
}

fn split(chunks: &[&[u8]], limit: usize) -> Vec<Owned> {
    let mut lines = Lines::new(limit);
    let mut found = Vec::new();
    for chunk in chunks {
        lines.feed(chunk, |line| found.push(own(line)));
        assert!(lines.kept() <= limit.max(64) * 2, "{} bytes kept", lines.kept());
    }
    lines.finish(|line| found.push(own(line)));
    found
}

/// What splitting means, said in another way.
fn expected(stream: &[u8], limit: usize) -> Vec<Owned> {
    let mut pieces: Vec<_> = stream.split(|byte| *byte == b'\n').collect();
    if pieces.last().is_some_and(|piece| piece.is_empty()) {
        pieces.pop();
    }
    pieces
        .iter()
        .map(|piece| if piece.len() > limit { Err(piece.len() as u64) } else { Ok(piece.to_vec()) })
        .collect()
}

proptest! {
    #[test]
    fn any_cut_of_the_stream_gives_the_same_lines(
        stream in "[a-c\r\n\u{2028}]{0,120}",
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
        limit in 0..20_usize,
    ) {
        let stream = stream.as_bytes();
        let mut places: Vec<_> = cuts.iter().map(|cut| cut.index(stream.len() + 1)).collect();
        places.extend([0, stream.len()]);
        places.sort_unstable();
        let chunks: Vec<_> = places.windows(2).map(|pair| &stream[pair[0]..pair[1]]).collect();
        prop_assert_eq!(split(&chunks, limit), expected(stream, limit));
    }
}

#[test]
fn a_carriage_return_stays_and_other_separators_do_not_split() {
    assert_eq!(
        split(&["a\r\nb\u{2028}c\u{85}d\n".as_bytes()], 100),
        [Ok(b"a\r".to_vec()), Ok("b\u{2028}c\u{85}d".as_bytes().to_vec())]
    );
}

#[test]
fn a_line_over_the_limit_is_told_once_and_reading_goes_on() {
    let chunks: [&[u8]; 4] = [b"12345", b"678", b"9\nok\n", b"last"];
    assert_eq!(split(&chunks, 8), [Err(9), Ok(b"ok".to_vec()), Ok(b"last".to_vec())]);
}

#[test]
fn a_gigabyte_without_a_newline_keeps_no_more_than_the_limit() {
    let limit = 256 * 1024;
    let mut lines = Lines::new(limit);
    let chunk = vec![b'x'; 64 * 1024];
    for _ in 0..16 * 1024 {
        lines.feed(&chunk, |line| panic!("no line is complete: {line:?}"));
        assert!(lines.kept() <= 2 * limit, "{} bytes kept", lines.kept());
    }
    let mut found = Vec::new();
    lines.feed(b"\n{}\n", |line| found.push(own(line)));
    assert_eq!(found, [Err(1024 * 1024 * 1024), Ok(b"{}".to_vec())]);
}

#[test]
fn a_whole_line_is_not_copied() {
    let chunk = b"first\nsecond\n".to_vec();
    let mut lines = Lines::default();
    let mut starts = Vec::new();
    lines.feed(&chunk, |line| match line {
        Line::Whole(bytes) => starts.push(bytes.as_ptr()),
        Line::TooLong { length } => panic!("{length} is not too long"),
    });
    assert_eq!(starts, [chunk.as_ptr(), chunk[6..].as_ptr()]);
}
