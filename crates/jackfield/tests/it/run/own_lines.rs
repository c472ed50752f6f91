//! The agent's own lines, whole and in order, from a host that keeps what they became.

use std::io::Read as _;

use super::stage::{Stage, exists, lines};

const OWN: [&str; 2] = ["--output-format", "stream-json"];

#[test]
fn stream_json_is_the_agents_own_lines() {
    let stage = Stage::new();
    let finished = stage.demo("think", &OWN);
    assert_eq!((finished.code, finished.err.as_str()), (Some(0), ""));
    let own = lines(&finished);
    let tags: Vec<&str> = own.iter().map(|line| line["type"].as_str().unwrap()).collect();
    for tag in ["system", "stream_event", "assistant", "result"] {
        assert!(tags.contains(&tag), "no {tag} in {tags:?}");
    }
    assert_eq!(own.iter().filter(|line| line["type"] == "result").count(), 1);
    assert_eq!(stage.sessions().len(), 1, "it is kept");
}

#[test]
fn a_conversation_goes_on_with_the_lines_of_its_next_run_alone() {
    let stage = Stage::new();
    let served = stage.serve();
    for more in [&["--agent", "demo"][..], &["--continue"], &["--resume", "latest"]] {
        let finished = stage.jackfield(&[&["run", "think"], more, &OWN].concat());
        assert_eq!((finished.code, finished.err.as_str()), (Some(0), ""), "{more:?}");
        let own = lines(&finished);
        assert_eq!(own.iter().filter(|line| line["type"] == "result").count(), 1, "{more:?}");
    }
    assert_eq!(stage.sessions().len(), 1);
    drop(served);
}

/// What the pieces of a flood say, put together.
fn said(out: &str) -> (usize, String) {
    let lines = out.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let deltas = lines.filter_map(|line| Some(line["event"]["delta"]["text"].as_str()?.to_owned()));
    let deltas: Vec<String> = deltas.collect();
    (deltas.len(), deltas.concat())
}

#[test]
fn every_line_of_a_flood_arrives_however_slowly_it_is_read() {
    let stage = Stage::new();
    let (pieces, text) = said(&stage.demo("many 20000", &OWN).out);
    assert!(pieces >= 20_000, "only {pieces} pieces");
    let served = stage.serve();
    let words = [&["run", "many 20000", "--agent", "demo"][..], &OWN].concat();
    let mut slow = stage.command(&words).spawn().unwrap();
    let mut out = slow.stdout.take().unwrap();
    let mut first = [0; 1];
    out.read_exact(&mut first).unwrap();
    // Nobody reads on before the host has it all; the agent was held back by nobody.
    let done = |session: &serde_json::Value| session["state"] == "idle" && session["total_cost_usd"] != 0.0;
    while !stage.sessions().iter().any(done) {
        std::thread::yield_now();
    }
    let mut rest = first.to_vec();
    out.read_to_end(&mut rest).unwrap();
    assert!(slow.wait().unwrap().success());
    assert_eq!(said(&String::from_utf8(rest).unwrap()), (pieces, text));
    drop(served);
}

#[test]
fn questions_are_denied_there_too() {
    let finished = Stage::new().demo("edit", &OWN);
    assert_eq!(finished.code, Some(4), "{}", finished.err);
    assert!(finished.out.contains("\"can_use_tool\""), "the agent's own words are not changed");
}

#[test]
fn an_agent_that_dies_has_its_last_lines_told() {
    let finished = Stage::new().demo("crash", &OWN);
    assert_eq!(finished.code, Some(1), "{}", finished.err);
    assert!(finished.err.contains("the turn failed"), "{}", finished.err);
    assert!(!lines(&finished).iter().any(|line| line["type"] == "result"));
    assert!(!lines(&finished).is_empty());
}

#[test]
fn an_ephemeral_run_leaves_nothing_behind() {
    let stage = Stage::new();
    for flags in [&["--ephemeral"][..], &["--no-host"], &["--ephemeral", OWN[0], OWN[1]]] {
        let finished = stage.demo("think", flags);
        assert_eq!((finished.code, finished.err.as_str()), (Some(0), ""));
        assert!(!finished.out.is_empty());
    }
    assert!(!exists(&stage.folder.path().join("data")));
}
