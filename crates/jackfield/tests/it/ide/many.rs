//! Many servers at once, each a process of its own.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::Value;

use super::plugin::Plugin;
use super::stage::{Stage, a_word};

#[tokio::test]
async fn s15_fifty_programs_at_once_never_show_half_a_lock_file() {
    let stage = Stage::set(a_word()).await;
    let stop = Arc::new(AtomicBool::new(false));
    let watching = {
        let (folder, stop) = (stage.lock_folder(), Arc::clone(&stop));
        std::thread::spawn(move || {
            let mut read = 0;
            while !stop.load(Ordering::Relaxed) {
                for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
                    let path = entry.path();
                    if path.extension().is_none_or(|extension| extension != "lock") {
                        continue;
                    }
                    // Gone in the meantime is fine.
                    let Ok(text) = std::fs::read_to_string(&path) else { continue };
                    read += 1;
                    let lock: Value = serde_json::from_str(&text).unwrap_or_else(|_| panic!("half: {text}"));
                    assert!(lock["authToken"].is_string(), "{text}");
                }
            }
            read
        })
    };
    let mut starting = tokio::task::JoinSet::new();
    for _ in 0..50 {
        let command = stage.jackfield(&["ide", "--link"]);
        starting.spawn(Plugin::start(tokio::process::Command::from(command)));
    }
    let plugins = starting.join_all().await;
    let ports: BTreeSet<String> = plugins.iter().map(|plugin| format!("{}.lock", plugin.port())).collect();
    assert_eq!(ports.len(), 50);
    assert_eq!(stage.lock_files().into_iter().collect::<BTreeSet<_>>(), ports);
    let mut ending = tokio::task::JoinSet::new();
    for plugin in plugins {
        ending.spawn(plugin.ends());
    }
    assert!(ending.join_all().await.iter().all(|code| *code == Some(0)));
    assert_eq!(stage.lock_files(), Vec::<String>::new());
    stop.store(true, Ordering::Relaxed);
    assert!(watching.join().unwrap() > 0, "it saw nothing");
}
