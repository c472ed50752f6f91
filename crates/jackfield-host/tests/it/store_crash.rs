//! A crash at any moment: what was told to be stored is there, in order and whole, and nothing else is in its way.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use jackfield_api::SessionId;
use jackfield_host::store::{Store, Syncing};
use proptest::prelude::*;
use tempfile::TempDir;
use tokio::sync::oneshot::error::TryRecvError;

use crate::store_fixtures::{batch, create, last, said, settle};

const FOLDER: &str = "JACKFIELD_TEST_FOLDER";
const BEHIND: &str = "JACKFIELD_TEST_BEHIND";

fn syncing(behind: bool) -> Syncing {
    if behind { Syncing::Behind } else { Syncing::First }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn f3_a_copy_of_the_files_at_any_moment_holds_a_beginning_of_each_session_with_all_that_was_told(
        batches in prop::collection::vec((0_usize..4, 1_u64..9), 1..60),
        cut in any::<prop::sample::Index>(),
        awaited in any::<prop::sample::Index>(),
        behind in any::<bool>(),
    ) {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap();
        runtime.block_on(crash_by_copy(&batches, cut.index(batches.len()), awaited, syncing(behind)));
    }
}

async fn crash_by_copy(batches: &[(usize, u64)], cut: usize, awaited: prop::sample::Index, syncing: Syncing) {
    let (folder, copy) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let store = Store::open_syncing(folder.path(), syncing).unwrap();
    let mut sessions: Vec<SessionId> = Vec::new();
    for name in ["a", "b", "c", "d"] {
        sessions.push(create(&store, name).await);
    }
    let mut sent = [0_u64; 4];
    let mut answers = Vec::new();
    let mut told = [0_u64; 4];
    for (index, &(session, size)) in batches.iter().enumerate() {
        let first = sent[session] + 1;
        sent[session] += size;
        answers.push((
            session,
            sent[session],
            store.append(&batch(&sessions[session], first, sent[session])),
        ));
        if index != cut {
            continue;
        }
        // One is waited for, so that some are stored; the others may or may not be.
        let (session, last, answer) = answers.swap_remove(awaited.index(answers.len()));
        answer.await.unwrap().unwrap();
        told[session] = last;
        for (session, last, answer) in &mut answers {
            match answer.try_recv() {
                Ok(came) => {
                    came.unwrap();
                    told[*session] = told[*session].max(*last);
                }
                Err(TryRecvError::Empty) => {}
                Err(TryRecvError::Closed) => panic!("an answer is missing"),
            }
        }
        // So few pages stay in the WAL, which only grows: a copy of it, made last, is what a crash would leave.
        for name in ["jackfield.db", "jackfield.db-wal"] {
            std::fs::copy(folder.path().join(name), copy.path().join(name)).unwrap();
        }
    }
    store.close().await;

    for (path, least) in [(copy.path(), told), (folder.path(), sent)] {
        let store = Store::open(path).unwrap();
        for (index, session) in sessions.iter().enumerate() {
            let stored = last(&store, session).await;
            assert!(least[index] <= stored && stored <= sent[index]);
            crate::store_fixtures::append(&store, session, stored + 1, stored + 2).await;
            assert_eq!(last(&store, session).await, stored + 2);
        }
        store.close().await;
        check_integrity(path);
    }
}

fn check_integrity(folder: &Path) {
    let database = rusqlite::Connection::open(folder.join("jackfield.db")).unwrap();
    let sound: String = database.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(sound, "ok");
    database.execute("INSERT INTO words (words) VALUES ('integrity-check')", []).unwrap();
}

#[test]
fn f3_a_host_that_is_killed_has_stored_all_that_it_told() {
    if let Some(folder) = std::env::var_os(FOLDER) {
        return tell_until_killed(Path::new(&folder), syncing(std::env::var_os(BEHIND).is_some()));
    }
    for (told_before_the_kill, behind) in
        [1, 7, 50, 200, 600].into_iter().flat_map(|told| [(told, None), (told, Some(BEHIND))])
    {
        let folder = TempDir::new().unwrap();
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "--nocapture",
                "store_crash::f3_a_host_that_is_killed_has_stored_all_that_it_told",
            ])
            .env(FOLDER, folder.path())
            .envs(behind.map(|behind| (behind, "")))
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut told = [0_u64; SESSIONS];
        let mut deleted = false;
        let mut lines = 0;
        for line in BufReader::new(child.stdout.take().unwrap()).lines() {
            // What the kill cut off was told to nobody.
            let Ok(line) = line else { break };
            let mut words = line.split(' ');
            match (words.next(), words.next(), words.next(), words.next()) {
                (Some("stored"), Some(session), Some(last), Some(".")) => {
                    let session: usize = session.parse().unwrap();
                    told[session] = told[session].max(last.parse().unwrap());
                    lines += 1;
                }
                (Some("deleted"), Some("."), None, None) => deleted = true,
                _ => {}
            }
            if lines == told_before_the_kill {
                child.kill().unwrap();
            }
        }
        assert!(!child.wait().unwrap().success(), "it was killed before its end");
        assert!(told_before_the_kill <= lines && deleted);

        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap();
        runtime.block_on(async {
            let store = Store::open(folder.path()).unwrap();
            for (session, told) in told.into_iter().enumerate() {
                let stored = last(&store, &session.to_string().into()).await;
                assert!(told <= stored, "{told} events were told, {stored} are there");
            }
            assert_eq!(store.session(&"deleted".into()).await.unwrap(), None);
            assert!(store.search("secret", 9).await.unwrap().hits.is_empty());
            store.close().await;
        });
        // What the dead host did not come to clear away is cleared away by the next.
        let database = rusqlite::Connection::open(folder.path().join("jackfield.db")).unwrap();
        let count = "SELECT (SELECT count(*) FROM words) + (SELECT count(*) FROM unindexed)
                     + (SELECT count(*) FROM removed)";
        assert_eq!(database.query_row(count, [], |row| row.get::<_, u32>(0)).unwrap(), 0);
        check_integrity(folder.path());
    }
}

const SESSIONS: usize = 5;

/// The child's part: deletes a session, then stores events of several and tells each time, until it is killed.
fn tell_until_killed(folder: &Path, syncing: Syncing) {
    let tell = |line: String| {
        // The parent no longer reads once it has killed us.
        let _ = writeln!(std::io::stdout(), "{line} .");
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap();
    runtime.block_on(async {
        let store = Store::open_syncing(folder, syncing).unwrap();
        let doomed = create(&store, "deleted").await;
        settle(&store, &doomed, (1..=500).map(|seq| said(seq, "a secret")).collect()).await;
        let mut sessions = Vec::new();
        for session in 0..SESSIONS {
            sessions.push(create(&store, &session.to_string()).await);
        }
        store.delete(&doomed).await.unwrap();
        tell("deleted".to_owned());
        let mut last = [0_u64; SESSIONS];
        for round in 0..20_000_u64 {
            let mut answers = Vec::new();
            for (index, session) in sessions.iter().enumerate() {
                let first = last[index] + 1;
                last[index] += 1 + (round + index as u64) % 4;
                answers.push((index, last[index], store.append(&batch(session, first, last[index]))));
            }
            for (index, last, answer) in answers {
                answer.await.unwrap().unwrap();
                tell(format!("stored {index} {last}"));
            }
        }
    });
}
