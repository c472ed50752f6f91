//! What one line of the CLI's output can be.
//!
//! Types only; `decode` makes them. The rule: the list is closed, and its last three members
//! take whatever does not fit.

use std::borrow::Cow;

use crate::control::{ControlCancelRequest, ControlRequest, ControlResponse};
use crate::ids::RequestId;
use crate::message::{Assistant, User};
use crate::notices::{
    ActiveGoal, AuthStatus, AutocompactState, CommandLifecycle, ConversationReset, KeepAlive,
    PromptSuggestion, RateLimitEvent, ToolProgress, ToolUseSummary, TranscriptMirror,
};
use crate::result::ResultMessage;
use crate::stream_event::StreamEvent;
use crate::system::System;

/// A line and what it says.
#[derive(Debug, Clone, PartialEq)]
pub struct Decoded<'a> {
    /// The line as it came; with replacement characters where it was not UTF-8.
    pub text: Cow<'a, str>,
    /// Whether the line could only be read after replacing what is not text: bytes that are not
    /// UTF-8, or escapes of lone surrogates.
    pub repaired: bool,
    /// What it says.
    pub message: Inbound<'a>,
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
            message: self.message.into_owned(),
        }
    }
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
