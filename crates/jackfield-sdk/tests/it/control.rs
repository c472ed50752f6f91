//! The control plane with the real CLIs: every request gets its answer or a typed refusal, in a turn and
//! between turns, and what it asks for really happens.

use std::collections::BTreeMap;
use std::time::Duration;

use jackfield_api::command::{Allow, RejectionCode, Verdict};
use jackfield_api::permission::{PermissionKind, PermissionRequest};
use jackfield_api::tool::TaskStatus;
use jackfield_api::{Body, Json};
use jackfield_sdk::{Callbacks, Pace, Refused, Session};
use jackfield_testkit::api::Reply;
use jackfield_testkit::cli::OLDER_VERSION;
use jackfield_wire::{McpServer, Object};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::place::{PATIENCE, Place, gated, say, start, until, with_both_clis};

with_both_clis!(
    every_question_is_answered_between_turns,
    every_request_that_names_nothing_is_refused,
    what_the_cli_would_take_and_should_not_is_refused_by_us,
    requests_are_answered_in_the_middle_of_a_turn,
    mode_and_model_are_those_that_were_set,
    files_are_taken_back_to_a_prompt,
    mcp_servers_come_and_go,
    a_form_of_an_mcp_server_is_filled_in_by_the_callback,
    a_task_in_the_background_is_stopped,
    a_wedged_cli_is_ended_and_its_session_resumed,
);

/// An answer as JSON.
fn value(answer: Result<Json, Refused>) -> Value {
    serde_json::from_str(answer.unwrap().get()).unwrap()
}

fn code<T: std::fmt::Debug>(answer: Result<T, Refused>) -> RejectionCode {
    answer.unwrap_err().code()
}

fn object(value: Value) -> Object {
    serde_json::from_value(value).unwrap()
}

fn allowing() -> Callbacks {
    Callbacks::new().on_permission(|_| async { Some(Verdict::Allow(Allow::default())) })
}

/// The answer of a request that only newer versions know.
fn newer(version: &str, answer: Result<Json, Refused>) -> Option<Value> {
    if version == OLDER_VERSION {
        assert_eq!(code(answer), RejectionCode::Unsupported);
        return None;
    }
    Some(value(answer))
}

