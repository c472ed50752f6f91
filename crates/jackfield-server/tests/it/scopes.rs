//! Every route and every command with every scope.

use std::collections::{BTreeMap, BTreeSet};

use jackfield_api::Command;
use jackfield_api::socket::Scope;
use serde_json::{Value, json};

use crate::access::routes;
use crate::document::examples;
use crate::stage::{Stage, new_id};

const SCOPES: [(&str, Scope); 3] =
    [("view", Scope::View), ("answer", Scope::Answer), ("admin", Scope::Admin)];

/// The least that each route needs, written down a second time: a route that moves to another group, or is new,
/// has to be thought about here.
const ROUTES: [(&str, Scope); 42] = [
    ("POST /api/logout", Scope::View),
    ("GET /api/socket", Scope::View),
    ("POST /api/commands", Scope::View),
    ("GET /api/sessions", Scope::View),
    ("GET /api/sessions/{id}", Scope::View),
    ("GET /api/sessions/{id}/snapshot", Scope::View),
    ("GET /api/sessions/{id}/items", Scope::View),
    ("GET /api/sessions/{id}/events", Scope::View),
    ("GET /api/desk", Scope::View),
    ("GET /api/decisions", Scope::View),
    ("GET /api/search", Scope::View),
    ("GET /api/costs", Scope::View),
    ("GET /api/settings", Scope::View),
    ("GET /api/editor", Scope::View),
    ("GET /api/processes", Scope::View),
    ("GET /api/speech", Scope::View),
    ("GET /metrics", Scope::View),
    ("GET /api/editor/diffs/{id}", Scope::Answer),
    ("PUT /api/editor/diffs/{id}", Scope::Answer),
    ("GET /api/editor/files/{id}", Scope::Answer),
    ("GET /api/sessions/{id}/export", Scope::Answer),
    ("GET /api/sessions/{id}/files", Scope::Answer),
    ("GET /api/sessions/{id}/file", Scope::Answer),
    ("GET /api/sessions/{id}/find", Scope::Answer),
    ("GET /api/sessions/{id}/diff", Scope::Answer),
    ("GET /api/rules", Scope::Admin),
    ("PUT /api/rules", Scope::Admin),
    ("POST /api/rules/try", Scope::Admin),
    ("GET /api/history", Scope::Admin),
    ("GET /api/folders", Scope::Admin),
    ("GET /api/trust", Scope::Admin),
    ("PUT /api/trust", Scope::Admin),
    ("GET /api/trust/folders", Scope::Admin),
    ("DELETE /api/trust/folders", Scope::Admin),
    ("GET /api/sessions/{id}/lines", Scope::Admin),
    ("GET /api/sessions/{id}/lines/follow", Scope::Admin),
    ("GET /api/sessions/{id}/debug", Scope::Admin),
    ("PUT /api/sessions/{id}/debug", Scope::Admin),
    ("POST /api/tickets", Scope::Admin),
    ("GET /api/devices", Scope::Admin),
    ("DELETE /api/devices/{id}", Scope::Admin),
    // Not behind a login at all.
    ("POST /api/login", Scope::View),
];

/// The commands that only go on with a conversation; all others need everything.
const GOING_ON: [&str; 9] = [
    "prompt",
    "edit_queued",
    "cancel_queued",
    "reorder_queued",
    "interrupt",
    "answer",
    "retry",
    "stop_task",
    "background",
];

