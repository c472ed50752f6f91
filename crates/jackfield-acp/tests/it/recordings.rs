//! Every recording through the translation: each tool call that is shown ends exactly once, nothing is told of one that
//! was not, and every update is one that the protocol knows.

use std::collections::BTreeMap;

use jackfield_acp::schema::SessionId;
use jackfield_acp::translate::{Lines, Prompts, Translator, View};
use jackfield_api::{Body, Event};
use jackfield_core::journal::{Entry, Player};
use jackfield_core::{Launch, Options, Output, Session};
use jackfield_testkit::recordings::{self, Recording};
use serde_json::Value;

use crate::editor::update_schema;

fn events(recording: &Recording) -> Vec<Event> {
    let started = std::fs::read_to_string(recording.path.join("cmd.json")).unwrap();
    let started: Value = serde_json::from_str(&started).unwrap();
    let arguments: Vec<&str> = started["argv"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    let launch = Launch::from_arguments(&arguments);
    let mut player = Player::new(Session::new(Options::default()), launch);
    let mut events = Vec::new();
    for line in &recording.lines {
        let entry = Entry::read(&serde_json::to_string(line).unwrap()).unwrap();
        player.play(&entry);
        while let Some(output) = player.session().poll() {
            if let Output::Event(event) = output {
                events.push(event);
            }
        }
    }
    events
}

fn translated(events: &[Event], view: View) -> Vec<Value> {
    let mut translator = Translator::new(view, Prompts::All, "/ws", 0.0);
    let mut lines = Lines::new(SessionId::new("s"));
    for event in events {
        translator.see(event, &mut lines);
    }
    translator.end(&mut lines);
    let text = String::from_utf8(lines.lines().to_vec()).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn every_recording_becomes_updates_that_the_protocol_knows() {
    let schema = update_schema();
    let plain = View::default();
    let rich = View { notices: true, compaction: true, terminal_output: true };
    let (mut calls, mut texts) = (0, 0);
    for recording in recordings::all().unwrap() {
        let events = events(&recording);
        for view in [plain, rich] {
            let mut open: BTreeMap<String, bool> = BTreeMap::new();
            for message in translated(&events, view) {
                let name = &recording.name;
                if let Err(error) = schema.validate(&message["params"]) {
                    panic!("{name}: {error}: {message}");
                }
                let update = &message["params"]["update"];
                let id = update["toolCallId"].as_str().unwrap_or_default().to_owned();
                let is_end = matches!(update["status"].as_str(), Some("completed" | "failed"));
                match update["sessionUpdate"].as_str().unwrap() {
                    "tool_call" => {
                        assert_eq!(open.insert(id.clone(), is_end), None, "{name}: {id} begins twice");
                        calls += 1;
                    }
                    "tool_call_update" => {
                        let ended = open.get_mut(&id).unwrap_or_else(|| panic!("{name}: {id} is not known"));
                        assert!(!(*ended && is_end), "{name}: {id} ends twice");
                        *ended |= is_end;
                    }
                    "agent_message_chunk" => texts += 1,
                    _ => {}
                }
            }
            let left: Vec<_> = open.iter().filter(|(_, ended)| !**ended).collect();
            assert!(left.is_empty(), "{}: {left:?} never end", recording.name);
        }
    }
    assert!(calls > 200 && texts > 500, "{calls} calls, {texts} texts");
}

#[test]
fn the_text_that_is_told_is_the_text_that_was_said() {
    for recording in recordings::all().unwrap() {
        let events = events(&recording);
        let said: String = events
            .iter()
            .filter(|event| event.parent_tool_call_id.is_none())
            .filter_map(|event| match &event.body {
                Body::MessageChunk(chunk) => Some(chunk.text.as_str()),
                _ => None,
            })
            // The end of a compaction is told as one.
            .filter(|text| text.trim() != "Compacted")
            .collect();
        let told: String = translated(&events, View::default())
            .iter()
            .map(|message| &message["params"]["update"])
            .filter(|update| update["sessionUpdate"] == "agent_message_chunk")
            .filter_map(|update| update["content"]["text"].as_str())
            .collect();
        assert_eq!(told, said, "{}", recording.name);
    }
}

#[test]
fn edits_are_diffs_commands_have_output_and_todos_are_a_plan() {
    let of = |name: &str| {
        let all = recordings::all().unwrap();
        let recording = all.into_iter().find(|recording| recording.name == name).unwrap();
        let updates = translated(&events(&recording), View::default());
        updates.into_iter().map(|message| message["params"]["update"].clone()).collect::<Vec<_>>()
    };
    let updates = of("tools/read_write_edit");
    let has = |wanted: &dyn Fn(&Value) -> bool| updates.iter().any(wanted);
    assert!(has(&|update| update["kind"] == "edit" && update["content"][0]["type"] == "diff"));
    assert!(has(&|update| update["kind"] == "read" && update["locations"][0]["path"].is_string()));
    assert!(has(&|update| update["status"] == "completed" && update["rawOutput"].is_string()));
    let commands = of("tools/bash_long_output");
    let output = commands.iter().find(|update| update["status"] == "completed").unwrap();
    assert!(output["content"][0]["content"]["text"].as_str().unwrap().starts_with("```console\n"));
    let plan = of("tools/todowrite_env").into_iter().find(|update| update["sessionUpdate"] == "plan");
    let entries = plan.expect("a plan")["entries"].as_array().unwrap().clone();
    assert!(!entries.is_empty() && entries.iter().all(|entry| entry["priority"] == "medium"));
}
