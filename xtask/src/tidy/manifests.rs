//! Rules on the crates' manifests: the workspace's lints, and a reason for each dependency.
//!
//! Who may depend on whom is the layering's business. The one rule it keeps: a reason is a comment directly
//! above, and only siblings (`serde`, `serde_json`) share one.

use super::layering::manifest;
use super::{Finding, House};

/// Looks at the manifest of each crate.
pub(super) fn check(house: &House) -> Vec<Finding> {
    let mut findings = Vec::new();
    for package in house.metadata.members() {
        let path = manifest(package);
        let text = house.text(&path).unwrap_or_default();
        if !text.contains("[lints]\nworkspace = true\n") {
            findings.push(Finding::new(&path, 1, "no `[lints]` with `workspace = true`: add it"));
        }
        for (line, name) in without_reason(text) {
            let text = format!("`{name}` has no reason: write a comment above it that says why it is needed");
            findings.push(Finding::new(&path, line, text));
        }
    }
    findings
}

/// The dependencies of other people's packages that have no comment above them.
fn without_reason(manifest: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut in_dependencies = false;
    let mut above = Above::Nothing;
    for (number, line) in manifest.lines().enumerate() {
        if line.starts_with('[') {
            in_dependencies = line.trim_end_matches(']').ends_with("dependencies");
            above = Above::Nothing;
        } else if line.starts_with('#') {
            above = Above::Comment;
        } else if let Some((name, _)) = line.split_once([' ', '=', '.']).filter(|_| in_dependencies) {
            let explained = match above {
                Above::Comment => true,
                Above::Explained(other) => family(other) == family(name),
                Above::Nothing => false,
            };
            if name.is_empty() || !name.starts_with(char::is_alphabetic) {
                continue;
            }
            if !explained && !name.starts_with("jackfield-") {
                found.push((number + 1, name));
            }
            above = if explained { Above::Explained(name) } else { Above::Nothing };
        } else {
            above = Above::Nothing;
        }
    }
    found
}

enum Above<'a> {
    Nothing,
    Comment,
    Explained(&'a str),
}

fn family(name: &str) -> &str {
    name.split(['-', '_']).next().unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dependency_without_a_comment_is_found() {
        let manifest = "[package]\nname = \"x\"\n[dependencies]\n# JSON.\nserde = \"1\"\nserde_json = \"1\"\n\
                        memchr = \"2\"\njackfield-api = \"1\"\n\n[dev-dependencies]\ninsta = \"1\"\n";
        assert_eq!(without_reason(manifest), [(7, "memchr"), (11, "insta")]);
    }

    #[test]
    fn other_sections_need_no_reasons() {
        assert_eq!(without_reason("[features]\nschema = []\n[lints]\nworkspace = true\n"), []);
    }
}
