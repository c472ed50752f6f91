//! The debug files of a session: what passed between it and its CLI, and what was made of it.
//!
//! `raw-streamjson-SESSION.jsonl` is a journal that `jackfield replay` takes; `normalized-streamjson-SESSION.jsonl`
//! has the events. Both are for their owner alone, have a bounded size, and have secrets taken out line by line. The
//! one rule it keeps: what cannot be written is left out, and the session goes on.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use jackfield_api::{Event, SessionId, codec};
use jackfield_sdk::Entry;

use crate::redact::redact;

/// How large a file may get before it is put aside; one that was put aside before is gone then.
const LARGEST: u64 = 64 * 1024 * 1024;

/// Both files of a session.
#[derive(Debug)]
pub(crate) struct DebugFiles {
    raw: Rotated,
    normalized: Rotated,
}

/// A file that is put aside when it is too large.
#[derive(Debug)]
struct Rotated {
    path: PathBuf,
    file: BufWriter<File>,
    written: u64,
    largest: u64,
}

impl DebugFiles {
    /// Opens both; what is there already is gone on with.
    pub(crate) fn open(folder: &Path, session: &SessionId) -> io::Result<Self> {
        Self::open_with(folder, session, LARGEST)
    }

    fn open_with(folder: &Path, session: &SessionId, largest: u64) -> io::Result<Self> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        let name = |kind: &str| folder.join(format!("{kind}-streamjson-{}.jsonl", plain(session.as_str())));
        Ok(Self {
            raw: Rotated::open(name("raw"), largest)?,
            normalized: Rotated::open(name("normalized"), largest)?,
        })
    }

    /// A line of the journal.
    pub(crate) fn raw(&mut self, entry: &Entry) -> io::Result<()> {
        let line = redact(&entry.line);
        let by = entry.by.as_deref().map(|by| redact(by).into_owned());
        let entry = Entry { line: line.into_owned(), dir: entry.dir.clone(), by, ..*entry };
        self.raw.line(&serde_json::to_vec(&entry)?)
    }

    /// An event.
    pub(crate) fn normalized(&mut self, event: &Event) -> io::Result<()> {
        let mut line = Vec::new();
        codec::encode(event, &mut line);
        let line = String::from_utf8_lossy(&line);
        self.normalized.line(redact(&line).as_bytes())
    }

    /// Hands what was written to the operating system.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.raw.file.flush()?;
        self.normalized.file.flush()
    }
}

impl Rotated {
    fn open(path: PathBuf, largest: u64) -> io::Result<Self> {
        let file = create(&path)?;
        let written = file.metadata()?.len();
        Ok(Self { path, file: BufWriter::new(file), written, largest })
    }

    fn line(&mut self, line: &[u8]) -> io::Result<()> {
        let bytes = u64::try_from(line.len()).unwrap_or(u64::MAX).saturating_add(1);
        if self.written > 0 && self.written.saturating_add(bytes) > self.largest {
            self.file.flush()?;
            fs::rename(&self.path, self.path.with_extension("jsonl.1"))?;
            self.file = BufWriter::new(create(&self.path)?);
            self.written = 0;
        }
        self.written += bytes;
        self.file.write_all(line)?;
        self.file.write_all(b"\n")
    }
}

/// A file of its owner's alone, never through a link that somebody has put there.
fn create(path: &Path) -> io::Result<File> {
    let flags = rustix::fs::OFlags::NOFOLLOW.bits();
    let flags = i32::try_from(flags).map_err(io::Error::other)?;
    let file = OpenOptions::new().create(true).append(true).mode(0o600).custom_flags(flags).open(path)?;
    file.set_permissions(fs::Permissions::from_mode(0o600))?;
    Ok(file)
}

/// A session's name as part of a file's.
fn plain(name: &str) -> String {
    name.chars()
        .map(|letter| if letter.is_ascii_alphanumeric() || letter == '-' { letter } else { '_' })
        .collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn entry(line: &str) -> Entry {
        Entry { t: 1.5, dir: "out".to_owned(), line: line.to_owned(), by: None, lossy: false }
    }

    #[test]
    fn files_are_their_owners_alone_and_have_no_secrets() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("debug");
        let mut files = DebugFiles::open(&inner, &SessionId::from("a/../b")).unwrap();
        let key = format!("sk-ant-{}", "abcdefgh".repeat(4));
        files.raw(&entry(&format!("{{\"text\":\"{key}\"}}"))).unwrap();
        files.flush().unwrap();
        let path = inner.join("raw-streamjson-a____b.jsonl");
        let text = fs::read_to_string(&path).unwrap();
        assert!(!text.contains(&key) && text.contains("[redacted]"), "{text}");
        assert_eq!(Entry::read(text.trim_end()).unwrap().line, "{\"text\":\"[redacted]\"}");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::metadata(&inner).unwrap().permissions().mode() & 0o777, 0o700);
    }

    #[test]
    fn a_file_that_is_too_large_is_put_aside_whole() {
        let folder = tempfile::tempdir().unwrap();
        let mut files = DebugFiles::open_with(folder.path(), &SessionId::from("s"), 1000).unwrap();
        for number in 0..100 {
            files.raw(&entry(&format!("line {number}"))).unwrap();
        }
        files.flush().unwrap();
        let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
        let (old, new) = (read("raw-streamjson-s.jsonl.1"), read("raw-streamjson-s.jsonl"));
        assert!(old.len() <= 1000 && new.len() <= 1000);
        assert!(new.ends_with("\"line\":\"line 99\"}\n"), "{new}");
        assert!(old.lines().chain(new.lines()).all(|line| Entry::read(line).is_ok()));
    }

    #[test]
    fn a_link_in_the_place_of_a_file_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let elsewhere = folder.path().join("elsewhere");
        std::os::unix::fs::symlink(&elsewhere, folder.path().join("raw-streamjson-s.jsonl")).unwrap();
        assert!(DebugFiles::open(folder.path(), &SessionId::from("s")).is_err());
        assert!(!elsewhere.exists());
    }
}
