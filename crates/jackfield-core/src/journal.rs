//! The journal: lines in both directions, standard error, starts, exits, time-outs, the shell's own notices and the
//! events that it told itself, with their times.
//!
//! One JSON object per line, `{"t": seconds, "dir": "in" | "out" | "err" | "meta", "line": text}`, `in` being
//! from the host to the CLI. A recording has the same form. A line of the CLI may also stand there as it came, behind one
//! with its time (`{"t": seconds, "dir": "out"}`, for as many as came then), so that nobody has to look at it letter by
//! letter; and pieces of a text that came at once stand in one line ([`Series`]). A start with which a machine began says
//! where the session was, so that a machine begins there again. This module turns inputs into such lines and back; it
//! reads and writes no file. The one rule: every input that can lead to an event has a line, and the line gives the same
//! events again.

mod series;

use jackfield_api::trouble::NoticeLevel;
use jackfield_api::{Timestamp, ToolCallId, codec};
use jackfield_wire as wire;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use thiserror::Error;

use crate::gauge::Spent;
use crate::input::{By, Exit, FileChange, Input, Launch, Place, Signal};
use crate::session::Session;
pub use series::Series;

/// One line of a journal.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Entry {
    /// Seconds since the journal's beginning, or since 1970.
    pub t: f64,
    /// What kind of line it is.
    pub dir: String,
    /// The line as it was, without its newline.
    pub line: String,
    /// Who caused it, for `in`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// The line was not valid Unicode, and what could not be read was replaced, for `out`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub lossy: bool,
}

/// How a line of the CLI begins that may stand in a journal as it came. No other line of a journal begins so.
const AS_IT_CAME: &[u8; 9] = b"{\"type\":\"";

/// Why a line of a journal cannot be read.
#[derive(Debug, Error)]
pub enum ReadError {
    /// It is no entry.
    #[error(transparent)]
    NoEntry(#[from] serde_json::Error),
    /// There is neither a line in it, nor a time for lines of the CLI.
    #[error("missing field `line`")]
    NoLine,
    /// It is a line of the CLI, and no time stands before it.
    #[error("a line of the CLI without its time")]
    NoTime,
    /// It has pieces of a text, and not all that belongs to each.
    #[error("pieces of a text that are not whole")]
    NoPieces,
}

/// Reads a journal, line by line.
#[derive(Debug, Default)]
pub struct Reader {
    /// When lines came that stand there as they came.
    came: Option<f64>,
}

/// What a `meta` line can say. Members that are absent say nothing.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Meta {
    #[serde(skip_serializing_if = "Option::is_none")]
    spawn: Option<u64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    args: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    launch: Option<LaunchMeta>,
    #[serde(skip_serializing_if = "Option::is_none")]
    long_line: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unreadable: Option<(String, String)>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stdin: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    signal: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    exit: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    not_started: Option<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    output_ended: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    timeout: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<FileMeta>,
    #[serde(skip_serializing_if = "Option::is_none")]
    notice: Option<(NoticeLevel, String)>,
    #[serde(skip_serializing_if = "Option::is_none")]
    told: Option<Box<RawValue>>,
}

/// A start that was told in full; a recording tells only its arguments.
#[derive(Debug, Serialize, Deserialize)]
struct LaunchMeta {
    origin: jackfield_api::session::SessionOrigin,
    cli_session_id: Option<String>,
    claude_code_version: Option<String>,
    output_only: bool,
    #[serde(default, skip_serializing_if = "is_nothing")]
    spent: Spent,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    begins: Option<Place>,
}

fn is_nothing(spent: &Spent) -> bool {
    *spent == Spent::default()
}

#[derive(Debug, Serialize, Deserialize)]
struct FileMeta {
    tool_call_id: String,
    path: String,
    before: Option<String>,
    after: Option<String>,
}

