//! `cargo xtask bench`: what one line of the CLI costs us, beside what it must cost, and what clients wait for.
//!
//! A benchmark, not a test: it never fails on a figure. The one rule it keeps: figures stand beside floors that
//! were measured in the same run, in turns, because two noisy cores make every absolute figure a guess.
//! `docs/benchmarks.md` says how to read the tables.

pub(crate) mod acp;
pub(crate) mod floor;
pub(crate) mod host;

mod callgrind;
mod measure;
mod sdk;
mod speech;
mod stream;

use std::path::PathBuf;

use crate::process::{self, ProcessError};
use crate::{web, workspace};
use measure::Run;
use stream::Stream;

/// What to measure.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// How often each program runs; the median counts.
    #[arg(long, default_value_t = 7)]
    repetitions: usize,
    /// Deltas in the long stream (200,000 are 226,002 lines).
    #[arg(long, default_value_t = 200_000)]
    deltas: u32,
    /// Count instructions under valgrind instead of seconds; the counts repeat, but take minutes.
    #[arg(long)]
    callgrind: bool,
    /// Measure the host and its server only.
    #[arg(long, conflicts_with_all = ["callgrind", "peers"])]
    host: bool,
    /// Measure the ACP agent beside other adapters only; they are installed from their registries.
    #[arg(long, conflicts_with_all = ["callgrind", "peers", "host"])]
    acp: bool,
    /// Measure the page in a real browser only.
    #[arg(long, conflicts_with_all = ["callgrind", "peers", "host", "acp"])]
    page: bool,
    /// Measure what watching the host costs only: traces, figures, debug files, the log.
    #[arg(long, conflicts_with_all = ["callgrind", "peers", "host", "acp", "page"])]
    observe: bool,
    /// Measure dictation only; `espeak-ng` speaks.
    #[arg(long, conflicts_with_all = ["callgrind", "peers", "host", "acp", "page", "observe"])]
    speech: bool,
    /// Measure the peers of the SDK too; they are installed from their registries.
    #[arg(long)]
    peers: bool,
    /// The Node for the peer that needs one; may be given more than once.
    #[arg(long, default_value = "node", requires = "peers")]
    node: Vec<PathBuf>,
}

/// Why nothing could be measured.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BenchError {
    /// A program could not be built or run.
    #[error(transparent)]
    Process(#[from] ProcessError),
    /// A file could not be read or written.
    #[error("cannot {doing}: {source}")]
    File {
        /// What was being done.
        doing: String,
        /// The reason.
        source: std::io::Error,
    },
    /// The page could not be measured.
    #[error(transparent)]
    Page(#[from] web::WebError),
    /// A figure is missing in what a tool or the system wrote.
    #[error("cannot find {what} in {place}")]
    Missing {
        /// What was looked for.
        what: &'static str,
        /// Where.
        place: String,
    },
}

/// A program that reads the stream from standard input.
#[derive(Debug, Clone)]
struct Subject {
    name: &'static str,
    program: PathBuf,
    arguments: &'static [&'static str],
}

const SCAN: usize = 0;
const TYPED: usize = 1;
const JACKFIELD: usize = 2;

/// Builds what is measured, as it is for use.
fn build() -> Result<(), ProcessError> {
    // One by one: together they would share the libraries' features, and the program would be another than its users'.
    ["xtask", "jackfield"].into_iter().try_for_each(|package| {
        process::run(workspace::cargo().args(["build", "--release", "--locked", "--package", package]))
    })
}

