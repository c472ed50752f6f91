//! JSON-RPC over lines: what comes in, what goes out, and who waits for an answer.
//!
//! It knows no method. The official runtime is not used for what it costs, see `docs/adr/0011`. The one rule it
//! keeps: memory is bounded, however fast or slowly the other side reads and writes.

mod incoming;
mod lines;
mod outgoing;
mod peer;

pub(crate) use incoming::{Incoming, Unreadable, read};
pub(crate) use lines::{Line, Lines};
pub(crate) use outgoing::Outgoing;
pub(crate) use peer::{Peer, invalid, parameters};
