//! sherpa-onnx: one library for many models of other people, Whisper's among them.
//!
//! It understands whole pieces of speech, so pieces are cut here, at pauses. The one rule it keeps: what lies before a
//! pause is understood once.

pub(crate) mod model;

use std::path::Path;

use crate::engine::EngineSetup;
use crate::foreign::sherpa::Library;
use crate::pauses::Pauses;
use crate::recognizer::{EngineError, Recognizer, joined};
use model::Model;

/// The name of the library, where nobody says where it is.
#[cfg(target_os = "macos")]
pub(crate) const LIBRARY: &str = "libsherpa-onnx-c-api.dylib";
/// The name of the library, where nobody says where it is.
#[cfg(not(target_os = "macos"))]
pub(crate) const LIBRARY: &str = "libsherpa-onnx-c-api.so";

/// sherpa-onnx, loaded.
#[derive(Debug)]
pub(crate) struct Sherpa {
    library: Library,
    pauses: Pauses,
    settled: Vec<String>,
}

impl Sherpa {
    /// Loads the library and the model.
    pub(crate) fn open(setup: &EngineSetup) -> Result<Self, EngineError> {
        let Some(model) = Model::of(&names(&setup.model)) else {
            let reason = model::WANTS.to_owned();
            return Err(EngineError::Model { model: setup.model.display().to_string(), reason });
        };
        let library = Library::open(&setup.library, &setup.model, &model, &setup.language)?;
        Ok(Self { library, pauses: Pauses::default(), settled: Vec::new() })
    }
}

impl Recognizer for Sherpa {
    fn hear(&mut self, samples: &[f32]) -> Result<(), EngineError> {
        for piece in self.pauses.hear(samples) {
            self.settled.push(self.library.understand(&piece)?);
        }
        Ok(())
    }

    fn interim(&mut self) -> Result<String, EngineError> {
        let open = match self.pauses.open() {
            Some(piece) => self.library.understand(piece)?,
            None => String::new(),
        };
        Ok(joined(self.settled.iter().map(String::as_str).chain([&*open])))
    }

    fn finish(&mut self) -> Result<String, EngineError> {
        let text = self.interim();
        self.forget()?;
        text
    }

    fn forget(&mut self) -> Result<(), EngineError> {
        self.pauses = Pauses::default();
        self.settled.clear();
        Ok(())
    }
}

/// The names of the files in a folder.
pub(crate) fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> =
        entries.filter_map(|entry| entry.file_name().to_str().map(str::to_owned)).collect();
    names.sort();
    names
}
