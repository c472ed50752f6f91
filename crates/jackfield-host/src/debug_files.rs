//! The debug files of a session: what passed between it and its CLI, and what was made of it.
//!
//! `raw-streamjson-SESSION.jsonl` is a journal that `jackfield replay` takes; `normalized-streamjson-SESSION.jsonl`
//! has the events. Both are for their owner alone, have a bounded size, and have secrets taken out line by line, which are
//! looked for in what is said and not in what every line has. While much is said it is written in large pieces, because
//! line by line it would cost as much as the session itself; a piece fills large pages of the file, and room for it is
//! taken ahead, which costs the system less than half. The one rule it keeps: what is taken at once is never in two files.

mod held;

use std::borrow::Cow;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::ops::Range;
use std::os::unix::fs::{DirBuilderExt as _, FileExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use jackfield_api::SessionId;

use crate::redact::{LineByLine, is_suspect};
use held::Held;

/// How large a file may get before it is put aside; one that was put aside before is gone then.
const LARGEST: u64 = 64 * 1024 * 1024;
/// How much is written at once, and where in a file: from one multiple of it to the next.
pub(crate) const PIECE: usize = 256 * 1024;
/// How much room in a file is taken ahead.
const AHEAD: u64 = 2 * 1024 * 1024;
/// Much was said: a piece is not worth its while below that. What is less is written at once.
const MUCH: usize = 8 * 1024;

/// What a debug file has in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// What passed between a session and its CLI.
    Raw,
    /// Events.
    Normalized,
}

impl Kind {
    pub(crate) const ALL: [Self; 2] = [Self::Raw, Self::Normalized];

    /// Where a session's file of this kind is.
    fn path(self, folder: &Path, session: &SessionId) -> PathBuf {
        let kind = match self {
            Self::Raw => "raw",
            Self::Normalized => "normalized",
        };
        folder.join(format!("{kind}-streamjson-{}.jsonl", plain(session.as_str())))
    }
}

/// Where lines are that were taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Taken {
    /// Everything is in the file.
    Written,
    /// So much came that more will: something is held back, and must be flushed a little later.
    Held,
}

/// A debug file of a session.
#[derive(Debug)]
pub(crate) struct DebugFile {
    path: PathBuf,
    file: File,
    /// What is not written yet.
    held: Held,
    written: u64,
    /// Up to where the file has room that was taken ahead.
    roomy: u64,
    largest: u64,
    /// What goes on in lines that are yet to come.
    secrets: LineByLine,
}

impl DebugFile {
    /// Opens one; what is there already is gone on with.
    pub(crate) fn open(folder: &Path, session: &SessionId, kind: Kind) -> io::Result<Self> {
        Self::open_with(folder, session, kind, LARGEST)
    }

    fn open_with(folder: &Path, session: &SessionId, kind: Kind, largest: u64) -> io::Result<Self> {
        let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
        made.map_err(|error| naming(folder, &error))?;
        let path = kind.path(folder, session);
        let named = |error| naming(&path, &error);
        let file = create(&path).map_err(named)?;
        let written = file.metadata().map_err(named)?.len();
        // A host that was killed may have left half a line.
        let mut held = Held::default();
        if is_torn(&file, written).map_err(named)? {
            held.take(&mut vec![b'\n']);
        }
        Ok(Self { path, file, held, written, roomy: 0, largest, secrets: LineByLine::default() })
    }

    /// Takes whole lines, each with its newline, and where in them that stands which somebody said: nothing else can be a
    /// secret. The lines may be gone from where they were.
    pub(crate) fn take(&mut self, lines: &mut Vec<u8>, said: &[Range<usize>]) -> io::Result<Taken> {
        self.take_in(lines, said).map_err(|error| naming(&self.path, &error))
    }

    fn take_in(&mut self, lines: &mut Vec<u8>, said: &[Range<usize>]) -> io::Result<Taken> {
        let length = lines.len();
        self.make_room(length)?;
        let is_suspect = |place: &Range<usize>| lines.get(place.clone()).is_some_and(is_suspect);
        if (self.secrets.goes_on() || said.iter().any(is_suspect))
            && let Cow::Owned(mut cleaned) = self.secrets.redact_lines(lines)
        {
            std::mem::swap(lines, &mut cleaned);
        }
        self.held.take(lines);
        if length < MUCH {
            self.write(usize::MAX)?;
            self.let_go();
        } else {
            self.write_pieces()?;
        }
        Ok(if self.held.len() == 0 { Taken::Written } else { Taken::Held })
    }

