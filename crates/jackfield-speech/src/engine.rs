//! Which engines there are, and whether they are here.
//!
//! It looks at names of files and loads nothing. The one rule it keeps: who cannot be understood is told what to do.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::fetch;
use crate::recognizer::{EngineError, Recognizer};
use crate::sherpa::model::Model;
use crate::{moonshine, sherpa};

/// An engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Engine {
    /// The tested one: small, English, fetched by `jackfield speech setup`.
    Moonshine,
    /// Any model of sherpa-onnx, Whisper's among them.
    SherpaOnnx,
}

impl Engine {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Moonshine, Self::SherpaOnnx];

    /// Its name, as in the configuration.
    pub fn name(self) -> &'static str {
        match self {
            Self::Moonshine => "moonshine",
            Self::SherpaOnnx => "sherpa-onnx",
        }
    }
}

impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What somebody has configured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    /// The engine, where it is not left to us.
    pub engine: Option<Engine>,
    /// Its library, where that is not the usual one.
    pub library: Option<PathBuf>,
    /// The folder with its model, where that is not the usual one.
    pub model: Option<PathBuf>,
    /// Where fetched engines lie.
    pub folder: PathBuf,
}

impl Wanted {
    /// The engine that is wanted.
    pub fn chosen(&self) -> Engine {
        match self.engine {
            Some(engine) => engine,
            // Whoever names a model and no engine has one for the engine that has none of its own.
            None if self.model.is_some() => Engine::SherpaOnnx,
            None => Engine::Moonshine,
        }
    }
}

/// An engine that can be loaded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EngineSetup {
    /// Which.
    pub engine: Engine,
    /// Its library.
    pub library: PathBuf,
    /// The folder with its model.
    pub model: PathBuf,
    /// What is spoken, such as `en`; only engines with a choice look at it.
    pub language: String,
}

/// Why an engine is not here.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unavailable {
    /// It was never fetched.
    #[error("moonshine is not here: run `jackfield speech setup`")]
    NotFetched,
    /// It needs a model, and none was named.
    #[error(
        "sherpa-onnx needs a model of yours: unpack one of those that it can read, and name its folder in `speech.model`"
    )]
    NoModel,
    /// What was named is not there.
    #[error("there is no {what} at {}: correct `{option}`", path.display())]
    NotThere {
        /// What it should be.
        what: &'static str,
        /// Where.
        path: PathBuf,
        /// The option with the wrong path.
        option: &'static str,
    },
    /// The folder has no model that is known.
    #[error("no model of {engine} is in {}: {wants}", model.display())]
    UnknownModel {
        /// The engine.
        engine: Engine,
        /// The folder.
        model: PathBuf,
        /// What should be in it.
        wants: &'static str,
    },
    /// The model knows another language.
    #[error(
        "the model of {engine} understands `{knows}` and not `{asked}`: choose another language, or another model"
    )]
    Language {
        /// The engine.
        engine: Engine,
        /// What it knows.
        knows: String,
        /// What was asked.
        asked: String,
    },
}

/// Looks for the engine that is wanted.
pub fn find(wanted: &Wanted, language: &str) -> Result<EngineSetup, Unavailable> {
    look(wanted.chosen(), wanted, language)
}

/// Looks for one engine.
pub fn look(engine: Engine, wanted: &Wanted, language: &str) -> Result<EngineSetup, Unavailable> {
    let named = wanted.chosen() == engine;
    let (library, model) = if named { (&wanted.library, &wanted.model) } else { (&None, &None) };
    let setup = match engine {
        Engine::Moonshine => {
            let usual = fetch::place(&wanted.folder);
            if (library.is_none() || model.is_none()) && !usual.is_dir() {
                return Err(Unavailable::NotFetched);
            }
            EngineSetup {
                engine,
                library: library.clone().unwrap_or_else(|| fetch::library(&usual)),
                model: model.clone().unwrap_or_else(|| fetch::model(&usual)),
                language: language.to_owned(),
            }
        }
        Engine::SherpaOnnx => EngineSetup {
            engine,
            // Just the name: the system's own places are looked at when it is loaded.
            library: library.clone().unwrap_or_else(|| PathBuf::from(sherpa::LIBRARY)),
            model: model.clone().ok_or(Unavailable::NoModel)?,
            language: language.to_owned(),
        },
    };
    let has_folder = setup.library.parent().is_some_and(|parent| parent != Path::new(""));
    if has_folder && !setup.library.is_file() {
        let path = setup.library;
        return Err(Unavailable::NotThere { what: "library", path, option: "speech.library" });
    }
    if !setup.model.is_dir() {
        let path = setup.model;
        return Err(Unavailable::NotThere { what: "folder with a model", path, option: "speech.model" });
    }
    match engine {
        Engine::Moonshine => moonshine::check(&setup)?,
        Engine::SherpaOnnx => {
            if Model::of(&sherpa::names(&setup.model)).is_none() {
                let wants = sherpa::model::WANTS;
                return Err(Unavailable::UnknownModel { engine, model: setup.model, wants });
            }
        }
    }
    Ok(setup)
}

/// The language that a setup understands; `None` if there are many, or nobody knows.
pub fn only_language(setup: &EngineSetup) -> Option<String> {
    match setup.engine {
        Engine::Moonshine => moonshine::language(&setup.model),
        Engine::SherpaOnnx => None,
    }
}

/// Loads an engine into this process.
pub(crate) fn open(setup: &EngineSetup) -> Result<Box<dyn Recognizer>, EngineError> {
    Ok(match setup.engine {
        Engine::Moonshine => Box::new(moonshine::Moonshine::open(setup)?),
        Engine::SherpaOnnx => Box::new(sherpa::Sherpa::open(setup)?),
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::fs;

    use super::*;

    fn wanted(folder: &Path) -> Wanted {
        Wanted { engine: None, library: None, model: None, folder: folder.to_owned() }
    }

    #[test]
    fn what_is_not_here_says_how_to_get_it() {
        let folder = tempfile::tempdir().unwrap();
        let none = wanted(folder.path());
        assert_eq!(find(&none, "en"), Err(Unavailable::NotFetched));
        assert!(Unavailable::NotFetched.to_string().contains("jackfield speech setup"));
        let sherpa = Wanted { engine: Some(Engine::SherpaOnnx), ..none.clone() };
        assert_eq!(find(&sherpa, "en"), Err(Unavailable::NoModel));
        let nowhere = Wanted { model: Some(folder.path().join("nowhere")), ..none };
        assert!(matches!(find(&nowhere, "en"), Err(Unavailable::NotThere { option: "speech.model", .. })));
    }

    #[test]
    fn a_folder_with_something_else_is_no_model() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("holiday.png"), "").unwrap();
        let other = Wanted { model: Some(folder.path().to_owned()), ..wanted(folder.path()) };
        assert!(matches!(find(&other, "en"), Err(Unavailable::UnknownModel { .. })));
    }

    #[test]
    fn a_model_for_one_language_takes_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let place = fetch::place(folder.path());
        let (library, model) = (fetch::library(&place), fetch::model(&place));
        fs::create_dir_all(&model).unwrap();
        fs::write(library, "").unwrap();
        for name in moonshine::FILES {
            fs::write(model.join(name), "").unwrap();
        }
        let wanted = wanted(folder.path());
        assert_eq!(find(&wanted, "en").unwrap().engine, Engine::Moonshine);
        assert!(find(&wanted, "en-GB").is_ok());
        assert!(matches!(find(&wanted, "de"), Err(Unavailable::Language { .. })));
    }
}
