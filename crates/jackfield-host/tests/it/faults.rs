//! The host and a CLI in trouble: odd prompts, doubled lines, two owners, and all that can be wrong with the CLI or
//! the API behind it.

use std::collections::{BTreeMap, BTreeSet};

use jackfield_api::command::{Close, Content, CreateSession, Prompt, RejectionCode};
use jackfield_api::session::SessionOrigin;
use jackfield_api::snapshot::ItemContent;
use jackfield_api::{Body, SessionId};
use jackfield_host::{Host, Settings};
use jackfield_testkit::api::{HttpError, Purpose, Reply};
use jackfield_testkit::cli::NEWER_VERSION;
use jackfield_testkit::fake::FakeStep;
use serde_json::json;

use crate::faults_fake::{Faked, assistant, stay, turn};
use crate::stage::{Follower, Stage, created, give, prompt, with_both_clis};

with_both_clis![
    f22_no_prompt_however_odd_ends_the_cli,
    f25_a_conversation_that_is_resumed_is_not_told_again,
    f27_a_conversation_that_another_host_drives_is_refused,
    f31_every_trouble_of_the_api_is_told_in_its_own_words,
];

fn said(texts: &Follower) -> Vec<String> {
    let text = |item: jackfield_api::snapshot::Item| match item.content {
        ItemContent::Text(text) => Some(text.text),
        _ => None,
    };
    texts.transcript().items.into_iter().filter_map(text).collect()
}

// ---- F22 ----

async fn f22_no_prompt_however_odd_ends_the_cli(version: &str) {
    let stage = Stage::new(version, vec![Reply { repeat: Some(20), ..Reply::text("fine") }]).await;
    let id = stage.session().await;
    let mut follower = stage.follow(&id).await;
    let odd = [
        "a \0 in the middle".to_owned(),
        "\u{1b}[31mred\u{7} and \u{8} back".to_owned(),
        "line\nbreaks\r\nof \u{2028} every \u{85} kind".to_owned(),
        r#"{"type":"user","message":{}}"#.to_owned(),
        "right\u{202e}to left, \u{fffd}, \u{10ffff}, \u{feff}".to_owned(),
        "\\u0000 \\ud83d \\".to_owned(),
        // The CLI makes a turn of it [basic/empty_user].
        String::new(),
        "x".repeat(5 * 1024 * 1024),
    ];
    for text in &odd {
        give(&stage.host, Some(&id), prompt(text)).await.unwrap();
        follower.completed().await;
    }
    let picture = |data: &str| Prompt {
        content: vec![Content::Image { media_type: "image/png".to_owned(), base64: data.to_owned() }],
        ..prompt("")
    };
    let empty = Prompt { content: Vec::new(), ..prompt("") };
    for bad in [picture("no base64!"), picture("aGVsbG8="), picture(""), empty] {
        let refused = give(&stage.host, Some(&id), bad.clone()).await;
        assert_eq!(refused.map_err(|told| told.code), Err(RejectionCode::Invalid), "{bad:?}");
    }
    give(&stage.host, Some(&id), prompt("the last")).await.unwrap();
    follower.completed().await;
    let runs = follower.events.iter().filter(|event| matches!(event.body, Body::RunStarted(_))).count();
    assert_eq!(runs, 1, "it is still the same CLI");
    let asked = follower.events.iter().filter_map(|event| match &event.body {
        Body::UserMessage(message) => Some(message.text.as_str()),
        _ => None,
    });
    assert_eq!(asked.collect::<Vec<_>>()[..odd.len()], odd.iter().map(String::as_str).collect::<Vec<_>>());
    stage.host.close().await;
}

// ---- F25 ----

