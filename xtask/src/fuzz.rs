//! `cargo xtask fuzz`: inputs that nobody thought of, for the decoder and for the session machine.
//!
//! With a nightly toolchain and `cargo-fuzz` the engine looks for new paths, from the corpus and from the
//! recordings on; with neither, the same harness is fed with blind mutations, which is what the stable
//! toolchain allows. What the engine finds on its way stays in the build folder, and an input that breaks
//! something in `fuzz/artifacts`, from where it goes into `fuzz/corpus` by hand, with the mend. The one rule
//! it keeps: it says which of the two it does, and with which seed.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};

use clap::Args;
use jackfield_testkit::recordings::{self, Direction, Recorded, Recording, RecordingError};

use crate::process::{self, ProcessError};
use crate::workspace;

/// Lines longer than this are lists of tools and the like: they slow the engine and tell it little.
const LINE_AT_MOST: usize = 1536;
/// Inputs longer than this are too slow to be tried often.
const INPUT_AT_MOST: usize = 4096;
/// The fuzz targets.
const TARGETS: [&str; 2] = ["decode", "session"];

/// How long, and from where.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// For how many seconds, each target
    #[arg(default_value_t = 60)]
    seconds: u64,
    /// Begin with this seed; by default the time tells one
    #[arg(long)]
    seed: Option<u32>,
}

/// Why the fuzzer did not run, or what it found.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FuzzError {
    /// A program failed: it did not start, or it found something.
    #[error(transparent)]
    Process(#[from] ProcessError),
    /// The recordings could not be read.
    #[error(transparent)]
    Recording(#[from] RecordingError),
    /// The seeds could not be written.
    #[error("cannot write the seeds: {0}")]
    Seeds(#[from] io::Error),
}

/// Runs both targets.
pub(crate) fn run(arguments: &Arguments) -> Result<(), FuzzError> {
    let now = || SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |time| time.subsec_nanos());
    let seed = arguments.seed.unwrap_or_else(now).max(1);
    if has_engine() {
        println!("fuzzing with the nightly toolchain, {} s each, seed {seed}", arguments.seconds);
        let seeds = tempfile::tempdir()?;
        for target in TARGETS {
            with_engine(target, seeds.path(), arguments.seconds, seed)?;
        }
    } else {
        println!(
            "no nightly toolchain with cargo-fuzz: blind mutations on stable, {} s, seed {seed}",
            arguments.seconds
        );
        let mut test = workspace::cargo();
        test.args(["test", "--package", "jackfield-core", "--test", "it", "--locked", "--"])
            .args(["--exact", "corpus::mutations_of_the_corpus_hold_too", "--nocapture"])
            .env("JACKFIELD_FUZZ_SECONDS", arguments.seconds.to_string())
            .env("JACKFIELD_FUZZ_SEED", seed.to_string());
        process::run(&mut test)?;
    }
    Ok(())
}

fn has_engine() -> bool {
    let mut ask = nightly();
    ask.args(["fuzz", "--version"]).stdout(Stdio::null()).stderr(Stdio::null());
    ask.status().is_ok_and(|status| status.success())
}

fn with_engine(target: &str, seeds: &Path, seconds: u64, seed: u32) -> Result<(), FuzzError> {
    let folder = seeds.join(target);
    fs::create_dir_all(&folder)?;
    for recording in recordings::all()? {
        let name = recording.name.replace('/', "-");
        for (number, input) in inputs(&recording, target).iter().enumerate() {
            fs::write(folder.join(format!("{name}-{number}")), input)?;
        }
    }
    let found = workspace::cargo_target().join("fuzz").join(target);
    fs::create_dir_all(&found)?;
    let corpus: PathBuf = ["corpus", target].iter().collect();
    let mut engine = nightly();
    engine.args(["fuzz", "run", "--fuzz-dir", ".", target]).args([&found, &corpus, &folder]).arg("--");
    engine.args([format!("-max_total_time={seconds}"), format!("-seed={seed}")]);
    engine.args([
        format!("-max_len={INPUT_AT_MOST}"),
        "-dict=wire.dict".to_owned(),
        "-timeout=10".to_owned(),
    ]);
    Ok(process::run(&mut engine)?)
}

/// `cargo` of the nightly toolchain, in the folder of the fuzz targets.
fn nightly() -> Command {
    let mut command = Command::new("rustup");
    command.args(["run", "nightly", "cargo"]).current_dir(workspace::root().join("fuzz"));
    command
}

/// A recording as inputs of a target: plain lines, or scripts (see `fuzz/src/harness/script.rs`).
fn inputs(recording: &Recording, target: &str) -> Vec<String> {
    let mut inputs = vec![String::new()];
    for recorded in recording.lines.iter().filter(|recorded| recorded.line.len() <= LINE_AT_MOST) {
        let line = match (target, recorded.dir) {
            ("decode", Direction::In | Direction::Out) => recorded.line.clone(),
            ("session", Direction::Out) => format!("o{}", recorded.line),
            ("session", Direction::In) => format!("i{}", recorded.line),
            ("session", Direction::Err) => format!("e{}", recorded.line),
            ("session", Direction::Meta) => meta(recorded).to_owned(),
            _ => continue,
        };
        if inputs.last().is_none_or(|input| input.len() + line.len() >= INPUT_AT_MOST) {
            inputs.push(String::new());
        }
        if let Some(input) = inputs.last_mut() {
            input.push_str(&line);
            input.push('\n');
        }
    }
    inputs
}

fn meta(recorded: &Recorded) -> &'static str {
    let says = |word: &str| recorded.line.contains(word);
    match () {
        () if says("\"spawn\"") => "s",
        () if says("\"stdin\"") => "q",
        () if says("\"signal\"") => "K",
        () if says("\"exit\"") => "x0",
        () => "w100",
    }
}
