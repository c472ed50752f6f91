//! The `jackfield` program: composes the crates, hides nothing, decides nothing.
//!
//! Its exit codes are in [`failure::Exit`]. A broken pipe is a quiet end: the reader has seen enough.

mod commands;
mod config;
mod demo;
mod failure;
mod output;
mod page_editor;
mod readable;
mod source;
mod telemetry;
mod variables;
mod workbench;

use std::process::ExitCode;

use clap::Parser;

use commands::Command;
use failure::Exit;

const EXAMPLES: &str = "\
Examples:
  jackfield doctor
  claude -p 'say hello' --output-format stream-json --verbose | jackfield events
  jackfield replay --follow --speed 4 recording/transcript.jsonl";

/// One host for the Claude Code CLI.
#[derive(Debug, Parser)]
#[command(
    version,
    about,
    propagate_version = true,
    after_help = format!("{EXAMPLES}\n\n{}", Exit::list())
)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

fn main() -> ExitCode {
    match Arguments::parse().command.run() {
        Ok(code) => code,
        Err(failure) if failure.is_broken_pipe() => ExitCode::SUCCESS,
        Err(failure) => {
            failure.print();
            failure.exit_code()
        }
    }
}
