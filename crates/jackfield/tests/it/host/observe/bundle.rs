//! `jackfield doctor --bundle`: shown before it is written, never over another file, and for its owner alone.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use serde_json::Value;

use super::super::client::prompt;
use super::super::server::Place;
use crate::program::{Finished, jackfield};

fn doctor(place: &Place, file: &Path, more: &[&str]) -> Finished {
    let mut command = jackfield(["doctor", "--timeout", "60", "--bundle"]);
    command.arg(file).args(more).arg("--data").arg(&place.data).envs(&place.environment);
    command.output().unwrap().into()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bundle_is_shown_first_and_written_once() {
    let place = Place::demo();
    let server = place.serve().await;
    let mut socket = place.client("one").await;
    let id = socket.create(place.create()).await;
    socket.follow(&id).await;
    socket.give(Some(&id), prompt("hello")).await.unwrap();
    socket.completed(&id).await;
    let file = place.sandbox.places().temporary.join("report.json");

    let unasked = doctor(&place, &file, &[]);
    assert_eq!(unasked.code, Some(2), "{}", unasked.err);
    assert!(unasked.err.contains("nobody can be asked") && unasked.err.contains("--yes"), "{}", unasked.err);
    assert!(unasked.out.contains("journal ") && unasked.out.contains("will hold"), "{}", unasked.out);
    assert!(!file.exists());

    let written = doctor(&place, &file, &["--yes"]);
    assert!(written.out.contains("written: "), "{} {}", written.out, written.err);
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let bundle: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    assert_eq!(bundle["versions"]["contract"], 1);
    assert!(bundle["checks"].as_array().unwrap().len() > 3);
    let has = |part: &str, words: &str| bundle[part].to_string().contains(words);
    assert!(has("configuration", "max_running_sessions"), "{}", bundle["configuration"]);
    assert!(has("log", "turn ended"), "{}", bundle["log"]);
    assert!(bundle["drift"]["unknown_messages"].is_array(), "{}", bundle["drift"]);
    assert!(bundle["journal"][id.as_str()].as_array().unwrap().len() > 3, "{}", bundle["journal"]);

    let before = fs::read(&file).unwrap();
    let again = doctor(&place, &file, &["--yes"]);
    assert_eq!(again.code, Some(2), "{}", again.out);
    assert!(again.err.contains("is there already"), "{}", again.err);
    assert_eq!(fs::read(&file).unwrap(), before);
    assert!(server.stop().await.success());

    // Without a host there is less in it, and that is said.
    let other = place.sandbox.places().temporary.join("other.json");
    doctor(&place, &other, &["--yes"]);
    let bundle: Value = serde_json::from_str(&fs::read_to_string(&other).unwrap()).unwrap();
    assert_eq!(bundle["drift"]["host"], "not running");
    assert!(bundle["log"].to_string().contains("turn ended"));
}
