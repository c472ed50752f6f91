//! Documents that must keep up with the code: the map of the crates, and the one command of the build machine.
//!
//! The one rule it keeps: a crate without an invariant on paper is not finished.

use super::{Finding, House};

const ARCHITECTURE: &str = "ARCHITECTURE.md";
const BUILD_MACHINE: &str = ".ci/run";

/// ARCHITECTURE.md has a section with an invariant for each crate.
pub(super) fn architecture(house: &House) -> Vec<Finding> {
    let Some(text) = house.text(ARCHITECTURE) else {
        return vec![Finding::new(ARCHITECTURE, 1, "missing: write the map of the crates")];
    };
    let mut findings = Vec::new();
    for package in house.metadata.members() {
        match section(text, &package.name) {
            None => {
                let text = format!("no heading names `{}`: give it a section", package.name);
                findings.push(Finding::new(ARCHITECTURE, 1, text));
            }
            Some((line, section)) if !section.contains("**Invariant") => {
                let text = format!("`{}` has no **Invariant** line: say what it never does", package.name);
                findings.push(Finding::new(ARCHITECTURE, line, text));
            }
            Some(_) => {}
        }
    }
    findings
}

/// The section whose heading has `name` in backticks, and the heading's line.
fn section<'a>(text: &'a str, name: &str) -> Option<(usize, &'a str)> {
    let quoted = format!("`{name}`");
    let mut start = 0;
    for (number, line) in text.split_inclusive('\n').enumerate() {
        if line.starts_with('#') && line.contains(&quoted) {
            let body = &text[start + line.len()..];
            let end = body.find("\n#").unwrap_or(body.len());
            return Some((number + 1, &body[..end]));
        }
        start += line.len();
    }
    None
}

/// The build machine runs `cargo xtask test` and knows nothing else.
pub(super) fn continuous_integration(house: &House) -> Vec<Finding> {
    let Some(text) = house.text(BUILD_MACHINE) else {
        return vec![Finding::new(BUILD_MACHINE, 1, "missing: it calls `cargo xtask test`")];
    };
    let mut findings = Vec::new();
    let mut calls = false;
    for (number, line) in text.lines().enumerate() {
        match line.split_whitespace().next() {
            None | Some("set" | "cd") => {}
            Some(word) if word.starts_with('#') => {}
            Some(_) if line == "exec cargo xtask test" => calls = true,
            Some(_) => {
                let text = "the build machine does more than `exec cargo xtask test`: put it into `cargo xtask test`";
                findings.push(Finding::new(BUILD_MACHINE, number + 1, text));
            }
        }
    }
    if !calls {
        findings.push(Finding::new(BUILD_MACHINE, 1, "does not call `exec cargo xtask test`: add it"));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_ends_at_the_next_heading() {
        let text = "# Map\n\n## `a`\n**Invariant:** none.\n\n## `b`\nNothing.\n";
        assert_eq!(section(text, "a"), Some((3, "**Invariant:** none.\n")));
        assert_eq!(section(text, "b"), Some((6, "Nothing.\n")));
        assert_eq!(section(text, "c"), None);
    }
}
