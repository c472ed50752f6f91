//! The version that an installation tells of itself.
//!
//! Nothing is started: the native installer names the program's file after its version, and npm, pnpm, yarn and
//! bun put it into a package that states it. The one rule it keeps: what is not laid out exactly so tells nothing,
//! and the program is asked.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;

use serde::Deserialize;

use crate::version::Version;

/// The CLI's package. Those of its programs for one kind of machine have a word behind this name.
const PACKAGE: &str = "@anthropic-ai/claude-code";

/// How many folders above the program its package may be: `cli.js` and `bin/claude.exe`.
const ABOVE: usize = 2;

/// The version of a program, read off the place where it is installed.
pub(super) fn version(program: &Path) -> Option<Version> {
    let file = program.canonicalize().ok()?;
    by_name(&file).or_else(|| by_package(&file))
}

/// `…/claude/versions/2.1.197`.
fn by_name(file: &Path) -> Option<Version> {
    let folders: Vec<_> = file.ancestors().skip(1).take(2).filter_map(Path::file_name).collect();
    if folders != [OsStr::new("versions"), OsStr::new("claude")] {
        return None;
    }
    file.file_name()?.to_str()?.parse().ok()
}

/// The `package.json` that is nearest to the program, if it is the CLI's.
fn by_package(file: &Path) -> Option<Version> {
    let mut folders = file.ancestors().skip(1).take(ABOVE);
    let text = folders.find_map(|folder| fs::read(folder.join("package.json")).ok())?;
    let package: Package = serde_json::from_slice(&text).ok()?;
    let machine = package.name.strip_prefix(PACKAGE)?;
    if machine.is_empty() || machine.starts_with('-') { package.version.parse().ok() } else { None }
}

#[derive(Deserialize)]
struct Package {
    name: String,
    version: String,
}
