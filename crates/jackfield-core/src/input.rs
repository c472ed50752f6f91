//! Everything that can happen to a session, and everything it can want.
//!
//! What the shell does for the machine comes back as an input (`Write` as `Sent`, `CloseStdin` as
//! `StdinClosed`, `Signal` as `Signalled`), so that a journal of inputs is enough to tell all events again.

use std::sync::Arc;

use jackfield_api as api;
use jackfield_wire as wire;
use serde::{Deserialize, Serialize};
use wire::Raw;

use crate::gauge::Spent;

/// Something that happened.
#[derive(Debug, Clone)]
pub enum Input<'a> {
    /// A CLI process was started.
    Started(Launch),
    /// It wrote a line.
    Line(wire::Decoded<'a>),
    /// It wrote a line longer than we keep.
    LongLine {
        /// Its length in bytes.
        length: u64,
    },
    /// The shell met a line that it could not make an input of, such as a torn line of a journal.
    Unreadable {
        /// Why.
        reason: String,
        /// The line.
        text: String,
    },
    /// A line was written to it.
    Sent(wire::OutboundMessage, By),
    /// A client asks for something.
    Command(CommandId, By, api::Command),
    /// A program asks the CLI for something that is no command; the answer comes as one.
    Request(CommandId, By, wire::HostRequest),
    /// A call that only the shell can do was done.
    Called(CallId, HostReply),
    /// A file was seen to change.
    File(FileChange),
    /// The shell has something to tell, in the session's own numbers: a budget is used up, a disk is full.
    Notice(api::trouble::NoticeLevel, String),
    /// The shell told an event of its own, with a number of its own, where no machine was there to number it. A live
    /// machine never hears of it; one that replays goes on behind it.
    Told(Box<api::Event>),
    /// It wrote a line to its standard error.
    Stderr(String),
    /// Its standard input was closed.
    StdinClosed,
    /// A signal was sent to it.
    Signalled(Signal),
    /// It is gone, and all its output was read.
    Exited(Exit),
    /// The time that [`Session::deadline`](crate::Session::deadline) named has come.
    Timeout,
}

/// Something to be done.
#[derive(Debug, Clone, PartialEq)]
pub enum Output {
    /// Tell the clients.
    Event(api::Event),
    /// Write a line to the CLI, and come back with [`Input::Sent`].
    Write(wire::Outbound, By),
    /// Answer a command.
    Answer(CommandId, Result<api::command::Reply, api::command::Rejection>),
    /// Do what only the shell can do, and come back with [`Input::Called`].
    Call(CallId, HostCall),
    /// The CLI no longer waits for this call.
    CallWithdrawn(CallId),
    /// Close the CLI's standard input, and come back with [`Input::StdinClosed`].
    CloseStdin,
    /// Send a signal to the CLI's process tree, and come back with [`Input::Signalled`].
    Signal(Signal),
}

/// How a CLI process was started, as far as it is known.
#[derive(Debug, Clone, PartialEq)]
pub struct Launch {
    /// Where its conversation comes from.
    pub origin: api::session::SessionOrigin,
    /// Its own session id, where it was given one.
    pub cli_session_id: Option<String>,
    /// Its version, where it was asked.
    pub claude_code_version: Option<String>,
    /// Whether its input is seen too. If not, prompts and answers are guessed from its output.
    pub input_seen: InputSeen,
    /// Where its counts begin: nothing, unless it counts on from a run before.
    pub spent: Spent,
    /// Where the session is, if its machine begins with this process and knows of nothing before; `None` if a machine
    /// that was there goes on, or if nobody knows.
    pub begins: Option<Place>,
}

/// Where a session is: all that a machine must know to go on with its numbers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// Its name, if it has one.
    pub session_id: Option<api::SessionId>,
    /// The number of its next event.
    pub next_seq: u64,
    /// The last turn that there was.
    pub last_turn: Option<api::TurnNumber>,
}

