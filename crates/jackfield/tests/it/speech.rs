//! `jackfield transcribe`, `jackfield doctor --speech` and `jackfield speech setup`, as scripts meet them.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use jackfield_testkit::programs;
use serde_json::Value;
use tempfile::TempDir;

use crate::program::{Finished, jackfield};

/// A data folder with the fetched engine, or without.
fn data(engine: bool) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    if engine {
        let fetched = programs::speech_folder();
        assert!(fetched.is_dir(), "there is no engine: run `cargo xtask setup`");
        std::os::unix::fs::symlink(fetched, folder.path().join("speech")).unwrap();
    }
    folder
}

fn run(data: &TempDir, arguments: &[&str], path: &str) -> Finished {
    let mut command = jackfield(arguments);
    command.arg("--data").arg(data.path()).env("PATH", path).env("HOME", data.path());
    command.output().unwrap().into()
}

/// A WAV file of 16-bit samples, 16 kHz, one channel.
fn wav(folder: &Path, name: &str, samples: &[i16]) -> String {
    let mut bytes =
        b"RIFF\0\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\x80\x3e\0\0\0\x7d\0\0\x02\0\x10\0data".to_vec();
    bytes.extend(u32::try_from(samples.len() * 2).unwrap().to_le_bytes());
    bytes.extend(samples.iter().flat_map(|sample| sample.to_le_bytes()));
    let file = folder.join(name);
    fs::write(&file, bytes).unwrap();
    file.to_str().unwrap().to_owned()
}

#[test]
fn what_cannot_be_transcribed_says_why_and_whose_fault_it_is() {
    let data = data(true);
    let folder = tempfile::tempdir().unwrap();
    let (empty, ogg) = (folder.path().join("empty.wav"), folder.path().join("song.wav"));
    fs::write(&empty, "").unwrap();
    fs::write(&ogg, "OggS and more").unwrap();
    let silence = wav(folder.path(), "silence.wav", &vec![0; 32_000]);
    let long = wav(folder.path(), "long.wav", &vec![0; 16_000 * 601]);
    for (file, code, words) in [
        (empty.to_str().unwrap(), 2, "the file is empty"),
        (ogg.to_str().unwrap(), 2, "it looks like Ogg"),
        ("/nonexistent.wav", 2, "No such file"),
        (&*long, 2, "ten minutes is the most"),
        (&*silence, 1, "no speech was heard"),
    ] {
        let finished = run(&data, &["transcribe", file], "");
        assert_eq!((finished.code, &*finished.out), (Some(code), ""), "{file}: {}", finished.err);
        assert!(finished.err.contains(words), "{file}: {}", finished.err);
    }
    let german = run(&data, &["transcribe", &silence, "--language", "de"], "");
    assert!(german.code == Some(2) && german.err.contains("understands `en` and not `de`"), "{}", german.err);
    let off = run(&data, &["transcribe", &silence, "--set", "speech.engine=off"], "");
    assert!(off.code == Some(2) && off.err.contains("switched off"), "{}", off.err);
}

#[test]
fn the_doctor_says_which_engines_are_here_and_how_to_get_one() {
    let examine = |data: &TempDir| {
        let finished = run(data, &["doctor", "--speech", "--json"], "");
        let report: Value = serde_json::from_str(&finished.out).unwrap();
        let speech = report["checks"].as_array().unwrap().iter().filter(|check| check["name"] == "speech");
        (finished.code, speech.cloned().collect::<Vec<Value>>())
    };
    let (code, checks) = examine(&data(false));
    assert_eq!((code, checks.len()), (Some(1), 2), "{checks:?}");
    assert_eq!(checks[0]["code"], "unavailable");
    assert!(checks[0]["mend"].as_str().unwrap().contains("jackfield speech setup"), "{checks:?}");
    assert!(checks[1]["mend"].as_str().unwrap().contains("speech.model"), "{checks:?}");
    let (code, checks) = examine(&data(true));
    assert_eq!((code, &checks[0]["code"]), (Some(0), &Value::from("works")), "{checks:?}");
}

#[test]
fn a_setup_that_brings_something_else_keeps_nothing_of_it() {
    let data = data(false);
    let programs = tempfile::tempdir().unwrap();
    let path = programs.path().to_str().unwrap();
    let none = run(&data, &["speech", "setup"], path);
    assert!(none.code == Some(1) && none.err.contains("install Python 3 with `pip`"), "{}", none.err);

    // A `pip` that puts another file where the package should be: the word behind `--dest`.
    let python = programs.path().join("python3");
    let script = "#!/bin/sh\nwhile [ \"$1\" != --dest ]; do shift; done\n/bin/mkdir -p \"$2\"\necho other > \"$2/moonshine.whl\"\n";
    fs::write(&python, script).unwrap();
    fs::set_permissions(&python, fs::Permissions::from_mode(0o755)).unwrap();
    let other = run(&data, &["speech", "setup"], path);
    assert!(other.code == Some(1) && other.err.contains("none of those that were tested"), "{}", other.err);
    assert_eq!(fs::read_dir(data.path().join("speech")).unwrap().count(), 0);

    fs::write(&python, "#!/bin/sh\necho 'ERROR: no matching distribution' >&2\nexit 1\n").unwrap();
    let failed = run(&data, &["speech", "setup"], path);
    assert!(failed.code == Some(1) && failed.err.contains("no matching distribution"), "{}", failed.err);
}

#[test]
#[ignore = "needs Debian's espeak-ng: `cargo xtask test` installs it"]
fn spoken_words_are_printed() {
    let (data, folder) = (data(true), tempfile::tempdir().unwrap());
    let file = folder.path().join("spoken.wav");
    let espeak = std::process::Command::new("espeak-ng")
        .args(["-v", "en-us", "-s", "150", "how long does it take to start the program", "-w"])
        .arg(&file)
        .status();
    assert!(espeak.unwrap().success());
    let finished = run(&data, &["transcribe", "--json", file.to_str().unwrap()], "");
    let printed: Value = serde_json::from_str(&finished.out).unwrap();
    assert!(printed["text"].as_str().unwrap().to_lowercase().contains("start the program"), "{printed}");
    assert_eq!(printed["engine"], "moonshine");
    assert!(printed["seconds"].as_f64().unwrap() > 1.0, "{printed}");
}
