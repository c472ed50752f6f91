//! The real CLIs behind the server, with two clients watching and answering.

use jackfield_api::Body;
use jackfield_api::command::{Allow, Answer, CreateSession, RejectionCode, Reply, Verdict};
use jackfield_host::Settings;
use jackfield_testkit::api::{Reply as ApiReply, Scenario, ScriptedApi};
use jackfield_testkit::cli::{Cli, NEWER_VERSION, OLDER_VERSION, Sandbox};
use serde_json::json;

use crate::stage::{Stage, program, prompt};

async fn two_clients_watch_and_answer(version: &str) {
    let sandbox = Sandbox::new().unwrap();
    let write = ApiReply::tool_use("Write", json!({ "file_path": "/ws/a.txt", "content": "hello" }));
    let turns = vec![write, ApiReply::text("it is written")];
    let api = ScriptedApi::start(Scenario { turns }, sandbox.places().clone()).await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut settings = Settings::new(folder.path().join("data"));
    settings.claude = Some(Cli::locate(version).unwrap().program);
    settings.locks = Some(folder.path().join("locks"));
    settings.guard = Some(vec![program().into(), "guard".into()]);
    settings.variables = std::env::vars_os().map(|(name, _)| (name, None)).collect();
    let own = sandbox.environment(&api.url()).into_iter();
    settings.variables.extend(own.map(|(name, value)| (name.into(), Some(value.into()))));
    let stage = Stage::with(folder, settings).await;

    let mut one = stage.client("one").await;
    let workspace = sandbox.places().workspace.to_string_lossy().into_owned();
    let Ok(Reply::Created(created)) = one.give(None, CreateSession::new(workspace)).await else { panic!() };
    let id = created.session_id;
    let mut one = one.follow(&id, Some(jackfield_api::Seq(0))).await;
    let mut two = stage.client("two").await.follow(&id, Some(jackfield_api::Seq(0))).await;
    one.give(&id, prompt("write it")).await.unwrap();
    let pending_id = one.asked().await;
    assert_eq!(two.asked().await, pending_id);
    let allow = || Answer { pending_id, verdict: Verdict::Allow(Allow::default()) };
    two.give(&id, allow()).await.unwrap();
    assert_eq!(one.give(&id, allow()).await.unwrap_err().code, RejectionCode::TooLate);
    let end = one.completed().await.seq;
    two.reach(end).await;
    one.reach(end).await;
    let upto = usize::try_from(end.0).unwrap();
    assert_eq!(one.events[..upto], two.events[..upto]);
    let by = one.events.iter().find_map(|event| match &event.body {
        Body::PermissionResolved(end) => end.by.clone(),
        _ => None,
    });
    assert_eq!(by.as_deref(), Some("two"));
    assert_eq!(std::fs::read_to_string(sandbox.places().workspace.join("a.txt")).unwrap(), "hello");
    stage.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_clients_watch_and_answer_the_older_cli() {
    two_clients_watch_and_answer(OLDER_VERSION).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_clients_watch_and_answer_the_newer_cli() {
    two_clients_watch_and_answer(NEWER_VERSION).await;
}
