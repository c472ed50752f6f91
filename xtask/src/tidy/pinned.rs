//! Whatever comes from elsewhere is pinned, with a checksum of its content (S29).
//!
//! Which licences and sources are allowed is `deny.toml`'s business. The one rule it keeps: a build takes to the byte
//! what was looked at, or fails.

use serde_json::Value;

use super::{Finding, House};

const PAGE: &str = "web/package.json";
const PAGE_LOCK: &str = "web/package-lock.json";
const LOCK: &str = "Cargo.lock";

/// Everything is pinned.
pub(super) fn check(house: &House) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, loose) in [(PAGE, loose as fn(&str) -> Vec<String>), (PAGE_LOCK, unchecked), (LOCK, unhashed)]
    {
        match house.text(path) {
            None => findings.push(Finding::new(path, 1, "missing: it says what comes from elsewhere")),
            Some(text) => {
                findings.extend(loose(text).into_iter().map(|finding| Finding::new(path, 1, finding)));
            }
        }
    }
    findings
}

/// Packages of the page that could be several versions.
fn loose(text: &str) -> Vec<String> {
    let manifest: Value = serde_json::from_str(text).unwrap_or_default();
    let named = ["dependencies", "devDependencies", "overrides"].map(|kind| manifest[kind].as_object());
    let is_exact = |version: &str| {
        version.split('.').count() == 3 && version.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
    };
    let loose = named.into_iter().flatten().flatten();
    let loose = loose.filter(|(_, version)| !version.as_str().is_some_and(is_exact));
    loose.map(|(name, version)| format!("`{name}` is {version}: name one version")).collect()
}

/// Packages of the page that are locked without a checksum.
fn unchecked(text: &str) -> Vec<String> {
    let lock: Value = serde_json::from_str(text).unwrap_or_default();
    let Some(packages) = lock["packages"].as_object() else { return vec!["it locks nothing".to_owned()] };
    let is_checked = |package: &Value| {
        // What lies inside another is covered by that one's.
        package["inBundle"] == true
            || package["integrity"].as_str().is_some_and(|sum| sum.starts_with("sha512-"))
    };
    let bad = packages.iter().filter(|(name, package)| !name.is_empty() && !is_checked(package));
    bad.map(|(name, _)| format!("`{name}` has no checksum")).collect()
}

/// Crates from elsewhere that are locked without a checksum.
fn unhashed(text: &str) -> Vec<String> {
    let bad = text.split("[[package]]").skip(1).filter(|package| {
        package.contains("\nsource = ")
            && !(package.contains("\nsource = \"registry+") && package.contains("\nchecksum = \""))
    });
    let name = |package: &str| {
        let name = package.lines().find_map(|line| line.strip_prefix("name = "));
        format!("{} has no checksum of a registry", name.unwrap_or("a package"))
    };
    bad.map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s29_a_version_that_could_be_another_is_found() {
        let text = r#"{"dependencies":{"a":"1.2.3","b":"^1.2.3","c":"*"},"devDependencies":{"d":"latest"}}"#;
        let found = loose(text);
        assert_eq!(found.len(), 3, "{found:?}");
    }

    #[test]
    fn s29_a_package_without_a_checksum_is_found() {
        let text = r#"{"packages":{"":{},"a":{"integrity":"sha512-x"},"b":{},"c":{"integrity":"sha1-x"},"d":{"inBundle":true}}}"#;
        assert_eq!(unchecked(text), ["`b` has no checksum", "`c` has no checksum"]);
        assert_eq!(unchecked("{}").len(), 1);
        let lock = "[[package]]\nname = \"own\"\n\n[[package]]\nname = \"a\"\nsource = \"registry+x\"\nchecksum = \"0\"\n\n\
                    [[package]]\nname = \"b\"\nsource = \"git+x\"\n";
        assert_eq!(unhashed(lock), ["\"b\" has no checksum of a registry"]);
    }
}
