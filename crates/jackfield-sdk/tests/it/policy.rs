//! The three policies and the report of uncommitted changes, with the real CLIs.

use std::process::Command;
use std::sync::{Arc, Mutex};

use jackfield_api::Body;
use jackfield_api::command::{Allow, Verdict};
use jackfield_api::permission::{PermissionKind, PermissionRequest};
use jackfield_sdk::policy::Policy;
use jackfield_sdk::{Callbacks, OnFailure, OptionError, Options, Pace, Session, StartError, TurnResult};
use jackfield_testkit::api::Reply;
use jackfield_wire::{HookEvent, PermissionMode};
use serde_json::json;

use super::place::{Place, bash, say, start, until, with_both_clis};

with_both_clis!(
    an_autonomous_session_asks_nothing,
    an_autonomous_session_must_be_allowed,
    a_supervised_session_asks_about_all_but_reading,
    a_supervised_session_asks_inside_subagents_too,
    a_supervised_session_never_bypasses,
    a_plan_is_agreed_on_before_anything_is_changed,
    a_plan_is_kept_to_without_a_callback,
    uncommitted_changes_are_reported_once,
    a_clean_or_unversioned_folder_is_not_reported,
    a_hook_that_fails_blocks_if_it_is_told_to,
);

type Asked = Arc<Mutex<Vec<String>>>;

/// Allows everything, and remembers the tools that were asked about.
fn allowing(asked: &Asked) -> Callbacks {
    let asked = Arc::clone(asked);
    Callbacks::new().on_permission(move |request: PermissionRequest| {
        asked.lock().unwrap().push(request.tool_name.unwrap_or_default());
        async { Some(Verdict::Allow(Allow::default())) }
    })
}

fn names(asked: &Asked) -> Vec<String> {
    asked.lock().unwrap().clone()
}

async fn run(options: Options, callbacks: Callbacks) -> TurnResult {
    let session = start(options, callbacks).await;
    let result = say(&session, "MAIN go").await;
    session.close().await;
    result
}

async fn an_autonomous_session_asks_nothing(version: &str) {
    let place = Place::new(version, vec![bash("touch made"), Reply::text("done")]).await;
    let asked = Asked::default();
    // As root the CLI bypasses permissions only in a sandbox.
    let options = place.options().allow_bypass().variable("IS_SANDBOX", "1");
    let (options, callbacks) = Policy::Autonomous.apply(options, allowing(&asked));
    assert_eq!(run(options, callbacks).await.text, "done");
    assert!(place.file("made").is_some());
    assert_eq!(names(&asked), Vec::<String>::new());
}

async fn an_autonomous_session_must_be_allowed(version: &str) {
    let place = Place::new(version, vec![]).await;
    let (options, callbacks) = Policy::Autonomous.apply(place.options(), Callbacks::new());
    let refused = Session::start(options, callbacks).await.unwrap_err();
    assert!(matches!(refused, StartError::Options(OptionError::BypassNotAllowed)), "{refused}");
}

async fn a_supervised_session_asks_about_all_but_reading(version: &str) {
    // The CLI by itself would not ask about `ls`, nor about what a rule allows.
    let read = Reply::tool_use("Read", json!({"file_path": "/ws/a.txt"}));
    let place = Place::new(version, vec![read, bash("ls"), bash("touch made"), Reply::text("done")]).await;
    place.sandbox.write("a.txt", "text\n").unwrap();
    let asked = Asked::default();
    let options = place.options().allow_tool("Bash(touch *)");
    let (options, callbacks) = Policy::Supervised.apply(options, allowing(&asked));
    let result = run(options, callbacks).await;
    assert_eq!((result.text.as_str(), result.figures.permission_denials.len()), ("done", 0));
    assert_eq!(names(&asked), ["Bash", "Bash"]);
    assert!(place.file("made").is_some());
}

async fn a_supervised_session_asks_inside_subagents_too(version: &str) {
    let task = json!({
        "description": "job", "prompt": "SUB go", "subagent_type": "general-purpose", "run_in_background": false,
    });
    let main = |reply: Reply| Reply { matching: Some("MAIN".into()), ..reply };
    let inside = |reply: Reply| Reply { not_match: Some("MAIN".into()), ..reply };
    let turns = vec![
        main(Reply::tool_use("Task", task)),
        inside(bash("ls")),
        inside(Reply::text("sub done")),
        main(Reply::text("done")),
    ];
    let place = Place::new(version, turns).await;
    let asked = Asked::default();
    let (options, callbacks) = Policy::Supervised.apply(place.options(), allowing(&asked));
    assert_eq!(run(options, callbacks).await.text, "done");
    assert_eq!(names(&asked), ["Bash"]);
}

