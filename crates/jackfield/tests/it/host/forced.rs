//! Faults that only another program can force: a disk that fails to keep what it was given, and a clock that jumps.
//!
//! `strace` makes the kernel's answers false, and `libfaketime` the time of day. The one rule it keeps: the server is
//! the shipped program as it is, and knows of nothing.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use jackfield_api::Body;
use jackfield_api::command::{Allow, Answer, RejectionCode, Verdict};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};
use tokio::time::timeout;

use super::client::{prompt, stored};
use super::server::{PATIENCE, Place, Server};

/// From when this returns until what it gives is dropped, no `fsync` of the server succeeds.
async fn failing_disk(server: &Server) -> Child {
    let mut strace = Command::new("strace")
        .args(["-f", "-o", "/dev/null", "-e", "trace=fsync,fdatasync"])
        .args(["-e", "inject=fsync,fdatasync:error=EIO", "-p"])
        .arg(server.id().to_string())
        .stdin(Stdio::null())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .expect("strace: `cargo xtask test` installs it");
    let mut said = BufReader::new(strace.stderr.take().unwrap()).lines();
    let first = timeout(PATIENCE, said.next_line()).await.unwrap().unwrap();
    assert!(first.as_ref().is_some_and(|line| line.contains("attached")), "{first:?}");
    // What it still says must find a reader.
    tokio::spawn(async move { while let Ok(Some(_)) = said.next_line().await {} });
    strace
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs root and strace: it makes the disk of a running server fail"]
async fn f8_a_server_whose_disk_fails_stops_taking_says_so_and_has_told_nothing_that_was_not_kept() {
    let place = Place::demo();
    let mut server = place.serve().await;
    let mut socket = place.client("one").await;
    let id = socket.create(place.create()).await;
    socket.follow(&id).await;
    socket.give(Some(&id), prompt("help")).await.unwrap();
    socket.completed(&id).await;
    socket.give(Some(&id), prompt("many 100000")).await.unwrap();
    let working = socket.last(&id);
    while socket.last(&id).0 < working.0 + 500 {
        assert!(socket.step().await.is_some());
    }
    let strace = failing_disk(&server).await;

    let refused = socket.give(Some(&id), prompt("help")).await.unwrap_err();
    assert!(refused.reason.contains("takes nothing more"), "{refused:?}");
    // It is not tried again and then called good.
    let refused = socket.give(Some(&id), prompt("help")).await.unwrap_err();
    assert!(refused.reason.contains("takes nothing more"), "{refused:?}");
    let before = stored(&place.data, &id).await;
    assert!(before.len() >= 500, "all can still be read");

    drop(strace);
    server.kill().await;
    while socket.step().await.is_some() {}
    let server = place.serve().await;
    let events = stored(&place.data, &id).await;
    assert_eq!(socket.events(&id), &events[..socket.events(&id).len()], "what was told is there");
    let mut back = place.client("one").await;
    back.follow(&id).await;
    back.skip(&id, events.last().unwrap().seq);
    back.give(Some(&id), prompt("help")).await.unwrap();
    back.completed(&id).await;
    assert!(server.stop().await.success());
}

/// The library that changes the time of day, by whatever architecture this is.
fn faketime() -> PathBuf {
    let folders = std::fs::read_dir("/usr/lib").unwrap().flatten().map(|folder| folder.path());
    let mut found = folders.map(|folder| folder.join("faketime/libfaketimeMT.so.1"));
    found.find(|file| file.is_file()).expect("libfaketime: `cargo xtask test` installs it")
}

/// From now on it is so much later, or earlier, than it is.
fn jump(clock: &Path, by: &str) {
    let next = clock.with_extension("next");
    std::fs::write(&next, by).unwrap();
    std::fs::rename(next, clock).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs libfaketime: it moves the clock of a running server"]
async fn f24_when_the_clock_jumps_nobody_is_cut_off_nothing_expires_and_numbers_go_on() {
    let mut place = Place::demo();
    let clock = place.sandbox.places().temporary.join("clock");
    jump(&clock, "+0");
    let text = |path: &Path| path.to_string_lossy().into_owned();
    for (name, value) in [
        ("LD_PRELOAD", text(&faketime())),
        ("FAKETIME_TIMESTAMP_FILE", text(&clock)),
        ("FAKETIME_NO_CACHE", "1".to_owned()),
        // As the kernel does when somebody sets the clock.
        ("FAKETIME_DONT_FAKE_MONOTONIC", "1".to_owned()),
    ] {
        place.environment.insert(name.to_owned(), value);
    }
    let server = place.serve().await;
    let mut socket = place.client("one").await;
    let id = socket.create(place.create()).await;
    socket.follow(&id).await;
    let mut hours = Vec::new();
    for by in ["+1h", "-2h", "+400d", "+0"] {
        socket.give(Some(&id), prompt("edit")).await.unwrap();
        let asked = socket.asked(&id).await;
        jump(&clock, by);
        // The question waits all the same, and its answer is heard.
        let verdict = Verdict::Allow(Allow::default());
        socket.give(Some(&id), Answer { pending_id: asked, verdict }).await.unwrap();
        let second = socket.asked(&id).await;
        let verdict =
            Verdict::Deny(jackfield_api::command::Deny { message: String::new(), interrupt: false });
        socket.give(Some(&id), Answer { pending_id: second, verdict }).await.unwrap();
        let end = socket.completed(&id).await;
        hours.push(end.at.0 / 3_600_000);
        let late =
            socket.give(Some(&id), Answer { pending_id: asked, verdict: Verdict::Allow(Allow::default()) });
        assert_eq!(late.await.unwrap_err().code, RejectionCode::TooLate);
    }
    assert!(hours[1] < hours[0] && hours[1] < hours[2], "the clock did jump: {hours:?}");
    // One connection for all of it, every event in its place, and the same after a restart.
    let events = stored(&place.data, &id).await;
    assert_eq!(socket.events(&id), events);
    assert!(!events.iter().any(|event| matches!(&event.body, Body::Error(_))), "nothing failed");
    assert!(server.stop().await.success());
    let server = place.serve().await;
    assert_eq!(stored(&place.data, &id).await[..events.len()], events);
    assert!(server.stop().await.success());
}