impl Reader {
    /// The entries of a line: one as a rule, none for one that only has a time, and many for pieces of a text.
    pub fn read(&mut self, line: &str) -> Result<Vec<Entry>, ReadError> {
        #[derive(Deserialize)]
        struct Written<'a> {
            t: f64,
            dir: String,
            line: Option<String>,
            by: Option<String>,
            #[serde(default)]
            lossy: bool,
            #[serde(borrow)]
            words: Option<&'a RawValue>,
        }
        let came = |t, line| Entry { t, dir: "out".to_owned(), line, by: None, lossy: false };
        if begins_as_it_came(line) {
            let t = self.came.ok_or(ReadError::NoTime)?;
            return Ok(vec![came(t, line.to_owned())]);
        }
        let Written { t, dir, line: text, by, lossy, words } = serde_json::from_str(line)?;
        match text {
            Some(line) => Ok(vec![Entry { t, dir, line, by, lossy }]),
            None if dir != "out" => Err(ReadError::NoLine),
            None if words.is_some() => {
                let pieces: series::Written<'_> = serde_json::from_str(line)?;
                let lines = pieces.lines().ok_or(ReadError::NoPieces)?;
                Ok(lines.into_iter().map(|line| came(t, line)).collect())
            }
            None => {
                self.came = Some(t);
                Ok(Vec::new())
            }
        }
    }
}

impl Entry {
    /// Reads one line that needs none before it.
    pub fn read(line: &str) -> Result<Self, ReadError> {
        Reader::default().read(line)?.into_iter().next().ok_or(ReadError::NoLine)
    }

    /// Appends the journal's line for an input, with its newline; nothing for what is not journaled.
    pub fn write(at: Timestamp, input: &Input<'_>, out: &mut Vec<u8>) {
        if let Some(entry) = Self::of(at, input) {
            // Only a map with keys that are no strings can fail, and there is none.
            let _ = serde_json::to_writer(&mut *out, &entry);
            out.push(b'\n');
        }
    }

    /// The journal's line for an input; None for what is not journaled, because no event comes from it.
    pub fn of(at: Timestamp, input: &Input<'_>) -> Option<Self> {
        let (mut by, mut lossy) = (None, false);
        let (dir, line) = match input {
            Input::Line(line) => {
                lossy = line.repaired;
                ("out", line.text.clone().into_owned())
            }
            Input::Sent(wire::OutboundMessage::Known(message), who) => {
                by = who.word();
                ("in", message.encode())
            }
            Input::Stderr(line) => ("err", line.clone()),
            input => ("meta", serde_json::to_string(&Meta::of(input)?).ok()?),
        };
        #[expect(clippy::cast_precision_loss, reason = "milliseconds since 1970 fit")]
        Some(Self { t: at.0 as f64 / 1000.0, dir: dir.to_owned(), line, by, lossy })
    }

    /// When it happened.
    pub fn at(&self) -> Timestamp {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "saturates, and NaN is 0"
        )]
        Timestamp((self.t * 1000.0).round() as u64)
    }

    /// What it is to a session; None for what concerns somebody else (an editor's wire, a screen, a note).
    pub fn input(&self) -> Option<Input<'_>> {
        match self.dir.as_str() {
            "out" => {
                let mut line = wire::decode(self.line.as_bytes());
                line.repaired |= self.lossy;
                Some(Input::Line(line))
            }
            "in" => {
                let message = wire::Outbound::decode(self.line.as_bytes()).message;
                Some(Input::Sent(message, By::read(self.by.as_deref())))
            }
            "err" => Some(Input::Stderr(self.line.clone())),
            "meta" => serde_json::from_str::<Meta>(&self.line).ok()?.input(),
            _ => None,
        }
    }
}

/// Whether a line of the CLI may stand in a journal as it came.
pub fn may_stand(line: &wire::Decoded<'_>) -> bool {
    // What is no JSON would make the journal none.
    !line.repaired && begins_as_it_came(&line.text) && !matches!(line.message, wire::Inbound::Malformed(_))
}

fn begins_as_it_came(line: &str) -> bool {
    line.as_bytes().first_chunk() == Some(AS_IT_CAME)
}

/// Appends the time of lines that stand behind it as they came, as a line.
pub fn write_time(at: Timestamp, out: &mut Vec<u8>) {
    write_seconds(at, out);
    out.extend_from_slice(b",\"dir\":\"out\"}\n");
}

/// Appends the beginning of a line, up to its time.
fn write_seconds(at: Timestamp, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"t\":");
    // A number cannot fail, nor can a vector that grows.
    let _ = serde_json::to_writer(&mut *out, &(at.0 / 1000));
    let digit = |of: u64| b'0' + u8::try_from(at.0 / of % 10).unwrap_or_default();
    out.extend_from_slice(&[b'.', digit(100), digit(10), digit(1)]);
}

