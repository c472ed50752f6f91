//! The kernel, the language servers and a session's equipment, with the real programs.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod bench;
mod equipment;
mod kernel;
mod language_server;
