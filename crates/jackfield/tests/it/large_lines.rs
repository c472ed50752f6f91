//! Lines of any length, and no line at all: told, not kept, and not in the way of the next.

use std::io::{Read, Write};
use std::process::{Child, Stdio};
use std::thread;

use crate::program::{Finished, jackfield};

const MEGABYTE: usize = 1024 * 1024;
const GOOD: &[u8] = b"\n{\"type\":\"banana\",\"session_id\":\"s\"}\n";

fn start(arguments: &[&str]) -> Child {
    let mut command = jackfield(["events"]);
    command.args(arguments).stdin(Stdio::piped()).spawn().unwrap()
}

/// The most memory that it has used so far, in KiB.
fn peak(child: &Child) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_ascii_whitespace().nth(1).unwrap().parse().unwrap()
}

/// Writes so many megabytes of the same byte, then says what that took, then ends the input with `end`.
fn fill(mut child: Child, begin: &[u8], megabytes: usize, end: &[u8]) -> (Finished, u64) {
    let mut stdin = child.stdin.take().unwrap();
    let chunk = vec![b'x'; MEGABYTE];
    stdin.write_all(begin).unwrap();
    for _ in 0..megabytes {
        stdin.write_all(&chunk).unwrap();
    }
    let peak = peak(&child);
    let end = end.to_vec();
    let writer = thread::spawn(move || stdin.write_all(&end).unwrap());
    let finished = child.wait_with_output().unwrap().into();
    writer.join().unwrap();
    (finished, peak)
}

#[test]
fn f18_a_line_over_the_limit_is_told_with_its_length_and_the_next_is_read() {
    let (finished, peak) = fill(start(&[]), b"", 100, GOOD);
    let events = finished.events();
    assert_eq!(finished.tags(), ["run_started", "malformed", "unknown", "run_ended"]);
    assert_eq!(events[1]["reason"], format!("the line is too long: {} bytes", 100 * MEGABYTE));
    assert_eq!(events[1]["text"], "");
    // 64 MiB are kept until the line is known to be too long, in a buffer that doubles.
    assert!(peak < 300 * 1024, "{peak} KiB");
}

#[test]
fn f18_a_line_of_a_hundred_megabytes_is_a_message_if_the_limit_allows_it() {
    let begin = br#"{"type":"assistant","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":""#;
    let end = br#""}],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":1,"output_tokens":1}},"parent_tool_use_id":null,"session_id":"s","uuid":"u"}"#;
    let (finished, _) = fill(start(&["--line-limit", "200000000"]), begin, 100, end);
    let events = finished.events();
    let text =
        events.iter().find(|event| event["type"] == "message_chunk").unwrap()["text"].as_str().unwrap();
    assert_eq!(text.len(), 100 * MEGABYTE);
    assert!(text.bytes().all(|byte| byte == b'x'));
}

#[test]
fn f19_a_gigabyte_without_a_newline_needs_no_more_memory_than_the_limit() {
    let (finished, peak) = fill(start(&["--line-limit", "1048576"]), b"", 1024, GOOD);
    assert_eq!(finished.tags(), ["run_started", "malformed", "unknown", "run_ended"]);
    assert_eq!(finished.events()[1]["reason"], format!("the line is too long: {} bytes", 1024 * MEGABYTE));
    assert!(peak < 64 * 1024, "{peak} KiB");
}

#[test]
fn a_long_stream_needs_no_more_memory_than_a_short_one() {
    let mut child = start(&[]);
    let mut stdin = child.stdin.take().unwrap();
    let mut stdout = child.stdout.take().unwrap();
    let reader = thread::spawn(move || {
        let mut chunk = vec![0; MEGABYTE];
        let mut total = 0;
        loop {
            match stdout.read(&mut chunk).unwrap() {
                0 => return total,
                read => total += read,
            }
        }
    });
    let line = b"{\"type\":\"system\",\"subtype\":\"new_thing\",\"session_id\":\"s\",\"text\":\"0123456789012345678901234567890123456789\"}\n";
    let many = line.repeat(1000);
    for _ in 0..300 {
        stdin.write_all(&many).unwrap();
    }
    let peak = peak(&child);
    drop(stdin);
    assert!(child.wait().unwrap().success());
    assert!(reader.join().unwrap() > 300_000 * line.len());
    assert!(peak < 32 * 1024, "{peak} KiB");
}
