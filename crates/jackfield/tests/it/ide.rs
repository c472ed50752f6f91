//! `jackfield ide` as the real interactive CLI and a plugin meet it: a CLI in a terminal on one side, lines of JSON
//! on the other.
//!
//! The one rule: what counts is what the CLI did, seen in its files and in its requests to the model.

mod code;
mod command;
mod connecting;
mod diffs;
mod equipped;
mod hostile;
mod many;
mod notices;
mod nvim;
mod page;
mod plugin;
mod sessions;
mod stage;
mod terminal;