#[tokio::test(flavor = "multi_thread")]
async fn s27_every_route_is_there_for_its_scope_and_for_no_lesser_one() {
    let stage = Stage::new().await;
    let needed: BTreeMap<&str, Scope> = ROUTES.into_iter().collect();
    let id = new_id();
    let mut seen = BTreeSet::new();
    for (method, path) in routes() {
        // The table's own id is another in every path.
        let path: Vec<&str> = path.split('/').collect();
        let named = path.iter().map(|part| if part.len() == id.len() { "{id}" } else { part });
        let line = format!("{method} {}", named.collect::<Vec<_>>().join("/"));
        if line == "GET /healthz" || line == "POST /api/login" {
            continue;
        }
        let needed = *needed.get(line.as_str()).unwrap_or_else(|| panic!("{line} is not in the table"));
        for (word, scope) in SCOPES {
            let browser = stage.device(word, None).await;
            let answer = stage.ask_as(&browser, &line.replace("{id}", &id), "").await;
            let forbidden = answer.status == 403 && answer.code() == "forbidden";
            assert_eq!(forbidden, scope < needed, "{line} with {word}: {answer:?}");
            assert!(forbidden || ![401, 403].contains(&answer.status), "{line} with {word}: {answer:?}");
        }
        seen.insert(line);
    }
    assert_eq!(seen.len(), ROUTES.len() - 1, "the table has routes that are not there");
    stage.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s6_every_command_is_done_for_its_scope_and_for_no_lesser_one() {
    let stage = Stage::new().await;
    let mut commands: BTreeMap<&str, Value> = BTreeMap::new();
    for example in examples("command") {
        let command: Command = serde_json::from_str(&example).unwrap();
        commands.insert(command.tag(), serde_json::from_str(&example).unwrap());
    }
    assert!(commands.len() >= 20, "{commands:?}");
    // Nobody's history.
    commands.insert("import", json!({ "type": "import", "cli_session_ids": ["none"] }));
    let browsers = [
        stage.device("view", None).await,
        stage.device("answer", None).await,
        stage.device("admin", None).await,
    ];
    for (tag, command) in commands {
        let needed = if GOING_ON.contains(&tag) { Scope::Answer } else { Scope::Admin };
        let session_id = (!["create_session", "import"].contains(&tag)).then(new_id);
        for ((word, scope), browser) in SCOPES.into_iter().zip(&browsers) {
            let given = json!({ "id": new_id(), "session_id": session_id, "command": command });
            // Over REST and over the WebSocket.
            let answer = stage.ask_as(browser, "POST /api/commands", &given.to_string()).await;
            let rest = answer.status != 200 && answer.code() == "forbidden";
            assert_eq!(rest, scope < needed, "{tag} with {word}: {answer:?}");

            let origin = stage.own_origin();
            let headers = [("cookie", browser.cookie.as_str()), ("origin", origin.as_str())];
            let mut socket = stage.connect(&headers).await.unwrap();
            socket.greet("page", Some(browser.key.clone())).await;
            let id = new_id();
            let mut frame = json!({ "type": "command", "id": id, "command": command });
            if let Some(session_id) = &session_id {
                frame["session_id"] = session_id.clone().into();
            }
            socket.send_text(frame.to_string()).await;
            let answer = serde_json::to_value(socket.next().await.unwrap()).unwrap();
            assert_eq!(answer["id"], id, "{answer}");
            assert_eq!(
                answer["rejection"]["code"] == "forbidden",
                scope < needed,
                "{tag} with {word}: {answer}"
            );
        }
    }
    stage.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s27_who_may_look_is_told_no_secret() {
    let stage = Stage::new().await;
    let browser = stage.device("view", None).await;
    let _ticket = stage.ticket();
    for line in ["GET /api/settings", "GET /api/desk", "GET /api/decisions", "GET /api/sessions"] {
        let answer = stage.ask_as(&browser, line, "").await;
        assert_eq!(answer.status, 200, "{line}");
        for secret in [&stage.token, &browser.key, &browser.cookie.split_once('=').unwrap().1.to_owned()] {
            assert!(!answer.body.contains(secret.as_str()), "{line}: {answer:?}");
        }
    }
    stage.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s26_bypass_cannot_be_switched_on_from_the_network() {
    let stage = Stage::new().await;
    let bearer = format!("Bearer {}", stage.token);
    let headers = [("authorization", bearer.as_str()), ("content-type", "application/json")];
    let give = async |session_id: Option<&str>, command: Value| {
        let given = json!({ "id": new_id(), "session_id": session_id, "command": command });
        stage.ask("POST /api/commands", &headers, &given.to_string()).await
    };
    let mode = "bypassPermissions";
    let create = json!({
        "type": "create_session", "cwd": stage.folder.path(), "origin": "new", "agent": "demo",
        "permission_mode": mode,
    });
    let answer = give(None, create).await;
    assert_eq!((answer.status, answer.code().as_str()), (403, "forbidden"), "{answer:?}");

    let mut socket = stage.client("owner").await;
    let id = socket.create(&stage).await;
    let set = json!({ "type": "set_mode", "permission_mode": mode });
    let answer = give(Some(id.as_str()), set.clone()).await;
    assert_eq!((answer.status, answer.code().as_str()), (403, "forbidden"), "{answer:?}");

    // Nor while a run is there, nor as something to remember with an answer.
    let mut follower = socket.follow(&id, None).await;
    follower.give(&id, crate::stage::prompt("edit")).await.unwrap();
    let pending_id = follower.asked().await;
    let answer = give(Some(id.as_str()), set).await;
    assert_eq!((answer.status, answer.code().as_str()), (403, "forbidden"), "{answer:?}");
    for destination in ["session", "user_settings", "project_settings", "local_settings"] {
        let remember = json!([{ "type": "set_mode", "mode": mode, "destination": destination }]);
        let verdict = json!({ "type": "allow", "remember": remember });
        let answer = give(
            Some(id.as_str()),
            json!({ "type": "answer", "pending_id": pending_id, "verdict": verdict }),
        )
        .await;
        assert_eq!((answer.status, answer.code().as_str()), (403, "forbidden"), "{destination}: {answer:?}");
    }
    let settings = stage.ask("GET /api/settings", &headers, "").await.json();
    assert_eq!(settings["bypass_allowed"], false, "{settings}");
    stage.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s6_an_answer_remembers_more_than_is_offered_only_for_who_may_do_everything() {
    let stage = Stage::new().await;
    let mut owner = stage.client("owner").await;
    let id = owner.create(&stage).await;
    let mut follower = owner.follow(&id, None).await;
    follower.give(&id, crate::stage::prompt("edit")).await.unwrap();
    let event = follower.until(|body| matches!(body, jackfield_api::Body::PermissionRequest(_))).await;
    let jackfield_api::Body::PermissionRequest(request) = event.body else { panic!() };
    let offered = serde_json::to_value(&request.suggestions).unwrap();
    assert!(offered.as_array().is_some_and(|offered| !offered.is_empty()), "{request:?}");
    let give = async |word: &str, remember: Value| {
        let browser = stage.device(word, None).await;
        let verdict = json!({ "type": "allow", "remember": remember });
        let command = json!({ "type": "answer", "pending_id": request.pending_id, "verdict": verdict });
        let given = json!({ "id": new_id(), "session_id": id, "command": command });
        stage.ask_as(&browser, "POST /api/commands", &given.to_string()).await
    };
    let rules = json!([{ "tool_name": "Bash", "rule_content": null }]);
    for destination in ["session", "cli_arg", "user_settings", "project_settings", "local_settings"] {
        for (word, beyond) in [
            ("view", offered.clone()),
            (
                "answer",
                json!([{ "type": "add_rules", "rules": rules, "behavior": "allow", "destination": destination }]),
            ),
            ("answer", json!([{ "type": "set_mode", "mode": "dontAsk", "destination": destination }])),
            (
                "answer",
                json!([{ "type": "add_directories", "directories": ["/"], "destination": destination }]),
            ),
            // One that is offered makes no other good.
            (
                "answer",
                json!([offered[0], { "type": "remove_rules", "rules": rules, "behavior": "deny", "destination": destination }]),
            ),
        ] {
            let answer = give(word, beyond.clone()).await;
            assert_eq!(
                (answer.status, answer.code().as_str()),
                (403, "forbidden"),
                "{word} {beyond}: {answer:?}"
            );
        }
    }
    let mut elsewhere = offered.clone();
    elsewhere[0]["destination"] = "user_settings".into();
    assert_eq!(give("answer", elsewhere.clone()).await.status, 403, "offered for less");
    // What is offered is done for who may answer; anything for who may do everything.
    let answer = give("answer", json!([offered[0]])).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    follower.completed().await;
    follower.give(&id, crate::stage::prompt("bash")).await.unwrap();
    let pending_id = follower.asked().await;
    let browser = stage.device("admin", None).await;
    let remember =
        json!([{ "type": "add_rules", "rules": rules, "behavior": "allow", "destination": "session" }]);
    let verdict = json!({ "type": "allow", "remember": remember });
    let command = json!({ "type": "answer", "pending_id": pending_id, "verdict": verdict });
    let given = json!({ "id": new_id(), "session_id": id, "command": command });
    let answer = stage.ask_as(&browser, "POST /api/commands", &given.to_string()).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    stage.end().await;
}
