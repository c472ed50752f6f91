//! What is wrong with a given file is said in a sentence, with exit code 2; a bad line in a good one is not.

use std::fs;
use std::path::{Path, PathBuf};

use crate::program::{events, recording, run};

/// Exit code 2, one sentence, and not a single event.
fn refused(command: &str, file: &Path) -> String {
    let finished = run([command.as_ref(), file.as_os_str()]);
    assert_eq!((finished.code, finished.out.as_str()), (Some(2), ""), "{}", finished.err);
    let name = file.display().to_string();
    finished.err.replace(&name, "FILE")
}

#[test]
fn a_missing_file_is_named() {
    for command in ["events", "replay"] {
        let said = refused(command, Path::new("no/such/file"));
        assert_eq!(said, "jackfield: cannot read `FILE`: No such file or directory (os error 2)\n");
    }
}

#[test]
fn a_directory_is_no_file() {
    let folder = tempfile::tempdir().unwrap();
    for command in ["events", "replay"] {
        let said = refused(command, folder.path());
        assert_eq!(said, "jackfield: cannot read `FILE`: Is a directory (os error 21)\n");
    }
}

#[test]
fn a_file_without_a_journal_entry_is_refused_with_a_hint() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    let contents: [&[u8]; 4] = [
        b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR",
        b"{\"type\":\"system\",\"subtype\":\"init\"}\n",
        b"\n\n[]\n",
        b"hello\n{\"t\":0,\"dir\":\"out\",\"line\":\"x\"}\n",
    ];
    for content in contents {
        fs::write(&file, content).unwrap();
        let said = refused("replay", &file);
        assert!(said.starts_with("jackfield: cannot replay `FILE`: line "), "{said}");
        assert!(said.contains(" is no journal entry: "), "{said}");
        assert!(said.ends_with("plain CLI output goes to `jackfield events`\n"), "{said}");
    }
}

#[test]
fn an_empty_journal_has_no_events() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("journal");
    fs::write(&file, "\n").unwrap();
    assert_eq!(run(["replay".as_ref(), file.as_os_str()]).events().len(), 0);
}

#[test]
fn a_journal_that_breaks_off_before_the_session_has_a_name_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("journal");
    fs::write(&file, "{\"t\":0,\"dir\":\"err\",\"line\":\"starting\"}\n{\"t\":1,\"dir\":\"ou").unwrap();
    let finished = run(["replay".as_ref(), file.as_os_str()]);
    assert_eq!(finished.tags(), ["run_started", "stderr", "malformed"]);
}

/// A good recording with a line put in before line `at` (from 0; past the end for behind the last).
fn with_line(folder: &Path, at: usize, line: &[u8]) -> PathBuf {
    let text = fs::read(recording("basic/text_partial")).unwrap();
    let mut lines: Vec<&[u8]> = text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).collect();
    lines.insert(at.min(lines.len()), line);
    let file = folder.join("journal");
    fs::write(&file, lines.join(&b'\n')).unwrap();
    file
}

#[test]
fn a_bad_line_in_a_journal_is_one_malformed_event_and_the_replay_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let good = recording("basic/text_partial");
    let expected = run(["replay".as_ref(), good.as_os_str()]).tags();
    // A line of the CLI without its envelope is no journal entry, though the CLI might have said it.
    let bad: [&[u8]; 5] = [
        b"{\"type\":\"keep_alive\"}",
        b"{\"t\":1,\"dir\":\"out\",\"li",
        b"\xff\xfe\0",
        b"{\"t\":1e999,\"dir\":\"out\",\"line\":\"x\"}",
        b"[]",
    ];
    for line in bad {
        for at in [4, usize::MAX] {
            let file = with_line(folder.path(), at, line);
            let finished = run(["replay".as_ref(), file.as_os_str()]);
            let events = finished.events();
            let malformed: Vec<_> = events.iter().filter(|event| event["type"] == "malformed").collect();
            assert_eq!(malformed.len(), 1, "{events:?}");
            assert!(malformed[0]["reason"].as_str().unwrap().starts_with("no journal entry: "));
            assert_eq!(malformed[0]["text"], String::from_utf8_lossy(line).as_ref());
            let others: Vec<_> = finished.tags().into_iter().filter(|tag| tag != "malformed").collect();
            assert_eq!(others, expected);
        }
    }
}

#[test]
fn the_same_bytes_that_are_no_journal_are_malformed_output_to_events() {
    let told = events(b"\x89PNG\n").tags();
    assert_eq!(told.iter().filter(|tag| *tag == "malformed").count(), 1);
}

#[test]
fn a_speed_must_be_a_number_above_zero_and_needs_follow() {
    let file = recording("basic/text_partial");
    for speed in ["0", "-1", "nan", "inf", "fast"] {
        let speed = format!("--speed={speed}");
        let finished = run(["replay".as_ref(), "--follow".as_ref(), speed.as_ref(), file.as_os_str()]);
        assert_eq!((finished.code, finished.out.as_str()), (Some(2), ""));
        assert!(finished.err.contains("must be a number above 0"), "{}", finished.err);
    }
    let finished = run(["replay".as_ref(), "--speed=2".as_ref(), file.as_os_str()]);
    assert_eq!(finished.code, Some(2));
    assert!(finished.err.contains("--follow"), "{}", finished.err);
}
