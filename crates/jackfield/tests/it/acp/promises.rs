//! What an agent promises by speaking the protocol, checked on a record.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::record::{Frame, Record, Side};

/// What was promised and not kept, each as a sentence.
pub(super) fn broken(record: &Record) -> Vec<String> {
    let mut broken = Vec::new();
    for connection in connections(record) {
        answers(connection, &mut broken);
        calls(connection, &mut broken);
        cancelled(connection, &mut broken);
        commands(connection, &mut broken);
    }
    for exit in &record.exits {
        if exit != 0 {
            broken.push(format!("the agent ended with {exit} when its input ended"));
        }
    }
    broken
}

/// The frames of each agent by itself: each begins with `initialize`.
fn connections(record: &Record) -> Vec<&[Frame]> {
    let begins = |frame: &Frame| frame.message["method"] == "initialize";
    let starts: Vec<usize> =
        record.frames.iter().enumerate().filter(|(_, frame)| begins(frame)).map(|(place, _)| place).collect();
    let ends = starts.iter().skip(1).copied().chain([record.frames.len()]);
    starts.iter().zip(ends).map(|(&start, end)| &record.frames[start..end]).collect()
}

/// Every request has exactly one answer, and every answer a request.
fn answers(frames: &[Frame], broken: &mut Vec<String>) {
    let mut open: BTreeMap<String, &Value> = BTreeMap::new();
    let mut seen = BTreeSet::new();
    for Frame { from, message } in frames {
        let id = message.get("id").map(Value::to_string);
        match (from, message.get("method"), id) {
            (Side::Client, Some(method), Some(id)) => drop(open.insert(id, method)),
            (Side::Agent, None, Some(id)) if open.remove(&id).is_none() => {
                broken.push(format!("request {id} was answered without being open: {message}"));
            }
            (Side::Agent, Some(method), Some(id)) if !seen.insert(id.clone()) => {
                broken.push(format!("the agent used the id {id} twice, the second time for {method}"));
            }
            _ => {}
        }
    }
    for (id, method) in open {
        broken.push(format!("request {id} ({method}) was never answered"));
    }
}

/// A call is announced once, before anything else is said of it, and ends exactly once.
fn calls(frames: &[Frame], broken: &mut Vec<String>) {
    let mut ends: BTreeMap<&str, usize> = BTreeMap::new();
    for Frame { from, message } in frames {
        if *from == Side::Client {
            continue;
        }
        let (update, asked) = (&message["params"]["update"], &message["params"]["toolCall"]);
        let id = update["toolCallId"].as_str().or(asked["toolCallId"].as_str());
        let Some(id) = id else { continue };
        match update["sessionUpdate"].as_str() {
            Some("tool_call") if ends.insert(id, 0).is_some() => {
                broken.push(format!("call {id} was announced twice"));
            }
            Some("tool_call") => {}
            _ if !ends.contains_key(id) => {
                broken.push(format!("something was said of call {id} before it was announced: {message}"));
            }
            _ => {}
        }
        if matches!(update["status"].as_str(), Some("completed" | "failed")) {
            *ends.entry(id).or_default() += 1;
        }
    }
    for (id, ends) in ends {
        if ends != 1 {
            broken.push(format!("call {id} has ended {ends} times"));
        }
    }
}

/// A prompt that is cancelled says so.
fn cancelled(frames: &[Frame], broken: &mut Vec<String>) {
    let mut open: BTreeMap<String, bool> = BTreeMap::new();
    for Frame { from, message } in frames {
        let id = message.get("id").map(Value::to_string).unwrap_or_default();
        match (from, message["method"].as_str()) {
            (Side::Client, Some("session/prompt")) => drop(open.insert(id, false)),
            (Side::Client, Some("session/cancel")) => open.values_mut().for_each(|was| *was = true),
            (Side::Agent, None)
                if open.remove(&id) == Some(true) && message["result"]["stopReason"] != "cancelled" =>
            {
                broken.push(format!("a cancelled prompt was answered with {message}"));
            }
            _ => {}
        }
    }
}

/// Wherever a session is opened and spoken to, its commands are told, and there are some.
fn commands(frames: &[Frame], broken: &mut Vec<String>) {
    let asked = frames.iter().filter(|frame| frame.message["method"] == "session/prompt");
    let ids: Vec<&Value> = asked.map(|frame| &frame.message["id"]).collect();
    let answered = frames.iter().any(|frame| {
        let message = &frame.message;
        frame.from == Side::Agent
            && message["result"]["stopReason"] == "end_turn"
            && ids.contains(&&message["id"])
    });
    let told = frames.iter().any(|frame| {
        let update = &frame.message["params"]["update"];
        update["availableCommands"].as_array().is_some_and(|commands| !commands.is_empty())
    });
    if answered && !told {
        broken.push("a session was opened and spoken to, and its commands were not told".to_owned());
    }
}
