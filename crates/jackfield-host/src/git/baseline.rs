//! The session's own changes: what a file held before the first of them, against what it holds now.

use std::collections::BTreeMap;
use std::path::Path;

use jackfield_api::conversation::FileUpdated;
use jackfield_api::host::{FileDiff, FileDiffs};

use super::unified::{Content, compare};
use super::{MOST_COMPARED, MOST_FILES};
use crate::files::{FileError, Folder};

pub(super) fn diff(folder: &Folder, changes: &[FileUpdated]) -> FileDiffs {
    let mut first: BTreeMap<&str, &FileUpdated> = BTreeMap::new();
    for change in changes {
        first.entry(&change.file_path).or_insert(change);
    }
    let truncated = first.len() > MOST_FILES;
    let mut files: Vec<FileDiff> =
        first.into_values().take(MOST_FILES).filter_map(|change| compared(folder, change)).collect();
    files.sort_by(|a, b| a.path.cmp(&b.path));
    FileDiffs { files, truncated }
}

fn compared(folder: &Folder, change: &FileUpdated) -> Option<FileDiff> {
    let old = before(change);
    let new = match folder.read_whole(&change.file_path, MOST_COMPARED) {
        Ok(bytes) => Content::of(bytes),
        Err(FileError::NotFound { .. }) => Content::Absent,
        // Changed by the session, but elsewhere: that it changed is told, what is there is not.
        Err(_) => Content::Opaque,
    };
    let status = match (&old, &new) {
        (Content::Absent, _) => "added",
        (_, Content::Absent) => "deleted",
        _ => "modified",
    };
    let path = Path::new(&change.file_path);
    let path = path.strip_prefix(folder.path()).unwrap_or(path).to_string_lossy();
    compare(&path, status, &old, &new)
}

/// What a file held before a change.
fn before(change: &FileUpdated) -> Content {
    match &change.old_content {
        Some(text) => Content::Text(text.clone()),
        // A new file and one whose content is not known look the same but for the diff.
        None if change.diff.starts_with("--- /dev/null\n") => Content::Absent,
        None if !change.truncated && change.new_content.as_deref() == Some("") => Content::Absent,
        None => Content::Opaque,
    }
}
