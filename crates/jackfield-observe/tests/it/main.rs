//! What spans and figures must show, on every recording and on recordings that are cut off and mixed up.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod figures;
mod made_up;
mod recordings;
mod spans;
mod trees;
