//! The promises of `docs/security.md`: each number has a row, and each test that a row names is there.
//!
//! Whether a test shows what it says is for its reader. The one rule it keeps: a test that is renamed or removed is
//! missed, and a promise without a test says why.

use std::collections::BTreeSet;

use super::{Finding, House, is_rust};

const DOCUMENT: &str = "docs/security.md";
/// What the numbers begin with, and how many there are.
const PROMISES: [(char, usize); 3] = [('L', 8), ('F', 32), ('S', 30)];
/// What stands in the place of tests.
const REASON: &str = "Not kept by a test:";
/// Where tests of the page lie, by the names of their files.
const PAGE: &str = "web/e2e/";

/// Every promise has its row, and every row its tests.
pub(super) fn check(house: &House) -> Vec<Finding> {
    let Some(text) = house.text(DOCUMENT) else {
        return vec![Finding::new(DOCUMENT, 1, "missing: it says which test keeps which promise")];
    };
    let sources: Vec<&str> =
        house.texts.iter().filter(|(path, _)| is_rust(path)).map(|(_, text)| &**text).collect();
    let is_function = |name: &str| {
        let (plain, generic) = (format!("fn {name}("), format!("fn {name}<"));
        sources.iter().any(|text| text.contains(&plain) || text.contains(&generic))
    };
    let is_there = |named: &str| match named.split_once(": ") {
        Some((file, title)) => {
            house.text(&format!("{PAGE}{file}")).is_some_and(|text| text.contains(&format!("it(\"{title}\"")))
        }
        None => is_function(named),
    };
    let (mut findings, mut seen) = (Vec::new(), BTreeSet::new());
    for (number, line) in text.lines().enumerate() {
        let Some((promise, tests)) = row(line) else { continue };
        if !seen.insert(promise.to_owned()) {
            findings.push(Finding::new(DOCUMENT, number + 1, format!("{promise} has a second row")));
        }
        let names = names(tests);
        if names.is_empty() && !tests.contains(REASON) {
            let text = format!("{promise} names no test: name one, or say `{REASON}` and why");
            findings.push(Finding::new(DOCUMENT, number + 1, text));
        }
        for name in names.into_iter().filter(|name| !is_there(name)) {
            let text = format!("{promise}: there is no test `{name}`: name the one that keeps it now");
            findings.push(Finding::new(DOCUMENT, number + 1, text));
        }
    }
    for (letter, count) in PROMISES {
        for promise in (1..=count).map(|number| format!("{letter}{number}")) {
            if !seen.contains(&promise) {
                findings.push(Finding::new(DOCUMENT, 1, format!("{promise} has no row: add it")));
            }
        }
    }
    findings
}

/// A row of the table: the promise's number, and the cell with the tests.
fn row(line: &str) -> Option<(&str, &str)> {
    let mut cells = line.strip_prefix("| ")?.split(" | ");
    let promise = cells.next()?;
    let digits = promise.strip_prefix(['L', 'F', 'S'])?;
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let tests = cells.last()?;
    Some((promise, tests.strip_suffix('|').unwrap_or(tests)))
}

/// What stands between backticks and is a sentence: the name of a test.
fn names(cell: &str) -> Vec<&str> {
    let quoted = cell.split('`').skip(1).step_by(2);
    quoted.filter(|word| word.matches('_').count() >= 2 || word.contains(".test.mjs: ")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_rows_of_promises_are_rows() {
        assert_eq!(row("| S20 | nothing runs | `a_b_c` |"), Some(("S20", "`a_b_c` ")));
        for other in ["| promise | tests |", "|---|---|", "S20", "| SX | x | y |", "| S | x | y |"] {
            assert_eq!(row(other), None, "{other}");
        }
    }

    #[test]
    fn names_of_tests_are_told_from_other_words_in_backticks() {
        let cell = "`s20_nothing_runs`, `jackfield run`, `one_word`, `access.test.mjs: lets a ticket in`";
        assert_eq!(names(cell), ["s20_nothing_runs", "access.test.mjs: lets a ticket in"]);
    }
}
