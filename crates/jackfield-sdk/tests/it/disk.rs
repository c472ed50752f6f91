//! A disk that is full, by seed: the CLI's own folder lies on a small file system, which is filled at a random
//! moment. The session goes on or ends in a typed outcome, and when there is room again the conversation does too.
//!
//! Mounting needs root, so this test is left out unless it is asked for; `cargo xtask soak` does, and says when it
//! cannot. Nothing of it is seen by others: it runs in a process with a mount namespace of its own, and its mounts
//! end with that.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use jackfield_api::{Body, TurnNumber};
use jackfield_sdk::lock::LockError;
use jackfield_sdk::{ConversationError, Pace, Session, StartError};
use tokio::time::timeout;

use super::place::{PATIENCE, Place, all, say, start};
use super::seeds::{AFTERWARDS, Dice, allowing, is_closed, nothing_lives_in, seeds, two_turns};

/// Set in the process with the mounts.
const INSIDE: &str = "JACKFIELD_TEST_MOUNTS";

#[test]
#[ignore = "needs root: it mounts a file system of its own"]
fn f7_a_full_disk_ends_in_typed_outcomes_and_the_conversation_goes_on_when_there_is_room() {
    if std::env::var_os(INSIDE).is_none() {
        let this = format!("/proc/{}/exe", std::process::id());
        let status = Command::new("unshare")
            .args(["--mount", "--propagation", "private", &this, "--exact", "--nocapture", "--ignored"])
            .arg(
                "disk::f7_a_full_disk_ends_in_typed_outcomes_and_the_conversation_goes_on_when_there_is_room",
            )
            .env(INSIDE, "1")
            .stdin(Stdio::null())
            .status()
            .unwrap();
        assert!(status.success(), "{status}");
        return;
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        for seed in 0..seeds() {
            let mut dice = Dice(seed);
            let (events, behind) = dice.moment(62);
            let version = dice.version();
            // Now and then it is full from the beginning.
            let events = if dice.below(6) == 0 { 0 } else { events };
            println!("seed {seed}: {version}, full {behind:?} behind event {events}");
            let place = two_turns(version, "echo two > two").await;
            let disk = Disk::mount(&place.sandbox.places().home.join(".claude"));
            talk(seed, &place, &disk, events, behind).await;
        }
    });
}

async fn talk(seed: u64, place: &Place, disk: &Disk, events: u64, behind: Duration) {
    if events == 0 {
        disk.fill();
        // A lock that cannot be written is none.
        let locked = place.options().locks(disk.at.join("locks"));
        let error = Session::start(locked, allowing()).await.unwrap_err();
        assert!(matches!(error, StartError::Owned(LockError::File { .. })), "seed {seed}: {error}");
    }
    let session = timeout(PATIENCE, Session::start(place.options(), allowing())).await;
    let session = session.unwrap_or_else(|_| panic!("seed {seed}: the start hangs")).unwrap();
    let mut watched = session.events(Pace::Lossless);
    let mut kept = session.events(Pace::Lossless);
    let talking = tokio::spawn({
        let session = session.clone();
        async move { [say(&session, "first").await.error, say(&session, "second").await.error] }
    });
    for _ in 0..events {
        let event = timeout(PATIENCE, watched.next()).await.unwrap().expect("the session goes on");
        if matches!(event.body, Body::Complete(_)) && event.turn == Some(TurnNumber(2)) {
            break;
        }
    }
    drop(watched);
    tokio::time::sleep(behind).await;
    disk.fill();
    // The CLI says nothing of it and goes on; only its memory suffers.
    let errors = talking.await.unwrap_or_else(|error| panic!("seed {seed}: {error}"));
    assert_eq!(errors, [None, None], "seed {seed}");
    timeout(PATIENCE, session.close()).await.unwrap_or_else(|_| panic!("seed {seed}: the end hangs"));
    is_closed(&all(&mut kept).await, seed);
    nothing_lives_in(place, seed);

    if let Some(resumed) = resume(seed, place, &session).await {
        resumed.close().await;
    }
    disk.make_room();
    let next = match resume(seed, place, &session).await {
        Some(resumed) => resumed,
        None => start(place.options(), allowing()).await,
    };
    assert_eq!(say(&next, AFTERWARDS).await.text, "here again", "seed {seed}");
    next.close().await;
}

/// Goes on as far as the conversation was written; nothing if nothing was, and then that is what is told.
async fn resume(seed: u64, place: &Place, session: &Session) -> Option<Session> {
    let resumed = timeout(PATIENCE, session.resume()).await;
    match resumed.unwrap_or_else(|_| panic!("seed {seed}: the resume hangs")) {
        Ok(resumed) => Some(resumed),
        Err(ConversationError::NotWritten(id)) => {
            let messages = place.options().history().unwrap().message_uuids(&id).unwrap_or_default();
            assert_eq!(messages.len(), 0, "seed {seed}");
            None
        }
        Err(error) => panic!("seed {seed}: {error}"),
    }
}

/// A small file system of its own; unmounted when dropped.
struct Disk {
    at: PathBuf,
}

impl Disk {
    fn mount(at: &Path) -> Self {
        let mount = Command::new("mount").args(["-t", "tmpfs", "-o", "size=4m", "tmpfs"]).arg(at).status();
        assert!(mount.unwrap().success(), "cannot mount {}", at.display());
        Self { at: at.to_owned() }
    }

    fn fill(&self) {
        let mut file = OpenOptions::new().create(true).append(true).open(self.ballast()).unwrap();
        let page = [0; 4096];
        let error = loop {
            if let Err(error) = file.write_all(&page) {
                break error;
            }
        };
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
    }

    fn make_room(&self) {
        fs::remove_file(self.ballast()).unwrap();
    }

    fn ballast(&self) -> PathBuf {
        self.at.join("ballast")
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // What is left of it ends with the process.
        let _ = Command::new("umount").arg("--lazy").arg(&self.at).status();
    }
}
