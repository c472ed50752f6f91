//! What cannot be brought about from outside: a full disk, a disk that fails, versions that do not exist yet.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::Path;

use bytes::Bytes;
use jackfield_api::command::{Agent, CreateSession};
use jackfield_api::host::SessionSummary;
use jackfield_api::{Seq, SessionId, Timestamp};
use rusqlite::{Connection, ffi};
use tempfile::TempDir;

use super::error::Fault;
use super::schema::STEPS;
use super::{AppendError, Batch, SessionRecord, Store, StoreError, Syncing, index};

fn record(id: &str) -> SessionRecord {
    let summary =
        SessionSummary { agent: Agent::Demo, ..SessionSummary::new(id.into(), "/ws", Timestamp(0)) };
    SessionRecord { summary, create: CreateSession::new("/ws") }
}

async fn open() -> (TempDir, Store, SessionId, SessionId) {
    let folder = TempDir::new().unwrap();
    let store = Store::open(folder.path()).unwrap();
    for id in ["one", "two"] {
        store.create(&record(id)).await.unwrap();
    }
    (folder, store, "one".into(), "two".into())
}

/// An event of so many bytes that nothing can make fewer.
fn event(session: &SessionId, seq: u64, bytes: usize) -> Batch {
    let mut number = 1_u64;
    let mut line: Vec<u8> = std::iter::repeat_with(|| {
        number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        b' ' + u8::try_from((number >> 33) % 95).unwrap()
    })
    .take(bytes - 1)
    .collect();
    line.push(b'\n');
    Batch::new(session.clone(), Seq(seq), Seq(seq), Bytes::from(line))
}

async fn stored(store: &Store, session: &SessionId) -> u64 {
    store.log(session, Seq(0), usize::MAX).await.unwrap().last().map_or(0, |page| page.last.0)
}

#[tokio::test]
async fn the_writer_waits_for_the_disk_before_it_tells() {
    let (_folder, store, ..) = open().await;
    // 2 is `FULL`.
    assert_eq!(store.change(modes).await.unwrap(), ("wal".to_owned(), 2));
}

fn modes(of: &Connection) -> Result<(String, u32), Fault> {
    let mode = of.query_row("PRAGMA journal_mode", [], |row| row.get(0))?;
    Ok((mode, of.query_row("PRAGMA synchronous", [], |row| row.get(0))?))
}

#[tokio::test]
async fn where_it_is_to_sync_behind_it_tells_first_and_a_sync_that_fails_is_the_end_too() {
    let folder = TempDir::new().unwrap();
    let store = Store::open_syncing(folder.path(), Syncing::Behind).unwrap();
    store.create(&record("one")).await.unwrap();
    // 1 is `NORMAL`.
    assert_eq!(store.change(modes).await.unwrap(), ("wal".to_owned(), 1));
    let one = SessionId::from("one");
    store.append(&event(&one, 1, 10)).await.unwrap().unwrap();
    assert_eq!(stored(&store, &one).await, 1);

    // A log that cannot be synced: all connections have their own open already, and nothing is in their way.
    let wal = folder.path().join("jackfield.db-wal");
    std::fs::rename(&wal, folder.path().join("kept")).unwrap();
    std::fs::create_dir(&wal).unwrap();
    let mut seq = 2;
    while store.append(&event(&one, seq, 10)).await.unwrap().is_ok() {
        seq += 1;
        tokio::time::sleep(std::time::Duration::from_millis(1)).await;
    }
    assert!(matches!(store.append(&event(&one, seq, 10)).await.unwrap(), Err(AppendError::Stopped(_))));
    assert_eq!(stored(&store, &one).await, seq - 1);
    store.close().await;
}

