//! The program adds nothing to the core and takes nothing away.

use std::fs;
use std::path::Path;

use jackfield_api::{Event, Timestamp, codec};
use jackfield_core::journal::{Entry, Player};
use jackfield_core::{Exit, Input, Launch, Options, Output, Session};
use jackfield_wire::decode;
use serde_json::Value;

use crate::program::{events, recording, recordings, run};

fn entries(path: &Path) -> Vec<Entry> {
    fs::read_to_string(path).unwrap().lines().map(|line| Entry::read(line).unwrap()).collect()
}

fn drain(session: &mut Session) -> Vec<Event> {
    std::iter::from_fn(|| session.poll())
        .filter_map(|output| if let Output::Event(event) = output { Some(event) } else { None })
        .collect()
}

fn json(events: &[Event]) -> String {
    let mut out = Vec::new();
    for event in events {
        codec::encode(event, &mut out);
        out.push(b'\n');
    }
    String::from_utf8(out).unwrap()
}

#[test]
fn a_replay_is_what_the_core_makes_of_the_recording() {
    for path in recordings() {
        let command = fs::read(path.with_file_name("cmd.json")).unwrap_or_else(|_| b"null".to_vec());
        let command: Value = serde_json::from_slice(&command).unwrap();
        let arguments: Vec<&str> =
            command["argv"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let mut player = Player::new(Session::new(Options::default()), Launch::from_arguments(&arguments));
        let mut expected = Vec::new();
        for entry in entries(&path) {
            player.play(&entry);
            expected.extend(drain(player.session()));
        }
        player.session().finish();
        expected.extend(drain(player.session()));
        let finished = run(["replay".as_ref(), path.as_os_str()]);
        assert_eq!((finished.code, finished.err.as_str()), (Some(0), ""), "{}", path.display());
        assert_eq!(finished.out, json(&expected), "{}", path.display());
    }
}

#[test]
fn plain_output_gives_what_the_core_makes_of_its_lines() {
    for path in recordings() {
        let lines: Vec<String> =
            entries(&path).into_iter().filter(|entry| entry.dir == "out").map(|entry| entry.line).collect();
        let mut session = Session::new(Options::default());
        session.handle(Timestamp(0), Input::Started(Launch::output_only()));
        for line in &lines {
            session.handle(Timestamp(0), Input::Line(decode(line.as_bytes())));
        }
        session.handle(Timestamp(0), Input::Exited(Exit::OutputEnded));
        let expected = json(&drain(&mut session));

        let finished = events(lines.join("\n").as_bytes());
        assert_eq!((finished.code, finished.err.as_str()), (Some(0), ""), "{}", path.display());
        // The program has a clock, the core has none.
        let timeless = finished.out.lines().map(|line| {
            let mut event = codec::decode(line).unwrap();
            event.at = Timestamp(0);
            event
        });
        assert_eq!(json(&timeless.collect::<Vec<_>>()), expected, "{}", path.display());
    }
}

/// What the model said and did, in order.
fn said_and_done(events: &[Value]) -> Vec<String> {
    let words = |event: &Value| {
        Some(match event["type"].as_str()? {
            "message_chunk" => event["text"].as_str()?.to_owned(),
            "reasoning" => event["reasoning_text"].as_str()?.to_owned(),
            "tool_call" => format!("calls {} {}", event["tool_call_id"], event["tool_title"]),
            "tool_update" if event["tool_status"] != "running" => {
                format!("ends {} {}", event["tool_call_id"], event["tool_status"])
            }
            _ => return None,
        })
    };
    events.iter().filter_map(words).collect()
}

#[test]
fn plain_output_tells_the_same_words_and_deeds_as_the_whole_recording() {
    for path in recordings() {
        let lines: Vec<String> =
            entries(&path).into_iter().filter(|entry| entry.dir == "out").map(|entry| entry.line).collect();
        let plain = events(lines.join("\n").as_bytes()).events();
        let mut whole = said_and_done(&run(["replay".as_ref(), path.as_os_str()]).events());
        // That a text is a slash command's answer is known from the prompt; without, it is a notice
        // [slash/compact_success].
        let noticed =
            |text: &String| plain.iter().any(|event| event["type"] == "notice" && event["text"] == **text);
        whole.retain(|text| !noticed(text));
        assert_eq!(said_and_done(&plain), whole, "{}", path.display());
    }
}

#[test]
fn following_a_recording_changes_only_when_its_events_are_printed() {
    let path = recording("tools/parallel_subagents");
    let at_once = run(["replay".as_ref(), path.as_os_str()]);
    let followed =
        run(["replay".as_ref(), "--follow".as_ref(), "--speed".as_ref(), "1000".as_ref(), path.as_os_str()]);
    assert!(at_once.events().len() > 20);
    assert_eq!(followed.events(), at_once.events());
}

#[test]
fn a_replay_from_standard_input_is_the_same() {
    let path = recording("basic/text_partial");
    let mut command = crate::program::jackfield(["replay", "-"]);
    let piped = command.stdin(fs::File::open(&path).unwrap()).output().unwrap();
    assert_eq!(String::from_utf8(piped.stdout).unwrap(), run(["replay".as_ref(), path.as_os_str()]).out);
}

#[test]
fn a_file_is_read_as_standard_input_is() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("output");
    let line = "{\"type\":\"banana\",\"session_id\":\"s\"}\n";
    fs::write(&file, line).unwrap();
    let from_file = run(["events".as_ref(), file.as_os_str()]);
    assert_eq!(from_file.tags(), ["run_started", "unknown", "run_ended"]);
    assert_eq!(from_file.tags(), events(line.as_bytes()).tags());
}

#[test]
fn no_input_at_all_is_a_run_that_started_and_ended() {
    assert_eq!(events(b"").tags(), ["run_started", "run_ended"]);
    assert_eq!(events(b"\n \n\r\n").tags(), ["run_started", "run_ended"]);
}
