//! The folders that a CLI may work in through this server, and no others.
//!
//! Each is opened once and held; every path is resolved by the system beneath it, so neither `..` nor a link leads
//! out. The one rule it keeps: a path that comes out of here lies in the workspace, whatever the CLI wrote.

use std::io::{self, Read as _};
use std::path::{Component, Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptions, OpenOptionsExt as _};
use percent_encoding::percent_decode_str;
use rustix::fs::OFlags;

/// How much of a file is read at most.
const MOST_BYTES: u64 = 32 * 1024 * 1024;

/// Why a folder is no part of a workspace.
#[derive(Debug, thiserror::Error)]
#[error("cannot open the folder `{}`: {source}", path.display())]
pub struct WorkspaceError {
    path: PathBuf,
    source: io::Error,
}

/// Why a file cannot be had.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PathError {
    #[error("`{0}` is not a full path")]
    Relative(String),
    #[error("`{0}` is not in the workspace")]
    Outside(String),
    #[error("cannot read `{path}`: {source}")]
    Refused { path: String, source: io::Error },
    #[error("cannot read `{0}`: it is not a text file")]
    NoText(String),
}

/// Folders, held open.
#[derive(Debug)]
pub(crate) struct Workspace {
    folders: Vec<Folder>,
}

#[derive(Debug)]
struct Folder {
    dir: Dir,
    path: PathBuf,
}

/// A file of the workspace, whether it is there or not.
#[derive(Debug, Clone)]
pub(crate) struct Place<'a> {
    folder: &'a Folder,
    below: PathBuf,
    /// Its full path, as the CLI wrote it.
    pub(crate) path: PathBuf,
}

impl Workspace {
    pub(crate) fn open(folders: &[PathBuf]) -> Result<Self, WorkspaceError> {
        let folders = folders.iter().map(|path| {
            let open = || {
                let path = path.canonicalize()?;
                let dir = Dir::open_ambient_dir(&path, ambient_authority())?;
                Ok(Folder { dir, path })
            };
            open().map_err(|source| WorkspaceError { path: path.clone(), source })
        });
        Ok(Self { folders: folders.collect::<Result<_, _>>()? })
    }

    /// The folders, the first one first.
    pub(crate) fn folders(&self) -> Vec<PathBuf> {
        self.folders.iter().map(|folder| folder.path.clone()).collect()
    }

    /// A file by its full path.
    pub(crate) fn place(&self, path: &str) -> Result<Place<'_>, PathError> {
        let full = Path::new(path);
        if !full.is_absolute() {
            return Err(PathError::Relative(path.to_owned()));
        }
        let outside = || PathError::Outside(path.replace('\0', "\u{fffd}"));
        if path.contains('\0') || full.components().any(|component| component == Component::ParentDir) {
            return Err(outside());
        }
        let place = self.folders.iter().find_map(|folder| folder.place(full));
        place.ok_or_else(outside)
    }

    /// A file by its address. The CLI writes paths into it as they are, others with percent signs.
    pub(crate) fn place_of_url(&self, url: &str) -> Result<Place<'_>, PathError> {
        let Some(path) = url.strip_prefix("file://") else { return self.place(url) };
        let there = |place: &Place<'_>| place.folder.dir.exists(&place.below);
        let decoded = percent_decode_str(path).decode_utf8().ok().and_then(|path| self.place(&path).ok());
        match self.place(path) {
            Ok(place) if there(&place) => Ok(place),
            literal => decoded.filter(there).map_or(literal, Ok),
        }
    }

    /// Whether a file of the editor's may be told of.
    pub(crate) fn holds(&self, path: &Path) -> bool {
        path.to_str().is_some_and(|path| self.place(path).is_ok())
    }
}

/// The address of a file, as the CLI compares it: the path as it is [diagnostics_after_edit].
pub(crate) fn url(path: &Path) -> String {
    format!("file://{}", path.display())
}