impl Meta {
    fn of(input: &Input<'_>) -> Option<Self> {
        let mut meta = Self::default();
        match input {
            Input::Started(launch) => {
                meta.spawn = Some(1);
                meta.launch = Some(LaunchMeta {
                    origin: launch.origin,
                    cli_session_id: launch.cli_session_id.clone(),
                    claude_code_version: launch.claude_code_version.clone(),
                    output_only: launch.input_seen == crate::input::InputSeen::OutputOnly,
                    spent: launch.spent.clone(),
                    begins: launch.begins.clone(),
                });
            }
            Input::LongLine { length } => meta.long_line = Some(*length),
            Input::Unreadable { reason, text } => meta.unreadable = Some((reason.clone(), text.clone())),
            Input::StdinClosed => meta.stdin = Some("closed".to_owned()),
            Input::Signalled(Signal::Terminate) => meta.signal = Some("SIGTERM".to_owned()),
            Input::Signalled(Signal::Kill) => meta.signal = Some("SIGKILL".to_owned()),
            Input::Exited(Exit::Code(code)) => meta.exit = Some(*code),
            Input::Exited(Exit::Signal(signal)) => meta.exit = Some(signal.saturating_neg()),
            Input::Exited(Exit::NotStarted(why)) => meta.not_started = Some(why.clone()),
            Input::Exited(Exit::OutputEnded) => meta.output_ended = true,
            Input::Timeout => meta.timeout = true,
            Input::Notice(level, text) => meta.notice = Some((*level, text.clone())),
            Input::Told(event) => {
                let mut line = Vec::new();
                codec::encode(event, &mut line);
                meta.told = Some(RawValue::from_string(String::from_utf8(line).ok()?).ok()?);
            }
            Input::File(change) => {
                meta.file = Some(FileMeta {
                    tool_call_id: change.tool_call_id.as_str().to_owned(),
                    path: change.path.clone(),
                    before: change.before.clone(),
                    after: change.after.clone(),
                });
            }
            Input::Line(_)
            | Input::Sent(..)
            | Input::Command(..)
            | Input::Request(..)
            | Input::Called(..)
            | Input::Stderr(_) => {
                return None;
            }
        }
        Some(meta)
    }

    fn input(self) -> Option<Input<'static>> {
        if self.spawn.is_some() {
            let mut launch = Launch::from_arguments(&self.args);
            if let Some(told) = self.launch {
                launch.origin = told.origin;
                launch.spent = told.spent;
                launch.begins = told.begins;
                launch.cli_session_id = told.cli_session_id;
                launch.claude_code_version = told.claude_code_version;
                if told.output_only {
                    launch.input_seen = crate::input::InputSeen::OutputOnly;
                }
            }
            return Some(Input::Started(launch));
        }
        if let Some(code) = self.exit {
            let exit = if code < 0 { Exit::Signal(code.saturating_neg()) } else { Exit::Code(code) };
            return Some(Input::Exited(exit));
        }
        if let Some(why) = self.not_started {
            return Some(Input::Exited(Exit::NotStarted(why)));
        }
        if self.output_ended {
            return Some(Input::Exited(Exit::OutputEnded));
        }
        if let Some(length) = self.long_line {
            return Some(Input::LongLine { length });
        }
        if let Some((reason, text)) = self.unreadable {
            return Some(Input::Unreadable { reason, text });
        }
        if self.stdin.as_deref() == Some("closed") {
            return Some(Input::StdinClosed);
        }
        if let Some(signal) = self.signal {
            let signal = if signal == "SIGKILL" { Signal::Kill } else { Signal::Terminate };
            return Some(Input::Signalled(signal));
        }
        if let Some(file) = self.file {
            return Some(Input::File(FileChange {
                tool_call_id: ToolCallId::from(file.tool_call_id),
                path: file.path,
                before: file.before,
                after: file.after,
            }));
        }
        if let Some((level, text)) = self.notice {
            return Some(Input::Notice(level, text));
        }
        if let Some(told) = self.told {
            return codec::decode(told.get()).ok().map(|event| Input::Told(Box::new(event)));
        }
        self.timeout.then_some(Input::Timeout)
    }
}