#[tokio::test]
async fn f6_a_full_disk_fails_all_who_share_the_transaction_and_is_over_when_there_is_room() {
    let (folder, store, one, two) = open().await;
    let pages = |from: &Connection| from.query_row("PRAGMA page_count", [], |row| row.get::<_, u32>(0));
    let limit = |limit: u32| {
        move |to: &Connection| {
            Ok(to.query_row(&format!("PRAGMA max_page_count = {limit}"), [], |row| row.get::<_, u32>(0))?)
        }
    };
    let room = store.change(move |to| Ok(pages(to)?)).await.unwrap() + 20;
    assert_eq!(store.change(limit(room)).await.unwrap(), room);

    // The writer is kept busy until both wait, so that they share a transaction.
    let (here, busy) = std::sync::mpsc::sync_channel::<()>(0);
    let (go, wait) = std::sync::mpsc::sync_channel::<()>(0);
    let hold = move |_| {
        here.send(()).unwrap();
        wait.recv().unwrap();
    };
    store.append_then(&event(&two, 1, 10), Box::new(hold));
    busy.recv().unwrap();
    let large = store.append(&event(&one, 1, 1_000_000));
    let small = store.append(&event(&two, 2, 10));
    go.send(()).unwrap();
    assert_eq!(large.await.unwrap(), Err(AppendError::Full));
    assert_eq!(small.await.unwrap(), Err(AppendError::Full));
    assert_eq!((stored(&store, &one).await, stored(&store, &two).await), (0, 1), "nothing of it is stored");

    // What fits is stored, and the rest as soon as there is room; nothing has to be started again.
    assert_eq!(store.append(&event(&two, 2, 10)).await.unwrap(), Ok(()));
    assert_eq!(store.append(&event(&one, 1, 1_000_000)).await.unwrap(), Err(AppendError::Full));
    store.change(limit(100_000)).await.unwrap();
    assert_eq!(store.append(&event(&one, 1, 1_000_000)).await.unwrap(), Ok(()));
    assert_eq!((stored(&store, &one).await, stored(&store, &two).await), (1, 2));
    store.close().await;
    assert_eq!(integrity(folder.path()), "ok");
}

#[tokio::test]
async fn f6_what_else_is_changed_on_a_full_disk_fails_too() {
    let (_folder, store, one, _) = open().await;
    let failing = |_: &Connection| -> Result<(), _> { Err(failure(ffi::SQLITE_FULL).into()) };
    assert!(matches!(store.change(failing).await, Err(StoreError::Append(AppendError::Full))));
    assert_eq!(store.append(&event(&one, 1, 10)).await.unwrap(), Ok(()));
}

#[tokio::test]
async fn f8_after_a_failed_fsync_nothing_more_is_taken_and_all_can_still_be_read() {
    let (_folder, store, one, _) = open().await;
    store.append(&event(&one, 1, 10)).await.unwrap().unwrap();
    let failing = |_: &Connection| -> Result<(), _> { Err(failure(ffi::SQLITE_IOERR_FSYNC).into()) };
    assert!(matches!(store.change(failing).await, Err(StoreError::Append(AppendError::Stopped(_)))));
    for _ in 0..2 {
        assert!(matches!(store.append(&event(&one, 2, 10)).await.unwrap(), Err(AppendError::Stopped(_))));
    }
    assert!(matches!(store.delete(&one).await, Err(StoreError::Append(AppendError::Stopped(_)))));
    assert_eq!(stored(&store, &one).await, 1);
    store.close().await;
}

#[tokio::test]
async fn another_error_of_the_disk_fails_what_was_being_written_and_no_more() {
    let (_folder, store, one, _) = open().await;
    let failing = |to: &Connection| -> Result<(), _> {
        to.execute("DELETE FROM session", [])?;
        Err(failure(ffi::SQLITE_IOERR_WRITE).into())
    };
    assert!(matches!(store.change(failing).await, Err(StoreError::Append(AppendError::Failed(_)))));
    assert_eq!(store.append(&event(&one, 1, 10)).await.unwrap(), Ok(()), "it was taken back whole");
}

