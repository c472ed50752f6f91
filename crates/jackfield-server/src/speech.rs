//! What the server has to say about dictation as a whole; a dictation itself is in `socket`.
//!
//! The one rule it keeps: whether speech is understood is looked up when it is asked, so that an engine that was just
//! fetched is there without a restart.

use jackfield_api::speech::SpeechState;
use jackfield_speech::{Speech, engine};

/// How a server understands speech.
#[derive(Debug, Clone, Default)]
pub struct Dictating {
    /// The recognisers; `None` if dictation is switched off.
    pub speech: Option<Speech>,
    /// What the page may offer instead.
    pub instead: Instead,
}

/// What the page may offer where there is no engine.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Instead {
    /// The browser's own recogniser, after it has said where the sound goes.
    Browser,
    /// Nothing.
    #[default]
    Nothing,
}

impl Dictating {
    /// Whether speech is understood now.
    pub(crate) fn state(&self) -> SpeechState {
        let unavailable = |language: &str, reason: String| SpeechState {
            available: false,
            engine: None,
            language: language.to_owned(),
            languages: Vec::new(),
            reason: Some(reason),
            browser_fallback: self.instead == Instead::Browser,
        };
        let Some(speech) = &self.speech else {
            let reason = "dictation is switched off: set `speech.engine` in the host's configuration";
            return unavailable("en", reason.to_owned());
        };
        match speech.setup(None) {
            Ok(setup) => SpeechState {
                available: true,
                engine: Some(setup.engine.to_string()),
                language: speech.language().to_owned(),
                languages: engine::only_language(&setup).into_iter().collect(),
                reason: None,
                browser_fallback: self.instead == Instead::Browser,
            },
            Err(error) => unavailable(speech.language(), error.to_string()),
        }
    }
}
