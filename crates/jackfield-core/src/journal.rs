//! The journal: lines in both directions, standard error, starts, exits, time-outs and the shell's own notices,
//! with their times.
//!
//! One JSON object per line, `{"t": seconds, "dir": "in" | "out" | "err" | "meta", "line": text}`, `in` being
//! from the host to the CLI. A recording has the same form. A line that is JSON itself may stand there as it is,
//! as the last member and named `json`, so that nobody has to look at it letter by letter. This module turns inputs
//! into such lines and back; it reads and writes no file. The one rule: every input that can lead to an event has a
//! line, and the line gives the same events again.

use jackfield_api::trouble::NoticeLevel;
use jackfield_api::{Timestamp, ToolCallId};
use jackfield_wire as wire;
use serde::{Deserialize, Serialize};

use crate::gauge::Spent;
use crate::input::{By, Exit, FileChange, Input, Launch, Signal};
use crate::session::Session;

/// One line of a journal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// Seconds since the journal's beginning, or since 1970.
    pub t: f64,
    /// What kind of line it is.
    pub dir: String,
    /// The line as it was, without its newline.
    pub line: String,
    /// Who caused it, for `in`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// The line was not valid Unicode, and what could not be read was replaced, for `out`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lossy: bool,
}

/// How a line begins that stands in the journal as it is.
const JSON: &str = ",\"json\":";

/// How such a line begins up to there. Many come in the same moment, and have the same.
#[derive(Debug, Default)]
pub struct LineHead {
    at: Timestamp,
    text: Vec<u8>,
}

impl LineHead {
    fn of(&mut self, at: Timestamp) -> &[u8] {
        if self.at != at || self.text.is_empty() {
            self.at = at;
            self.text.clear();
            self.text.extend_from_slice(b"{\"t\":");
            write_seconds(at, &mut self.text);
            self.text.extend_from_slice(b",\"dir\":\"out\"");
            self.text.extend_from_slice(JSON.as_bytes());
        }
        &self.text
    }
}

/// What stands before such a line.
#[derive(Deserialize)]
struct Head {
    t: f64,
    dir: String,
    #[serde(default)]
    lossy: bool,
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

impl Entry {
    /// Reads one line of a journal.
    pub fn read(line: &str) -> Result<Self, serde_json::Error> {
        // Inside of a string the quotation marks would have backslashes.
        if let Some((head, json)) = line.split_once(JSON)
            && let Some(json) = json.trim_ascii_end().strip_suffix('}')
        {
            let Head { t, dir, lossy } = serde_json::from_str(&format!("{head}}}"))?;
            return Ok(Self { t, dir, line: json.to_owned(), by: None, lossy });
        }
        serde_json::from_str(line)
    }

    /// Appends the journal's line for an input, with its newline; nothing for what is not journaled. The head is the
    /// one of the line before.
    pub fn write(at: Timestamp, input: &Input<'_>, head: &mut LineHead, out: &mut Vec<u8>) {
        // Nearly all of a journal is this, so it is copied and not looked at.
        if let Input::Line(line) = input
            && !line.repaired
            && !matches!(line.message, wire::Inbound::Malformed(_) | wire::Inbound::Blank)
            && !has_newline(line.text.as_bytes())
        {
            let head = head.of(at);
            out.reserve(head.len() + line.text.len() + 2);
            out.extend_from_slice(head);
            out.extend_from_slice(line.text.as_bytes());
            out.extend_from_slice(b"}\n");
        } else if let Some(entry) = Self::of(at, input) {
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

/// Whether a line has a newline in it. Written so that many letters are looked at in one step.
fn has_newline(line: &[u8]) -> bool {
    line.iter().fold(0, |found, &byte| found | u8::from(byte == b'\n')) != 0
}

/// Seconds with their thousandths.
fn write_seconds(at: Timestamp, out: &mut Vec<u8>) {
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
                    spent: launch.spent,
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
    /// A player for a journal whose first process was started like this.
    pub fn new(session: Session, first: Launch) -> Self {
        Self { session, first: Some(first), at: Timestamp(0) }
    }

    /// Plays one entry.
    pub fn play(&mut self, entry: &Entry) {
        let Some(input) = entry.input() else { return };
        self.at = entry.at();
        // A word of the shell's own is no sign of a process.
        if !matches!(input, Input::Notice(..))
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
    use super::*;

    #[test]
    fn a_line_that_stands_as_it_is_is_read_as_it_was_written() {
        let mut head = LineHead::default();
        for at in [0, 0, 7, 42, 999, 1000, 1001, 1001, 12_345, 1_794_787_539_008] {
            let text = r#"{"type":"keep_alive"}"#;
            let input = Input::Line(wire::decode(text.as_bytes()));
            let mut line = Vec::new();
            Entry::write(Timestamp(at), &input, &mut head, &mut line);
            let line = String::from_utf8_lossy(&line);
            let begin = format!("{{\"t\":{}.{:03},", at / 1000, at % 1000);
            assert!(line.starts_with(&begin) && line.ends_with("}\n"), "{line}");
            let read = Entry::read(line.trim_end());
            assert_eq!(read.ok(), Entry::of(Timestamp(at), &input));
        }
    }

    #[test]
    fn seconds_are_written_also_where_they_are_most() {
        let mut text = Vec::new();
        write_seconds(Timestamp(u64::MAX), &mut text);
        assert_eq!(text, b"18446744073709551.615");
        assert!(has_newline(b"a\nb") && !has_newline(b"ab") && !has_newline(b""));
    }
}
