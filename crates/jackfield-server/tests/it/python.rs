//! An independent client, written only from `docs/protocol.md`, drives a whole session.

use std::path::Path;

use jackfield_testkit::cli;
use tokio::process::Command;
use tokio::time::timeout;

use crate::stage::{PATIENCE, Stage};

#[tokio::test(flavor = "multi_thread")]
async fn a_client_in_another_language_drives_a_whole_session() {
    let packages = cli::cache_dir().join("python");
    assert!(packages.join("websockets").is_dir(), "no Python package `websockets`: run `cargo xtask setup`");
    let stage = Stage::new().await;
    let client = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/python_client.py");
    let run = Command::new("python3")
        .arg(client)
        .arg(stage.address.to_string())
        .arg(stage.settings.data.join("token"))
        .arg(stage.folder.path())
        .env("PYTHONPATH", packages)
        .kill_on_drop(true)
        .output();
    let output = timeout(PATIENCE * 3, run).await.unwrap().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
    let seen: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let id = seen["session_id"].as_str().unwrap().into();
    let session = stage.host.session(&id).await.unwrap().unwrap();
    let (first, last) = (seen["first"].as_u64().unwrap(), seen["last"].as_u64().unwrap());
    assert_eq!(seen["events"], last - first + 1);
    assert!(last > 50 && session.seq.0 >= last, "{seen}");
    stage.end().await;
}
