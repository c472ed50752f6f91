//! `jackfield transcribe`: the words in a WAV file, for scripts.
//!
//! Nothing is sent anywhere, and no host is needed. The one rule: either there is a text on standard output, or a sentence
//! on standard error and an exit code that says whose fault it is.

use std::env;
use std::fs::File;
use std::io::{self, Read, Write as _};
use std::path::{Path, PathBuf};

use clap::Args;
use jackfield_sdk::Environment;
use jackfield_speech::{Heard, Interims, Speech, SpeechError, resample, wav};

use super::speech::{SpeechFailure, recognisers};
use crate::config::{self, Flags};
use crate::failure::Failure;

/// Ten minutes of sound, in the largest form that anybody has it in.
const LARGEST: u64 = 512 << 20;
/// How much goes to the recogniser at once: a second.
const PORTION: usize = 32_000;

/// Print the words that are spoken in a WAV file
///
/// Any rate and number of channels, up to ten minutes. The sound stays on this machine. `jackfield speech setup` fetches
/// an engine, if there is none yet.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  jackfield transcribe memo.wav
  jackfield transcribe --json memo.wav | jq -r .text
  arecord -f cd -d 5 | jackfield transcribe -
  jackfield run \"$(jackfield transcribe memo.wav)\"")]
pub(crate) struct Transcribe {
    /// The WAV file; `-` for standard input
    file: PathBuf,
    /// What is spoken, such as `en`; without it, `speech.language` of the configuration
    #[arg(long, value_name = "LANGUAGE")]
    language: Option<String>,
    /// Print one JSON object, with the text, the engine and the length of the sound
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    flags: Flags,
}

impl Transcribe {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let environment: Environment = env::vars_os().collect();
        let config = config::load(&self.flags, &environment)?.config;
        let path = self.file.display().to_string();
        let speech = recognisers(&config)?.ok_or(SpeechFailure::Off)?;
        let bytes = read(&self.file, &path)?;
        let sound = wav::read(&bytes).map_err(|source| SpeechFailure::Wav { path: path.clone(), source })?;
        let sixteen = resample::to_bytes(&resample::to_16k(&sound.samples, sound.rate));
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(Failure::Runtime)?;
        let failed = |source| SpeechFailure::Speech { path: path.clone(), source };
        let setup = speech.setup(self.language.as_deref()).map_err(|error| failed(error.into()))?;
        let understood = understood(&speech, self.language.as_deref(), &sixteen);
        let text = runtime.block_on(understood).map_err(failed)?;
        let mut stdout = io::stdout();
        if self.json {
            let seconds = sixteen.len() / 320;
            #[allow(clippy::cast_precision_loss)]
            let seconds = seconds as f64 / 100.0;
            let whole = serde_json::json!({ "text": text, "engine": setup.engine, "seconds": seconds });
            writeln!(stdout, "{whole}")?;
        } else {
            writeln!(stdout, "{text}")?;
        }
        Ok(())
    }
}

async fn understood(speech: &Speech, language: Option<&str>, sound: &[u8]) -> Result<String, SpeechError> {
    let mut utterance = speech.begin(language, Interims::Unwanted).await?;
    for portion in sound.chunks(PORTION) {
        utterance.hear(portion).await?;
    }
    utterance.end().await;
    loop {
        if let Heard::Final(text) = utterance.next().await? {
            return Ok(text);
        }
    }
}

fn read(file: &Path, path: &str) -> Result<Vec<u8>, Failure> {
    let input = |source| Failure::Input { path: path.to_owned(), source };
    let mut bytes = Vec::new();
    if file == Path::new("-") {
        io::stdin().lock().take(LARGEST + 1).read_to_end(&mut bytes).map_err(Failure::Stdin)?;
    } else {
        File::open(file).and_then(|file| file.take(LARGEST + 1).read_to_end(&mut bytes)).map_err(input)?;
    }
    let size = bytes.len() as u64;
    if size > LARGEST {
        return Err(SpeechFailure::TooLarge { path: path.to_owned(), size }.into());
    }
    Ok(bytes)
}
