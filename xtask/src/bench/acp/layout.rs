//! `cargo xtask layout`: which functions a session of an editor runs, for the linker to put together.
//!
//! `crates/jackfield/build.rs` says what that is good for. A client that reads, and one that crawls, so that what is
//! read back from the store is there too. The one rule it keeps: a name fits every build of the same sources, so what
//! differs between builds, the crates' hashes, what depends on their length, and the numbers of the optimiser, is left
//! open in it.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use super::agents::{self, Agent, Place};
use super::client::Client;
use crate::bench::{self, BenchError};
use crate::{process, workspace};

/// Deltas in each turn: enough for words to be indexed and the database's own work to come.
const DELTAS: u32 = 20_000;
const TURNS: usize = 3;
/// How many digits of base 62 the place of a part has that a name refers back to.
const LONGEST_REFERENCE: usize = 3;
/// How long a client crawls before it reads the rest.
const CRAWL: Duration = Duration::from_secs(5);

/// Builds the program, watches two sessions, and writes the names down.
pub(crate) fn write() -> Result<(), BenchError> {
    bench::build()?;
    let place = Place::new()?;
    let symbols = process::capture(Command::new("nm").arg("--defined-only").arg(agents::ours()))?;
    let mut run = watched(&place, false)?;
    run.extend(watched(&place, true)?);
    let names: BTreeSet<_> = with_others(&symbols, &run).into_iter().map(open).collect();
    let mut text =
        String::from("# The functions that a session of an editor runs. `cargo xtask layout` wrote this.\n");
    for name in &names {
        text.push_str(name);
        text.push('\n');
    }
    let file = workspace::root().join("crates/jackfield/layout.txt");
    fs::write(&file, text).map_err(super::file("write the layout"))?;
    println!("{} functions are named in crates/jackfield/layout.txt.", names.len());
    Ok(())
}

/// The functions of the program that a session runs.
fn watched(place: &Place, crawls: bool) -> Result<BTreeSet<String>, BenchError> {
    let profile = tempfile::NamedTempFile::new().map_err(super::file("make a file for the profile"))?;
    let agent = Agent::watched(profile.path());
    let (mut client, _) = Client::start(place.command(&agent, DELTAS)?)?;
    client.session(&place.workspace())?;
    if crawls {
        client.crawl(CRAWL)?;
    } else {
        for _ in 0..TURNS {
            client.turn(Duration::ZERO)?;
        }
    }
    client.leave()?;
    let written = fs::read_to_string(profile.path()).map_err(super::file("read the profile"))?;
    Ok(functions(&written, Path::new("jackfield")))
}

/// These functions, and what else each is called: functions that came out the same are one, and lie where any of them
/// would.
fn with_others<'a>(symbols: &'a str, run: &'a BTreeSet<String>) -> BTreeSet<&'a str> {
    // A place, a kind, a name.
    let symbols: Vec<(&str, &str)> = symbols
        .lines()
        .filter_map(|line| line.split_once(' ').zip(line.rsplit_once(' ')))
        .map(|(of, to)| (of.0, to.1))
        .collect();
    let places: HashSet<_> =
        symbols.iter().filter(|(_, name)| run.contains(*name)).map(|(place, _)| place).collect();
    let others = symbols.iter().filter(|(place, _)| places.contains(place)).map(|(_, name)| *name);
    others.chain(run.iter().map(String::as_str)).collect()
}

/// The functions of one program in a profile of callgrind. A name is written out where it comes up first, whether as
/// a function or as one that is called; which program it belongs to stands before it if that has changed.
fn functions(profile: &str, program: &Path) -> BTreeSet<String> {
    let mut programs = HashMap::new();
    let mut is_ours = |mark: &str| {
        let (number, path) = mark.split_once(' ').unwrap_or((mark, ""));
        let ours = programs
            .entry(number.to_owned())
            .or_insert_with(|| Path::new(path).file_name() == program.file_name());
        *ours
    };
    let mut names = BTreeSet::new();
    let (mut here, mut called) = (false, None);
    for line in profile.lines() {
        let name = if let Some(mark) = line.strip_prefix("ob=") {
            here = is_ours(mark);
            None
        } else if let Some(mark) = line.strip_prefix("cob=") {
            called = Some(is_ours(mark));
            None
        } else if let Some(name) = line.strip_prefix("fn=") {
            here.then_some(name)
        } else if let Some(name) = line.strip_prefix("cfn=") {
            called.take().unwrap_or(here).then_some(name)
        } else {
            None
        };
        let name = name.and_then(|name| name.split_once(' ')).map(|(_, name)| name);
        // What has no name is told by its place.
        names.extend(name.filter(|name| !name.starts_with(['0', '('])).map(str::to_owned));
    }
    names
}

