//! `cargo xtask record CASE`: drives a real CLI through a case and writes a recording folder.
//!
//! The driving and the cleaning are the testkit's. The one rule it keeps: a folder is written only when the
//! case went to its end and the CLI asked for exactly what the case says.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use jackfield_testkit::api::Request;
use jackfield_testkit::case::{Case, CaseError};
use jackfield_testkit::clean;
use jackfield_testkit::cli::{Cli, CliError, PINNED_VERSIONS};
use jackfield_testkit::drive::{DriveError, Run, drive};
use jackfield_testkit::recordings::{Recorded, fixtures_dir};
use serde_json::json;

/// What to record.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The cases, by the names of their files in `fixtures/scenarios`; all of them when none is named.
    cases: Vec<String>,
    /// The CLI's version; every pinned one when absent.
    #[arg(long, value_name = "VERSION")]
    cli: Option<String>,
    /// The folder for the recordings; `fixtures/recordings-VERSION` when absent.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Also write `api.jsonl`: what the CLI asked the API.
    #[arg(long)]
    api: bool,
}

/// Why a recording was not made.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RecordError {
    /// The case could not be loaded.
    #[error(transparent)]
    Case(#[from] CaseError),
    /// The CLI is not there.
    #[error(transparent)]
    Cli(#[from] CliError),
    /// The case did not go to its end.
    #[error(transparent)]
    Drive(#[from] DriveError),
    /// The case and the CLI do not agree on what was asked.
    #[error(
        "`{case}` on {version}: replies {unused:?} were never asked for, and {unscripted} requests had no reply"
    )]
    Script {
        /// The case.
        case: String,
        /// The CLI's version.
        version: String,
        /// Replies that no request consumed, from 0.
        unused: Vec<usize>,
        /// Requests for which there was no reply.
        unscripted: usize,
    },
    /// The recording could not be written.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// The file or folder.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// There is no runtime.
    #[error("cannot start the runtime: {0}")]
    Runtime(#[source] io::Error),
}

/// Records.
pub(crate) fn run(arguments: Arguments) -> Result<(), RecordError> {
    let cases = if arguments.cases.is_empty() { Case::names()? } else { arguments.cases };
    let versions: Vec<String> =
        arguments.cli.map_or_else(|| PINNED_VERSIONS.map(str::to_owned).to_vec(), |version| vec![version]);
    let runtime = tokio::runtime::Runtime::new().map_err(RecordError::Runtime)?;
    for version in &versions {
        let cli = Cli::locate(version)?;
        let out =
            arguments.out.clone().unwrap_or_else(|| fixtures_dir().join(format!("recordings-{version}")));
        for name in &cases {
            let case = Case::load(name)?;
            let run = runtime.block_on(drive(&cli, &case))?;
            let unscripted = run.unscripted();
            if !run.unused.is_empty() || unscripted != 0 {
                let (case, version) = (case.name, version.clone());
                return Err(RecordError::Script { case, version, unused: run.unused, unscripted });
            }
            let folder = out.join(name);
            write(&folder, &case, &run)?;
            if arguments.api {
                write_requests(&folder, &case, &run)?;
            }
            let line = format!(
                "{version} {name}: {} lines, exit {} ({})\n",
                run.lines.len(),
                run.exit,
                folder.display()
            );
            io::stdout().write_all(line.as_bytes()).map_err(failed(Path::new("standard output")))?;
        }
    }
    Ok(())
}

fn write(folder: &Path, case: &Case, run: &Run) -> Result<(), RecordError> {
    fs::create_dir_all(folder).map_err(failed(folder))?;
    let write = |name: &str, text: String| {
        let path = folder.join(name);
        fs::write(&path, text).map_err(failed(&path))
    };
    write("transcript.jsonl", lines(clean::clean_run(run, case)))?;
    write("scenario.json", pretty(&json!({"turns": case.turns, "host": case.host})))?;
    write("cmd.json", pretty(&command(run)))?;
    write("notes.md", format!("{}\n", case.about))
}

fn write_requests(folder: &Path, case: &Case, run: &Run) -> Result<(), RecordError> {
    let path = folder.join("api.jsonl");
    let text = clean::clean_texts(run, case, run.requests.iter().map(Request::line));
    fs::write(&path, text).map_err(failed(&path))
}

fn command(run: &Run) -> serde_json::Value {
    let shown = |(name, value): (&String, &String)| {
        let value = match name.as_str() {
            "ANTHROPIC_API_KEY" => "<dummy>".to_owned(),
            "ANTHROPIC_BASE_URL" => "http://127.0.0.1:PORT".to_owned(),
            _ => run.places.hide(value),
        };
        (name.clone(), value)
    };
    let environment: BTreeMap<String, String> = run.environment.iter().map(shown).collect();
    let arguments: Vec<String> = run.arguments.iter().map(|argument| run.places.hide(argument)).collect();
    json!({
        "argv": arguments,
        "env": environment,
        "exit_codes": [run.exit],
        "cli_version": run.version,
        "cwd": "/ws",
    })
}

fn lines(recorded: Vec<Recorded>) -> String {
    let line = |recorded| serde_json::to_string(&recorded).unwrap_or_default() + "\n";
    recorded.into_iter().map(line).collect()
}

fn pretty(value: &serde_json::Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default() + "\n"
}

fn failed(path: &Path) -> impl FnOnce(io::Error) -> RecordError {
    let path = path.to_owned();
    move |source| RecordError::Write { path, source }
}