async fn a_supervised_session_never_bypasses(version: &str) {
    let place = Place::new(version, vec![bash("touch made"), Reply::text("done")]).await;
    let options = place.options().permission_mode(PermissionMode::BypassPermissions).allow_bypass();
    let (options, callbacks) =
        Policy::Supervised.apply(options.variable("IS_SANDBOX", "1"), Callbacks::new());
    let session = start(options, callbacks).await;
    let mut events = session.events(Pace::Lossless);
    assert!(session.set_mode("bypassPermissions").await.is_err());
    let turn = session.prompt("go").await.unwrap();
    until(&mut events, |body| matches!(body, Body::PermissionRequest(_))).await;
    assert_eq!(place.file("made"), None, "nothing has run before somebody answered");
    session.close().await;
    drop(turn);
}

/// A plan that is made with a command that reads, tried to be left out, proposed, and then kept to.
fn planned() -> Vec<Reply> {
    let write =
        |content: &str| Reply::tool_use("Write", json!({"file_path": "/ws/a.txt", "content": content}));
    let plan = Reply::tool_use("ExitPlanMode", json!({"plan": "write a.txt"}));
    vec![bash("ls"), bash("touch made"), write("early\n"), plan, write("late\n"), Reply::text("done")]
}

async fn a_plan_is_agreed_on_before_anything_is_changed(version: &str) {
    let place = Place::new(version, planned()).await;
    let asked = Asked::default();
    let (options, callbacks) = Policy::Plan.apply(place.options(), allowing(&asked));
    let result = run(options, callbacks).await;
    assert_eq!((result.text.as_str(), result.error), ("done", None));
    let denied: Vec<_> =
        result.figures.permission_denials.iter().map(|denial| denial.tool_name.as_str()).collect();
    assert_eq!(denied, ["Bash", "Write"]);
    assert_eq!(names(&asked), ["ExitPlanMode", "Write"], "a person is asked about the plan and what follows");
    assert_eq!((place.file("a.txt").as_deref(), place.file("made")), (Some("late\n"), None));
}

async fn a_plan_is_kept_to_without_a_callback(version: &str) {
    let place = Place::new(version, planned()).await;
    let (options, callbacks) = Policy::Plan.apply(place.options(), Callbacks::new());
    let session = start(options, callbacks).await;
    let mut events = session.events(Pace::Lossless);
    let turn = session.prompt("go").await.unwrap();
    let is_plan = |body: &Body| matches!(body, Body::PermissionRequest(request) if request.kind == PermissionKind::Plan);
    let asked = until(&mut events, is_plan).await;
    let Body::PermissionRequest(request) = &asked.body else { unreachable!() };
    assert_eq!(request.plan.as_deref(), Some("write a.txt"));
    assert_eq!((place.file("a.txt"), place.file("made")), (None, None));
    session.close().await;
    drop(turn);
}

fn git(place: &Place, words: &[&str]) {
    let done = Command::new("git")
        .args(["-c", "user.name=a", "-c", "user.email=a@b"])
        .args(words)
        .current_dir(&place.sandbox.places().workspace)
        .env_clear()
        .envs(place.sandbox.environment(""))
        .output()
        .unwrap();
    assert!(done.status.success(), "{done:?}");
}

async fn uncommitted_changes_are_reported_once(version: &str) {
    let replies = ["first", "second", "third"].map(Reply::text);
    let place = Place::new(version, replies.to_vec()).await;
    git(&place, &["init", "-q"]);
    place.sandbox.write("new.txt", "text\n").unwrap();
    let session = start(place.options(), Callbacks::new().report_uncommitted()).await;
    let result = say(&session, "go").await;
    assert_eq!(result.text, "first\n\nsecond", "the model goes on once, and may then stop");
    let told = place.said()[1].to_string();
    assert!(told.contains("uncommitted changes") && told.contains("?? new.txt"), "{told}");
    git(&place, &["add", "."]);
    git(&place, &["commit", "-q", "-m", "all"]);
    assert_eq!(say(&session, "again").await.text, "third", "nothing is left to report");
    session.close().await;
}

async fn a_clean_or_unversioned_folder_is_not_reported(version: &str) {
    let place = Place::new(version, vec![Reply::text("first")]).await;
    place.sandbox.write("new.txt", "text\n").unwrap();
    assert_eq!(run(place.options(), Callbacks::new().report_uncommitted()).await.text, "first");
}

async fn a_hook_that_fails_blocks_if_it_is_told_to(version: &str) {
    for (policy, made) in [(OnFailure::Continue, true), (OnFailure::Block, false)] {
        let place = Place::new(version, vec![bash("touch made"), Reply::text("done")]).await;
        let failing = |_| async { panic!("a hook that panics") };
        let callbacks = allowing(&Asked::default())
            .on_hook(HookEvent::PreToolUse, Some("Bash"), failing)
            .on_failure(policy);
        assert_eq!(run(place.options(), callbacks).await.text, "done");
        assert_eq!(place.file("made").is_some(), made, "{policy:?}");
    }
}
