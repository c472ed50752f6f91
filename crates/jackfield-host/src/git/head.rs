//! A folder against the last commit: git says which files may differ, the comparison is made here.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use jackfield_api::host::{FileDiff, FileDiffs};

use super::process::Git;
use super::repository::Repository;
use super::unified::{Content, compare};
use super::{DiffError, MOST_COMPARED, MOST_FILES};
use crate::files::{FileError, Folder};

/// How long git may take for all of it.
const LONGEST: Duration = Duration::from_secs(10);
/// How much of the last commit is read at most.
const MOST_READ: u64 = 32 * 1024 * 1024;

pub(super) fn diff(folder: &Folder) -> Result<FileDiffs, DiffError> {
    let deadline = Instant::now() + LONGEST;
    let repository = Repository::find(folder.path(), deadline)?;
    let git = repository.git(folder.path(), deadline);
    let changed = changed(&git, &repository.head)?;
    let untracked = untracked(&git)?;
    let truncated =
        changed.truncated || untracked.truncated || changed.files.len() + untracked.files.len() > MOST_FILES;
    let files: Vec<Changed> =
        changed.files.into_values().chain(untracked.files.into_values()).take(MOST_FILES).collect();
    let before = contents(&git, &files)?;
    let mut diffs: Vec<FileDiff> =
        files.iter().zip(&before).filter_map(|(file, old)| compared(folder, file, old)).collect();
    diffs.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(FileDiffs { files: diffs, truncated })
}

/// A file that may differ.
#[derive(Debug, PartialEq, Eq)]
struct Changed {
    path: String,
    status: &'static str,
    /// The blob that it was; `None` if there was none.
    old: Option<String>,
    old_mode: String,
    new_mode: String,
}

/// Files that may differ, by path.
#[derive(Default)]
struct Listed {
    files: BTreeMap<String, Changed>,
    truncated: bool,
}

/// What git knows and what may differ from the last commit.
fn changed(git: &Git<'_>, head: &str) -> Result<Listed, DiffError> {
    let only = ["--ignore-submodules=all", "--relative", head, "--", "."];
    let compare = ["diff", "--raw", "-z", "--no-abbrev", "--no-ext-diff", "--no-textconv", "--find-renames"];
    let list = ["diff-index", "--raw", "-z", "--no-abbrev", "--no-renames"];
    let said = match git.ask("diff", &[&compare[..], &only].concat(), b"") {
        // Git reads what it compares, and in a partial clone that may be missing: then only the list is asked for.
        Err(DiffError::Failed { .. }) => git.ask("diff-index", &[&list[..], &only].concat(), b"")?,
        said => said?,
    };
    let mut listed = Listed { truncated: said.truncated, ..Listed::default() };
    let mut fields = said.output.split(|byte| *byte == 0).map(String::from_utf8_lossy);
    while let (Some(entry), Some(path)) = (fields.next(), fields.next()) {
        // `:100644 100644 old new M`
        let mut parts = entry.trim_start_matches(':').split(' ');
        let (Some(old_mode), Some(new_mode), Some(old), Some(_), Some(letter)) =
            (parts.next(), parts.next(), parts.next(), parts.next(), parts.next())
        else {
            break;
        };
        let status = match letter.as_bytes().first() {
            Some(b'A') => "added",
            Some(b'D') => "deleted",
            Some(b'R' | b'C') => "renamed",
            _ => "modified",
        };
        // A renamed file has two paths, the new one last.
        let path = if status == "renamed" { fields.next().unwrap_or(path) } else { path };
        let file = Changed {
            path: path.clone().into_owned(),
            status,
            old: old.bytes().any(|byte| byte != b'0').then(|| old.to_owned()),
            old_mode: old_mode.to_owned(),
            new_mode: new_mode.to_owned(),
        };
        // A file in conflict is listed twice; the entry that names its old content is the better one.
        listed
            .files
            .entry(path.into_owned())
            .and_modify(|known| {
                if known.old.is_none() {
                    known.old.clone_from(&file.old);
                }
            })
            .or_insert(file);
    }
    Ok(listed)
}

