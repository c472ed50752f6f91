//! `jackfield ide` as the real interactive CLI and a plugin meet it: a CLI in a terminal on one side, lines of JSON
//! on the other.
//!
//! The one rule: what counts is what the CLI did, seen in its files and in its requests to the model.

mod command;
mod connecting;
mod diffs;
mod notices;
mod nvim;
mod plugin;
mod stage;
mod terminal;
