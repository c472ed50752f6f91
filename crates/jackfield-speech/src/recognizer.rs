//! What an engine can do.
//!
//! Not where it runs. The one rule it keeps: an utterance that is over, in whatever way, leaves nothing behind in the
//! next one.

/// Something that understands speech, one utterance after the other. It may take its time in every call.
pub trait Recognizer {
    /// Takes sound: 16 kHz, mono, from -1 to 1.
    fn hear(&mut self, samples: &[f32]) -> Result<(), EngineError>;

    /// What it understands of what it has heard up to now. What it says may still change.
    fn interim(&mut self) -> Result<String, EngineError>;

    /// What it understands of the whole; then it is ready for another utterance.
    fn finish(&mut self) -> Result<String, EngineError>;

    /// Forgets what it has heard; then it is ready for another utterance.
    fn forget(&mut self) -> Result<(), EngineError>;
}

/// Why an engine does not work.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// Its library cannot be loaded.
    #[error("cannot load the library {library}: {reason}")]
    Library {
        /// The library.
        library: String,
        /// What the system says.
        reason: String,
    },
    /// The library is one that we do not know how to call.
    #[error("the library {library} is version {found}, and only {known} is known to work")]
    OtherVersion {
        /// The library.
        library: String,
        /// What it says of itself.
        found: String,
        /// What it should say.
        known: &'static str,
    },
    /// Its model cannot be loaded.
    #[error("cannot load the model in {model}: {reason}")]
    Model {
        /// The folder.
        model: String,
        /// What the engine says.
        reason: String,
    },
    /// It failed at its work.
    #[error("the engine failed to {doing}: {reason}")]
    Failed {
        /// What was asked of it.
        doing: &'static str,
        /// What it says.
        reason: String,
    },
}

/// Pieces of text in the order in which they were spoken, as one.
pub(crate) fn joined<'a>(pieces: impl IntoIterator<Item = &'a str>) -> String {
    let words: Vec<&str> = pieces.into_iter().map(str::trim).filter(|piece| has_words(piece)).collect();
    words.join(" ")
}

/// Engines answer breath and clicks with marks.
fn has_words(piece: &str) -> bool {
    piece.chars().any(char::is_alphanumeric)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_without_words_are_no_text() {
        assert_eq!(joined(["Run the tests. ", " ...", "", "And show me."]), "Run the tests. And show me.");
        assert_eq!(joined([".", " "]), "");
    }
}
