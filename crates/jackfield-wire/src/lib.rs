//! The CLI's JSON, decoded without failing: the stream in both directions, and the transcript
//! files the CLI keeps on disk.
//!
//! It is not a client, a session or a policy: it has no IO, no clock and no memory between lines.
//! The one rule: every line becomes exactly one value (known, unknown or malformed) and keeps its
//! text; and only lines that the CLI accepts can be built.

#![allow(clippy::doc_markdown, reason = "recordings are cited as [area/name]")]

mod answers;
mod block;
mod control;
mod decode;
mod delta;
mod hook_input;
mod hook_output;
mod ids;
mod inbound;
mod lenient;
mod lines;
mod message;
mod notices;
mod open_enum;
mod outbound;
mod permission;
mod piece;
mod raw;
mod repair;
mod result;
mod stream_event;
mod system;
mod tag;
mod transcript_file;
mod usage;

pub use answers::*;
pub use block::*;
pub use control::*;
pub use decode::{decode, decode_without_shortcuts};
pub use delta::DeltaKind;
pub use hook_input::*;
pub use hook_output::*;
pub use ids::*;
pub use inbound::*;
pub use lines::{DEFAULT_LINE_LIMIT, Line, Lines};
pub use message::*;
pub use notices::*;
pub use outbound::*;
pub use permission::*;
pub use piece::Piece;
pub use raw::{Object, Raw};
pub use result::*;
pub use stream_event::*;
pub use system::*;
pub use transcript_file::*;
pub use usage::*;
