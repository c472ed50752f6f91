//! The bundle for a bug report: versions, configuration, checks, log, drift and last lines in one JSON file.
//!
//! It is shown before it is written, never over a file that is there, and whole or not at all. The one rule it keeps:
//! every text in it is looked through for secrets, whoever has done so before, and what was said piece by piece is not
//! in it.
//!
//! # Layout
//! * `host`, `stored`, `ends` – what the running host, the store and files tell
//! * `pieces` – lines without the words of pieces
//! * `contents` – what is in it, for a person

mod contents;
mod ends;
mod host;
mod pieces;
mod stored;

use std::fs;
use std::io::{self, BufRead as _, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use jackfield_api::VERSION;
use jackfield_host::redact::redact;
use serde_json::{Map, Value, json};
use thiserror::Error;

use crate::config::{self, Effective};
use crate::failure::Exit;

/// How many sessions' lines, and how many of each.
const SESSIONS: u32 = 3;
const LINES: usize = 50;
/// How much of a line.
const LINE: usize = 2048;

/// Why there is no bundle.
#[derive(Debug, Error)]
pub(crate) enum BundleError {
    #[error("`{}` is there already, and stays as it is", .0.display())]
    Exists(PathBuf),
    #[error("nobody can be asked whether `{}` may be written", .0.display())]
    NotAsked(PathBuf),
    #[error("cannot write `{}`: {source}", path.display())]
    Write { path: PathBuf, source: io::Error },
    #[error("cannot show what would be in `{}`: {source}", path.display())]
    Show { path: PathBuf, source: io::Error },
}

impl BundleError {
    pub(crate) fn hint(&self) -> &'static str {
        match self {
            Self::Exists(_) => "choose another name, or remove it",
            Self::NotAsked(_) => "look at what would be in it above, and give `--yes`",
            Self::Write { source, .. } if is_of_the_name(source) => "choose a folder that is there and yours",
            Self::Write { source, .. } if source.kind() == io::ErrorKind::ReadOnlyFilesystem => {
                "nothing can be written to that disk; choose a folder on another"
            }
            Self::Write { .. } => "make room on that disk, or choose a folder on another",
            Self::Show { .. } => "see to it that standard output can be written",
        }
    }

    /// Whether the name that was given is wrong, or what is around it.
    pub(crate) fn exit(&self) -> Exit {
        match self {
            Self::Exists(_) | Self::NotAsked(_) => Exit::Usage,
            Self::Write { source, .. } if is_of_the_name(source) => Exit::Usage,
            Self::Write { .. } | Self::Show { .. } => Exit::Failed,
        }
    }
}

/// Whether nothing can be written because of where it was to be.
fn is_of_the_name(error: &io::Error) -> bool {
    use io::ErrorKind as Kind;
    matches!(
        error.kind(),
        Kind::NotFound
            | Kind::NotADirectory
            | Kind::IsADirectory
            | Kind::PermissionDenied
            | Kind::InvalidFilename
            | Kind::InvalidInput
    )
}

/// Whether somebody is asked before it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Consent {
    Asked,
    Given,
}

