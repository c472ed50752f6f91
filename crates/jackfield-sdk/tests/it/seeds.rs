//! Kills at random moments, by seed: of the CLI, and of the very process that drives it. Nothing hangs, nothing
//! is left alive, every outcome has a type, and the session goes on afterwards.
//!
//! `JACKFIELD_SEEDS` says how many; `cargo xtask soak` sets it. A seed that fails is in the message.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use jackfield_api::command::{Allow, Verdict};
use jackfield_api::session::RunEndReason;
use jackfield_api::tool::ToolStatus;
use jackfield_api::{Body, SharedEvent, TurnNumber};
use jackfield_sdk::{Callbacks, Options, Pace, Session, StartError};
use jackfield_testkit::api::{Block, Content, Reply};
use jackfield_testkit::cli::{NEWER_VERSION, OLDER_VERSION};
use jackfield_testkit::processes;
use rustix::process::Signal;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::Command;
use tokio::time::timeout;

use super::place::{PATIENCE, Place, all, eventually, say, start};

const SESSION: &str = "33333333-3333-4333-8333-333333333333";
/// What only the prompt after the kill says.
pub(crate) const AFTERWARDS: &str = "AFTERWARDS";

/// How many seeds.
pub(crate) fn seeds() -> u64 {
    std::env::var("JACKFIELD_SEEDS").map_or(20, |count| count.parse().expect("a number of seeds"))
}

/// Numbers that look random, the same for the same seed (SplitMix64).
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    /// After how many events, and how long behind the last of them. Any twenty seeds in a row lie across all
    /// of the events.
    pub(crate) fn moment(&mut self, events: u64) -> (u64, Duration) {
        let part = self.0 % 20;
        ((part * events + self.below(events)) / 20, Duration::from_micros(self.below(20_000)))
    }

    pub(crate) fn version(&mut self) -> &'static str {
        if self.below(2) == 0 { OLDER_VERSION } else { NEWER_VERSION }
    }

    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % limit
    }
}

/// Two turns with thinking, text and tools, and an answer for whoever comes afterwards.
pub(crate) async fn two_turns(version: &str, last_command: &str) -> Place {
    let thinking =
        Content::Thinking { thinking: "what could it be that is meant by this".to_owned(), signature: None };
    let text =
        Content::Text { text: "It is what it is, and nothing else, as far as can be seen.".to_owned() };
    let bash = |command: &str| Content::ToolUse {
        name: "Bash".to_owned(),
        id: None,
        input: json!({"command": command, "description": "a command"}),
        raw_json: None,
    };
    let reply = |contents: Vec<Content>| {
        let paced = |content| Block { chunk_delay: Some(0.001), ..Block::new(content) };
        let blocks = contents.into_iter().map(paced).collect();
        Reply { blocks, not_match: Some(AFTERWARDS.to_owned()), ..Reply::default() }
    };
    let turns = vec![
        reply(vec![thinking.clone(), text.clone(), bash("echo one > one")]),
        reply(vec![text.clone()]),
        reply(vec![thinking, bash(last_command)]),
        reply(vec![text]),
        Reply { matching: Some(AFTERWARDS.to_owned()), ..Reply::text("here again") },
    ];
    Place::new(version, turns).await
}

pub(crate) fn allowing() -> Callbacks {
    Callbacks::new().on_permission(|_| async { Some(Verdict::Allow(Allow::default())) })
}

/// The conversation goes on, or it never was: then it can be begun.
async fn goes_on(place: &Place, seed: u64) {
    let resumed = timeout(PATIENCE, Session::start(place.options().resume(SESSION), Callbacks::new()));
    let session = match resumed.await.unwrap_or_else(|_| panic!("seed {seed}: the resume hangs")) {
        Ok(session) => session,
        Err(StartError::Died { stderr, .. }) if stderr.contains("No conversation found") => {
            assert!(!was_begun(place), "seed {seed}: the conversation is there, and was not found");
            begins(place, seed).await
        }
        Err(error) => panic!("seed {seed}: {error}"),
    };
    assert_eq!(say(&session, AFTERWARDS).await.text, "here again", "seed {seed}");
    session.close().await;
}