/// A name with what differs between builds left open: `Cs…_` is a crate's hash, and the optimiser and the profiler add
/// something behind a dot or an apostrophe.
fn open(name: &str) -> String {
    let (name, added) = name.split_once(['.', '\'']).unwrap_or((name, ""));
    let mut opened = String::with_capacity(name.len());
    let mut rest = name;
    while name.starts_with("_R")
        && let Some((before, behind)) = rest.split_once("Cs")
        && let Some((hash, after)) = behind.split_once('_')
    {
        opened.push_str(before);
        if hash.bytes().all(|byte| byte.is_ascii_alphanumeric())
            && after.starts_with(|first: char| first.is_ascii_digit())
        {
            opened.push_str("Cs*_");
            rest = after;
        } else {
            opened.push_str("Cs");
            rest = behind;
        }
    }
    opened.push_str(rest);
    if name.starts_with("_R") {
        opened = without_references(&opened);
    }
    // What the optimiser adds is a number of this build; a clone of a C function keeps its section's name.
    if added.starts_with("llvm") {
        opened.push('*');
    }
    opened
}

/// A name refers back to its own parts by their places (`B1x_`), which shift with the length of a hash before them.
fn without_references(name: &str) -> String {
    let mut opened = String::with_capacity(name.len());
    let mut parts = name.split('B');
    opened.extend(parts.next());
    for part in parts {
        let digits = part.bytes().take_while(u8::is_ascii_alphanumeric).count();
        opened.push('B');
        if digits <= LONGEST_REFERENCE && part[digits..].starts_with('_') {
            opened.extend(std::iter::repeat_n('?', digits));
            opened.push_str(&part[digits..]);
        } else {
            opened.push_str(part);
        }
    }
    opened
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_between_builds_is_left_open() {
        let name = "_RNvMs3_NtCslNYArtu3iFV_5alloc7raw_vecINtB5_6RawVecjE8grow_oneCs3eskSiDJCjC_12regex_syntax.llvm.365";
        assert_eq!(open(name), "_RNvMs3_NtCs*_5alloc7raw_vecINtB?_6RawVecjE8grow_oneCs*_12regex_syntax*");
        assert_eq!(open("sqlite3VdbeExec'2"), "sqlite3VdbeExec");
        assert_eq!(open("_RNvNtCsa_4CsBc3one"), "_RNvNtCs*_4CsBc3one");
        assert_eq!(open("_RNvXB_B1x_4BookB10_"), "_RNvXB_B??_4BookB??_");
        assert_eq!(open("sqlite3B1_"), "sqlite3B1_");
    }

    #[test]
    fn a_function_is_known_by_all_its_names() {
        let symbols = "0000000000001000 t one\n0000000000001000 T the_same\n0000000000002000 t another\n";
        let run = BTreeSet::from(["one".to_owned()]);
        assert_eq!(with_others(symbols, &run).into_iter().collect::<Vec<_>>(), ["one", "the_same"]);
    }

    #[test]
    fn only_functions_of_the_program_count() {
        let profile = "ob=(1) /bin/jackfield\nfl=(1) a.rs\nfn=(1) ours\n12 3\ncob=(2) /lib/libc.so.6\ncfn=(2) malloc\n\
                       calls=1 0\ncfn=(3) called\ncalls=1 0\n\nob=(2)\nfn=(2)\n1 1\ncob=(1)\ncfn=(4) back\n\nfn=(5) free\n";
        let names = functions(profile, Path::new("jackfield"));
        assert_eq!(names.into_iter().collect::<Vec<_>>(), ["back", "called", "ours"]);
    }
}
