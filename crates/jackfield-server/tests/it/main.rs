//! The server over real sockets, with the demo agent and the real CLIs behind it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod access;
mod desk;
mod devices;
mod dictation;
mod document;
mod editor;
mod failures;
mod following;
mod limits;
mod nginx;
mod page;
mod proxy;
mod python;
mod real_cli;
mod scopes;
mod socket;
mod stage;
mod stopping;
mod tls;
mod wire;
