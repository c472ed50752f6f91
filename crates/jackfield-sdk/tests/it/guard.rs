//! No process of a run lives on, whoever is killed. With the real CLIs, a Bash tool that runs, and a process
//! that it detached into a session of its own.

use std::ffi::OsString;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use jackfield_sdk::guard;
use jackfield_sdk::tree::{self, MARKER, ProcessId};
use jackfield_testkit::api::Reply;
use jackfield_testkit::cli::PINNED_VERSIONS;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use tokio::time::timeout;

use crate::live::{Live, Place, TIME_LIMIT};

const GUARD: &str = env!("CARGO_BIN_EXE_jackfield-guard");

/// A run with a tool at work.
struct Run {
    place: Place,
    live: Live,
    marker: String,
}

impl Run {
    async fn start(version: &str, before: &[OsString]) -> Self {
        let command =
            "setsid nohup sleep 300 > /dev/null 2>&1 & env -i setsid sleep 300 & touch running; sleep 300";
        let input = json!({"command": command, "description": "waits"});
        let place = Place::new(version, vec![Reply::tool_use("Bash", input)]).await;
        let marker = tree::unique_marker();
        let flags = ["--permission-mode", "bypassPermissions"];
        let mut live = place.start(before, &flags, &[(MARKER, &marker)]);
        live.prompt("wait").await;
        let run = Self { place, live, marker };
        // The file says that the shell has come to its last command; the rest is in `/proc`.
        run.eventually("the tool runs", || {
            run.place.sandbox.places().workspace.join("running").exists() && 3 <= run.named("sleep").len()
        })
        .await;
        run
    }

    /// The processes of this program that work in the run's folder, whatever their environment.
    fn named(&self, program: &str) -> Vec<ProcessId> {
        let own = |id: &ProcessId| {
            let link = |name: &str| fs::read_link(format!("/proc/{id}/{name}")).unwrap_or_default();
            link("exe").file_name().is_some_and(|name| name == program)
                && link("cwd").starts_with(&self.place.sandbox.places().workspace)
        };
        let all = fs::read_dir("/proc").unwrap().flatten();
        let all = all.filter_map(|entry| Some(ProcessId(entry.file_name().to_str()?.parse().ok()?)));
        all.filter(own).collect()
    }

    fn kill(&self, program: &str) {
        let found = self.named(program);
        let [one] = found[..] else { panic!("{program}: {found:?}") };
        signal(one, Signal::KILL);
    }

    /// Nothing of the run is left: neither by its marker nor by its folder.
    async fn is_over(&self) {
        self.eventually("everything is gone", || {
            tree::marked(&self.marker).is_empty()
                && self.named("sleep").is_empty()
                && self.named("claude").is_empty()
        })
        .await;
    }

