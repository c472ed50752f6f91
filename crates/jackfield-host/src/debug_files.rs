//! The debug files of a session: what passed between it and its CLI, and what was made of it.
//!
//! `raw-streamjson-SESSION.jsonl` is a journal that `jackfield replay` takes; `normalized-streamjson-SESSION.jsonl`
//! has the events. Both are for their owner alone, have a bounded size, and have secrets taken out line by line. Nearly
//! all of a line was said in the one before, so only what is new is looked at, as long as nothing is found there. While
//! much is said it is written in large pieces, because line by line it would cost as much as the session itself; each
//! ends where a large page of the file does, and room for it is taken ahead, which costs the system a third less.
//! The one rule it keeps: a file is put aside between two lines, never in one.

use std::fs::{self, File, OpenOptions};
use std::io::{self, IoSlice, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use jackfield_api::SessionId;
use jackfield_sdk::News;

use crate::redact::{is_suspect, redact_lines};

/// How large a file may get before it is put aside; one that was put aside before is gone then.
const LARGEST: u64 = 64 * 1024 * 1024;
/// How much is held back until it is written.
const HELD: usize = 256 * 1024;
/// How much room in a file is taken ahead.
const AHEAD: u64 = 2 * 1024 * 1024;
/// Where in a file a write ends that is not the last for now.
const GRAIN: u64 = 64 * 1024;
/// Much was said: as much as a pipe holds, about. What is less than that is written at once.
const MUCH: usize = 32 * 1024;

/// What a debug file has in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// What passed between a session and its CLI.
    Raw,
    /// Events.
    Normalized,
}

/// What a pause leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pause {
    /// Everything is in the file.
    Written,
    /// Something is still held back.
    Held,
}

