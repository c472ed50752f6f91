//! What is too large, too slow or too silent. Time is not waited for: where it matters, it is made to pass.

use std::time::Duration;

use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::stage::{Stage, new_id};
use crate::wire::{ask, request};

/// Reads until the server ends the connection.
async fn end_of(stream: &mut TcpStream) -> Vec<u8> {
    let mut read = Vec::new();
    let _ = stream.read_to_end(&mut read).await;
    read
}

#[tokio::test(flavor = "multi_thread")]
async fn s24_what_is_too_large_is_refused() {
    let stage = Stage::new().await;
    let host = stage.address.to_string();
    let bearer = format!("Bearer {}", stage.token);
    let headers = [("host", host.as_str()), ("authorization", &bearer), ("content-type", "application/json")];
    let long = "x".repeat(40 * 1024);
    let head = [headers.as_slice(), &[("x-long", &long)]].concat();
    assert_eq!(ask(stage.address, request("GET /api/desk", &head, "")).await.status, 431);

    let body = |bytes: usize| json!({ "rules": [], "x": "y".repeat(bytes) }).to_string();
    let put =
        async |bytes: usize| ask(stage.address, request("PUT /api/rules", &headers, &body(bytes))).await;
    assert_eq!(put(1024 * 1024 - 100).await.status, 200);
    let refused = put(1024 * 1024).await;
    assert_eq!((refused.status, refused.code().as_str()), (413, "too_large"));

    // A command may have pictures in it.
    let picture =
        json!({ "type": "image", "media_type": "image/png", "base64": "A".repeat(5 * 1024 * 1024) });
    let command = json!({
        "id": new_id(), "session_id": new_id(),
        "command": { "type": "prompt", "uuid": new_id(), "content": [picture], "priority": "next" },
    });
    let answer = ask(stage.address, request("POST /api/commands", &headers, &command.to_string())).await;
    assert_eq!((answer.status, answer.code().as_str()), (404, "not_found"), "{answer:?}");

    let deep = format!("{{\"rules\":{}{}}}", "[".repeat(70), "]".repeat(70));
    let answer = ask(stage.address, request("PUT /api/rules", &headers, &deep)).await;
    assert_eq!((answer.status, answer.code().as_str()), (400, "invalid"), "{answer:?}");
    stage.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s24_no_compression_is_agreed_to_and_pieces_are_counted_together() {
    let stage = Stage::new().await;
    let bearer = format!("Bearer {}", stage.token);
    let upgrade = [
        ("host", &*stage.address.to_string()),
        ("authorization", &bearer),
        ("upgrade", "websocket"),
        ("sec-websocket-version", "13"),
        ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
        ("sec-websocket-extensions", "permessage-deflate; client_max_window_bits"),
    ];
    let upgrade =
        request("GET /api/socket", &upgrade, "").replace("connection: close", "connection: upgrade");
    let mut socket = TcpStream::connect(stage.address).await.unwrap();
    socket.write_all(upgrade.as_bytes()).await.unwrap();
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(socket.read_u8().await.unwrap());
    }
    let head = String::from_utf8(head).unwrap().to_ascii_lowercase();
    assert!(head.starts_with("http/1.1 101") && !head.contains("sec-websocket-extensions"), "{head}");

    // Everything is masked with zero.
    let hello = json!({ "type": "hello", "version": 1, "client": "pieces" }).to_string();
    let mut frame = vec![0x81, 0x80 | u8::try_from(hello.len()).unwrap(), 0, 0, 0, 0];
    frame.extend_from_slice(hello.as_bytes());
    socket.write_all(&frame).await.unwrap();
    // One message in many pieces, none of them too large.
    let piece = |first: u8| {
        let mut frame = vec![first, 0xfe];
        frame.extend(60_000_u16.to_be_bytes());
        frame.extend([0; 4]);
        frame.extend(std::iter::repeat_n(b' ', 60_000));
        frame
    };
    let _ = socket.write_all(&piece(0x01)).await;
    for _ in 0..30 {
        // It may be over before the last one.
        let _ = socket.write_all(&piece(0x00)).await;
    }
    let said = end_of(&mut socket).await;
    let close = 1009_u16.to_be_bytes();
    assert!(said.windows(2).any(|bytes| bytes == close), "{}", String::from_utf8_lossy(&said));

    // What is packed is not unpacked.
    let host = stage.address.to_string();
    let headers = [
        ("host", host.as_str()),
        ("authorization", &bearer),
        ("content-type", "application/json"),
        ("content-encoding", "gzip"),
    ];
    let answer = ask(stage.address, request("PUT /api/rules", &headers, "\u{1f}packed")).await;
    assert_eq!(answer.status, 400, "{answer:?}");
    stage.end().await;
}

#[tokio::test]
async fn s25_half_a_request_and_a_silent_connection_are_ended() {
    let stage = Stage::new().await;
    let mut half = TcpStream::connect(stage.address).await.unwrap();
    half.write_all(b"GET /api/desk HTTP/1.1\r\nhost: 127").await.unwrap();
    let mut silent = TcpStream::connect(stage.address).await.unwrap();
    let mut socket = TcpStream::connect(stage.address).await.unwrap();
    let upgrade = [
        ("host", &*stage.address.to_string()),
        ("authorization", &format!("Bearer {}", stage.token)),
        ("upgrade", "websocket"),
        ("sec-websocket-version", "13"),
        ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
    ];
    let upgrade =
        request("GET /api/socket", &upgrade, "").replace("connection: close", "connection: upgrade");
    socket.write_all(upgrade.as_bytes()).await.unwrap();
    let mut begun = [0; 12];
    socket.read_exact(&mut begun).await.unwrap();
    assert_eq!(&begun, b"HTTP/1.1 101");

    tokio::time::pause();
    end_of(&mut half).await;
    assert_eq!(end_of(&mut silent).await, b"", "nothing was asked");
    let said = end_of(&mut socket).await;
    let close = 4003_u16.to_be_bytes();
    assert!(said.windows(2).any(|bytes| bytes == close), "{}", String::from_utf8_lossy(&said));
    tokio::time::resume();
    stage.end().await;
}

#[tokio::test]
async fn f17_who_answers_no_ping_is_gone() {
    let stage = Stage::new().await;
    let mut socket = TcpStream::connect(stage.address).await.unwrap();
    let upgrade = [
        ("host", &*stage.address.to_string()),
        ("authorization", &format!("Bearer {}", stage.token)),
        ("upgrade", "websocket"),
        ("sec-websocket-version", "13"),
        ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
    ];
    let upgrade =
        request("GET /api/socket", &upgrade, "").replace("connection: close", "connection: upgrade");
    socket.write_all(upgrade.as_bytes()).await.unwrap();
    // A masked text frame by hand; the mask is zero.
    let hello = json!({ "type": "hello", "version": 1, "client": "dead" }).to_string();
    let mut frame = vec![0x81, 0x80 | u8::try_from(hello.len()).unwrap(), 0, 0, 0, 0];
    frame.extend_from_slice(hello.as_bytes());
    socket.write_all(&frame).await.unwrap();
    let mut said = Vec::new();
    while !said.ends_with(b"}") {
        said.push(socket.read_u8().await.unwrap());
    }

    tokio::time::pause();
    let begun = tokio::time::Instant::now();
    let rest = end_of(&mut socket).await;
    assert_eq!(rest, [0x89, 0, 0x89, 0], "two pings, and then the end");
    assert!(begun.elapsed() >= Duration::from_secs(45));
    tokio::time::resume();
    stage.end().await;
}
