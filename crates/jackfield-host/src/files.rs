//! Files below a session's folder, and no others.
//!
//! The folder is opened once and held; every path is resolved by the system beneath it, so neither `..`, nor a
//! link, nor a link that appears between a look and a read leads out. Nothing is written here. Everything
//! blocks: call it where that is allowed.
//!
//! Names that are not UTF-8 are shown with U+FFFD in the place of what is not; JSON cannot carry them, so such a
//! file is seen in a list and cannot be read.
//!
//! The one rule it keeps: what is opened is looked at as it was opened, never by its name again.

mod find;
mod folders;

use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};
use std::time::UNIX_EPOCH;

use cap_std::ambient_authority;
use cap_std::fs::{Dir, File, FileType, Metadata, OpenOptions, OpenOptionsExt};
use jackfield_api::Timestamp;
use jackfield_api::host::{FileContent, FileEntry, FileKind, FileList};
use rustix::fs::OFlags;

pub use folders::{folders, resolve};

/// How many entries a list has at most.
pub const MOST_ENTRIES: usize = 2_000;
/// How much of a file is read at most.
pub const MOST_BYTES: u64 = 2 * 1024 * 1024;
/// How many names are looked at, at most, before a list is put in order.
const MOST_NAMES: usize = 50_000;
/// How much of a file is looked at to tell whether it is text.
const PROBE: usize = 8 * 1024;

/// Why a file or a folder cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// It is not there.
    #[error("there is no `{path}`")]
    NotFound {
        /// What was asked for.
        path: String,
    },
    /// It is not below the session's folder.
    #[error("`{path}` is not below the session's folder")]
    Outside {
        /// What was asked for.
        path: String,
    },
    /// It is a folder, a pipe, a device or a socket; or not a folder, where one is needed.
    #[error("`{path}` is not a {wanted}")]
    NotAFile {
        /// What was asked for.
        path: String,
        /// What is needed: `file` or `folder`.
        wanted: &'static str,
    },
    /// It is needed whole and is too large.
    #[error("`{path}` has {size} bytes, and at most {limit} are read")]
    TooLarge {
        /// What was asked for.
        path: String,
        /// Its size.
        size: u64,
        /// What is possible.
        limit: u64,
    },
    /// The system does not give it.
    #[error("cannot read `{path}`: {source}")]
    Refused {
        /// What was asked for.
        path: String,
        /// What the system says.
        source: io::Error,
    },
}

/// A folder, held open.
#[derive(Debug)]
pub struct Folder {
    dir: Dir,
    path: PathBuf,
}

impl Folder {
    /// Opens a folder of the machine.
    pub fn open(path: &Path) -> Result<Self, FileError> {
        let shown = path.to_string_lossy();
        let dir = Dir::open_ambient_dir(path, ambient_authority()).map_err(|error| refusal(&shown, error))?;
        Ok(Self { dir, path: path.to_owned() })
    }

    /// The path under which it was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What is in a folder below, not in the folders of that; the folder itself is the empty path.
    pub fn list(&self, path: &str) -> Result<FileList, FileError> {
        let within = self.within(path)?;
        let mut names = Vec::new();
        let mut truncated = false;
        for entry in self.dir.read_dir(&within).map_err(|error| refusal(path, error))? {
            let Ok(entry) = entry else { continue };
            if names.len() == MOST_NAMES {
                truncated = true;
                break;
            }
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            names.push((!is_folder, entry.file_name()));
        }
        names.sort();
        truncated |= names.len() > MOST_ENTRIES;
        let entries = names
            .into_iter()
            .take(MOST_ENTRIES)
            .filter_map(|(_, name)| self.entry(&plain(&within).join(name)));
        Ok(FileList { entries: entries.collect(), truncated })
    }

    /// The beginning of a file, at most `limit` bytes of it and at most [`MOST_BYTES`].
    pub fn read(&self, path: &str, limit: u64) -> Result<FileContent, FileError> {
        let within = self.within(path)?;
        let (file, metadata) = self.open_file(&within, path)?;
        let (bytes, truncated) =
            read_up_to(&file, limit.min(MOST_BYTES)).map_err(|error| refusal(path, error))?;
        let size = metadata.len().max(bytes.len() as u64);
        let text = if truncated { text_cut(bytes) } else { text(bytes) };
        Ok(FileContent { path: shown(&plain(&within)), size, text, truncated })
    }

