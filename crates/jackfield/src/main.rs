//! The `jackfield` program: composes the crates, hides nothing, decides nothing.
//!
//! Exit codes: 0 done; 1 the program or its surroundings failed; 2 what it was given is wrong. A broken pipe
//! is a quiet end: the reader has seen enough.

mod commands;
mod failure;
mod output;
mod readable;
mod source;

use std::process::ExitCode;

use clap::Parser;

use commands::Command;

/// One host for the Claude Code CLI.
#[derive(Debug, Parser)]
#[command(
    version,
    about,
    propagate_version = true,
    after_help = "\
Examples:
  claude -p 'say hello' --output-format stream-json --verbose | jackfield events
  jackfield replay --follow --speed 4 recording/transcript.jsonl

Exit codes: 0 done, also when the reader of a pipe has seen enough; 1 the program or its surroundings
failed; 2 what it was given is wrong."
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
