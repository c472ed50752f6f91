//! Finding, opening and changing the CLI's files.
//!
//! What stands in them is not its business. The one rule it keeps: below the `projects` folder it goes only
//! through real folders and opens only real files, and every name it makes up is a checked id.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use jackfield_wire::{DEFAULT_LINE_LIMIT, Line as Piece, Lines, SessionId, project_folder};
use rustix::fs::OFlags;
use serde_json::Value;

use crate::history::HistoryError;
use crate::history::facts::Line;

/// The longest name the CLI gives a folder; of a longer one this much, a dash and a hash are left.
const LONGEST_NAME: usize = 200;
/// How much is read at a time.
const CHUNK: usize = 256 * 1024;
/// Folders beside `projects` in which the CLI keeps something by session: checkpoints and the environment of
/// its shells.
const BESIDE: [&str; 2] = ["file-history", "session-env"];

/// Whether this is an id the CLI gives; only then can it be a part of a path.
pub(crate) fn is_session_id(text: &str) -> bool {
    let groups = [8, 4, 4, 4, 12];
    let parts: Vec<&str> = text.split('-').collect();
    let fits = |(part, length): (&&str, usize)| {
        part.len() == length && part.bytes().all(|byte| byte.is_ascii_hexdigit())
    };
    parts.len() == groups.len() && parts.iter().zip(groups).all(fits)
}

/// The CLI's configuration folder.
#[derive(Debug, Clone)]
pub(super) struct Files {
    config: PathBuf,
}

impl Files {
    pub(super) fn new(config: PathBuf) -> Self {
        Self { config }
    }

    /// The folders of all working folders; none if the CLI never ran.
    pub(super) fn project_folders(&self) -> Result<Vec<PathBuf>, HistoryError> {
        let projects = self.projects();
        let entries = match fs::read_dir(&projects) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(failed("list", &projects)(error)),
        };
        // Of an entry, the kind is that of a link itself, not of what it leads to.
        let folders = entries.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        Ok(folders.map(|entry| entry.path()).collect())
    }

    /// The folders a working folder can have.
    pub(super) fn project_folders_of(&self, cwd: &str) -> Result<Vec<PathBuf>, HistoryError> {
        let name = project_folder(cwd);
        let mut folders = self.project_folders()?;
        folders.retain(|folder| {
            let own = folder.file_name().and_then(|own| own.to_str()).unwrap_or_default();
            // The name is ASCII, so it can be cut anywhere.
            own == name
                || (LONGEST_NAME < name.len() && own.starts_with(&format!("{}-", &name[..LONGEST_NAME])))
        });
        Ok(folders)
    }

    /// The session's file; the one written last, if it was copied.
    pub(super) fn find(&self, id: &SessionId) -> Result<PathBuf, HistoryError> {
        let modified = |path: &PathBuf| fs::symlink_metadata(path).and_then(|found| found.modified()).ok();
        let missing = || HistoryError::NotFound { id: id.clone(), folder: self.projects() };
        self.find_all(id)?.into_iter().max_by_key(modified).ok_or_else(missing)
    }

    pub(super) fn delete(&self, id: &SessionId) -> Result<(), HistoryError> {
        let sessions = self.find_all(id)?;
        if sessions.is_empty() {
            return Err(HistoryError::NotFound { id: id.clone(), folder: self.projects() });
        }
        for folder in BESIDE.map(|name| self.config.join(name)).iter().filter(|folder| is_real_folder(folder))
        {
            remove_folder(&folder.join(id.as_str()))?;
        }
        for session in sessions {
            remove_folder(&session.with_extension(""))?;
            // Last, so that a deletion that failed half-way can be repeated.
            fs::remove_file(&session).map_err(failed("remove", &session))?;
        }
        Ok(())
    }

    fn find_all(&self, id: &SessionId) -> Result<Vec<PathBuf>, HistoryError> {
        if !is_session_id(id.as_str()) {
            return Err(HistoryError::NotAnId(id.clone()));
        }
        let files = self.project_folders()?.into_iter().map(|folder| folder.join(format!("{id}.jsonl")));
        Ok(files.filter(|path| fs::symlink_metadata(path).is_ok_and(|found| found.is_file())).collect())
    }

    fn projects(&self) -> PathBuf {
        self.config.join("projects")
    }
}

/// The sessions in such a folder.
pub(super) fn sessions(folder: &Path) -> Vec<(SessionId, PathBuf)> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let session = |entry: fs::DirEntry| {
        let name = entry.file_name();
        let id = name.to_str()?.strip_suffix(".jsonl").filter(|id| is_session_id(id))?;
        entry.file_type().ok()?.is_file().then(|| (SessionId::from(id), entry.path()))
    };
    entries.filter_map(session).collect()
}

