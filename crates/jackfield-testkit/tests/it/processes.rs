//! What is started is also ended.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use jackfield_testkit::cli::{Cli, Sandbox};
use tokio::io::{AsyncBufReadExt as _, BufReader};

/// Whether the process is there and not only waiting to be collected by its parent.
fn runs(id: &str) -> bool {
    let stat = std::fs::read_to_string(Path::new("/proc").join(id).join("stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'))
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn dropping_a_cli_ends_what_it_started_in_another_session() {
    let shell = Cli { version: "none".to_owned(), program: "/bin/sh".into() };
    let sandbox = Sandbox::new().unwrap();
    // As the CLI's Bash tool does it: a process session of its own.
    let flags = ["-c", "setsid sleep 300 & echo $!; wait"];
    let mut running = shell.start(&sandbox, "http://127.0.0.1:9", &flags, &BTreeMap::new()).unwrap();
    let stdout = running.child().stdout.take().unwrap();
    let id = BufReader::new(stdout).lines().next_line().await.unwrap().unwrap();
    assert!(runs(&id));
    drop(running);
    ends(&id).await;
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn dropping_a_sandbox_ends_what_an_ended_cli_left_behind() {
    let shell = Cli { version: "none".to_owned(), program: "/bin/sh".into() };
    let sandbox = Sandbox::new().unwrap();
    let flags = ["-c", "setsid sleep 300 > /dev/null & echo $!"];
    let mut running = shell.start(&sandbox, "http://127.0.0.1:9", &flags, &BTreeMap::new()).unwrap();
    let stdout = running.child().stdout.take().unwrap();
    let id = BufReader::new(stdout).lines().next_line().await.unwrap().unwrap();
    running.child().wait().await.unwrap();
    drop(running);
    assert!(runs(&id));
    drop(sandbox);
    ends(&id).await;
}

async fn ends(id: &str) {
    let gone = async {
        while runs(id) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), gone).await.expect("the process is gone");
}
