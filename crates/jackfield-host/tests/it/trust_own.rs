//! Rules that a person saves with the project: they are theirs, and no change of the folder.

use std::fs;
use std::path::{Path, PathBuf};

use jackfield_api::command::{Allow, Answer, Close, CreateSession, RejectionCode, Verdict};
use jackfield_api::permission::{Behavior, Change, Destination, PermissionRequest, Remember, Rule};
use jackfield_api::socket::Scope;
use jackfield_api::trust::FolderTrust;
use jackfield_api::{Body, SessionId};
use jackfield_host::Client;
use jackfield_host::trust::Verdict as Trusting;
use jackfield_testkit::api::Reply;
use serde_json::{Value, json};

use crate::stage::{Follower, Stage, created, give, give_as, prompt, with_both_clis};

with_both_clis![
    s20_rules_that_a_person_saves_with_the_project_leave_it_trusted,
    s20_what_a_lesser_login_saves_with_the_project_is_looked_at_again,
];

fn bash(command: &str) -> Reply {
    Reply::tool_use("Bash", json!({ "command": command, "description": "a command" }))
}

fn settings(folder: &Path, name: &str) -> Option<Value> {
    serde_json::from_slice(&fs::read(folder.join(".claude").join(name)).ok()?).ok()
}

/// A trusted folder in a repository, with something in it.
async fn trusted(stage: &Stage) -> PathBuf {
    let folder = stage.sandbox.places().workspace.join("project");
    fs::create_dir_all(folder.join(".claude")).unwrap();
    let brought = json!({ "permissions": { "deny": ["Read(.env)"] }, "model": "opus" });
    fs::write(folder.join(".claude/settings.json"), brought.to_string()).unwrap();
    let shown = shown(stage, &folder).await;
    set(stage, &folder, &shown, Trusting::Trusted).await;
    folder
}

async fn shown(stage: &Stage, folder: &Path) -> FolderTrust {
    stage.host.folder_trust(folder.to_str().unwrap()).await.unwrap()
}

async fn set(stage: &Stage, folder: &Path, shown: &FolderTrust, verdict: Trusting) -> FolderTrust {
    stage.host.set_folder_trust(folder.to_str().unwrap(), &shown.fingerprint, verdict).await.unwrap()
}

/// A session that has asked something.
async fn asked(stage: &Stage, folder: &Path) -> (SessionId, Follower, PermissionRequest) {
    let create = CreateSession::new(folder.to_str().unwrap());
    let id = created(give(&stage.host, None, create).await.unwrap());
    let mut follower = stage.follow(&id).await;
    give(&stage.host, Some(&id), prompt("go")).await.unwrap();
    let event = follower.until(|body| matches!(body, Body::PermissionRequest(_))).await;
    assert!(stage.host.session(&id).await.unwrap().unwrap().trusted);
    let Body::PermissionRequest(request) = event.body else { unreachable!() };
    (id, follower, *request)
}

fn yes(request: &PermissionRequest, remember: Vec<Remember>) -> Answer {
    Answer { pending_id: request.pending_id, verdict: Verdict::Allow(Allow { input: None, remember }) }
}

async fn ended(stage: &Stage, id: &SessionId, follower: &mut Follower) {
    follower.completed().await;
    give(&stage.host, Some(id), Close {}).await.unwrap();
    follower.until(|body| matches!(body, Body::RunEnded(_))).await;
}

fn rules(contents: &[&str], behavior: Behavior) -> Change {
    let rule =
        |content: &&str| Rule { tool_name: "Bash".to_owned(), rule_content: Some((*content).to_owned()) };
    Change::AddRules { rules: contents.iter().map(rule).collect(), behavior }
}

