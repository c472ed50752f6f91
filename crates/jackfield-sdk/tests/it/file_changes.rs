//! What files held before and hold now, on the main thread and inside subagents, in every mode.

use jackfield_api::command::{Allow, Verdict};
use jackfield_api::conversation::FileUpdated;
use jackfield_api::tool::ToolStatus;
use jackfield_api::{Body, Event};
use jackfield_core::journal::{Entry, Player};
use jackfield_core::{Launch, Output, RESULT_HOOK};
use jackfield_sdk::{Callbacks, Direction, Options, Pace, Session, Switch};
use jackfield_testkit::api::Reply;
use jackfield_wire::{HookEvent, HookOutput, PermissionMode};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use super::place::{Place, all, say, start, with_both_clis};

with_both_clis!(
    a_change_on_the_main_thread_is_told_once,
    a_change_inside_a_subagent_is_told_like_any_other,
    a_change_that_was_asked_about_is_told_too,
    what_a_person_s_own_hook_is_told_is_told_once,
    without_the_hook_the_old_content_is_not_known,
);

const PROMPT: &str = "MAIN go";

/// A new file, an edit, one that fails, a file that is overwritten, and a notebook.
fn calls() -> Vec<(&'static str, Value)> {
    let edit = |old: &str, new: &str| json!({"file_path": "/ws/a.txt", "old_string": old, "new_string": new});
    vec![
        ("Write", json!({"file_path": "/ws/a.txt", "content": "alpha\nbeta\n"})),
        ("Edit", edit("alpha", "gamma")),
        ("Edit", edit("nowhere", "gamma")),
        ("Write", json!({"file_path": "/ws/a.txt", "content": "over\n"})),
        ("Read", json!({"file_path": "/ws/n.ipynb"})),
        ("NotebookEdit", json!({"notebook_path": "/ws/n.ipynb", "cell_id": "one", "new_source": "2"})),
    ]
}

const NOTEBOOK: &str = r#"{"cells":[{"cell_type":"code","id":"one","metadata":{},"execution_count":null,"outputs":[],"source":"1"}],"metadata":{"language_info":{"name":"python"}},"nbformat":4,"nbformat_minor":5}"#;

fn on_the_main_thread() -> Vec<Reply> {
    let calls = calls().into_iter().map(|(name, input)| Reply::tool_use(name, input));
    calls.chain([Reply::text("done")]).collect()
}

fn inside_a_subagent() -> Vec<Reply> {
    let task = json!({
        "description": "job", "prompt": "SUB go", "subagent_type": "general-purpose", "run_in_background": false,
    });
    // The main thread quotes the subagent's prompt, the subagent does not know the main thread's.
    let main = |reply: Reply| Reply { matching: Some(PROMPT.into()), ..reply };
    let inside = |reply: Reply| Reply { not_match: Some(PROMPT.into()), ..reply };
    let calls = calls().into_iter().map(|(name, input)| inside(Reply::tool_use(name, input)));
    [main(Reply::tool_use("Task", task))]
        .into_iter()
        .chain(calls)
        .chain([inside(Reply::text("sub done")), main(Reply::text("done"))])
        .collect()
}

/// What was told of a file, and whether it was inside a subagent.
type Change = (bool, FileUpdated);

/// Runs the turn, live and once more from the lines that went to and fro.
async fn changes(place: &Place, options: Options, callbacks: Callbacks) -> Vec<Change> {
    place.sandbox.write("n.ipynb", NOTEBOOK).unwrap();
    let session = start(options, callbacks).await;
    let mut events = session.events(Pace::Lossless);
    let journal = record(&session);
    let result = say(&session, PROMPT).await;
    assert_eq!((result.text.as_str(), result.error), ("done", None));
    session.close().await;
    drop(session);
    let events = all(&mut events).await;
    let failed =
        |body: &Body| matches!(body, Body::ToolUpdate(update) if update.tool_status == ToolStatus::Error);
    assert_eq!(events.iter().filter(|event| failed(&event.body)).count(), 1, "one edit fails");
    let ours = |body: &Body| matches!(body, Body::Hook(hook) if hook.hook_name == RESULT_HOOK);
    assert!(!events.iter().any(|event| ours(&event.body)), "the hook is nobody's business");
    assert_eq!(place.api.unused(), Vec::<usize>::new());
    let live: Vec<_> = events.iter().filter_map(|event| change(event)).collect();
    assert_eq!(live, replay(&journal.await.unwrap()));
    live
}

