//! The testkit against the outside: HTTP on loopback, processes, and the pinned CLIs.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod api;
mod fake_claude;
mod processes;
mod real_cli;
