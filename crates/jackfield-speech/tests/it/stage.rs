//! Where the engines are, who speaks, and how well it was understood.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use jackfield_speech::{Engine, Heard, Interims, Speech, SpeechError, Surroundings, Utterance, Wanted};
use jackfield_speech::{resample, wav};
use jackfield_testkit::programs;
use tokio::time::timeout;

/// What hangs must not hang the tests. An engine that has ten minutes of sound gives up by itself before this.
pub(crate) const PATIENCE: Duration = Duration::from_mins(12);

/// The engine that `cargo xtask setup` has fetched.
pub(crate) fn wanted() -> Wanted {
    let folder = programs::speech_folder();
    assert!(folder.is_dir(), "there is no engine: run `cargo xtask setup`");
    Wanted { engine: Some(Engine::Moonshine), library: None, model: None, folder }
}

pub(crate) fn surroundings(idle: Duration) -> Surroundings {
    Surroundings { process: vec![env!("CARGO_BIN_EXE_recognizer").into()], idle }
}

pub(crate) fn speech() -> Speech {
    Speech::new(wanted(), "en", surroundings(Duration::from_mins(1)))
}

/// A tenth of a second at a time, as a microphone has it.
pub(crate) async fn hear(utterance: &mut Utterance, sound: &[u8]) {
    for portion in sound.chunks(3_200) {
        utterance.hear(portion).await.unwrap();
    }
}

/// The last word on an utterance.
pub(crate) async fn outcome(utterance: &mut Utterance) -> Result<String, SpeechError> {
    loop {
        match timeout(PATIENCE, utterance.next()).await.expect("it says something") {
            Ok(Heard::Final(text)) => return Ok(text),
            Ok(Heard::Ready | Heard::Interim(_)) => {}
            Err(error) => return Err(error),
        }
    }
}

pub(crate) async fn understood(speech: &Speech, sound: &[u8]) -> Result<String, SpeechError> {
    let mut utterance = speech.begin(None, Interims::Unwanted).await?;
    hear(&mut utterance, sound).await;
    utterance.end().await;
    outcome(&mut utterance).await
}

/// What Debian's `espeak-ng` makes of a text, with a pause at each `|`, as a recogniser takes it.
pub(crate) fn spoken(text: &str, words_a_minute: u32) -> Vec<u8> {
    let marked = format!("<speak>{}</speak>", text.replace('|', "<break time=\"700ms\"/>"));
    let speed = words_a_minute.to_string();
    let espeak = Command::new("espeak-ng")
        .args(["-m", "-v", "en-us", "--stdout", "-s", &speed, &marked])
        .output()
        .unwrap();
    assert!(espeak.status.success(), "{}", String::from_utf8_lossy(&espeak.stderr));
    let sound = wav::read(&espeak.stdout).unwrap();
    resample::to_bytes(&resample::to_16k(&sound.samples, sound.rate))
}

/// How many words of the first text must be changed, left out or put in to make the second, and how many it has.
pub(crate) fn errors(said: &str, heard: &str) -> (usize, usize) {
    let (said, heard) = (words(said), words(heard));
    let mut row: Vec<usize> = (0..=heard.len()).collect();
    for (at, word) in said.iter().enumerate() {
        let before = std::mem::replace(&mut row, vec![at + 1]);
        for (other_at, other) in heard.iter().enumerate() {
            let change = before[other_at] + usize::from(word != other);
            row.push(change.min(before[other_at + 1] + 1).min(row[other_at] + 1));
        }
    }
    (row[heard.len()], said.len())
}

fn words(text: &str) -> Vec<String> {
    let letters = |letter: char| if letter.is_alphanumeric() { letter.to_ascii_lowercase() } else { ' ' };
    text.chars().map(letters).collect::<String>().split_whitespace().map(str::to_owned).collect()
}

/// A folder with the model of Moonshine as sherpa-onnx wants it: with its tokens in a text.
pub(crate) fn sherpa_model() -> tempfile::TempDir {
    let model = jackfield_speech::fetch::model(&jackfield_speech::fetch::place(&wanted().folder));
    let folder = tempfile::tempdir().unwrap();
    for name in ["encoder_model.ort", "decoder_model_merged.ort"] {
        std::os::unix::fs::symlink(model.join(name), folder.path().join(name)).unwrap();
    }
    let tokens = tokens(&std::fs::read(model.join("tokenizer.bin")).unwrap());
    let lines = tokens.iter().enumerate().map(|(at, token)| format!("{} {at}\n", base64(token)));
    std::fs::write(folder.path().join("tokens.txt"), lines.collect::<String>()).unwrap();
    folder
}

/// The library that `cargo xtask setup` has fetched.
pub(crate) fn sherpa_library() -> PathBuf {
    let library = programs::sherpa_library();
    assert!(library.is_file(), "there is no sherpa-onnx: run `cargo xtask setup`");
    library
}

/// Each with its length before it, in one byte or two.
fn tokens(mut bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut tokens = Vec::new();
    while let Some((&first, rest)) = bytes.split_first() {
        let (length, rest) = match first {
            128.. => (usize::from(rest[0]) * 128 + usize::from(first) - 128, &rest[1..]),
            _ => (usize::from(first), rest),
        };
        let (token, rest) = rest.split_at(length);
        tokens.push(token.to_vec());
        bytes = rest;
    }
    tokens
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for three in bytes.chunks(3) {
        let number =
            (0..3).fold(0, |number, at| number << 8 | u32::from(three.get(at).copied().unwrap_or(0)));
        for at in 0..4 {
            let letter = LETTERS[(number >> (18 - 6 * at) & 63) as usize];
            text.push(if at <= three.len() { char::from(letter) } else { '=' });
        }
    }
    text
}

#[test]
fn words_are_compared_without_marks() {
    assert_eq!(errors("run the tests", "Run the tests."), (0, 3));
    assert_eq!(errors("run the tests | now", "run tests now, please"), (2, 4));
    assert_eq!(errors("approve", ""), (1, 1));
    assert_eq!((base64(b"a"), base64(b"ab"), base64(b"abc")), ("YQ==".into(), "YWI=".into(), "YWJj".into()));
}
