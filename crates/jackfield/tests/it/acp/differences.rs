//! Ours beside the reference adapter: the same scenarios, the same CLI, and a list of what differs.
//!
//! The list is `docs/acp-differences.md`: what stands there in a block of `diff` is a difference that somebody has
//! looked at and explained. One that is not there fails, and one that is there and is gone fails too.

use std::collections::BTreeSet;

use similar::{Algorithm, ChangeTag, TextDiff};

use super::normal::{Scope, facts};
use super::play::play;
use super::promises;
use super::scenario::Scenario;
use super::schema::Schema;
use super::stage::{Agent, Driver};

macro_rules! scenarios {
    ($($name:ident)*) => {
        const NAMES: &[&str] = &[$(stringify!($name)),*];
        $(
            #[tokio::test(flavor = "multi_thread")]
            async fn $name() {
                compare(stringify!($name)).await;
            }
        )*
    };
}

scenarios! {
    a_command_of_the_cli
    a_command_of_the_user
    a_command_that_fails
    a_command_that_is_allowed
    a_command_that_is_rejected
    a_compaction
    a_file_that_is_not_there
    a_file_that_is_written
    a_killed_cli
    a_list_of_sessions
    a_mode_that_is_none
    a_new_session
    a_plan_that_is_approved
    a_plan_that_is_rejected
    a_question
    a_question_that_is_declined
    a_refusal
    a_resource_link
    a_server_of_the_client
    a_session_that_is_closed
    a_session_that_is_deleted
    a_session_that_is_forked
    a_session_that_is_loaded
    a_session_that_is_resumed
    a_session_that_nobody_knows
    a_subagent
    a_text
    an_edit_that_is_allowed
    an_edit_that_is_rejected
    an_embedded_resource
    an_error_of_the_api
    an_image
    another_mode
    another_mode_by_option
    another_model
    cancelled_before_the_first_token
    cancelled_for_nothing
    cancelled_in_a_text
    cancelled_in_a_tool
    cancelled_twice
    cancelled_while_it_asks
    edits_that_are_always_allowed
    reading_a_file
    tasks
    things_to_do
    thinking
    too_many_tokens
    two_calls_at_once
    two_turns
    work_in_the_background
}

#[test]
fn every_scenario_is_played_and_every_difference_belongs_to_one() {
    assert_eq!(Scenario::names(), NAMES);
    for line in listed() {
        assert!(NAMES.contains(&scenario_of(&line)), "no such scenario: {line}");
    }
}

/// How often the reference may play. It is not of one mind where a cancel, an answer and the model meet; ours has to be,
/// and plays once.
const ATTEMPTS: usize = 4;

async fn compare(name: &str) {
    let ours = told(name, Agent::Ours).await;
    let listed: BTreeSet<String> = listed().into_iter().filter(|line| scenario_of(line) == name).collect();
    let mut report = String::new();
    for _ in 0..ATTEMPTS {
        let theirs = told(name, Agent::Reference).await;
        let found: Vec<String> = differences(name, &theirs, &ours);
        let new: Vec<&String> = found.iter().filter(|line| !listed.contains(*line)).collect();
        let gone: Vec<&String> = listed.iter().filter(|line| !found.contains(line)).collect();
        if new.is_empty() && gone.is_empty() {
            return;
        }
        report = format!(
            "docs/acp-differences.md does not list:\n{}\nand lists what is gone:\n{}\n\nours:\n{}\n\nreference:\n{}",
            lines(&new),
            lines(&gone),
            ours.join("\n"),
            theirs.join("\n"),
        );
    }
    panic!("{report}");
}

/// The facts of a scenario; ours keeps every promise, and every frame of it is valid.
async fn told(name: &str, agent: Agent) -> Vec<String> {
    let (record, stage) = play(name, agent, Driver::Node).await;
    if agent == Agent::Ours {
        let faults = Schema::published().faults(&record);
        assert!(faults.is_empty(), "{name}: frames that are not valid:\n{}", faults.join("\n"));
        let broken = promises::broken(&record);
        assert!(broken.is_empty(), "{name}: promises that were broken:\n{}", broken.join("\n"));
    }
    let scope = if name == "a_new_session" { Scope::Everything } else { Scope::Course };
    facts(&record, stage.sandbox.places(), scope)
}

/// What the second says otherwise, as lines of the list.
fn differences(name: &str, from: &[String], to: &[String]) -> Vec<String> {
    let (from, to): (Vec<&str>, Vec<&str>) =
        (from.iter().map(String::as_str).collect(), to.iter().map(String::as_str).collect());
    let diff = TextDiff::configure().algorithm(Algorithm::Myers).diff_slices(&from, &to);
    let changes = diff.iter_all_changes().filter_map(|change| {
        let sign = match change.tag() {
            ChangeTag::Delete => '-',
            ChangeTag::Insert => '+',
            ChangeTag::Equal => return None,
        };
        Some(format!("{sign} {name} | {}", change.value()))
    });
    changes.collect()
}

/// The lines in all blocks of `diff` of the document.
fn listed() -> Vec<String> {
    let path = jackfield_testkit::recordings::workspace_dir().join("docs/acp-differences.md");
    let text = std::fs::read_to_string(path).unwrap();
    let blocks = text.split("````diff\n").skip(1).filter_map(|rest| rest.split_once("````"));
    blocks.flat_map(|(block, _)| block.lines().map(str::to_owned)).collect()
}

fn scenario_of(line: &str) -> &str {
    line.split(' ').nth(1).unwrap_or_default()
}

fn lines(lines: &[&String]) -> String {
    lines.iter().map(|line| line.as_str()).collect::<Vec<_>>().join("\n")
}
