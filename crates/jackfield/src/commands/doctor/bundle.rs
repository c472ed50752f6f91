//! The bundle for a bug report: versions, configuration, checks, log, drift and last lines in one JSON file.
//!
//! It is shown before it is written, and never over a file that is there. The one rule it keeps: every text in it is
//! looked through for secrets, whoever has done so before, and what was said piece by piece is not in it.

mod pieces;

use std::borrow::Cow;
use std::fs::{self, OpenOptions};
use std::io::{self, BufRead as _, IsTerminal as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use jackfield_api::{LineNumber, VERSION};
use jackfield_client::Client;
use jackfield_host::redact::redact;
use jackfield_host::store::SessionQuery;
use serde_json::{Map, Value, json};
use thiserror::Error;

use crate::config::{self, Effective};
use crate::telemetry::LOG_FILE;

/// How many lines of the log are in it.
const LOG_LINES: usize = 500;
/// How many sessions' lines, and how many of each.
const SESSIONS: u32 = 3;
const LINES: usize = 50;
/// How much of a line.
const LINE: usize = 2048;
/// How long the running host may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// Why there is no bundle.
#[derive(Debug, Error)]
pub(crate) enum BundleError {
    #[error("`{}` is there already, and stays as it is", .0.display())]
    Exists(PathBuf),
    #[error("nobody can be asked whether `{}` may be written", .0.display())]
    NotAsked(PathBuf),
    #[error("cannot write `{}`: {source}", path.display())]
    Write { path: PathBuf, source: io::Error },
}

impl BundleError {
    pub(crate) fn hint(&self) -> &'static str {
        match self {
            Self::Exists(_) => "choose another name, or remove it",
            Self::NotAsked(_) => "look at what would be in it above, and give `--yes`",
            Self::Write { .. } => "choose a folder that is there and yours",
        }
    }
}

/// Whether somebody is asked before it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Consent {
    Asked,
    Given,
}

/// Everything that is in a bundle.
#[derive(Debug)]
pub(super) struct Bundle {
    sections: Map<String, Value>,
}

impl Bundle {
    /// Puts one together.
    pub(super) async fn gather(effective: &Effective, checks: Value) -> Self {
        let data = effective.config.data.folder.as_deref();
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
        put(
            "log",
            data.map_or(Value::Null, |data| {
                Value::Array(last_lines(&data.join(LOG_FILE), LOG_LINES, as_it_is))
            }),
        );
        let host = match data {
            Some(data) => tokio::time::timeout(PATIENCE, of_running(data)).await.ok().flatten(),
            None => None,
        };
        let (drift, journal) = host.unwrap_or_else(|| (json!({ "host": "not running" }), Value::Null));
        put("drift", drift);
        put("journal", journal);
        put("debug_files", data.map_or(Value::Null, |data| Value::Object(debug_files(&data.join("debug")))));
        Self { sections }
    }

    /// What is in it, a line for each part.
    pub(super) fn contents(&self) -> String {
        let line = |(name, value): (&String, &Value)| {
            let bytes = value.to_string().len();
            let what = match name.as_str() {
                "versions" => "versions of the program and the system",
                "checks" => "what the doctor found",
                "configuration" => "the configuration in effect",
                "log" => "the last lines of the log",
                "drift" => "messages of the CLI that are not known, and figures",
                "journal" => {
                    "the last lines to and from the CLI, of the newest sessions: what was said is in them"
                }
                _ => "the last lines of debug files, if they were on: what was said is in them",
            };
            format!("  {name:14} {bytes:>8} bytes  {what}\n")
        };
        self.sections.iter().map(line).collect()
    }

    /// Shows it, asks, and writes it.
    pub(super) fn write(&self, path: &Path, consent: Consent) -> Result<(), BundleError> {
        if path.symlink_metadata().is_ok() {
            return Err(BundleError::Exists(path.to_owned()));
        }
        let failed = |source| BundleError::Write { path: path.to_owned(), source };
        let mut out = io::stdout();
        let words = "Secrets are taken out by their looks; read it before you send it to anybody.";
        write!(out, "\nThe bundle `{}` will hold:\n\n{}\n{words}\n", path.display(), self.contents())
            .map_err(failed)?;
        if consent == Consent::Asked {
            if !io::stdin().is_terminal() {
                return Err(BundleError::NotAsked(path.to_owned()));
            }
            write!(out, "Write it? [y/N] ").and_then(|()| out.flush()).map_err(failed)?;
            let mut answer = String::new();
            io::stdin().lock().read_line(&mut answer).map_err(failed)?;
            if !matches!(answer.trim(), "y" | "Y" | "yes") {
                return writeln!(out, "nothing was written").map_err(failed);
            }
        }
        let mut file =
            OpenOptions::new().write(true).create_new(true).mode(0o600).open(path).map_err(|source| {
                match source.kind() {
                    io::ErrorKind::AlreadyExists => BundleError::Exists(path.to_owned()),
                    _ => failed(source),
                }
            })?;
        let text = format!("{:#}\n", Value::Object(self.sections.clone()));
        file.write_all(text.as_bytes()).map_err(failed)?;
        writeln!(out, "written: {}", path.display()).map_err(failed)
    }
}