impl Folder {
    fn place(&self, full: &Path) -> Option<Place<'_>> {
        let below = full.strip_prefix(&self.path).ok()?;
        let below = if below.as_os_str().is_empty() { Path::new(".") } else { below };
        // What is there must lie beneath; for the rest, which is to be made, the nearest folder that is there.
        let mut nearest = below;
        loop {
            match self.dir.symlink_metadata(nearest) {
                Ok(metadata) if metadata.is_symlink() => match self.dir.metadata(nearest) {
                    Ok(_) => break,
                    // Broken, or a way out.
                    Err(_) => return None,
                },
                Ok(_) => break,
                Err(error) if error.kind() == io::ErrorKind::NotFound => match nearest.parent() {
                    Some(parent) if !parent.as_os_str().is_empty() => nearest = parent,
                    _ => break,
                },
                Err(_) => return None,
            }
        }
        Some(Place { folder: self, below: below.to_owned(), path: full.to_owned() })
    }
}

impl Place<'_> {
    /// What is in the file; `None` if it is not there.
    pub(crate) fn read(&self) -> Result<Option<String>, PathError> {
        let path = || self.path.to_string_lossy().into_owned();
        let refused = |source| PathError::Refused { path: path(), source };
        let mut options = OpenOptions::new();
        // A pipe in the place of a file must not be waited for.
        options.read(true).custom_flags((OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed());
        let file = match self.folder.dir.open_with(&self.below, &options) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(refused(error)),
        };
        let metadata = file.metadata().map_err(refused)?;
        if !metadata.is_file() || metadata.len() > MOST_BYTES {
            return Err(PathError::NoText(path()));
        }
        let mut bytes = Vec::new();
        file.take(MOST_BYTES).read_to_end(&mut bytes).map_err(refused)?;
        String::from_utf8(bytes).map(Some).map_err(|_| PathError::NoText(path()))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn s13_only_what_lies_in_the_workspace_is_had() {
        let home = tempfile::tempdir().unwrap();
        let root = home.path().canonicalize().unwrap();
        let ws = root.join("ws");
        fs::create_dir_all(ws.join("inner")).unwrap();
        fs::write(ws.join("a b.txt"), "text").unwrap();
        fs::write(root.join("secret"), "secret").unwrap();
        symlink(root.join("secret"), ws.join("leak")).unwrap();
        symlink(&root, ws.join("up")).unwrap();
        symlink("a b.txt", ws.join("alias")).unwrap();
        symlink(root.join("not there"), ws.join("broken")).unwrap();
        let workspace = Workspace::open(std::slice::from_ref(&ws)).unwrap();
        let full = |name: &str| ws.join(name).to_str().unwrap().to_owned();

        let read = |name: &str| workspace.place(&full(name)).unwrap().read().unwrap();
        assert_eq!(read("a b.txt").as_deref(), Some("text"));
        assert_eq!(read("alias").as_deref(), Some("text"));
        assert_eq!(read("inner/new/file"), None);
        for inside in ["file://", ""] {
            let place = workspace.place_of_url(&format!("{inside}{}", full("a b.txt"))).unwrap();
            assert_eq!(place.path, ws.join("a b.txt"));
        }
        let encoded = format!("file://{}", full("a%20b.txt"));
        assert_eq!(workspace.place_of_url(&encoded).unwrap().path, ws.join("a b.txt"));
        fs::write(ws.join("a%20b.txt"), "its own name wins").unwrap();
        assert_eq!(workspace.place_of_url(&encoded).unwrap().path, ws.join("a%20b.txt"));

        for name in
            ["leak", "up/secret", "up/ws/a b.txt", "broken", "../secret", "inner/../../secret", "a\0b"]
        {
            assert!(workspace.place(&full(name)).is_err(), "{name}");
        }
        for path in ["a b.txt", "", "/", "/etc/passwd", root.join("wsx").to_str().unwrap()] {
            assert!(workspace.place(path).is_err(), "{path}");
        }
        assert!(workspace.place_of_url("file:///etc/passwd").is_err());
        assert!(workspace.place_of_url("http://127.0.0.1/").is_err());
        assert!(workspace.place(&full("inner")).unwrap().read().is_err(), "a folder is no text");
    }
}
