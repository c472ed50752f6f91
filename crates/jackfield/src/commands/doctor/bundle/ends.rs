//! The ends of files: of the log, and of debug files.
//!
//! The one rule it keeps: no more of a file is in memory than may be shown of it.

use std::borrow::Cow;
use std::fs;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use jackfield_host::redact::LineByLine;
use serde_json::{Map, Value};

use super::{LINE, LINES, SESSIONS, cut, pieces};
use crate::telemetry::LOG_FILE;

/// How many lines of the log there are.
const LOG_LINES: usize = 500;

/// The end of the log in a data folder.
pub(super) fn log(data: &Path) -> Value {
    // Nothing of it was said by anybody.
    Value::Array(last_lines(&data.join(LOG_FILE), LOG_LINES, |line| Cow::Borrowed(line)))
}

/// The ends of the debug files in a data folder.
pub(super) fn debug_files(data: &Path) -> Value {
    let Ok(entries) = fs::read_dir(data.join("debug")) else { return Value::Object(Map::new()) };
    let mut files: Vec<(SystemTime, PathBuf)> = entries
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let metadata = entry.metadata().ok().filter(fs::Metadata::is_file)?;
            Some((metadata.modified().ok()?, entry.path()))
        })
        .collect();
    files.sort();
    // Two for each session.
    let newest = files.into_iter().rev().take(usize::try_from(SESSIONS).unwrap_or(usize::MAX) * 2);
    let named = newest.filter_map(|(_, path)| {
        let name = path.file_name()?.to_string_lossy().into_owned();
        Some((name, Value::Array(last_lines(&path, LINES, pieces::without))))
    });
    Value::Object(named.collect())
}

/// The last lines of a text file, and of each what may be shown.
fn last_lines(path: &Path, count: usize, shown: fn(&str) -> Cow<'_, str>) -> Vec<Value> {
    let room = u64::try_from(count.saturating_mul(LINE)).unwrap_or(u64::MAX);
    let read = || -> io::Result<Vec<u8>> {
        let mut file = fs::File::open(path)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(room)))?;
        let mut bytes = Vec::new();
        file.take(room).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    // What is not there, or not ours to read, is not in the bundle.
    let bytes = read().unwrap_or_default();
    let whole = u64::try_from(bytes.len()).unwrap_or(u64::MAX) < room;
    let text = String::from_utf8_lossy(&bytes);
    let mut secrets = LineByLine::default();
    // The first line may be the end of one.
    let lines = text.lines().skip(usize::from(!whole)).map(|line| secrets.redact(line));
    let lines: Vec<Cow<'_, str>> = lines.collect();
    lines[lines.len().saturating_sub(count)..].iter().map(|line| Value::String(cut(&shown(line)))).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn only_the_end_of_a_long_file_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let lines: Vec<String> =
            (0..10_000).map(|number| format!("line {number} {}\n", "x".repeat(100))).collect();
        fs::write(&path, lines.concat()).unwrap();
        let last = last_lines(&path, 3, pieces::without);
        assert_eq!(last.len(), 3);
        assert!(last[2].as_str().unwrap().starts_with("line 9999 "), "{last:?}");
        assert_eq!(last_lines(&folder.path().join("nothing"), 3, pieces::without), Vec::<Value>::new());
    }

    #[test]
    fn a_private_key_that_stands_in_several_lines_is_not_shown() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let (begin, end) = ("-----BEGIN PRIVATE", "-----END PRIVATE");
        let body = "Zq7wX/Kd".repeat(8);
        fs::write(
            &path,
            format!("before\n{begin} KEY-----\n{body}\n{body}\nJm2kAA==\n{end} KEY-----\nbehind\n"),
        )
        .unwrap();
        // Its beginning is not among the lines that are shown.
        let last = last_lines(&path, 4, |line| Cow::Borrowed(line));
        assert_eq!(last, ["[redacted]", "[redacted]", &format!("{end} KEY-----"), "behind"]);
    }
}