    async fn eventually(&self, what: &str, condition: impl Fn() -> bool) {
        let holds = async {
            while !condition() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let sleeping = || (tree::marked(&self.marker), self.named("sleep"), self.named("claude"));
        timeout(TIME_LIMIT, holds).await.unwrap_or_else(|_| panic!("not so: {what}; {:?}", sleeping()));
    }
}

fn signal(process: ProcessId, signal: Signal) {
    let pid = Pid::from_raw(i32::try_from(process.0).unwrap()).unwrap();
    kill_process(pid, signal).unwrap();
}

/// The words that start a guard for this process.
fn guarded() -> Vec<OsString> {
    let mut words = guard::words([GUARD.into()]);
    words.push("--".into());
    words
}

#[tokio::test]
async fn f2_a_killed_host_takes_the_whole_tree_with_it() {
    for version in PINNED_VERSIONS {
        // The pipes stay open in this process: the guard sees the death of its parent and nothing else.
        let host =
            ["sh", "-c", r#"exec 3<&0; "$@" <&3 3<&- & wait"#, "host", GUARD, "--"].map(OsString::from);
        let run = Run::start(version, &host).await;
        signal(ProcessId(run.live.child.id().unwrap()), Signal::KILL);
        run.is_over().await;
    }
}

#[tokio::test]
async fn f2_a_killed_cli_takes_its_tools_with_it() {
    for version in PINNED_VERSIONS {
        let mut run = Run::start(version, &guarded()).await;
        run.kill("claude");
        let status = run.live.ended().await;
        // When the guard is gone, so is everything else: no waiting.
        assert_eq!((tree::marked(&run.marker), run.named("sleep")), (vec![], vec![]));
        assert_eq!(status.code(), Some(137));
    }
}

#[tokio::test]
async fn what_a_killed_guard_left_is_ended_by_its_marker() {
    for version in PINNED_VERSIONS {
        let run = Run::start(version, &guarded()).await;
        run.kill("jackfield-guard");
        run.eventually("the guard is gone", || run.named("jackfield-guard").is_empty()).await;
        assert!(!run.named("claude").is_empty() && !run.named("sleep").is_empty());
        tree::kill_marked(&run.marker);
        assert_eq!(tree::marked(&run.marker), []);
        assert_eq!(run.named("claude"), []);
        // The one that cleared its environment is what only the guard could have found.
        assert_eq!(run.named("sleep").len(), 1);
    }
}

#[tokio::test]
async fn a_terminated_guard_ends_the_cli_and_its_tools() {
    for version in PINNED_VERSIONS {
        let mut run = Run::start(version, &guarded()).await;
        signal(ProcessId(run.live.child.id().unwrap()), guard::TERMINATE);
        let status = run.live.ended().await;
        assert_eq!((tree::marked(&run.marker), run.named("sleep")), (vec![], vec![]));
        assert_eq!(status.code(), Some(143));
    }
}

#[tokio::test]
async fn a_guard_that_is_told_to_kill_kills() {
    for version in PINNED_VERSIONS {
        let mut run = Run::start(version, &guarded()).await;
        signal(ProcessId(run.live.child.id().unwrap()), guard::KILL);
        let status = run.live.ended().await;
        assert_eq!((tree::marked(&run.marker), run.named("sleep")), (vec![], vec![]));
        assert_eq!(status.code(), Some(137));
    }
}

#[tokio::test]
async fn f2_a_session_that_ends_normally_leaves_nothing_behind() {
    for version in PINNED_VERSIONS {
        let command = "setsid nohup sleep 300 > /dev/null 2>&1 &";
        let input = json!({"command": command, "description": "detaches"});
        let turns = vec![Reply::tool_use("Bash", input), Reply::text("done")];
        let place = Place::new(version, turns).await;
        let marker = tree::unique_marker();
        let flags = ["--permission-mode", "bypassPermissions"];
        let mut live = place.start(&guarded(), &flags, &[(MARKER, &marker)]);
        live.prompt("detach").await;
        assert_eq!(live.until("result").await["result"], "done");
        let status = live.close().await;
        assert_eq!(tree::marked(&marker), []);
        assert_eq!(status.code(), Some(0));
    }
}

#[tokio::test]
async fn a_cli_that_does_not_listen_is_killed_when_its_host_is_gone() {
    let marker = tree::unique_marker();
    let folder = tempfile::tempdir().unwrap();
    let ready = folder.path().join("ready");
    let stubborn = r#"trap "" TERM HUP INT; touch "$READY"; while :; do sleep 300; done"#;
    let mut host = Command::new("sh")
        .args(["-c", r#""$@" & wait"#, "host", GUARD, "--", "sh", "-c", stubborn])
        .env(MARKER, &marker)
        .env("READY", &ready)
        .stdin(Stdio::null())
        .spawn()
        .unwrap();
    poll_until(|| ready.exists()).await;
    host.kill().unwrap();
    host.wait().unwrap();
    poll_until(|| tree::marked(&marker).is_empty()).await;
}

#[tokio::test]
async fn a_guard_whose_host_is_already_gone_does_not_keep_its_cli() {
    let mut gone = Command::new("true").spawn().unwrap();
    gone.wait().unwrap();
    let marker = tree::unique_marker();
    let host = gone.id().to_string();
    let status = Command::new(GUARD)
        .args(["--host", &host, "--", "sleep", "300"])
        .env(MARKER, &marker)
        .status()
        .unwrap();
    assert_eq!(status.code(), Some(143));
    assert_eq!(tree::marked(&marker), []);
}

#[test]
fn the_guard_touches_no_byte_and_passes_on_the_exit_code() {
    let mut child = Command::new(GUARD)
        .args(["--", "sh", "-c", "cat; echo complaint >&2; exit 7"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let said = b"one\ntwo\xff\0three";
    child.stdin.take().unwrap().write_all(said).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.stdout, said);
    assert_eq!(output.stderr, b"complaint\n");
    assert_eq!(output.status.code(), Some(7));
}

#[test]
fn a_guard_without_a_program_says_why_and_exits_with_a_code_of_its_own() {
    let run = |words: &[&str]| {
        let output = Command::new(GUARD).args(words).output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let (code, said) = run(&["--", "/there/is/none"]);
    assert_eq!(code, Some(i32::from(guard::NOT_FOUND)));
    assert!(said.contains("cannot start /there/is/none"), "{said}");
    let folder = tempfile::tempdir().unwrap();
    let plain = folder.path().join("plain");
    fs::write(&plain, "not a program").unwrap();
    assert_eq!(run(&["--", as_text(&plain)]).0, Some(i32::from(guard::NOT_STARTED)));
    assert_eq!(run(&["claude"]).0, Some(i32::from(guard::FAILED)));
}

fn as_text(path: &Path) -> &str {
    path.to_str().unwrap()
}

async fn poll_until(condition: impl Fn() -> bool) {
    let holds = async {
        while !condition() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(TIME_LIMIT, holds).await.expect("the condition holds in time");
}
