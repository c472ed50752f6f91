//! Which problems a change has brought.
//!
//! It does no IO. The one rule it keeps: a problem that was there before is not new because its line has moved.

use std::fmt::Write as _;
use std::path::Path;

use crate::problem::{Diagnostic, Severity};

/// How many problems are told.
const MOST: usize = 20;
/// How much of one is told.
const MESSAGE: usize = 500;

/// The problems that are there now and were not before, without hints.
pub fn new_problems(before: &[Diagnostic], after: &[Diagnostic]) -> Vec<Diagnostic> {
    let mut before: Vec<&Diagnostic> = before.iter().collect();
    let is_new = |problem: &&Diagnostic| {
        let same = |earlier: &&Diagnostic| {
            (&earlier.message, earlier.severity, &earlier.source, &earlier.code)
                == (&problem.message, problem.severity, &problem.source, &problem.code)
        };
        match before.iter().position(same) {
            Some(at) => {
                before.swap_remove(at);
                false
            }
            None => true,
        }
    };
    after.iter().filter(|problem| problem.severity != Severity::Hint).filter(is_new).cloned().collect()
}

/// What the model is told of new problems; `None` if there are none.
pub fn words(path: &Path, problems: &[Diagnostic]) -> Option<String> {
    if problems.is_empty() {
        return None;
    }
    let mut text = format!("This change brought new problems in {}:\n", path.display());
    for problem in problems.iter().take(MOST) {
        let severity = match problem.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Info => "information",
            Severity::Hint => "hint",
        };
        let end = problem.message.floor_char_boundary(MESSAGE);
        let said_by = match (&problem.source, &problem.code) {
            (Some(source), Some(code)) => format!(" ({source}: {code})"),
            (Some(word), None) | (None, Some(word)) => format!(" ({word})"),
            (None, None) => String::new(),
        };
        // Writing to a text cannot fail.
        let _ = writeln!(
            text,
            "- {severity} in line {}, column {}: {}{said_by}",
            problem.range.start.line + 1,
            problem.range.start.character + 1,
            &problem.message[..end],
        );
    }
    if problems.len() > MOST {
        let _ = writeln!(text, "and {} more", problems.len() - MOST);
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::problem::{Position, Range};

    fn problem(message: &str, severity: Severity, line: u32) -> Diagnostic {
        let at = Position { line, character: 4 };
        let range = Range { start: at, end: at };
        let (source, code) = (Some("Pyright".to_owned()), Some("reportX".to_owned()));
        Diagnostic { message: message.to_owned(), severity, range, source, code }
    }

    #[test]
    fn only_what_a_change_has_brought_is_new() {
        let old = [problem("a", Severity::Error, 1), problem("b", Severity::Error, 2)];
        let moved = [problem("a", Severity::Error, 9), problem("b", Severity::Error, 12)];
        assert_eq!(new_problems(&old, &moved), []);
        let again = [moved[0].clone(), moved[0].clone(), problem("a", Severity::Warning, 1)];
        assert_eq!(new_problems(&old, &again), again[1..]);
        assert_eq!(new_problems(&[], &[problem("h", Severity::Hint, 1)]), []);
    }

    #[test]
    fn problems_are_told_with_their_places_as_people_count() {
        let path = Path::new("/ws/a.py");
        assert_eq!(words(path, &[]), None);
        let told = words(path, &[problem("wrong type", Severity::Error, 0)]).unwrap();
        assert!(
            told.contains("/ws/a.py:\n- error in line 1, column 5: wrong type (Pyright: reportX)"),
            "{told}"
        );
        let many = words(path, &vec![problem(&"ä".repeat(600), Severity::Error, 0); MOST + 3]).unwrap();
        assert!(many.ends_with("and 3 more\n") && many.len() < MOST * (MESSAGE + 100), "{many}");
    }
}
