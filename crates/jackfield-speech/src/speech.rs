//! The recognisers: processes that are started when somebody speaks, and ended when nobody has for a while.
//!
//! What is said is not its business. The one rule it keeps: when nobody dictates there is no process, and no memory of
//! one.

use std::ffi::OsString;
use std::fmt;
use std::io;
use std::process::Stdio;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::sync::Semaphore;

use crate::engine::{self, EngineSetup, Unavailable, Wanted};
use crate::utterance::{Interims, SpeechError, Utterance};

/// How many people may speak at once.
const AT_ONCE: usize = 2;
/// How much of an engine's own words is kept.
const WORDS: usize = 2 * 1024;
/// How long a process that has closed its pipe may take to end.
const ENDING: Duration = Duration::from_secs(5);

/// One thread per engine. Moonshine's would wait for each other by turning on the spot: three times the work, and no
/// sooner done.
const ONE_THREAD: (&str, &str) = ("MOONSHINE_ORT_SINGLE_THREAD", "1");

/// How recognisers are started.
#[derive(Debug, Clone)]
pub struct Surroundings {
    /// The words that start one; the setup is added as the last.
    pub process: Vec<OsString>,
    /// How long one that nobody needs is kept for the next.
    pub idle: Duration,
}

/// The recognisers. Clones are the same ones.
#[derive(Clone)]
pub struct Speech {
    shared: Arc<Shared>,
}

struct Shared {
    wanted: Wanted,
    language: String,
    surroundings: Surroundings,
    places: Arc<Semaphore>,
    idle: Mutex<Idle>,
}

/// Recognisers that nobody needs just now.
#[derive(Default)]
struct Idle {
    booths: Vec<(u64, Booth)>,
    given_back: u64,
}

/// A recogniser's process.
#[derive(Debug)]
pub(crate) struct Booth {
    setup: EngineSetup,
    pub(crate) child: Child,
    pub(crate) input: ChildStdin,
    pub(crate) lines: Lines<BufReader<ChildStdout>>,
    pub(crate) utterances: u64,
    /// Whether the engine is loaded.
    pub(crate) is_ready: bool,
    said: Arc<Mutex<Vec<u8>>>,
}

impl Speech {
    /// With what is wanted, and what is spoken where nobody says it.
    pub fn new(wanted: Wanted, language: impl Into<String>, surroundings: Surroundings) -> Self {
        let places = Arc::new(Semaphore::new(AT_ONCE));
        let (language, idle) = (language.into(), Mutex::default());
        Self { shared: Arc::new(Shared { wanted, language, surroundings, places, idle }) }
    }

    /// What is wanted.
    pub fn wanted(&self) -> &Wanted {
        &self.shared.wanted
    }

    /// What is spoken where nobody says it.
    pub fn language(&self) -> &str {
        &self.shared.language
    }

    /// The engine that would be used, as things are now.
    pub fn setup(&self, language: Option<&str>) -> Result<EngineSetup, Unavailable> {
        engine::find(&self.shared.wanted, language.unwrap_or(&self.shared.language))
    }

    /// Begins an utterance. Needs a running tokio runtime.
    pub async fn begin(&self, language: Option<&str>, interims: Interims) -> Result<Utterance, SpeechError> {
        let setup = self.setup(language)?;
        let place =
            Arc::clone(&self.shared.places).try_acquire_owned().map_err(|_| SpeechError::Busy(AT_ONCE))?;
        let booth = match self.take(&setup) {
            Some(booth) => booth,
            None => Booth::start(&self.shared.surroundings, setup).map_err(SpeechError::Start)?,
        };
        Ok(Utterance::begin(self.clone(), booth, place, interims).await)
    }

    /// The numbers of the processes that wait for the next utterance.
    pub fn waiting(&self) -> Vec<u32> {
        self.idle().booths.iter().filter_map(|(_, booth)| booth.child.id()).collect()
    }

    /// Takes a recogniser whose utterance is over.
    pub(crate) fn give_back(&self, booth: Booth) {
        let number = {
            let mut idle = self.idle();
            idle.given_back += 1;
            let number = idle.given_back;
            idle.booths.push((number, booth));
            number
        };
        let (shared, after) = (Arc::downgrade(&self.shared), self.shared.surroundings.idle);
        tokio::spawn(async move {
            tokio::time::sleep(after).await;
            if let Some(shared) = shared.upgrade() {
                shared.lock().booths.retain(|(other, _)| *other != number);
            }
        });
    }

    fn take(&self, setup: &EngineSetup) -> Option<Booth> {
        let mut idle = self.idle();
        // One that has ended meanwhile, or has another engine, is of no use.
        idle.booths
            .retain_mut(|(_, booth)| booth.setup == *setup && matches!(booth.child.try_wait(), Ok(None)));
        idle.booths.pop().map(|(_, booth)| booth)
    }

    fn idle(&self) -> MutexGuard<'_, Idle> {
        self.shared.lock()
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Idle> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Speech {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Speech").field("wanted", &self.shared.wanted).finish_non_exhaustive()
    }
}

impl Booth {
    fn start(surroundings: &Surroundings, setup: EngineSetup) -> io::Result<Self> {
        let (program, words) = surroundings.process.split_first().ok_or(io::ErrorKind::InvalidInput)?;
        let mut child = Command::new(program)
            .args(words)
            .arg(serde_json::to_string(&setup)?)
            // It needs nothing of ours, and gets nothing.
            .env_clear()
            .env(ONE_THREAD.0, ONE_THREAD.1)
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()?;
        let pipes = child.stdin.take().zip(child.stdout.take()).zip(child.stderr.take());
        let ((input, output), errors) = pipes.ok_or(io::ErrorKind::BrokenPipe)?;
        let said = Arc::default();
        tokio::spawn(listen(errors, Arc::clone(&said)));
        let lines = BufReader::new(output).lines();
        Ok(Self { setup, child, input, lines, utterances: 0, is_ready: false, said })
    }

    /// How it has ended, and what it said.
    pub(crate) async fn ended(mut self) -> String {
        let how = match tokio::time::timeout(ENDING, self.child.wait()).await {
            Ok(Ok(status)) => status.to_string(),
            Ok(Err(error)) => error.to_string(),
            Err(_) => "it closed its pipe".to_owned(),
        };
        let said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        let said = String::from_utf8_lossy(&said);
        match said.lines().map(str::trim).rfind(|line| !line.is_empty()) {
            Some(last) => format!("{how}: {last}"),
            None => how,
        }
    }
}

/// Keeps the last of what an engine prints.
async fn listen(mut errors: ChildStderr, said: Arc<Mutex<Vec<u8>>>) {
    let mut chunk = [0; 512];
    while let Ok(length @ 1..) = errors.read(&mut chunk).await {
        let mut said = said.lock().unwrap_or_else(PoisonError::into_inner);
        said.extend_from_slice(&chunk[..length]);
        let over = said.len().saturating_sub(WORDS);
        said.drain(..over);
    }
}
