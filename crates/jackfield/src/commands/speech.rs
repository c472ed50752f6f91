//! `jackfield speech setup`: fetches the tested engine; and how the configuration becomes recognisers.
//!
//! It understands nothing itself. The one rule: nothing of an engine is loaded into this process, only into one that is
//! started for it.

use std::env;
use std::io::{self, Write as _};
use std::time::Duration;

use clap::{Args, Subcommand};
use jackfield_sdk::Environment;
use jackfield_server::{Dictating, Instead};
use jackfield_speech::fetch::{self, FetchError};
use jackfield_speech::wav::WavError;
use jackfield_speech::{Engine, Heard, Interims, Speech as Recognisers, SpeechError, Surroundings, Wanted};
use thiserror::Error;

use crate::config::{self, Config, Flags, SpeechEngine};
use crate::failure::{Exit, Failure};

/// How long a recogniser is kept for the next sentence.
const IDLE: Duration = Duration::from_mins(1);
/// Where fetched engines lie in the data folder.
const FOLDER: &str = "speech";

/// Set up dictation
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  jackfield speech setup
  jackfield doctor --speech")]
pub(crate) struct Speech {
    #[command(subcommand)]
    command: SpeechCommand,
}

#[derive(Debug, Subcommand)]
enum SpeechCommand {
    /// Fetch the tested engine: Moonshine with a small English model, 56 MB by your own `pip`
    ///
    /// What is fetched is compared with a digest that stands in this program, put into the data folder, and tried.
    Setup(Setup),
}

#[derive(Debug, Args)]
struct Setup {
    /// Fetch it anew, also if it is there
    #[arg(long)]
    again: bool,
    #[command(flatten)]
    flags: Flags,
}

/// Why there is no text, or no engine.
#[derive(Debug, Error)]
pub(crate) enum SpeechFailure {
    #[error("cannot fetch the speech engine: {0}")]
    Fetch(#[from] FetchError),
    #[error("cannot find this program's own file: {0}")]
    Program(#[source] io::Error),
    #[error("dictation is switched off")]
    Off,
    #[error("cannot transcribe `{path}`: {source}")]
    Wav { path: String, source: WavError },
    #[error("cannot transcribe `{path}`: it has {} MB, more than ten minutes of sound can have", size >> 20)]
    TooLarge { path: String, size: u64 },
    #[error("cannot transcribe `{path}`: {source}")]
    Speech { path: String, source: SpeechError },
    #[error("the engine is there, and does not work: {0}")]
    Broken(#[source] SpeechError),
}

impl SpeechFailure {
    pub(crate) fn exit(&self) -> Exit {
        match self {
            Self::Off
            | Self::Wav { .. }
            | Self::TooLarge { .. }
            | Self::Speech { source: SpeechError::Unavailable(_), .. } => Exit::Usage,
            Self::Fetch(_) | Self::Program(_) | Self::Speech { .. } | Self::Broken(_) => Exit::Failed,
        }
    }

    pub(crate) fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Fetch(error) => Some(error.hint()),
            Self::Off => Some("set the option `speech.engine`, as a rule to `auto`"),
            Self::Wav { source: WavError::TooLong(_), .. } | Self::TooLarge { .. } => {
                Some("`sox long.wav piece.wav trim 0 600 : newfile : restart` cuts it")
            }
            Self::Wav { .. } => Some("`ffmpeg -i FILE -ac 1 -ar 16000 sound.wav` makes one from any sound"),
            Self::Broken(_) => Some("`jackfield speech setup --again` fetches it anew"),
            Self::Speech { source: SpeechError::Unavailable(_), .. } => {
                Some("`jackfield doctor --speech` says which engines are here")
            }
            Self::Program(_) | Self::Speech { .. } => None,
        }
    }
}

impl Speech {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let SpeechCommand::Setup(setup) = &self.command;
        setup.run()
    }
}

impl Setup {
    fn run(&self) -> Result<(), Failure> {
        let environment: Environment = env::vars_os().collect();
        let config = config::load(&self.flags, &environment)?.config;
        let folder = config.data_folder()?.join(FOLDER);
        let place = fetch::place(&folder);
        let mut stdout = io::stdout();
        if place.is_dir() && !self.again {
            writeln!(stdout, "{} {} is there: {}", fetch::PACKAGE, fetch::VERSION, place.display())?;
        } else {
            writeln!(stdout, "fetching {} {} with `pip`, 56 MB", fetch::PACKAGE, fetch::VERSION)?;
            fetch::fetch(&folder).map_err(SpeechFailure::Fetch)?;
            writeln!(stdout, "fetched: {}", place.display())?;
        }
        let moonshine = Wanted { engine: Some(Engine::Moonshine), library: None, model: None, folder };
        let recognisers = Recognisers::new(moonshine, "en", surroundings()?);
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Failure::Runtime)?;
        runtime.block_on(tried(&recognisers)).map_err(SpeechFailure::Broken)?;
        writeln!(stdout, "it works; sound is understood on this machine and never leaves it")?;
        Ok(())
    }
}

/// The recognisers of a configuration; none if they are switched off.
pub(crate) fn recognisers(config: &Config) -> Result<Option<Recognisers>, Failure> {
    let Some(wanted) = wanted(config)? else { return Ok(None) };
    Ok(Some(Recognisers::new(wanted, config.speech.language.clone(), surroundings()?)))
}

/// What a server is given of them.
pub(crate) fn dictating(config: &Config) -> Result<Dictating, Failure> {
    let instead = if config.speech.browser_fallback { Instead::Browser } else { Instead::Nothing };
    Ok(Dictating { speech: recognisers(config)?, instead })
}

/// Lets an engine load, and understand nothing.
pub(crate) async fn tried(recognisers: &Recognisers) -> Result<(), SpeechError> {
    let mut utterance = recognisers.begin(None, Interims::Unwanted).await?;
    utterance.end().await;
    loop {
        match utterance.next().await {
            Ok(Heard::Final(_)) | Err(SpeechError::NoSound | SpeechError::NothingHeard) => return Ok(()),
            Ok(Heard::Ready | Heard::Interim(_)) => {}
            Err(error) => return Err(error),
        }
    }
}

/// What a configuration wants; nothing if dictation is switched off.
pub(crate) fn wanted(config: &Config) -> Result<Option<Wanted>, Failure> {
    let engine = match config.speech.engine {
        SpeechEngine::Off => return Ok(None),
        SpeechEngine::Auto => None,
        SpeechEngine::Moonshine => Some(Engine::Moonshine),
        SpeechEngine::SherpaOnnx => Some(Engine::SherpaOnnx),
    };
    let (library, model) = (config.speech.library.clone(), config.speech.model.clone());
    Ok(Some(Wanted { engine, library, model, folder: config.data_folder()?.join(FOLDER) }))
}

/// A recogniser is this program once more.
pub(crate) fn surroundings() -> Result<Surroundings, Failure> {
    let program = env::current_exe().map_err(SpeechFailure::Program)?;
    Ok(Surroundings { process: vec![program.into_os_string(), "recognizer".into()], idle: IDLE })
}
