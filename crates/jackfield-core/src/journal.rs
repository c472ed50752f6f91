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
use jackfield_wire::{ApiEvent, Decoded, Delta, StreamEvent};
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

/// What the line before had, when lines are written one behind the other: nearly all of a line is said in the one
/// before it.
#[derive(Debug, Default)]
pub struct LineBefore {
    at: Timestamp,
    /// How it began, up to what stands there as it is. Many come in the same moment, and have the same.
    head: Vec<u8>,
    /// The last one that was a piece of a text.
    piece: Option<Around>,
}

/// What is around the piece in a line that is a piece of a text: before it, between it and the line's name, and behind
/// that; and how long the name is.
#[derive(Debug)]
struct Around {
    before: String,
    between: String,
    name: usize,
    behind: String,
}

impl LineBefore {
    fn head(&mut self, at: Timestamp) -> &[u8] {
        if self.at != at || self.head.is_empty() {
            self.at = at;
            self.head.clear();
            self.head.extend_from_slice(b"{\"t\":");
            write_seconds(at, &mut self.head);
            self.head.extend_from_slice(b",\"dir\":\"out\"");
            self.head.extend_from_slice(JSON.as_bytes());
        }
        &self.head
    }

    /// What is new in a line: a piece of a text and the line's name, if all around them is as it was the last time.
    fn new_in<'a>(&self, line: &'a str) -> Option<[&'a [u8]; 2]> {
        let Around { before, between, name, behind } = self.piece.as_ref()?;
        let rest = line.strip_prefix(before.as_str())?.strip_suffix(behind.as_str())?.as_bytes();
        let (rest, name) = rest.split_at(rest.len().checked_sub(*name)?);
        Some([rest.strip_suffix(between.as_bytes())?, name])
    }
}

impl Around {
    /// `None` for a line that is no piece of a text, and where the piece is not written as it is.
    fn of(line: &Decoded<'_>) -> Option<Self> {
        let wire::Inbound::StreamEvent(StreamEvent { event, uuid: Some(name), .. }) = &line.message else {
            return None;
        };
        let ApiEvent::ContentBlockDelta { delta, .. } = event else { return None };
        let piece = match delta {
            Delta::Citations(_) | Delta::Unknown { .. } => return None,
            Delta::Text(text) | Delta::Thinking(text) | Delta::InputJson(text) | Delta::Signature(text) => {
                text
            }
        };
        let (before, rest) = split(&line.text, piece)?;
        let (between, behind) = split(rest, name)?;
        let [before, between, behind] = [before, between, behind].map(str::to_owned);
        Some(Self { before, between, name: name.len(), behind })
    }
}

