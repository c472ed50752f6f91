//! Which kind of model a folder has, by the names in it.
//!
//! The models of sherpa-onnx come as folders with names that everybody keeps to. The one rule it keeps: of two models in
//! one folder the smaller is taken, the one whose numbers are bytes.

/// What should be in a folder.
pub(crate) const WANTS: &str = "a folder of sherpa-onnx has `…tokens.txt` with the encoder and decoder of Whisper, \
     with an encoder, a decoder and a joiner, or with `encoder_model` and `decoder_model_merged` of Moonshine";

/// A model, by the names of its files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Model {
    /// Moonshine with one decoder.
    Moonshine { encoder: String, decoder: String, tokens: String },
    /// Whisper.
    Whisper { encoder: String, decoder: String, tokens: String },
    /// Zipformer and others of its make.
    Transducer { encoder: String, decoder: String, joiner: String, tokens: String },
}

impl Model {
    /// The model among these files.
    pub(crate) fn of(names: &[String]) -> Option<Self> {
        let tokens = names.iter().find(|name| name.ends_with("tokens.txt"))?.clone();
        let moonshine = find(names, "encoder_model").zip(find(names, "decoder_model_merged"));
        if let Some((encoder, decoder)) = moonshine {
            return Some(Self::Moonshine { encoder, decoder, tokens });
        }
        let (encoder, decoder) = find(names, "encoder").zip(find(names, "decoder"))?;
        Some(match find(names, "joiner") {
            Some(joiner) => Self::Transducer { encoder, decoder, joiner, tokens },
            None => Self::Whisper { encoder, decoder, tokens },
        })
    }

    /// Its files, but for the tokens.
    pub(crate) fn files(&self) -> Vec<&String> {
        match self {
            Self::Moonshine { encoder, decoder, .. } | Self::Whisper { encoder, decoder, .. } => {
                vec![encoder, decoder]
            }
            Self::Transducer { encoder, decoder, joiner, .. } => vec![encoder, decoder, joiner],
        }
    }

    /// The file with its tokens.
    pub(crate) fn tokens(&self) -> &String {
        match self {
            Self::Moonshine { tokens, .. }
            | Self::Whisper { tokens, .. }
            | Self::Transducer { tokens, .. } => tokens,
        }
    }
}

/// The file with this part: `tiny.en-encoder.int8.onnx`.
fn find(names: &[String], part: &str) -> Option<String> {
    let fits =
        |name: &&String| name.contains(part) && [".onnx", ".ort"].iter().any(|ending| name.ends_with(ending));
    let small = names.iter().filter(fits).find(|name| name.contains("int8"));
    small.or_else(|| names.iter().find(fits)).cloned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(names: &[&str]) -> Option<Model> {
        Model::of(&names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn a_model_is_known_by_the_names_of_its_files() {
        let whisper = of(&[
            "tiny.en-decoder.int8.onnx",
            "tiny.en-decoder.onnx",
            "tiny.en-encoder.int8.onnx",
            "tiny.en-encoder.onnx",
            "tiny.en-tokens.txt",
        ]);
        let Some(Model::Whisper { encoder, decoder, tokens }) = whisper else { unreachable!("{whisper:?}") };
        assert_eq!(
            [&*encoder, &*decoder, &*tokens],
            ["tiny.en-encoder.int8.onnx", "tiny.en-decoder.int8.onnx", "tiny.en-tokens.txt"]
        );
        let transducer =
            of(&["decoder-epoch-99.onnx", "encoder-epoch-99.onnx", "joiner-epoch-99.onnx", "tokens.txt"]);
        assert!(matches!(transducer, Some(Model::Transducer { .. })), "{transducer:?}");
        let moonshine = of(&["decoder_model_merged.ort", "encoder_model.ort", "tokens.txt"]);
        assert!(matches!(moonshine, Some(Model::Moonshine { .. })), "{moonshine:?}");
    }

    #[test]
    fn half_a_model_is_none() {
        assert_eq!(of(&["encoder.onnx", "decoder.onnx"]), None);
        assert_eq!(of(&["encoder.onnx", "tokens.txt"]), None);
        assert_eq!(of(&[]), None);
    }
}
