//! What watching a host costs: the same turn with everything off and with everything on.
//!
//! Off means no traces, no figures, no log, no debug files; on means all of them, with what was said in the spans and a
//! collector that takes them. Beside them stands what the system alone takes for as many bytes as the debug files have.
//! The one rule it keeps: all are measured in turns and compared round by round, because the machine is never the same
//! twice.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use nix::time::ClockId;

use super::distance;
use super::serving::{self, Place, Serving};
use crate::bench::{BenchError, median};
use crate::process;

const OFF: &str = "[log]\nlevel = \"off\"\n[metrics]\nenabled = false\n";
const ON: &str = "[log]\nlevel = \"info\"\n[metrics]\nenabled = true\n[traces]\npayloads = true\n\
                  [debug]\nagent_messages = true\n";
/// Everything but the debug files, which write all that is said a second and a third time.
const WITHOUT_FILES: &str = "[log]\nlevel = \"info\"\n[metrics]\nenabled = true\n[traces]\npayloads = true\n";

/// The parts of the program that only watch, as a profile names their functions, and their files where they are a part
/// of somebody else's function.
const WATCHING: [&str; 15] = [
    "jackfield_observe::",
    "jackfield-observe/src/",
    "channel::observed",
    "channel/observed.rs",
    "channel::debug_lines",
    "channel/debug_lines.rs",
    "channel::watcher",
    "channel/watcher.rs",
    "jackfield_host::said",
    "jackfield-host/src/said.rs",
    "debug_files",
    "jackfield-sdk/src/journal.rs",
    "jackfield-sdk/src/basket.rs",
    "jackfield-core/src/journal",
    "jackfield-wire/src/piece.rs",
];
/// Deltas in the turns that are measured: those of the stream that every figure of the yardstick is about.
const DELTAS: u32 = 200_000;
/// How much is written at once where only writing is measured.
const PIECE: usize = 256 * 1024;
/// More than a turn writes to files.
const WARM: u64 = 256 * 1024 * 1024;
/// Deltas in the turns under valgrind.
const COUNTED: [u32; 2] = [2_000, 12_000];

/// Measures, prints.
pub(crate) fn run(repetitions: usize) -> Result<(), BenchError> {
    let place = Place::new()?;
    let collector = Collector::begin().map_err(serving::failed("listen as a collector"))?;
    // What is looked for is smaller than what one turn differs from the next by.
    let rounds = 2 * repetitions.max(1) + 1;
    println!("\n## Watching the host\n");
    println!(
        "A turn of {DELTAS} deltas at full speed, {rounds} rounds; medians of the rounds, each compared with"
    );
    println!(
        "everything off in its own, and the least of each, which what else the machine does has disturbed the"
    );
    println!("least. Each is the second turn of its process. The limit of everything on is 15 %.");
    for (who, followers) in [("Nobody follows the session", 0), ("One client follows it", 1)] {
        println!("\n{who}:\n");
        turns(&place, &collector, rounds, followers)?;
    }
    println!(
        "\n{} requests with spans were taken by the collector.",
        collector.taken.load(Ordering::Relaxed)
    );
    instructions(&place, &collector)
}

