//! What the tests of Jackfield stand on: a scripted Messages API, the real CLI in a private folder,
//! recordings, cases that drive the one against the other, and `fake-claude`.
//!
//! Nothing here is published, and nothing here knows our own events and commands. The one rule it keeps:
//! whatever it needs and does not find is an error that says what to do, never a test that quietly does less.

pub mod api;
pub mod case;
pub mod clean;
pub mod cli;
pub mod drive;
pub mod fake;
mod lines;
pub mod matching;
pub mod places;
pub mod processes;
pub mod programs;
pub mod recordings;
pub mod shape;
mod tape;
