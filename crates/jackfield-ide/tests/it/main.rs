//! The server as the CLI meets it: a real port, real frames, and recordings of the real CLI.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod client;
mod fake;
mod frames;
mod many;
mod recordings;
mod tools;
mod workbench;
