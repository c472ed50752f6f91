//! Runs through a host that is there already, and beside each other.

use std::io::Read;

use rustix::process::Signal;

use super::stage::{Stage, lines, object, signal, until};
use crate::program::Finished;

#[test]
fn a_run_through_the_running_host_says_the_same_and_is_kept_there() {
    let alone = Stage::new().demo("markdown", &[]);
    let stage = Stage::new();
    let host = stage.serve();
    let through = stage.demo("markdown", &[]);
    assert_eq!((through.code, through.err.as_str()), (Some(0), ""));
    assert_eq!(through.out, alone.out);
    // The running host has it, and has ended its run.
    let [session] = &stage.sessions()[..] else { panic!("one session") };
    assert_eq!((&session["title"], &session["state"]), (&"markdown".into(), &"ended".into()));
    drop(host);
    assert_eq!(stage.sessions().len(), 1, "and so has the next one");
}

#[test]
fn formats_and_codes_are_the_same_through_the_running_host() {
    let stage = Stage::new();
    let _host = stage.serve();
    let events = stage.demo("think", &["--output-format", "events"]);
    assert_eq!((events.code, events.err.as_str()), (Some(0), ""));
    assert_eq!(lines(&events).last().unwrap()["type"], "run_ended");
    assert_eq!(stage.demo("edit", &[]).code, Some(4));
    assert_eq!(stage.demo("error", &[]).code, Some(1));
    assert_eq!(stage.jackfield(&["run", "hello"]).code, Some(3));
    let allowed = stage.demo("edit", &["--allow", "Edit", "--allow", "Write", "--output-format", "json"]);
    assert_eq!(object(&allowed)["exit_code"], 0);
}

#[test]
fn a_session_goes_on_by_name_by_folder_and_as_the_latest() {
    let stage = Stage::new();
    let first = object(&stage.demo("think", &["--output-format", "json"]));
    let id = first["session_id"].as_str().unwrap();
    let elsewhere = stage.folder.path().join("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    let other =
        object(&stage.demo("think", &["--output-format", "json", "--cwd", elsewhere.to_str().unwrap()]));

    let json = ["--output-format", "json"];
    let resumed = |arguments: &[&str]| {
        let finished = stage.jackfield(&[&["run", "help"], arguments, &json].concat());
        assert_eq!(finished.code, Some(0), "{}", finished.err);
        object(&finished)
    };
    let named = resumed(&["--resume", &id[..8]]);
    assert_eq!((&named["session_id"], &named["turn"]), (&first["session_id"], &2.into()));
    assert!(named["result"].as_str().unwrap().starts_with("Welcome back!"), "{named}");
    let by_cli = resumed(&["--resume", first["cli_session_id"].as_str().unwrap()]);
    assert_eq!((&by_cli["session_id"], &by_cli["turn"]), (&first["session_id"], &3.into()));
    let in_other = resumed(&["--continue", "--cwd", elsewhere.to_str().unwrap()]);
    assert_eq!((&in_other["session_id"], &in_other["turn"]), (&other["session_id"], &2.into()));
    let latest = resumed(&["--resume", "latest"]);
    assert_eq!((&latest["session_id"], &latest["turn"]), (&other["session_id"], &3.into()));
    let here = resumed(&["--continue", "--model", "claude-other-1"]);
    assert_eq!((&here["session_id"], &here["turn"]), (&first["session_id"], &4.into()));
    let model = stage.sessions().into_iter().find(|session| session["session_id"] == id).unwrap();
    assert_eq!(model["model"], "claude-other-1");
}

#[test]
fn runs_side_by_side_without_a_host_both_answer() {
    let stage = Stage::new().slowly();
    let mut slow =
        stage.command(&["run", "slow", "--agent", "demo", "--output-format", "events"]).spawn().unwrap();
    let mut rest = until(slow.stdout.take().unwrap(), "\"message_chunk\"");
    let quick = stage.demo("help", &[]);
    assert_eq!(quick.code, Some(0));
    assert!(quick.out.starts_with("## What you can ask me"), "{}", quick.out);
    assert!(quick.err.contains("this session is not kept there"), "{}", quick.err);
    signal(&slow, Signal::INT);
    rest.read_to_string(&mut String::new()).unwrap();
    let slow: Finished = slow.wait_with_output().unwrap().into();
    assert_eq!(slow.code, Some(130));
    assert_eq!(stage.sessions().len(), 1);
}

#[test]
fn an_interrupted_run_through_the_running_host_leaves_the_session_there() {
    let stage = Stage::new().slowly();
    let _host = stage.serve();
    let mut child =
        stage.command(&["run", "slow", "--agent", "demo", "--output-format", "events"]).spawn().unwrap();
    let mut rest = until(child.stdout.take().unwrap(), "\"message_chunk\"");
    signal(&child, Signal::INT);
    rest.read_to_string(&mut String::new()).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let [session] = &stage.sessions()[..] else { panic!("one session") };
    assert_eq!(
        (&session["state"], &session["last_error"]),
        (&"ended".into(), &"the turn was interrupted".into())
    );
}

#[test]
fn questions_can_be_left_to_other_clients_of_the_host() {
    let stage = Stage::new();
    let _host = stage.serve();
    let child = stage
        .command(&["run", "plan", "--agent", "demo", "--ask", "host", "--output-format", "events"])
        .spawn()
        .unwrap();
    stage.allow_as("phone");
    let finished: Finished = child.wait_with_output().unwrap().into();
    assert_eq!(finished.code, Some(0), "{}", finished.err);
    assert!(finished.err.contains("it waits for an answer in the host's page"), "{}", finished.err);
    let events = lines(&finished);
    let resolved = events.iter().find(|event| event["type"] == "permission_resolved").unwrap();
    assert_eq!((&resolved["outcome"], &resolved["by"]), (&"allowed".into(), &"phone".into()));
}
