//! Sessions of a host, with the real CLI behind it.

use std::time::Duration;

use jackfield_api::command::{
    Allow, Answer, Archive, Close, Command, Deny, Fork, Import, RejectionCode, Rename, Retry, Rewind,
    RewindScope, SetBudget, SetMode, Verdict,
};
use jackfield_api::host::{HostRule, HostRules};
use jackfield_api::lines::LineDirection;
use jackfield_api::permission::{Behavior, PermissionOutcome};
use jackfield_api::snapshot::{ItemContent, SessionState};
use jackfield_api::socket::{GivenCommand, ServerFrame};
use jackfield_api::{Body, LineNumber, Seq};
use jackfield_host::ExportFormat;
use jackfield_host::observe::DebugOf;
use jackfield_host::store::{CostBy, SessionQuery};
use jackfield_testkit::api::{HttpError, Purpose, Reply};
use serde_json::json;

use crate::stage::{Follower, Stage, client, created, give, give_as, prompt, with_both_clis};

with_both_clis![
    a_session_outlives_its_runs_and_its_host,
    two_clients_race_for_an_answer_and_one_wins,
    who_comes_back_gets_exactly_what_it_missed,
    a_failed_turn_is_retried_from_the_last_good_message,
    a_copy_knows_what_was_said_before_and_nothing_after,
    conversations_of_the_cli_are_taken_in_and_go_on,
    a_prompt_that_meets_a_run_that_ends_begins_the_next_one,
    f3_a_cli_is_told_nothing_before_the_disk_knows_of_its_run,
    a_session_that_does_nothing_makes_room_for_another_and_goes_on_later,
];

fn said(body: &serde_json::Value) -> String {
    body["messages"].to_string()
}

async fn a_session_outlives_its_runs_and_its_host(version: &str) {
    let mut stage =
        Stage::new(version, vec![Reply::text("one"), Reply::text("two"), Reply::text("three")]).await;
    let id = stage.session().await;
    let mut follower = stage.follow(&id).await;
    give(&stage.host, Some(&id), prompt("first")).await.unwrap();
    follower.completed().await;
    give(&stage.host, Some(&id), Close {}).await.unwrap();
    follower.until(|body| matches!(body, Body::RunEnded(_))).await;

    give(&stage.host, Some(&id), prompt("second")).await.unwrap();
    follower.completed().await;
    let before = stage.host.session(&id).await.unwrap().unwrap();

    stage.restart().await;
    let stored = stage.host.session(&id).await.unwrap().unwrap();
    assert_eq!((&stored.title, stored.state), (&"first".to_owned(), SessionState::Ended));
    assert_eq!(stored.cli_session_id, before.cli_session_id);
    let mut follower = stage.follow(&id).await;
    give(&stage.host, Some(&id), prompt("third")).await.unwrap();
    let third = follower.completed().await;

    let texts: Vec<String> = follower
        .transcript()
        .items
        .iter()
        .filter_map(|item| match &item.content {
            ItemContent::Text(text) => Some(text.text.clone()),
            _ => None,
        })
        .collect();
    assert_eq!(texts, ["one", "two", "three"]);
    let last = stage.api.requests().into_iter().rfind(|request| request.purpose == Purpose::Conversation);
    let last = said(&last.unwrap().body);
    assert!(["first", "one", "second", "two", "third"].iter().all(|word| last.contains(word)), "{last}");
    // The turns were counted, and each has its price, whatever the CLI restored from the run before.
    let costs = stage.host.costs(CostBy::Session, None).await.unwrap();
    assert_eq!(costs.total.turns, 3);
    let Body::Complete(third) = third.body else { unreachable!() };
    let (total, third) = (costs.total.cost_usd, third.data.cost_usd);
    assert!(0.0 < third && (total - 3.0 * third).abs() < 1e-9, "{total} for three turns, {third} for one");
    stage.host.close().await;
}

