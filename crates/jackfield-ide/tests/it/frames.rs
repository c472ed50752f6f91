//! Who comes in, what survives a bad frame, and how connections end.

use std::io::{Read as _, Write as _};

use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::{Error, Message};

use crate::client::{PATIENCE, Scene};
use crate::fake::Asked;

#[tokio::test]
async fn s1_to_s4_nobody_becomes_a_websocket_without_the_token_or_from_a_page() {
    let scene = Scene::set().await;
    let other = "0".repeat(64);
    for (changes, expected) in [
        (&[("x-claude-code-ide-authorization", "")] as &[(&'static str, &str)], 401),
        (&[("x-claude-code-ide-authorization", &*other)], 401),
        (&[("origin", "http://127.0.0.1")], 403),
        (&[("origin", "null")], 403),
        (&[("host", "evil.test")], 403),
        (&[("host", "evil.test"), ("x-claude-code-ide-authorization", "")], 403),
    ] {
        match scene.try_to_connect(changes).await {
            Err(Error::Http(response)) => {
                assert_eq!(response.status().as_u16(), expected, "{changes:?}");
                assert_eq!(response.body().as_deref().unwrap_or_default(), b"", "nothing is said");
            }
            Err(other) => panic!("{changes:?}: {other}"),
            Ok(_) => panic!("{changes:?} came in"),
        }
    }
    assert!(scene.try_to_connect(&[]).await.is_ok());
}

#[tokio::test]
async fn a_bad_frame_is_answered_and_ends_nothing() {
    let scene = Scene::set().await;
    let mut client = scene.connect().await;
    for (frame, code, id) in [
        (Message::text("nonsense"), -32700, Value::Null),
        (Message::text(""), -32700, Value::Null),
        (Message::text("[]"), -32600, Value::Null),
        (Message::text(r#"{"jsonrpc":"2.0","id":77}"#), -32600, json!(77)),
        (Message::text(r#"{"jsonrpc":"1.0","id":78,"method":"ping"}"#), -32600, json!(78)),
        (Message::binary(vec![0xff, 0]), -32700, Value::Null),
    ] {
        client.write(frame.clone()).await;
        let answer = client.next().await.unwrap();
        assert_eq!(answer["error"]["code"], json!(code), "{frame:?}: {answer}");
        assert_eq!(answer["id"], id, "{frame:?}: {answer}");
    }
    // Wants no answer, whatever it is.
    client.write(Message::text(r#"{"jsonrpc":"2.0","method":7}"#)).await;
    let unknown = client.ask("no/such/method", json!({})).await;
    assert_eq!(unknown["error"]["code"], json!(-32601), "{unknown}");
    assert_eq!(client.ask("ping", Value::Null).await["result"], json!({}));
    client.write(Message::Ping(vec![1, 2].into())).await;
    assert_eq!(client.next_frame().await, Message::Pong(vec![1, 2].into()));
}

#[tokio::test]
async fn old_and_new_versions_of_the_protocol_are_spoken() {
    let scene = Scene::set().await;
    for (asked, spoken) in [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("2099-01-01", "2025-11-25"),
    ] {
        let mut client = scene.try_to_connect(&[]).await.unwrap();
        let info = json!({ "name": "claude-code", "version": "1" });
        let params = json!({ "protocolVersion": asked, "capabilities": {}, "clientInfo": info });
        let answer = client.ask("initialize", params).await;
        assert_eq!(answer["result"]["protocolVersion"], json!(spoken), "{asked}");
        assert_eq!(answer["result"]["serverInfo"]["name"], json!("Fake"));
        assert!(answer["result"]["capabilities"]["tools"].is_object());
    }
}

#[tokio::test]
async fn s25_strangers_have_little_room_and_few_places() {
    let scene = Scene::set().await;
    let address = ("127.0.0.1", scene.ide.port());
    let asked = tokio::task::spawn_blocking(move || {
        let connect = || std::net::TcpStream::connect(address).unwrap();
        // A head that does not end.
        let mut endless = connect();
        endless.set_read_timeout(Some(PATIENCE)).unwrap();
        let _ = endless.write_all(b"GET / HTTP/1.1\r\n");
        let filler = [b'x'; 1024];
        while endless.write_all(b"a: ").and_then(|()| endless.write_all(&filler)).is_ok() {
            if endless.write_all(b"\r\n").is_err() {
                break;
            }
        }
        // Many who say nothing: those for whom there is no place are sent away at once.
        let mut silent: Vec<_> = (0..200).map(|_| connect()).collect();
        let sent_away = silent.iter_mut().rev().any(|stream| {
            stream.set_read_timeout(Some(PATIENCE)).unwrap();
            matches!(stream.read(&mut [0; 16]), Ok(0) | Err(_))
        });
        (sent_away, silent)
    });
    let (sent_away, silent) = asked.await.unwrap();
    assert!(sent_away);
    drop(silent);
}

#[tokio::test]
async fn f32_a_connection_that_breaks_closes_its_diffs_and_no_others() {
    let mut scene = Scene::set().await;
    let (mut one, mut other) = (scene.connect().await, scene.connect().await);
    let arguments = |tab: &str| {
        json!({
            "old_file_path": scene.path("a.txt"), "new_file_path": scene.path("a.txt"),
            "new_file_contents": "new", "tab_name": tab,
        })
    };
    let (same, second) = (arguments("same"), arguments("same"));
    one.begin("openDiff", same).await;
    let Asked::Diff(first_id, _, _open) = scene.next_asked().await else { panic!("no diff") };
    let waiting = other.begin("openDiff", second).await;
    let Asked::Diff(second_id, _, verdict) = scene.next_asked().await else { panic!("no diff") };
    drop(one);
    let Asked::Closed(closed) = scene.next_asked().await else { panic!("not closed") };
    assert_eq!(closed, first_id);
    assert_ne!(first_id, second_id);
    verdict.send(jackfield_ide::Verdict::Rejected).unwrap();
    assert_eq!(other.texts(waiting).await, ["DIFF_REJECTED", "same"]);
    let mut again = scene.connect().await;
    assert_eq!(again.call("closeAllDiffTabs", json!({})).await, ["CLOSED_0_DIFF_TABS"]);
}

#[tokio::test]
async fn a_cancelled_call_takes_its_diff_away() {
    let mut scene = Scene::set().await;
    let mut client = scene.connect().await;
    let path = scene.path("a.txt");
    let diff =
        json!({ "old_file_path": path, "new_file_path": path, "new_file_contents": "", "tab_name": "t" });
    let id = client.begin("openDiff", diff).await;
    let Asked::Diff(shown, _, _open) = scene.next_asked().await else { panic!("no diff") };
    client.notify("notifications/cancelled", Some(json!({ "requestId": id, "reason": "enough" }))).await;
    let Asked::Closed(closed) = scene.next_asked().await else { panic!("not closed") };
    assert_eq!(closed, shown);
}

#[tokio::test]
async fn a_server_that_stops_says_so_and_takes_its_lock_file_along() {
    let mut scene = Scene::set().await;
    let mut client = scene.connect().await;
    let mut connected = scene.ide.connected();
    assert_eq!(connected.now().len(), 1);
    let path = scene.path("a.txt");
    let diff =
        json!({ "old_file_path": path, "new_file_path": path, "new_file_contents": "", "tab_name": "t" });
    client.begin("openDiff", diff).await;
    let Asked::Diff(_, _, _open) = scene.next_asked().await else { panic!("no diff") };
    scene.ide.stop().await;
    let closed = tokio::time::timeout(PATIENCE, scene.asked.recv()).await.unwrap().unwrap();
    assert!(matches!(closed, Asked::Closed(_)));
    assert!(client.next().await.is_none());
    assert_eq!(std::fs::read_dir(&scene.locks).unwrap().count(), 0);
    assert_eq!(connected.now(), []);
}
