//! `cargo xtask drift [OLD NEW]`: what a newer CLI says that an older one did not, and the other way round.
//!
//! Both CLIs are driven through the same cases; the comparison is the testkit's. The one rule it keeps: a case
//! that fails on either CLI is reported as such, and compared on neither.

use std::io::{self, Write as _};

use jackfield_testkit::case::{Case, CaseError};
use jackfield_testkit::cli::{Cli, CliError, NEWER_VERSION, OLDER_VERSION};
use jackfield_testkit::drive::drive;
use jackfield_testkit::recordings::Direction;
use jackfield_testkit::shape::Shape;
use serde_json::json;

/// What to compare.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The older version.
    #[arg(default_value = OLDER_VERSION)]
    old: String,
    /// The newer version.
    #[arg(default_value = NEWER_VERSION)]
    new: String,
    /// Only these cases, by the names of their files in `fixtures/scenarios`.
    #[arg(long = "case", value_name = "CASE")]
    cases: Vec<String>,
    /// Print one JSON object instead of a list.
    #[arg(long)]
    json: bool,
}

/// Why the CLIs could not be compared.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DriftError {
    /// A case could not be loaded.
    #[error(transparent)]
    Case(#[from] CaseError),
    /// A CLI is not there.
    #[error(transparent)]
    Cli(#[from] CliError),
    /// There is no runtime, or no standard output.
    #[error("cannot compare: {0}")]
    Io(#[from] io::Error),
    /// Some cases were not compared.
    #[error("{0} cases could not be compared")]
    Incomplete(usize),
}

/// Compares.
pub(crate) fn run(arguments: Arguments) -> Result<(), DriftError> {
    let names = if arguments.cases.is_empty() { Case::names()? } else { arguments.cases };
    let clis = [Cli::locate(&arguments.old)?, Cli::locate(&arguments.new)?];
    let runtime = tokio::runtime::Runtime::new()?;
    let mut shapes = [Shape::default(), Shape::default()];
    let mut failures = Vec::new();
    for name in names {
        let case = Case::load(&name)?;
        let runs: Result<Vec<_>, _> = clis.iter().map(|cli| runtime.block_on(drive(cli, &case))).collect();
        match runs {
            Ok(runs) => {
                for (shape, run) in shapes.iter_mut().zip(runs) {
                    let said = run.lines.iter().filter(|recorded| recorded.dir == Direction::Out);
                    said.for_each(|recorded| shape.add(&recorded.line));
                }
            }
            Err(error) => failures.push(error.to_string()),
        }
    }
    let [older, newer] = shapes;
    let drift = older.drift(&newer);
    let text = if arguments.json {
        let (old, new) = (&arguments.old, &arguments.new);
        json!({"old": old, "new": new, "drift": drift, "failures": failures}).to_string() + "\n"
    } else {
        let failed: Vec<String> =
            failures.iter().map(|failure| format!("not compared: {failure}\n")).collect();
        format!("from {} to {}\n{}{}", arguments.old, arguments.new, drift.report(), failed.concat())
    };
    io::stdout().write_all(text.as_bytes())?;
    if failures.is_empty() { Ok(()) } else { Err(DriftError::Incomplete(failures.len())) }
}
