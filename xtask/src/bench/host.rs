//! The host and its server: what clients wait for, and what they cost.
//!
//! The real `jackfield serve`, the stand-in as its CLI, and clients in a process of their own. The one rule it
//! keeps: what is lost or out of order is counted in every measurement, beside its figures.

pub(crate) mod load;

mod connection;
mod disk;
mod distance;
pub(crate) mod observed;
mod serving;
mod stored;
mod watcher;

use std::time::Duration;

use super::{BenchError, median};
use disk::Disk;
use load::Report;
use serving::{Place, Serving};

/// How long the paced turns take.
const PACED_SECONDS: u32 = 20;
const LIVE_SESSIONS: u32 = 50;
const LIVE_RATE: u32 = 100;
const CROWD: u32 = 1_000;
const CROWD_RATE: u32 = 20;
/// Deltas in a turn at full speed.
const FAST_DELTAS: u32 = 50_000;
const STORED_SESSIONS: u64 = 10_000;
/// Deltas in a turn of a little more than 100,000 events.
const LONG_DELTAS: u32 = 106_000;

/// Measures, prints.
pub(super) fn run(repetitions: usize) -> Result<(), BenchError> {
    let repetitions = repetitions.max(1);
    let place = Place::new()?;
    println!("\n## The host\n");
    paced(&place)?;
    deliveries(&place, repetitions)?;
    starting(&place, repetitions)?;
    opening(&place, repetitions)
}

fn paced(place: &Place) -> Result<(), BenchError> {
    println!("Turns of {PACED_SECONDS} s at a steady pace:\n");
    println!(
        "| load | events/s to clients | p50 ms | p99 ms | max ms | the disk alone: p50, p99, max ms | lost | doubled | CPU % | µs CPU / delivery | peak RSS MB |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|");
    let crowd = format!("{CROWD} clients on one session of {CROWD_RATE}/s");
    let live = format!("{LIVE_SESSIONS} sessions of {LIVE_RATE}/s, one client each");
    for (name, sessions, watchers, rate) in
        [(live, LIVE_SESSIONS, 1, LIVE_RATE), (crowd, 1, CROWD, CROWD_RATE)]
    {
        let variables = [
            ("FAKE_STAMP", 1.to_string()),
            ("FAKE_RATE", rate.to_string()),
            // One delta in ten is a tool's input, which has no stamp and is not paced.
            ("FAKE_DELTAS", (rate * PACED_SECONDS * 10 / 9).to_string()),
        ];
        let serving = Serving::start(place, &place.data(&name), &variables)?;
        let disk = Disk::watch(&place.data(&name)).map_err(serving::failed("write to the disk"))?;
        let report = serving.turn(sessions, watchers)?;
        let disk = disk.stop().map_err(serving::failed("write to the disk"))?;
        serving.stop()?;
        let of_disk = |percent: usize| {
            let at = (disk.len() * percent / 100).min(disk.len().saturating_sub(1));
            1e3 * disk.get(at).copied().unwrap_or_default().as_secs_f64()
        };
        let Report { deliveries, lost, doubled, wall_seconds, cpu_seconds, peak_megabytes, .. } = report;
        let count = count(deliveries);
        println!(
            "| {name} | {:.0} | {} | {} | {} | {:.2}, {:.2}, {:.2} | {lost} | {doubled} | {:.0} | {:.1} | {peak_megabytes:.1} |",
            count / wall_seconds,
            milliseconds(report.p50_us),
            milliseconds(report.p99_us),
            milliseconds(report.max_us),
            of_disk(50),
            of_disk(99),
            of_disk(100),
            100.0 * cpu_seconds / wall_seconds,
            1e6 * cpu_seconds / count,
        );
    }
    Ok(())
}

