//! The host as its clients meet it: the real program, real sockets, real signals, and faults of every kind.
//!
//! A test is named after the promise it keeps (`f3_…`). The one rule: what a client was told is compared with what
//! there is afterwards, event by event.

mod chaos;
pub(crate) mod client;
mod commands;
mod dice;
mod folder;
mod forced;
mod observe;
mod proxy;
mod real;
mod server;
mod slow;
mod stopping;
