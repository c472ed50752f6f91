//! A look into a store from outside: it sees what is stored, and leaves everything as it was.

use std::path::Path;

use jackfield_api::codec;
use jackfield_host::store::{Look, SessionQuery, Store, StoreError};
use rusqlite::Connection;
use tempfile::TempDir;

use crate::store_files::contents;
use crate::store_fixtures::{append, create};

/// The numbers of the last events of a session, as a look at the folder sees them.
fn seen(folder: &Path, session: &str, enough_bytes: usize) -> Vec<u64> {
    let look = Look::at(folder).unwrap().expect("there is a store");
    let sessions = look.sessions(&SessionQuery::default()).unwrap().sessions;
    assert!(sessions.iter().any(|summary| summary.session_id.as_str() == session));
    let lines = look.last_events(&session.into(), enough_bytes).unwrap();
    lines.iter().map(|line| codec::decode(line).unwrap().seq.0).collect()
}

/// The same where no host is, which would change its files by itself.
fn seen_alone(folder: &Path, session: &str, enough_bytes: usize) -> Vec<u64> {
    let before = contents(folder);
    let seen = seen(folder, session, enough_bytes);
    assert!(contents(folder) == before, "it was changed");
    seen
}

#[tokio::test]
async fn it_sees_what_is_stored_beside_a_host_after_a_crash_and_after_an_end() {
    let (folder, crashed) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let store = Store::open(folder.path()).unwrap();
    let one = create(&store, "one").await;
    append(&store, &one, 1, 400).await;
    append(&store, &one, 401, 403).await;
    append(&store, &one, 404, 404).await;
    for name in ["jackfield.db", "jackfield.db-wal"] {
        std::fs::copy(folder.path().join(name), crashed.path().join(name)).unwrap();
    }
    let all: Vec<u64> = (1..=404).collect();
    for enough_bytes in [1, 300, usize::MAX] {
        let beside = seen(folder.path(), "one", enough_bytes);
        assert_eq!(seen_alone(crashed.path(), "one", enough_bytes), beside);
        let expected = match enough_bytes {
            1 => &all[403..],
            300 => &all[400..],
            _ => &all,
        };
        assert_eq!(beside, expected);
    }
    // Nobody was put out by the looks.
    append(&store, &one, 405, 405).await;
    store.close().await;
    assert_eq!(seen_alone(folder.path(), "one", 1), [405]);
    Store::open(crashed.path()).unwrap().close().await;
    assert_eq!(seen_alone(crashed.path(), "one", usize::MAX), all);
}

#[tokio::test]
async fn where_there_is_no_store_of_ours_nothing_is_made_and_nothing_is_touched() {
    let folder = TempDir::new().unwrap();
    assert!(Look::at(&folder.path().join("nowhere")).unwrap().is_none());
    assert!(Look::at(folder.path()).unwrap().is_none());
    let path = folder.path().join("jackfield.db");
    std::fs::write(&path, "a letter to a friend").unwrap();
    let before = contents(folder.path());
    assert!(Look::at(folder.path()).is_err());
    assert!(contents(folder.path()) == before);
    std::fs::remove_file(&path).unwrap();
    Connection::open(&path).unwrap().execute_batch("CREATE TABLE recipe (title TEXT)").unwrap();
    assert!(matches!(Look::at(folder.path()), Err(StoreError::Foreign(found)) if found == path));
    std::fs::remove_file(&path).unwrap();

    Store::open(folder.path()).unwrap().close().await;
    Connection::open(&path).unwrap().pragma_update(None, "user_version", 99).unwrap();
    let before = contents(folder.path());
    assert!(matches!(Look::at(folder.path()), Err(StoreError::Newer { found: 99, .. })));
    assert!(contents(folder.path()) == before);
}
