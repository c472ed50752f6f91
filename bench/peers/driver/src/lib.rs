//! What every Rust driver of the benchmark does in the same way: start, say something, count, report.
//!
//! It knows no SDK; each driver is a [`Peer`]. It starts nothing itself. The one rule it keeps: the same clock,
//! the same counters and the same moments for everybody. `agent-sdk/driver.mjs` does the same for Node.
//!
//! `DRIVER turn CLAUDE SPIN` counts one turn, and spins for so many microseconds on each message; `DRIVER
//! sessions CLAUDE N` plays one turn in each of N sessions; `DRIVER start CLAUDE` waits until the CLI is ready;
//! `DRIVER latency CLAUDE N` plays N turns after some that only warm up. Each writes one line of JSON.

use std::error::Error;
use std::fs;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use nix::time::{ClockId, clock_gettime};
use tokio::task::JoinSet;

/// Turns that are not measured before those that are.
const WARMING: u32 = 20;

/// Whatever went wrong; the benchmark ends with it.
pub type Trouble = Box<dyn Error + Send + Sync>;

/// A session of one SDK.
pub trait Peer: Sized + Send + 'static {
    /// Starts the CLI and waits until it has answered `initialize`.
    fn start(claude: &Path) -> impl Future<Output = Result<Self, Trouble>> + Send;

    /// Says something and reads up to the result; calls `each` for every message that the SDK delivers.
    fn turn(&mut self, each: impl FnMut() + Send) -> impl Future<Output = Result<(), Trouble>> + Send;
}

/// Does what the command line says, and writes what it was like.
pub async fn run<P: Peer>() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    // On a thread of the runtime, as in a server; `main` has one of its own.
    let measured = tokio::spawn(async move { measure::<P>(&arguments).await }).await;
    match measured.map_err(Into::into).flatten() {
        Ok(report) => {
            println!("{report}");
            ExitCode::SUCCESS
        }
        Err(trouble) => {
            eprintln!("error: {trouble}");
            ExitCode::FAILURE
        }
    }
}

async fn measure<P: Peer>(arguments: &[String]) -> Result<String, Trouble> {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["turn", claude, spin] => turn::<P>(Path::new(claude), Duration::from_micros(spin.parse()?)).await,
        ["sessions", claude, count] => sessions::<P>(Path::new(claude), count.parse()?).await,
        ["start", claude] => start::<P>(Path::new(claude)).await,
        ["latency", claude, turns] => latency::<P>(Path::new(claude), turns.parse()?).await,
        _ => Err("usage: turn CLAUDE SPIN | sessions CLAUDE N | start CLAUDE | latency CLAUDE N".into()),
    }
}

async fn turn<P: Peer>(claude: &Path, spin: Duration) -> Result<String, Trouble> {
    let mut peer = P::start(claude).await?;
    let (cpu, begun) = (processor_time()?, Instant::now());
    let mut messages = 0_u64;
    let each = || {
        messages += 1;
        if !spin.is_zero() {
            let until = Instant::now() + spin;
            while Instant::now() < until {
                std::hint::spin_loop();
            }
        }
    };
    peer.turn(each).await?;
    let (cpu, wall) = (processor_time()? - cpu, begun.elapsed());
    let peak = memory("VmHWM:")?;
    Ok(format!(
        r#"{{"messages":{messages},"cpu_us":{},"wall_us":{},"peak_kb":{peak}}}"#,
        cpu.as_micros(),
        wall.as_micros()
    ))
}

async fn sessions<P: Peer>(claude: &Path, count: usize) -> Result<String, Trouble> {
    let mut peers = Vec::new();
    for _ in 0..count {
        peers.push(P::start(claude).await?);
    }
    let idle = memory("VmRSS:")?;
    let mut playing = JoinSet::new();
    for mut peer in peers {
        playing.spawn(async move { peer.turn(|| {}).await.map(|()| peer) });
    }
    let mut played = Vec::new();
    while let Some(peer) = playing.join_next().await {
        played.push(peer??);
    }
    let (used, peak) = (memory("VmRSS:")?, memory("VmHWM:")?);
    Ok(format!(r#"{{"idle_kb":{idle},"used_kb":{used},"peak_kb":{peak}}}"#))
}

async fn start<P: Peer>(claude: &Path) -> Result<String, Trouble> {
    let begun = Instant::now();
    let _peer = P::start(claude).await?;
    let first = begun.elapsed();
    let begun = Instant::now();
    let _peer = P::start(claude).await?;
    let second = begun.elapsed();
    Ok(format!(r#"{{"first_us":{},"second_us":{}}}"#, first.as_micros(), second.as_micros()))
}

async fn latency<P: Peer>(claude: &Path, turns: u32) -> Result<String, Trouble> {
    let mut peer = P::start(claude).await?;
    let mut firsts = Vec::new();
    for number in 0..WARMING + turns {
        let begun = Instant::now();
        let mut first = None;
        peer.turn(|| _ = first.get_or_insert_with(|| begun.elapsed())).await?;
        if number >= WARMING {
            firsts.push(first.ok_or("a turn without a message")?);
        }
    }
    firsts.sort_unstable();
    let at = |part: usize| firsts.get(firsts.len() * part / 100).map_or(0, Duration::as_nanos);
    Ok(format!(r#"{{"p50_ns":{},"p99_ns":{}}}"#, at(50), at(99)))
}

/// What all threads of this process have had, without its children.
fn processor_time() -> Result<Duration, Trouble> {
    Ok(clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID)?.into())
}

/// A line of this process's status, in kilobytes.
fn memory(line: &str) -> Result<u64, Trouble> {
    let status = fs::read_to_string(PathBuf::from("/proc/self/status"))?;
    let value = status.lines().find_map(|found| found.strip_prefix(line)).ok_or("no such line")?;
    Ok(value.trim().trim_end_matches(" kB").parse()?)
}
