//! The data folder and the files in it: whose they are, who may read them, and which version they have.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use jackfield_host::store::{Store, StoreError};
use rusqlite::Connection;
use tempfile::TempDir;

use crate::store_fixtures::{append, create, last, said, settle};

/// Tells a test that it runs once more, as a child of itself, and in which folder.
const FOLDER: &str = "JACKFIELD_TEST_FOLDER";

#[test]
fn s14_everything_in_the_folder_is_the_owners_alone_whatever_the_umask() {
    if let Some(folder) = std::env::var_os(FOLDER) {
        return check_modes(Path::new(&folder));
    }
    for umask in ["000", "077", "027"] {
        let parent = TempDir::new().unwrap();
        let folder = parent.path().join("deep/data");
        // The umask is the whole process's, so it is set in another one.
        let output = Command::new("sh")
            .args(["-c", r#"umask "$0" && exec "$@""#, umask])
            .arg(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "store_files::s14_everything_in_the_folder_is_the_owners_alone_whatever_the_umask",
            ])
            .env(FOLDER, &folder)
            .output()
            .unwrap();
        assert!(output.status.success(), "umask {umask}: {}", String::from_utf8_lossy(&output.stdout));
        assert!(folder.join("jackfield.db").exists());
    }
}

fn check_modes(folder: &Path) {
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let store = Store::open(folder).unwrap();
        let one = create(&store, "one").await;
        append(&store, &one, 1, 2).await;
        assert_eq!(mode(folder), 0o700);
        let modes: BTreeMap<String, u32> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), mode(&path)))
            .collect();
        let names = ["jackfield.db", "jackfield.db-shm", "jackfield.db-wal", "jackfield.lock"];
        assert_eq!(modes, names.map(|name| (name.to_owned(), 0o600)).into());
        store.close().await;
    });
}

#[tokio::test]
async fn a_database_that_others_could_read_is_made_private_again() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("jackfield.db");
    Store::open(folder.path()).unwrap().close().await;
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
    Store::open(folder.path()).unwrap().close().await;
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
}

#[tokio::test]
async fn f27_a_second_host_on_the_same_folder_is_told_who_has_it() {
    let folder = TempDir::new().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let refused = Store::open(folder.path()).unwrap_err();
    assert!(matches!(refused, StoreError::InUse { pid: Some(pid), .. } if pid == std::process::id()));
    assert!(refused.to_string().contains(&format!("process {}", std::process::id())));
    create(&store, "one").await;
    store.close().await;
    Store::open(folder.path()).unwrap().close().await;
}

#[tokio::test]
async fn f27_a_lock_that_a_dead_host_left_is_no_obstacle() {
    let folder = TempDir::new().unwrap();
    std::fs::write(folder.path().join("jackfield.lock"), "4194999\nand more than a new one writes\n")
        .unwrap();
    let store = Store::open(folder.path()).unwrap();
    let lock = std::fs::read_to_string(folder.path().join("jackfield.lock")).unwrap();
    assert_eq!(lock, format!("{}\n", std::process::id()));
    store.close().await;
}

/// The bytes of all files in a folder but the lock and SQLite's shared memory, which is no part of a database.
pub(crate) fn contents(folder: &Path) -> BTreeMap<std::ffi::OsString, Vec<u8>> {
    std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap())
        .map(|entry| (entry.file_name(), std::fs::read(entry.path()).unwrap()))
        .filter(|(name, _)| name != "jackfield.lock" && name != "jackfield.db-shm")
        .collect()
}

#[tokio::test]
async fn f28_a_database_newer_than_the_program_is_refused_and_not_touched() {
    let folder = TempDir::new().unwrap();
    Store::open(folder.path()).unwrap().close().await;
    let database = Connection::open(folder.path().join("jackfield.db")).unwrap();
    database.pragma_update(None, "user_version", 99).unwrap();
    drop(database);

    let before = contents(folder.path());
    let refused = Store::open(folder.path()).unwrap_err();
    assert!(matches!(refused, StoreError::Newer { found: 99, known: 5, .. }), "{refused}");
    assert_eq!(contents(folder.path()), before);
}

#[tokio::test]
async fn f28_a_newer_version_that_a_crash_left_beside_the_file_is_refused_too() {
    let (folder, crashed) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    Store::open(folder.path()).unwrap().close().await;
    let database = Connection::open(folder.path().join("jackfield.db")).unwrap();
    database.pragma_update(None, "user_version", 99).unwrap();
    for name in ["jackfield.db", "jackfield.db-wal"] {
        std::fs::copy(folder.path().join(name), crashed.path().join(name)).unwrap();
    }
    let before = contents(crashed.path());
    assert!(before["jackfield.db-wal".as_ref() as &std::ffi::OsStr].len() > 32);
    assert!(matches!(Store::open(crashed.path()), Err(StoreError::Newer { found: 99, .. })));
    assert_eq!(contents(crashed.path()), before);
}

