//! The SDK beside its peers: the same stand-in, the same turns, the same clock, in turns.
//!
//! Each program is a driver in `bench/peers` that does what it is told and writes one line of figures. Ours and
//! the floor always run; the others need their registries and run when they are asked for. The one rule it
//! keeps: nothing of the machine reaches a driver but the way to programs, and its home is a new folder.

mod drivers;

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde::Deserialize;
use tempfile::TempDir;

use super::stream::Stream;
use super::{Arguments, BenchError, median};
use crate::{process, workspace};
use drivers::Driver;

/// How long the slow reader spins on each message.
const SPIN_MICROSECONDS: &str = "20";
const MANY_SESSIONS: u32 = 100;
/// Deltas in the one turn of each of many sessions.
const SESSION_DELTAS: u32 = 100;
/// Deltas in each turn of which only the first message counts.
const SMALL_DELTAS: u32 = 10;
const LATENCY_TURNS: &str = "200";
/// The slow reader takes seconds, and is looked at for its memory only.
const SLOW_REPETITIONS: usize = 3;

/// What a driver tells; each measure fills its part.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default)]
struct Report {
    messages: u64,
    cpu_us: f64,
    wall_us: f64,
    peak_kb: f64,
    first_us: f64,
    second_us: f64,
    p50_ns: f64,
    p99_ns: f64,
    /// How many CLIs were started; counted outside.
    #[serde(skip)]
    started: u32,
}

/// Builds the drivers, measures, prints.
pub(super) fn run(stream: &Stream, arguments: &Arguments) -> Result<(), BenchError> {
    let mut drivers = drivers::ours()?;
    if arguments.peers {
        drivers.extend(drivers::peers(&arguments.node)?);
    }
    let place = Place::new()?;
    let repetitions = arguments.repetitions.max(1);
    println!("\n## The SDK, {repetitions} repetitions, medians\n");
    throughput(&place, &drivers, arguments.deltas, stream.lines(arguments.deltas)?, repetitions)?;
    slow_reader(&place, &drivers, arguments.deltas)?;
    sessions(&place, &drivers, repetitions)?;
    latency(&place, &drivers, repetitions)
}

/// Where drivers run: the stand-in, and a folder that is gone afterwards.
struct Place {
    claude: PathBuf,
    folder: TempDir,
}

impl Place {
    fn new() -> Result<Self, BenchError> {
        let folder = tempfile::tempdir().map_err(file("make a folder for the drivers"))?;
        // As npm installs it: a program in a package that states its version.
        let package = folder.path().join("node_modules/@anthropic-ai/claude-code");
        fs::create_dir_all(&package).map_err(file("make a folder for the stand-in"))?;
        let manifest = r#"{"name": "@anthropic-ai/claude-code", "version": "2.1.197"}"#;
        fs::write(package.join("package.json"), manifest)
            .map_err(file("write the package of the stand-in"))?;
        let claude = package.join("claude");
        let source = workspace::root().join("xtask/bench/fake-claude.c");
        process::run(Command::new("cc").arg("-O2").arg("-o").arg(&claude).arg(source))?;
        Ok(Self { claude, folder })
    }

    fn run(&self, driver: &Driver, measure: &[&str], deltas: u32) -> Result<Report, BenchError> {
        let started = self.folder.path().join("started");
        let _ = fs::remove_file(&started);
        let (name, rest) = measure.split_first().unwrap_or((&"", &[]));
        let mut command = Command::new(&driver.words[0]);
        command.args(&driver.words[1..]).arg(name).arg(&self.claude).args(rest);
        command.current_dir(self.folder.path()).env_clear();
        command.envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
        command.env("HOME", self.folder.path()).env("FAKE_DELTAS", deltas.to_string());
        command.env("FAKE_ARGV_LOG", &started);
        let written = process::capture(&mut command)?;
        let missing = || BenchError::Missing { what: "the figures", place: written.clone() };
        let mut report: Report = serde_json::from_str(written.trim()).map_err(|_| missing())?;
        let lines = fs::read_to_string(&started).map_err(file("count the CLIs that were started"))?;
        report.started = u32::try_from(lines.lines().count()).unwrap_or(u32::MAX);
        Ok(report)
    }

    /// Each driver in turn, again and again, after one round that only warms the caches.
    fn rounds(
        &self,
        drivers: &[Driver],
        measure: &[&str],
        deltas: u32,
        repetitions: usize,
    ) -> Result<Vec<Vec<Report>>, BenchError> {
        let mut reports = vec![Vec::new(); drivers.len()];
        for round in 0..=repetitions {
            for (driver, reports) in drivers.iter().zip(&mut reports) {
                let report = self.run(driver, measure, deltas)?;
                if round > 0 {
                    reports.push(report);
                }
            }
        }
        Ok(reports)
    }

    /// How long the stand-in itself takes to be ready when it never has to wait for its host, in microseconds.
    fn own_start(&self, repetitions: usize) -> Result<f64, BenchError> {
        let (request, log) = (self.folder.path().join("request"), self.folder.path().join("log"));
        let initialize =
            r#"{"type":"control_request","request_id":"1","request":{"subtype":"initialize"}}"#.to_owned();
        fs::write(&request, initialize + "\n").map_err(file("write a request"))?;
        let mut times = Vec::new();
        for _ in 0..repetitions {
            let _ = fs::remove_file(&log);
            let input = fs::File::open(&request).map_err(file("read the request"))?;
            let mut command = Command::new(&self.claude);
            command.args(["--print", "--input-format", "stream-json"]).env_clear().env("FAKE_LOG", &log);
            process::run(command.stdin(input).stdout(Stdio::null()))?;
            let told = fs::read_to_string(&log).map_err(file("read the log of the stand-in"))?;
            let at = |event: &str| -> Option<f64> {
                let line = told.lines().find(|line| line.split(' ').nth(1) == Some(event))?;
                line.split(' ').next_back()?.parse().ok()
            };
            let time = at("initialized").zip(at("start")).map(|(ready, begun)| (ready - begun) / 1000.0);
            times.push(time.ok_or(BenchError::Missing { what: "two times", place: told.clone() })?);
        }
        Ok(median(times.into_iter()))
    }
}