fn deliveries(place: &Place, repetitions: usize) -> Result<(), BenchError> {
    let crowds = [0, 1, 10, 100];
    let variables = [("FAKE_DELTAS", FAST_DELTAS.to_string())];
    let mut reports = vec![Vec::new(); crowds.len()];
    // The first round only warms the caches.
    for round in 0..=repetitions {
        for (watchers, reports) in crowds.into_iter().zip(&mut reports) {
            let serving = Serving::start(place, &place.data(&format!("{watchers}-{round}")), &variables)?;
            let report = serving.turn(1, watchers)?;
            serving.stop()?;
            if round > 0 {
                reports.push(report);
            }
        }
    }
    let cpu = |reports: &[Report]| median(reports.iter().map(|report| report.cpu_seconds));
    let unwatched = cpu(&reports[0]);
    println!("\nA turn of {FAST_DELTAS} deltas at full speed, {repetitions} repetitions, medians:\n");
    println!(
        "| watchers | CPU s | wall s | µs CPU / delivery, without the session's own | lost | doubled | peak RSS MB |"
    );
    println!("|---|---|---|---|---|---|---|");
    for (watchers, reports) in crowds.into_iter().zip(&reports) {
        let wall = median(reports.iter().map(|report| report.wall_seconds));
        let deliveries = median(reports.iter().map(|report| count(report.deliveries)));
        let sum = |of: fn(&Report) -> u64| reports.iter().map(of).sum::<u64>();
        let each = if watchers == 0 {
            "–".to_owned()
        } else {
            format!("{:.2}", 1e6 * (cpu(reports) - unwatched) / deliveries)
        };
        println!(
            "| {watchers} | {:.3} | {wall:.3} | {each} | {} | {} | {:.1} |",
            cpu(reports),
            sum(|report| report.lost),
            sum(|report| report.doubled),
            reports.iter().map(|report| report.peak_megabytes).fold(0.0, f64::max),
        );
    }
    Ok(())
}

fn starting(place: &Place, repetitions: usize) -> Result<(), BenchError> {
    let data = place.data("stored");
    stored::write(&data, STORED_SESSIONS)
        .map_err(|error| serving::failed("store sessions")(std::io::Error::other(error)))?;
    let (mut starts, mut lists) = (Vec::new(), Vec::new());
    for _ in 0..repetitions {
        let serving = Serving::start(place, &data, &[])?;
        starts.push(serving.started_in);
        lists.push(serving.load(&["list"])?.wall_seconds);
        serving.stop()?;
    }
    println!("\nA host with {STORED_SESSIONS} stored sessions, {repetitions} repetitions:\n");
    println!("| | median ms | slowest ms |");
    println!("|---|---|---|");
    print_times("from its start until it listens", starts.iter().map(Duration::as_secs_f64));
    print_times("then the first list of sessions", lists.into_iter());
    Ok(())
}

fn opening(place: &Place, repetitions: usize) -> Result<(), BenchError> {
    let data = place.data("long");
    let serving = Serving::start(place, &data, &[("FAKE_DELTAS", LONG_DELTAS.to_string())])?;
    let report = serving.turn(1, 1)?;
    serving.stop()?;
    let id = report.session.map(|id| id.as_str().to_owned()).unwrap_or_default();
    let (mut first, mut again, mut bytes) = (Vec::new(), Vec::new(), 0);
    for _ in 0..repetitions {
        let serving = Serving::start(place, &data, &[])?;
        first.push(serving.load(&["open", &id])?.wall_seconds);
        let report = serving.load(&["open", &id])?;
        again.push(report.wall_seconds);
        bytes = report.bytes;
        serving.stop()?;
    }
    println!(
        "\nThe first screen ({bytes} bytes) of a session of {} events, {repetitions} repetitions:\n",
        report.deliveries
    );
    println!("| | median ms | slowest ms |");
    println!("|---|---|---|");
    print_times("after a restart", first.into_iter());
    print_times("again", again.into_iter());
    Ok(())
}

fn print_times(name: &str, seconds: impl Iterator<Item = f64> + Clone) {
    let slowest = seconds.clone().fold(0.0, f64::max);
    println!("| {name} | {:.1} | {:.1} |", 1e3 * median(seconds), 1e3 * slowest);
}

fn milliseconds(microseconds: u32) -> String {
    format!("{:.2}", f64::from(microseconds) / 1e3)
}

fn count(events: u64) -> f64 {
    u32::try_from(events).map_or(f64::INFINITY, f64::from)
}
