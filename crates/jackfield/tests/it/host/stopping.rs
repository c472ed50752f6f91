//! The server is asked to end.

use jackfield_api::Body;
use jackfield_api::permission::PermissionOutcome;
use jackfield_api::session::RunEndReason;
use jackfield_testkit::api::{Block, BlockGate, Content, Reply};
use jackfield_testkit::cli::NEWER_VERSION;
use rustix::process::Signal;
use serde_json::json;
use tokio::time::timeout;

use super::client::{prompt, stored};
use super::server::{PATIENCE, Place};

#[tokio::test(flavor = "multi_thread")]
async fn f29_a_server_that_is_asked_to_end_says_so_ends_its_agents_and_exits_with_0() {
    let place = Place::demo();
    let mut server = place.serve().await;
    let (mut idle, mut socket) = (place.client("idle").await, place.client("one").await);
    let mut sessions = Vec::new();
    for scene in ["edit", "many 2000000", "help"] {
        let id = socket.create(place.create()).await;
        socket.follow(&id).await;
        socket.give(Some(&id), prompt(scene)).await.unwrap();
        sessions.push(id);
    }
    let asked = socket.asked(&sessions[0]).await;
    socket.completed(&sessions[2]).await;
    assert!(!place.alive().is_empty());

    server.signal(Signal::TERM);
    assert_eq!(idle.end().await, Some(1012));
    assert_eq!(socket.end().await, Some(1012));
    let status = timeout(PATIENCE, server.child.wait()).await.unwrap().unwrap();
    assert_eq!(status.code(), Some(0));
    assert_eq!(place.alive(), Vec::<u32>::new());

    let server = place.serve().await;
    for id in &sessions {
        let events = stored(&place.data, id).await;
        assert_eq!(socket.events(id), &events[..socket.events(id).len()]);
        let Some(Body::RunEnded(end)) = events.last().map(|event| &event.body) else {
            panic!("the last event is no end: {:?}", events.last());
        };
        assert_ne!(end.reason, RunEndReason::HostEnded, "it ended in order");
        for event in &events {
            if let Body::PermissionResolved(end) = &event.body {
                assert_eq!((end.pending_id, end.outcome), (asked, PermissionOutcome::Lost));
            }
        }
    }
    assert!(server.stop().await.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn f29_a_real_cli_in_the_middle_of_a_turn_is_ended_too() {
    let mut held = Block::new(Content::Text { text: "and so on and so on and so on".to_owned() });
    held.gate = Some(BlockGate { name: "never".to_owned(), after: 1 });
    let bash = json!({ "command": "setsid sleep 300 & sleep 300", "description": "sleep" });
    let turns = vec![
        Reply { blocks: vec![held], matching: Some("speak".to_owned()), ..Reply::default() },
        Reply { matching: Some("sleep".to_owned()), ..Reply::tool_use("Bash", bash) },
    ];
    let (place, api) = Place::real(NEWER_VERSION, turns).await;
    let mut server = place.serve().await;
    let mut socket = place.client("one").await;
    let mut sessions = Vec::new();
    for word in ["speak", "sleep"] {
        let id = socket.create(place.create()).await;
        socket.follow(&id).await;
        socket.give(Some(&id), prompt(word)).await.unwrap();
        sessions.push(id);
    }
    api.gates().reached("never").await;
    socket.asked(&sessions[1]).await;
    server.signal(Signal::TERM);
    assert_eq!(socket.end().await, Some(1012));
    let status = timeout(PATIENCE, server.child.wait()).await.unwrap().unwrap();
    assert_eq!(status.code(), Some(0));
    assert_eq!(place.alive(), Vec::<u32>::new());
}
