//! Standard output: the CLI's lines and their envelopes.
//!
//! The one rule: lines leave in the order in which they were made, whole, and all of them before anything is
//! waited for.

use std::collections::hash_map::RandomState;
use std::fmt::Write as _;
use std::hash::{BuildHasher, Hasher};
use std::io::{self, Write as _};

use serde::Serialize;
use serde_json::Value;

/// Written out when it is this full, and whenever something is waited for.
const FULL: usize = 64 * 1024;

/// Standard output.
pub(super) struct Output {
    to: io::StdoutLock<'static>,
    buffer: String,
    session_id: String,
    /// What all uuids of this process begin with.
    prefix: String,
    count: u64,
}

/// A piece of a block: the kind of its delta, the delta's field, the text.
#[derive(Debug, Clone, Copy)]
pub(super) struct Piece<'a>(pub(super) &'static str, pub(super) &'static str, pub(super) &'a str);

impl Output {
    pub(super) fn new(session_id: String) -> Self {
        let prefix = new_uuid()[..24].to_owned();
        Self {
            to: io::stdout().lock(),
            buffer: String::with_capacity(2 * FULL),
            session_id,
            prefix,
            count: 0,
        }
    }

    pub(super) fn session_id(&self) -> &str {
        &self.session_id
    }

    /// A new id.
    pub(super) fn uuid(&mut self) -> String {
        self.count += 1;
        format!("{}{:012x}", self.prefix, self.count)
    }

    /// A new id for a message, a call or a task.
    pub(super) fn id(&mut self, kind: &str) -> String {
        self.count += 1;
        format!("{kind}{}{:08x}", &self.prefix[..8], self.count)
    }

    /// A line of type `system`.
    pub(super) fn system(&mut self, subtype: &str, fields: &Value) {
        let _ = write!(self.buffer, r#"{{"type":"system","subtype":"{subtype}""#);
        self.rest(fields);
    }

    /// A line of another type.
    pub(super) fn line(&mut self, kind: &str, fields: &Value) {
        let _ = write!(self.buffer, r#"{{"type":"{kind}""#);
        self.rest(fields);
    }

    /// A line of the control protocol, which has no envelope.
    pub(super) fn control(&mut self, kind: &str, fields: &Value) {
        let _ = write!(self.buffer, r#"{{"type":"{kind}""#);
        self.fields(fields);
        self.buffer.push_str("}\n");
    }

    /// A line as it is.
    pub(super) fn verbatim(&mut self, line: &str) {
        self.buffer.push_str(line);
        self.buffer.push('\n');
    }

    /// An event of the API.
    pub(super) fn stream_event(&mut self, message: &str, kind: &str, fields: &Value) {
        let _ = write!(self.buffer, r#"{{"type":"stream_event","event":{{"type":"{kind}""#);
        self.fields(fields);
        self.buffer.push('}');
        self.behind_event(message);
    }

    /// A piece of a block. This is the hot path.
    pub(super) fn delta(&mut self, message: &str, index: u64, Piece(kind, field, text): Piece<'_>) {
        let _ = write!(
            self.buffer,
            r#"{{"type":"stream_event","event":{{"type":"content_block_delta","index":{index},"delta":{{"type":"{kind}","{field}":"#
        );
        json(&mut self.buffer, text);
        self.buffer.push_str("}}");
        self.behind_event(message);
    }

    /// Whether it is time to write out even though nothing is waited for.
    pub(super) fn is_full(&self) -> bool {
        self.buffer.len() >= FULL
    }

    pub(super) fn flush(&mut self) -> io::Result<()> {
        self.to.write_all(self.buffer.as_bytes())?;
        self.buffer.clear();
        self.buffer.shrink_to(2 * FULL);
        self.to.flush()
    }

    fn behind_event(&mut self, message: &str) {
        self.count += 1;
        let _ = writeln!(
            self.buffer,
            r#","session_id":"{}","parent_tool_use_id":null,"uuid":"{}{:012x}","api_message_id":"{message}"}}"#,
            self.session_id, self.prefix, self.count
        );
    }

    fn rest(&mut self, fields: &Value) {
        self.fields(fields);
        self.envelope();
    }

    fn fields(&mut self, fields: &Value) {
        for (name, value) in fields.as_object().into_iter().flatten() {
            let _ = write!(self.buffer, r#","{name}":"#);
            json(&mut self.buffer, value);
        }
    }

    fn envelope(&mut self) {
        self.count += 1;
        let _ = writeln!(
            self.buffer,
            r#","session_id":"{}","uuid":"{}{:012x}"}}"#,
            self.session_id, self.prefix, self.count
        );
    }
}

/// A random id.
pub(super) fn new_uuid() -> String {
    let random = || RandomState::new().build_hasher().finish();
    let (high, low) = (random(), random());
    format!(
        "{:08x}-{:04x}-4{:03x}-8{:03x}-{:012x}",
        high >> 32,
        high & 0xffff,
        (high >> 16) & 0xfff,
        low >> 52,
        low & 0xffff_ffff_ffff
    )
}

/// Texts, and values made of them, are always written.
fn json<T: Serialize + ?Sized>(buffer: &mut String, value: &T) {
    buffer.push_str(&serde_json::to_string(value).unwrap_or_default());
}
