//! The recordings, and what must hold for every line of them.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use jackfield_wire::{
    Block, Content, HookDetail, Inbound, Outbound, OutboundMessage, decode, decode_without_shortcuts,
};
use serde_json::Value;

/// A line of a recording.
pub(crate) struct Recorded {
    /// `area/name`.
    pub(crate) recording: String,
    /// `in`, `out`, `err`, `meta`, …
    pub(crate) direction: String,
    /// Its number among the recording's lines of that direction, from 1.
    pub(crate) number: usize,
    /// The line.
    pub(crate) text: String,
}

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/recordings")
}

fn folders(path: &Path) -> Vec<PathBuf> {
    let mut folders: Vec<_> =
        fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_dir()).collect();
    folders.sort();
    folders
}

/// All lines of all recordings, in order.
pub(crate) fn all() -> Vec<Recorded> {
    let mut all = Vec::new();
    // `recordings/<area>/<name>` are the shared ones; `recordings-<version>/<name>` are made by `xtask record`.
    let fixtures = root().join("..");
    let made = folders(&fixtures).into_iter().filter(|path| path.to_str().unwrap().contains("recordings-"));
    for area in folders(&root()).into_iter().chain(made) {
        for folder in folders(&area) {
            let Ok(transcript) = fs::read_to_string(folder.join("transcript.jsonl")) else { continue };
            let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
            let recording = format!("{}/{}", name(&area), name(&folder));
            let mut numbers = std::collections::BTreeMap::<String, usize>::new();
            for line in transcript.split_terminator('\n') {
                let line: Value = serde_json::from_str(line).unwrap();
                let direction = line["dir"].as_str().unwrap().to_owned();
                let number = numbers.entry(direction.clone()).or_default();
                *number += 1;
                let text = line["line"].as_str().unwrap_or_default().to_owned();
                all.push(Recorded { recording: recording.clone(), direction, number: *number, text });
            }
        }
    }
    assert!(all.len() > 5_000, "only {} recorded lines found", all.len());
    all
}

pub(crate) fn of_direction(direction: &str) -> impl Iterator<Item = Recorded> {
    all().into_iter().filter(move |line| line.direction == direction)
}

/// Written exceptions: `recording#number reason`, one per line.
fn exceptions(text: &str) -> BTreeSet<String> {
    text.lines()
        .filter(|line| !line.is_empty() && !line.starts_with("//"))
        .map(|line| {
            let (place, reason) = line.split_once(' ').expect("an exception has a reason");
            assert!(reason.len() > 10, "an exception has a reason: {line}");
            place.to_owned()
        })
        .collect()
}

#[test]
fn every_recorded_line_of_the_cli_is_known() {
    let mut expected = exceptions(include_str!("not_known.txt"));
    let mut failures = Vec::new();
    for line in of_direction("out") {
        let decoded = decode(line.text.as_bytes());
        let place = format!("{}#{}", line.recording, line.number);
        assert_eq!(decoded.text, line.text, "{place}");
        if let Inbound::Unknown(_) | Inbound::Malformed(_) | Inbound::Blank = decoded.message {
            if !expected.remove(&place) {
                failures.push(format!("{place} {:?}", decoded.message));
            }
        } else {
            assert!(!decoded.repaired, "{place}");
        }
    }
    assert!(failures.is_empty(), "not known:\n{}", failures.join("\n"));
    assert!(expected.is_empty(), "exceptions that are none: {expected:?}");
}

#[test]
fn nearly_every_recorded_delta_is_a_piece_that_is_made_again_as_it_was() {
    let (mut deltas, mut pieces) = (0, 0);
    for line in of_direction("out").filter(|line| line.text.contains(r#""content_block_delta""#)) {
        deltas += 1;
        if let Some(piece) = decode(line.text.as_bytes()).piece() {
            pieces += 1;
            assert_eq!(piece.line(), line.text);
        }
    }
    assert!(deltas > 100 && pieces * 10 > deltas * 9, "{pieces} of {deltas}");
}

#[test]
fn every_block_and_hook_input_of_the_recordings_is_known() {
    let mut strange = Vec::new();
    for line in of_direction("out") {
        let blocks = match decode(line.text.as_bytes()).message {
            Inbound::Assistant(assistant) => assistant.message.content,
            Inbound::User(user) => user.message.content.into_blocks(),
            Inbound::ControlRequest(control) => {
                if let jackfield_wire::CliRequest::HookCallback(hook) = control.request
                    && let HookDetail::Unknown | HookDetail::Malformed { .. } = hook.input.detail
                {
                    strange.push(format!("{} {:?}", line.recording, hook.input));
                }
                continue;
            }
            _ => continue,
        };
        for block in blocks {
            match block {
                Block::Unknown { .. } | Block::Malformed { .. } => {
                    strange.push(format!("{} {block:?}", line.recording));
                }
                Block::ToolResult(result) => {
                    let nested = result
                        .content
                        .map(|raw| raw.parse::<Content>().unwrap().into_blocks())
                        .unwrap_or_default();
                    if nested
                        .iter()
                        .any(|block| matches!(block, Block::Unknown { .. } | Block::Malformed { .. }))
                    {
                        strange.push(format!("{} {nested:?}", line.recording));
                    }
                }
                _ => {}
            }
        }
    }
    // A host sent a block of type `banana` and had it replayed.
    strange
        .retain(|line| !(line.starts_with("process/stdin_user_unknown_block ") && line.contains("banana")));
    assert!(strange.is_empty(), "strange:\n{}", strange.join("\n"));
}

#[test]
fn shortcuts_read_every_recorded_line_as_the_long_way_does() {
    let mut shortcuts = 0;
    for line in of_direction("out").chain(of_direction("in")) {
        let quick = decode(line.text.as_bytes());
        assert_eq!(
            quick,
            decode_without_shortcuts(line.text.as_bytes()),
            "{}#{}",
            line.recording,
            line.number
        );
        shortcuts += usize::from(matches!(quick.message, Inbound::StreamEvent(_)));
    }
    assert!(shortcuts > 500, "only {shortcuts} stream events compared");
}

#[test]
fn every_accepted_line_of_a_host_can_be_built_again() {
    let mut expected = exceptions(include_str!("misuse.txt"));
    let mut failures = Vec::new();
    let mut built = 0;
    for line in of_direction("in") {
        let place = format!("{}#{}", line.recording, line.number);
        let decoded = Outbound::decode(line.text.as_bytes());
        assert_eq!(decoded.text, line.text, "{place}");
        let complaint = match &decoded.message {
            OutboundMessage::Known(outbound) => {
                let again: Value = serde_json::from_str(&outbound.encode()).unwrap();
                let original: Value = serde_json::from_str(&line.text).unwrap();
                (again != original).then(|| format!("is written as {again}"))
            }
            other => Some(format!("{other:?}")),
        };
        match complaint {
            None => built += 1,
            Some(_) if expected.remove(&place) => {}
            Some(complaint) => failures.push(format!("{place} {} {complaint}", line.text)),
        }
    }
    assert!(failures.is_empty(), "not built:\n{}", failures.join("\n"));
    assert!(expected.is_empty(), "exceptions that are none: {expected:?}");
    assert!(built > 700, "only {built} lines built");
}
