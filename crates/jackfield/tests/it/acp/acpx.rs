//! `acpx`, a client for the command line, as its users call it.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::Stdio;

use jackfield_testkit::api::{Reply, Scenario};
use serde_json::json;
use tokio::process::Command;

use super::play::nothing_is_left;
use super::promises;
use super::record::{Record, Side};
use super::schema::Schema;
use super::stage::{Agent, Stage, installed, node, patiently};
use crate::program::Finished;

/// A place where `acpx` plays.
struct Place {
    stage: Stage,
    agent: PathBuf,
}

impl Place {
    async fn set(turns: Vec<Reply>) -> Self {
        let stage = Stage::set(Agent::Ours, Scenario { turns }).await;
        // Its option takes one text, and a path of this machine may have blanks in it.
        let agent = stage.sandbox.places().temporary.join("agent");
        let words: Vec<String> = stage.agent_words().iter().map(|word| format!("'{word}'")).collect();
        fs::write(&agent, format!("#!/bin/sh\nexec {}\n", words.join(" "))).unwrap();
        fs::set_permissions(&agent, fs::Permissions::from_mode(0o700)).unwrap();
        Self { stage, agent }
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(node());
        command.arg(installed().join("node_modules/acpx/dist/cli.js")).arg("--agent").arg(&self.agent);
        command.args(words).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.kill_on_drop(true);
        self.stage.prepared(command)
    }

    async fn acpx(&self, words: &[&str]) -> Finished {
        patiently("the end of acpx", self.command(words).output()).await.unwrap().into()
    }

    fn exists(&self, name: &str) -> bool {
        self.stage.workspace().join(name).exists()
    }

    /// What passed, if all of it is as it must be.
    fn record(&self) -> Record {
        let record = self.stage.record();
        let faults = Schema::published().faults(&record);
        assert!(faults.is_empty(), "{faults:#?}");
        let broken = promises::broken(&record);
        assert!(broken.is_empty(), "{broken:#?}");
        record
    }
}

fn write() -> Vec<Reply> {
    let input = json!({ "file_path": "/ws/new.txt", "content": "one\n" });
    vec![Reply::tool_use("Write", input), Reply::text("That was it.")]
}

#[tokio::test(flavor = "multi_thread")]
async fn a_prompt_is_done_and_every_permission_given() {
    let place = Place::set(write()).await;
    let done = place.acpx(&["--approve-all", "--format", "quiet", "exec", "Write it"]).await;
    assert_eq!((done.code, done.out.trim()), (Some(0), "That was it."), "{}", done.err);
    assert!(place.exists("new.txt"));
    place.record();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_prompt_is_done_and_no_permission_given() {
    let place = Place::set(write()).await;
    let done = place.acpx(&["--deny-all", "--format", "quiet", "exec", "Write it"]).await;
    assert!(done.out.contains("That was it."), "{} {}", done.out, done.err);
    assert!(!place.exists("new.txt"));
    place.record();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_it_prints_for_programs_is_what_was_said() {
    let place = Place::set(write()).await;
    let done = place.acpx(&["--approve-all", "--format", "json", "--json-strict", "exec", "Write it"]).await;
    assert_eq!(done.code, Some(0), "{}", done.err);
    let lines: Vec<serde_json::Value> =
        done.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(lines.iter().any(|line| line["result"]["stopReason"] == "end_turn"), "{}", done.out);
    let record = place.record();
    let updates = lines.iter().filter(|line| line["method"] == "session/update").count();
    assert_eq!(updates, record.updates().count());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_saved_session_goes_on_in_the_next_call() {
    let place = Place::set(vec![Reply::text("Pleased to meet you."), Reply::text("Ada.")]).await;
    let made = place.acpx(&["sessions", "new"]).await;
    assert_eq!(made.code, Some(0), "{}", made.err);
    let first = place.acpx(&["--format", "quiet", "--ttl", "60", "I am Ada."]).await;
    assert_eq!((first.code, first.out.trim()), (Some(0), "Pleased to meet you."), "{}", first.err);
    let mode = place.acpx(&["--ttl", "60", "set-mode", "plan"]).await;
    assert_eq!(mode.code, Some(0), "{}", mode.err);
    let second = place.acpx(&["--format", "quiet", "--ttl", "60", "Who am I?"]).await;
    assert_eq!((second.code, second.out.trim()), (Some(0), "Ada."), "{}", second.err);
    let requests = place.stage.api.requests();
    let asked =
        requests.iter().rfind(|request| request.reply.is_some()).unwrap().body["messages"].to_string();
    assert!(asked.contains("I am Ada.") && asked.contains("Who am I?"), "{asked}");
    let closed = place.acpx(&["sessions", "close"]).await;
    assert_eq!(closed.code, Some(0), "{}", closed.err);
    nothing_is_left(&place.stage).await;
    place.record();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_that_runs_is_cancelled_from_another_call() {
    let held = Reply { gate: Some("held".to_owned()), ..Reply::text("Never seen.") };
    let place = Place::set(vec![held, Reply::text("After that.")]).await;
    assert_eq!(place.acpx(&["sessions", "new"]).await.code, Some(0));
    let running = place.command(&["--format", "json", "--ttl", "60", "Go"]).spawn().unwrap();
    patiently("the model is asked", place.stage.api.gates().reached("held")).await;
    let cancelled = place.acpx(&["cancel"]).await;
    assert_eq!(cancelled.code, Some(0), "{}", cancelled.err);
    let ended: Finished = patiently("its end", running.wait_with_output()).await.unwrap().into();
    assert!(ended.out.contains(r#""stopReason":"cancelled""#), "{} {}", ended.out, ended.err);
    let after = place.acpx(&["--format", "quiet", "--ttl", "60", "And now?"]).await;
    assert_eq!((after.code, after.out.trim()), (Some(0), "After that."), "{}", after.err);
    assert_eq!(place.acpx(&["sessions", "close"]).await.code, Some(0));
    let record = place.record();
    let asked = record.frames.iter().filter(|frame| frame.from == Side::Client);
    assert_eq!(asked.filter(|frame| frame.message["method"] == "session/cancel").count(), 1);
}
