//! What one line of the CLI's output can be.
//!
//! Types only; `decode` makes them. The rule: the list is closed, and its last three members
//! take whatever does not fit.

use std::borrow::Cow;
use std::ops::Range;

use crate::control::{ControlCancelRequest, ControlRequest, ControlResponse};
use crate::ids::RequestId;
use crate::message::{Assistant, User};
use crate::notices::{
    ActiveGoal, AuthStatus, AutocompactState, CommandLifecycle, ConversationReset, KeepAlive,
    PromptSuggestion, RateLimitEvent, ToolProgress, ToolUseSummary, TranscriptMirror,
};
use crate::result::ResultMessage;
use crate::stream_event::{ApiEvent, StreamEvent};
use crate::system::System;

/// A line and what it says.
#[derive(Debug, Clone, PartialEq)]
pub struct Decoded<'a> {
    /// The line as it came; with replacement characters where it was not UTF-8.
    pub text: Cow<'a, str>,
    /// Whether the line could only be read after replacing what is not text: bytes that are not
    /// UTF-8, or escapes of lone surrogates.
    pub repaired: bool,
    /// What is known of how it is written.
    pub form: Form,
    /// What it says.
    pub message: Inbound<'a>,
}

/// What is known of how a line is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Nothing.
    Any,
    /// A piece of the API's stream as the CLI usually writes it, with members behind it that are not in all of them.
    Usual,
    /// The same without such members: the message has everything that is in the line but words of the protocol.
    Whole,
}

/// One message of the CLI.
#[derive(Debug, Clone, PartialEq)]
pub enum Inbound<'a> {
    /// A piece of the API's stream.
    StreamEvent(StreamEvent<'a>),
    /// A block the model (or the CLI) wrote.
    Assistant(Box<Assistant>),
    /// Tool results, replays, synthetic texts.
    User(Box<User>),
    /// The end of a turn.
    Result(Box<ResultMessage>),
    /// Everything of type `system`.
    System(System),
    /// The CLI asks the host.
    ControlRequest(Box<ControlRequest>),
    /// The CLI answers the host (or echoes the host's answer, with replay on).
    ControlResponse(Box<ControlResponse>),
    /// The CLI withdraws one of its requests.
    ControlCancelRequest(ControlCancelRequest),
    /// A subscription's limits.
    RateLimitEvent(Box<RateLimitEvent>),
    /// A tool is still running.
    ToolProgress(Box<ToolProgress>),
    /// A summary of some tool calls.
    ToolUseSummary(Box<ToolUseSummary>),
    /// The CLI is logging in.
    AuthStatus(Box<AuthStatus>),
    /// What the user might say next.
    PromptSuggestion(Box<PromptSuggestion>),
    /// The conversation starts anew.
    ConversationReset(Box<ConversationReset>),
    /// What became of a user message.
    CommandLifecycle(Box<CommandLifecycle>),
    /// Nothing; the CLI is alive.
    KeepAlive(KeepAlive),
    /// Lines of the transcript file, mirrored.
    TranscriptMirror(Box<TranscriptMirror>),
    /// The goal being worked on.
    ActiveGoal(Box<ActiveGoal>),
    /// How near automatic compaction is.
    AutocompactState(Box<AutocompactState>),
    /// An empty line, or only white space.
    Blank,
    /// A message of a type this version does not know.
    Unknown(Unknown),
    /// What cannot be a message, or a known message whose body does not fit.
    Malformed(Malformed),
}

/// A message of a type this version does not know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unknown {
    /// Its type, with subtype where that decides: `banana`, `system/foo`, `control_request/foo`.
    pub tag: String,
    /// The request's id, when it is a control request: the CLI waits for an answer even so.
    pub request_id: RequestId,
}

/// A line that does not fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Malformed {
    /// Its type as far as it could be read, in the form of [`Unknown::tag`].
    pub tag: Option<String>,
    /// What did not fit.
    pub reason: String,
    /// The request's id, when it is a control request: the CLI waits for an answer even so.
    pub request_id: RequestId,
}

impl Inbound<'_> {
    /// The same message, free of its line.
    pub fn into_owned(self) -> Inbound<'static> {
        match self {
            Self::StreamEvent(event) => Inbound::StreamEvent(event.into_owned()),
            Self::Blank => Inbound::Blank,
            Self::Assistant(message) => Inbound::Assistant(message),
            Self::User(message) => Inbound::User(message),
            Self::Result(message) => Inbound::Result(message),
            Self::System(message) => Inbound::System(message),
            Self::ControlRequest(message) => Inbound::ControlRequest(message),
            Self::ControlResponse(message) => Inbound::ControlResponse(message),
            Self::ControlCancelRequest(message) => Inbound::ControlCancelRequest(message),
            Self::RateLimitEvent(message) => Inbound::RateLimitEvent(message),
            Self::ToolProgress(message) => Inbound::ToolProgress(message),
            Self::ToolUseSummary(message) => Inbound::ToolUseSummary(message),
            Self::AuthStatus(message) => Inbound::AuthStatus(message),
            Self::PromptSuggestion(message) => Inbound::PromptSuggestion(message),
            Self::ConversationReset(message) => Inbound::ConversationReset(message),
            Self::CommandLifecycle(message) => Inbound::CommandLifecycle(message),
            Self::KeepAlive(message) => Inbound::KeepAlive(message),
            Self::TranscriptMirror(message) => Inbound::TranscriptMirror(message),
            Self::ActiveGoal(message) => Inbound::ActiveGoal(message),
            Self::AutocompactState(message) => Inbound::AutocompactState(message),
            Self::Unknown(message) => Inbound::Unknown(message),
            Self::Malformed(message) => Inbound::Malformed(message),
        }
    }
}

