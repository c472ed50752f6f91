//! What the fuzzer has found, again, and a bounded walk around it.
//!
//! The same harness as under `fuzz/`, on the stable toolchain. `cargo xtask fuzz` runs the walk for longer
//! where there is no nightly one (`JACKFIELD_FUZZ_SECONDS`, `JACKFIELD_FUZZ_SEED`).

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::fixtures;
use crate::harness::{check_decoding, check_session};

/// Steps of the walk when nobody asks for more.
const WALK: u32 = 400;
/// Scripts longer than this take too long in a debug build.
const SCRIPT_AT_MOST: usize = 16 * 1024;

#[test]
fn every_input_of_the_corpus_of_lines_is_decoded() {
    for input in corpus("decode") {
        check_decoding(&input);
    }
}

#[test]
fn every_script_of_the_corpus_is_played() {
    for input in corpus("session") {
        check_session(&input);
    }
}

#[test]
fn mutations_of_the_corpus_hold_too() {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let seed = number("JACKFIELD_FUZZ_SEED").unwrap_or(1).max(1);
    let until = number("JACKFIELD_FUZZ_SECONDS").map(|seconds| Instant::now() + Duration::from_secs(seconds));
    let scripts = [corpus("session"), recorded_scripts()].concat();
    let mut random = Random(seed);
    let mut steps = 0_u64;
    while until.map_or(steps < u64::from(WALK), |until| Instant::now() < until) {
        let script = mutated(&scripts, &mut random);
        let checked = std::panic::catch_unwind(|| {
            check_decoding(&script);
            check_session(&script);
        });
        if let Err(panic) = checked {
            println!("seed {seed}, step {steps}:\n{}", String::from_utf8_lossy(&script));
            std::panic::resume_unwind(panic);
        }
        steps += 1;
    }
    println!("{steps} mutated scripts, seed {seed}");
}

/// The files of a corpus, in the order of their names.
fn corpus(target: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let mut files: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(files.len() >= 20, "the corpus {} has only {} files", folder.display(), files.len());
    files.iter().map(|file| fs::read(file).unwrap()).collect()
}

/// The recordings as scripts, without their longest lines.
fn recorded_scripts() -> Vec<Vec<u8>> {
    let script = |recording: &fixtures::Recording| {
        let mut script = b"s\n".to_vec();
        for entry in recording.entries.iter().filter(|entry| entry.line.len() < 2048) {
            let first = match entry.dir.as_str() {
                "out" => b'o',
                "in" => b'i',
                "err" => b'e',
                _ => continue,
            };
            if script.len() + entry.line.len() > SCRIPT_AT_MOST {
                break;
            }
            script.push(first);
            script.extend_from_slice(entry.line.as_bytes());
            script.push(b'\n');
        }
        script
    };
    fixtures::all().iter().map(script).collect()
}

/// One script with lines of another in it, and some bytes changed.
fn mutated(scripts: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let mut lines: Vec<Vec<u8>> = lines_of(&scripts[random.below(scripts.len())]);
    let others = lines_of(&scripts[random.below(scripts.len())]);
    for _ in 0..random.below(8) {
        let at = random.below(lines.len());
        match random.below(5) {
            0 if lines.len() > 1 => {
                lines.remove(at);
            }
            1 => lines.insert(at, lines[random.below(lines.len())].clone()),
            2 => lines.insert(at, others[random.below(others.len())].clone()),
            3 => {
                let other = random.below(lines.len());
                lines.swap(at, other);
            }
            _ => change(&mut lines[at], random),
        }
    }
    lines.join(&b'\n')
}

fn lines_of(script: &[u8]) -> Vec<Vec<u8>> {
    script.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect()
}

fn change(line: &mut Vec<u8>, random: &mut Random) {
    let words: [&[u8]; 8] = [b"null", b"\"\"", b"{}", b"[]", b"-1", b"1e400", b"\\ud800", b"\xff"];
    let at = random.below(line.len() + 1);
    match random.below(3) {
        0 => line.truncate(at),
        1 => {
            let word = words[random.below(words.len())];
            line.splice(at..at, word.iter().copied());
        }
        _ => {
            if let Some(byte) = line.get_mut(at) {
                *byte ^= 1 << random.below(8);
            }
        }
    }
}

/// Xorshift: the same numbers on every machine.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % bound.max(1) as u64).unwrap()
    }
}