async fn every_question_is_answered_between_turns(version: &str) {
    let title = Reply { aux: true, ..Reply::text(r#"{"title": "A good title"}"#) };
    let place = Place::new(version, vec![Reply::text("Because."), title, Reply::text("done")]).await;
    place.sandbox.write("file.txt", "hello\n").unwrap();
    let session = start(place.options(), Callbacks::new()).await;
    let asking = async {
        assert_eq!(value(session.binary_version().await)["version"], version);
        assert!(value(session.cost().await)["text"].as_str().unwrap().contains("Total cost"));
        assert_eq!(value(session.usage().await)["session"]["total_cost_usd"], 0);
        assert!(value(session.settings().await)["applied"]["model"].is_string());
        assert!(value(session.context_usage().await)["maxTokens"].as_u64().unwrap() > 100_000);
        assert_eq!(session.mcp_status().await.unwrap().servers, []);
        let read = value(session.read_file("file.txt", Some(2)).await);
        assert_eq!((&read["contents"], &read["truncated"]), (&json!("he"), &json!(true)));
        assert!(value(session.file_suggestions("fil").await)["suggestions"].is_array());
        session.seed_read_state("file.txt", 1).await.unwrap();
        assert!(value(session.reload_plugins().await)["commands"].is_array());
        assert!(value(session.reload_skills().await)["skills"].is_array());
        assert_eq!(value(session.side_question("why?").await)["response"], "Because.");
        assert!(value(session.generate_title("about titles").await).get("title").is_some());
        session.rename("Another title").await.unwrap();
        session.apply_settings(object(json!({"includeCoAuthoredBy": false}))).await.unwrap();
        session.set_thinking(Some(2000)).await.unwrap();
        session.set_thinking(None).await.unwrap();
        session.background(None).await.unwrap();
        let message = json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"});
        session.mcp_message("nobody", object(message)).await.unwrap();

        let models = newer(version, session.models().await);
        assert!(models.is_none_or(|models| models["models"].is_array()));
        let rules = newer(version, session.permission_rules().await);
        assert!(rules.is_none_or(|rules| rules["state"]["rules"].is_array()));
        let hooks = newer(version, session.hooks_listing().await);
        assert!(hooks.is_none_or(|hooks| hooks["hooks"].is_array()));
        let status = session.other("get_status", object(json!({}))).await.unwrap();
        assert!(newer(version, status).is_none_or(|status| status["sections"].is_array()));
    };
    timeout(PATIENCE, asking).await.expect("every question is answered");
    let ready = session.ready();
    assert!(!ready.answer.commands.is_empty() && !ready.answer.models.is_empty());
    assert_eq!(say(&session, "go").await.text, "done", "and it goes on");
    session.close().await;
}

async fn every_request_that_names_nothing_is_refused(version: &str) {
    let place = Place::new(version, vec![Reply::text("done")]).await;
    let session = start(place.options(), Callbacks::new()).await;
    let asking = async {
        for refused in [
            code(session.mcp_reconnect("nobody").await),
            code(session.mcp_enable("nobody").await),
            code(session.mcp_disable("nobody").await),
            code(session.mcp_call("mcp__nobody__nothing", object(json!({}))).await),
            code(session.rewind_files(&"nothing".into()).await),
            code(session.read_file("nothing", None).await),
            code(session.rename("").await),
        ] {
            assert_eq!(refused, RejectionCode::Refused);
        }
        let preview = session.preview_rewind(&"nothing".into()).await.unwrap();
        assert!(!preview.can_rewind && preview.error.is_some());
        let of_newer =
            if version == OLDER_VERSION { RejectionCode::Unsupported } else { RejectionCode::Refused };
        assert_eq!(code(session.task_output(&"nothing".into()).await), of_newer);
        assert_eq!(code(session.mcp_read_resource("nobody", "ui://nothing").await), of_newer);
        let unknown = session.other("sing_a_song", object(json!({}))).await.unwrap();
        assert_eq!(code(unknown), RejectionCode::Unsupported);
        // The CLI says yes to a task that is not there.
        session.stop_task("nothing".into()).await.unwrap();
    };
    timeout(PATIENCE, asking).await.expect("every request is answered");
    assert_eq!(say(&session, "go").await.text, "done");
    session.close().await;
}

async fn what_the_cli_would_take_and_should_not_is_refused_by_us(version: &str) {
    let place = Place::new(version, vec![]).await;
    let session = start(place.options(), Callbacks::new()).await;
    let mut raw = session.raw();
    assert_eq!(code(session.set_mode("nonsense").await), RejectionCode::Invalid);
    assert_eq!(code(session.set_mode("bypassPermissions").await), RejectionCode::Forbidden);
    assert_eq!(code(session.set_model(Some(" ")).await), RejectionCode::Invalid);
    assert_eq!(code(session.interrupt().await), RejectionCode::NotNow);
    // This one would silence it, and that one has a type.
    assert!(session.other("rewind_conversation", object(json!({}))).await.is_none());
    assert!(session.other("set_model", object(json!({"model": 5}))).await.is_none());
    session.close().await;
    drop(session);
    assert!(raw.recv().await.is_err(), "nothing was written");
}

async fn requests_are_answered_in_the_middle_of_a_turn(version: &str) {
    let text = "a long text that waits in its middle until everything was asked";
    let place = Place::new(version, vec![gated(text, "gate")]).await;
    let session = start(place.options(), Callbacks::new()).await;
    let mut events = session.events(Pace::Lossless);
    let turn = session.prompt("go").await.unwrap();
    until(&mut events, |body| matches!(body, Body::MessageChunk(_))).await;
    let asking = async {
        session.set_mode("acceptEdits").await.unwrap();
        session.set_model(Some("sonnet")).await.unwrap();
        session.set_thinking(Some(1000)).await.unwrap();
        assert!(value(session.context_usage().await)["totalTokens"].is_number());
        assert!(value(session.settings().await)["effective"].is_object());
        assert_eq!(session.mcp_status().await.unwrap().servers, []);
        assert_eq!(value(session.binary_version().await)["version"], version);
        session.rename("A title").await.unwrap();
        assert_eq!(code(session.mcp_reconnect("nobody").await), RejectionCode::Refused);
        assert_eq!(code(session.set_mode("nonsense").await), RejectionCode::Invalid);
    };
    timeout(PATIENCE, asking).await.expect("every request is answered");
    place.api.gates().release("gate");
    let result = timeout(PATIENCE, turn.result()).await.unwrap().unwrap();
    assert_eq!((result.text.as_str(), result.error), (text, None));
    session.close().await;
}

async fn mode_and_model_are_those_that_were_set(version: &str) {
    let write = Reply::tool_use("Write", json!({"file_path": "/ws/made.txt", "content": "made\n"}));
    let place = Place::new(version, vec![write, Reply::text("done")]).await;
    let session = start(place.options(), Callbacks::new()).await;
    let mut events = session.events(Pace::Lossless);
    session.set_mode("acceptEdits").await.unwrap();
    session.set_model(Some("haiku")).await.unwrap();
    let mode = until(&mut events, |body| matches!(body, Body::ModeChanged(_))).await;
    let Body::ModeChanged(mode) = &mode.body else { unreachable!() };
    assert_eq!(mode.permission_mode, "acceptEdits");
    let model = until(&mut events, |body| matches!(body, Body::ModelChanged(_))).await;
    let Body::ModelChanged(model) = &model.body else { unreachable!() };
    assert!(model.model.contains("haiku"), "{}", model.model);
    // Nobody is there to answer a question, so none was asked.
    assert_eq!(say(&session, "go").await.text, "done");
    assert_eq!(place.file("made.txt").unwrap(), "made\n");
    for request in place.requests() {
        assert!(request["model"].as_str().unwrap().contains("haiku"), "{}", request["model"]);
    }
    session.close().await;
}

async fn files_are_taken_back_to_a_prompt(version: &str) {
    let write = |name: &str, content: &str| {
        Reply::tool_use("Write", json!({"file_path": format!("/ws/{name}"), "content": content}))
    };
    let read = Reply::tool_use("Read", json!({"file_path": "/ws/old.txt"}));
    let turns = vec![
        Reply::text("hello"),
        read,
        write("old.txt", "new\n"),
        write("new.txt", "new\n"),
        Reply::text("done"),
    ];
    let place = Place::new(version, turns).await;
    place.sandbox.write("old.txt", "old\n").unwrap();
    let session = start(place.options(), allowing()).await;
    say(&session, "hello").await;
    let turn = session.prompt("go").await.unwrap();
    let prompt = turn.uuid().clone();
    timeout(PATIENCE, turn.result()).await.unwrap().unwrap();
    assert_eq!(place.file("old.txt").as_deref(), Some("new\n"));

    let preview = session.preview_rewind(&prompt).await.unwrap();
    assert!(preview.can_rewind, "{preview:?}");
    let mut names: Vec<&str> =
        preview.files_changed.iter().filter_map(|path| path.rsplit('/').next()).collect();
    names.sort_unstable();
    assert_eq!(names, ["new.txt", "old.txt"]);
    assert_eq!(place.file("old.txt").as_deref(), Some("new\n"), "a preview changes nothing");

    assert!(session.rewind_files(&prompt).await.unwrap().can_rewind);
    assert_eq!((place.file("old.txt").as_deref(), place.file("new.txt")), (Some("old\n"), None));
    session.close().await;
}

/// An MCP server of a few lines: one tool that says hello, and one that asks for a name first.
const SERVER: &str = r#"
while IFS= read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case $line in
  *'"method":"initialize"'*)
    printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"form","version":"1"}}}\n' "$id" ;;
  *'"method":"tools/list"'*)
    printf '{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"hello","description":"Says hello","inputSchema":{"type":"object"}},{"name":"fill","description":"Asks","inputSchema":{"type":"object"}}]}}\n' "$id" ;;
  *'"name":"hello"'*)
    printf '{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"hello there"}]}}\n' "$id" ;;
  *'"name":"fill"'*)
    call=$id
    printf '{"jsonrpc":"2.0","id":900,"method":"elicitation/create","params":{"message":"Who are you?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}}}\n' ;;
  *'"id":900'*)
    name=$(printf '%s' "$line" | sed -n 's/.*"name":"\([a-z]*\)".*/\1/p')
    printf '{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"it is %s"}]}}\n' "$call" "$name" ;;
  esac
