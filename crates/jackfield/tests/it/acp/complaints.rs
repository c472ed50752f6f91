//! What users of other adapters complain of, and what must not happen with ours.
//!
//! The numbers are those of the complaints in the trackers of `claude-agent-acp` and of editors.

use jackfield_testkit::api::{Reply, Scenario};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::client::Client;
use super::normal::{Scope, facts};
use super::play::play;
use super::promises;
use super::record::Record;
use super::schema::Schema;
use super::stage::{Agent, Driver, Stage};

/// What ours tells in a scenario, in which it must keep every promise.
async fn ours(name: &str) -> (Vec<String>, Record) {
    let (record, stage) = play(name, Agent::Ours, Driver::Node).await;
    let broken = promises::broken(&record);
    assert!(broken.is_empty(), "{name}: {broken:#?}");
    (facts(&record, stage.sandbox.places(), Scope::Course), record)
}

/// The lines of the course of things: no details, no asides.
fn course(facts: &[String]) -> Vec<&str> {
    let words = ["prompt", "cancel", "say: ", "stop: ", "session/"];
    let belongs = |line: &&str| words.iter().any(|word| line.starts_with(word));
    facts.iter().map(String::as_str).filter(belongs).collect()
}

/// Zed 60702: a session that never begins, because it waits for something of the API.
#[tokio::test(flavor = "multi_thread")]
async fn a_session_begins_and_a_turn_is_cancelled_though_the_api_never_answers() {
    // It takes every connection and never says anything.
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", silent.local_addr().unwrap());
    tokio::spawn(async move {
        let mut taken = Vec::new();
        while let Ok((connection, _)) = silent.accept().await {
            taken.push(connection);
        }
    });
    let mut stage = Stage::set(Agent::Ours, Scenario::default()).await;
    stage.api_url = Some(url);
    let mut client = Client::start(&stage);
    client.call("initialize", json!({ "protocolVersion": 1, "clientCapabilities": {} })).await.unwrap();
    let made =
        client.call("session/new", json!({ "cwd": stage.workspace(), "mcpServers": [] })).await.unwrap();
    let session = made["sessionId"].clone();
    let prompt = json!({ "sessionId": session, "prompt": [{ "type": "text", "text": "Hello" }] });
    let turn = client.begin("session/prompt", prompt).await;
    client.notify("session/cancel", json!({ "sessionId": session })).await;
    assert_eq!(client.end(turn).await.unwrap()["stopReason"], "cancelled");
    client.close().await;
    assert!(Schema::published().faults(&stage.record()).is_empty());
}

