//! The backup that `docs/operations.md` tells of, made and restored.

use rusqlite::Connection;
use tempfile::TempDir;

use crate::store_fixtures::{append, create, last, open};
use jackfield_host::store::Store;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_copy_made_while_the_host_writes_is_whole_and_can_be_opened() {
    let (folder, store) = open();
    let session = create(&store, "a").await;
    append(&store, &session, 1, 100).await;
    let (begun, running) = tokio::sync::oneshot::channel();
    let writing = tokio::spawn({
        let (store, session) = (store.clone(), session.clone());
        async move {
            append(&store, &session, 101, 110).await;
            begun.send(()).unwrap();
            for first in (111..=2_000).step_by(10) {
                append(&store, &session, first, first + 9).await;
            }
        }
    });
    running.await.unwrap();
    let backup = TempDir::new().unwrap();
    let (from, to) = (folder.path().join("jackfield.db"), backup.path().join("jackfield.db"));
    let copied = tokio::task::spawn_blocking(move || {
        let database = Connection::open(from).unwrap();
        database.busy_timeout(std::time::Duration::from_mins(1)).unwrap();
        database.execute("VACUUM INTO ?1", [to.to_str().unwrap()]).unwrap();
    });
    copied.await.unwrap();
    writing.await.unwrap();
    assert_eq!(last(&store, &session).await, 2_000, "the host was not disturbed");
    store.close().await;

    let restored = Store::open(backup.path()).unwrap();
    let kept = last(&restored, &session).await;
    assert!((110..=2_000).contains(&kept), "all that was stored before is in it: {kept}");
    append(&restored, &session, kept + 1, kept + 2).await;
    assert_eq!(last(&restored, &session).await, kept + 2);
    restored.close().await;
}
