//! Where the output goes: pipes that break, disks that are full, readers that must not wait.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

use crate::program::{Finished, feed, jackfield, recording, run};

/// Reads one line of its output and then no more.
fn read_one_line(mut child: Child) -> Finished {
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert!(line.starts_with("{\"type\":\"run_started\""), "{line}");
    child.wait_with_output().unwrap().into()
}

/// More than any pipe holds.
fn much_output() -> Vec<u8> {
    b"{\"type\":\"banana\",\"session_id\":\"s\"}\n".repeat(100_000)
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let mut child = jackfield(["events"]).stdin(Stdio::piped()).spawn().unwrap();
    feed(&mut child, &much_output());
    let finished = read_one_line(child);
    assert_eq!((finished.code, finished.err.as_str()), (Some(0), ""));

    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("journal");
    let first = r#"{"t":0,"dir":"out","line":"{\"type\":\"keep_alive\"}"}"#;
    let entry = r#"{"t":0,"dir":"out","line":"no message"}"#;
    fs::write(&file, format!("{first}\n{}", format!("{entry}\n").repeat(100_000))).unwrap();
    let finished = read_one_line(jackfield(["replay".as_ref(), file.as_os_str()]).spawn().unwrap());
    assert_eq!((finished.code, finished.err.as_str()), (Some(0), ""));
}

#[test]
fn a_full_disk_is_an_error_of_the_surroundings() {
    let file = recording("basic/text_partial");
    for command in ["events", "replay"] {
        let full = fs::File::create("/dev/full").unwrap();
        let output = jackfield([command.as_ref(), file.as_os_str()]).stdout(full).output().unwrap();
        let finished = Finished::from(output);
        assert_eq!(finished.code, Some(1));
        assert_eq!(
            finished.err,
            "jackfield: cannot write to standard output: No space left on device (os error 28)\n"
        );
    }
}

#[test]
fn what_is_known_is_printed_before_a_long_wait() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("journal");
    let entry =
        |t: f64| format!("{{\"t\":{t},\"dir\":\"out\",\"line\":\"{{\\\"type\\\":\\\"banana\\\"}}\"}}\n");
    let named = recording("basic/text_partial");
    // The whole of a recording, and then nothing for eleven days.
    fs::write(&file, fs::read_to_string(named).unwrap() + &entry(1e6)).unwrap();
    let arguments = ["replay".as_ref(), "--follow".as_ref(), "--speed=1000".as_ref(), file.as_os_str()];
    let mut child = jackfield(arguments).spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    let last = lines.into_iter().find(|line| line.starts_with("{\"type\":\"run_ended\""));
    assert!(last.is_some());
    assert!(child.try_wait().unwrap().is_none(), "it waits for what is not due");
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn the_help_shows_how_to_call_it() {
    for arguments in [&["--help"][..], &["events", "--help"], &["replay", "--help"]] {
        let finished = run(arguments);
        assert_eq!((finished.code, finished.err.as_str()), (Some(0), ""));
        assert!(finished.out.contains("Examples:\n"), "{}", finished.out);
    }
    let version = format!("jackfield {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(run(["--version"]).out, version);
}