async fn a_prompt_that_meets_a_run_that_ends_begins_the_next_one(version: &str) {
    let stage = Stage::new(version, vec![Reply::text("one"), Reply::text("two"), Reply::text("three")]).await;
    let id = stage.session().await;
    let mut follower = stage.follow(&id).await;
    give(&stage.host, Some(&id), prompt("first")).await.unwrap();
    follower.completed().await;
    // Each is begun before the one before it is done.
    let (closed, second, third) = tokio::join!(
        give(&stage.host, Some(&id), Close {}),
        give(&stage.host, Some(&id), prompt("second")),
        give(&stage.host, Some(&id), prompt("third")),
    );
    closed.unwrap();
    second.unwrap();
    third.unwrap();
    follower.until(|body| matches!(body, Body::RunEnded(_))).await;
    follower.until(|body| matches!(body, Body::RunStarted(_))).await;
    follower.completed().await;
    let said_at_last = || {
        let mut requests = stage.api.requests().into_iter();
        requests.rfind(|request| request.purpose == Purpose::Conversation).map(|request| said(&request.body))
    };
    while !said_at_last().is_some_and(|last| last.contains("second") && last.contains("third")) {
        follower.completed().await;
    }
    stage.host.close().await;
}

/// What a run did of which the disk knows nothing could not be found after a crash.
async fn f3_a_cli_is_told_nothing_before_the_disk_knows_of_its_run(version: &str) {
    let stage = Stage::new(version, vec![Reply::text("hello back")]).await;
    let id = stage.session().await;
    let mut follower = stage.follow(&id).await;
    let lines = async || stage.host.lines(&id, LineNumber(0)).await.unwrap().lines;
    // Nothing can be stored while somebody else writes. The store waits for that, but not for ever.
    let other =
        rusqlite::Connection::open(stage.sandbox.places().temporary.join("data/jackfield.db")).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let held = async {
        for _ in 0..30 {
            if lines().await.iter().any(|line| line.direction == LineDirection::FromCli) {
                // It is ready. Now it would be told, if it were told too early.
                tokio::time::sleep(Duration::from_millis(200)).await;
                break;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        assert!(!lines().await.iter().any(|line| line.text.contains("hello there")));
        other.execute_batch("ROLLBACK").unwrap();
    };
    let (given, ()) = tokio::join!(give(&stage.host, Some(&id), prompt("hello there")), held);
    given.unwrap();
    follower.completed().await;
    assert!(lines().await.iter().any(|line| line.text.contains("hello there")));
    stage.host.close().await;
}

async fn a_session_that_does_nothing_makes_room_for_another_and_goes_on_later(version: &str) {
    let asks = Reply::tool_use("Bash", json!({ "command": "touch x", "description": "Make a file" }));
    let replies = vec![Reply::text("one"), asks, Reply::text("three")];
    let stage = Stage::with(version, replies, |settings| settings.max_running = 1).await;
    // Only one of them can be ready before it is asked anything.
    let (first, second) = (stage.session().await, stage.session().await);
    let mut follower = stage.follow(&first).await;
    give(&stage.host, Some(&first), prompt("one")).await.unwrap();
    follower.completed().await;
    // It does nothing, and makes room.
    let mut other = stage.follow(&second).await;
    give(&stage.host, Some(&second), prompt("two")).await.unwrap();
    follower.until(|body| matches!(body, Body::RunEnded(_))).await;
    let asked = other.until(|body| matches!(body, Body::PermissionRequest(_))).await;
    // That one waits for an answer, and does not.
    let refused = give(&stage.host, Some(&first), prompt("three")).await.unwrap_err();
    assert_eq!(refused.code, RejectionCode::NotNow);
    assert!(refused.reason.contains("1 sessions are at work"), "{}", refused.reason);
    let Body::PermissionRequest(request) = asked.body else { unreachable!() };
    let verdict = Verdict::Deny(Deny { message: "no".to_owned(), interrupt: true });
    give(&stage.host, Some(&second), Answer { pending_id: request.pending_id, verdict }).await.unwrap();
    other.completed().await;
    give(&stage.host, Some(&first), prompt("three")).await.unwrap();
    follower.completed().await;
    other.until(|body| matches!(body, Body::RunEnded(_))).await;
    stage.host.close().await;
}

async fn two_clients_race_for_an_answer_and_one_wins(version: &str) {
    let write = Reply::tool_use("Write", json!({"file_path": "/ws/a.txt", "content": "hello"}));
    let stage = Stage::new(version, vec![write, Reply::text("done")]).await;
    let id = stage.session().await;
    let (mut one, mut two) = (stage.follow(&id).await, stage.follow(&id).await);
    give(&stage.host, Some(&id), prompt("write a file")).await.unwrap();
    let asked = one.until(|body| matches!(body, Body::PermissionRequest(_))).await;
    two.until(|body| matches!(body, Body::PermissionRequest(_))).await;
    let Body::PermissionRequest(request) = asked.body else { unreachable!() };
    let desk = stage.host.desk();
    assert_eq!(desk.len(), 1);
    assert_eq!(desk[0].request, *request);

    let answer = |verdict| Answer { pending_id: request.pending_id, verdict };
    let (phone, laptop) = (client("phone"), client("laptop"));
    let (first, second) = tokio::join!(
        give_as(&stage.host, &phone, Some(&id), answer(Verdict::Allow(Allow::default()))),
        give_as(&stage.host, &laptop, Some(&id), answer(Verdict::Allow(Allow::default()))),
    );
    assert_eq!([first.is_ok(), second.is_ok()].iter().filter(|won| **won).count(), 1, "{first:?} {second:?}");
    let (winner, lost) = if first.is_ok() { ("phone", second) } else { ("laptop", first) };
    let lost = lost.unwrap_err();
    assert_eq!(lost.code, RejectionCode::TooLate);
    assert!(lost.reason.contains(winner), "{lost:?}");
    for follower in [&mut one, &mut two] {
        let resolved = follower.until(|body| matches!(body, Body::PermissionResolved(_))).await;
        let Body::PermissionResolved(resolved) = resolved.body else { unreachable!() };
        assert_eq!((resolved.outcome, resolved.by.as_deref()), (PermissionOutcome::Allowed, Some(winner)));
        follower.completed().await;
    }
    assert_eq!(one.transcript(), two.transcript());
    assert_eq!(stage.file("a.txt").as_deref(), Some("hello"));
    assert!(stage.host.desk().is_empty());
    let decisions = stage.host.decisions(Some(&id), None, 10).await.unwrap();
    assert_eq!(decisions.len(), 1);
    assert_eq!(
        (decisions[0].by.as_deref(), decisions[0].outcome),
        (Some(winner), Some(PermissionOutcome::Allowed))
    );
    stage.host.close().await;
}

async fn who_comes_back_gets_exactly_what_it_missed(version: &str) {
    let stage = Stage::new(version, vec![Reply::text("some words"), Reply::text("more words")]).await;
    let id = stage.session().await;
    let mut whole = stage.follow(&id).await;
    for text in ["first", "second"] {
        give(&stage.host, Some(&id), prompt(text)).await.unwrap();
        whole.completed().await;
    }
    let last = whole.last();
    for after in 0..=last.0 {
        let mut back = Follower::new(stage.host.subscribe(&id, Some(Seq(after))).await.unwrap());
        loop {
            match back.frame().await.unwrap() {
                ServerFrame::Current(current) if current.seq >= last => break,
                ServerFrame::Snapshot(_) | ServerFrame::Gap(_) => panic!("it has nearly all of it"),
                _ => {}
            }
        }
        let missed: Vec<_> =
            whole.events.iter().filter(|event| event.seq.0 > after && event.seq <= last).collect();
        let got: Vec<_> = back.events.iter().filter(|event| event.seq <= last).collect();
        assert_eq!(got, missed, "behind {after}");
    }
    // A picture taken late and the rest of the events give the same as all events.
    let mut late = stage.follow(&id).await;
    late.frame().await;
    late.reach(last).await;
    assert_eq!(late.transcript().items, whole.transcript().items);
    stage.host.close().await;
}

async fn a_failed_turn_is_retried_from_the_last_good_message(version: &str) {
    let error = json!({"type": "error", "error": {"type": "permission_error", "message": "no such thing"}});
    let http = HttpError { status: 403, body: error, headers: std::collections::BTreeMap::new() };
    let refused = Reply { http: Some(http), ..Reply::default() };
    let stage = Stage::new(version, vec![Reply::text("good"), refused, Reply::text("better")]).await;
    let id = stage.session().await;
    let mut follower = stage.follow(&id).await;
    give(&stage.host, Some(&id), prompt("the first")).await.unwrap();
    follower.completed().await;
    let none = give(&stage.host, Some(&id), Retry { turn: None }).await;
    assert_eq!(none.unwrap_err().code, RejectionCode::NotNow);

    give(&stage.host, Some(&id), prompt("the second")).await.unwrap();
    follower.until(|body| matches!(body, Body::Error(_))).await;
    give(&stage.host, Some(&id), Retry { turn: None }).await.unwrap();
    follower.completed().await;
    let last = stage.api.requests().into_iter().rfind(|request| request.purpose == Purpose::Conversation);
    let last = said(&last.unwrap().body);
    assert!(last.contains("the first") && last.contains("good"), "{last}");
    assert_eq!(last.matches("the second").count(), 1, "{last}");
    stage.host.close().await;
}

async fn a_copy_knows_what_was_said_before_and_nothing_after(version: &str) {
    let turns = ["alpha", "beta", "gamma", "delta"].map(Reply::text).to_vec();
    let stage = Stage::new(version, turns).await;
    let id = stage.session().await;
    let mut follower = stage.follow(&id).await;
    let second = prompt("two");
    give(&stage.host, Some(&id), prompt("one")).await.unwrap();
    let end = follower.completed().await;
    give(&stage.host, Some(&id), second.clone()).await.unwrap();
    follower.completed().await;

    let Body::Complete(complete) = end.body else { unreachable!() };
    let fork = created(
        give(&stage.host, Some(&id), Fork { at: complete.data.last_message_uuid.clone() }).await.unwrap(),
    );
    let back = Rewind { uuid: second.uuid, scope: RewindScope::Conversation, preview: false };
    let rewound = created(give(&stage.host, Some(&id), back).await.unwrap());
    for copy in [fork, rewound] {
        let mut follower = stage.follow(&copy).await;
        give(&stage.host, Some(&copy), prompt("three")).await.unwrap();
        follower.completed().await;
        let words = format!("{:?}", follower.transcript().items);
        assert!(words.contains("alpha") && !words.contains("beta"), "{words}");
        let last = stage.api.requests().into_iter().rfind(|request| request.purpose == Purpose::Conversation);
        let last = said(&last.unwrap().body);
        assert!(last.contains("alpha") && last.contains("three") && !last.contains("beta"), "{last}");
        let summary = stage.host.session(&copy).await.unwrap().unwrap();
        assert_eq!(summary.forked_from.as_ref(), Some(&id));
    }
    // Nothing was taken away from the original.
    let words = format!("{:?}", follower.transcript().items);
    assert!(words.contains("beta"));
    stage.host.close().await;
}

async fn conversations_of_the_cli_are_taken_in_and_go_on(version: &str) {
    let stage = Stage::new(version, vec![Reply::text("from before"), Reply::text("and after")]).await;
    // Somebody else's conversation: another host, another data folder, the same CLI.
    let mut other = stage.settings.clone();
    other.data = stage.sandbox.places().temporary.join("other");
    let other = jackfield_host::Host::open(other).await.unwrap();
    let theirs = created(give(&other, None, stage.create()).await.unwrap());
    let mut follower = Follower::new(other.subscribe(&theirs, None).await.unwrap());
    give(&other, Some(&theirs), prompt("long ago")).await.unwrap();
    follower.completed().await;
    other.close().await;

    let history = stage.host.history().await.unwrap().entries;
    assert_eq!(history.len(), 1);
    assert_eq!((history[0].title.as_str(), &history[0].session_id), ("long ago", &None));
    give(&stage.host, None, Import { cli_session_ids: Vec::new() }).await.unwrap();
    let history = stage.host.history().await.unwrap().entries;
    let id = history[0].session_id.clone().expect("it is one of ours now");

    let mut follower = stage.follow(&id).await;
    give(&stage.host, Some(&id), prompt("go on")).await.unwrap();
    follower.completed().await;
    let words = format!("{:?}", follower.transcript().items);
    assert!(words.contains("from before") && words.contains("and after"), "{words}");
    let hits = stage.host.search("from before", 10).await.unwrap().hits;
    assert_eq!(hits.first().map(|hit| &hit.session_id), Some(&id));
    // Taking it in again changes nothing.
    give(&stage.host, None, Import { cli_session_ids: Vec::new() }).await.unwrap();
    assert_eq!(stage.host.sessions(SessionQuery::default()).await.unwrap().sessions.len(), 1);
    stage.host.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_comes_twice_is_done_once() {
    let mut stage = Stage::new(jackfield_testkit::cli::NEWER_VERSION, vec![Reply::text("once")]).await;
    let id = stage.session().await;
    let mut follower = stage.follow(&id).await;
    let given = GivenCommand {
        id: "the same".to_owned(),
        session_id: Some(id.clone()),
        command: Command::from(prompt("hello")),
        traceparent: None,
        tracestate: None,
    };
    let tester = client("tester");
    let (first, second) =
        tokio::join!(stage.host.command(&tester, given.clone()), stage.host.command(&tester, given.clone()));
    assert_eq!(first, second);
    assert!(first.is_ok());
    follower.completed().await;
    assert_eq!(stage.host.command(&tester, given.clone()).await, first);
    stage.restart().await;
    assert_eq!(stage.host.command(&tester, given).await, first);
    let prompts = stage.api.requests().into_iter().filter(|request| request.purpose == Purpose::Conversation);
    assert_eq!(prompts.count(), 1);
    stage.host.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn rules_answer_before_a_person_is_asked() {
    let write =
        |name: &str| Reply::tool_use("Write", json!({"file_path": format!("/ws/{name}"), "content": "x"}));
    let turns = vec![write("notes/a.txt"), write("secret.txt"), Reply::text("done")];
    let stage = Stage::new(jackfield_testkit::cli::NEWER_VERSION, turns).await;
    let rule = |behavior, path: &str, note: &str| HostRule {
        behavior,
        tool: Some("Write".to_owned()),
        path: Some(path.to_owned()),
        command: None,
        folder: None,
        session_id: None,
        note: Some(note.to_owned()),
    };
    let rules = HostRules {
        rules: vec![
            rule(Behavior::Allow, "notes/**", "notes are free"),
            rule(Behavior::Deny, "**", "no files"),
        ],
    };
    stage.host.set_rules(rules.clone()).await.unwrap();
    let id = stage.session().await;
    let mut follower = stage.follow(&id).await;
    give(&stage.host, Some(&id), prompt("write")).await.unwrap();
    follower.completed().await;
    assert_eq!((stage.file("notes/a.txt").as_deref(), stage.file("secret.txt")), (Some("x"), None));
    let decisions = stage.host.decisions(Some(&id), None, 10).await.unwrap();
    let by: Vec<_> =
        decisions.iter().map(|decision| (decision.outcome, decision.by.clone().unwrap())).collect();
    let expected = [
        (Some(PermissionOutcome::Denied), "rule 2: no files".to_owned()),
        (Some(PermissionOutcome::Allowed), "rule 1: notes are free".to_owned()),
    ];
    assert_eq!(by, expected);
    let tried = stage.host.try_rules(&rules).await.unwrap().tried;
    assert_eq!(tried.iter().map(|one| one.behavior).collect::<Vec<_>>(), [Behavior::Deny, Behavior::Allow]);
    stage.host.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_is_renamed_put_away_limited_exported_and_deleted() {
    let ask = Reply::tool_use("Bash", json!({"command": "touch there", "description": "make a file"}));
    let stage = Stage::new(jackfield_testkit::cli::NEWER_VERSION, vec![ask, Reply::text("so be it")]).await;
    let id = stage.session().await;
    let mut follower = stage.follow(&id).await;
    give(&stage.host, Some(&id), Rename { title: " My work ".to_owned() }).await.unwrap();
    give(&stage.host, Some(&id), Archive { archived: true }).await.unwrap();
    let summary = stage.host.session(&id).await.unwrap().unwrap();
    assert_eq!((summary.title.as_str(), summary.archived), ("My work", true));
    let bypass =
        give(&stage.host, Some(&id), SetMode { permission_mode: "bypassPermissions".to_owned() }).await;
    assert_eq!(bypass.unwrap_err().code, RejectionCode::Forbidden);

    give(&stage.host, Some(&id), prompt("hi")).await.unwrap();
    let asked = follower.until(|body| matches!(body, Body::PermissionRequest(_))).await;
    let Body::PermissionRequest(request) = asked.body else { unreachable!() };
    let no = Verdict::Deny(Deny { message: "use tabs".to_owned(), interrupt: false });
    give(&stage.host, Some(&id), Answer { pending_id: request.pending_id, verdict: no }).await.unwrap();
    follower.completed().await;

    give(&stage.host, Some(&id), SetBudget { max_budget_usd: Some(0.0) }).await.unwrap();
    let broke = give(&stage.host, Some(&id), prompt("more")).await.unwrap_err();
    assert_eq!(broke.code, RejectionCode::Forbidden, "{broke:?}");
    let text = stage.host.export(&id, ExportFormat::Markdown).await.unwrap();
    assert!(text.contains("My work") && text.contains("so be it") && text.contains("use tabs"), "{text}");

    give(&stage.host, Some(&id), jackfield_api::command::Delete {}).await.unwrap();
    loop {
        if let ServerFrame::Unsubscribed(_) = follower.frame().await.unwrap() {
            break;
        }
    }
    assert!(stage.host.session(&id).await.unwrap().is_none());
    assert!(stage.host.search("so be it", 5).await.unwrap().hits.is_empty());
    let gone = give(&stage.host, Some(&id), prompt("hello?")).await.unwrap_err();
    assert_eq!(gone.code, RejectionCode::NotFound);
    stage.host.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn debug_files_go_with_their_session_whichever_host_wrote_them() {
    let turns = vec![Reply::text("one"), Reply::text("two"), Reply::text("three")];
    let mut stage = Stage::with(jackfield_testkit::cli::NEWER_VERSION, turns, |settings| {
        settings.observe.debug_folder = Some(settings.data.join("debug"));
        settings.observe.debug = DebugOf::Everybody;
    })
    .await;
    let folder = stage.settings.data.join("debug");
    let names = || {
        let names = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name());
        names.map(|name| name.into_string().unwrap()).collect::<Vec<_>>()
    };
    let mut ids = Vec::new();
    for _ in 0..3 {
        let id = stage.session().await;
        let mut follower = stage.follow(&id).await;
        give(&stage.host, Some(&id), prompt("hello")).await.unwrap();
        follower.completed().await;
        ids.push(id);
    }
    assert_eq!(names().len(), 6);
    // One that still runs, and writes.
    give(&stage.host, Some(&ids[0]), jackfield_api::command::Delete {}).await.unwrap();
    assert!(
        names().len() == 4 && names().iter().all(|name| !name.contains(ids[0].as_str())),
        "{:?}",
        names()
    );

    // The next host writes none, and finds those of the one before.
    stage.settings.observe.debug = DebugOf::Nobody;
    stage.restart().await;
    std::fs::write(folder.join(format!("raw-streamjson-{}.jsonl.1", ids[1])), "put aside").unwrap();
    give(&stage.host, Some(&ids[1]), jackfield_api::command::Delete {}).await.unwrap();
    assert!(names().len() == 2 && names().iter().all(|name| name.contains(ids[2].as_str())), "{:?}", names());

    // What cannot be removed is told, and the session is still there to be asked about.
    let raw = folder.join(format!("raw-streamjson-{}.jsonl", ids[2]));
    std::fs::remove_file(&raw).unwrap();
    std::fs::create_dir(&raw).unwrap();
    let refused = give(&stage.host, Some(&ids[2]), jackfield_api::command::Delete {}).await.unwrap_err();
    assert!(refused.reason.contains("raw-streamjson"), "{refused:?}");
    std::fs::remove_dir(&raw).unwrap();
    give(&stage.host, Some(&ids[2]), jackfield_api::command::Delete {}).await.unwrap();
    assert_eq!(names(), Vec::<String>::new());
    stage.host.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_reach_a_session_in_the_order_in_which_they_came() {
    let turns = vec![Reply { gate: Some("go".to_owned()), ..Reply::text("first") }, Reply::text("rest")];
    let stage = Stage::new(jackfield_testkit::cli::NEWER_VERSION, turns).await;
    let id = stage.session().await;
    let mut follower = stage.follow(&id).await;
    give(&stage.host, Some(&id), prompt("begin")).await.unwrap();
    follower.until(|body| matches!(body, Body::TurnStarted(_))).await;
    let tester = client("tester");
    let texts: Vec<String> = (0..20).map(|number| format!("prompt {number}")).collect();
    let given = texts.iter().map(|text| GivenCommand {
        id: uuid::Uuid::new_v4().to_string(),
        session_id: Some(id.clone()),
        command: Command::from(jackfield_api::command::Prompt {
            priority: jackfield_api::session::Priority::Later,
            ..prompt(text)
        }),
        traceparent: None,
        tracestate: None,
    });
    // Each is begun before the next is, and none is waited for.
    let mut answers: Vec<_> = given.map(|given| Box::pin(stage.host.command(&tester, given))).collect();
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    for answer in &mut answers {
        assert!(answer.as_mut().poll(&mut context).is_pending());
    }
    for answer in answers {
        answer.await.unwrap();
    }
    let queue = follower.until(|body| matches!(body, Body::Queue(queue) if queue.prompts.len() == 20)).await;
    let Body::Queue(queue) = queue.body else { unreachable!() };
    assert_eq!(queue.prompts.iter().map(|prompt| prompt.text.clone()).collect::<Vec<_>>(), texts);
    stage.api.gates().release("go");
    follower.completed().await;
    stage.host.close().await;
}
