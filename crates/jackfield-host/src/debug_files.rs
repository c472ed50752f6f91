//! The debug files of a session: what passed between it and its CLI, and what was made of it.
//!
//! `raw-streamjson-SESSION.jsonl` is a journal that `jackfield replay` takes; `normalized-streamjson-SESSION.jsonl`
//! has the events. Both are for their owner alone, have a bounded size, and have secrets taken out line by line. Many
//! lines are looked through and written at once, because one by one they would cost as much as the session itself.
//! The one rule it keeps: a file is put aside between two lines, never in one.

use std::borrow::Cow;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use jackfield_api::SessionId;

use crate::redact::redact_lines;

/// How large a file may get before it is put aside; one that was put aside before is gone then.
const LARGEST: u64 = 64 * 1024 * 1024;
/// How much is held back until it is written.
const HELD: usize = 128 * 1024;

/// What a debug file has in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// What passed between a session and its CLI.
    Raw,
    /// Events.
    Normalized,
}

/// A debug file of a session.
#[derive(Debug)]
pub(crate) struct DebugFile {
    path: PathBuf,
    file: File,
    /// Whole lines that are not written yet.
    held: Vec<u8>,
    written: u64,
    largest: u64,
}

impl DebugFile {
    /// Opens one; what is there already is gone on with.
    pub(crate) fn open(folder: &Path, session: &SessionId, kind: Kind) -> io::Result<Self> {
        Self::open_with(folder, session, kind, LARGEST)
    }

    fn open_with(folder: &Path, session: &SessionId, kind: Kind, largest: u64) -> io::Result<Self> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        let kind = match kind {
            Kind::Raw => "raw",
            Kind::Normalized => "normalized",
        };
        let path = folder.join(format!("{kind}-streamjson-{}.jsonl", plain(session.as_str())));
        let file = create(&path)?;
        let written = file.metadata()?.len();
        Ok(Self { path, file, held: Vec::new(), written, largest })
    }

    /// Takes a line that is appended with its newline, or nothing. It is written later.
    pub(crate) fn hold(&mut self, append: impl FnOnce(&mut Vec<u8>)) -> io::Result<()> {
        append(&mut self.held);
        if self.held.len() >= HELD { self.flush() } else { Ok(()) }
    }

    /// Writes whole lines.
    pub(crate) fn write(&mut self, lines: &[u8]) -> io::Result<()> {
        self.flush()?;
        self.put(lines)
    }

    /// Writes what was held back.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        if self.held.is_empty() {
            return Ok(());
        }
        let mut held = std::mem::take(&mut self.held);
        let done = self.put(&held);
        // A line that was very long does not keep its room.
        if held.capacity() <= 4 * HELD {
            held.clear();
            self.held = held;
        }
        done
    }

    fn put(&mut self, lines: &[u8]) -> io::Result<()> {
        let lines: Cow<'_, [u8]> = redact_lines(lines);
        let mut rest = &*lines;
        while !rest.is_empty() {
            let room = usize::try_from(self.largest.saturating_sub(self.written)).unwrap_or(usize::MAX);
            let fits = whole_lines(rest, room);
            if fits > 0 {
                self.append(&rest[..fits])?;
                rest = &rest[fits..];
            } else if self.written > 0 {
                fs::rename(&self.path, self.path.with_extension("jsonl.1"))?;
                self.file = create(&self.path)?;
                self.written = 0;
            } else {
                // A line that is larger than a file may be is a file of its own.
                let line = rest.iter().position(|&byte| byte == b'\n').map_or(rest.len(), |end| end + 1);
                self.append(&rest[..line])?;
                rest = &rest[line..];
            }
        }
        Ok(())
    }

    fn append(&mut self, lines: &[u8]) -> io::Result<()> {
        self.written += u64::try_from(lines.len()).unwrap_or(u64::MAX);
        self.file.write_all(lines)
    }
}

/// How many bytes of whole lines there are among the first so many.
fn whole_lines(lines: &[u8], room: usize) -> usize {
    if lines.len() <= room {
        return lines.len();
    }
    lines[..room].iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1)
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

    fn hold(file: &mut DebugFile, line: &str) {
        file.hold(|held| held.extend_from_slice(format!("{line}\n").as_bytes())).unwrap();
    }

    #[test]
    fn files_are_their_owners_alone_and_have_no_secrets() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("debug");
        let session = SessionId::from("a/../b");
        let key = format!("sk-ant-{}", "abcdefgh".repeat(4));
        let mut raw = DebugFile::open(&inner, &session, Kind::Raw).unwrap();
        hold(&mut raw, &format!("{{\"text\":\"{key}\"}}"));
        hold(&mut raw, "{\"text\":\"harmless\"}");
        raw.flush().unwrap();
        let mut normalized = DebugFile::open(&inner, &session, Kind::Normalized).unwrap();
        normalized.write(format!("one\n{key}\n").as_bytes()).unwrap();
        for (name, expected) in [
            ("raw-streamjson-a____b.jsonl", "{\"text\":\"[redacted]\"}\n{\"text\":\"harmless\"}\n"),
            ("normalized-streamjson-a____b.jsonl", "one\n[redacted]\n"),
        ] {
            let path = inner.join(name);
            assert_eq!(fs::read_to_string(&path).unwrap(), expected);
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        }
        assert_eq!(fs::metadata(&inner).unwrap().permissions().mode() & 0o777, 0o700);
    }

    #[test]
    fn a_file_that_is_too_large_is_put_aside_between_two_lines() {
        let folder = tempfile::tempdir().unwrap();
        let mut file = DebugFile::open_with(folder.path(), &SessionId::from("s"), Kind::Raw, 1000).unwrap();
        for number in 0..150 {
            hold(&mut file, &format!("line {number}"));
        }
        file.flush().unwrap();
        let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
        let (old, new) = (read("raw-streamjson-s.jsonl.1"), read("raw-streamjson-s.jsonl"));
        assert!(old.len() <= 1000 && new.len() <= 1000);
        let both = old + &new;
        let expected = (0..150).map(|number| format!("line {number}\n")).collect::<Vec<_>>().concat();
        assert!(both.len() > 1000 && expected.ends_with(&both), "{both}");
        hold(&mut file, &"x".repeat(3000));
        hold(&mut file, "the last");
        file.flush().unwrap();
        assert_eq!(read("raw-streamjson-s.jsonl.1").len(), 3001);
        assert_eq!(read("raw-streamjson-s.jsonl"), "the last\n");
    }

    #[test]
    fn a_link_in_the_place_of_a_file_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let elsewhere = folder.path().join("elsewhere");
        std::os::unix::fs::symlink(&elsewhere, folder.path().join("raw-streamjson-s.jsonl")).unwrap();
        assert!(DebugFile::open(folder.path(), &SessionId::from("s"), Kind::Raw).is_err());
        assert!(!elsewhere.exists());
    }
}