    /// All of a file, or an error if it is larger than `limit`.
    pub(crate) fn read_whole(&self, path: &str, limit: u64) -> Result<Vec<u8>, FileError> {
        let (file, metadata) = self.open_file(&self.within(path)?, path)?;
        let (bytes, truncated) = read_up_to(&file, limit).map_err(|error| refusal(path, error))?;
        if truncated {
            return Err(FileError::TooLarge { path: path.to_owned(), size: metadata.len(), limit });
        }
        Ok(bytes)
    }

    /// Where a link leads, as it is written; it is not followed.
    pub(crate) fn read_link(&self, path: &str) -> Result<PathBuf, FileError> {
        self.dir.read_link_contents(self.within(path)?).map_err(|error| refusal(path, error))
    }

    /// A path as the system may resolve it beneath the folder. A full path that begins with the folder's own is
    /// taken as one below it, for so tools name files.
    fn within(&self, path: &str) -> Result<PathBuf, FileError> {
        if path.contains('\0') {
            return Err(FileError::NotFound { path: path.replace('\0', "\u{fffd}") });
        }
        let below = match Path::new(path) {
            full if full.is_absolute() => {
                full.strip_prefix(&self.path).map_err(|_| FileError::Outside { path: path.to_owned() })?
            }
            relative => relative,
        };
        Ok(if below.as_os_str().is_empty() { PathBuf::from(".") } else { below.to_owned() })
    }

    fn open_file(&self, within: &Path, path: &str) -> Result<(File, Metadata), FileError> {
        let refused = |error| refusal(path, error);
        let not_a_file = || FileError::NotAFile { path: path.to_owned(), wanted: "file" };
        // To open a device may do something, so nothing but a file is opened; to open a pipe that has taken the
        // file's place meanwhile must not wait.
        if !self.dir.metadata(within).map_err(refused)?.is_file() {
            return Err(not_a_file());
        }
        let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
        let mut options = OpenOptions::new();
        options.read(true).custom_flags(flags.bits().cast_signed());
        let file = self.dir.open_with(within, &options).map_err(refused)?;
        let metadata = file.metadata().map_err(refused)?;
        if metadata.is_file() { Ok((file, metadata)) } else { Err(not_a_file()) }
    }

    /// What stands at a path, links not followed; `None` if it is gone.
    fn entry(&self, within: &Path) -> Option<FileEntry> {
        let metadata = self.dir.symlink_metadata(within).ok()?;
        let kind = kind(metadata.file_type());
        Some(FileEntry {
            path: shown(within),
            kind,
            size: if kind == FileKind::Folder { 0 } else { metadata.len() },
            modified_at: modified(&metadata),
        })
    }
}

/// A path without `.` and `..`, for people.
fn plain(within: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in within.components() {
        match component {
            Component::Normal(name) => plain.push(name),
            Component::ParentDir => _ = plain.pop(),
            _ => {}
        }
    }
    plain
}

fn shown(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

fn kind(of: FileType) -> FileKind {
    if of.is_dir() {
        FileKind::Folder
    } else if of.is_file() {
        FileKind::File
    } else if of.is_symlink() {
        FileKind::Link
    } else {
        FileKind::Other
    }
}

fn modified(metadata: &Metadata) -> Option<Timestamp> {
    let since = metadata.modified().ok()?.into_std().duration_since(UNIX_EPOCH).ok()?;
    u64::try_from(since.as_millis()).ok().map(Timestamp)
}

/// Reads up to `limit` bytes, and whether there are more.
fn read_up_to(file: &File, limit: u64) -> io::Result<(Vec<u8>, bool)> {
    let mut bytes = Vec::new();
    file.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let truncated = bytes.len() > limit;
    bytes.truncate(limit);
    Ok((bytes, truncated))
}

/// The bytes as text, if they are text.
fn text(bytes: Vec<u8>) -> Option<String> {
    if bytes.iter().take(PROBE).any(|byte| *byte == 0) { None } else { String::from_utf8(bytes).ok() }
}

/// The same for a beginning, which may end within a character.
fn text_cut(mut bytes: Vec<u8>) -> Option<String> {
    if let Err(error) = std::str::from_utf8(&bytes)
        && error.error_len().is_none()
    {
        bytes.truncate(error.valid_up_to());
    }
    text(bytes)
}

fn refusal(path: &str, error: io::Error) -> FileError {
    let path = path.to_owned();
    match error.kind() {
        io::ErrorKind::NotFound => FileError::NotFound { path },
        io::ErrorKind::NotADirectory => FileError::NotAFile { path, wanted: "folder" },
        // `cap-std` tells of a way out without an error number; a refusal of the system has one.
        io::ErrorKind::PermissionDenied if error.raw_os_error().is_none() => FileError::Outside { path },
        _ => FileError::Refused { path, source: error },
    }
}