/// What stands before and behind a part of a text that was borrowed from it.
fn split<'a>(text: &'a str, part: &str) -> Option<(&'a str, &'a str)> {
    let from = part.as_ptr().addr().checked_sub(text.as_ptr().addr())?;
    let rest = text.get(from..)?.strip_prefix(part)?;
    Some((&text[..from], rest))
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

    /// Appends the journal's line for an input, with its newline; nothing for what is not journaled. What is said in
    /// it that was in no line before is appended to `new` too, in pieces with a newline behind each.
    pub fn write(
        at: Timestamp,
        input: &Input<'_>,
        before: &mut LineBefore,
        out: &mut Vec<u8>,
        new: &mut Vec<u8>,
    ) {
        // Nearly all of a journal is this, so it is copied and hardly looked at.
        if let Input::Line(line) = input
            && !line.repaired
            && !matches!(line.message, wire::Inbound::Malformed(_) | wire::Inbound::Blank)
            && let known = before.new_in(&line.text)
            && let pieces = known.unwrap_or([line.text.as_bytes(), &[]])
            && !pieces.into_iter().any(|piece| memchr::memchr(b'\n', piece).is_some())
        {
            let head = before.head(at);
            out.reserve(head.len() + line.text.len() + 2);
            out.extend_from_slice(head);
            out.extend_from_slice(line.text.as_bytes());
            out.extend_from_slice(b"}\n");
            for piece in pieces {
                new.extend_from_slice(piece);
                new.push(b'\n');
            }
            if known.is_none()
                && let Some(piece) = Around::of(line)
            {
                before.piece = Some(piece);
            }
        } else if let Some(entry) = Self::of(at, input) {
            let from = out.len();
            // Only a map with keys that are no strings can fail, and there is none.
            let _ = serde_json::to_writer(&mut *out, &entry);
            out.push(b'\n');
            new.extend_from_slice(&out[from..]);
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
        let mut before = LineBefore::default();
        for at in [0, 0, 7, 42, 999, 1000, 1001, 1001, 12_345, 1_794_787_539_008] {
            let text = r#"{"type":"keep_alive"}"#;
            let input = Input::Line(wire::decode(text.as_bytes()));
            let mut line = Vec::new();
            let mut new = Vec::new();
            Entry::write(Timestamp(at), &input, &mut before, &mut line, &mut new);
            assert_eq!(new, [text.as_bytes(), b"\n\n"].concat(), "it is no piece of a text");
            let line = String::from_utf8_lossy(&line);
            let begin = format!("{{\"t\":{}.{:03},", at / 1000, at % 1000);
            assert!(line.starts_with(&begin) && line.ends_with("}\n"), "{line}");
            let read = Entry::read(line.trim_end());
            assert_eq!(read.ok(), Entry::of(Timestamp(at), &input));
        }
    }

    #[test]
    fn of_pieces_of_a_text_only_the_piece_and_the_name_are_new() {
        let line = |kind: &str, text: &str, more: &str, uuid: &str| {
            format!(
                r#"{{"type":"stream_event","event":{{"type":"content_block_delta","index":0,"delta":{{"type":"{kind}_delta","{kind}":"{text}"}}}},"session_id":"s"{more},"uuid":"{uuid}"}}"#
            )
        };
        let mut before = LineBefore::default();
        let mut new_in = |line: &str| {
            let (mut out, mut new) = (Vec::new(), Vec::new());
            let input = Input::Line(wire::decode(line.as_bytes()));
            Entry::write(Timestamp(0), &input, &mut before, &mut out, &mut new);
            let read = Entry::read(String::from_utf8_lossy(&out).trim_end());
            assert_eq!(read.ok(), Entry::of(Timestamp(0), &input));
            let all = new == out || new == [line.as_bytes(), b"\n\n"].concat();
            (!all).then(|| String::from_utf8_lossy(&new).into_owned())
        };
        let whole = None;
        assert_eq!(new_in(&line("text", "one", "", "1")), whole, "nothing was before");
        assert_eq!(new_in(&line("text", "two", "", "2")).as_deref(), Some("two\n2\n"));
        assert_eq!(new_in(&line("text", "", "", "3")).as_deref(), Some("\n3\n"));
        assert_eq!(new_in(&line("text", "two", "", "22")), whole, "a longer name");
        assert_eq!(new_in(&line("text", "two", "", "1")), whole);
        assert_eq!(new_in(&line("text", "1", "", "1")).as_deref(), Some("1\n1\n"), "the same twice");
        assert_eq!(
            new_in(&line("text", r"a\nb", "", "3")).as_deref(),
            Some("a\\nb\n3\n"),
            "as it is written"
        );
        assert_eq!(new_in(&line("thinking", "a", "", "3")), whole, "another kind");
        assert_eq!(new_in(&line("thinking", "b", "", "4")).as_deref(), Some("b\n4\n"));
        assert_eq!(new_in(&line("thinking", "c", r#","x":"y""#, "5")), whole, "another member");
        assert_eq!(new_in(r#"{"type":"keep_alive"}"#), whole);
        assert_eq!(new_in(&line("thinking", "d", r#","x":"y""#, "6")).as_deref(), Some("d\n6\n"));
        assert_eq!(new_in(&line("thinking", "d", r#","x":"z""#, "6")), whole, "another value");
        assert_eq!(
            new_in(&line("thinking", "e", ",\n\"x\":1", "7")),
            whole,
            "two lines for a reader of lines"
        );
        assert_eq!(new_in(&line("thinking", "f", ",\n\"x\":1", "8")), whole, "and again");
    }

    #[test]
    fn seconds_are_written_also_where_they_are_most() {
        let mut text = Vec::new();
        write_seconds(Timestamp(u64::MAX), &mut text);
        assert_eq!(text, b"18446744073709551.615");
    }
}