impl Decoded<'_> {
    /// The same, free of the bytes it came from.
    pub fn into_owned(self) -> Decoded<'static> {
        Decoded {
            text: Cow::Owned(self.text.into_owned()),
            repaired: self.repaired,
            form: self.form,
            message: self.message.into_owned(),
        }
    }

    /// Where in the line that stands which somebody said: all that can differ from line to line but numbers and names that
    /// look like UUIDs. Mostly it is all of it. Who looks for something in there need not look at the rest.
    pub fn said(&self) -> Range<usize> {
        let all = 0..self.text.len();
        let (Form::Whole, Inbound::StreamEvent(event)) = (self.form, &self.message) else { return all };
        let names = [&event.session_id, &event.parent_tool_use_id, &event.uuid];
        if names.into_iter().flatten().any(|name| !looks_like_uuid(name)) {
            return all;
        }
        if let ApiEvent::ContentBlockDelta { .. } = &event.event {
            return self.piece().map_or(all, |piece| {
                let from = piece.words.as_ptr().addr() - self.text.as_ptr().addr();
                from..from + piece.words.len()
            });
        }
        0..0
    }
}

/// Whether a name has the form of a UUID, as far as its length and its hyphens tell.
pub(crate) fn looks_like_uuid(name: &str) -> bool {
    let letters: Option<&[u8; 36]> = name.as_bytes().try_into().ok();
    // All four at once: it is asked twice for nearly every line.
    letters.is_some_and(|all| {
        all[8] & all[13] & all[18] & all[23] == b'-' && all[8] | all[13] | all[18] | all[23] == b'-'
    })
}

impl Malformed {
    /// What stands for a line over the limit, whose bytes are gone.
    pub fn too_long(length: u64) -> Self {
        Self {
            tag: None,
            reason: format!("a line of {length} bytes, over the limit"),
            request_id: RequestId::Missing,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::decode;

    fn said(line: &str) -> &str {
        &line[decode(line.as_bytes()).said()]
    }

    fn delta(kind: &str, member: &str, text: &str, tail: &str) -> String {
        format!(
            r#"{{"type":"stream_event","event":{{"type":"content_block_delta","index":12,"delta":{{"type":"{kind}","{member}":"{text}"}}}}{tail}}}"#
        )
    }

    #[test]
    fn of_a_delta_in_its_usual_form_its_words_are_said() {
        let uuid = "8f14e45f-ceea-467f-9b3a-000000000001";
        let tail = format!(r#","session_id":"{uuid}","parent_tool_use_id":null,"uuid":"{uuid}""#);
        for (kind, member) in [
            ("text_delta", "text"),
            ("thinking_delta", "thinking"),
            ("input_json_delta", "partial_json"),
            ("signature_delta", "signature"),
        ] {
            for words in ["words", "", r"a\u0062\n"] {
                assert_eq!(said(&delta(kind, member, words, &tail)), format!("\"{words}\""));
            }
        }
        let stop = format!(r#"{{"type":"stream_event","event":{{"type":"message_stop"}}{tail}}}"#);
        assert_eq!(said(&stop), "");
    }

    #[test]
    fn of_every_other_line_everything_is_said() {
        let uuid = "8f14e45f-ceea-467f-9b3a-000000000001";
        let names = |session: &str, parent: &str, uuid: &str| {
            format!(r#","session_id":"{session}","parent_tool_use_id":{parent},"uuid":"{uuid}""#)
        };
        for line in [
            delta("text_delta", "text", "words", &names(&format!("{uuid}-"), "null", uuid)),
            delta("text_delta", "text", "words", &names(uuid, "\"toolu\"", uuid)),
            delta("text_delta", "text", "words", &names(uuid, "null", &"x".repeat(36))),
            delta("text_delta", "text", "words", r#","something_new":"value""#),
            delta("text_delta", "text", "words", r#","api_message_id":"value""#),
            delta("delta_of_tomorrow", "text", "words", ""),
            delta("text_delta", "text", "words", " "),
            r#"{"type":"stream_event","event":{"type":"ping"},"uuid":"1"}"#.to_owned(),
            r#"{"type":"assistant","message":"no message"}"#.to_owned(),
            "no JSON".to_owned(),
        ] {
            assert_eq!(said(&line), line);
        }
    }
}
