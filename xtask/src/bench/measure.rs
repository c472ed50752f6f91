//! One run of one program over the stream: processor time, time on the wall, peak memory.
//!
//! The processor time is what the kernel counted for the program alone; the stand-in that feeds it is waited for
//! only afterwards and so is not in it. The one rule it keeps: nothing of ours runs beside the program but a
//! look at its memory every few milliseconds.

use std::fs;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};

use super::stream::Stream;
use super::{BenchError, Subject};
use crate::process;

/// The figures of one run.
#[derive(Debug, Clone, Copy)]
pub(super) struct Run {
    pub(super) cpu_seconds: f64,
    pub(super) wall_seconds: f64,
    pub(super) peak_megabytes: f64,
}

/// Feeds the stream to the program, once.
pub(super) fn once(stream: &Stream, subject: &Subject, deltas: u32) -> Result<Run, BenchError> {
    let mut source = stream.start(deltas)?;
    let input = source.stdout.take().map_or_else(Stdio::null, Stdio::from);
    let mut command = Command::new(&subject.program);
    command.args(subject.arguments).stdin(input).stdout(Stdio::null());

    let cpu_before = children_seconds()?;
    let begun = Instant::now();
    let mut child = command.spawn().map_err(|source| process::not_started(&command, source))?;
    let ended = AtomicBool::new(false);
    let pid = child.id();
    let (status, peak) = thread::scope(|scope| {
        let watch = scope.spawn(|| {
            let mut peak = 0.0;
            while !ended.load(Ordering::Relaxed) {
                peak = peak_megabytes(pid).unwrap_or(peak);
                thread::park_timeout(Duration::from_millis(2));
            }
            peak
        });
        let status = child.wait();
        ended.store(true, Ordering::Relaxed);
        (status, watch.join().unwrap_or(0.0))
    });
    let wall_seconds = begun.elapsed().as_secs_f64();
    let cpu_seconds = children_seconds()? - cpu_before;

    let waited = |source| BenchError::File { doing: format!("wait for {}", subject.name), source };
    process::succeeded(&command, status.map_err(waited)?)?;
    source.wait().map_err(waited)?;
    Ok(Run { cpu_seconds, wall_seconds, peak_megabytes: peak })
}

/// Processor time of all children that were waited for.
fn children_seconds() -> Result<f64, BenchError> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).map_err(|error| BenchError::File {
        doing: "ask for processor times".to_owned(),
        source: error.into(),
    })?;
    let seconds = |time: nix::sys::time::TimeVal| {
        let time = Duration::from_secs(time.tv_sec().unsigned_abs())
            + Duration::from_micros(time.tv_usec().unsigned_abs());
        time.as_secs_f64()
    };
    Ok(seconds(usage.user_time()) + seconds(usage.system_time()))
}

/// The most memory that a process has had so far; of its own program, not of us before it became that.
pub(super) fn peak_megabytes(pid: u32) -> Option<f64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kilobytes: f64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kilobytes / 1024.0)
}
