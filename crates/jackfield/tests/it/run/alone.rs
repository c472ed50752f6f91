//! Runs that no host knows: the agent's own lines, and nothing kept.

use super::stage::{Stage, exists, lines};

#[test]
fn stream_json_is_the_agents_own_lines() {
    let stage = Stage::new();
    let finished = stage.demo("think", &["--output-format", "stream-json"]);
    assert_eq!((finished.code, finished.err.as_str()), (Some(0), ""));
    let own = lines(&finished);
    let tags: Vec<&str> = own.iter().map(|line| line["type"].as_str().unwrap()).collect();
    for tag in ["system", "stream_event", "assistant", "result"] {
        assert!(tags.contains(&tag), "no {tag} in {tags:?}");
    }
    assert_eq!(own.iter().filter(|line| line["type"] == "result").count(), 1);
    assert!(stage.sessions().is_empty(), "a host knows nothing of it");
}

#[test]
fn a_line_of_a_flood_arrives_or_its_loss_is_told() {
    let finished = Stage::new().demo("many 20000", &["--output-format", "stream-json"]);
    let deltas = finished.out.lines().filter(|line| line.contains("\"text_delta\"")).count();
    let told =
        finished.err.lines().filter_map(|line| line.split(" lines were lost").next()?.rsplit(' ').next());
    let lost: usize = told.filter_map(|number| number.parse::<usize>().ok()).sum();
    assert!(deltas + lost >= 20_000, "only {deltas} pieces, and {lost} were told lost: {}", finished.err);
    assert_eq!(finished.code, Some(i32::from(lost > 0)), "{}", finished.err);
}

#[test]
fn questions_are_denied_there_too() {
    let finished = Stage::new().demo("edit", &["--output-format", "stream-json"]);
    assert_eq!(finished.code, Some(4), "{}", finished.err);
    assert!(finished.out.contains("\"can_use_tool\""), "the agent's own words are not changed");
}

#[test]
fn an_ephemeral_run_leaves_nothing_behind() {
    let stage = Stage::new();
    for flag in ["--ephemeral", "--no-host"] {
        let finished = stage.demo("think", &[flag]);
        assert_eq!((finished.code, finished.err.as_str()), (Some(0), ""));
        assert!(!finished.out.is_empty());
    }
    assert!(!exists(&stage.folder.path().join("data")));
}