#[tokio::test]
async fn a_file_that_is_not_ours_is_refused_and_not_touched() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("jackfield.db");
    std::fs::write(&path, "a letter to a friend").unwrap();
    let before = contents(folder.path());
    assert!(matches!(Store::open(folder.path()), Err(StoreError::Foreign(found)) if found == path));
    assert_eq!(contents(folder.path()), before);

    for id in [0, 7] {
        std::fs::remove_file(&path).unwrap();
        let database = Connection::open(&path).unwrap();
        database.pragma_update(None, "application_id", id).unwrap();
        database.execute_batch("CREATE TABLE recipe (title TEXT)").unwrap();
        drop(database);
        let before = contents(folder.path());
        assert!(matches!(Store::open(folder.path()), Err(StoreError::Foreign(found)) if found == path));
        assert_eq!(contents(folder.path()), before);
    }
}

#[tokio::test]
async fn a_database_of_the_first_version_is_read_by_this_program() {
    let folder = TempDir::new().unwrap();
    let database = Connection::open(folder.path().join("jackfield.db")).unwrap();
    database.execute_batch(include_str!("../../src/store/schema/v1.sql")).unwrap();
    // As the first version wrote it.
    database
        .execute_batch(
            r#"
            PRAGMA application_id = 0x4a464c44;
            PRAGMA user_version = 1;
            INSERT INTO host VALUES (1, 'the-host', 3, '{"rules":[{"behavior":"deny","tool":"Bash"}]}');
            INSERT INTO setting VALUES ('theme', 'dark');
            INSERT INTO session VALUES (1, 'one', 'Title', 'title', '/ws', 0, 1, 1000,
                '{"session_id":"one","title":"Title","cwd":"/ws","agent":"claude","model":null,"permission_mode":null,
                  "state":"ended","pending":[],"queued":0,"seq":2,"turn":1,"created_at":1000,"updated_at":1000,
                  "running_since":null,"archived":false,"total_cost_usd":0.5,"max_budget_usd":null,
                  "context_window":null,"cli_session_id":"cli","last_message_uuid":null,"preview":"","last_error":null,
                  "trusted":false,"forked_from":null}',
                '{"cwd":"/ws","trusted":false,"origin":"new"}');
            INSERT INTO cli_session VALUES ('cli', 1);
            INSERT INTO item VALUES (1, 1, 1, 1001, 'text',
                '{"seq":1,"at":1001,"turn":1,"content":{"type":"text","item_id":1,"message_id":null,"text":"an old text",
                  "outcome":"complete"}}');
            INSERT INTO words (rowid, text) VALUES (1, 'an old text');
            INSERT INTO turn VALUES (1, 2, 1, 1002, 'opus', 0.5, 1, 2, 3, 4, 5);
            INSERT INTO command VALUES ('begun', NULL, 9000000000000, 3, NULL);
            "#,
        )
        .unwrap();
    let lines = crate::store_fixtures::lines(&"one".into(), 1, 2);
    database.execute("INSERT INTO log VALUES (1, 1, 1, 2, ?1)", [&lines[..]]).unwrap();
    drop(database);

    let store = Store::open(folder.path()).unwrap();
    assert_eq!(store.host_id(), "the-host");
    assert_eq!(store.rules().await.unwrap().rules.len(), 1);
    let one = store.by_cli_id("cli").await.unwrap().unwrap();
    let summary = store.session(&one).await.unwrap().unwrap().summary;
    assert_eq!((summary.title.as_str(), summary.seq.0), ("Title", 2));
    assert_eq!(last(&store, &one).await, 2);
    assert_eq!(store.items(&one, None, 9).await.unwrap().items, [said(1, "an old text")]);
    assert_eq!(store.search("old", 9).await.unwrap().hits.len(), 1);
    let costs = store.costs(jackfield_host::store::CostBy::Model, None).await.unwrap();
    assert_eq!((costs.rows[0].group.as_str(), costs.total.cache_creation_tokens), ("opus", 4));
    assert_eq!(store.begin_command("begun", None).await.unwrap(), jackfield_host::store::Begun::Lost);
    append(&store, &one, 3, 4).await;
    assert_eq!(last(&store, &one).await, 4);
    store.close().await;
}

#[tokio::test]
async fn texts_that_an_older_program_has_not_indexed_are_found() {
    let folder = TempDir::new().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let one = create(&store, "one").await;
    settle(&store, &one, vec![said(1, "an old text"), said(2, "another")]).await;
    store.close().await;
    // As the fourth version left it.
    let database = Connection::open(folder.path().join("jackfield.db")).unwrap();
    database.execute_batch("DROP TABLE indexed; DROP TABLE unindexed; DELETE FROM words;").unwrap();
    database.execute_batch(include_str!("../../src/store/schema/v4.sql")).unwrap();
    database
        .execute_batch(
            "INSERT INTO unindexed VALUES (1, 'an old text'), (2, 'another'); PRAGMA user_version = 4;",
        )
        .unwrap();
    drop(database);

    let store = Store::open(folder.path()).unwrap();
    settle(&store, &one, vec![said(3, "a new text")]).await;
    for (query, hits) in [("old", 1), ("another", 1), ("text", 2)] {
        assert_eq!(store.search(query, 9).await.unwrap().hits.len(), hits, "{query}");
    }
    store.close().await;
}

#[tokio::test]
async fn a_closed_store_is_one_file() {
    let folder = TempDir::new().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let one = create(&store, "one").await;
    append(&store, &one, 1, 9).await;
    assert_eq!(last(&store, &one).await, 9);
    store.close().await;
    let names: Vec<_> = contents(folder.path()).into_keys().collect();
    assert_eq!(names, ["jackfield.db"]);
}