/// The files of the session's subagents, with their names.
pub(super) fn subagents(session: &Path) -> Result<Vec<(String, PathBuf)>, HistoryError> {
    let folder = session.with_extension("").join("subagents");
    if !is_real_folder(&session.with_extension("")) || !is_real_folder(&folder) {
        return Ok(Vec::new());
    }
    let entries = fs::read_dir(&folder).map_err(failed("list", &folder))?;
    let subagent = |entry: fs::DirEntry| {
        let name = entry.file_name();
        let name = name.to_str()?.strip_prefix("agent-")?.strip_suffix(".jsonl")?.to_owned();
        entry.file_type().ok()?.is_file().then(|| (name, entry.path()))
    };
    let mut subagents: Vec<(String, PathBuf)> = entries.flatten().filter_map(subagent).collect();
    subagents.sort();
    Ok(subagents)
}

/// Opens a real file; not a link, and not something whose opening waits for somebody.
pub(super) fn open(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let file = options.custom_flags(i32::try_from(flags.bits()).unwrap_or_default()).open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("it is not a file")) }
}

/// All lines of a file.
pub(super) fn lines(path: &Path) -> Result<Vec<Line>, HistoryError> {
    let read = || {
        let mut file = open(path, OpenOptions::new().read(true))?;
        let mut splitter = Lines::new(DEFAULT_LINE_LIMIT);
        let mut lines = Vec::new();
        let mut keep = |piece: Piece<'_>| match piece {
            Piece::Whole(bytes) => lines.push(Line::read(bytes)),
            // What is left of it says nothing but that it was there.
            Piece::TooLong { .. } => lines.push(Line::read(b"a line over the limit")),
        };
        let mut chunk = vec![0; CHUNK];
        loop {
            match file.read(&mut chunk) {
                Ok(0) => break,
                Ok(length) => splitter.feed(&chunk[..length], &mut keep),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        splitter.finish(&mut keep);
        Ok(lines)
    };
    read().map_err(failed("read", path))
}

/// Adds lines to a session, whole ones and all at once.
pub(super) fn append(path: &Path, lines: &[Value]) -> Result<(), HistoryError> {
    let write = || {
        let mut file = open(path, OpenOptions::new().read(true).append(true))?;
        let mut text = String::new();
        // A killed CLI may have left half a line.
        if 0 < file.metadata()?.len() {
            let mut last = [0];
            file.seek(SeekFrom::End(-1))?;
            file.read_exact(&mut last)?;
            if last != *b"\n" {
                text.push('\n');
            }
        }
        for line in lines {
            text.push_str(&line.to_string());
            text.push('\n');
        }
        file.write_all(text.as_bytes())
    };
    write().map_err(failed("write", path))
}

/// 2.1.325 also keeps the title in a small file of its own.
pub(super) fn title_file(session: &Path) -> PathBuf {
    session.with_extension("").join("custom-title.json")
}

/// Changes the title in that file, if there is one.
pub(super) fn replace_title(session: &Path, title: &str) -> Result<(), HistoryError> {
    let path = title_file(session);
    if !is_real_folder(&session.with_extension("")) || fs::symlink_metadata(&path).is_err() {
        return Ok(());
    }
    let text = serde_json::json!({"customTitle": title}).to_string();
    let write = || open(&path, OpenOptions::new().write(true).truncate(true))?.write_all(text.as_bytes());
    write().map_err(failed("write", &path))
}

pub(super) fn is_real_folder(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.is_dir())
}

/// Removes a folder with all that is in it; of a link, only the link.
fn remove_folder(path: &Path) -> Result<(), HistoryError> {
    let removed = match fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    match removed {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed("remove", path)(error)),
        _ => Ok(()),
    }
}

pub(super) fn failed(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> HistoryError {
    move |source| HistoryError::File { doing, path: path.to_owned(), source }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_uuid_is_an_id() {
        assert!(is_session_id("ca1ec603-3246-4ddc-99e9-80bdc98145ac"));
        assert!(is_session_id("CA1EC603-3246-4DDC-99E9-80BDC98145AC"));
        for text in [
            "",
            "..",
            "ca1ec603",
            "../../ca1ec603-3246-4ddc-99e9-80bdc98145ac",
            "ca1ec603-3246-4ddc-99e9-80bdc98145a/",
        ] {
            assert!(!is_session_id(text), "{text:?}");
        }
    }
}