fn failure(code: i32) -> rusqlite::Error {
    rusqlite::Error::SqliteFailure(ffi::Error::new(code), None)
}

fn integrity(folder: &Path) -> String {
    let database = Connection::open(folder.join("jackfield.db")).unwrap();
    database.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap()
}

const NEXT: &str =
    "ALTER TABLE setting ADD COLUMN note TEXT; UPDATE setting SET note = 'from the first version';";

#[tokio::test]
async fn f28_a_database_is_copied_and_then_brought_to_the_next_version() {
    let (folder, store, one, _) = open().await;
    store.append(&event(&one, 1, 10)).await.unwrap().unwrap();
    store.set_value("theme", "dark").await.unwrap();
    store.close().await;
    assert!(!folder.path().join("jackfield.db.before-v1").exists(), "a new database needs no copy");

    let steps: Vec<&str> = STEPS.iter().copied().chain([NEXT]).collect();
    let next = u32::try_from(steps.len()).unwrap();
    let store = Store::open_with(folder.path(), &steps, Syncing::First).unwrap();
    assert_eq!(
        (stored(&store, &one).await, store.value("theme").await.unwrap()),
        (1, Some("dark".to_owned()))
    );
    let note = |from: &Connection| {
        let version: u32 = from.query_row("PRAGMA user_version", [], |row| row.get(0))?;
        Ok((version, from.query_row("SELECT note FROM setting", [], |row| row.get::<_, String>(0))?))
    };
    assert_eq!(store.read("test", note).await.unwrap(), (next, "from the first version".to_owned()));
    store.close().await;

    // This program is now the older one.
    let known = next - 1;
    assert!(
        matches!(Store::open(folder.path()), Err(StoreError::Newer { found, known: k, .. }) if found == next && k == known)
    );

    // And the copy is what the older one had.
    let copy = TempDir::new().unwrap();
    let name = format!("jackfield.db.before-v{next}");
    assert_eq!(mode(&folder.path().join(&name)), 0o600);
    std::fs::copy(folder.path().join(&name), copy.path().join("jackfield.db")).unwrap();
    let store = Store::open(copy.path()).unwrap();
    assert_eq!(
        (stored(&store, &one).await, store.value("theme").await.unwrap()),
        (1, Some("dark".to_owned()))
    );
    store.close().await;
}

#[tokio::test]
async fn f28_a_step_that_fails_changes_nothing() {
    let (folder, store, one, _) = open().await;
    store.append(&event(&one, 1, 10)).await.unwrap().unwrap();
    store.close().await;
    let half = format!("{NEXT} this is not SQL;");
    let steps: Vec<&str> = STEPS.iter().copied().chain([half.as_str()]).collect();
    assert!(matches!(
        Store::open_with(folder.path(), &steps, Syncing::First),
        Err(StoreError::Database { .. })
    ));
    let store = Store::open(folder.path()).unwrap();
    assert_eq!(stored(&store, &one).await, 1);
    store.close().await;
    assert_eq!(integrity(folder.path()), "ok");
}

#[tokio::test]
async fn what_is_left_to_index_is_found_without_a_look_at_all_the_rest() {
    let (_folder, store, ..) = open().await;
    let plan = |from: &Connection| {
        let mut plan = from.prepare(&format!("EXPLAIN QUERY PLAN {}", index::LEFT))?;
        let steps = plan.query_map([], |row| row.get::<_, String>("detail"))?;
        Ok(steps.collect::<Result<Vec<_>, _>>()?)
    };
    let plan = store.read("test", plan).await.unwrap();
    assert!(plan.iter().any(|step| step.starts_with("SEARCH item USING INTEGER PRIMARY KEY")), "{plan:?}");
    assert!(!plan.iter().any(|step| step.starts_with("SCAN item") || step.contains("B-TREE")), "{plan:?}");
    store.close().await;
}

fn mode(path: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}