/// Whether the CLI's input is part of what the machine sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InputSeen {
    /// Lines in both directions.
    Both,
    /// Only its output.
    OutputOnly,
}

impl Launch {
    /// A process of which only the output is seen.
    pub fn output_only() -> Self {
        Self {
            origin: api::session::SessionOrigin::Unknown,
            cli_session_id: None,
            claude_code_version: None,
            input_seen: InputSeen::OutputOnly,
            spent: Spent::default(),
            begins: None,
        }
    }

    /// What the CLI's command line tells.
    pub fn from_arguments<T: AsRef<str>>(arguments: &[T]) -> Self {
        use api::session::SessionOrigin;
        let has = |names: &[&str]| {
            arguments.iter().map(AsRef::as_ref).any(|argument| {
                names.iter().any(|name| {
                    argument == *name || argument.strip_prefix(name).is_some_and(|rest| rest.starts_with('='))
                })
            })
        };
        let origin = if has(&["--fork-session"]) {
            SessionOrigin::Forked
        } else if has(&["--resume", "-r", "--continue", "-c"]) {
            SessionOrigin::Resumed
        } else {
            SessionOrigin::New
        };
        Self { origin, input_seen: InputSeen::Both, ..Self::output_only() }
    }
}

/// Who caused a line to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum By {
    /// Not known: a foreign recording.
    Unknown,
    /// The host by itself.
    Host,
    /// The host, because nobody answered in time.
    Expiry,
    /// A client, by its name.
    Client(Arc<str>),
}

impl By {
    /// Who it was, for people; nobody knows for a foreign recording.
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::Unknown => None,
            Self::Host => Some("host"),
            Self::Expiry => Some("expiry"),
            Self::Client(name) => Some(name),
        }
    }

    /// The word for it in a journal, where a client may have any name.
    pub fn word(&self) -> Option<String> {
        match self {
            Self::Client(name) => Some(format!("client:{name}")),
            other => other.name().map(str::to_owned),
        }
    }

    /// Reads the word of a journal.
    pub fn read(word: Option<&str>) -> Self {
        match word {
            None => Self::Unknown,
            Some("host") => Self::Host,
            Some("expiry") => Self::Expiry,
            Some(word) => Self::Client(word.strip_prefix("client:").unwrap_or(word).into()),
        }
    }
}

/// A command's name, chosen by the client.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CommandId(pub Arc<str>);

/// A call's name, chosen by the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CallId(pub u64);

/// What only the shell can do.
#[derive(Debug, Clone, PartialEq)]
pub enum HostCall {
    /// Run a hook.
    Hook {
        /// The name it was registered under.
        callback_id: String,
        /// What it is told.
        input: Box<wire::HookInput>,
        /// The tool call that it is about.
        tool_call_id: Option<api::ToolCallId>,
    },
    /// Hand a message to an MCP server inside the host.
    Mcp {
        /// The server.
        server: String,
        /// The JSON-RPC message.
        message: Raw,
    },
}

/// What came of a call.
#[derive(Debug, Clone, PartialEq)]
pub enum HostReply {
    /// What the hook says.
    Hook(wire::HookOutput),
    /// What the MCP server says.
    Mcp(wire::Object),
    /// It could not be done.
    Failed(String),
}

/// A change of a file that the shell has seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileChange {
    /// The call that did it.
    pub tool_call_id: api::ToolCallId,
    /// The file.
    pub path: String,
    /// What it held before.
    pub before: Option<String>,
    /// What it holds now.
    pub after: Option<String>,
}

/// How a process ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Exit {
    /// It exited with this code.
    Code(i32),
    /// This signal ended it.
    Signal(i32),
    /// It could not be started.
    NotStarted(String),
    /// Its output ended; nothing else is known.
    OutputEnded,
}

/// A signal to the CLI's process tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    /// Please end.
    Terminate,
    /// End.
    Kill,
}
