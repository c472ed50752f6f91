//! The recogniser as a process, with the real engines.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod failing;
mod sherpa;
mod spoken;
mod stage;
