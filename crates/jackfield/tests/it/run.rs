//! `jackfield run` as shells and scripts meet it: streams, exit codes, a terminal, signals.

mod alone;
mod ends;
mod real;
pub(crate) mod stage;
mod terminal;
mod through;
mod trust;