/// Plays a journal through a session.
#[derive(Debug)]
pub struct Player {
    session: Session,
    /// How the first process was started, if the journal does not say it.
    first: Option<Launch>,
    at: Timestamp,
}

impl Player {
    /// A player for a journal whose first process was started like this. Where the journal says that a machine begins, the
    /// session goes on with that place's name and numbers.
    pub fn new(session: Session, first: Launch) -> Self {
        Self { session, first: Some(first), at: Timestamp(0) }
    }

    /// Plays one entry.
    pub fn play(&mut self, entry: &Entry) {
        let Some(input) = entry.input() else { return };
        self.at = entry.at();
        // A word of the shell's own is no sign of a process.
        if !matches!(input, Input::Notice(..) | Input::Told(_))
            && let Some(first) = self.first.take()
            && !matches!(input, Input::Started(_))
        {
            self.session.handle(self.at, Input::Started(first));
        }
        self.session.handle(self.at, input);
    }

    /// Tells a line that is no entry. It changes nothing else.
    pub fn unreadable(&mut self, reason: String, text: String) {
        self.session.handle(self.at, Input::Unreadable { reason, text });
    }

    /// The session, to poll.
    pub fn session(&mut self) -> &mut Session {
        &mut self.session
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn decoded(line: &str) -> wire::Decoded<'_> {
        wire::decode(line.as_bytes())
    }

    #[test]
    fn a_line_that_stands_as_it_came_is_the_entry_that_says_the_same() {
        let mut reader = Reader::default();
        for at in [0, 7, 42, 999, 1000, 1001, 12_345, 1_794_787_539_008] {
            let mut time = Vec::new();
            write_time(Timestamp(at), &mut time);
            let time = String::from_utf8(time).unwrap();
            assert_eq!(time, format!("{{\"t\":{}.{:03},\"dir\":\"out\"}}\n", at / 1000, at % 1000));
            assert_eq!(reader.read(time.trim_end()).unwrap(), []);
            for line in [r#"{"type":"keep_alive"}"#, "{\"type\":\"of a newer CLI\"}\r"] {
                assert!(may_stand(&decoded(line)));
                let read = reader.read(line).unwrap();
                assert_eq!(read, Vec::from_iter(Entry::of(Timestamp(at), &Input::Line(decoded(line)))));
            }
        }
    }

    #[test]
    fn a_time_is_written_also_where_it_is_most() {
        let mut text = Vec::new();
        write_time(Timestamp(u64::MAX), &mut text);
        assert_eq!(text, b"{\"t\":18446744073709551.615,\"dir\":\"out\"}\n");
    }

    #[test]
    fn what_could_be_taken_for_something_else_does_not_stand_as_it_came() {
        for line in [
            "",
            " ",
            "no JSON",
            r#"{"t":1.000,"dir":"out"}"#,
            r#"{"uuid":"1","type":"keep_alive"}"#,
            r#" {"type":"keep_alive"}"#,
            r#"{"type":"keep_alive""#,
            r#"{"type":"user","a":"\ud800"}"#,
        ] {
            assert!(!may_stand(&decoded(line)), "{line}");
        }
    }

    #[test]
    fn what_is_no_line_of_a_journal_says_why() {
        let read = |line: &str| Entry::read(line).unwrap_err().to_string();
        assert_eq!(read(r#"{"type":"keep_alive"}"#), "a line of the CLI without its time");
        assert_eq!(read(r#"{"t":1,"dir":"out"}"#), "missing field `line`");
        assert_eq!(read(r#"{"t":1,"dir":"in"}"#), "missing field `line`");
        assert!(read("{}").starts_with("missing field `t`"));
        let pieces = |more: &str| read(&format!(r#"{{"t":1,"dir":"out","words":["a"]{more}}}"#));
        assert!(pieces("").starts_with("missing field `index`"));
        let with = |kind: &str, uuids: &str| {
            pieces(&format!(r#","index":0,"delta":"{kind}","session_id":"s","more":{{}},"uuids":{uuids}"#))
        };
        assert_eq!(with("text_delta", "[]"), "pieces of a text that are not whole");
        assert_eq!(with("other_delta", r#"["u"]"#), "pieces of a text that are not whole");
    }
}
