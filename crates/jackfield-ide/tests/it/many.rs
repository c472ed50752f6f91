//! Many servers at once in one folder.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use jackfield_ide::{Ide, Options, Plain, serve};
use serde_json::Value;

/// Reads every lock file until it is told to stop; how many it read, and which were not whole.
fn watch(folder: &Path, stop: &AtomicBool) -> (usize, Vec<String>) {
    let (mut read, mut broken) = (0, Vec::new());
    while !stop.load(Ordering::Relaxed) {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.extension().is_none_or(|extension| extension != "lock") {
                continue;
            }
            // Gone in the meantime is fine.
            let Ok(text) = std::fs::read_to_string(&path) else { continue };
            read += 1;
            let whole = serde_json::from_str::<Value>(&text).is_ok_and(|lock| lock["authToken"].is_string());
            if !whole {
                broken.push(text);
            }
        }
    }
    (read, broken)
}

#[tokio::test(flavor = "multi_thread")]
async fn s15_fifty_servers_at_once_never_show_half_a_lock_file_and_leave_none() {
    let home = tempfile::tempdir().unwrap();
    let root = home.path().canonicalize().unwrap();
    let locks = root.join("ide");
    let stop = Arc::new(AtomicBool::new(false));
    let watching = {
        let (locks, stop) = (locks.clone(), Arc::clone(&stop));
        std::thread::spawn(move || watch(&locks, &stop))
    };
    let begin = |workspace: PathBuf, lock_folder: PathBuf| {
        let options = Options {
            kernel: None,
            name: "Many".to_owned(),
            workspace: vec![workspace],
            lock_folders: vec![lock_folder],
            port: 0,
        };
        tokio::spawn(async { serve(options, Arc::new(Plain::new(None, None))).await.unwrap() })
    };
    for _ in 0..4 {
        let beginning: Vec<_> = (0..50).map(|_| begin(root.clone(), locks.clone())).collect();
        let mut running: Vec<Ide> = Vec::new();
        for server in beginning {
            running.push(server.await.unwrap());
        }
        let ports: BTreeSet<String> = running.iter().map(|ide| format!("{}.lock", ide.port())).collect();
        let names: BTreeSet<String> = std::fs::read_dir(&locks)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        assert_eq!(names, ports);
        let ending: Vec<_> = running.into_iter().map(|ide| tokio::spawn(ide.stop())).collect();
        for end in ending {
            end.await.unwrap();
        }
        assert_eq!(std::fs::read_dir(&locks).unwrap().count(), 0);
    }
    stop.store(true, Ordering::Relaxed);
    let (read, broken) = watching.join().unwrap();
    assert_eq!(broken, Vec::<String>::new());
    assert!(read > 0, "it saw nothing");
}