/// Builds everything, measures, prints.
pub(crate) fn run(arguments: &Arguments) -> Result<(), BenchError> {
    if arguments.speech {
        return speech::run(arguments.repetitions);
    }
    build()?;
    if arguments.host {
        return host::run(arguments.repetitions);
    }
    if arguments.observe {
        return host::observed::run(arguments.repetitions);
    }
    if arguments.page {
        return Ok(web::bench()?);
    }
    let release = workspace::cargo_target().join("release");
    let subjects = [
        Subject { name: "floor: scan", program: release.join("xtask"), arguments: &["bench-floor", "scan"] },
        Subject {
            name: "floor: typed",
            program: release.join("xtask"),
            arguments: &["bench-floor", "typed"],
        },
        Subject { name: "`jackfield events`", program: release.join("jackfield"), arguments: &["events"] },
    ];
    let stream = Stream::compile()?;
    if arguments.acp {
        return acp::run(&stream, arguments.deltas, arguments.repetitions);
    }
    if arguments.callgrind {
        return instructions(&stream, &subjects);
    }
    let long = interleaved(&stream, &subjects, arguments.deltas, arguments.repetitions)?;
    let lines = stream.lines(arguments.deltas)?;
    print_seconds(&subjects, &long, lines);

    let short_deltas = arguments.deltas / 10;
    let short = interleaved(&stream, &subjects[JACKFIELD..], short_deltas, arguments.repetitions)?;
    let short_lines = stream.lines(short_deltas)?;
    let (first, last) = (seconds_per_100k(&short[0], short_lines), seconds_per_100k(&long[JACKFIELD], lines));
    println!(
        "\nA session of {lines} lines costs {:.2} times as much per line as one of {short_lines}.",
        last / first
    );
    sdk::run(&stream, arguments)?;
    host::run(arguments.repetitions)?;
    web::bench()?;
    // The last, since it alone needs `valgrind`.
    host::observed::run(arguments.repetitions)
}

/// Each program in turn, again and again; per program all its runs.
fn interleaved(
    stream: &Stream,
    subjects: &[Subject],
    deltas: u32,
    repetitions: usize,
) -> Result<Vec<Vec<Run>>, BenchError> {
    let mut runs = vec![Vec::new(); subjects.len()];
    // The first round only warms the caches.
    for round in 0..=repetitions.max(1) {
        for (subject, runs) in subjects.iter().zip(&mut runs) {
            let run = measure::once(stream, subject, deltas)?;
            if round > 0 {
                runs.push(run);
            }
        }
    }
    Ok(runs)
}

fn print_seconds(subjects: &[Subject], runs: &[Vec<Run>], lines: u32) {
    let floor = seconds_per_100k(&runs[TYPED], lines);
    println!("\n{lines} lines, {} repetitions, medians\n", runs[SCAN].len());
    println!("| program | CPU s / 100k lines | to the typed floor | wall s | peak RSS MB |");
    println!("|---|---|---|---|---|");
    for (subject, runs) in subjects.iter().zip(runs) {
        let cpu = seconds_per_100k(runs, lines);
        let wall = median(runs.iter().map(|run| run.wall_seconds));
        let peak = median(runs.iter().map(|run| run.peak_megabytes));
        println!("| {} | {cpu:.3} | {:.2} × | {wall:.3} | {peak:.1} |", subject.name, cpu / floor);
    }
}

fn instructions(stream: &Stream, subjects: &[Subject]) -> Result<(), BenchError> {
    const SHORT: u32 = 20_000;
    const MIDDLE: u32 = 40_000;
    const LONG: u32 = 120_000;
    let mut slopes = Vec::new();
    for subject in subjects {
        slopes.push(callgrind::per_line(stream, subject, SHORT, MIDDLE)?);
    }
    println!("\nInstructions per line: the difference of {SHORT} and {MIDDLE} deltas\n");
    println!("| program | instructions / line | to the typed floor |");
    println!("|---|---|---|");
    for (subject, slope) in subjects.iter().zip(&slopes) {
        println!("| {} | {slope:.0} | {:.2} × |", subject.name, slope / slopes[TYPED]);
    }
    let late = callgrind::per_line(stream, &subjects[JACKFIELD], MIDDLE, LONG)?;
    println!(
        "\nBetween {MIDDLE} and {LONG} deltas a line costs {late:.0} instructions, {:.2} times as much.",
        late / slopes[JACKFIELD]
    );
    Ok(())
}

fn seconds_per_100k(runs: &[Run], lines: u32) -> f64 {
    median(runs.iter().map(|run| run.cpu_seconds)) * 100_000.0 / f64::from(lines)
}

fn median(figures: impl Iterator<Item = f64>) -> f64 {
    let mut figures: Vec<f64> = figures.collect();
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or(f64::NAN)
}