/// A conversation that was killed before its first prompt was on disk. If the CLI has made its file already, it
/// neither finds a conversation in it nor gives the name away again, and only another name is left.
async fn begins(place: &Place, seed: u64) -> Session {
    let begun = timeout(PATIENCE, Session::start(place.options().session_id(SESSION), Callbacks::new()));
    match begun.await.unwrap_or_else(|_| panic!("seed {seed}: the start hangs")) {
        Ok(session) => session,
        Err(StartError::Died { stderr, .. }) if stderr.contains("already in use") => {
            start(place.options(), Callbacks::new()).await
        }
        Err(error) => panic!("seed {seed}: {error}"),
    }
}

/// Whether the CLI has written a prompt of the session to its disk.
fn was_begun(place: &Place) -> bool {
    let folder = place.sandbox.places().home.join(".claude/projects");
    let projects = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files = projects.map(|project| project.path().join(format!("{SESSION}.jsonl")));
    files.any(|file| std::fs::read_to_string(file).is_ok_and(|text| text.contains(r#""type":"user""#)))
}

pub(crate) fn nothing_lives_in(place: &Place, seed: u64) {
    let alive = processes::inside(&place.sandbox.places().workspace);
    assert_eq!(alive, Vec::<u32>::new(), "seed {seed}: something is left alive");
}

// ---- the CLI is killed ----

#[tokio::test]
async fn f1_a_cli_killed_at_any_moment_ends_its_session_and_can_be_resumed() {
    for seed in 0..seeds() {
        let mut dice = Dice(seed);
        let (events, behind) = dice.moment(62);
        let version = dice.version();
        println!("seed {seed}: {version}, {behind:?} behind event {events}");
        kill_the_cli(seed, version, events, behind).await;
    }
}

async fn kill_the_cli(seed: u64, version: &str, events: u64, behind: Duration) {
    let place = two_turns(version, "echo two > two; sleep 0.05; setsid sleep 300 & echo three > three").await;
    let session = start(place.options().session_id(SESSION), allowing()).await;
    let pid = session.ready().answer.pid.unwrap();
    let mut watched = session.events(Pace::Lossless);
    let mut kept = session.events(Pace::Lossless);
    let talking = tokio::spawn(async move {
        let mut outcomes = Vec::new();
        for prompt in ["first", "second"] {
            match session.prompt(prompt).await {
                Ok(turn) => outcomes.push(turn.result().await),
                Err(refused) => panic!("{refused}"),
            }
            if outcomes.last().is_some_and(Result::is_err) {
                break;
            }
        }
        (session, outcomes)
    });
    for _ in 0..events {
        let event = timeout(PATIENCE, watched.next()).await.unwrap().expect("the session goes on");
        // If there are fewer events than that, it is killed when all is said.
        if matches!(event.body, Body::Complete(_)) && event.turn == Some(TurnNumber(2)) {
            break;
        }
    }
    tokio::time::sleep(behind).await;
    processes::signal(pid, Signal::KILL);

    let told =
        timeout(PATIENCE, all(&mut kept)).await.unwrap_or_else(|_| panic!("seed {seed}: no end is told"));
    nothing_lives_in(&place, seed);
    let (session, outcomes) =
        timeout(PATIENCE, talking).await.unwrap_or_else(|_| panic!("seed {seed}: a prompt hangs")).unwrap();
    is_closed(&told, seed);
    let complete = told.iter().filter(|event| matches!(event.body, Body::Complete(_))).count();
    assert_eq!(
        outcomes.iter().filter(|outcome| outcome.is_ok()).count(),
        complete,
        "seed {seed}: {outcomes:?}"
    );
    let Body::RunEnded(end) = &told.last().unwrap().body else {
        panic!("seed {seed}: the last event is no end")
    };
    assert_eq!((end.reason, end.exit_code), (RunEndReason::Crashed, None), "seed {seed}");
    drop(session);
    goes_on(&place, seed).await;
}

/// Whatever was opened was closed, once, and there is no hole.
pub(crate) fn is_closed(events: &[SharedEvent], seed: u64) {
    let mut open: BTreeMap<String, i32> = BTreeMap::new();
    for (event, number) in events.iter().zip(1..) {
        assert_eq!(event.seq.0, number, "seed {seed}: a hole");
        let (name, change) = match &event.body {
            Body::ToolCall(call) => (format!("call {}", call.tool_call_id), 1),
            Body::ToolUpdate(update) if update.tool_status != ToolStatus::Running => {
                let name = format!("call {}", update.tool_call_id);
                // One whose input did not arrive whole was never called.
                if !open.contains_key(&name) {
                    continue;
                }
                (name, -1)
            }
            Body::PermissionRequest(asked) => (format!("question {}", asked.pending_id), 1),
            Body::PermissionResolved(over) => (format!("question {}", over.pending_id), -1),
            Body::PermissionCancelled(over) => (format!("question {}", over.pending_id), -1),
            _ => continue,
        };
        *open.entry(name).or_default() += change;
    }
    assert!(open.values().all(|open| *open == 0), "seed {seed}: {open:?}");
}

// ---- the host is killed ----

/// The file that tells the process that is killed what to do.
const HOST: &str = "JACKFIELD_TEST_HOST";

#[derive(Serialize, Deserialize)]
struct Host {
    program: PathBuf,
    workspace: PathBuf,
    locks: PathBuf,
    environment: BTreeMap<String, String>,
}

#[test]
fn f2_a_host_killed_at_any_moment_leaves_nothing_alive_and_its_session_can_be_resumed() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    if let Some(file) = std::env::var_os(HOST) {
        return runtime.block_on(be_killed(&file));
    }
    runtime.block_on(async {
        for seed in 0..seeds() {
            let mut dice = Dice(seed);
            let (lines, behind) = dice.moment(50);
            let version = dice.version();
            println!("seed {seed}: {version}, {behind:?} behind line {lines}");
            kill_the_host(seed, version, lines, behind).await;
        }
    });
}

async fn kill_the_host(seed: u64, version: &str, lines: u64, behind: Duration) {
    let place =
        two_turns(version, "setsid sleep 300 & env -i setsid sleep 300 & echo two > two; sleep 300").await;
    let places = place.sandbox.places();
    let host = Host {
        program: place.cli.program.clone(),
        workspace: places.workspace.clone(),
        locks: places.temporary.join("locks"),
        environment: place.sandbox.environment(&place.api.url()),
    };
    let file = places.temporary.join("host.json");
    std::fs::write(&file, serde_json::to_vec(&host).unwrap()).unwrap();
    // Not by its path: what lies there may be another build by now.
    let mut child = Command::new("/proc/self/exe")
        .args(["--exact", "--nocapture"])
        .arg("seeds::f2_a_host_killed_at_any_moment_leaves_nothing_alive_and_its_session_can_be_resumed")
        .env(HOST, &file)
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut said = BufReader::new(child.stdout.take().unwrap()).lines();
    let reached = async {
        for _ in 0..=lines {
            while said.next_line().await.unwrap().is_some_and(|line| !line.starts_with("event ")) {}
        }
    };
    // The last tool never ends: if there are fewer events than that, it is killed in the middle of it.
    let _ = timeout(Duration::from_secs(2), reached).await;
    tokio::time::sleep(behind).await;
    child.kill().await.unwrap();
    let what = format!("seed {seed}: nothing of it is alive");
    eventually(&what, || processes::inside(&places.workspace).is_empty()).await;
    goes_on(&place, seed).await;
}

/// What that process does until it is killed.
async fn be_killed(file: &OsStr) {
    let host: Host = serde_json::from_slice(&std::fs::read(Path::new(file)).unwrap()).unwrap();
    let mut options = Options::new(&host.workspace)
        .claude(&host.program)
        .guard([env!("CARGO_BIN_EXE_jackfield-guard")])
        .locks(&host.locks)
        .session_id(SESSION);
    for (name, _) in std::env::vars_os() {
        options = options.without_variable(name);
    }
    for (name, value) in host.environment {
        options = options.variable(name, value);
    }
    let mut stdout = std::io::stdout();
    writeln!(stdout, "event starting").unwrap();
    let session = start(options, allowing()).await;
    let mut events = session.events(Pace::Lossless);
    let talking = tokio::spawn(async move {
        say(&session, "first").await;
        say(&session, "second").await;
    });
    while let Some(event) = events.next().await {
        writeln!(stdout, "event {}", event.body.tag()).unwrap();
    }
    talking.await.unwrap();
}
