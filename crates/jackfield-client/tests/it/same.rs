//! One script, twice: in the host's own process and over its socket.

use jackfield_api::command::{
    Allow, Answer, Archive, Close, Delete, Deny, Import, Interrupt, Rename, SetModel, Verdict,
};
use jackfield_api::host::{HostRule, HostRules, SessionSummary};
use jackfield_api::permission::Behavior;
use jackfield_api::{Body, PendingId, Seq, SessionId, Timestamp};
use jackfield_client::{
    Archived, Client, ClientError, CostBy, ExportFormat, SessionQuery, Update, Verdict as Trusting,
};
use jackfield_testkit::api::Reply;
use serde_json::{Value, json};

use crate::stage::{Stage, next, prompt};

#[tokio::test(flavor = "multi_thread")]
async fn a_host_in_this_process_and_the_running_one_answer_the_same() {
    let told = |stage: &Stage, client| script(client, stage.create());
    let stage = Stage::new(turns()).await;
    let here = told(&stage, stage.here()).await;
    let stage = Stage::new(turns()).await;
    let running = told(&stage, stage.running().await).await;
    assert_eq!(here.len(), running.len());
    for (here, running) in here.iter().zip(&running) {
        assert_eq!(here, running);
    }
    assert!(here.len() > 30, "only {} answers were compared", here.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn every_question_about_one_session_has_one_answer() {
    let stage = Stage::new(turns()).await;
    let (here, running) = (stage.here(), stage.running().await);
    let id = here.create(stage.create()).await.unwrap();
    let mut subscription = running.subscribe(&id, None).await.unwrap();
    here.command(Some(&id), prompt("first")).await.unwrap();
    until_complete(&mut subscription).await;
    here.command(Some(&id), Close {}).await.unwrap();
    while !matches!(next(&mut subscription).await.unwrap(), Update::Event(event) if matches!(event.body, Body::RunEnded(_)))
    {
    }

    assert_eq!(here.host_id(), running.host_id());
    let query = SessionQuery { archived: Archived::All, limit: 1_000, ..SessionQuery::default() };
    assert_eq!(here.sessions(query.clone()).await.unwrap(), running.sessions(query).await.unwrap());
    assert_eq!(here.session(&id).await.unwrap(), running.session(&id).await.unwrap());
    assert_eq!(here.snapshot(&id).await.unwrap(), running.snapshot(&id).await.unwrap());
    assert_eq!(here.items(&id, None, 2).await.unwrap(), running.items(&id, None, 2).await.unwrap());
    let events = here.events(&id, Seq(3)).await.unwrap();
    assert_eq!(events.first().map(|event| event.seq), Some(Seq(4)));
    assert_eq!(events, running.events(&id, Seq(3)).await.unwrap());
    assert_eq!(here.search("first", 5).await.unwrap(), running.search("first", 5).await.unwrap());
    assert_eq!(here.search("first", 5).await.unwrap().hits.len(), 1);
    assert_eq!(here.history().await.unwrap(), running.history().await.unwrap());
    for format in [ExportFormat::Markdown, ExportFormat::Json] {
        assert_eq!(here.export(&id, format).await.unwrap(), running.export(&id, format).await.unwrap());
    }
    for by in [CostBy::Day, CostBy::DayModel, CostBy::Model, CostBy::Session, CostBy::Turn(id.clone())] {
        let (one, other) = (
            here.costs(by.clone(), None).await.unwrap(),
            running.costs(by, Some(Timestamp(0))).await.unwrap(),
        );
        assert_eq!(one, other);
        assert_eq!(one.total.turns, 1);
    }
    assert_eq!(here.settings().await.unwrap(), running.settings().await.unwrap());
    assert_eq!(here.desk().await.unwrap(), running.desk().await.unwrap());
    let decided = (here.decisions(Some(&id), None, 5).await, running.decisions(Some(&id), None, 5).await);
    assert_eq!(decided.0.unwrap(), decided.1.unwrap());
}

fn turns() -> Vec<Reply> {
    let write = json!({ "file_path": "/ws/a.txt", "content": "a\n" });
    let write = || Reply::tool_use("Write", write.clone());
    vec![Reply::text("one two three"), write(), Reply::text("written"), write(), Reply::text("not written")]
}

/// What a script was answered, without what every session has its own of.
async fn script(client: Client, create: jackfield_api::command::CreateSession) -> Vec<Value> {
    let mut told = Vec::new();
    told.push(failure(client.subscribe(&"nobody".into(), None).await.map(drop)));
    told.push(json!(client.session(&"no/body?".into()).await.unwrap()));
    told.push(failure(client.snapshot(&"nobody".into()).await.map(drop)));
    told.push(failure(client.export(&"nobody".into(), ExportFormat::Json).await.map(drop)));
    told.push(failure(client.create(jackfield_api::command::CreateSession::new("relative")).await.map(drop)));

    let folder = create.cwd.clone();
    std::fs::write(format!("{folder}/.mcp.json"), r#"{"mcpServers":{"a":{"command":"b"}}}"#).unwrap();
    let shown = client.folder_trust(&folder).await.unwrap();
    told.push(json!([shown.trusted, shown.brings.iter().map(|one| &one.detail).collect::<Vec<_>>()]));
    let stale = client.set_folder_trust(&folder, &"0".repeat(64).into(), Trusting::Trusted).await;
    told.push(failure(stale.map(drop)));
    for verdict in [Trusting::Untrusted, Trusting::Trusted] {
        let now = client.set_folder_trust(&folder, &shown.fingerprint, verdict).await.unwrap();
        told.push(json!([now.trusted, now.refused, now.changed]));
    }
    told.push(failure(client.folder_trust("relative").await.map(drop)));
    told.push(failure(client.folder_trust("/no/such/folder: ä/?&").await.map(drop)));
    std::fs::remove_file(format!("{folder}/.mcp.json")).unwrap();

    let id = client.create(create).await.unwrap();
    let mut subscription = client.subscribe(&id, None).await.unwrap();
    client.command(Some(&id), prompt("say something")).await.unwrap();
    told.extend(followed(&client, &id, &mut subscription, Allow::default().into_verdict()).await);
    client.command(Some(&id), prompt("write a file")).await.unwrap();
    told.extend(followed(&client, &id, &mut subscription, Allow::default().into_verdict()).await);
    client.command(Some(&id), prompt("write it again")).await.unwrap();
    let no = Verdict::Deny(Deny { message: "rather not".to_owned(), interrupt: false });
    told.extend(followed(&client, &id, &mut subscription, no).await);

    for command in [
        Answer { pending_id: PendingId(1), verdict: Allow::default().into_verdict() }.into(),
        Rename { title: " ".to_owned() }.into(),
        Rename { title: "renamed: ä/?&".to_owned() }.into(),
        SetModel { model: Some("opus".to_owned()) }.into(),
        Interrupt {}.into(),
        Import { cli_session_ids: vec!["nobody".to_owned()] }.into(),
        Archive { archived: true }.into(),
    ] as [jackfield_api::Command; 7]
    {
        let tag = command.tag();
        let answer = client.command(Some(&id), command).await;
        told.push(json!({ "command": tag, "reply": answer.as_ref().ok(), "failure": failure(answer) }));
    }
    let rule = HostRule {
        behavior: Behavior::Deny,
        tool: Some("Bash".to_owned()),
        path: None,
        command: None,
        folder: None,
        session_id: None,
        note: None,
    };
    client.set_rules(&HostRules { rules: vec![rule.clone()] }).await.unwrap();
    told.push(json!(client.rules().await.unwrap()));
    let bad = HostRule { tool: Some(String::new()), ..rule };
    told.push(failure(client.set_rules(&HostRules { rules: vec![bad] }).await));
    for archived in [Archived::Without, Archived::Only, Archived::All] {
        for text in [None, Some("RENAMED: ä/?&".to_owned())] {
            let query = SessionQuery { archived, text, ..SessionQuery::default() };
            let page = client.sessions(query).await.unwrap();
            told.push(page.sessions.iter().map(titled).collect());
        }
    }
    told.push(failure(
        client.sessions(SessionQuery { before: Some("?".into()), ..SessionQuery::default() }).await.map(drop),
    ));
    let decisions = client.decisions(None, None, 10).await.unwrap();
    told.push(
        decisions.iter().map(|decision| json!([decision.tool_name, decision.outcome, decision.by])).collect(),
    );
    client.command(Some(&id), Delete {}).await.unwrap();
    while let Some(update) = next(&mut subscription).await {
        if let Update::Over(reason) = update {
            told.push(json!(reason));
        }
    }
    told.push(json!(client.session(&id).await.unwrap()));
    told
}

trait IntoVerdict {
    fn into_verdict(self) -> Verdict;
}

impl IntoVerdict for Allow {
    fn into_verdict(self) -> Verdict {
        Verdict::Allow(self)
    }
}

/// What a turn tells, its questions answered.
async fn followed(
    client: &Client,
    id: &SessionId,
    subscription: &mut jackfield_client::Subscription,
    verdict: Verdict,
) -> Vec<Value> {
    let mut told = Vec::new();
    loop {
        match next(subscription).await.expect("more") {
            Update::Snapshot(sent) => told.push(json!(["snapshot", sent.earlier, sent.session_id == *id])),
            // Where it is told depends on how far the run has come.
            Update::Current(_) => {}
            Update::Gap(gap) => panic!("{gap:?}"),
            Update::Over(reason) => panic!("{reason}"),
            Update::Event(event) => {
                if let Body::PermissionRequest(request) = &event.body {
                    let answer = Answer { pending_id: request.pending_id, verdict: verdict.clone() };
                    client.command(Some(id), answer.clone()).await.unwrap();
                    told.push(failure(client.command(Some(id), answer).await));
                }
                match &event.body {
                    // A snapshot that is taken a moment later has them already.
                    Body::RunStarted(_) | Body::AvailableCommands(_) => {}
                    Body::MessageChunk(chunk) => told.push(json!(["chunk", event.turn, chunk.text])),
                    Body::PermissionResolved(resolved) => {
                        told.push(json!(["resolved", resolved.outcome, resolved.by, resolved.message]));
                    }
                    body => told.push(json!([body.tag(), event.turn])),
                }
                if matches!(event.body, Body::Complete(_)) {
                    return told;
                }
            }
        }
    }
}

pub(crate) async fn until_complete(subscription: &mut jackfield_client::Subscription) {
    while !matches!(next(subscription).await.expect("more"), Update::Event(event) if matches!(event.body, Body::Complete(_)))
    {
    }
}

fn titled(session: &SessionSummary) -> Value {
    json!([session.title, session.archived, session.state])
}

fn failure<T>(result: Result<T, ClientError>) -> Value {
    match result {
        Ok(_) => Value::Null,
        Err(ClientError::Rejected(rejection)) => json!(rejection),
        Err(error) => json!(error.to_string()),
    }
}
