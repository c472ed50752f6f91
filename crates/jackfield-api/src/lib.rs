//! Jackfield's contract: what a host tells its clients ([`Event`]) and what they may ask of it
//! ([`Command`]).
//!
//! Everything here is plain data that serialises to JSON. The crate knows nothing of the CLI's own JSON
//! and does no IO; it only fixes names and shapes. `docs/schema/` is generated from it (feature
//! `schema`), so a client in another language needs no Rust.
//!
//! # Layout
//! * [`event`] – the envelope, and the list of everything a host can say
//! * [`session`], [`conversation`], [`tool`], [`permission`], [`usage`], [`trouble`] – the events' bodies
//! * [`normalized`] – one shape per kind of tool
//! * [`command`] – what a client asks
//! * [`socket`] – what goes over a WebSocket; [`host`] – lists, the desk, rules, search, money, files
//! * [`editor`] – the host as the editor of an interactive CLI
//! * [`speech`] – dictation
//! * [`trust`] – what a folder would add to the CLI by itself
//! * [`lines`] – the lines between a host and an agent, as they were
//! * [`snapshot`] – a transcript at a `seq`
//! * [`codec`] – an event to and from one line of JSON
//! * [`id`], [`json`] – names and opaque values
//! * [`unseen`] – letters that no text shows to people

pub mod codec;
pub mod command;
pub mod conversation;
pub mod editor;
pub mod event;
pub mod host;
pub mod id;
pub mod json;
pub mod lines;
pub mod normalized;
pub mod permission;
pub mod session;
mod shared;
pub mod snapshot;
pub mod socket;
pub mod speech;
mod tagged;
pub mod tool;
pub mod trouble;
pub mod trust;
pub mod unseen;
pub mod usage;

pub use command::Command;
pub use event::{Body, Event};
pub use id::{
    DictationId, EditorDiffId, EditorFileId, Fingerprint, ItemId, LineNumber, MessageId, PendingId, Seq,
    SessionId, TaskId, Timestamp, ToolCallId, TurnNumber, Uuid,
};
pub use json::Json;
pub use normalized::Normalized;
pub use shared::SharedEvent;
pub use snapshot::Snapshot;

/// Version of the contract, sent in the greeting; raised when a client could notice a difference.
pub const VERSION: u32 = 1;
