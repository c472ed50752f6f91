//! A repository seen through a git folder of our own.
//!
//! The repository is asked where its parts are, which runs nothing; then a git folder is made in a private
//! place with no settings but ours. It borrows the repository's objects and its index, so git can compare, but
//! no filter, driver, monitor, hook or remote of the repository exists for it. Attributes in the files may name
//! filters; without settings there is no program behind the name.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::Instant;

use tempfile::TempDir;

use super::DiffError;
use super::process::Git;

/// Settings that change how files are read and that can name no program.
const HARMLESS: &str = "^core\\.(autocrlf|eol|filemode|ignorecase|precomposeunicode|symlinks)$";

/// A repository seen through a git folder of our own.
pub(super) struct Repository {
    /// Our git folder; it goes when this goes.
    git_folder: TempDir,
    work_tree: PathBuf,
    objects: PathBuf,
    index: PathBuf,
    /// The commit to compare with, or the empty tree before the first.
    pub(super) head: String,
}

impl Repository {
    /// Finds the repository that a folder is in.
    pub(super) fn find(folder: &Path, deadline: Instant) -> Result<Self, DiffError> {
        let git = Git { folder, environment: Vec::new(), deadline };
        let no_repository = |reason: String| DiffError::NoRepository {
            folder: folder.to_string_lossy().into_owned(),
            reason,
        };
        let places = [
            "rev-parse",
            "--path-format=absolute",
            "--show-toplevel",
            "--git-path",
            "objects",
            "--git-path",
            "index",
            "--git-path",
            "info/exclude",
            "--git-dir",
            "--show-object-format",
        ];
        let said = git.try_ask("rev-parse", &places, b"")?;
        if !said.success {
            return Err(no_repository(said.complaint));
        }
        let lines: Vec<&[u8]> = said.output.split(|byte| *byte == b'\n').collect();
        let &[top, objects, index, exclude, git_dir, format, b""] = lines.as_slice() else {
            return Err(no_repository("its path contains a line break".to_owned()));
        };
        let path = |bytes: &[u8]| PathBuf::from(OsStr::from_bytes(bytes));
        // The repository's own word for where its files are may be any place of the machine.
        let below = |top: &Path| fs::canonicalize(folder).is_ok_and(|real| real.starts_with(top));
        let work_tree = fs::canonicalize(path(top)).ok().filter(|top| below(top));
        let work_tree = work_tree.ok_or_else(|| no_repository("its files are elsewhere".to_owned()))?;
        let sha256 = format == b"sha256";
        let git_folder = own_git_folder(sha256, &settings(&git)?, &path(exclude), &path(git_dir))
            .map_err(|source| DiffError::NoPlace { source })?;
        Ok(Self {
            git_folder,
            work_tree,
            objects: path(objects),
            index: path(index),
            head: head(&git, sha256)?,
        })
    }

    /// Git with our git folder in effect.
    pub(super) fn git<'a>(&'a self, folder: &'a Path, deadline: Instant) -> Git<'a> {
        let environment = vec![
            ("GIT_DIR", self.git_folder.path()),
            ("GIT_WORK_TREE", self.work_tree.as_path()),
            ("GIT_OBJECT_DIRECTORY", self.objects.as_path()),
            ("GIT_INDEX_FILE", self.index.as_path()),
        ];
        Git { folder, environment, deadline }
    }
}

/// The last commit, by name only: nothing is read of it here.
fn head(git: &Git<'_>, sha256: bool) -> Result<String, DiffError> {
    let said = git.try_ask("rev-parse", &["rev-parse", "--verify", "--quiet", "HEAD"], b"")?;
    let name = String::from_utf8_lossy(&said.output).trim().to_owned();
    if said.success && !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Ok(name);
    }
    // Before the first commit: git knows the empty tree without having it.
    let empty = if sha256 {
        "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321"
    } else {
        "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
    };
    Ok(empty.to_owned())
}

/// The repository's harmless settings, as lines of a configuration.
fn settings(git: &Git<'_>) -> Result<String, DiffError> {
    let said = git.try_ask("config", &["config", "-z", "--get-regexp", HARMLESS], b"")?;
    let text = String::from_utf8_lossy(&said.output);
    let mut lines = String::new();
    for (key, value) in text.split('\0').filter_map(|entry| entry.split_once('\n')) {
        let name = key.strip_prefix("core.").unwrap_or_default();
        let plain = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphabetic());
        if plain(name) && plain(value) {
            lines.extend(["\t", name, " = ", value, "\n"]);
        }
    }
    Ok(lines)
}

/// Makes a git folder with nothing in effect but what is said here.
fn own_git_folder(sha256: bool, settings: &str, exclude: &Path, git_dir: &Path) -> io::Result<TempDir> {
    let own = tempfile::Builder::new().prefix("jackfield-git-").tempdir()?;
    let within = |name: &str| own.path().join(name);
    fs::create_dir(within("refs"))?;
    fs::create_dir(within("objects"))?;
    fs::create_dir(within("info"))?;
    fs::write(within("HEAD"), "ref: refs/heads/none\n")?;
    let (version, format) = if sha256 { (1, "[extensions]\n\tobjectformat = sha256\n") } else { (0, "") };
    fs::write(
        within("config"),
        format!("[core]\n\trepositoryformatversion = {version}\n\tbare = false\n{settings}{format}"),
    )?;
    // What git leaves out, and the part of a split index that is kept apart: both are only read as lists.
    if exclude.is_file() {
        symlink(exclude, within("info/exclude"))?;
    }
    for entry in fs::read_dir(git_dir)?.flatten() {
        let name: OsString = entry.file_name();
        if name.as_bytes().starts_with(b"sharedindex.") {
            symlink(entry.path(), own.path().join(OsString::from_vec(name.into_vec())))?;
        }
    }
    Ok(own)
}