async fn f25_a_conversation_that_is_resumed_is_not_told_again(version: &str) {
    let turns = ["one", "two", "three"].map(Reply::text).to_vec();
    let stage = Stage::new(version, turns).await;
    let id = stage.session().await;
    let mut follower = stage.follow(&id).await;
    for text in ["first", "second", "third"] {
        give(&stage.host, Some(&id), prompt(text)).await.unwrap();
        follower.completed().await;
        give(&stage.host, Some(&id), Close {}).await.unwrap();
        follower.until(|body| matches!(body, Body::RunEnded(_))).await;
    }
    assert_eq!(said(&follower), ["one", "two", "three"]);
    let uuids: Vec<_> = follower
        .events
        .iter()
        .filter_map(|event| match &event.body {
            Body::UserMessage(message) => message.uuid.clone(),
            _ => None,
        })
        .collect();
    assert_eq!((uuids.len(), uuids.iter().collect::<BTreeSet<_>>().len()), (3, 3));
    stage.host.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn f25_a_prompt_that_is_repeated_late_and_twice_is_told_once() {
    let user = |uuid: &str| {
        FakeStep::Send(json!({
            "type": "user", "message": {"role": "user", "content": [{"type": "text", "text": "go"}]},
            "parent_tool_use_id": null, "session_id": "s", "uuid": uuid, "isReplay": true,
        }))
    };
    let middle = [FakeStep::Send(assistant("msg_0", "u-0", "first")), user("$uuid"), user("$uuid")];
    let faked = Faked::new(turn(middle).into_iter().chain([stay()])).await;
    let (id, mut follower) = faked.session().await;
    give(&faked.host, Some(&id), prompt("go")).await.unwrap();
    follower.completed().await;
    let prompts = follower.events.iter().filter(|event| matches!(event.body, Body::UserMessage(_))).count();
    assert_eq!(prompts, 1);
    assert_eq!(said(&follower), ["first", "all is said"]);
    faked.host.close().await;
}

// ---- F27 ----

async fn f27_a_conversation_that_another_host_drives_is_refused(version: &str) {
    let stage = Stage::new(version, vec![Reply::text("one"), Reply::text("two"), Reply::text("three")]).await;
    let id = stage.session().await;
    let mut follower = stage.follow(&id).await;
    give(&stage.host, Some(&id), prompt("first")).await.unwrap();
    follower.completed().await;
    let cli_session_id = stage.host.session(&id).await.unwrap().unwrap().cli_session_id;

    let settings =
        Settings { data: stage.sandbox.places().temporary.join("elsewhere"), ..stage.settings.clone() };
    let second = Host::open(settings).await.unwrap();
    let create = CreateSession { origin: SessionOrigin::Resumed, cli_session_id, ..stage.create() };
    let other = created(give(&second, None, create).await.unwrap());
    let mut there = Follower::new(second.subscribe(&other, None).await.unwrap());
    let refused = give(&second, Some(&other), prompt("me too")).await.unwrap_err();
    assert!(refused.reason.contains(&std::process::id().to_string()), "{refused:?}");
    assert_eq!(error(&mut there).await.0, "owned_elsewhere");
    // Nothing of it reached the conversation, and the first goes on.
    give(&stage.host, Some(&id), prompt("second")).await.unwrap();
    follower.completed().await;
    give(&stage.host, Some(&id), Close {}).await.unwrap();
    follower.until(|body| matches!(body, Body::RunEnded(_))).await;
    // When it is free, the other may.
    give(&second, Some(&other), prompt("now me")).await.unwrap();
    there.completed().await;
    let last = stage.api.requests().into_iter().rfind(|request| request.purpose == Purpose::Conversation);
    let last = last.unwrap().body["messages"].to_string();
    assert!(last.contains("second") && last.contains("now me") && !last.contains("me too"), "{last}");
    second.close().await;
    stage.host.close().await;
}

/// The next failure: its code and its words.
async fn error(follower: &mut Follower) -> (String, String) {
    let event = follower.until(|body| matches!(body, Body::Error(_))).await;
    let Body::Error(error) = event.body else { unreachable!() };
    (error.code.clone(), error.error.clone())
}

// ---- F31 ----

/// What a session says of its trouble: the code, the words, and the same words in the list.
async fn trouble(host: &Host, id: &SessionId, follower: &mut Follower) -> (String, String) {
    let (code, words) = error(follower).await;
    let listed = host.session(id).await.unwrap().unwrap().last_error;
    assert_eq!(listed.as_deref(), Some(words.as_str()));
    assert!(!words.trim().is_empty());
    (code, words)
}

async fn f31_every_trouble_of_the_api_is_told_in_its_own_words(version: &str) {
    let http = |status: u16, kind: &str, message: &str| {
        let body = json!({"type": "error", "error": {"type": kind, "message": message}});
        Reply { http: Some(HttpError { status, body, headers: BTreeMap::new() }), ..Reply::default() }
    };
    let cases = [
        ("authentication_failed", "API key", http(401, "authentication_error", "invalid x-api-key")),
        ("rate_limit", "429", http(429, "rate_limit_error", "slow down")),
        ("server_error", "500", http(500, "api_error", "Internal server error")),
        ("overloaded", "529", http(529, "overloaded_error", "Overloaded")),
    ];
    let turns = cases.iter().map(|(.., reply)| reply.clone()).collect();
    let stage = Stage::with(version, turns, |settings: &mut Settings| {
        settings.variables.push(("CLAUDE_CODE_MAX_RETRIES".into(), Some("0".into())));
    })
    .await;
    let id = stage.session().await;
    let mut follower = stage.follow(&id).await;
    for (code, word, _) in &cases {
        give(&stage.host, Some(&id), prompt("go")).await.unwrap();
        let (told, words) = trouble(&stage.host, &id, &mut follower).await;
        assert!(told == *code && words.contains(word), "{told}: {words}");
    }
    // The API is not there at all.
    let Stage { host, api, sandbox, .. } = stage;
    drop(api);
    give(&host, Some(&id), prompt("go")).await.unwrap();
    let (told, words) = trouble(&host, &id, &mut follower).await;
    assert!(told == "api_unreachable" && words.contains("onnect"), "{told}: {words}");
    host.close().await;
    drop(sandbox);
}

#[tokio::test(flavor = "multi_thread")]
async fn f31_a_cli_that_cannot_be_used_is_told_with_what_to_do_about_it() {
    let mut codes = BTreeMap::new();
    for (code, version, mend) in
        [("cli_missing", None, "check the path"), ("cli_too_old", Some("2.1.49"), "claude update")]
    {
        let faked = Faked::of_version(version.unwrap_or(NEWER_VERSION), turn([])).await;
        faked.host.close().await;
        let mut settings = faked.settings.clone();
        if version.is_none() {
            settings.claude = Some(faked.sandbox.places().temporary.join("no-such-program"));
        }
        let host = Host::open(settings).await.unwrap();
        let create = CreateSession::new(faked.sandbox.places().workspace.to_string_lossy());
        // The session is made; what is wrong is told when it is needed.
        let id = created(give(&host, None, create).await.unwrap());
        let mut follower = Follower::new(host.subscribe(&id, Some(jackfield_api::Seq(0))).await.unwrap());
        let (told, words) = trouble(&host, &id, &mut follower).await;
        assert!(words.contains(mend), "{words}");
        assert_eq!(told, code);
        let refused = give(&host, Some(&id), prompt("go")).await.unwrap_err();
        assert_eq!(
            (refused.code, refused.reason.contains(mend)),
            (RejectionCode::NotNow, true),
            "{refused:?}"
        );
        let state = host.settings().await;
        assert!(
            state.agents.iter().any(|agent| agent.problem.as_ref().is_some_and(|told| told.contains(mend)))
        );
        codes.insert(told, words);
        host.close().await;
    }
    assert_eq!(codes.len(), 2);
}
