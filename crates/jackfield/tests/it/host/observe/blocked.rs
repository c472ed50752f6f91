//! What is said where nothing can be watched: in a line on standard error, in the log, and to who asks for it.

use std::fs;

use jackfield_testkit::api::Reply;
use jackfield_testkit::cli::NEWER_VERSION;
use serde_json::json;
use tokio::process::Command;
use tokio::time::timeout;

use super::super::client::prompt;
use super::super::server::{PATIENCE, Place};
use super::collector::Collector;
use super::editor::Editor;
use super::figures::ask;
use super::traces::run;
use crate::program::jackfield;

/// A file stands where the folder of debug files would be.
fn block(place: &Place) -> String {
    fs::create_dir_all(&place.data).unwrap();
    let folder = place.data.join("debug");
    fs::write(&folder, "in the way").unwrap();
    format!("`{}`", folder.display())
}

fn wants_debug_files(place: &mut Place) {
    place.environment.insert("JACKFIELD_DEBUG_AGENT_MESSAGES".to_owned(), "true".to_owned());
}

fn exports_to(place: &mut Place, endpoint: &str) {
    place.environment.insert("OTEL_EXPORTER_OTLP_ENDPOINT".to_owned(), endpoint.to_owned());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_says_in_a_line_what_it_cannot_write_or_export_and_goes_on() {
    let mut debugs = Place::demo();
    let folder = block(&debugs);
    wants_debug_files(&mut debugs);
    let [mut refused, mut away, mut passed_over, mut quiet] = [(); 4].map(|()| Place::demo());
    exports_to(&mut refused, "https://127.0.0.1:1");
    exports_to(&mut away, "http://127.0.0.1:1");
    // It is tried again and again for so long, and all of that is over before the program gives up on it.
    away.environment.insert("OTEL_EXPORTER_OTLP_TIMEOUT".to_owned(), "100".to_owned());
    // All spans are sent together, in the end.
    away.environment.insert("OTEL_BSP_SCHEDULE_DELAY".to_owned(), "3600000".to_owned());
    let collector = Collector::start().await;
    collector.wanted_by(&mut passed_over);
    passed_over.environment.insert("OTEL_TRACES_SAMPLER".to_owned(), "traceidratio".to_owned());
    // Nobody is bothered where nobody asks for traces.
    exports_to(&mut quiet, "https://127.0.0.1:1");
    quiet.environment.insert("OTEL_TRACES_SAMPLER".to_owned(), "always_off".to_owned());
    for (place, words) in [
        (&debugs, &["cannot write debug files", folder.as_str()][..]),
        (&refused, &["cannot export traces to `https://127.0.0.1:1`: only `http` is spoken"]),
        (&away, &["spans are not taken", "http://127.0.0.1:1"]),
        (&passed_over, &["passed over: `OTEL_TRACES_SAMPLER=traceidratio`"]),
        (&quiet, &[]),
    ] {
        let finished = run(place, &[]);
        assert_eq!(finished.code, Some(0), "{}", finished.err);
        let lines: Vec<&str> = finished.err.lines().collect();
        assert_eq!(lines.len(), usize::from(!words.is_empty()), "{words:?}: {}", finished.err);
        for line in lines {
            assert!(line.starts_with("jackfield: "), "{line}");
            assert!(words.iter().all(|word| line.contains(word)), "{words:?}: {line}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_goes_on_though_nobody_reads_what_it_would_say() {
    let mut place = Place::demo();
    block(&place);
    wants_debug_files(&mut place);
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = jackfield(["run", "hello", "--agent", "demo", "--timeout", "60"]);
    command.arg("--data").arg(&place.data).envs(&place.environment);
    command.current_dir(&place.sandbox.places().workspace).stderr(writer);
    let child = Command::from(command).kill_on_drop(true).spawn().unwrap();
    let finished = timeout(PATIENCE, child.wait_with_output()).await.unwrap().unwrap();
    let said = String::from_utf8_lossy(&finished.stdout);
    assert_eq!((finished.status.code(), said.is_empty()), (Some(0), false), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_editor_is_told_on_standard_error_what_cannot_be_written_or_exported() {
    let (mut place, _api) = Place::real(NEWER_VERSION, vec![Reply::text("one")]).await;
    let folder = block(&place);
    wants_debug_files(&mut place);
    exports_to(&mut place, "garbage");
    let mut editor = Editor::open(&place).await;
    editor.prompt("go", &json!({})).await;
    let said = editor.hang_up().await;
    let lines: Vec<&str> = said.lines().collect();
    let [traces, debug] = lines[..] else { panic!("not a line for each: {said}") };
    assert!(traces.contains("cannot export traces to `garbage`"), "{said}");
    assert!(debug.contains("cannot write debug files") && debug.contains(&folder), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_log_and_who_switches_debug_files_on_are_told_where_nothing_can_be_written() {
    let mut place = Place::demo();
    wants_debug_files(&mut place);
    let folder = block(&place);
    let server = place.serve().await;
    let mut socket = place.client("one").await;
    let id = socket.create(place.create()).await;
    socket.follow(&id).await;
    socket.give(Some(&id), prompt("hello")).await.unwrap();
    socket.completed(&id).await;
    let log = fs::read_to_string(place.data.join("jackfield.log")).unwrap();
    let told: Vec<&str> = log.lines().filter(|line| line.contains("cannot write debug files")).collect();
    assert!(matches!(told[..], [line] if line.contains(" WARN ") && line.contains(&folder)), "{log}");
    let route = format!("/api/sessions/{id}/debug");
    let off = (200, "{\"debug\":false}".to_owned());
    assert_eq!(ask(&place, &format!("GET {route}"), "").await, off);
    let (status, answer) = ask(&place, &format!("PUT {route}"), "{\"debug\":true}").await;
    assert!(
        status == 409 && answer.contains("cannot write debug files") && answer.contains(&folder),
        "{answer}"
    );
    assert_eq!(ask(&place, &format!("GET {route}"), "").await, off);
    fs::remove_file(place.data.join("debug")).unwrap();
    let on = (200, "{\"debug\":true}".to_owned());
    assert_eq!(ask(&place, &format!("PUT {route}"), "{\"debug\":true}").await, on);
    assert!(server.stop().await.success());
}
