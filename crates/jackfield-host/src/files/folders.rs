//! Folders of the machine: to begin a session in one, and to see where a named file really is.
//!
//! Not bound to a session's folder. Names only; nothing is opened but folders.

use std::ffi::OsString;
use std::fs;
use std::path::{Component, Path, PathBuf};

use jackfield_api::host::FolderList;

use super::{FileError, MOST_ENTRIES, refusal};

/// The folders in a folder, hidden ones last. `recent` is left to the host.
pub fn folders(path: &Path) -> Result<FolderList, FileError> {
    let shown = path.to_string_lossy();
    if !path.is_absolute() {
        return Err(FileError::NotFound { path: shown.into_owned() });
    }
    let path = upright(path);
    let mut names: Vec<(bool, OsString)> = Vec::new();
    for entry in fs::read_dir(&path).map_err(|error| refusal(&shown, error))?.flatten() {
        let is_folder = match entry.file_type() {
            Ok(kind) if kind.is_symlink() => fs::metadata(entry.path()).is_ok_and(|to| to.is_dir()),
            kind => kind.is_ok_and(|kind| kind.is_dir()),
        };
        let name = entry.file_name();
        // A name that JSON cannot carry could not be chosen.
        if is_folder && name.to_str().is_some() {
            names.push((name.as_encoded_bytes().starts_with(b"."), name));
        }
    }
    names.sort();
    names.truncate(MOST_ENTRIES);
    Ok(FolderList {
        path: path.to_string_lossy().into_owned(),
        parent: path.parent().map(|parent| parent.to_string_lossy().into_owned()),
        folders: names.into_iter().map(|(_, name)| name.to_string_lossy().into_owned()).collect(),
        recent: Vec::new(),
    })
}

/// Where files that a tool named really are, once every link on the way is followed, also if a file is yet to
/// be made. What is below the session's folder is told under the name that the folder goes by. For
/// [`crate::rules::judge_resolved`]; a link that changes afterwards is not seen.
pub fn resolve(folder: &Path, named: &[String]) -> Vec<String> {
    let real_folder = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
    let real = |name: &String| {
        let real = follow(&upright(&folder.join(name)));
        match real.strip_prefix(&real_folder) {
            Ok(below) => folder.join(below),
            Err(_) => real,
        }
    };
    named
        .iter()
        .filter(|name| !name.is_empty())
        .map(real)
        .map(|path| path.to_string_lossy().into_owned())
        .collect()
}

/// The real path of the longest beginning that is there, and the rest as it is.
fn follow(path: &Path) -> PathBuf {
    let mut missing = Vec::new();
    for beginning in path.ancestors() {
        if let Ok(real) = fs::canonicalize(beginning) {
            return real.join(missing.into_iter().rev().collect::<PathBuf>());
        }
        // A link to what is not there yet: to write to it makes the file that it names.
        if let Ok(to) = fs::read_link(beginning) {
            let to = beginning.parent().unwrap_or(beginning).join(to);
            return upright(&to).join(missing.into_iter().rev().collect::<PathBuf>());
        }
        missing.extend(beginning.file_name());
    }
    path.to_owned()
}

/// A path without `.` and `..`, by text.
fn upright(path: &Path) -> PathBuf {
    let mut upright = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => _ = upright.pop(),
            Component::CurDir => {}
            other => upright.push(other),
        }
    }
    upright
}
