//! Rows of text that fit a terminal, and times as people say them.
//!
//! It knows nothing of sessions. The one rule it keeps: only the last column is ever cut, and only on a terminal.

use jackfield_api::Timestamp;
use unicode_width::UnicodeWidthStr;

use crate::commands::run::fit;
use crate::readable::page::{BOLD, Colours, PLAIN, Page};

/// Between two columns.
const GAP: &str = "  ";

/// Rows under a heading; each row has as many cells as the heading.
pub(crate) fn table<const N: usize>(
    heading: [&str; N],
    rows: &[[String; N]],
    width: Option<usize>,
    colours: Colours,
) -> Vec<u8> {
    let mut widths = heading.map(UnicodeWidthStr::width);
    for row in rows {
        for (column, cell) in row.iter().enumerate() {
            widths[column] = widths[column].max(cell.width());
        }
    }
    let heading = heading.map(str::to_owned);
    let mut page = Page::new(colours);
    for (number, row) in std::iter::once(&heading).chain(rows).enumerate() {
        let mut line = String::new();
        for (column, cell) in row.iter().enumerate() {
            if column + 1 == N {
                let room = width.map(|width| width.saturating_sub(line.width()));
                line.push_str(&room.map_or_else(|| cell.clone(), |room| fit(cell, room)));
            } else {
                line.push_str(cell);
                line.push_str(&" ".repeat(widths[column] - cell.width()));
                line.push_str(GAP);
            }
        }
        page.line(if number == 0 { BOLD } else { PLAIN }, line.trim_end());
    }
    let mut out = Vec::new();
    page.take_into(&mut out);
    out
}

/// How long ago something was, and the day if it was long ago.
pub(crate) fn ago(then: Timestamp, now: Timestamp) -> String {
    let minutes = now.0.saturating_sub(then.0) / 60_000;
    match minutes {
        0 => "now".to_owned(),
        1..=59 => format!("{minutes} min ago"),
        60..=1_439 => format!("{} h ago", minutes / 60),
        1_440..=10_079 => format!("{} d ago", minutes / 1_440),
        _ => day(then),
    }
}

/// The day (UTC), as in `2026-11-15`.
fn day(at: Timestamp) -> String {
    // Days are counted from the first of March of a year that is divisible by 400: then a leap day is the last day.
    let days = at.0 / 86_400_000 + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn only_the_last_column_is_cut() {
        let rows = [["a".to_owned(), "寿司".to_owned(), "a long title".to_owned()]];
        let lines =
            |width| String::from_utf8(table(["ID", "WHEN", "TITLE"], &rows, width, Colours::Off)).unwrap();
        assert_eq!(lines(None), "ID  WHEN  TITLE\na   寿司  a long title\n");
        assert_eq!(lines(Some(16)), "ID  WHEN  TITLE\na   寿司  a lon…\n");
    }

    #[test]
    fn times_are_told_as_people_say_them() {
        let now = Timestamp(1_794_700_800_000);
        let before = |minutes: u64| ago(Timestamp(now.0 - minutes * 60_000), now);
        assert_eq!(before(0), "now");
        assert_eq!(before(59), "59 min ago");
        assert_eq!(before(60), "1 h ago");
        assert_eq!(before(1_440), "1 d ago");
        assert_eq!(before(10_080), "2026-11-08");
        assert_eq!(ago(now, Timestamp(0)), "now", "a clock that was set back");
    }

    #[test]
    fn days_are_right_around_leap_days() {
        let days = [0, 951_782_400, 951_868_800, 1_709_164_800, 1_709_251_200, 4_107_456_000];
        let told = days.map(|seconds| day(Timestamp(seconds * 1_000)));
        assert_eq!(
            told,
            ["1970-01-01", "2000-02-29", "2000-03-01", "2024-02-29", "2024-03-01", "2100-02-28"]
        );
    }
}
