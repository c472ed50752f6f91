//! What is understood of a machine that speaks. Left out of `cargo test`: it needs Debian's `espeak-ng`.

use jackfield_speech::{Heard, Interims};
use tokio::time::timeout;

use crate::stage::{PATIENCE, errors, hear, outcome, speech, spoken, understood};

/// What programmers say to their agents; a bar is a pause.
const PROMPTS: [&str; 20] = [
    "run the tests | and show me what fails",
    "please open the configuration file | and explain what it does",
    "add a button to the settings page | that clears the history",
    "why does the server close the connection | after ten seconds",
    "rename the function | and update every place that calls it",
    "write a test for the case where the list is empty",
    "the build is broken | find out which change did it",
    "move the database code | into a module of its own",
    "how long does it take to start the program",
    "remove the unused imports | and format the code",
    "create a new branch | commit the changes | and push them",
    "approve",
    "deny | use tabs instead of spaces",
    "make the error message say | which file was not found",
    "use a lock here | because two threads may write at the same time",
    "explain the difference between these two functions",
    "the parser fails on the second line | look at the log",
    "split this file into three smaller ones",
    "undo the last change | and try again",
    "write down what you have learned | in a new document",
];

/// Words a minute.
const SPEEDS: [u32; 2] = [130, 170];

#[tokio::test]
#[ignore = "needs Debian's espeak-ng: `cargo xtask test` installs it"]
async fn three_words_in_four_of_a_programmer_are_understood() {
    let speech = speech();
    let (mut wrong, mut all) = (0, 0);
    for speed in SPEEDS {
        for prompt in PROMPTS {
            let heard = understood(&speech, &spoken(prompt, speed)).await.unwrap();
            let (errors, words) = errors(prompt, &heard);
            println!("{speed} {errors}/{words}: {prompt} → {heard}");
            wrong += errors;
            all += words;
        }
    }
    println!("word error rate: {wrong} of {all} words, {} %", (100 * wrong).div_ceil(all));
    assert!(wrong * 4 <= all, "{wrong} of {all} words are wrong");
}

#[tokio::test]
#[ignore = "needs Debian's espeak-ng: `cargo xtask test` installs it"]
async fn words_are_shown_before_the_sentence_is_over() {
    let speech = speech();
    let mut utterance = speech.begin(None, Interims::Told).await.unwrap();
    assert_eq!(timeout(PATIENCE, utterance.next()).await.unwrap().unwrap(), Heard::Ready);
    hear(&mut utterance, &spoken("please open the configuration file", 150)).await;
    // It was not told that the sentence is over.
    let Heard::Interim(first) = timeout(PATIENCE, utterance.next()).await.unwrap().unwrap() else { panic!() };
    assert!(!first.is_empty());
    utterance.end().await;
    let text = outcome(&mut utterance).await.unwrap();
    assert!(text.to_lowercase().contains("configuration file"), "{text}");
}

#[tokio::test]
#[ignore = "needs Debian's espeak-ng: `cargo xtask test` installs it"]
async fn two_people_do_not_hear_each_other() {
    let speech = speech();
    let (sounds, mut both) =
        ([spoken("run the tests", 150), spoken("open the configuration file", 150)], Vec::new());
    for _ in &sounds {
        both.push(speech.begin(None, Interims::Told).await.unwrap());
    }
    let crowded = speech.begin(None, Interims::Told).await.unwrap_err();
    assert!(crowded.to_string().contains("2 dictations are under way"), "{crowded}");
    for (utterance, sound) in both.iter_mut().zip(&sounds) {
        hear(utterance, sound).await;
    }
    let mut texts = Vec::new();
    for utterance in &mut both {
        utterance.end().await;
        texts.push(outcome(utterance).await.unwrap().to_lowercase());
    }
    assert!(texts[0].contains("test") && !texts[0].contains("configuration"), "{texts:?}");
    assert!(texts[1].contains("configuration") && !texts[1].contains("test"), "{texts:?}");
}

#[tokio::test]
#[ignore = "needs Debian's espeak-ng: `cargo xtask test` installs it"]
async fn ten_minutes_are_understood_and_not_a_second_more() {
    let speech = speech();
    let sentence = spoken("run the tests and show me what fails | ", 150);
    let ten_minutes: Vec<u8> = sentence.iter().copied().cycle().take(600 * 32_000).collect();
    let mut utterance = speech.begin(None, Interims::Unwanted).await.unwrap();
    let mut refused = None;
    for sound in ten_minutes.chunks(32_000).chain([&vec![0; 32_000][..]]) {
        refused = utterance.hear(sound).await.err();
    }
    assert!(refused.is_some_and(|error| error.to_string().contains("ten minutes")));
    utterance.end().await;
    let text = outcome(&mut utterance).await.unwrap().to_lowercase();
    let times = text.matches("what fail").count();
    println!("{times} sentences of {}", ten_minutes.len() / sentence.len());
    assert!(times * 2 > ten_minutes.len() / sentence.len(), "{text}");
}