/// A debug file of a session.
#[derive(Debug)]
pub(crate) struct DebugFile {
    path: PathBuf,
    file: File,
    /// What is not written yet. It ends with a whole line; of the first the beginning may be written already.
    held: Vec<u8>,
    /// What comes next must be told as to somebody who knows of nothing before.
    anew: bool,
    /// How much came since the last pause.
    came: usize,
    written: u64,
    /// Up to where the file has room that was taken ahead.
    roomy: u64,
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
        Ok(Self { path, file, held: Vec::new(), anew: true, came: 0, written, roomy: 0, largest })
    }

    /// Takes whole lines, each with its newline, and what is new in them, if that is known. They are written later, or
    /// where they are many, from where they lie. Says what is wanted of those behind them: where something was found
    /// that may be a secret, everything, else one that is in every line would be found in the first of them only.
    pub(crate) fn take(&mut self, lines: &[u8], new: Option<&[u8]>) -> io::Result<News> {
        let new = new.filter(|_| !self.anew);
        self.anew = is_suspect(new.unwrap_or(lines));
        if self.anew {
            self.take_clean(&redact_lines(lines))?;
        } else {
            self.take_clean(lines)?;
        }
        Ok(if new.is_some() { News::Wanted } else { News::Anew })
    }

    /// Takes lines without secrets.
    fn take_clean(&mut self, lines: &[u8]) -> io::Result<()> {
        self.came += lines.len();
        if lines.len() >= MUCH {
            return self.write_much(lines);
        }
        self.held.extend_from_slice(lines);
        if self.held.len() < HELD { Ok(()) } else { self.write_much(&[]) }
    }

    /// Nothing more comes for now. What was held back is written, unless so much came that more will; then it says so,
    /// and must be flushed a little later.
    pub(crate) fn pause(&mut self) -> io::Result<Pause> {
        if std::mem::take(&mut self.came) < MUCH {
            self.flush()?;
            self.give_room_back();
        }
        Ok(if self.held.is_empty() { Pause::Written } else { Pause::Held })
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

    /// Writes as much of what was held back, and of more lines behind it, as ends at a page of the file, where all of
    /// it has room in there.
    fn write_much(&mut self, more: &[u8]) -> io::Result<()> {
        let all = self.held.len() + more.len();
        let end = self.written.saturating_add(u64::try_from(all).unwrap_or(u64::MAX));
        let left = usize::try_from(end % GRAIN).unwrap_or(usize::MAX);
        let Some(now) = all.checked_sub(left).filter(|_| end <= self.largest) else {
            self.held.extend_from_slice(more);
            return self.flush();
        };
        self.take_room(end);
        let mut held = std::mem::take(&mut self.held);
        let (old, new) = (now.min(held.len()), now.saturating_sub(held.len()));
        let done = self.append(&held[..old], &more[..new]);
        held.drain(..old);
        held.extend_from_slice(&more[new..]);
        self.held = held;
        done
    }

    /// Takes room ahead for a file that is about to end there.
    fn take_room(&mut self, end: u64) {
        if end > self.roomy {
            self.roomy = end.saturating_add(AHEAD);
            let length = self.roomy - self.written;
            // A system that cannot do it, or has no room, writes as it always does.
            let _ = take_room(&self.file, self.written, length);
        }
    }

    /// Gives the room back that was taken ahead.
    fn give_room_back(&mut self) {
        if std::mem::take(&mut self.roomy) > 0 {
            // The system lets go of what is behind the end. If it does not, it does when the file is deleted.
            let _ = self.file.metadata().and_then(|file| self.file.set_len(file.len()));
        }
    }

    fn put(&mut self, lines: &[u8]) -> io::Result<()> {
        let mut rest = lines;
        while !rest.is_empty() {
            let room = usize::try_from(self.largest.saturating_sub(self.written)).unwrap_or(usize::MAX);
            let fits = whole_lines(rest, room);
            if fits > 0 {
                self.append(&rest[..fits], &[])?;
                rest = &rest[fits..];
            } else if self.written > 0 {
                self.give_room_back();
                fs::rename(&self.path, self.path.with_extension("jsonl.1"))?;
                self.file = create(&self.path)?;
                self.written = 0;
            } else {
                // A line that is larger than a file may be is a file of its own.
                let line = rest.iter().position(|&byte| byte == b'\n').map_or(rest.len(), |end| end + 1);
                self.append(&rest[..line], &[])?;
                rest = &rest[line..];
            }
        }
        Ok(())
    }

    fn append(&mut self, lines: &[u8], more: &[u8]) -> io::Result<()> {
        self.written += u64::try_from(lines.len() + more.len()).unwrap_or(u64::MAX);
        let mut parts = [IoSlice::new(lines), IoSlice::new(more)];
        let mut parts = parts.as_mut_slice();
        // Those that are empty go.
        IoSlice::advance_slices(&mut parts, 0);
        while !parts.is_empty() {
            match self.file.write_vectored(parts) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => IoSlice::advance_slices(&mut parts, written),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

impl Drop for DebugFile {
    fn drop(&mut self) {
        // There is nobody left who could be told.
        let _ = self.flush();
        self.give_room_back();
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

    use jackfield_api::Timestamp;
    use jackfield_sdk::{Entry, LineBefore};

    use super::*;

    fn hold(file: &mut DebugFile, line: &str) {
        let line = format!("{line}\n");
        file.take(line.as_bytes(), Some(line.as_bytes())).unwrap();
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
        hold(&mut normalized, &format!("one\n{key}"));
        assert_eq!(normalized.pause().unwrap(), Pause::Written);
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
    fn where_much_comes_it_is_written_by_pages_and_no_secret_lies_across_two_writes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("raw-streamjson-s.jsonl");
        let length = || fs::metadata(&path).unwrap().len();
        let key = format!("sk-ant-{}", "abcdefgh".repeat(4));
        let mut file = DebugFile::open(folder.path(), &SessionId::from("s"), Kind::Raw).unwrap();
        let mut expected = String::new();
        for number in 0..40_000 {
            // Lines of many lengths with keys at their ends: some of them lie where a write ends.
            let filler = "x".repeat(number % 61);
            hold(&mut file, &format!("{number} {filler} {key}"));
            expected.extend([&number.to_string(), " ", &filler, " [redacted]\n"]);
            assert_eq!(length() % GRAIN, 0);
        }
        assert!(length() > 4 * GRAIN);
        assert_eq!(file.pause().unwrap(), Pause::Held);
        hold(&mut file, "the last");
        assert_eq!(file.pause().unwrap(), Pause::Written);
        expected += "the last\n";
        assert!(fs::read_to_string(&path).unwrap() == expected);
        // Behind an end that is none of a page the next write finds one again.
        assert_ne!(length() % GRAIN, 0);
        hold(&mut file, "y\n".repeat(HELD).trim_end());
        assert_eq!(length() % GRAIN, 0);
        drop(file);
        assert_eq!(length(), expected.len() as u64 + 2 * HELD as u64);
        let blocks = fs::metadata(&path).unwrap().blocks();
        assert!(blocks * 512 < length() + AHEAD / 2, "no room stays taken: {blocks}");
    }

    #[test]
    fn a_file_that_is_written_by_pages_is_put_aside_between_two_lines_too() {
        let folder = tempfile::tempdir().unwrap();
        let largest = 5 * GRAIN + 1000;
        let mut file =
            DebugFile::open_with(folder.path(), &SessionId::from("s"), Kind::Raw, largest).unwrap();
        let line = |number: usize| format!("line {number} {}", "x".repeat(number % 97));
        for number in 0..20_000 {
            hold(&mut file, &line(number));
        }
        file.flush().unwrap();
        let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
        let (old, new) = (read("raw-streamjson-s.jsonl.1"), read("raw-streamjson-s.jsonl"));
        assert!(old.len() as u64 <= largest && new.len() as u64 <= largest);
        assert!(old.ends_with('\n') && old.starts_with("line ") && new.starts_with("line "));
        let expected: String = (0..20_000).map(|number| line(number) + "\n").collect();
        assert!(expected.ends_with(&(old + &new)));
    }

    #[test]
    fn lines_of_somebody_else_are_written_from_where_they_lie_behind_what_was_held() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("normalized-streamjson-s.jsonl");
        let length = || fs::metadata(&path).unwrap().len();
        let key = format!("sk-ant-{}", "abcdefgh".repeat(4));
        let largest = 30 * GRAIN;
        let mut file =
            DebugFile::open_with(folder.path(), &SessionId::from("s"), Kind::Normalized, largest).unwrap();
        let mut expected = String::new();
        for number in 0..60 {
            // Few and many, with and without a secret, behind what came one by one.
            let count = [1, 40, 700, 3000][number % 4];
            let secret = if number % 3 == 0 { key.as_str() } else { "harmless" };
            let lines = format!("{number} {} {secret}\n", "x".repeat(number)).repeat(count);
            file.take(lines.as_bytes(), Some(lines.as_bytes())).unwrap();
            expected += &lines.replace(&key, "[redacted]");
            assert!(file.held.len() < HELD, "{number}");
            hold(&mut file, "alone");
            expected += "alone\n";
        }
        assert!(length() > 0, "not all of it was held");
        file.flush().unwrap();
        let aside = fs::read_to_string(folder.path().join("normalized-streamjson-s.jsonl.1")).unwrap();
        let both = aside.clone() + &fs::read_to_string(&path).unwrap();
        assert!(aside.ends_with('\n') && aside.len() as u64 <= largest && length() <= largest);
        assert!(both == expected);
    }

    #[test]
    fn only_what_is_new_is_looked_at_and_a_secret_in_every_line_is_taken_out_of_each() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("raw-streamjson-s.jsonl");
        let key = format!("sk-ant-{}", "abcdefgh".repeat(4));
        let mut file = DebugFile::open(folder.path(), &SessionId::from("s"), Kind::Raw).unwrap();
        let (mut before, mut expected) = (LineBefore::default(), Vec::new());
        let mut looked_at = 0;
        for number in 0..30_000 {
            let member = if (10_000..20_000).contains(&number) { key.as_str() } else { "harmless" };
            let piece = if number == 25_000 { key.clone() } else { format!("{number}") };
            let line = format!(
                r#"{{"type":"stream_event","event":{{"type":"content_block_delta","index":0,"delta":{{"type":"text_delta","text":"{piece}"}}}},"x":"{member}","uuid":"{number}"}}"#
            );
            let entry = Entry { t: 0.0, dir: "out".to_owned(), line, by: None, lossy: false };
            let input = entry.input().unwrap();
            let (mut line, mut new) = (Vec::new(), Vec::new());
            Entry::write(Timestamp(7), &input, &mut before, &mut line, &mut new);
            if file.take(&line, Some(&new)).unwrap() == News::Anew {
                before = LineBefore::default();
            }
            looked_at += if number < 9_000 { new.len() } else { 0 };
            if number == 9_000 {
                assert!(looked_at < expected.len() / 4, "{looked_at} of {}", expected.len());
            }
            Entry::write(Timestamp(7), &input, &mut LineBefore::default(), &mut expected, &mut Vec::new());
        }
        file.flush().unwrap();
        let expected = String::from_utf8(expected).unwrap().replace(&key, "[redacted]");
        assert!(fs::read_to_string(&path).unwrap() == expected);
    }

    #[test]
    fn a_secret_is_taken_out_of_the_lines_behind_it_too_where_it_is_not_new() {
        let folder = tempfile::tempdir().unwrap();
        let key = format!("sk-ant-{}", "abcdefgh".repeat(4));
        let mut file = DebugFile::open(folder.path(), &SessionId::from("s"), Kind::Raw).unwrap();
        assert_eq!(file.take(b"harmless x\n", Some(b"")).unwrap(), News::Anew, "it knows of nothing before");
        let secret = format!("{key} x\n");
        assert_eq!(file.take(secret.as_bytes(), Some(secret.as_bytes())).unwrap(), News::Wanted);
        assert_eq!(file.take(secret.repeat(4000).as_bytes(), Some(b"x\n")).unwrap(), News::Anew);
        file.flush().unwrap();
        let written = fs::read_to_string(folder.path().join("raw-streamjson-s.jsonl")).unwrap();
        assert!(written == format!("harmless x\n{}", "[redacted] x\n".repeat(4001)));
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
