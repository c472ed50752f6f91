//! What there is instead of a text when there is none.

use std::process::Command;
use std::time::Duration;

use jackfield_speech::{Heard, Interims, Speech, SpeechError, Surroundings, Wanted};
use tokio::time::timeout;

use crate::stage::{PATIENCE, hear, outcome, speech, surroundings, understood, wanted};

/// Noise that is the same in every run.
fn noise(seconds: usize, loudness: u32) -> Vec<u8> {
    let mut dice: u32 = 7;
    let samples = (0..seconds * 16_000).flat_map(|_| {
        dice = dice.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let sample = ((dice >> 16) % (2 * loudness)).cast_signed() - loudness.cast_signed();
        i16::try_from(sample).unwrap().to_le_bytes()
    });
    samples.collect()
}

#[tokio::test]
async fn silence_and_noise_are_told_as_no_speech() {
    let speech = speech();
    assert!(matches!(understood(&speech, &[]).await, Err(SpeechError::NoSound)));
    for (what, sound) in [
        ("silence", vec![0; 64_000]),
        ("a hiss", noise(4, 300)),
        ("a roar", noise(4, 12_000)),
        ("a click", [vec![0; 32_000], noise(1, 30_000)[..640].to_vec(), vec![0; 32_000]].concat()),
    ] {
        let outcome = understood(&speech, &sound).await;
        let Err(error @ SpeechError::NothingHeard) = outcome else { panic!("{what}: {outcome:?}") };
        assert!(error.to_string().contains("microphone"), "{error}");
    }
    // All of them by one process, which nothing has harmed, and which is ready at once.
    assert_eq!(speech.waiting().len(), 1);
    let mut utterance = speech.begin(None, Interims::Told).await.unwrap();
    assert_eq!(timeout(PATIENCE, utterance.next()).await.unwrap().unwrap(), Heard::Ready);
}

#[tokio::test]
async fn a_recogniser_that_is_killed_costs_its_utterance_only() {
    let speech = speech();
    let mut utterance = speech.begin(None, Interims::Told).await.unwrap();
    assert_eq!(timeout(PATIENCE, utterance.next()).await.unwrap().unwrap(), Heard::Ready);
    hear(&mut utterance, &noise(1, 300)).await;
    let process = utterance.process().unwrap().to_string();
    assert!(Command::new("kill").args(["-KILL", &process]).status().unwrap().success());
    hear(&mut utterance, &noise(1, 300)).await;
    utterance.end().await;
    let error = outcome(&mut utterance).await.unwrap_err();
    assert!(matches!(error, SpeechError::Died { .. }) && error.to_string().contains("signal: 9"), "{error}");
    drop(utterance);
    assert!(matches!(understood(&speech, &vec![0; 32_000]).await, Err(SpeechError::NothingHeard)));
}

#[tokio::test]
async fn a_recogniser_that_nobody_needs_ends() {
    let speech = Speech::new(wanted(), "en", surroundings(Duration::from_millis(100)));
    let mut utterance = speech.begin(None, Interims::Told).await.unwrap();
    let process = utterance.process().unwrap();
    utterance.end().await;
    assert!(matches!(outcome(&mut utterance).await, Err(SpeechError::NoSound)));
    gone(process).await;
    assert!(speech.waiting().is_empty());
}

#[tokio::test]
async fn who_cancels_leaves_no_process_behind() {
    let speech = speech();
    let mut utterance = speech.begin(None, Interims::Told).await.unwrap();
    hear(&mut utterance, &noise(2, 300)).await;
    let process = utterance.process().unwrap();
    drop(utterance);
    gone(process).await;
    assert!(speech.waiting().is_empty());
}

#[tokio::test]
async fn an_engine_that_cannot_be_loaded_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let library = folder.path().join("libmoonshine.so");
    std::fs::write(&library, "no library").unwrap();
    let broken = Wanted { library: Some(library), ..wanted() };
    let speech = Speech::new(broken, "en", surroundings(Duration::from_mins(1)));
    let Err(error @ SpeechError::Unusable(_)) = understood(&speech, &[0; 3_200]).await else { panic!() };
    assert!(error.to_string().contains("cannot load the library"), "{error}");

    let nothing = Surroundings { process: vec!["/nonexistent/recognizer".into()], idle: Duration::ZERO };
    let speech = Speech::new(wanted(), "en", nothing);
    assert!(matches!(understood(&speech, &[]).await, Err(SpeechError::Start(_))));
}

#[tokio::test]
async fn a_model_that_is_broken_costs_a_sentence_that_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let model = folder.path().join("tiny-en");
    std::fs::create_dir(&model).unwrap();
    for name in ["encoder_model.ort", "decoder_model_merged.ort", "tokenizer.bin"] {
        std::fs::write(model.join(name), "no model").unwrap();
    }
    let broken = Wanted { model: Some(model), ..wanted() };
    let speech = Speech::new(broken, "en", surroundings(Duration::from_mins(1)));
    let error = understood(&speech, &[0; 3_200]).await.unwrap_err();
    assert!(matches!(error, SpeechError::Unusable(_) | SpeechError::Died { .. }), "{error}");
}

#[tokio::test]
async fn another_language_is_refused_before_anything_starts() {
    let error = speech().begin(Some("de"), Interims::Told).await.unwrap_err();
    assert!(error.to_string().contains("understands `en` and not `de`"), "{error}");
}

/// Waits until a process is gone.
async fn gone(process: u32) {
    let left = async {
        while std::path::Path::new(&format!("/proc/{process}/exe")).read_link().is_ok() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(PATIENCE, left).await.expect("it ends");
}