/// Measures turns that so many clients follow, prints.
fn turns(place: &Place, collector: &Collector, rounds: usize, followers: u32) -> Result<(), BenchError> {
    let cases = [("everything off", OFF), ("without debug files", WITHOUT_FILES), ("everything on", ON)];
    let mut seconds = vec![Vec::new(); cases.len()];
    let (mut writing, mut megabytes) = (Vec::new(), 0.0);
    let mut apart = Vec::new();
    // The first round only warms the caches.
    for round in 0..=rounds {
        for (at, (name, config)) in cases.into_iter().enumerate() {
            let variables = variables(place, name, config, collector, DELTAS)?;
            let data = place.data(&format!("{followers}-{at}-{round}"));
            let serving = Serving::start(place, &data, &variables)?;
            // A host lives for days. What only its first turn takes, the memory that it touches for the first time above
            // all, would be a part of the one figure and as large in the other.
            serving.turn(1, followers)?;
            serving.until_quiet()?;
            apart.extend(distance::between_cores());
            // A virtual machine gets memory when it is first touched, which takes many times as long as to write to it,
            // and gives back what is free. That is not the host's work; so for each turn there is memory that was
            // touched just before, and it is free again behind it.
            written(&place.data("warm"), WARM).map_err(serving::failed("write a file"))?;
            let report = serving.turn(1, followers)?;
            serving.stop()?;
            if round > 0 {
                seconds[at].push(report.cpu_seconds);
            }
            if config == ON {
                // Those of both turns, which are alike.
                let bytes = debugged(&data).map_err(serving::failed("look at the debug files"))? / 2;
                let took = written(&place.data("written"), bytes).map_err(serving::failed("write a file"))?;
                writing.push(took.as_secs_f64());
                #[allow(clippy::cast_precision_loss, reason = "some megabytes")]
                let size = bytes as f64 / 1e6;
                megabytes = size;
            }
            fs::remove_dir_all(&data).map_err(serving::failed("remove a folder"))?;
        }
    }
    println!("| | CPU s | to everything off | least CPU s | to everything off |");
    println!("|---|---|---|---|---|");
    let least = |seconds: &[f64]| seconds.iter().copied().fold(f64::INFINITY, f64::min);
    let (off, least_off) = (median(seconds[0].iter().copied()), least(&seconds[0]));
    for ((name, _), took) in cases.into_iter().zip(&seconds) {
        let ratio = median(took.iter().zip(&seconds[0]).map(|(took, off)| took / off));
        let (took, least) = (median(took.iter().copied()), least(took));
        println!(
            "| {name} | {took:.3} | {:+.1} % | {least:.3} | {:+.1} % |",
            100.0 * (ratio - 1.0),
            100.0 * (least / least_off - 1.0)
        );
    }
    let writing = median(writing.iter().copied());
    println!(
        "| the system alone, for {megabytes:.0} MB of debug files | {writing:.3} | {:+.1} % | | |",
        100.0 * writing / off
    );
    if let (Some(least), Some(most)) = (apart.iter().min(), apart.iter().max()) {
        let typical = median(apart.iter().map(Duration::as_secs_f64));
        println!(
            "\nFrom one core to the other a word took {:.0} ns ({} to {}).",
            1e9 * typical,
            least.as_nanos(),
            most.as_nanos()
        );
    }
    Ok(())
}

/// How many bytes the debug files have.
fn debugged(data: &Path) -> std::io::Result<u64> {
    fs::read_dir(data.join("debug"))?.map(|file| Ok(file?.metadata()?.len())).sum()
}

/// The processor time of writing so many bytes and doing nothing else.
fn written(path: &Path, bytes: u64) -> std::io::Result<Duration> {
    let piece = vec![b'x'; PIECE];
    let mut file = fs::File::create(path)?;
    // Of this thread alone: others take spans.
    let begun = ClockId::CLOCK_THREAD_CPUTIME_ID.now()?;
    let mut left = bytes;
    while left > 0 {
        let now = usize::try_from(left).unwrap_or(PIECE).min(PIECE);
        file.write_all(&piece[..now])?;
        left = left.saturating_sub(u64::try_from(now).unwrap_or(u64::MAX));
    }
    let took = Duration::from(ClockId::CLOCK_THREAD_CPUTIME_ID.now()?).saturating_sub(Duration::from(begun));
    fs::remove_file(path)?;
    Ok(took)
}

/// How many instructions of a turn with everything off are in parts that only watch.
fn instructions(place: &Place, collector: &Collector) -> Result<(), BenchError> {
    let [few, many] = COUNTED;
    let (less, more) = (counted(place, collector, few)?, counted(place, collector, many)?);
    #[allow(clippy::cast_precision_loss, reason = "instructions of a turn fit")]
    let each = |less: u64, more: u64| more.saturating_sub(less) as f64 / f64::from(many - few);
    let (whole, watching) = (each(less.0, more.0), each(less.1, more.1));
    println!(
        "\nEverything off, instructions of the host per delta (callgrind): {whole:.0}; of these in parts that only"
    );
    println!("watch: {watching:.1} ({:.2} %).", 100.0 * watching / whole);
    Ok(())
}