async fn s20_rules_that_a_person_saves_with_the_project_leave_it_trusted(version: &str) {
    let turns = vec![
        bash("touch first"),
        Reply::text("done"),
        bash("touch second"),
        Reply::text("done"),
        bash("touch third"),
        Reply::text("done"),
    ];
    let stage = Stage::new(version, turns).await;
    let folder = trusted(&stage).await;
    let (id, mut follower, request) = asked(&stage, &folder).await;
    // What the CLI offers first, and what has to be written with care.
    let odd = rules(&["echo (a) \\ \"b\" ü", "printf '%s' x"], Behavior::Allow);
    let directory = stage.sandbox.places().temporary.to_string_lossy().into_owned();
    let remember = vec![
        Remember { destination: Destination::LocalSettings, ..request.suggestions[0].clone() },
        Remember { change: odd, destination: Destination::LocalSettings },
        Remember { change: rules(&["rm *"], Behavior::Deny), destination: Destination::ProjectSettings },
        Remember {
            change: Change::AddDirectories { directories: vec![directory] },
            destination: Destination::LocalSettings,
        },
    ];
    give(&stage.host, Some(&id), yes(&request, remember)).await.unwrap();
    ended(&stage, &id, &mut follower).await;

    let local = settings(&folder, "settings.local.json").expect("the CLI wrote it");
    assert_eq!(local["permissions"]["allow"].as_array().unwrap().len(), 3, "{local}");
    assert_eq!(settings(&folder, "settings.json").unwrap()["permissions"]["deny"][1], "Bash(rm *)");
    let now = shown(&stage, &folder).await;
    assert!(now.trusted && !now.changed, "{now:#?}");
    assert!(now.brings.len() >= 6 && now.brings.iter().all(|one| !one.new), "{now:#?}");

    // They are in effect in the next run, which is trusted too.
    let (id, mut follower, request) = asked(&stage, &folder).await;
    give(&stage.host, Some(&id), yes(&request, Vec::new())).await.unwrap();
    ended(&stage, &id, &mut follower).await;

    // Anything else is a change, however like them it is.
    let mut more = local.clone();
    more["permissions"]["allow"].as_array_mut().unwrap().push("Bash(*)".into());
    fs::write(folder.join(".claude/settings.local.json"), more.to_string()).unwrap();
    let changed = shown(&stage, &folder).await;
    assert!(changed.changed && !changed.trusted);
    let new: Vec<_> = changed.brings.iter().filter(|one| one.new).map(|one| one.detail.as_str()).collect();
    assert_eq!(new, ["Bash(*)"]);
    fs::write(folder.join(".claude/settings.local.json"), local.to_string()).unwrap();
    let again = shown(&stage, &folder).await;
    assert!(again.trusted);
    // Who takes trust back takes it from those rules too: trust asks about them then.
    let refused = set(&stage, &folder, &again, Trusting::Untrusted).await;
    assert!(refused.refused && refused.fingerprint != again.fingerprint);
    stage.host.close().await;
}

async fn s20_what_a_lesser_login_saves_with_the_project_is_looked_at_again(version: &str) {
    let stage = Stage::new(version, vec![bash("touch first"), Reply::text("done")]).await;
    let folder = trusted(&stage).await;
    let (id, mut follower, request) = asked(&stage, &folder).await;
    let phone = Client::new("phone", Scope::Answer);
    let own = Remember { change: rules(&["*"], Behavior::Allow), destination: Destination::Session };
    let refused = give_as(&stage.host, &phone, Some(&id), yes(&request, vec![own])).await.unwrap_err();
    assert_eq!(refused.code, RejectionCode::Forbidden);
    let offered = request.suggestions[0].clone();
    assert_eq!(offered.destination, Destination::LocalSettings);
    let wider = Remember { destination: Destination::UserSettings, ..offered.clone() };
    let refused = give_as(&stage.host, &phone, Some(&id), yes(&request, vec![wider])).await.unwrap_err();
    assert_eq!(refused.code, RejectionCode::Forbidden);
    give_as(&stage.host, &phone, Some(&id), yes(&request, vec![offered])).await.unwrap();
    ended(&stage, &id, &mut follower).await;
    let now = shown(&stage, &folder).await;
    assert!(now.changed && !now.trusted && now.brings.iter().any(|one| one.new), "{now:#?}");
    stage.host.close().await;
}
