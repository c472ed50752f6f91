//! What the wire crate must show: every recording, and every input that is not in a recording.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod entries;
mod hostile;
mod lines;
mod outbound;
mod properties;
mod recordings;
mod stream;