/// What git does not know and does not ignore.
fn untracked(git: &Git<'_>) -> Result<Listed, DiffError> {
    let said = git.ask("ls-files", &["ls-files", "-z", "--others", "--exclude-standard", "--", "."], b"")?;
    let mut listed = Listed { truncated: said.truncated, ..Listed::default() };
    for path in said.output.split(|byte| *byte == 0).map(String::from_utf8_lossy) {
        // A repository within this one has its own changes.
        if path.is_empty() || path.ends_with('/') {
            continue;
        }
        let mode = "100644".to_owned();
        let path = path.into_owned();
        let file = Changed {
            path: path.clone(),
            status: "untracked",
            old: None,
            old_mode: mode.clone(),
            new_mode: mode,
        };
        listed.files.insert(path, file);
    }
    Ok(listed)
}

/// What each file held in the last commit.
fn contents(git: &Git<'_>, files: &[Changed]) -> Result<Vec<Content>, DiffError> {
    let names: String = files
        .iter()
        .filter_map(|file| file.old.as_deref())
        .flat_map(|old| {
            [
                old, "
",
            ]
        })
        .collect();
    let sizes =
        git.ask("cat-file", &["cat-file", "--batch-check=%(objecttype) %(objectsize)"], names.as_bytes())?;
    let sizes = String::from_utf8_lossy(&sizes.output).into_owned();
    let mut sizes = sizes.lines();
    let mut room = MOST_READ;
    // Only what is small enough is asked for.
    let wanted: Vec<Option<&String>> = files
        .iter()
        .map(|file| {
            let old = file.old.as_ref()?;
            let size: u64 = sizes.next()?.strip_prefix("blob ")?.parse().ok()?;
            if size > MOST_COMPARED || size > room {
                return None;
            }
            room -= size;
            Some(old)
        })
        .collect();
    let names: String = wanted.iter().flatten().flat_map(|old| [old.as_str(), "\n"]).collect();
    let said = git.ask("cat-file", &["cat-file", "--batch=%(objectsize)"], names.as_bytes())?;
    let mut rest = said.output.as_slice();
    let contents = files.iter().zip(wanted).map(|(file, wanted)| match (&file.old, wanted) {
        (None, _) => Content::Absent,
        (Some(_), None) => Content::Opaque,
        (Some(_), Some(_)) => blob(&mut rest).map_or(Content::Opaque, Content::of),
    });
    Ok(contents.collect())
}

/// Takes one answer of `cat-file --batch`: a line with the size, the bytes, and a line break.
fn blob(rest: &mut &[u8]) -> Option<Vec<u8>> {
    let line_end = rest.iter().position(|byte| *byte == b'\n')?;
    let size: usize = std::str::from_utf8(&rest[..line_end]).ok()?.parse().ok()?;
    let bytes = rest.get(line_end + 1..line_end + 1 + size)?.to_vec();
    *rest = rest.get(line_end + 2 + size..)?;
    Some(bytes)
}

fn compared(folder: &Folder, file: &Changed, old: &Content) -> Option<FileDiff> {
    let new = if file.status == "deleted" {
        Content::Absent
    } else if let Ok(to) = folder.read_link(&file.path) {
        // A link is what it says, as for git; it is not followed.
        Content::Text(to.to_string_lossy().into_owned())
    } else {
        match folder.read_whole(&file.path, MOST_COMPARED) {
            Ok(bytes) => Content::of(bytes),
            Err(FileError::NotFound { .. }) => Content::Absent,
            Err(_) => Content::Opaque,
        }
    };
    compare(&file.path, file.status, old, &new).or_else(|| {
        // The same content under another name or with other rights is a change as well.
        let other_rights = file.status == "modified" && file.old_mode != file.new_mode;
        (file.status == "renamed" || other_rights).then(|| FileDiff {
            path: file.path.clone(),
            status: file.status.to_owned(),
            diff: Some(String::new()),
            added: 0,
            removed: 0,
        })
    })
}
