//! The program as its users meet it: a process with pipes, files and exit codes.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod access;
mod acp;
mod bad_files;
mod bad_lines;
mod config;
mod demo;
mod doctor;
mod host;
mod ide;
mod large_lines;
mod network;
mod outputs;
mod program;
mod readable;
mod real_cli;
mod run;
mod same_events;
mod serve;
mod sessions;
mod shells;
mod speech;
