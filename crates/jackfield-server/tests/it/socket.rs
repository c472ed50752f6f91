//! What is said on a WebSocket besides events: hello, bad frames, limits, the list of sessions.

use jackfield_api::command::{Archive, Delete, RejectionCode, Rename, Reply};
use jackfield_api::snapshot::SessionState;
use jackfield_api::socket::{ClientFrame, Scope, ServerFrame};
use serde_json::json;
use tokio_tungstenite::tungstenite::Message;

use crate::stage::{Stage, given, new_id, prompt};

#[tokio::test(flavor = "multi_thread")]
async fn the_server_says_who_it_is() {
    let mut stage = Stage::new().await;
    let hello = stage.client("one").await.hello.unwrap();
    assert_eq!((hello.version, hello.scope), (1, Scope::Admin));
    stage.restart().await;
    assert_eq!(stage.client("two").await.hello.unwrap().host_id, hello.host_id, "the same over restarts");
    stage.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_begins_wrongly_is_told_why_and_closed() {
    let stage = Stage::new().await;
    let bearer = format!("Bearer {}", stage.token);
    let other_version = json!({ "type": "hello", "version": 99, "client": "later" }).to_string();
    let beginnings = [
        (other_version, 4000, "version 1"),
        (json!({ "type": "watch" }).to_string(), 4002, "`hello`"),
        ("nonsense".to_owned(), 4002, "`hello`"),
        (json!({ "type": "hello" }).to_string(), 4002, "`hello`"),
    ];
    for (beginning, code, word) in beginnings {
        let mut socket = stage.connect(&[("authorization", &bearer)]).await.unwrap();
        socket.send_text(beginning.clone()).await;
        let Some(ServerFrame::Refused(refused)) = socket.next().await else { panic!("{beginning}") };
        assert!(refused.reason.contains(word), "{}", refused.reason);
        assert_eq!(socket.end().await, Some(code), "{beginning}");
    }
    stage.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bad_frame_is_refused_and_the_connection_goes_on() {
    let stage = Stage::new().await;
    let mut socket = stage.client("clumsy").await;
    let deep = format!("{{\"type\":\"command\",\"x\":{}{}}}", "[".repeat(70), "]".repeat(70));
    let frames = [
        String::new(),
        "null".to_owned(),
        "[]".to_owned(),
        "{\"type\":\"".to_owned(),
        json!({ "type": "dance" }).to_string(),
        json!({ "type": "command", "id": "a", "command": { "type": "dance" } }).to_string(),
        json!({ "type": "subscribe" }).to_string(),
        json!({ "type": "hello", "version": 1, "client": "again" }).to_string(),
        deep,
    ];
    for frame in frames {
        socket.send_text(frame.clone()).await;
        let answer = socket.next().await;
        assert!(matches!(answer, Some(ServerFrame::Refused(_))), "{frame}: {answer:?}");
    }
    socket.send_message(Message::binary(vec![0, 159])).await;
    assert!(matches!(socket.next().await, Some(ServerFrame::Refused(_))));
    socket.watch().await;
    assert!(matches!(socket.next().await, Some(ServerFrame::Sessions(_))));
    stage.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s24_a_frame_that_is_too_large_ends_the_connection_with_its_code() {
    let stage = Stage::new().await;
    let mut socket = stage.client("large").await;
    // What is still on its way when the server closes resets the connection: the rest of a large frame may not be
    // taken any more, and the code may be lost with it. Where nothing is on its way, it is not: see `limits`.
    let large = Message::text(format!("{{\"type\":\"{}\"}}", "x".repeat(1024 * 1024)));
    let _ = socket.try_send(large).await;
    let code = socket.end().await;
    assert!(matches!(code, Some(1009) | None), "{code:?}");
    let mut socket = stage.client("nearly").await;
    socket.send_text(format!("{{\"type\":\"{}\"}}", "x".repeat(1024 * 1024 - 100))).await;
    assert!(matches!(socket.next().await, Some(ServerFrame::Refused(_))));
    stage.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_follows_64_sessions_and_no_more() {
    let stage = Stage::new().await;
    let mut socket = stage.client("greedy").await;
    let mut sessions = Vec::new();
    for _ in 0..65 {
        sessions.push(socket.create(&stage).await);
    }
    for session in &sessions {
        socket.subscribe(session, None).await;
    }
    let mut current = 0;
    let refused = socket
        .until(|frame| match frame {
            ServerFrame::Current(_) => {
                current += 1;
                None
            }
            ServerFrame::Unsubscribed(unsubscribed) => Some(unsubscribed),
            _ => None,
        })
        .await;
    assert_eq!(refused.session_id, sessions[64]);
    assert!(refused.reason.unwrap().contains("64"));
    while current < 64 {
        current += socket.until(|frame| matches!(frame, ServerFrame::Current(_)).then_some(1)).await;
    }
    // One less, and there is room; the same again is no other.
    socket.unsubscribe(&sessions[0]).await;
    socket.subscribe(&sessions[1], None).await;
    socket.subscribe(&sessions[64], None).await;
    let mut followed = Vec::new();
    while followed.len() < 2 {
        followed.push(
            socket
                .until(|frame| match frame {
                    ServerFrame::Current(current) => Some(current.session_id),
                    ServerFrame::Unsubscribed(unsubscribed) => {
                        assert_eq!(
                            (unsubscribed.session_id, unsubscribed.reason),
                            (sessions[0].clone(), None)
                        );
                        None
                    }
                    _ => None,
                })
                .await,
        );
    }
    followed.sort();
    let mut wanted = [sessions[1].clone(), sessions[64].clone()];
    wanted.sort();
    assert_eq!(followed, wanted);
    stage.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_is_not_there_cannot_be_followed() {
    let stage = Stage::new().await;
    let mut socket = stage.client("lost").await;
    let nobody = new_id().as_str().into();
    socket.subscribe(&nobody, None).await;
    let Some(ServerFrame::Unsubscribed(unsubscribed)) = socket.next().await else { panic!() };
    assert_eq!(unsubscribed.session_id, nobody);
    assert!(unsubscribed.reason.is_some());
    stage.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_watches_sees_sessions_come_change_and_go() {
    let stage = Stage::new().await;
    let mut watcher = stage.client("watcher").await;
    watcher.watch().await;
    let Some(ServerFrame::Sessions(first)) = watcher.next().await else { panic!() };
    assert!(first.sessions.is_empty());

    let mut actor = stage.client("actor").await;
    let id = actor.create(&stage).await;
    let seen = async |watcher: &mut crate::stage::Socket,
                      found: &dyn Fn(&jackfield_api::host::SessionSummary) -> bool| {
        watcher
            .until(|frame| match frame {
                ServerFrame::Sessions(sent) => {
                    sent.sessions.into_iter().find(|session| session.session_id == id && found(session))
                }
                _ => None,
            })
            .await
    };
    seen(&mut watcher, &|_| true).await;
    actor.give(Some(&id), prompt("edit")).await.unwrap();
    let asking = seen(&mut watcher, &|session| !session.pending.is_empty()).await;
    assert_eq!(asking.state, SessionState::Running);
    actor.give(Some(&id), Rename { title: "my own".to_owned() }).await.unwrap();
    seen(&mut watcher, &|session| session.title == "my own").await;
    actor.give(Some(&id), Archive { archived: true }).await.unwrap();
    seen(&mut watcher, &|session| session.archived).await;

    // Who follows it is told too.
    actor.subscribe(&id, None).await;
    actor.until(|frame| matches!(frame, ServerFrame::Current(_)).then_some(())).await;
    let mut other = stage.client("other").await;
    assert_eq!(other.give(Some(&id), Delete {}).await, Ok(Reply::Done(jackfield_api::command::Done {})));
    watcher
        .until(|frame| match frame {
            ServerFrame::Sessions(sent) => sent.deleted.contains(&id).then_some(()),
            _ => None,
        })
        .await;
    let ended = actor.until(|frame| match frame {
        ServerFrame::Unsubscribed(ended) => Some(ended),
        _ => None,
    });
    assert!(ended.await.reason.is_some());
    stage.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_are_answered_by_their_ids_in_any_order() {
    let stage = Stage::new().await;
    let mut socket = stage.client("busy").await;
    let id = socket.create(&stage).await;
    let commands: Vec<_> = (0..20)
        .map(|number| {
            let to = if number % 3 == 0 { new_id().as_str().into() } else { id.clone() };
            given(Some(&to), Rename { title: format!("title {number}") })
        })
        .collect();
    for command in &commands {
        socket.send(&ClientFrame::Command(Box::new(command.clone()))).await;
    }
    let mut answers = std::collections::BTreeMap::new();
    while answers.len() < commands.len() {
        let (id, answer) = socket
            .until(|frame| match frame {
                ServerFrame::Accepted(accepted) => Some((accepted.id, Ok(accepted.reply))),
                ServerFrame::Rejected(rejected) => Some((rejected.id, Err(rejected.rejection.code))),
                _ => None,
            })
            .await;
        assert!(answers.insert(id, answer).is_none(), "answered twice");
    }
    for (number, command) in commands.iter().enumerate() {
        let wanted = if number % 3 == 0 {
            Err(RejectionCode::NotFound)
        } else {
            Ok(Reply::Done(jackfield_api::command::Done {}))
        };
        assert_eq!(answers[&command.id], wanted, "{number}");
    }
    stage.end().await;
}
