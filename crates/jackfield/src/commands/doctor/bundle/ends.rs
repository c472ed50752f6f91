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
use crate::telemetry::{LOG_ASIDE, LOG_FILE};

/// How many lines of the log there are.
const LOG_LINES: usize = 500;

/// The end of the log in a data folder, also where most of it was just put aside.
pub(super) fn log(data: &Path) -> Value {
    let mut secrets = LineByLine::default();
    // Nothing of it was said by anybody.
    let mut end =
        |name: &str| last_lines(&data.join(name), LOG_LINES, &mut secrets, |line| Cow::Borrowed(line));
    let (aside, end) = (end(LOG_ASIDE), end(LOG_FILE));
    // What is before lines that are not there is not before those that are.
    let missing = if end.is_whole { LOG_LINES.saturating_sub(end.lines.len()) } else { 0 };
    let unwanted = aside.lines.len().saturating_sub(missing);
    Value::Array(aside.lines.into_iter().skip(unwanted).chain(end.lines).collect())
}

/// The end of a text file.
#[derive(Debug, Default, PartialEq)]
struct End {
    lines: Vec<Value>,
    /// Whether nothing is before them.
    is_whole: bool,
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
        let end = last_lines(&path, LINES, &mut LineByLine::default(), pieces::without);
        Some((name, Value::Array(end.lines)))
    });
    Value::Object(named.collect())
}

/// The last lines of a text file, and of each what may be shown.
fn last_lines(path: &Path, count: usize, secrets: &mut LineByLine, shown: fn(&str) -> Cow<'_, str>) -> End {
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
    // The first line may be the end of one.
    let lines = text.lines().skip(usize::from(!whole)).map(|line| secrets.redact(line));
    let lines: Vec<Cow<'_, str>> = lines.collect();
    let first = lines.len().saturating_sub(count);
    let last = lines[first..].iter().map(|line| Value::String(cut(&shown(line))));
    End { lines: last.collect(), is_whole: whole && first == 0 }
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
        let last = |path: &Path| last_lines(path, 3, &mut LineByLine::default(), pieces::without);
        let End { lines, is_whole } = last(&path);
        assert_eq!((lines.len(), is_whole), (3, false));
        assert!(lines[2].as_str().unwrap().starts_with("line 9999 "), "{lines:?}");
        assert_eq!(last(&folder.path().join("nothing")), End { lines: Vec::new(), is_whole: true });
    }

    #[test]
    fn right_after_the_log_was_put_aside_its_last_lines_are_those_before_that_too() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, lines: std::ops::Range<usize>, length: usize| {
            let lines: Vec<String> = lines.map(|line| format!("{line} {}\n", "x".repeat(length))).collect();
            fs::write(folder.path().join(name), lines.concat()).unwrap();
        };
        let shown = || -> Vec<usize> {
            let log = log(folder.path());
            let number = |line: &Value| line.as_str().unwrap().split(' ').next().unwrap().parse().unwrap();
            log.as_array().unwrap().iter().map(number).collect()
        };
        write(LOG_ASIDE, 0..10_000, 10);
        assert_eq!(shown(), (9_500..10_000).collect::<Vec<_>>(), "nothing was written since");
        write(LOG_FILE, 10_000..10_003, 10);
        assert_eq!(shown(), (9_503..10_003).collect::<Vec<_>>());
        write(LOG_FILE, 10_000..10_700, 10);
        assert_eq!(shown(), (10_200..10_700).collect::<Vec<_>>());
        // So long are the lines that they do not all fit: what was put aside is not right before them.
        write(LOG_FILE, 10_000..10_700, LINE * 2);
        let shown = shown();
        assert!(shown.len() > 100 && shown.len() < LOG_LINES, "{}", shown.len());
        assert_eq!(shown, (10_700 - shown.len()..10_700).collect::<Vec<_>>());
        fs::remove_file(folder.path().join(LOG_ASIDE)).unwrap();
        write(LOG_FILE, 0..2, 10);
        assert_eq!(log(folder.path()).as_array().unwrap().len(), 2);
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
        let last = last_lines(&path, 4, &mut LineByLine::default(), |line| Cow::Borrowed(line));
        assert_eq!(last.lines, ["[redacted]", "[redacted]", &format!("{end} KEY-----"), "behind"]);
    }
}
