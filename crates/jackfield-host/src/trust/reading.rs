//! Files of a folder, read whole or not at all.
//!
//! Links are followed, out of the folder too, because the CLI follows them: so this cannot be held beneath the
//! folder, and instead opens nothing but plain files, waits for none and has limits. The one rule it keeps: what
//! the CLI could read and cannot be read whole here is a problem, never left out in silence.

use std::fs::{self, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

/// How large a file may be.
const MOST_BYTES: u64 = 16 * 1024 * 1024;
/// How much is read in all.
const MOST_IN_ALL: u64 = 64 * 1024 * 1024;
/// How many files and folders are looked at.
const MOST_ENTRIES: usize = 10_000;
/// How deep folders may lie in each other.
const DEEPEST: usize = 16;
/// How long a file may be that only names a place.
const POINTER: u64 = 4 * 1024;

/// Reads files, and remembers what went wrong first.
#[derive(Debug, Default)]
pub(super) struct Reader {
    bytes: u64,
    entries: usize,
    problem: Option<String>,
}

/// A file that was there.
#[derive(Debug)]
pub(super) struct Found {
    /// As it was asked for.
    pub(super) named: String,
    /// Where it is.
    pub(super) real: String,
    pub(super) bytes: Vec<u8>,
}

impl Reader {
    /// A file, if it is there.
    pub(super) fn file(&mut self, path: &Path) -> Option<Found> {
        let found = read(path, MOST_BYTES.min(MOST_IN_ALL - self.bytes));
        let found = found.and_then(|found| self.count().map(|()| found));
        match found {
            Ok(found) => {
                self.bytes += found.bytes.len() as u64;
                Some(found)
            }
            Err(error) => self.note(path, &error),
        }
    }

    /// All files below a folder with their paths in it, in order.
    pub(super) fn below(&mut self, folder: &Path) -> Vec<(String, Found)> {
        let mut files = Vec::new();
        self.walk(folder, "", DEEPEST, &mut files);
        files
    }

    /// The text of a small file that names a place; anything else names none.
    pub(super) fn pointer(path: &Path) -> Option<String> {
        String::from_utf8(read(path, POINTER).ok()?.bytes).ok()
    }

    /// What could not be read first, and why.
    pub(super) fn problem(self) -> Option<String> {
        self.problem
    }

    fn walk(&mut self, folder: &Path, within: &str, depth: usize, files: &mut Vec<(String, Found)>) {
        let names = match self.names(folder, depth) {
            Ok(names) => names,
            Err(error) => return self.note(folder, &error).unwrap_or_default(),
        };
        for name in names {
            let path = folder.join(&name);
            let within = if within.is_empty() { name } else { format!("{within}/{name}") };
            if path.is_dir() {
                self.walk(&path, &within, depth - 1, files);
            } else if let Some(found) = self.file(&path) {
                files.push((within, found));
            }
            // More can only cost time: the folder cannot be trusted any more.
            if self.problem.is_some() {
                return;
            }
        }
    }

    fn names(&mut self, folder: &Path, depth: usize) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(folder)? {
            if depth == 0 {
                return Err(io::Error::other("folders lie too deep in each other"));
            }
            self.count()?;
            let name = entry?.file_name().into_string();
            names.push(name.map_err(|_| io::Error::other("a name in it is not UTF-8"))?);
        }
        names.sort();
        Ok(names)
    }

    fn count(&mut self) -> io::Result<()> {
        self.entries += 1;
        if self.entries > MOST_ENTRIES {
            return Err(io::Error::other(format!("there are more than {MOST_ENTRIES} files")));
        }
        Ok(())
    }

    fn note<T>(&mut self, path: &Path, error: &io::Error) -> Option<T> {
        // What this user may not read, the CLI may not either.
        let absent = [io::ErrorKind::NotFound, io::ErrorKind::NotADirectory, io::ErrorKind::PermissionDenied];
        if !absent.contains(&error.kind()) {
            self.problem.get_or_insert_with(|| format!("cannot read {}: {error}", path.display()));
        }
        None
    }
}

fn read(path: &Path, limit: u64) -> io::Result<Found> {
    let real = fs::canonicalize(path)?;
    // To open a device may do something, so nothing but a file is opened; to open a pipe that has taken the file's
    // place meanwhile must not wait.
    let is_file = |metadata: fs::Metadata| {
        if metadata.is_file() { Ok(()) } else { Err(io::Error::other("it is not a file")) }
    };
    is_file(fs::symlink_metadata(&real)?)?;
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::NOFOLLOW;
    let file = OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(&real)?;
    is_file(file.metadata()?)?;
    let mut bytes = Vec::new();
    file.take(limit + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        return Err(io::Error::other("it is too large"));
    }
    let text = |path: PathBuf| {
        let text = path.into_os_string().into_string();
        text.map_err(|_| io::Error::other("its name is not UTF-8"))
    };
    Ok(Found { named: text(path.to_owned())?, real: text(real)?, bytes })
}
