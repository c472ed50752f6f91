//! The recordings under `fixtures/`: what a real CLI said, line by line.
//!
//! Lines stay text here; nothing is decoded but the recorder's own envelope. The one rule it keeps: a
//! recording that cannot be read is an error, never a recording with fewer lines.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// One recording.
#[derive(Debug, Clone)]
pub struct Recording {
    /// `area/name` for the shared recordings (made with 2.1.197), `VERSION/case` for those of `xtask record`.
    pub name: String,
    /// Its folder.
    pub path: PathBuf,
    /// Its lines, in the order of time.
    pub lines: Vec<Recorded>,
}

/// One line of a recording.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recorded {
    /// Seconds since the start.
    pub t: f64,
    /// Where the line went.
    pub dir: Direction,
    /// The line without its newline.
    pub line: String,
}

/// Where a line went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Direction {
    /// Host to CLI (standard input).
    #[serde(rename = "in")]
    In,
    /// CLI to host (standard output).
    #[serde(rename = "out")]
    Out,
    /// CLI to host (standard error).
    #[serde(rename = "err")]
    Err,
    /// The recorder's own remarks: start, end of standard input, signal, exit.
    #[serde(rename = "meta")]
    Meta,
    /// The CLI to the editor, over the IDE's WebSocket.
    #[serde(rename = "cli->ide")]
    CliToIde,
    /// The editor to the CLI, over the IDE's WebSocket.
    #[serde(rename = "ide->cli")]
    IdeToCli,
    /// Keys typed into the terminal.
    #[serde(rename = "keys")]
    Keys,
    /// What the terminal showed.
    #[serde(rename = "screen")]
    Screen,
}

/// Why a recording could not be read.
#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    /// A file or folder could not be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file or folder.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// A line is not a line of a recording.
    #[error("cannot parse {} line {number}: {source}", path.display())]
    Parse {
        /// The transcript.
        path: PathBuf,
        /// The line's number, from 1.
        number: usize,
        /// The reason.
        source: serde_json::Error,
    },
}

/// The folder of all test inputs.
pub fn fixtures_dir() -> PathBuf {
    workspace_dir().join("fixtures")
}

/// The root of the cargo workspace.
pub fn workspace_dir() -> PathBuf {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent();
    crates.and_then(Path::parent).unwrap_or(Path::new(".")).to_owned()
}

/// Every recording there is, sorted by name.
pub fn all() -> Result<Vec<Recording>, RecordingError> {
    let mut recordings = shared()?;
    for folder in folders(&fixtures_dir())? {
        let Some(version) = file_name(&folder).strip_prefix("recordings-").map(ToOwned::to_owned) else {
            continue;
        };
        for case in folders(&folder)? {
            recordings.push(load(&case, format!("{version}/{}", file_name(&case)))?);
        }
    }
    recordings.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(recordings)
}

/// The shared recordings, sorted by name.
pub fn shared() -> Result<Vec<Recording>, RecordingError> {
    let mut recordings = Vec::new();
    for area in folders(&fixtures_dir().join("recordings"))? {
        for folder in folders(&area)? {
            recordings.push(load(&folder, format!("{}/{}", file_name(&area), file_name(&folder)))?);
        }
    }
    Ok(recordings)
}

/// Reads one recording folder.
pub fn load(folder: &Path, name: impl Into<String>) -> Result<Recording, RecordingError> {
    let path = folder.join("transcript.jsonl");
    let text =
        fs::read_to_string(&path).map_err(|source| RecordingError::Read { path: path.clone(), source })?;
    let lines = parse(&text).map_err(|(number, source)| RecordingError::Parse { path, number, source })?;
    Ok(Recording { name: name.into(), path: folder.to_owned(), lines })
}

impl Recording {
    /// The lines in one direction.
    pub fn lines_to(&self, dir: Direction) -> impl Iterator<Item = &str> {
        self.lines.iter().filter(move |recorded| recorded.dir == dir).map(|recorded| recorded.line.as_str())
    }
}

fn parse(text: &str) -> Result<Vec<Recorded>, (usize, serde_json::Error)> {
    // Not `lines()`: a transcript is split on `\n` only, as the CLI's own output is [basic/unicode].
    let lines = (1..).zip(text.split('\n')).filter(|(_, line)| !line.is_empty());
    lines.map(|(number, line)| serde_json::from_str(line).map_err(|error| (number, error))).collect()
}

fn folders(folder: &Path) -> Result<Vec<PathBuf>, RecordingError> {
    let failed = |source| RecordingError::Read { path: folder.to_owned(), source };
    let mut folders = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.is_dir() {
            folders.push(path);
        }
    }
    folders.sort();
    Ok(folders)
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use super::*;

    #[test]
    fn every_shared_recording_is_found() {
        let recordings = shared().unwrap();
        assert_eq!(recordings.len(), 288);
        assert!(recordings.iter().all(|recording| !recording.lines.is_empty()));
        assert!(recordings.iter().any(|recording| recording.lines_to(Direction::CliToIde).next().is_some()));
    }

    #[test]
    fn a_broken_line_is_named_by_its_number() {
        let (number, _) = parse("{\"t\":0,\"dir\":\"in\",\"line\":\"x\"}\n{\"t\":1}\n").unwrap_err();
        assert_eq!(number, 2);
    }
}
