//! The project's own commands: `cargo xtask COMMAND`.
//!
//! Only the command line is here. The one rule it keeps: one module and one match arm per command.

// Telling a person what happened is what these commands are for.
#![allow(clippy::print_stdout)]

mod apart;
mod autobahn;
mod bench;
mod debian;
mod drift;
mod foreign;
mod fuzz;
mod generate;
mod process;
mod record;
mod setup;
mod soak;
mod test;
mod tidy;
mod unit;
mod web;
mod workspace;

use std::process::ExitCode;

use clap::Parser;

#[derive(Debug, Parser)]
#[command(about = "Jackfield's own commands")]
enum Command {
    /// Measure what a line of the CLI costs, beside what it must cost.
    Bench(bench::Arguments),
    /// One of the floors of `bench`.
    #[command(hide = true)]
    BenchFloor {
        /// Which.
        floor: bench::floor::Floor,
    },
    /// The clients of `bench`.
    #[command(hide = true)]
    BenchLoad(bench::host::load::Arguments),
    /// Run the tests with foreign programs: the Autobahn suite, nginx, networks of their own.
    Foreign,
    /// Try inputs that nobody thought of.
    Fuzz(fuzz::Arguments),
    /// Write the JSON Schema and the TypeScript types of the contract.
    Gen {
        /// Write nothing; fail if they are stale.
        #[arg(long)]
        check: bool,
    },
    /// Write down which functions a session runs, for the linker to put together.
    Layout,
    /// Compare what two CLIs say.
    Drift(drift::Arguments),
    /// Record cases with the real CLIs.
    Record(record::Arguments),
    /// Fetch the pinned CLIs into the cache folder.
    Setup,
    /// Let everything go wrong: for some minutes, or by the seeds of the fault loops.
    Soak(soak::Arguments),
    /// Set up what the tests need, and run everything.
    Test(test::Arguments),
    /// Check what the house says of itself.
    Tidy,
    /// Build, check and test the page.
    Web(web::Arguments),
}

fn main() -> ExitCode {
    let result: Result<(), Box<dyn std::error::Error>> = match Command::parse() {
        Command::Bench(arguments) => bench::run(&arguments).map_err(Into::into),
        Command::BenchFloor { floor } => bench::floor::run(floor).map_err(Into::into),
        Command::BenchLoad(arguments) => bench::host::load::run(arguments).map_err(Into::into),
        Command::Foreign => foreign::run().map_err(Into::into),
        Command::Fuzz(arguments) => fuzz::run(&arguments).map_err(Into::into),
        Command::Gen { check: false } => generate::run().map_err(Into::into),
        Command::Gen { check: true } => generate::check().map_err(Into::into),
        Command::Layout => bench::acp::layout::write().map_err(Into::into),
        Command::Drift(arguments) => drift::run(arguments).map_err(Into::into),
        Command::Record(arguments) => record::run(arguments).map_err(Into::into),
        Command::Setup => setup::run().map_err(Into::into),
        Command::Soak(arguments) => soak::run(&arguments).map_err(Into::into),
        Command::Test(arguments) => test::run(&arguments).map_err(Into::into),
        Command::Tidy => tidy::run().map_err(Into::into),
        Command::Web(arguments) => web::run(&arguments).map_err(Into::into),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            use std::io::Write as _;
            let _ = writeln!(std::io::stderr(), "error: {error}");
            ExitCode::FAILURE
        }
    }
}
