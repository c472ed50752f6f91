//! The chaos run: the shipped program on three stages at once, for so many minutes.
//!
//! On each stage a server drives many sessions of one agent: the real CLI in both pinned versions, and `fake-claude`.
//! The seed decides what is said and what is done to whom; how fast it all goes is up to the machine, so a seed
//! repeats the mixture and not the moment. The one rule it keeps: it ends by itself, leaves nothing behind but what a
//! violation is to be judged by, and a violation on any stage is an error of the whole.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jackfield_testkit::cli::{Cli, PINNED_VERSIONS};
use tempfile::TempDir;
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::Instant;

use super::agents::Agent;
use super::dice::Dice;
use super::figures::Figures;
use super::play;
use super::stage::{Disk, Stage};
use super::violation::{Checked, Violation, cannot};
use super::{Chaos, SoakError};
use crate::{process, workspace};

/// Runs it.
pub(super) fn run(chaos: &Chaos) -> Result<(), SoakError> {
    let programs = Programs::take(chaos.programs.as_deref())?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(cannot("start a runtime"))?;
    println!("seed {}: {} minutes", chaos.seed, chaos.minutes);
    let broken = runtime.block_on(stages(chaos, &programs))?;
    // Whatever was left waiting for a client that is gone.
    runtime.shutdown_timeout(Duration::from_secs(5));
    if broken.is_empty() {
        println!("seed {}: nothing lost, nothing doubled, nothing left behind", chaos.seed);
        return Ok(());
    }
    Err(SoakError::Broken { seed: chaos.seed, minutes: chaos.minutes, violations: broken.join("; ") })
}

async fn stages(chaos: &Chaos, programs: &Programs) -> Result<Vec<String>, SoakError> {
    let until = Instant::now() + Duration::from_secs(60 * chaos.minutes);
    let mut dice = Dice::new(chaos.seed);
    let mut playing = Vec::new();
    for agent in programs.agents()? {
        let (dice, program, seed) = (dice.split(), programs.jackfield.clone(), chaos.seed);
        playing.push(tokio::spawn(one(agent, program, dice, until, seed)));
    }
    let mut interrupted = signal(SignalKind::interrupt()).map_err(cannot("listen for signals"))?;
    let mut terminated = signal(SignalKind::terminate()).map_err(cannot("listen for signals"))?;
    let mut broken = Vec::new();
    let mut playing = playing.into_iter();
    while let Some(mut stage) = playing.next() {
        let ended = tokio::select! {
            played = &mut stage => Some(played),
            _ = interrupted.recv() => None,
            _ = terminated.recv() => None,
        };
        let Some(played) = ended else {
            // A stage that is dropped takes everything of it along.
            std::iter::once(stage).chain(playing).for_each(|stage| stage.abort());
            return Err(Violation::new("it was asked to end").into());
        };
        let (name, figures, played) = played.map_err(cannot("play"))?;
        println!("{name}:\n{figures}");
        if let Err(violation) = played {
            println!("  VIOLATION: {violation}");
            broken.push(format!("{name}: {violation}"));
        }
    }
    Ok(broken)
}

async fn one(
    agent: Agent,
    jackfield: PathBuf,
    dice: Dice,
    until: Instant,
    seed: u64,
) -> (String, Figures, Checked) {
    let name = agent.name().to_owned();
    let mut figures = Figures::default();
    let played = async {
        let stage = Stage::new(agent, jackfield).await?;
        if stage.disk() == Disk::Shared {
            println!("{name}: not run: filling the disk (needs root)");
        }
        let played = play::play(&stage, dice, until, &mut figures).await;
        if let Err(violation) = &played {
            println!("{name}: VIOLATION: {violation}");
            keep(&stage, seed)?;
        }
        played
    };
    let played = played.await;
    (name, figures, played)
}

/// Keeps what a violation can be judged by.
fn keep(stage: &Stage, seed: u64) -> Checked {
    let folder = workspace::cargo_target().join("soak").join(format!("{seed}-{}", stage.agent.name()));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).map_err(cannot("keep what was found"))?;
    stage.make_room();
    let found = [stage.data.clone(), stage.log(), stage.records()];
    let mut copy = std::process::Command::new("cp");
    copy.arg("-r").args(found.into_iter().filter(|path| path.exists())).arg(&folder);
    process::run(&mut copy).map_err(cannot("keep what was found"))?;
    println!("{}: kept in {}", stage.agent.name(), folder.display());
    Ok(())
}

/// The programs, in a folder of their own: what is built in the meantime is another program.
struct Programs {
    _folder: TempDir,
    jackfield: PathBuf,
    fake: PathBuf,
}

impl Programs {
    /// Those in a folder, or the newest.
    fn take(given: Option<&Path>) -> Result<Self, SoakError> {
        let target = workspace::cargo_target();
        let (release, debug) = if let Some(folder) = given {
            (folder.to_owned(), folder.to_owned())
        } else {
            let build =
                |words: &[&str]| process::run(workspace::cargo().arg("build").arg("--locked").args(words));
            build(&["--release", "--package", "jackfield"])?;
            build(&["--package", "jackfield-testkit", "--bin", "fake-claude"])?;
            (target.join("release"), target.join("debug"))
        };
        let folder = tempfile::tempdir().map_err(cannot("make a folder for programs"))?;
        let take = |from: &Path, name: &str| -> Result<PathBuf, Violation> {
            let to = folder.path().join(name);
            fs::copy(from.join(name), &to).map_err(cannot(&format!("take {name}")))?;
            Ok(to)
        };
        let (jackfield, fake) = (take(&release, "jackfield")?, take(&debug, "fake-claude")?);
        Ok(Self { _folder: folder, jackfield, fake })
    }

    fn agents(&self) -> Result<Vec<Agent>, SoakError> {
        let mut agents = vec![Agent::Fake { program: self.fake.clone() }];
        for version in PINNED_VERSIONS {
            let program = Cli::locate(version).map_err(cannot("find a CLI"))?.program;
            agents.push(Agent::Real { version, program });
        }
        Ok(agents)
    }
}
