//! Connections that are lost: nothing is missing, nothing comes twice, and nothing is done twice.

use std::sync::atomic::Ordering;

use jackfield_api::{Body, Seq};
use jackfield_client::{Client, ClientError, SessionQuery, Update, Watched};
use jackfield_testkit::api::Reply;

use crate::same::until_complete;
use crate::stage::{Door, Stage, next, prompt};

/// Enough words for many frames.
fn long() -> Reply {
    Reply::text("so many words ".repeat(1_000))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_is_cut_again_and_again_loses_and_doubles_no_event() {
    let stage = Stage::new(vec![long()]).await;
    let door = Door::before(stage.data());
    let client = door.client().await;
    let id = client.create(stage.create()).await.unwrap();
    let mut whole = stage.here().subscribe(&id, Some(Seq(0))).await.unwrap();
    // A little more than the greeting.
    door.cut_after(1024);
    let mut subscription = client.subscribe(&id, Some(Seq(0))).await.unwrap();
    stage.here().command(Some(&id), prompt("go")).await.unwrap();

    let mut events = Vec::new();
    loop {
        match next(&mut subscription).await.expect("more") {
            Update::Event(event) => {
                assert_eq!(event.seq.0, events.len() as u64 + 1, "a hole or a double");
                let over = matches!(event.body, Body::Complete(_));
                events.push(event);
                if over {
                    break;
                }
            }
            Update::Current(_) => {}
            other => panic!("{other:?}"),
        }
    }
    assert!(door.cuts.load(Ordering::SeqCst) > 2, "the connection was hardly cut");
    for expected in &events {
        let update = loop {
            match next(&mut whole).await.unwrap() {
                Update::Event(event) => break event,
                Update::Current(_) => {}
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(&update, expected);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_whose_answer_is_lost_is_done_once() {
    let stage = Stage::new(vec![]).await;
    let door = Door::before(stage.data());
    let client = door.client().await;
    // No answer comes through.
    door.cut_after(0);
    let create = stage.create();
    let creating = tokio::spawn(async move { client.create(create).await });
    while door.cuts.load(Ordering::SeqCst) < 3 {
        tokio::task::yield_now().await;
    }
    door.cut_after(usize::MAX);
    let id = creating.await.unwrap().unwrap();
    let sessions = stage.here().sessions(SessionQuery::default()).await.unwrap().sessions;
    let ids: Vec<_> = sessions.into_iter().map(|session| session.session_id).collect();
    assert_eq!(ids, [id]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_subscription_goes_on_when_the_host_was_started_again() {
    let mut stage = Stage::new(vec![Reply::text("one"), Reply::text("two")]).await;
    let client = stage.running().await;
    let id = client.create(stage.create()).await.unwrap();
    let mut subscription = client.subscribe(&id, Some(Seq(0))).await.unwrap();
    client.command(Some(&id), prompt("first")).await.unwrap();
    until_complete(&mut subscription).await;

    stage.stop().await;
    // Asked while nobody is there.
    let (asking, to) = (client.clone(), id.clone());
    let asked = tokio::spawn(async move { asking.command(Some(&to), prompt("second")).await });
    stage.start().await;
    asked.await.unwrap().unwrap();
    let mut turns = Vec::new();
    while turns.last() != Some(&2) {
        if let Update::Event(event) = next(&mut subscription).await.expect("more")
            && let Body::Complete(_) = event.body
        {
            turns.push(event.turn.unwrap().0);
        }
    }
    let told = client.events(&id, Seq(0)).await.unwrap();
    assert!(told.iter().enumerate().all(|(at, event)| event.seq.0 == at as u64 + 1));
}

#[tokio::test]
async fn where_nobody_listens_there_is_no_running_host() {
    let folder = tempfile::tempdir().unwrap();
    assert!(Client::running(folder.path(), "tester").await.unwrap().is_none());
    // Left over from a host that died.
    drop(std::os::unix::net::UnixListener::bind(folder.path().join("host.sock")).unwrap());
    assert!(Client::running(folder.path(), "tester").await.unwrap().is_none());
    let long = folder.path().join("a".repeat(200));
    assert!(Client::running(&long, "tester").await.unwrap().is_none());
}

#[tokio::test]
async fn something_that_is_no_host_is_an_error_and_not_a_host() {
    let folder = tempfile::tempdir().unwrap();
    let listener = tokio::net::UnixListener::bind(folder.path().join("host.sock")).unwrap();
    let answering = tokio::spawn(async move {
        use tokio::io::AsyncWriteExt as _;
        let (mut stream, _) = listener.accept().await.unwrap();
        stream.write_all(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n").await.unwrap();
        stream
    });
    let error = Client::running(folder.path(), "tester").await.unwrap_err();
    assert!(matches!(error, ClientError::Nonsense { .. }), "{error:?}");
    drop(answering.await.unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_list_of_sessions_is_told_as_it_changes_and_whole_again_after_a_loss() {
    let mut stage = Stage::new(vec![]).await;
    let mut watched = [stage.here().watch(), stage.running().await.watch()];
    for watching in &mut watched {
        assert_eq!(watching.next().await.unwrap().unwrap(), Watched::All(Vec::new()));
    }
    let id = stage.here().create(stage.create()).await.unwrap();
    for watching in &mut watched {
        let Watched::Changed(changed) = watching.next().await.unwrap().unwrap() else {
            panic!("not a change")
        };
        assert!(
            changed.sessions.iter().any(|session| session.session_id == id) && changed.deleted.is_empty()
        );
    }
    let [_, mut running] = watched;
    stage.stop().await;
    stage.start().await;
    // What was told of the end is of no interest here.
    let mut is_away = false;
    let all = loop {
        match running.next().await.unwrap().unwrap() {
            Watched::All(all) => break all,
            Watched::Changed(_) => {}
            Watched::Away => is_away = true,
        }
    };
    assert!(is_away);
    assert_eq!(all.into_iter().map(|session| session.session_id).collect::<Vec<_>>(), [id]);
}