/// Says whether a bundle could be written there, before anything is done for it.
pub(super) fn check_place(path: &Path) -> Result<(), BundleError> {
    if path.symlink_metadata().is_ok() {
        return Err(BundleError::Exists(path.to_owned()));
    }
    // A file without a name: nothing of it stays.
    let written = tempfile::tempfile_in(folder_of(path));
    written.map(drop).map_err(|source| BundleError::Write { path: path.to_owned(), source })
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Everything that is in a bundle.
#[derive(Debug)]
pub(super) struct Bundle {
    sections: Map<String, Value>,
}

impl Bundle {
    /// Puts one together.
    pub(super) async fn gather(effective: &Effective, checks: Value) -> Self {
        let mut sections = Map::new();
        let mut put = |name: &str, value: Value| sections.insert(name.to_owned(), redacted(value));
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        put(
            "versions",
            json!({
                "jackfield": env!("CARGO_PKG_VERSION"),
                "contract": VERSION,
                "system": std::env::consts::OS,
                "processor": std::env::consts::ARCH,
                "kernel": fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default().trim(),
                "made_at": u64::try_from(now.as_millis()).unwrap_or(u64::MAX),
            }),
        );
        put("checks", checks);
        put("configuration", lines(&config::effective(effective)));
        if let Some(data) = effective.config.data.folder.as_deref() {
            put("log", ends::log(data));
            let told = host::ask(data).await;
            let stored = stored::look(data);
            put("drift", json!({ "host": told.host, "figures": told.figures, "stored": stored.drift }));
            put("journal", told.journal);
            put("events", stored.events);
            put("debug_files", ends::debug_files(data));
        }
        Self { sections }
    }

    /// Shows what is in it, asks, and writes it.
    pub(super) fn write(&self, path: &Path, consent: Consent) -> Result<(), BundleError> {
        check_place(path)?;
        let unshown = |source| BundleError::Show { path: path.to_owned(), source };
        let mut out = io::stdout();
        let words = "Secrets are taken out by their looks; read it before you send it to anybody.";
        let contents = contents::of(&self.sections);
        let shown = write!(out, "\nThe bundle `{}` will hold:\n\n{contents}\n{words}\n", path.display());
        if consent == Consent::Asked {
            if !io::stdin().is_terminal() {
                return Err(BundleError::NotAsked(path.to_owned()));
            }
            shown.map_err(unshown)?;
            if !self.ask().map_err(unshown)? {
                return writeln!(out, "nothing was written").map_err(unshown);
            }
        } else {
            // Who has said yes need not read it.
            or_unread(shown).map_err(unshown)?;
        }
        self.put_into(path)?;
        or_unread(writeln!(out, "written: {}", path.display())).map_err(unshown)
    }

    /// Asks whether it may be written, and shows all of it to who wants to see it.
    fn ask(&self) -> io::Result<bool> {
        let mut out = io::stdout();
        loop {
            write!(out, "Write it? `s` shows all of it. [y/N/s] ")?;
            out.flush()?;
            let mut answer = String::new();
            io::stdin().lock().read_line(&mut answer)?;
            match answer.trim() {
                "s" | "S" => out.write_all(contents::plain(&contents::whole(&self.sections)).as_bytes())?,
                answer => return Ok(matches!(answer, "y" | "Y" | "yes")),
            }
        }
    }

    /// Writes it, for its owner alone. It has its name only once it is whole.
    fn put_into(&self, path: &Path) -> Result<(), BundleError> {
        let failed = |source| BundleError::Write { path: path.to_owned(), source };
        let unfinished = tempfile::Builder::new().prefix(".jackfield-").tempfile_in(folder_of(path));
        let mut unfinished = unfinished.map_err(failed)?;
        unfinished.write_all(contents::whole(&self.sections).as_bytes()).map_err(failed)?;
        unfinished.as_file().sync_all().map_err(failed)?;
        match unfinished.persist_noclobber(path) {
            Ok(_) => Ok(()),
            Err(error) if error.error.kind() == io::ErrorKind::AlreadyExists => {
                Err(BundleError::Exists(path.to_owned()))
            }
            Err(error) => Err(failed(error.error)),
        }
    }
}

/// What was written, or that nobody reads it any more.
pub(super) fn or_unread(written: io::Result<()>) -> io::Result<()> {
    match written {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}

/// The beginning of a line; secrets are looked for before it is cut, so that none is cut in two.
fn cut(line: &str) -> String {
    let line = redact(line);
    line[..line.floor_char_boundary(LINE)].to_owned()
}

fn lines(text: &str) -> Value {
    text.lines().map(|line| Value::String(line.to_owned())).collect()
}

/// A value with secrets taken out of every text in it, names included.
fn redacted(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(redact(&text).into_owned()),
        Value::Array(all) => Value::Array(all.into_iter().map(redacted).collect()),
        Value::Object(members) => Value::Object(
            members.into_iter().map(|(name, value)| (redact(&name).into_owned(), redacted(value))).collect(),
        ),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_file_that_is_there_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("bundle.json");
        fs::write(&path, "mine").unwrap();
        let bundle = Bundle { sections: Map::new() };
        assert!(matches!(bundle.write(&path, Consent::Given), Err(BundleError::Exists(_))));
        assert_eq!(fs::read_to_string(&path).unwrap(), "mine");
    }

    #[test]
    fn secrets_are_taken_out_of_names_and_values_at_any_depth() {
        let key = format!("sk-ant-{}", "0123456789".repeat(3));
        let value = json!({ key.clone(): [{ "a": format!("b {key} c") }, 1, null] });
        assert_eq!(redacted(value), json!({ "[redacted]": [{ "a": "b [redacted] c" }, 1, null] }));
    }

    #[test]
    fn where_nothing_can_be_written_is_known_before_and_nothing_stays_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("bundle.json");
        check_place(&path).unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        let missing = check_place(&folder.path().join("nowhere/bundle.json"));
        assert!(matches!(missing, Err(BundleError::Write { .. })), "{missing:?}");
        std::os::unix::fs::symlink(folder.path().join("nothing"), &path).unwrap();
        assert!(matches!(check_place(&path), Err(BundleError::Exists(_))));
        let bundle = Bundle { sections: Map::new() };
        assert!(matches!(bundle.put_into(&path), Err(BundleError::Exists(_))));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "the unfinished one is gone");
    }

    #[test]
    fn whether_the_name_or_the_disk_is_wrong_is_told_apart() {
        use io::ErrorKind as Kind;
        for (kind, exit, hint) in [
            (Kind::NotFound, Exit::Usage, "a folder that is there"),
            (Kind::PermissionDenied, Exit::Usage, "and yours"),
            (Kind::StorageFull, Exit::Failed, "make room"),
            (Kind::QuotaExceeded, Exit::Failed, "make room"),
            (Kind::ReadOnlyFilesystem, Exit::Failed, "on another"),
        ] {
            let error = BundleError::Write { path: PathBuf::from("a"), source: kind.into() };
            assert_eq!(error.exit(), exit, "{kind}");
            assert!(error.hint().contains(hint), "{kind}: {}", error.hint());
        }
    }
}
