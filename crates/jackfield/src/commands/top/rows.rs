//! Text in the rows of a window.
//!
//! Not for text that may be cut: that is what [`Wrapped::rest`] is told for. The one rule it keeps: nothing of a text is
//! left out, and no row is wider than the window.

use ratatui::buffer::CellWidth as _;
use ratatui::style::Style;
use ratatui::text::Span;

/// How far apart tabs are.
const TAB: u16 = 4;

/// Text in rows.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Wrapped<'a> {
    pub(super) rows: Vec<String>,
    /// What had no room.
    pub(super) rest: &'a str,
}

/// A text in rows of so many columns, and at most so many of them. A row ends behind a word, if it can; what goes on
/// begins where the line began.
pub(super) fn wrapped(text: &str, width: u16, most: usize) -> Wrapped<'_> {
    let (mut rows, mut done) = (Vec::new(), 0);
    for line in text.split_inclusive('\n') {
        let words = line.trim_end_matches('\n');
        if rows.len() >= most {
            break;
        }
        let taken = put(words, width, most, &mut rows);
        if taken < words.len() {
            done += taken;
            break;
        }
        done += line.len();
    }
    Wrapped { rows, rest: text.get(done..).unwrap_or_default() }
}

/// Puts a line into rows, and says how much of it had room.
fn put(line: &str, width: u16, most: usize, rows: &mut Vec<String>) -> usize {
    let indent = line.bytes().take_while(|byte| *byte == b' ').count().min(usize::from(width) / 2);
    let indent = " ".repeat(indent);
    let (mut row, mut columns, mut at) = (String::new(), 0, 0);
    // Where the row may end, in it and in the line: behind a word.
    let (mut end, mut has_word) = (None, false);
    let parts: Vec<Span<'_>> = line.split('\t').map(Span::raw).collect();
    let letters = parts.iter().enumerate().flat_map(|(part, span)| {
        let letters = span.styled_graphemes(Style::new()).map(|letter| letter.symbol);
        (part > 0).then_some("\t").into_iter().chain(letters)
    });
    'letters: for letter in letters {
        let tab = " ".repeat(usize::from(TAB - columns % TAB));
        let shown = if letter == "\t" { tab.as_str() } else { letter };
        while columns + shown.cell_width() > width && row.len() > indent.len() {
            let is_blank = shown == " ";
            // A blank that has no room is seen as the end of its row.
            let here = (row.len(), at + usize::from(is_blank));
            let (until, taken) = end.take().filter(|_| !is_blank).unwrap_or(here);
            let goes_on = format!("{indent}{}", row.split_off(until));
            rows.push(std::mem::replace(&mut row, goes_on));
            if rows.len() >= most {
                return taken;
            }
            (columns, has_word) = (row.as_str().cell_width(), row.len() > indent.len());
            if is_blank {
                at = taken;
                continue 'letters;
            }
        }
        row.push_str(shown);
        columns += shown.cell_width();
        at += letter.len();
        if !shown.trim().is_empty() {
            has_word = true;
        } else if has_word {
            end = Some((row.len(), at));
        }
    }
    rows.push(row);
    line.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(text: &str, width: u16) -> Vec<String> {
        wrapped(text, width, usize::MAX).rows
    }

    #[test]
    fn a_row_ends_behind_a_word_if_it_can_and_goes_on_where_the_line_began() {
        assert_eq!(rows("one two three", 8), ["one two ", "three"]);
        assert_eq!(rows("one two three", 7), ["one two", "three"], "the blank is where the row ends");
        assert_eq!(rows("  one two\nthree\n\nfour", 6), ["  one ", "  two", "three", "", "four"]);
        assert_eq!(rows("abcdefghij", 4), ["abcd", "efgh", "ij"]);
        assert_eq!(rows("a\tb", 10), ["a   b"]);
        assert_eq!(rows("寿司寿司", 5), ["寿司", "寿司"]);
        assert_eq!(rows("", 5), [""; 0]);
    }

    #[test]
    fn what_has_no_room_is_told() {
        let text = "one two three\nfour";
        for most in 0..=4 {
            let Wrapped { rows, rest } = wrapped(text, 8, most);
            assert_eq!(rows.len(), most.min(3), "{most}");
            let expected = [text, "three\nfour", "four", "", ""];
            assert_eq!(rest, expected[most], "{most}");
        }
    }

    #[test]
    fn nothing_is_left_out_but_blanks_at_the_end_of_a_row_and_no_row_is_too_wide() {
        let texts = [
            "cd /ws && rm -rf build  \"two  blanks\"; echo a|sh     # far",
            "\tx\t\ty   z\n      deep      deeper and deeper still\n\n  end",
            "e\u{301}e\u{301}e\u{301} ☺\u{fe0f}☺\u{fe0f}☺\u{fe0f} 👩\u{200d}💻👩\u{200d}💻 क्ष क्ष क्ष ｶﾞｶﾞ שלום",
        ];
        for text in texts {
            let dense =
                |text: &str| text.chars().filter(|letter| !letter.is_whitespace()).collect::<String>();
            for width in 6..60 {
                let rows = rows(text, width);
                assert_eq!(dense(&rows.concat()), dense(text), "{width}");
                assert!(
                    rows.iter().all(|row| Span::raw(row.as_str()).width() <= usize::from(width)),
                    "{rows:?}"
                );
                // However it is cut, what was taken and what is left are the whole.
                for most in 0..rows.len() {
                    let Wrapped { rows: taken, rest } = wrapped(text, width, most);
                    assert_eq!(dense(&taken.concat()) + &dense(rest), dense(text), "{width} {most}");
                    assert!(!rest.is_empty());
                }
            }
        }
    }
}