/// Zed 63867, claude-agent-acp 551 and 187: a cancelled turn that wedges, answers twice, or is one behind.
#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_turn_has_one_answer_and_the_next_one_its_own() {
    for name in ["cancelled_before_the_first_token", "cancelled_in_a_tool", "cancelled_while_it_asks"] {
        let (facts, _) = ours(name).await;
        let wanted =
            ["prompt", "cancel", "stop: cancelled", "prompt", r#"say: "After that.""#, "stop: end_turn"];
        assert_eq!(course(&facts), wanted, "{name}");
    }
    let (facts, _) = ours("cancelled_twice").await;
    assert_eq!(course(&facts)[..4], ["prompt", "cancel", "cancel", "stop: cancelled"]);
    assert_eq!(course(&facts)[4..], ["prompt", r#"say: "After that.""#, "stop: end_turn"]);
}

/// claude-agent-acp 187: a cancel that comes too late hits the turn after it.
#[tokio::test(flavor = "multi_thread")]
async fn a_cancel_when_nothing_goes_on_leaves_the_next_turn_alone() {
    let turns = (0..20).map(|_| Reply::text("Here it is.")).collect();
    let stage = Stage::set(Agent::Ours, Scenario { turns }).await;
    let mut client = Client::start(&stage);
    client.call("initialize", json!({ "protocolVersion": 1, "clientCapabilities": {} })).await.unwrap();
    let new = json!({ "cwd": stage.workspace(), "mcpServers": [] });
    let session = client.call("session/new", new).await.unwrap()["sessionId"].clone();
    for _ in 0..20 {
        let prompt = json!({ "sessionId": session, "prompt": [{ "type": "text", "text": "Go" }] });
        assert_eq!(client.call("session/prompt", prompt).await.unwrap()["stopReason"], "end_turn");
        client.notify("session/cancel", json!({ "sessionId": session })).await;
    }
    client.close().await;
}

/// claude-agent-acp 630: the last message never comes, or only with the next turn.
#[tokio::test(flavor = "multi_thread")]
async fn the_last_message_comes_before_the_answer() {
    for (name, last) in [
        ("two_calls_at_once", "Two files."),
        ("a_subagent", "The subagent wrote sub.txt."),
        ("a_command_of_the_user", "Good day, Ada."),
    ] {
        let (facts, _) = ours(name).await;
        let course = course(&facts);
        let wanted = [format!("say: {}", Value::from(last)), "stop: end_turn".to_owned()];
        assert_eq!(course[course.len() - 2..], wanted, "{name}");
    }
    // What no model says is a message too.
    let (facts, _) = ours("a_command_of_the_cli").await;
    let course = course(&facts);
    assert!(course[1].contains("Total cost"), "{course:?}");
    // And so is what comes when nobody waits for it any more.
    let (facts, _) = ours("work_in_the_background").await;
    assert!(facts.iter().any(|line| line == r#"say: "It is done now.""#), "{facts:#?}");
}

/// Commands that are there in a new session and gone in one that is opened again.
#[tokio::test(flavor = "multi_thread")]
async fn commands_are_told_when_a_session_is_opened_again() {
    for name in ["a_session_that_is_loaded", "a_session_that_is_resumed"] {
        let (_, record) = ours(name).await;
        let told: Vec<usize> = record
            .updates()
            .filter(|(_, update)| update["sessionUpdate"] == "available_commands_update")
            .map(|(_, update)| update["availableCommands"].as_array().unwrap().len())
            .collect();
        assert!(told.len() >= 2 && told.iter().all(|count| *count > 0), "{name}: {told:?}");
    }
}

/// A permission whose card never appears, because the editor does not know the call that it is about.
#[tokio::test(flavor = "multi_thread")]
async fn a_permission_is_about_a_call_that_the_client_knows_and_can_show() {
    for name in
        ["an_edit_that_is_allowed", "a_command_that_is_allowed", "a_subagent", "a_server_of_the_client"]
    {
        let (_, record) = ours(name).await;
        let asked =
            record.frames.iter().find(|frame| frame.message["method"] == "session/request_permission");
        let params = &asked.unwrap().message["params"];
        let known: Vec<&Value> = record.updates().map(|(_, update)| &update["toolCallId"]).collect();
        assert!(known.contains(&&params["toolCall"]["toolCallId"]), "{name}");
        assert!(
            params["toolCall"]["title"].as_str().is_some_and(|title| !title.is_empty()),
            "{name}: {params}"
        );
        let mut ids: Vec<&str> = params["options"]
            .as_array()
            .unwrap()
            .iter()
            .map(|option| option["optionId"].as_str().unwrap())
            .collect();
        let count = ids.len();
        ids.sort_unstable();
        ids.dedup();
        assert!(ids.len() == count && count >= 2, "{name}: {params}");
    }
}

/// A second CLI for each session costs as much as the first.
#[tokio::test(flavor = "multi_thread")]
async fn a_session_has_one_cli_and_its_end_is_the_agents_end() {
    let stage =
        Stage::set(Agent::Ours, Scenario { turns: vec![Reply::text("One."), Reply::text("Two.")] }).await;
    let mut client = Client::start(&stage);
    client.call("initialize", json!({ "protocolVersion": 1, "clientCapabilities": {} })).await.unwrap();
    for _ in 0..2 {
        let new = json!({ "cwd": stage.workspace(), "mcpServers": [] });
        let session = client.call("session/new", new).await.unwrap()["sessionId"].clone();
        let prompt = json!({ "sessionId": session, "prompt": [{ "type": "text", "text": "Hello" }] });
        client.call("session/prompt", prompt).await.unwrap();
    }
    assert_eq!(stage.clis().len(), 2);
    client.close().await;
    assert_eq!(stage.record().exits, [0]);
    super::play::nothing_is_left(&stage).await;
}