fn throughput(
    place: &Place,
    drivers: &[Driver],
    deltas: u32,
    lines: u32,
    repetitions: usize,
) -> Result<(), BenchError> {
    let reports = place.rounds(drivers, &["turn", "0"], deltas, repetitions)?;
    let cpu = |reports: &[Report]| of(reports, |report| report.cpu_us) / 10.0 / f64::from(lines);
    let ours = cpu(&reports[drivers::OURS]);
    println!("From prompt to result, {lines} lines:\n");
    println!("| program | CPU s / 100k lines | to ours | wall s | peak RSS MB | delivered |");
    println!("|---|---|---|---|---|---|");
    for (driver, reports) in drivers.iter().zip(&reports) {
        let cpu = cpu(reports);
        let wall = of(reports, |report| report.wall_us) / 1e6;
        let peak = of(reports, |report| report.peak_kb) / 1024.0;
        let messages = reports.iter().map(|report| report.messages).min().unwrap_or(0);
        println!("| {} | {cpu:.3} | {:.2} × | {wall:.3} | {peak:.1} | {messages} |", driver.name, cpu / ours);
    }
    Ok(())
}

fn slow_reader(place: &Place, drivers: &[Driver], deltas: u32) -> Result<(), BenchError> {
    let reports = place.rounds(drivers, &["turn", SPIN_MICROSECONDS], deltas, SLOW_REPETITIONS)?;
    println!(
        "\nA reader that takes {SPIN_MICROSECONDS} µs for each message, the highest of {SLOW_REPETITIONS}:\n"
    );
    println!("| program | peak RSS MB | delivered |");
    println!("|---|---|---|");
    for (driver, reports) in drivers.iter().zip(&reports) {
        let peak = reports.iter().map(|report| report.peak_kb).fold(0.0, f64::max) / 1024.0;
        let messages = reports.iter().map(|report| report.messages).min().unwrap_or(0);
        println!("| {} | {peak:.1} | {messages} |", driver.name);
    }
    Ok(())
}

fn sessions(place: &Place, drivers: &[Driver], repetitions: usize) -> Result<(), BenchError> {
    let many = MANY_SESSIONS.to_string();
    let one = place.rounds(drivers, &["sessions", "1"], SESSION_DELTAS, repetitions)?;
    let hundred = place.rounds(drivers, &["sessions", &many], SESSION_DELTAS, repetitions)?;
    println!("\nSessions in one process, each after a turn of {SESSION_DELTAS} deltas:\n");
    println!(
        "| program | peak RSS MB, 1 session | {MANY_SESSIONS} sessions | KB per further session | CLIs |"
    );
    println!("|---|---|---|---|---|");
    for ((driver, one), hundred) in drivers.iter().zip(&one).zip(&hundred) {
        let peak = |reports: &[Report]| of(reports, |report| report.peak_kb);
        let started = hundred.iter().map(|report| report.started).max().unwrap_or(0);
        println!(
            "| {} | {:.1} | {:.1} | {:.0} | {started} |",
            driver.name,
            peak(one) / 1024.0,
            peak(hundred) / 1024.0,
            (peak(hundred) - peak(one)) / f64::from(MANY_SESSIONS - 1)
        );
    }
    Ok(())
}

fn latency(place: &Place, drivers: &[Driver], repetitions: usize) -> Result<(), BenchError> {
    let own = place.own_start(repetitions * 3)?;
    let starts = place.rounds(drivers, &["start"], SMALL_DELTAS, repetitions * 3)?;
    let firsts = place.rounds(drivers, &["latency", LATENCY_TURNS], SMALL_DELTAS, repetitions)?;
    let first = |reports: &[Report]| of(reports, |report| report.first_us);
    let second = |reports: &[Report]| of(reports, |report| report.second_us);
    let warm = |reports: &[Report]| of(reports, |report| report.p50_ns);
    let floor = drivers::FLOOR;
    println!(
        "\nSpawn to ready (the stand-in itself takes {own:.0} µs of it), and a warm prompt to its first event:\n"
    );
    println!(
        "| program | first start µs | later start µs | overhead to the floor's: first, later | p50 µs | p99 µs | p50 to the floor |"
    );
    println!("|---|---|---|---|---|---|---|");
    for ((driver, start), latency) in drivers.iter().zip(&starts).zip(&firsts) {
        println!(
            "| {} | {:.0} | {:.0} | {:.2} ×, {:.2} × | {:.0} | {:.0} | {:.2} × |",
            driver.name,
            first(start),
            second(start),
            (first(start) - own) / (first(&starts[floor]) - own),
            (second(start) - own) / (second(&starts[floor]) - own),
            warm(latency) / 1000.0,
            of(latency, |report| report.p99_ns) / 1000.0,
            warm(latency) / warm(&firsts[floor]),
        );
    }
    Ok(())
}

fn of(reports: &[Report], figure: impl Fn(&Report) -> f64) -> f64 {
    median(reports.iter().map(figure))
}

fn file(doing: &str) -> impl FnOnce(std::io::Error) -> BenchError {
    let doing = doing.to_owned();
    move |source| BenchError::File { doing, source }
}