/// All instructions of a turn, and those in parts that only watch.
fn counted(place: &Place, collector: &Collector, deltas: u32) -> Result<(u64, u64), BenchError> {
    let profile = place.data(&format!("profile-{deltas}"));
    let variables = variables(place, "everything off", OFF, collector, deltas)?;
    let serving = Serving::start_under(
        place,
        &place.data(&format!("counted-{deltas}")),
        &variables,
        &["valgrind", "--quiet", "--tool=callgrind", &format!("--callgrind-out-file={}", profile.display())],
    )?;
    serving.turn(1, 0)?;
    serving.stop()?;
    let mut annotate = Command::new("callgrind_annotate");
    annotate.args(["--auto=no", "--threshold=100", "--inclusive=no", "--show-percs=no"]).arg(&profile);
    let written = process::capture(&mut annotate)?;
    let mut all = 0;
    let mut watching = 0;
    for line in written.lines() {
        let Some((number, rest)) = line.trim_start().split_once(' ') else { continue };
        let Ok(number) = number.replace(',', "").parse::<u64>() else { continue };
        if rest.contains("PROGRAM TOTALS") {
            all = number;
        } else if WATCHING.iter().any(|part| rest.contains(part)) {
            watching += number;
        }
    }
    if all == 0 {
        return Err(BenchError::Missing { what: "the total", place: "the profile of valgrind".to_owned() });
    }
    Ok((all, watching))
}

fn variables(
    place: &Place,
    name: &str,
    config: &str,
    collector: &Collector,
    deltas: u32,
) -> Result<Vec<(&'static str, String)>, BenchError> {
    let file: PathBuf = place.data(&format!("{}.toml", name.replace(' ', "-")));
    fs::write(&file, config).map_err(serving::failed("write a configuration"))?;
    let mut variables =
        vec![("FAKE_DELTAS", deltas.to_string()), ("JACKFIELD_CONFIG", file.to_string_lossy().into_owned())];
    if config != OFF {
        variables.push(("OTEL_EXPORTER_OTLP_ENDPOINT", format!("http://{}", collector.address)));
    }
    Ok(variables)
}

/// Somebody who takes spans and looks at none of them.
struct Collector {
    address: std::net::SocketAddr,
    taken: Arc<AtomicU64>,
}

impl Collector {
    fn begin() -> std::io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let taken = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&taken);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let counted = Arc::clone(&counted);
                // One that breaks off is missing in the count.
                thread::spawn(move || drop(take(stream, &counted)));
            }
        });
        Ok(Self { address, taken })
    }
}

/// Takes requests until there are no more.
fn take(mut stream: TcpStream, taken: &AtomicU64) -> std::io::Result<()> {
    let mut bytes = Vec::new();
    loop {
        let end = loop {
            if let Some(at) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
                break at + 4;
            }
            if !more(&mut stream, &mut bytes)? {
                return Ok(());
            }
        };
        let head = String::from_utf8_lossy(&bytes[..end]).to_ascii_lowercase();
        let length =
            head.lines().find_map(|line| line.strip_prefix("content-length:")?.trim().parse::<usize>().ok());
        let whole = end + length.unwrap_or(0);
        while bytes.len() < whole {
            if !more(&mut stream, &mut bytes)? {
                return Ok(());
            }
        }
        bytes.drain(..whole);
        taken.fetch_add(1, Ordering::Relaxed);
        stream.write_all(
            b"HTTP/1.1 200 OK\r\ncontent-type: application/x-protobuf\r\ncontent-length: 0\r\n\r\n",
        )?;
    }
}

fn more(stream: &mut TcpStream, held: &mut Vec<u8>) -> std::io::Result<bool> {
    let mut bytes = [0; 16 * 1024];
    let read = stream.read(&mut bytes)?;
    held.extend_from_slice(&bytes[..read]);
    Ok(read > 0)
}
