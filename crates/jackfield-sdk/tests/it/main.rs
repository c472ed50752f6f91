//! The SDK against the real CLIs, and against `fake-claude` for what they cannot be made to do.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod content;
mod control;
mod conversation;
mod disk;
mod endings;
mod examples;
mod fake;
mod faults;
mod file_changes;
mod guard;
mod history;
mod hooks;
mod host;
mod import;
mod journal;
mod live;
mod locate;
mod lock;
mod options;
mod place;
mod policy;
mod queue;
mod races;
mod readers;
mod seeds;
mod session;
mod tools;
mod trust;