done
"#;

fn server(place: &Place) -> BTreeMap<String, McpServer> {
    let script = place.sandbox.places().temporary.join("server.sh");
    std::fs::write(&script, SERVER).unwrap();
    let args = vec![script.to_str().unwrap().to_owned()];
    [("form".to_owned(), McpServer::Stdio { command: "sh".to_owned(), args, env: BTreeMap::new() })].into()
}

/// Waits until the one server is in this state.
async fn server_is(session: &Session, status: &str) {
    let is_so = async {
        loop {
            let servers = session.mcp_status().await.unwrap().servers;
            if servers.iter().any(|server| server.name == "form" && server.status == status) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(PATIENCE, is_so).await.unwrap_or_else(|_| panic!("the server is not {status}"));
}

async fn mcp_servers_come_and_go(version: &str) {
    let place = Place::new(version, vec![]).await;
    let session = start(place.options(), Callbacks::new()).await;
    let set = session.mcp_set_servers(server(&place)).await.unwrap();
    assert_eq!((set.added, set.removed), (vec!["form".to_owned()], vec![]));
    server_is(&session, "connected").await;
    let said = value(session.mcp_call("mcp__form__hello", object(json!({}))).await);
    assert!(said.to_string().contains("hello there"), "{said}");
    session.mcp_disable("form").await.unwrap();
    server_is(&session, "disabled").await;
    session.mcp_enable("form").await.unwrap();
    server_is(&session, "connected").await;
    session.mcp_reconnect("form").await.unwrap();
    server_is(&session, "connected").await;
    let set = session.mcp_set_servers(BTreeMap::new()).await.unwrap();
    assert_eq!(set.removed, ["form"]);
    assert_eq!(session.mcp_status().await.unwrap().servers, []);
    session.close().await;
}

async fn a_form_of_an_mcp_server_is_filled_in_by_the_callback(version: &str) {
    let place =
        Place::new(version, vec![Reply::tool_use("mcp__form__fill", json!({})), Reply::text("done")]).await;
    let decide = |request: PermissionRequest| async move {
        let input = (request.kind == PermissionKind::Elicitation).then(|| {
            assert_eq!(request.message.as_deref(), Some("Who are you?"));
            assert!(request.schema.unwrap().get().contains("required"));
            Json::of(&json!({"name": "ada"}))
        });
        Some(Verdict::Allow(Allow { input, ..Allow::default() }))
    };
    let session = start(place.options(), Callbacks::new().on_permission(decide)).await;
    session.mcp_set_servers(server(&place)).await.unwrap();
    server_is(&session, "connected").await;
    assert_eq!(say(&session, "go").await.text, "done");
    session.close().await;
    let told = place.said().last().unwrap().to_string();
    assert!(told.contains("it is ada"), "{told}");
}

async fn a_task_in_the_background_is_stopped(version: &str) {
    let input =
        json!({"command": "echo begun; sleep 300", "description": "waits", "run_in_background": true});
    let turns = vec![Reply::tool_use("Bash", input), Reply::text("done"), Reply::text("seen")];
    let place = Place::new(version, turns).await;
    let session = start(place.options(), allowing()).await;
    let mut events = session.events(Pace::Lossless);
    assert_eq!(say(&session, "go").await.text, "done");
    let task = until(&mut events, |body| matches!(body, Body::Task(_))).await;
    let Body::Task(task) = &task.body else { unreachable!() };
    assert_eq!(task.status, TaskStatus::Running);
    if version != OLDER_VERSION {
        assert!(value(session.task_output(&task.task_id).await)["output"].is_string());
    }
    session.stop_task(task.task_id.clone()).await.unwrap();
    let over =
        until(&mut events, |body| matches!(body, Body::Task(task) if task.status != TaskStatus::Running));
    let over = over.await;
    let Body::Task(over) = &over.body else { unreachable!() };
    assert_eq!((&over.task_id, over.status), (&task.task_id, TaskStatus::Stopped));
    session.close().await;
}

async fn a_wedged_cli_is_ended_and_its_session_resumed(version: &str) {
    use jackfield_api::session::RunEndReason;
    let place = Place::new(version, vec![Reply::text("One."), Reply::text("Two.")]).await;
    let id = "22222222-2222-4222-8222-222222222222";
    let session = start(place.options().session_id(id), Callbacks::new()).await;
    let mut events = session.events(Pace::Lossless);
    say(&session, "first words").await;
    place.on_disk(id, "One.").await;
    // A CLI that stands still hears nothing, not even that it should end.
    let pid = session.ready().answer.pid.unwrap();
    jackfield_testkit::processes::signal(pid, rustix::process::Signal::STOP);
    let mut raw = session.raw();
    let setting = tokio::spawn(async move { session.set_mode("plan").await });
    timeout(PATIENCE, raw.recv()).await.unwrap().unwrap();
    super::endings::pass(Duration::from_secs(31)).await;
    assert_eq!(code(timeout(PATIENCE, setting).await.unwrap().unwrap()), RejectionCode::TimedOut);
    let end = until(&mut events, |body| matches!(body, Body::RunEnded(_))).await;
    let Body::RunEnded(end) = &end.body else { unreachable!() };
    assert_eq!(end.reason, RunEndReason::Wedged);
    assert!(timeout(PATIENCE, events.next()).await.unwrap().is_none());

    let session = start(place.options().resume(id), Callbacks::new()).await;
    assert_eq!(say(&session, "second words").await.text, "Two.");
    let asked = place.requests().last().unwrap()["messages"].to_string();
    assert!(asked.contains("first words") && asked.contains("One."), "{asked}");
    session.close().await;
}
