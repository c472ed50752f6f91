//! Pieces of Markdown that stay what they are, whatever text is in them.
//!
//! Secrets are taken out here, so that no piece can be written with one.

use std::io::{self, Write};

use jackfield_api::Timestamp;

use crate::redact::redact;

/// The most that is written of one block, in bytes; the rest is in the JSON export.
const LONGEST_BLOCK: usize = 64 * 1024;

/// Text for the inside of a line: no line breaks, and nothing that Markdown would take for a sign.
pub(super) fn line(text: &str) -> String {
    let mut line = String::new();
    for c in redact(text).chars() {
        match c {
            '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '#' | '|' => line.extend(['\\', c]),
            c if c.is_control() => line.push(' '),
            c => line.push(c),
        }
    }
    line.trim().to_owned()
}

/// Text as code within a line.
pub(super) fn code(text: &str) -> String {
    let text = redact(text).replace(|c: char| c.is_control(), " ");
    let mark = "`".repeat(longest_run(&text) + 1);
    // A blank on both sides keeps a mark at the edge apart from ours.
    if text.starts_with('`') || text.ends_with('`') || text.is_empty() {
        format!("{mark} {text} {mark}")
    } else {
        format!("{mark}{text}{mark}")
    }
}

/// Text as a quotation.
pub(super) fn quote(text: &str, to: &mut impl Write) -> io::Result<()> {
    for line in redact(text).lines() {
        writeln!(to, "{}", format!("> {line}").trim_end())?;
    }
    writeln!(to)
}

/// Text as a block of code, between fences that are longer than any in it.
pub(super) fn fenced(language: &str, text: &str, to: &mut impl Write) -> io::Result<()> {
    let text = redact(text);
    let mut end = text.len().min(LONGEST_BLOCK);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let (shown, left) = text.split_at(end);
    let fence = "`".repeat((longest_run(shown) + 1).max(3));
    let line_end = if shown.is_empty() || shown.ends_with('\n') { "" } else { "\n" };
    writeln!(to, "{fence}{language}\n{shown}{line_end}{fence}\n")?;
    if !left.is_empty() {
        writeln!(to, "*… and {} more bytes; the JSON export has all of it.*\n", left.len())?;
    }
    Ok(())
}

/// Text that a reader may unfold.
pub(super) fn details(summary: &str, text: &str, to: &mut impl Write) -> io::Result<()> {
    // Its own end would end the part early.
    let text = redact(text).replace("</", "&lt;/");
    writeln!(to, "<details>\n<summary>{summary}</summary>\n\n{}\n\n</details>\n", text.trim_end())
}

/// `2026-11-15 06:13 UTC`
pub(super) fn date(at: Timestamp) -> String {
    let minutes = at.0 / 60_000;
    let (days, minute) = (minutes / 1440, minutes % 1440);
    // Days since 1 March of the year 0, in eras of 400 years: a leap day is then the last day of its year.
    let day = days + 719_468;
    let (era, day_of_era) = (day / 146_097, day % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * day_of_year + 2) / 153;
    let day_of_month = day_of_year - (153 * march_month + 2) / 5 + 1;
    let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day_of_month:02} {:02}:{:02} UTC", minute / 60, minute % 60)
}

/// Dollars, with as many places as a small amount needs.
pub(super) fn dollars(amount: f64) -> String {
    if amount.abs() >= 1.0 { format!("${amount:.2}") } else { format!("${amount:.4}") }
}

fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        for (at, expected) in [
            (0, "1970-01-01 00:00 UTC"),
            (951_782_400_000, "2000-02-29 00:00 UTC"),
            (1_709_251_199_999, "2024-02-29 23:59 UTC"),
            (1_763_187_217_326, "2025-11-15 06:13 UTC"),
            (4_102_444_800_000, "2100-01-01 00:00 UTC"),
        ] {
            assert_eq!(date(Timestamp(at)), expected);
        }
    }
}
