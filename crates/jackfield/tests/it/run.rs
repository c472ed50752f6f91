//! `jackfield run` as shells and scripts meet it: streams, exit codes, a terminal, signals.

mod ends;
mod own_lines;
mod real;
pub(crate) mod stage;
mod terminal;
mod through;
mod trust;