/// What the host that runs on a folder tells: drift, and the last lines of its newest sessions.
async fn of_running(data: &Path) -> Option<(Value, Value)> {
    let host = Client::running(data, "doctor").await.ok()??;
    let figures = host.figures().await.ok().flatten().unwrap_or_default();
    let told = |prefix: &str| -> Vec<String> {
        figures.lines().filter(|line| line.starts_with(prefix)).map(ToOwned::to_owned).collect()
    };
    let drift = json!({
        "unknown_messages": told("jackfield_unknown_messages_total"),
        "unreadable_lines": told("jackfield_events_total{type=\"malformed\"}"),
        "runs_ended": told("jackfield_runs_ended_total"),
        "retries": told("jackfield_api_retries_total"),
    });
    let mut journal = Map::new();
    let query = SessionQuery { limit: SESSIONS, ..SessionQuery::default() };
    let sessions = host.sessions(query).await.map(|page| page.sessions).unwrap_or_default();
    for session in sessions {
        let Ok(kept) = host.lines(&session.session_id, LineNumber(0)).await else { continue };
        let skipped = kept.lines.len().saturating_sub(LINES);
        let lines: Vec<Value> = kept.lines[skipped..]
            .iter()
            .map(|line| json!({ "at": line.at, "direction": line.direction, "text": cut(&pieces::without(&line.text)) }))
            .collect();
        journal.insert(session.session_id.to_string(), Value::Array(lines));
    }
    Some((drift, Value::Object(journal)))
}

/// The ends of the debug files.
fn debug_files(folder: &Path) -> Map<String, Value> {
    let Ok(entries) = fs::read_dir(folder) else { return Map::new() };
    let mut files: Vec<(SystemTime, PathBuf)> = entries
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let metadata = entry.metadata().ok().filter(fs::Metadata::is_file)?;
            Some((metadata.modified().ok()?, entry.path()))
        })
        .collect();
    files.sort();
    let newest = files.into_iter().rev().take(usize::try_from(SESSIONS).unwrap_or(usize::MAX) * 2);
    let named = newest.filter_map(|(_, path)| {
        let name = path.file_name()?.to_string_lossy().into_owned();
        Some((name, Value::Array(last_lines(&path, LINES, pieces::without))))
    });
    named.collect()
}

/// The end of a text file, without more of it in memory than that, and of each line what may be shown.
fn last_lines(path: &Path, count: usize, shown: fn(&str) -> Cow<'_, str>) -> Vec<Value> {
    use std::io::{Read as _, Seek as _, SeekFrom};
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
    let lines: Vec<&str> = text.lines().skip(usize::from(!whole)).collect();
    lines[lines.len().saturating_sub(count)..].iter().map(|line| Value::String(cut(&shown(line)))).collect()
}

/// The beginning of a line; secrets are looked for before it is cut, so that none is cut in two.
fn cut(line: &str) -> String {
    let line = redact(line);
    line[..line.floor_char_boundary(LINE)].to_owned()
}

fn as_it_is(line: &str) -> Cow<'_, str> {
    Cow::Borrowed(line)
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
    fn only_the_end_of_a_long_file_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        let lines: Vec<String> =
            (0..10_000).map(|number| format!("line {number} {}\n", "x".repeat(100))).collect();
        fs::write(&path, lines.concat()).unwrap();
        let last = last_lines(&path, 3, as_it_is);
        assert_eq!(last.len(), 3);
        assert!(last[2].as_str().unwrap().starts_with("line 9999 "), "{last:?}");
        assert_eq!(last_lines(&folder.path().join("nothing"), 3, as_it_is), Vec::<Value>::new());
    }
}
