//! `jackfield acp` killed in the middle of a turn, with the real CLI behind it.

use std::time::Duration;

use jackfield_testkit::api::{Block, BlockGate, Content, Reply, Scenario};
use jackfield_testkit::processes;
use rustix::process::Signal;
use serde_json::{Value, json};

use super::client::Client;
use super::stage::{Agent, Stage, patiently};

const WORDS: usize = 60;

/// A reply of so many words that stops behind some of them.
fn reply(after: usize) -> Reply {
    let chunks: Vec<String> = (0..WORDS).map(|number| format!("word{number} ")).collect();
    let gate = Some(BlockGate { name: "held".to_owned(), after });
    let block =
        Block { gate, chunks: Some(chunks.clone()), ..Block::new(Content::Text { text: chunks.concat() }) };
    Reply { blocks: vec![block], ..Reply::default() }
}

/// What the agents said, one after the other.
fn said(stage: &Stage) -> String {
    let record = stage.record();
    let chunks = record.updates().filter(|(_, update)| update["sessionUpdate"] == "agent_message_chunk");
    chunks.filter_map(|(_, update)| update["content"]["text"].as_str()).collect()
}

async fn opened(stage: &Stage) -> Client {
    let mut client = Client::start(stage);
    client.call("initialize", json!({ "protocolVersion": 1, "clientCapabilities": {} })).await.unwrap();
    client
}

/// The agents themselves, without what they started.
fn agents(stage: &Stage) -> Vec<u32> {
    let is_agent = |id: &u32| {
        let words = std::fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
        words.starts_with(env!("CARGO_BIN_EXE_jackfield").as_bytes()) && words.ends_with(b"\0acp\0")
    };
    stage.alive().into_iter().filter(is_agent).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_editor_was_shown_is_there_after_the_agent_was_killed() {
    for after in [1, 23, WORDS] {
        let stage = Stage::set(Agent::Ours, Scenario { turns: vec![reply(after)] }).await;
        let mut client = opened(&stage).await;
        let place = json!({ "cwd": stage.workspace(), "mcpServers": [] });
        let session = client.call("session/new", place).await.unwrap()["sessionId"].clone();
        let prompt = json!({ "sessionId": session, "prompt": [{ "type": "text", "text": "Go" }] });
        client.begin("session/prompt", prompt).await;
        // As soon as the last of these words is shown.
        let last = format!("word{} ", after - 1);
        let shows =
            |update: &Value| update["content"]["text"].as_str().is_some_and(|text| text.contains(&last));
        client.update(0, shows).await;
        let killed = agents(&stage);
        assert_eq!(killed.len(), 1);
        for id in killed {
            processes::signal(id, Signal::KILL);
        }
        patiently("the end of the agent and of the CLI that nobody drives any more", async {
            while stage.record().exits.is_empty() || !stage.clis().is_empty() {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        })
        .await;
        drop(client);
        let shown = said(&stage);

        let mut client = opened(&stage).await;
        let place = json!({ "sessionId": session, "cwd": stage.workspace(), "mcpServers": [] });
        client.call("session/load", place).await.unwrap();
        let both = said(&stage);
        let again = both.strip_prefix(&shown).unwrap();
        assert!(shown.contains(&last) && again.starts_with(&shown), "shown: {shown}\nagain: {again}");
        client.close().await;
    }
}
