//! *Conserving*: nothing that the CLI says is lost or told twice, and what it counts adds up.
//!
//! Run on the recordings as they are: in torn ones nobody can say what the final text was. What must come
//! out is computed from the raw lines here, with `serde_json` and nothing of ours.

use std::collections::BTreeMap;

use jackfield_api::conversation::ItemOutcome;
use jackfield_api::{Body, Event};
use serde_json::Value;

use crate::fixtures::{self, Recording};

/// A text or a thought: thread, voice, API message, text.
type Prose = (Option<String>, &'static str, String, String);

#[test]
fn every_block_of_text_or_thinking_is_one_complete_item() {
    for recording in fixtures::all() {
        let told: Vec<Prose> = items(&recording.events(None))
            .into_iter()
            .filter(|item| item.outcome == Some(ItemOutcome::Complete))
            .filter_map(|item| Some((item.parent, item.voice, item.message?, item.text)))
            .collect();
        assert_eq!(told, blocks(recording), "{}", recording.name);
    }
}

#[test]
fn an_item_that_did_not_become_complete_is_what_was_streamed_of_it() {
    let mut seen = 0;
    for recording in fixtures::all() {
        let streamed = streamed(recording);
        for item in items(&recording.events(None)) {
            if item.outcome != Some(ItemOutcome::Complete) {
                let whole = (item.voice, item.message.unwrap_or_default(), item.text);
                assert!(streamed.contains(&whole), "{}: {whole:?} was not streamed", recording.name);
                seen += 1;
            }
        }
    }
    assert!(seen >= 5, "only {seen} items of all recordings were aborted or replaced");
}

#[test]
fn text_outside_of_api_messages_is_a_result_or_the_output_of_a_command() {
    for recording in fixtures::all() {
        let said: Vec<String> = lines(recording)
            .filter_map(|line| match line["type"].as_str()? {
                "result" => line["result"].as_str().map(str::to_owned),
                "user" => line["message"]["content"].as_str().and_then(|text| {
                    Some(
                        text.strip_prefix("<local-command-stdout>")?
                            .strip_suffix("</local-command-stdout>")?
                            .to_owned(),
                    )
                }),
                _ => None,
            })
            .collect();
        for item in items(&recording.events(None)).into_iter().filter(|item| item.message.is_none()) {
            assert!(said.contains(&item.text), "{}: nobody said {:?}", recording.name, item.text);
        }
    }
}

#[test]
fn the_costs_of_the_turns_of_a_run_add_up_to_its_totals() {
    for recording in fixtures::all() {
        for run in runs(&recording.events(None)) {
            let figures: Vec<_> = run
                .iter()
                .filter_map(
                    |event| if let Body::Complete(end) = &event.body { Some(&end.data) } else { None },
                )
                .collect();
            // A total that falls has begun anew: newer CLIs count from 0 after `/clear` [2.1.325/clear].
            let totals: f64 = figures
                .chunk_by(|one, next| one.total_cost_usd <= next.total_cost_usd)
                .filter_map(|counted| counted.last())
                .map(|last| last.total_cost_usd)
                .sum();
            let sum: f64 = figures.iter().map(|turn| turn.cost_usd).sum();
            assert!((sum - totals).abs() < 1e-9, "{}: {sum} is not {totals}", recording.name);
            assert!(
                figures.iter().all(|turn| turn.cost_usd >= 0.0),
                "{}: a turn earned money",
                recording.name
            );
        }
    }
}

#[test]
fn every_result_is_one_complete_with_its_figures() {
    for recording in fixtures::all() {
        let expected: Vec<[u64; 6]> = lines(recording)
            .filter(|line| line["type"] == "result")
            .map(|line| {
                let number = |value: &Value| value.as_u64().unwrap_or_default();
                [
                    number(&line["usage"]["input_tokens"]),
                    number(&line["usage"]["output_tokens"]),
                    number(&line["usage"]["cache_read_input_tokens"]),
                    number(&line["usage"]["cache_creation_input_tokens"]),
                    number(&line["duration_ms"]),
                    number(&line["num_turns"]),
                ]
            })
            .collect();
        let told: Vec<[u64; 6]> = recording
            .events(None)
            .iter()
            .filter_map(|event| if let Body::Complete(end) = &event.body { Some(&end.data) } else { None })
            .map(|data| {
                [
                    data.input_tokens,
                    data.output_tokens,
                    data.cache_read_tokens,
                    data.cache_creation_tokens,
                    data.duration_ms,
                    data.num_turns,
                ]
            })
            .collect();
        assert_eq!(told, expected, "{}", recording.name);
    }
}

#[test]
fn every_tool_call_and_every_result_is_told_once() {
    for recording in fixtures::all() {
        let calls = |line: &Value| -> Vec<String> {
            let blocks = line["message"]["content"].as_array().cloned().unwrap_or_default();
            let is_call =
                |block: &Value| matches!(block["type"].as_str(), Some("tool_use" | "server_tool_use"));
            blocks.iter().filter(|block| is_call(block)).map(|block| text(&block["id"])).collect()
        };
        let mut expected: Vec<String> = lines(recording)
            .filter(|line| line["type"] == "assistant")
            .flat_map(|line| calls(&line))
            .collect();
        let mut told: Vec<String> = recording
            .events(None)
            .iter()
            .filter_map(|event| if let Body::ToolCall(call) = &event.body { Some(call) } else { None })
            .map(|call| call.tool_call_id.to_string())
            .collect();
        expected.sort();
        told.sort();
        assert_eq!(told, expected, "{}", recording.name);
    }
}

/// An item, put together from its events.
struct Told {
    parent: Option<String>,
    voice: &'static str,
    message: Option<String>,
    text: String,
    outcome: Option<ItemOutcome>,
}

/// All items, in the order of their ends; those without an end behind.
fn items(events: &[Event]) -> Vec<Told> {
    let mut open: BTreeMap<u64, Told> = BTreeMap::new();
    let mut ended = Vec::new();
    for event in events {
        let (id, voice, message, piece) = match &event.body {
            Body::MessageChunk(chunk) => (chunk.item_id, "text", &chunk.message_id, &chunk.text),
            Body::Reasoning(thought) => {
                (thought.item_id, "thinking", &thought.message_id, &thought.reasoning_text)
            }
            Body::ItemEnded(end) => {
                let mut item = open.remove(&end.item_id.0).unwrap();
                item.outcome = Some(end.outcome);
                ended.push(item);
                continue;
            }
            _ => continue,
        };
        let item = open.entry(id.0).or_insert_with(|| Told {
            parent: event.parent_tool_call_id.as_ref().map(ToString::to_string),
            voice,
            message: message.as_ref().map(ToString::to_string),
            text: String::new(),
            outcome: None,
        });
        item.text.push_str(piece);
    }
    ended.extend(open.into_values());
    ended
}

/// What the assistant's lines say, in order.
fn blocks(recording: &Recording) -> Vec<Prose> {
    let mut blocks = Vec::new();
    for line in lines(recording).filter(|line| line["type"] == "assistant") {
        for block in line["message"]["content"].as_array().into_iter().flatten() {
            let (voice, said) = match block["type"].as_str() {
                Some("text") => ("text", text(&block["text"])),
                Some("thinking") => ("thinking", text(&block["thinking"])),
                _ => continue,
            };
            if !said.is_empty() {
                let parent = line["parent_tool_use_id"].as_str().map(str::to_owned);
                blocks.push((parent, voice, text(&line["message"]["id"]), said));
            }
        }
    }
    blocks
}

/// What was streamed of each block, however far it came.
fn streamed(recording: &Recording) -> Vec<(&'static str, String, String)> {
    let mut streamed = Vec::new();
    let (mut message, mut open) = (String::new(), BTreeMap::<u64, (&'static str, String)>::new());
    for line in lines(recording).filter(|line| line["type"] == "stream_event") {
        let event = &line["event"];
        let index = event["index"].as_u64().unwrap_or_default();
        match event["type"].as_str() {
            Some("message_start") => {
                streamed.extend(
                    std::mem::take(&mut open)
                        .into_values()
                        .map(|(voice, said)| (voice, message.clone(), said)),
                );
                message = text(&event["message"]["id"]);
            }
            Some("content_block_start") => {
                let voice = if event["content_block"]["type"] == "thinking" { "thinking" } else { "text" };
                open.insert(index, (voice, String::new()));
            }
            Some("content_block_delta") => {
                let piece = event["delta"]["text"].as_str().or(event["delta"]["thinking"].as_str());
                if let (Some(piece), Some((_, said))) = (piece, open.get_mut(&index)) {
                    said.push_str(piece);
                }
            }
            _ => {}
        }
    }
    streamed.extend(open.into_values().map(|(voice, said)| (voice, message.clone(), said)));
    streamed
}

/// The events between the starts of runs.
fn runs(events: &[Event]) -> Vec<&[Event]> {
    events.chunk_by(|_, next| !matches!(next.body, Body::RunStarted(_))).collect()
}

/// The lines of the CLI that are JSON.
fn lines(recording: &Recording) -> impl Iterator<Item = Value> {
    recording.output().filter_map(|line| serde_json::from_str(line).ok())
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
