//! Dictation: how long understanding takes, how soon the first words are there, and what it costs when nobody speaks.
//!
//! Debian's `espeak-ng` speaks, as fast as a person would. The one rule it keeps: what is counted is the recogniser's
//! process alone, all of its threads together, as if it had one core.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use jackfield_speech::{Engine, Heard, Interims, Speech, Surroundings, Wanted, resample, wav};
use jackfield_testkit::programs;
use tokio::time::Instant;

use super::measure::peak_megabytes;
use super::{BenchError, median};
use crate::{process, workspace};

/// What is spoken.
const PROMPTS: [&str; 6] = [
    "run the tests and show me what fails",
    "please open the configuration file and explain what it does",
    "make the error message say which file was not found",
    "use a lock here, because two threads may write at the same time",
    "how long does it take to start the program",
    "create a new branch, commit the changes, and push them",
];
/// A tenth of a second, as a microphone has it.
const PORTION: usize = 3_200;
/// Bytes of a second of sound.
const SECOND: f64 = 32_000.0;
/// How long a recogniser that nobody needs is kept here.
const IDLE: Duration = Duration::from_millis(200);

/// What came of one prompt.
struct Figures {
    sound: f64,
    /// What the engine's loading took, if it was not loaded.
    loading: f64,
    /// What understanding took.
    cpu: f64,
    first: f64,
    last: f64,
    peak: f64,
}

/// Builds the recogniser, measures, prints.
pub(super) fn run(repetitions: usize) -> Result<(), BenchError> {
    let mut build = workspace::cargo();
    process::run(build.args(["build", "--release", "--locked", "--package", "jackfield-speech"]))?;
    let runtime =
        tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(file("start a runtime"))?;
    let sounds: Vec<Vec<u8>> = PROMPTS.iter().map(|prompt| spoken(prompt)).collect::<Result<_, _>>()?;
    let (mut cold, mut live, mut whole) = (Vec::new(), Vec::new(), Vec::new());
    let mut left = 0;
    for _ in 0..repetitions.max(1) {
        let speech = speech();
        for (number, sound) in sounds.iter().enumerate() {
            let figures = runtime.block_on(dictated(&speech, sound, Interims::Told))?;
            if number == 0 { cold.push(figures) } else { live.push(figures) }
        }
        for sound in &sounds {
            whole.push(runtime.block_on(dictated(&speech, sound, Interims::Unwanted))?);
        }
        runtime.block_on(async { tokio::time::sleep(IDLE * 5).await });
        left += speech.waiting().len();
    }
    let share = |all: &[Figures]| {
        all.iter().map(|one| one.cpu).sum::<f64>() / all.iter().map(|one| one.sound).sum::<f64>()
    };
    println!("\n## Dictation, {} prompts, {} repetitions, medians\n", PROMPTS.len(), repetitions.max(1));
    println!(
        "| | CPU to the length of the sound | limit | first words after the first sound | limit | text after the last sound |"
    );
    println!("|---|---|---|---|---|---|");
    for (name, all) in
        [("the first sentence, said while the engine loads", &cold), ("spoken, shown as it is spoken", &live)]
    {
        let (first, last) = (median(all.iter().map(|one| one.first)), median(all.iter().map(|one| one.last)));
        println!("| {name} | {:.3} | 0.2 | {first:.2} s | 1 s | {last:.2} s |", share(all));
    }
    let last = median(whole.iter().map(|one| one.last));
    println!("| the same as files | {:.3} | 0.2 | – | – | {last:.2} s |", share(&whole));
    let peak = live.iter().chain(&cold).map(|one| one.peak).fold(0.0, f64::max);
    println!(
        "\nThe loading of the engine takes {:.2} s of processor time, once, which is in none of the figures.",
        median(cold.iter().map(|one| one.loading))
    );
    println!(
        "\nThe recogniser's process has {peak:.0} MB at most while somebody speaks; {left} processes were left \
         {} ms after the last sentence.",
        (IDLE * 5).as_millis()
    );
    Ok(())
}

fn speech() -> Speech {
    let folder = programs::speech_folder();
    let wanted = Wanted { engine: Some(Engine::Moonshine), library: None, model: None, folder };
    let recognizer: PathBuf = workspace::cargo_target().join("release").join("recognizer");
    Speech::new(wanted, "en", Surroundings { process: vec![recognizer.into()], idle: IDLE })
}

/// One prompt: at the pace at which it is spoken if words are shown meanwhile, else at once.
async fn dictated(speech: &Speech, sound: &[u8], interims: Interims) -> Result<Figures, BenchError> {
    let failed = |error: jackfield_speech::SpeechError| BenchError::File {
        doing: "dictate".to_owned(),
        source: std::io::Error::other(error),
    };
    // Its processor time has that of the prompts before in it, unless it is new.
    let before = speech.waiting().first().map_or(0.0, |&pid| cpu_seconds(pid));
    let mut utterance = speech.begin(None, interims).await.map_err(failed)?;
    let pid = utterance.process().unwrap_or_default();
    let begun = Instant::now();
    let (mut first, mut loading) = (None, 0.0);
    for (number, portion) in (1_u32..).zip(sound.chunks(PORTION)) {
        if interims == Interims::Told {
            // A portion is there when it has been spoken.
            let due = begun + Duration::from_millis(100) * number;
            while let Ok(heard) = tokio::time::timeout_at(due, utterance.next()).await {
                match heard.map_err(failed)? {
                    Heard::Ready => loading = cpu_seconds(pid) - before,
                    Heard::Interim(_) => first = first.or(Some(begun.elapsed().as_secs_f64())),
                    Heard::Final(_) => {}
                }
            }
        }
        utterance.hear(portion).await.map_err(failed)?;
    }
    let said = Instant::now();
    let (mut cpu, mut peak) = (0.0, 0.0);
    utterance.end().await;
    while !matches!(utterance.next().await.map_err(failed)?, Heard::Final(_)) {}
    let last = said.elapsed().as_secs_f64();
    if speech.waiting().contains(&pid) {
        cpu = cpu_seconds(pid) - before - loading;
        peak = peak_megabytes(pid).unwrap_or_default();
    }
    #[allow(clippy::cast_precision_loss)]
    let sound = sound.len() as f64 / SECOND;
    Ok(Figures { sound, loading, cpu, first: first.unwrap_or(sound), last, peak })
}

/// What all threads of a process have had of a processor.
fn cpu_seconds(pid: u32) -> f64 {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let nanoseconds = tasks.filter_map(|task| {
        let text = fs::read_to_string(task.path().join("schedstat")).ok()?;
        text.split_whitespace().next()?.parse::<f64>().ok()
    });
    nanoseconds.sum::<f64>() / 1e9
}

/// What `espeak-ng` makes of a text, as a recogniser takes it.
fn spoken(text: &str) -> Result<Vec<u8>, BenchError> {
    let mut espeak = Command::new("espeak-ng");
    espeak.args(["-v", "en-us", "--stdout", "-s", "150", text]);
    let output = espeak.output().map_err(|source| process::not_started(&espeak, source))?;
    process::succeeded(&espeak, output.status)?;
    let sound = wav::read(&output.stdout).map_err(|error| BenchError::File {
        doing: "read speech".to_owned(),
        source: std::io::Error::other(error),
    })?;
    Ok(resample::to_bytes(&resample::to_16k(&sound.samples, sound.rate)))
}

fn file(doing: &str) -> impl FnOnce(std::io::Error) -> BenchError {
    let doing = doing.to_owned();
    move |source| BenchError::File { doing, source }
}
