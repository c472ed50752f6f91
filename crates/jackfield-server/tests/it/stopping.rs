//! Stopping a server.

use crate::stage::{Stage, prompt};
use crate::wire::{ask, request};

#[tokio::test(flavor = "multi_thread")]
async fn f29_a_server_that_stops_says_so_and_loses_nothing() {
    let mut stage = Stage::new().await;
    let mut socket = stage.client("first").await;
    let id = socket.create(&stage).await;
    let mut follower = socket.follow(&id, None).await;
    follower.give(&id, prompt("edit")).await.unwrap();
    follower.asked().await;
    let cursor = follower.last();
    let mut idle = stage.client("idle").await;

    stage.restart().await;
    assert_eq!(idle.end().await, Some(1012));
    while follower.step().await {}
    assert_eq!(follower.socket.closed.as_ref().map(|frame| frame.code.into()), Some(1012_u16));
    let seen = follower.last();
    assert!(seen >= cursor);

    let mut back = stage.client("back").await.follow(&id, Some(seen)).await;
    back.until(|body| matches!(body, jackfield_api::Body::RunEnded(_))).await;
    back.give(&id, prompt("think")).await.unwrap();
    back.completed().await;
    stage.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_stopped_has_left_its_places() {
    let mut stage = Stage::new().await;
    let socket = stage.settings.data.join(jackfield_server::SOCKET);
    assert!(socket.exists());
    stage.serving.take().unwrap().stop().await;
    assert!(!socket.exists());
    assert!(tokio::net::TcpStream::connect(stage.address).await.is_err());
    // The host goes on: another server may be put before it.
    let listen = jackfield_server::Listen::new(stage.address, &stage.settings.data);
    stage.serving = Some(jackfield_server::serve(stage.host.clone(), listen).await.unwrap());
    let host = stage.address.to_string();
    assert_eq!(ask(stage.address, request("GET /healthz", &[("host", &host)], "")).await.status, 200);
    stage.end().await;
}
