//! Who is wrong too often.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use serde_json::json;
use tokio::net::TcpSocket;
use tokio_tungstenite::tungstenite::Error;

use crate::stage::Stage;
use crate::wire::{Answer, ask_from, request};

const PEER: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 9);
const OTHER: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 10);

async fn from(peer: Ipv4Addr, stage: &Stage, line: &str, headers: &[(&str, &str)], body: &str) -> Answer {
    let host = stage.own_host();
    let headers = [&[("host", host.as_str()), ("content-type", "application/json")], headers].concat();
    ask_from(peer, stage.address, request(line, &headers, body)).await
}

#[tokio::test(flavor = "multi_thread")]
async fn s5_after_ten_failures_a_peer_is_not_listened_to_whatever_it_shows() {
    let stage = Stage::new().await;
    let (cookie, key) = stage.browser().await;
    let right = format!("Bearer {}", stage.token);
    let right = [("authorization", right.as_str())];
    let ticket = json!({ "ticket": stage.ticket() }).to_string();
    let wrong_ticket = json!({ "ticket": "wrong" }).to_string();
    let desk = "GET /api/desk";

    // Every way to be wrong counts, and being right does not.
    let mut refused = Vec::new();
    for _ in 0..2 {
        assert_eq!(from(PEER, &stage, desk, &right, "").await.status, 200);
        refused.push(from(PEER, &stage, desk, &[], "").await);
        refused.push(from(PEER, &stage, desk, &[("authorization", "Bearer x")], "").await);
        refused.push(from(PEER, &stage, desk, &[("cookie", &cookie)], "").await);
        refused.push(from(PEER, &stage, desk, &[("cookie", &cookie), ("x-jackfield-key", "x")], "").await);
        refused.push(from(PEER, &stage, "POST /api/login", &[], &wrong_ticket).await);
    }
    let said: BTreeSet<_> = refused.iter().map(|answer| (answer.status, answer.body.clone())).collect();
    assert_eq!(said.len(), 1, "{said:?}");
    assert_eq!(refused[0].status, 401);

    // Now nothing is looked at, right or wrong, and the same is said to all.
    let held = [
        from(PEER, &stage, desk, &[], "").await,
        from(PEER, &stage, desk, &right, "").await,
        from(PEER, &stage, desk, &[("authorization", "Bearer x")], "").await,
        from(PEER, &stage, "POST /api/login", &[], &ticket).await,
        from(PEER, &stage, "POST /api/login", &[], &wrong_ticket).await,
        from(PEER, &stage, "GET /api/socket", &right, "").await,
    ];
    for answer in &held {
        assert_eq!((answer.status, answer.code().as_str()), (429, "too_often"), "{answer:?}");
        let wait: u64 = answer.header("retry-after").unwrap().parse().unwrap();
        assert!((1..=61).contains(&wait), "{wait}");
        assert_eq!(answer.body, held[0].body);
    }
    // What needs no secret is there for everybody.
    assert_eq!(from(PEER, &stage, "GET /healthz", &[], "").await.status, 200);
    // Nobody else is locked out: neither another peer, nor who is logged in, nor the ticket.
    assert_eq!(from(OTHER, &stage, desk, &right, "").await.status, 200);
    let browser = [("cookie", cookie.as_str()), ("x-jackfield-key", &key)];
    assert_eq!(from(PEER, &stage, desk, &browser, "").await.status, 200);
    assert_eq!(from(OTHER, &stage, "POST /api/login", &[], &ticket).await.status, 200);
    stage.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s5_wrong_keys_on_a_websocket_count_too() {
    let stage = Stage::new().await;
    let (cookie, _) = stage.browser().await;
    let origin = stage.own_origin();
    let connect = async |headers: &[(&'static str, &str)]| {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind((PEER, 0).into()).unwrap();
        stage.connect_with(socket, headers).await
    };
    for _ in 0..10 {
        let mut socket = connect(&[("cookie", &cookie), ("origin", &origin)]).await.unwrap();
        let hello = json!({ "type": "hello", "version": 1, "client": "page", "key": "x" });
        socket.send_text(hello.to_string()).await;
        assert_eq!(socket.end().await, Some(4001));
    }
    let right = format!("Bearer {}", stage.token);
    let refused = connect(&[("authorization", &right)]).await.err();
    let Some(Error::Http(response)) = refused else { panic!("{refused:?}") };
    assert_eq!(response.status(), 429);
    stage.end().await;
}
