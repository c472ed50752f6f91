//! Cases on the pinned CLIs. They are required: `cargo xtask setup` fetches them.

use jackfield_testkit::case::Case;
use jackfield_testkit::clean::clean_run;
use jackfield_testkit::cli::{Cli, NEWER_VERSION, OLDER_VERSION, PINNED_VERSIONS};
use jackfield_testkit::drive::{DriveError, StepFailure, drive};
use jackfield_testkit::recordings::{self, Direction};
use jackfield_testkit::shape::message_name;

type Lines = Vec<(Direction, String)>;

async fn record(version: &str, name: &str) -> Lines {
    let cli = Cli::locate(version).unwrap_or_else(|error| panic!("{error}"));
    let case = Case::load(name).unwrap_or_else(|error| panic!("{error}"));
    let run = drive(&cli, &case).await.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(
        (run.unused.len(), run.unscripted()),
        (0, 0),
        "the CLI asked for something else than the case says"
    );
    clean_run(&run, &case).into_iter().map(|recorded| (recorded.dir, recorded.line)).collect()
}

fn stored(version: &str, name: &str) -> Lines {
    let folder = recordings::fixtures_dir().join(format!("recordings-{version}")).join(name);
    let recording = recordings::load(&folder, name).unwrap_or_else(|error| panic!("{error}"));
    recording.lines.into_iter().map(|recorded| (recorded.dir, recorded.line)).collect()
}

fn names(lines: &Lines) -> Vec<String> {
    let name = |line: &str| message_name(&serde_json::from_str(line).unwrap_or_default());
    lines.iter().map(|(dir, line)| format!("{dir:?} {}", name(line))).collect()
}

fn first_difference<'a>(one: &'a Lines, other: &'a Lines) -> String {
    let different = one.iter().zip(other).find(|(a, b)| a != b);
    format!("{} and {} lines, first difference {different:#?}", one.len(), other.len())
}

async fn is_the_same_every_time(version: &str) {
    let first = record(version, "three_turns").await;
    let second = record(version, "three_turns").await;
    assert!(first == second, "two runs: {}", first_difference(&first, &second));
    // Not the lines themselves: some of them (the lists of commands and tools) depend on the machine.
    assert_eq!(names(&first), names(&stored(version, "three_turns")), "the stored recording is another one");
}

#[tokio::test]
async fn three_turns_are_recorded_the_same_every_time_on_the_older_cli() {
    is_the_same_every_time(OLDER_VERSION).await;
}

#[tokio::test]
async fn three_turns_are_recorded_the_same_every_time_on_the_newer_cli() {
    is_the_same_every_time(NEWER_VERSION).await;
}

#[test]
fn every_case_has_a_recording_of_every_pinned_cli() {
    for name in Case::names().unwrap() {
        for version in PINNED_VERSIONS {
            assert!(!stored(version, &name).is_empty(), "{version} {name}");
        }
    }
}

#[tokio::test]
async fn a_step_that_waits_in_vain_is_named_with_what_was_said_last() {
    let cli = Cli::locate(NEWER_VERSION).unwrap_or_else(|error| panic!("{error}"));
    let case = serde_json::from_str::<Case>(
        r#"{"about": "waits in vain", "turns": [],
            "host": [{"initialize": {}}, {"await": {"type": "never"}, "within": 0.2}]}"#,
    )
    .unwrap();
    let error = drive(&cli, &case).await.unwrap_err();
    let DriveError::Step { number, failure, tail, .. } = error else { panic!("{error}") };
    assert_eq!(number, 2);
    assert!(matches!(failure, StepFailure::TimeLimit(_)));
    assert!(tail.contains("control_response"), "{tail}");
}
