//! The demo agent: a scripted stand-in for the Claude Code CLI, without an account and without a model.
//!
//! It is a program that speaks stream-json like the CLI, so that everything between it and a person's screen
//! is the real thing. What it writes has the shapes and the order of the recordings of 2.1.325. It is not a
//! test double (`fake-claude` is) and calls no hooks. The one rule: it reads and changes nothing but its own
//! pipes; its files are in memory.
//!
//! # Layout
//! * `arguments`, `input`, `output`, `pace` – the process: flags, lines in, lines out, time
//! * `agent`, `control` – what it is asked, and what waits
//! * `turn`, `message`, `call`, `question`, `subagent`, `meter` – how a scene is played
//! * `step`, `files`, `scenes` – what is played: data and pure functions

mod agent;
mod arguments;
mod call;
mod control;
mod files;
mod input;
mod message;
mod meter;
mod offers;
mod output;
mod pace;
mod question;
mod scenes;
mod step;
mod subagent;
mod turn;

use std::ffi::OsString;
use std::io::{self, Write};
use std::process::ExitCode;

use self::agent::Agent;
use self::arguments::Arguments;
use self::output::Output;
use self::pace::Pace;
use crate::failure::Failure;

/// The version of the CLI that it speaks like.
const VERSION: &str = "2.1.325";

/// Is the CLI that was started with these words, until its input ends.
pub(crate) fn run(words: &[OsString]) -> Result<ExitCode, Failure> {
    let arguments = Arguments::read(words);
    if arguments.wants_version {
        writeln!(io::stdout(), "{VERSION} (Jackfield demo agent)")?;
        return Ok(ExitCode::SUCCESS);
    }
    // One thread and a clock: what there is to do, there is one thing of at a time.
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().build().map_err(Failure::Runtime)?;
    let output = Output::new(arguments.session_id.clone());
    let agent = Agent::new(arguments, output, input::lines(), Pace::from_environment());
    Ok(runtime.block_on(agent.run())?)
}
