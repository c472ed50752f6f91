//! Finding what `openFile` is to select by its text.
//!
//! The one rule it keeps: places are counted as the editors count them, in UTF-16 code units.

use crate::editor::{Position, Range};

/// From the first `start` to the end of the first `end` behind it, or to the end of `start`, or of its line.
pub(super) fn find(text: &str, start: &str, end: Option<&str>, to: Until) -> Option<Range> {
    let first = text.find(start)?;
    let behind = first + start.len();
    let mut last = match end {
        Some(end) => behind + text[behind..].find(end)? + end.len(),
        None => behind,
    };
    if to == Until::EndOfLine {
        last += text[last..].find(['\r', '\n']).unwrap_or(text.len() - last);
    }
    Some(Range { start: position(text, first), end: position(text, last) })
}

/// How far a selection goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Until {
    EndOfText,
    EndOfLine,
}

fn position(text: &str, at: usize) -> Position {
    let before = &text[..at];
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    Position {
        line: count(before.matches('\n').count()),
        character: count(before[line_start..].encode_utf16().count()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "fn one() {}\nlet 𝄞 = two();\r\nlet three = 3;\n";

    fn range(start: (u32, u32), end: (u32, u32)) -> Range {
        let position = |(line, character)| Position { line, character };
        Range { start: position(start), end: position(end) }
    }

    #[test]
    fn a_text_is_found_with_its_end() {
        let find = |start, end, until| find(TEXT, start, end, until);
        assert_eq!(find("one", None, Until::EndOfText), Some(range((0, 3), (0, 6))));
        // A clef is two code units.
        assert_eq!(find("two", None, Until::EndOfLine), Some(range((1, 9), (1, 15))));
        assert_eq!(find("two", Some("three"), Until::EndOfText), Some(range((1, 9), (2, 9))));
        assert_eq!(find("three", Some("one"), Until::EndOfText), None);
        assert_eq!(find("four", None, Until::EndOfLine), None);
    }
}
