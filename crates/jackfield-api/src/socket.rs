//! What goes over a client's WebSocket, one JSON object per message.
//!
//! A client says hello, subscribes to any number of sessions and gives commands; the server sends events in
//! batches, snapshots, answers, and the list of sessions as it changes. The one rule it keeps: a reader is
//! never left to guess. It gets every event behind its cursor, or it is told of the gap and gets a snapshot.

use serde::{Deserialize, Serialize};

use crate::command::{Command, Rejection, Reply};
use crate::editor::EditorState;
use crate::event::Event;
use crate::host::SessionSummary;
use crate::id::{Seq, SessionId};
use crate::snapshot::Snapshot;
use crate::speech::{CancelDictation, Dictation, StartDictation, StopDictation};
use crate::tagged::by_tag;

macro_rules! frames {
    ($(#[doc = $about:literal])+ $name:ident { $($text:literal => #[doc = $doc:literal] $variant:ident($held:ty)),+ $(,)? }) => {
        $(#[doc = $about])+
        #[derive(Debug, Clone, PartialEq, Serialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
        #[serde(tag = "type")]
        pub enum $name {
            $(#[doc = $doc] #[serde(rename = $text)] $variant($held)),+
        }
        by_tag!($name, "type", { $($text => $variant),+ });
    };
}

frames! {
    /// What a client sends.
    ClientFrame {
        "hello" => #[doc = "Who it is; the first frame of a connection."] Hello(ClientHello),
        "subscribe" => #[doc = "Asks for a session's events."] Subscribe(Subscribe),
        "unsubscribe" => #[doc = "Asks for no more of them."] Unsubscribe(Unsubscribe),
        "watch" => #[doc = "Asks for the list of sessions, now and as it changes."] Watch(Watch),
        "command" => #[doc = "Gives a command."] Command(Box<GivenCommand>),
        "dictation_start" => #[doc = "Begins a dictation; binary messages that follow are its sound."] StartDictation(StartDictation),
        "dictation_stop" => #[doc = "All was said: the text is wanted."] StopDictation(StopDictation),
        "dictation_cancel" => #[doc = "The text is not wanted any more."] CancelDictation(CancelDictation),
    }
}

frames! {
    /// What the server sends.
    ServerFrame {
        "hello" => #[doc = "Who it is, and what it can do."] Hello(ServerHello),
        "snapshot" => #[doc = "A session as it stands; events follow."] Snapshot(Box<SentSnapshot>),
        "events" => #[doc = "Events of one session, in order, without a hole."] Events(SentEvents),
        "gap" => #[doc = "Events that will not be sent; a snapshot follows."] Gap(SentGap),
        "current" => #[doc = "The client has all there is; what follows is new."] Current(Current),
        "unsubscribed" => #[doc = "No more events of this session will come."] Unsubscribed(Unsubscribed),
        "sessions" => #[doc = "Sessions as they stand now."] Sessions(SentSessions),
        "editor" => #[doc = "The host as an editor, as it stands now; for who watches, where the host is one."] Editor(EditorState),
        "dictation" => #[doc = "How a dictation goes on; only for the connection that began it."] Dictation(Dictation),
        "accepted" => #[doc = "A command was done."] Accepted(Box<Accepted>),
        "rejected" => #[doc = "A command was not done."] Rejected(Rejected),
        "refused" => #[doc = "A frame was not understood; the connection goes on."] Refused(RefusedFrame),
    }
}

/// Who the client is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[derive(Eq)]
pub struct ClientHello {
    /// The version of the contract that it speaks: [`VERSION`](crate::VERSION).
    pub version: u32,
    /// A name for people: who answered a question is told by it. At most 80 characters.
    pub client: String,
    /// The key that came with the login, for a browser; others leave it out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}

/// Asks for a session's events.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[derive(Eq)]
pub struct Subscribe {
    /// The session.
    pub session_id: SessionId,
    /// The last event that the client has. Without it the client gets a snapshot first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Seq>,
}

/// Asks for no more of a session's events.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[derive(Eq)]
pub struct Unsubscribe {
    /// The session.
    pub session_id: SessionId,
}

/// Asks for the list of sessions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[derive(Eq, Default)]
pub struct Watch {}

/// A command on its way.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct GivenCommand {
    /// The command's name, chosen by the client, new for every command. A repeated one is answered the same and
    /// done once. At most 128 characters.
    pub id: String,
    /// The session that it is for; none for `create_session` and `import`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    /// What is asked.
    pub command: Command,
    /// The place in a trace that a prompt's turn is to be a part of, as the W3C's `traceparent` writes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traceparent: Option<String>,
    /// What others noted beside it, as the W3C's `tracestate` writes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tracestate: Option<String>,
}

/// Who the server is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[derive(Eq)]
pub struct ServerHello {
    /// The version of the contract that it speaks.
    pub version: u32,
    /// The program's version.
    pub server_version: String,
    /// The host; the same over restarts. A client whose cursors are of another host begins anew.
    pub host_id: String,
    /// What the client may do.
    pub scope: Scope,
    /// What this server can do beyond the first version of the contract.
    pub capabilities: Vec<String>,
}

/// What a client may do. The server decides it; each includes the ones before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// Look.
    View,
    /// Answer questions, prompt, interrupt.
    Answer,
    /// Everything.
    Admin,
}

/// A session as it stands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct SentSnapshot {
    /// The session.
    pub session_id: SessionId,
    /// Its transcript; of the items only the last ones.
    pub snapshot: Snapshot,
    /// Whether there are earlier items, to be had by `GET /api/sessions/{id}/items?before=…`.
    pub earlier: bool,
}

/// Events of one session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct SentEvents {
    /// The session.
    pub session_id: SessionId,
    /// The events; at least one.
    pub events: Vec<Event>,
}

/// Events that will not be sent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[derive(Eq)]
pub struct SentGap {
    /// The session.
    pub session_id: SessionId,
    /// The first one that is left out.
    pub from: Seq,
    /// The last one.
    pub to: Seq,
}

/// The client has all there is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[derive(Eq)]
pub struct Current {
    /// The session.
    pub session_id: SessionId,
    /// Its last event.
    pub seq: Seq,
}

/// No more events of this session will come.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[derive(Eq)]
pub struct Unsubscribed {
    /// The session.
    pub session_id: SessionId,
    /// Why, if the client did not ask for it: there is no such session, or it was deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Sessions as they stand now. Those that are not named have not changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct SentSessions {
    /// New and changed ones.
    pub sessions: Vec<SessionSummary>,
    /// Deleted ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deleted: Vec<SessionId>,
}

/// A command was done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct Accepted {
    /// The command.
    pub id: String,
    /// What it brought.
    pub reply: Reply,
}

/// A command was not done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct Rejected {
    /// The command.
    pub id: String,
    /// Why.
    pub rejection: Rejection,
}

/// A frame was not understood.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[derive(Eq)]
pub struct RefusedFrame {
    /// Why.
    pub reason: String,
}
