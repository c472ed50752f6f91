//! What passed between a client and an agent, line by line.

use std::path::Path;

use serde_json::Value;

/// Who said something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Side {
    Client,
    Agent,
}

/// One line, read.
#[derive(Debug, Clone)]
pub(super) struct Frame {
    pub(super) from: Side,
    pub(super) message: Value,
}

/// Everything, in the order in which it passed.
#[derive(Debug, Clone, Default)]
pub(super) struct Record {
    pub(super) frames: Vec<Frame>,
    /// How each agent ended, in order.
    pub(super) exits: Vec<Value>,
}

impl Record {
    /// Reads what the tap has written. A line of an agent that is no JSON is a failure at once.
    pub(super) fn read(path: &Path) -> Self {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        let mut record = Self::default();
        for entry in text.split_inclusive('\n').filter(|entry| entry.ends_with('\n')) {
            let entry: Value = serde_json::from_str(entry).unwrap();
            let from = if entry["from"] == "client" { Side::Client } else { Side::Agent };
            if let Some(line) = entry["line"].as_str() {
                assert!(entry.get("cut").is_none(), "a line without an end: {line}");
                let message = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
                record.frames.push(Frame { from, message });
            } else if let Some(exit) = entry.get("exit") {
                record.exits.push(exit.clone());
            } else {
                assert!(entry.get("end").is_some(), "{entry}");
            }
        }
        record
    }

    /// The request that a response answers, with its place.
    pub(super) fn request_of(&self, place: usize) -> Option<(usize, &Frame)> {
        let answer = &self.frames[place];
        let id = answer.message.get("id").filter(|_| answer.message.get("method").is_none())?;
        let asked = self.frames[..place].iter().enumerate().rev();
        asked.into_iter().find(|(_, frame)| {
            frame.from != answer.from
                && frame.message.get("method").is_some()
                && frame.message.get("id") == Some(id)
        })
    }

    /// The newest configuration options that the agent told.
    pub(super) fn config_options(&self) -> Option<Vec<Value>> {
        let told = self.frames.iter().rev().filter(|frame| frame.from == Side::Agent).find_map(|frame| {
            let message = &frame.message;
            message["result"].get("configOptions").or(message["params"]["update"].get("configOptions"))
        });
        told.and_then(Value::as_array).cloned()
    }

    /// The updates of sessions, with their places.
    pub(super) fn updates(&self) -> impl Iterator<Item = (usize, &Value)> {
        let frames = self.frames.iter().enumerate();
        frames
            .filter(|(_, frame)| frame.from == Side::Agent && frame.message["method"] == "session/update")
            .map(|(place, frame)| (place, &frame.message["params"]["update"]))
    }
}
