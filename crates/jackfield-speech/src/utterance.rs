//! One utterance, from its beginning to its text, seen from this side of the pipe.
//!
//! It holds the recogniser's process as long as it lasts. The one rule it keeps: it ends with a text or with a sentence
//! that says why there is none, and dropped before that it takes the process with it.

use std::io;
use std::time::Duration;

use tokio::io::AsyncWriteExt as _;
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, timeout_at};

use crate::engine::Unavailable;
use crate::frames::{Begin, Frame, Said};
use crate::meter::{LONGEST, Meter, TooMuch};
use crate::speech::{Booth, Speech};

/// How long an engine may take for its last word, beside the length of the sound.
const LAST_WORD: Duration = Duration::from_secs(30);
/// How long an utterance may lie open beside the longest sound.
const OPEN: Duration = Duration::from_mins(1);

/// Whether what is understood is told while it is spoken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interims {
    /// It is.
    Told,
    /// Only the whole is of use.
    Unwanted,
}

/// What a recogniser says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Heard {
    /// It is ready; sound that came before is not lost.
    Ready,
    /// This was understood up to now.
    Interim(String),
    /// This was understood. The utterance is over.
    Final(String),
}

/// Why there is no text.
#[derive(Debug, thiserror::Error)]
pub enum SpeechError {
    /// No engine is here.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
    /// All of them are at work.
    #[error("{0} dictations are under way already: try again when one is over")]
    Busy(usize),
    /// The process did not start.
    #[error("cannot start the recogniser: {0}")]
    Start(#[source] io::Error),
    /// The engine cannot be loaded.
    #[error("the speech engine does not work: {0}; `jackfield doctor --speech` says more")]
    Unusable(String),
    /// The engine failed.
    #[error("{0}; what was said just now is lost, and the next try is not")]
    Failed(String),
    /// The process ended.
    #[error("the recogniser has ended ({how}); what was said just now is lost, and the next try is not")]
    Died {
        /// How it ended, and what it said.
        how: String,
    },
    /// It takes too long.
    #[error("the recogniser did not answer in time; what was said just now is lost, and the next try is not")]
    Stuck,
    /// There was no sound.
    #[error("no sound came: see whether the right microphone is chosen, and not muted")]
    NoSound,
    /// There was no speech in it.
    #[error("no speech was heard: speak closer to the microphone, or choose another")]
    NothingHeard,
    /// There was too much sound.
    #[error(transparent)]
    TooMuch(#[from] TooMuch),
    /// It was forgotten.
    #[error("the dictation lay open for too long")]
    LeftOpen,
}

/// An utterance.
#[derive(Debug)]
pub struct Utterance {
    speech: Speech,
    // `None` when it is over.
    booth: Option<Booth>,
    _place: OwnedSemaphorePermit,
    number: u64,
    begun: Instant,
    meter: Meter,
    ended: Option<Instant>,
    /// Whether it is still to be told that the engine was loaded before.
    is_ready_untold: bool,
}

impl Utterance {
    pub(crate) async fn begin(
        speech: Speech,
        mut booth: Booth,
        place: OwnedSemaphorePermit,
        interims: Interims,
    ) -> Self {
        booth.utterances += 1;
        let number = booth.utterances;
        let first = Begin { utterance: number, interims: interims == Interims::Told };
        // One that has died already is found out where its words are read.
        let _ = booth.input.write_all(&Frame::Begin(first).encode()).await;
        let begun = Instant::now();
        let is_ready_untold = booth.is_ready;
        let (booth, meter) = (Some(booth), Meter::default());
        Self { speech, booth, _place: place, number, begun, meter, ended: None, is_ready_untold }
    }

    /// Takes sound: 16-bit samples, 16 kHz, mono. How fast it comes is the business of whoever lets it in.
    pub async fn hear(&mut self, sound: &[u8]) -> Result<(), SpeechError> {
        self.meter.take(sound, Duration::MAX)?;
        self.write(Frame::Sound(sound.to_vec())).await;
        Ok(())
    }

    /// All was said.
    pub async fn end(&mut self) {
        if self.ended.is_none() {
            self.ended = Some(Instant::now());
            self.write(Frame::End).await;
        }
    }

    /// What the recogniser says next. After an error or the final text there is nothing more. Cancel-safe.
    pub async fn next(&mut self) -> Result<Heard, SpeechError> {
        if std::mem::take(&mut self.is_ready_untold) {
            return Ok(Heard::Ready);
        }
        let deadline = match self.ended {
            Some(ended) => ended + LAST_WORD + self.meter.sound(),
            None => self.begun + LONGEST + OPEN,
        };
        loop {
            let Some(booth) = &mut self.booth else { return Err(SpeechError::LeftOpen) };
            let line = match timeout_at(deadline, booth.lines.next_line()).await {
                Ok(Ok(Some(line))) => line,
                Ok(Ok(None) | Err(_)) => return Err(self.died().await),
                Err(_) => {
                    self.booth = None;
                    let is_stuck = self.ended.is_some();
                    return Err(if is_stuck { SpeechError::Stuck } else { SpeechError::LeftOpen });
                }
            };
            match serde_json::from_str(&line) {
                Ok(Said::Ready) => {
                    booth.is_ready = true;
                    return Ok(Heard::Ready);
                }
                Ok(Said::Interim { utterance, text }) if utterance == self.number => {
                    return Ok(Heard::Interim(text));
                }
                Ok(Said::Final { utterance, text }) if utterance == self.number => {
                    return self.over(text);
                }
                Ok(Said::Failed { utterance, reason }) if utterance == self.number => {
                    self.booth = None;
                    return Err(SpeechError::Failed(reason));
                }
                Ok(Said::Unusable { reason }) => {
                    self.booth = None;
                    return Err(SpeechError::Unusable(reason));
                }
                // Of an utterance before this one.
                Ok(_) => {}
                Err(_) => return Err(self.died().await),
            }
        }
    }

    /// The number of the recogniser's process, as long as it works on this.
    pub fn process(&self) -> Option<u32> {
        self.booth.as_ref().and_then(|booth| booth.child.id())
    }

    fn over(&mut self, text: String) -> Result<Heard, SpeechError> {
        if let Some(booth) = self.booth.take() {
            self.speech.give_back(booth);
        }
        match &*text {
            "" if self.meter.sound().is_zero() => Err(SpeechError::NoSound),
            "" => Err(SpeechError::NothingHeard),
            _ => Ok(Heard::Final(text)),
        }
    }

    async fn died(&mut self) -> SpeechError {
        let Some(booth) = self.booth.take() else { return SpeechError::LeftOpen };
        SpeechError::Died { how: booth.ended().await }
    }

    async fn write(&mut self, frame: Frame) {
        if let Some(booth) = &mut self.booth {
            // One that has died is found out where its words are read.
            let _ = booth.input.write_all(&frame.encode()).await;
        }
    }
}
