//! sherpa-onnx with a model that it can read: that of Moonshine, with its tokens written out.

use std::time::Duration;

use jackfield_speech::{Engine, Interims, Speech, SpeechError, Wanted};

use crate::stage::{
    errors, hear, outcome, sherpa_library, sherpa_model, spoken, surroundings, understood, wanted,
};

fn speech(model: &std::path::Path) -> Speech {
    let wanted = Wanted {
        engine: Some(Engine::SherpaOnnx),
        library: Some(sherpa_library()),
        model: Some(model.to_owned()),
        ..wanted()
    };
    Speech::new(wanted, "en", surroundings(Duration::from_mins(1)))
}

#[tokio::test]
async fn sherpa_hears_no_speech_in_silence() {
    let model = sherpa_model();
    let speech = speech(model.path());
    assert!(matches!(understood(&speech, &vec![0; 64_000]).await, Err(SpeechError::NothingHeard)));
}

#[tokio::test]
async fn a_model_at_which_sherpa_gives_up_costs_a_sentence_that_says_so() {
    let model = sherpa_model();
    std::fs::write(model.path().join("tokens.txt"), "these are no tokens\n").unwrap();
    let error = understood(&speech(model.path()), &vec![0; 64_000]).await.unwrap_err();
    assert!(matches!(error, SpeechError::Unusable(_) | SpeechError::Died { .. }), "{error}");
}

#[tokio::test]
#[ignore = "needs Debian's espeak-ng: `cargo xtask test` installs it"]
async fn spoken_to_sherpa_it_is_understood_piece_by_piece() {
    let model = sherpa_model();
    let speech = speech(model.path());
    let said = "please open the configuration file and explain what it does | how long does it take to start the program";
    let mut utterance = speech.begin(None, Interims::Told).await.unwrap();
    hear(&mut utterance, &spoken(said, 150)).await;
    utterance.end().await;
    let text = outcome(&mut utterance).await.unwrap();
    let (wrong, all) = errors(said, &text);
    assert!(wrong * 4 <= all, "{wrong} of {all}: {text}");
}
