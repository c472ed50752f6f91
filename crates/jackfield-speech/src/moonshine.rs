//! Moonshine: a small model with a detector of speech, in a library from PyPI.
//!
//! The detector says where speech is, and sound without any never comes before the model, which would find words in it.
//! The one rule this module keeps: what was understood once for good is not understood again.

use std::ops::Range;
use std::path::Path;

use crate::RATE;
use crate::engine::{Engine, EngineSetup, Unavailable};
use crate::foreign::moonshine::{Library, Voice};
use crate::pieces::{Pieces, Span};
use crate::recognizer::{EngineError, Recognizer, joined};

/// What is in the folder of a model.
pub(crate) const FILES: [&str; 3] = ["encoder_model.ort", "decoder_model_merged.ort", "tokenizer.bin"];

/// After so many samples the detector is made to look: what it takes for that grows with their square.
const UNSEEN: usize = 4 * RATE as usize;

/// A silence behind the last word, so that it is heard to its end.
const TAIL: usize = RATE as usize / 2;

/// A silence before the first word, for the same.
const LEAD: usize = RATE as usize / 2;

/// Moonshine, loaded.
#[derive(Debug)]
pub(crate) struct Moonshine {
    library: Library,
    /// The sound from the sample `kept_from` on.
    kept: Vec<f32>,
    kept_from: usize,
    unseen: usize,
    pieces: Pieces,
    settled: Vec<String>,
}

impl Moonshine {
    /// Loads the library and the model.
    pub(crate) fn open(setup: &EngineSetup) -> Result<Self, EngineError> {
        let library = Library::open(&setup.library, &setup.model, architecture(&setup.model))?;
        let (pieces, settled) = (Pieces::default(), Vec::new());
        Ok(Self { library, kept: Vec::new(), kept_from: 0, unseen: 0, pieces, settled })
    }

    /// Lets the detector look, and understands for good what is over.
    fn look(&mut self) -> Result<(), EngineError> {
        self.unseen = 0;
        let spans: Vec<Span> = self.library.voices()?.iter().map(span).collect();
        self.pieces.look(&spans, self.kept_from + self.kept.len());
        while let Some(piece) = self.pieces.take() {
            let text = self.understand(&piece)?;
            self.settled.push(text);
        }
        let unneeded = self.pieces.needed_from().saturating_sub(self.kept_from).min(self.kept.len());
        self.kept.drain(..unneeded);
        self.kept_from += unneeded;
        Ok(())
    }

    fn understand(&mut self, piece: &Range<usize>) -> Result<String, EngineError> {
        let from = piece.start.saturating_sub(self.kept_from);
        let to = piece.end.saturating_sub(self.kept_from).min(self.kept.len());
        let sound = self.kept.get(from..to).unwrap_or_default();
        let lines = self.library.understand(&[&vec![0.0; LEAD], sound].concat())?;
        Ok(joined(lines.iter().map(String::as_str)))
    }
}

impl Recognizer for Moonshine {
    fn hear(&mut self, samples: &[f32]) -> Result<(), EngineError> {
        for portion in samples.chunks(UNSEEN) {
            self.library.add(portion)?;
            self.kept.extend_from_slice(portion);
            self.unseen += portion.len();
            if self.unseen >= UNSEEN {
                self.look()?;
            }
        }
        Ok(())
    }

    fn interim(&mut self) -> Result<String, EngineError> {
        self.look()?;
        let open = match self.pieces.open() {
            Some(piece) => self.understand(&piece)?,
            None => String::new(),
        };
        Ok(joined(self.settled.iter().map(String::as_str).chain([&*open])))
    }

    fn finish(&mut self) -> Result<String, EngineError> {
        self.hear(&vec![0.0; TAIL])?;
        let text = self.interim();
        self.forget()?;
        text
    }

    fn forget(&mut self) -> Result<(), EngineError> {
        self.kept.clear();
        self.settled.clear();
        (self.kept_from, self.unseen, self.pieces) = (0, 0, Pieces::default());
        self.library.restart()
    }
}

/// Seconds as samples.
fn span(voice: &Voice) -> Span {
    #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let samples = |seconds: f32| (seconds * RATE as f32) as usize;
    Span { start: samples(voice.start), end: samples(voice.start + voice.duration), is_open: voice.is_open }
}

/// Whether the folder has a model, and one for the language.
pub(crate) fn check(setup: &EngineSetup) -> Result<(), Unavailable> {
    let engine = Engine::Moonshine;
    if !FILES.iter().all(|name| setup.model.join(name).is_file()) {
        let wants = "it should have `encoder_model.ort`, `decoder_model_merged.ort` and `tokenizer.bin`";
        return Err(Unavailable::UnknownModel { engine, model: setup.model.clone(), wants });
    }
    match language(&setup.model) {
        Some(knows) if knows != primary(&setup.language) => {
            Err(Unavailable::Language { engine, knows, asked: setup.language.clone() })
        }
        _ => Ok(()),
    }
}

/// The language of a model, by the name of its folder: `tiny-en`.
pub(crate) fn language(model: &Path) -> Option<String> {
    let (_, language) = model.file_name()?.to_str()?.rsplit_once('-')?;
    (language.len() == 2).then(|| language.to_owned())
}

/// `en` of `en-GB`.
fn primary(language: &str) -> String {
    language.split(['-', '_']).next().unwrap_or_default().to_lowercase()
}

/// The library's number of a model, by the name of its folder.
fn architecture(model: &Path) -> u32 {
    let name = model.file_name().map(|name| name.to_string_lossy().to_lowercase()).unwrap_or_default();
    u32::from(name.starts_with("base"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_folder_says_what_is_in_it() {
        assert_eq!(language(Path::new("/x/tiny-en")), Some("en".to_owned()));
        assert_eq!(language(Path::new("/x/my-model")), None);
        assert_eq!((architecture(Path::new("/x/tiny-en")), architecture(Path::new("/x/base-es"))), (0, 1));
        assert_eq!((primary("en-GB"), primary("EN"), primary("")), ("en".into(), "en".into(), String::new()));
    }
}