fn change(event: &Event) -> Option<Change> {
    let Body::FileUpdated(file) = &event.body else { return None };
    Some((event.parent_tool_call_id.is_some(), (**file).clone()))
}

fn record(session: &Session) -> JoinHandle<Vec<Entry>> {
    let mut lines = session.raw();
    tokio::spawn(async move {
        let mut journal = Vec::new();
        while let Ok(line) = lines.recv().await {
            let (dir, by) = match line.direction {
                Direction::FromCli => ("out", None),
                Direction::ToCli => ("in", Some("host".to_owned())),
            };
            journal.push(Entry { t: 0.0, dir: dir.to_owned(), line: line.text.clone(), by, lossy: false });
        }
        journal
    })
}

fn replay(journal: &[Entry]) -> Vec<Change> {
    let machine = jackfield_core::Session::new(jackfield_core::Options::default());
    let mut player = Player::new(machine, Launch::from_arguments::<&str>(&[]));
    let mut changes = Vec::new();
    for entry in journal {
        player.play(entry);
        while let Some(output) = player.session().poll() {
            changes.extend(if let Output::Event(event) = output { change(&event) } else { None });
        }
    }
    changes
}

/// Every change once, with both contents and a diff.
fn check(changes: &[Change], inside: bool) {
    let told: Vec<_> = changes
        .iter()
        .map(|(within, file)| {
            assert_eq!(*within, inside);
            (file.old_content.as_deref(), file.new_content.as_deref().unwrap(), file.diff.as_str())
        })
        .collect();
    let texts: Vec<_> = told[..3].iter().map(|(old, new, _)| (*old, *new)).collect();
    assert_eq!(
        texts,
        [
            (None, "alpha\nbeta\n"),
            (Some("alpha\nbeta\n"), "gamma\nbeta\n"),
            (Some("gamma\nbeta\n"), "over\n"),
        ]
    );
    assert!(told[0].2.contains("+alpha\n+beta\n"), "{}", told[0].2);
    assert!(told[1].2.contains("-alpha\n+gamma\n beta\n"), "{}", told[1].2);
    assert!(told[2].2.contains("-gamma\n-beta\n+over\n"), "{}", told[2].2);
    let (old, new, diff) = told[3];
    assert_eq!(old, Some(NOTEBOOK));
    assert!(new.contains(r#""source": "2""#) && !diff.is_empty(), "{new}");
    assert_eq!(told.len(), 4);
}

fn accepting(place: &Place) -> Options {
    place.options().permission_mode(PermissionMode::AcceptEdits)
}

async fn a_change_on_the_main_thread_is_told_once(version: &str) {
    let place = Place::new(version, on_the_main_thread()).await;
    check(&changes(&place, accepting(&place), Callbacks::new()).await, false);
}

async fn a_change_inside_a_subagent_is_told_like_any_other(version: &str) {
    let place = Place::new(version, inside_a_subagent()).await;
    check(&changes(&place, accepting(&place), Callbacks::new()).await, true);
    let sent: String = place.requests().iter().map(|body| body["messages"].to_string()).collect();
    assert!(
        !sent.contains("PostToolUse") && !sent.contains(RESULT_HOOK),
        "the model is told nothing of the hook"
    );
}

async fn a_change_that_was_asked_about_is_told_too(version: &str) {
    let place = Place::new(version, inside_a_subagent()).await;
    let allow = |_| async { Some(Verdict::Allow(Allow::default())) };
    check(&changes(&place, place.options(), Callbacks::new().on_permission(allow)).await, true);
}

async fn what_a_person_s_own_hook_is_told_is_told_once(version: &str) {
    let place = Place::new(version, inside_a_subagent()).await;
    let callbacks =
        Callbacks::new().on_hook(HookEvent::PostToolUse, None, |_| async { Ok(HookOutput::default()) });
    check(&changes(&place, accepting(&place), callbacks).await, true);
}

async fn without_the_hook_the_old_content_is_not_known(version: &str) {
    let place = Place::new(version, inside_a_subagent()).await;
    let changes = changes(&place, accepting(&place).file_changes(Switch::Off), Callbacks::new()).await;
    assert_eq!(changes.len(), 4);
    assert!(changes.iter().all(|(_, file)| file.old_content.is_none()));
    let diff = &changes[1].1.diff;
    assert!(diff.contains("-alpha\n") && diff.contains("+gamma\n"), "{diff}");
}
