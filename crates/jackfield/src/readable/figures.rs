//! Numbers as people read them. No more digits than anyone wants to know.

/// A duration, from milliseconds.
pub(super) fn duration(milliseconds: u64) -> String {
    let seconds = milliseconds / 1000;
    match seconds {
        0 => format!("{milliseconds} ms"),
        1..=59 => format!("{seconds}.{} s", milliseconds % 1000 / 100),
        60..=3599 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3600, seconds / 60 % 60),
    }
}

/// A count with a comma before every three digits.
pub(super) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// So many of something, in the singular or the plural.
pub(super) fn many(number: u64, one: &str, more: &str) -> String {
    if number == 1 { format!("1 {one}") } else { format!("{} {more}", count(number)) }
}

/// The lines of a text.
pub(super) fn lines(text: &str) -> u64 {
    text.trim_end().lines().count() as u64
}

/// How many lines a unified diff adds and takes away.
pub(super) fn changed_lines(diff: &str) -> (u64, u64) {
    // Before the first hunk stand the names of the files, with the same signs.
    let hunks = diff.lines().skip_while(|line| !line.starts_with("@@"));
    hunks.fold((0, 0), |(more, less), line| match line.as_bytes().first() {
        Some(b'+') => (more + 1, less),
        Some(b'-') => (more, less + 1),
        _ => (more, less),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_two_units_at_most() {
        let texts = [7, 1_250, 61_000, 3_725_000].map(duration);
        assert_eq!(texts, ["7 ms", "1.2 s", "1 min 1 s", "1 h 2 min"]);
    }

    #[test]
    fn thousands_are_set_apart() {
        assert_eq!([0, 999, 1_000, 1_234_567].map(count), ["0", "999", "1,000", "1,234,567"]);
    }

    #[test]
    fn file_names_are_no_changed_lines() {
        assert_eq!(changed_lines("--- a\n+++ b\n@@ -1,2 +1,3 @@\n same\n-- old\n+new\n++more\n"), (2, 1));
    }
}
