//! The pure crates do no IO: their sources name no clock, file, socket, process, thread or lock.
//!
//! A search in the text, not a proof; what other packages could do for them is the layering's business. The
//! one rule it keeps: a path is found however it is written, in full or in braces.

use super::{Finding, House};

const PURE: &[&str] = &[
    "crates/jackfield-wire/src",
    "crates/jackfield-api/src",
    "crates/jackfield-core/src",
    "crates/jackfield-observe/src",
];

const FORBIDDEN: &[(&str, &str)] = &[
    ("std::fs", "reads or writes files"),
    ("std::net", "opens sockets"),
    ("std::os", "is bound to one system"),
    ("std::process", "starts processes"),
    ("std::thread", "starts threads"),
    ("std::env", "reads the environment"),
    ("std::time::Instant", "reads a clock"),
    ("std::time::SystemTime", "reads a clock"),
    ("std::sync::Mutex", "is a lock"),
    ("std::sync::RwLock", "is a lock"),
    ("std::sync::Condvar", "is a lock"),
    ("std::sync::Barrier", "is a lock"),
    ("std::sync::mpsc", "waits for another thread"),
    ("std::io::stdin", "reads standard input"),
    ("std::io::stdout", "writes to standard output"),
    ("std::io::stderr", "writes to standard error"),
];

/// Looks through the sources of the pure crates.
pub(super) fn check(house: &House) -> Vec<Finding> {
    let mut findings = Vec::new();
    let sources = PURE.iter().flat_map(|folder| house.rust_below(folder));
    for (path, text) in sources.filter(|(path, _)| !is_for_tests(house, path)) {
        for (line, found) in standard_paths(&shipped(text)) {
            for (forbidden, why) in FORBIDDEN {
                if names(&found, forbidden) {
                    let text = format!("`{found}` {why}: make it an input or an output of the core");
                    findings.push(Finding::new(path, line, text));
                }
            }
        }
    }
    findings
}

/// Whether a file is a module `tests` that its parent declares for tests only.
fn is_for_tests(house: &House, path: &str) -> bool {
    let Some(folder) = path.strip_suffix("/tests.rs") else { return false };
    let parents = [format!("{folder}.rs"), format!("{folder}/mod.rs"), format!("{folder}/lib.rs")];
    let declares = |parent: &String| house.text(parent).is_some_and(|text| text.contains(DECLARED_FOR_TESTS));
    parents.iter().any(declares)
}

const DECLARED_FOR_TESTS: &str = "#[cfg(test)]\nmod tests;";

/// Whether `found` is the forbidden path, something in it, or a module that lets it in by the back door.
fn names(found: &str, forbidden: &str) -> bool {
    let inside =
        |outer: &str, inner: &str| inner.strip_prefix(outer).is_some_and(|rest| rest.starts_with("::"));
    found == forbidden || inside(forbidden, found) || inside(found.trim_end_matches("::*"), forbidden)
}

/// The text without comments and without the tests at its end; as many lines as before.
fn shipped(text: &str) -> String {
    let mut lines: Vec<&str> = text.lines().collect();
    let tests = |at: &usize| {
        lines[*at].trim() == "#[cfg(test)]"
            && lines.get(at + 1).is_some_and(|next| next.starts_with("mod ") && next.ends_with('{'))
    };
    if let Some(end) = (0..lines.len()).find(tests) {
        lines.truncate(end);
    }
    lines.iter().map(|line| line.split("//").next().unwrap_or_default()).collect::<Vec<_>>().join("\n")
}

/// Every path that begins with `std::` (or `core::`, `alloc::`, told as `std::`), with its line; groups in
/// braces are taken apart.
fn standard_paths(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for root in ["std::", "core::"] {
        for (at, _) in text.match_indices(root) {
            let before = text[..at].chars().next_back();
            if before.is_some_and(|c| c.is_alphanumeric() || c == '_') {
                continue;
            }
            let line = text[..at].matches('\n').count() + 1;
            let mut paths = Vec::new();
            expand("std".to_owned(), &text[at + root.len()..], &mut paths);
            found.extend(paths.into_iter().map(|path| (line, path)));
        }
    }
    found
}

/// Reads one path (or group) behind `prefix::`; gives back what is left of the text.
fn expand<'a>(prefix: String, text: &'a str, found: &mut Vec<String>) -> &'a str {
    let text = text.trim_start();
    if let Some(mut rest) = text.strip_prefix('{') {
        loop {
            rest = expand(prefix.clone(), rest, found).trim_start();
            match rest.strip_prefix(',') {
                Some(more) => rest = more,
                None => return rest.strip_prefix('}').unwrap_or(rest),
            }
        }
    }
    let end = text.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '*')).unwrap_or(text.len());
    let (word, rest) = text.split_at(end);
    if word.is_empty() {
        return rest;
    }
    let path = if word == "self" { prefix } else { format!("{prefix}::{word}") };
    if let Some(rest) = rest.strip_prefix("::") {
        return expand(path, rest, found);
    }
    found.push(path);
    let rest = rest.trim_start();
    match rest.strip_prefix("as ") {
        Some(renamed) => {
            let renamed = renamed.trim_start();
            renamed.trim_start_matches(|c: char| c.is_alphanumeric() || c == '_')
        }
        None => rest,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn forbidden_in(source: &str) -> Vec<String> {
        let found = standard_paths(&shipped(source)).into_iter().map(|(_, path)| path);
        found.filter(|path| FORBIDDEN.iter().any(|(forbidden, _)| names(path, forbidden))).collect()
    }

    #[test]
    fn a_path_is_found_in_full_in_braces_and_under_another_name() {
        assert_eq!(forbidden_in("let now = std::time::Instant::now();"), ["std::time::Instant::now"]);
        assert_eq!(forbidden_in("use std::{fmt, fs::File};"), ["std::fs::File"]);
        assert_eq!(forbidden_in("use std::sync::{Arc, Mutex as Lock, RwLock};").len(), 2);
        assert_eq!(
            forbidden_in("use std::{\n    collections::{BTreeMap, BTreeSet},\n    env,\n};"),
            ["std::env"]
        );
    }

    #[test]
    fn a_module_that_lets_it_in_is_found_too() {
        assert_eq!(forbidden_in("use std::time;"), ["std::time"]);
        assert_eq!(forbidden_in("use std::sync::{self, Arc};"), ["std::sync"]);
        assert_eq!(forbidden_in("use std::sync::*;"), ["std::sync::*"]);
    }

    #[test]
    fn what_is_pure_is_left_alone() {
        let source = "//! `std::fs` is not used.\nuse std::sync::{Arc, LazyLock};\nuse std::time::Duration;\n\
                      use std::fmt;\n#[cfg(test)]\nmod tests {\n    use std::fs;\n}\n";
        assert_eq!(forbidden_in(source), Vec::<String>::new());
    }

    #[test]
    fn a_finding_tells_the_line() {
        assert_eq!(standard_paths("\n\nuse std::fs;"), [(3, "std::fs".to_owned())]);
    }
}