    /// Puts the file aside if so much would make it too large.
    fn make_room(&mut self, length: usize) -> io::Result<()> {
        let used = self.end();
        if used > 0 && used.saturating_add(to_u64(length)) > self.largest {
            self.write(usize::MAX)?;
            self.let_go();
            fs::rename(&self.path, aside(&self.path))?;
            self.file = create(&self.path)?;
            self.written = 0;
        }
        Ok(())
    }

    /// Writes what fills pieces of the file, and holds the rest back.
    fn write_pieces(&mut self) -> io::Result<()> {
        let end = self.end() - self.end() % to_u64(PIECE);
        let Some(filled @ 1..) = end.checked_sub(self.written) else { return Ok(()) };
        self.take_room();
        self.write(usize::try_from(filled).unwrap_or(usize::MAX))
    }

    /// How much is in the file.
    pub(crate) fn written(&self) -> u64 {
        self.written
    }

    /// Where the file would end if everything were written.
    fn end(&self) -> u64 {
        self.written.saturating_add(to_u64(self.held.len()))
    }

    /// Writes what was held back.
    pub(crate) fn flush(&mut self) -> io::Result<()> {
        self.write(usize::MAX).map_err(|error| naming(&self.path, &error))
    }

    /// Writes so much of what was held back, or all of it.
    fn write(&mut self, bytes: usize) -> io::Result<()> {
        let end = self.end();
        let written = self.held.write(&mut self.file, bytes);
        self.written = end.saturating_sub(to_u64(self.held.len()));
        written
    }

    /// Lets go of all room that was taken, in the file and in memory. No more comes for now.
    fn let_go(&mut self) {
        if std::mem::take(&mut self.roomy) > 0 {
            // The system lets go of what is behind the end. If it does not, it does when the file is deleted.
            let _ = self.file.metadata().and_then(|file| self.file.set_len(file.len()));
            self.held.let_go();
        }
    }

    /// Takes room in the file ahead, for what is held back and what will come.
    fn take_room(&mut self) {
        if self.end() > self.roomy {
            self.roomy = self.end().saturating_add(AHEAD);
            // A system that cannot do it, or has no room, writes as it always does.
            let _ = take_room(&self.file, self.written, self.roomy - self.written);
        }
    }
}

impl Drop for DebugFile {
    fn drop(&mut self) {
        // There is nobody left who could be told.
        let _ = self.flush();
        self.let_go();
    }
}

/// Removes a session's files, whoever wrote them. There may be none.
pub(crate) fn remove(folder: &Path, session: &SessionId) -> io::Result<()> {
    let paths = Kind::ALL.map(|kind| kind.path(folder, session));
    for path in paths.into_iter().flat_map(|path| [aside(&path), path]) {
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(naming(&path, &error)),
            _ => {}
        }
    }
    Ok(())
}

/// Where a file goes that is put aside.
fn aside(path: &Path) -> PathBuf {
    path.with_extension("jsonl.1")
}

/// The error with what it is about.
fn naming(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("`{}`: {error}", path.display()))
}

fn to_u64(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}

/// A file of its owner's alone, never through a link that somebody has put there.
fn create(path: &Path) -> io::Result<File> {
    let flags = rustix::fs::OFlags::NOFOLLOW.bits();
    let flags = i32::try_from(flags).map_err(io::Error::other)?;
    let file =
        OpenOptions::new().create(true).read(true).append(true).mode(0o600).custom_flags(flags).open(path)?;
    file.set_permissions(fs::Permissions::from_mode(0o600))?;
    Ok(file)
}

/// Whether a file ends in the middle of a line.
fn is_torn(file: &File, length: u64) -> io::Result<bool> {
    let Some(last) = length.checked_sub(1) else { return Ok(false) };
    let mut byte = [0];
    file.read_exact_at(&mut byte, last)?;
    Ok(byte != *b"\n")
}

/// Takes room in a file, whose end stays where it is.
#[cfg(target_os = "linux")]
fn take_room(file: &File, from: u64, length: u64) -> io::Result<()> {
    Ok(rustix::fs::fallocate(file, rustix::fs::FallocateFlags::KEEP_SIZE, from, length)?)
}

