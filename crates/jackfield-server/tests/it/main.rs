//! The server over real sockets, with the demo agent and the real CLIs behind it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod access;
mod desk;
mod following;
mod limits;
mod real_cli;
mod socket;
mod stage;
mod stopping;
mod wire;