/// Elsewhere the end would not stay where it is.
#[cfg(not(target_os = "linux"))]
fn take_room(_: &File, _: u64, _: u64) -> io::Result<()> {
    Ok(())
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

    use std::os::unix::fs::MetadataExt as _;

    use super::*;

    fn take(file: &mut DebugFile, line: &str) -> Taken {
        take_all(file, format!("{line}\n"))
    }

    fn take_all(file: &mut DebugFile, lines: String) -> Taken {
        let all = 0..lines.len();
        file.take(&mut lines.into_bytes(), &[all]).unwrap()
    }

    fn take_unsaid(file: &mut DebugFile, lines: &str) -> Taken {
        file.take(&mut lines.as_bytes().to_owned(), &[]).unwrap()
    }

    fn key() -> String {
        format!("sk-ant-{}", "abcdefgh".repeat(4))
    }

    #[test]
    fn files_are_their_owners_alone_and_have_no_secrets() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("debug");
        let session = SessionId::from("a/../b");
        let mut raw = DebugFile::open(&inner, &session, Kind::Raw).unwrap();
        take(&mut raw, &format!("{{\"text\":\"{}\"}}", key()));
        take(&mut raw, "{\"text\":\"harmless\"}");
        let mut normalized = DebugFile::open(&inner, &session, Kind::Normalized).unwrap();
        assert_eq!(take(&mut normalized, &format!("one\n{}", key())), Taken::Written);
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
    fn all_files_of_a_session_are_removed_and_no_others() {
        let folder = tempfile::tempdir().unwrap();
        let session = SessionId::from("a/b");
        for kind in Kind::ALL {
            let mut file = DebugFile::open_with(folder.path(), &session, kind, 10).unwrap();
            take(&mut file, "longer than ten letters");
            take(&mut file, "so there are two");
            take(&mut DebugFile::open(folder.path(), &SessionId::from("a-b"), kind).unwrap(), "another's");
        }
        let count = || fs::read_dir(folder.path()).unwrap().count();
        assert_eq!(count(), 6);
        remove(folder.path(), &session).unwrap();
        remove(folder.path(), &session).unwrap();
        assert_eq!(count(), 2);
        assert!(folder.path().join("raw-streamjson-a-b.jsonl").exists());
        // What cannot be removed is told by its name.
        fs::create_dir(folder.path().join("raw-streamjson-a_b.jsonl")).unwrap();
        let error = remove(folder.path(), &session).unwrap_err();
        assert!(error.to_string().contains("raw-streamjson-a_b.jsonl"), "{error}");
    }

    #[test]
    fn behind_half_a_line_another_begins() {
        let folder = tempfile::tempdir().unwrap();
        let open = || DebugFile::open(folder.path(), &SessionId::from("s"), Kind::Raw).unwrap();
        take(&mut open(), "one");
        let path = folder.path().join("raw-streamjson-s.jsonl");
        fs::write(&path, fs::read_to_string(&path).unwrap() + "ha").unwrap();
        take(&mut open(), "two");
        take(&mut open(), "three");
        assert_eq!(fs::read_to_string(&path).unwrap(), "one\nha\ntwo\nthree\n");
    }

    #[test]
    fn a_file_that_is_too_large_is_put_aside_between_what_was_taken_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let mut file = DebugFile::open_with(folder.path(), &SessionId::from("s"), Kind::Raw, 1000).unwrap();
        for number in 0..150 {
            let lines = format!("{number} one\n{number} two\n");
            take_unsaid(&mut file, &format!("{lines}three\n"));
        }
        let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
        let (old, new) = (read("raw-streamjson-s.jsonl.1"), read("raw-streamjson-s.jsonl"));
        assert!(old.len() <= 1000 && new.len() <= 1000);
        assert!(old.ends_with("three\n") && new.ends_with("149 two\nthree\n"));
        let both = old + &new;
        let taken = |number: usize| format!("{number} one\n{number} two\nthree\n");
        let expected = (0..150).map(taken).collect::<Vec<_>>().concat();
        assert!(both.len() > 1000 && expected.ends_with(&both), "{both}");
        take(&mut file, &"x".repeat(3000));
        take(&mut file, "the last");
        assert_eq!(read("raw-streamjson-s.jsonl.1").len(), 3001);
        assert_eq!(read("raw-streamjson-s.jsonl"), "the last\n");
    }

    #[test]
    fn where_much_comes_it_is_written_by_pieces_and_no_secret_lies_across_two_of_them() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("raw-streamjson-s.jsonl");
        let length = || fs::metadata(&path).unwrap().len();
        let mut file = DebugFile::open(folder.path(), &SessionId::from("s"), Kind::Raw).unwrap();
        let mut expected = String::new();
        for number in 0..400 {
            // Lines of many lengths with keys at their ends: some of them lie where a piece ends.
            let line = format!("{number} {} {}\n", "x".repeat(number % 61), key());
            let lines = line.repeat(MUCH / line.len() + 1);
            assert_eq!(take_all(&mut file, lines.clone()), Taken::Held);
            assert_eq!(length() % to_u64(PIECE), 0);
            expected += &lines.replace(&key(), "[redacted]");
        }
        assert!(length() > to_u64(4 * PIECE));
        assert_eq!(take(&mut file, "the last"), Taken::Written, "little comes, so it is over for now");
        expected += "the last\n";
        assert!(fs::read_to_string(&path).unwrap() == expected);
        let blocks = || fs::metadata(&path).unwrap().blocks() * 512;
        assert!(blocks() < length() + AHEAD / 2, "no room stays taken");
        // Behind an end that is none of a piece the next write finds one again.
        assert_ne!(length() % to_u64(PIECE), 0);
        take_unsaid(&mut file, &"y\n".repeat(PIECE));
        assert_eq!(length() % to_u64(PIECE), 0);
        drop(file);
        assert_eq!(length(), to_u64(expected.len() + 2 * PIECE));
        assert!(blocks() < length() + AHEAD / 2);
    }

    #[test]
    fn a_file_that_is_written_by_pieces_is_put_aside_too() {
        let folder = tempfile::tempdir().unwrap();
        let largest = to_u64(5 * PIECE + 1000);
        let mut file =
            DebugFile::open_with(folder.path(), &SessionId::from("s"), Kind::Raw, largest).unwrap();
        let lines = |number: usize| format!("line {number} {}\n", "x".repeat(number % 97)).repeat(2000);
        for number in 0..60 {
            take_unsaid(&mut file, &lines(number));
        }
        file.flush().unwrap();
        let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
        let (old, new) = (read("raw-streamjson-s.jsonl.1"), read("raw-streamjson-s.jsonl"));
        assert!(to_u64(old.len()) <= largest && to_u64(new.len()) <= largest);
        assert!(old.ends_with('\n') && old.starts_with("line ") && new.starts_with("line "));
        let expected: String = (0..60).map(lines).collect();
        assert!(expected.ends_with(&(old + &new)));
    }

    #[test]
    fn what_nobody_said_is_not_looked_at() {
        let folder = tempfile::tempdir().unwrap();
        let mut file = DebugFile::open(folder.path(), &SessionId::from("s"), Kind::Raw).unwrap();
        let line = format!("{}\n", key());
        let mut take = |lines: String, said: Range<usize>| {
            file.take(&mut lines.into_bytes(), &[said.clone(), 0..0]).unwrap()
        };
        take(format!("harmless {line}"), 0..8);
        take(format!("one\n{line}"), 4..7);
        let written = fs::read_to_string(folder.path().join("raw-streamjson-s.jsonl")).unwrap();
        assert_eq!(written, format!("harmless {line}one\n[redacted]\n"));
    }

    #[test]
    fn a_private_key_that_is_told_line_by_line_is_not_in_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let mut file = DebugFile::open(folder.path(), &SessionId::from("s"), Kind::Raw).unwrap();
        let (begin, end) = ("-----BEGIN PRIVATE", "-----END PRIVATE");
        let body = "Zq7wX/Kd".repeat(8);
        let all = [
            format!("{begin} KEY-----"),
            body.clone(),
            "Jm2kAA==".to_owned(),
            format!("{end} KEY-----"),
            body,
        ];
        for line in &all {
            take(&mut file, &format!("{{\"dir\":\"err\",\"line\":\"{line}\"}}"));
        }
        let written = fs::read_to_string(folder.path().join("raw-streamjson-s.jsonl")).unwrap();
        let lines = ["[redacted]", "[redacted]", "[redacted]", &all[3], &all[4]];
        let expected = lines.map(|line| format!("{{\"dir\":\"err\",\"line\":\"{line}\"}}\n")).concat();
        assert_eq!(written, expected);
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
