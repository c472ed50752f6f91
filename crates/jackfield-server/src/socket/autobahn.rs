//! The frames of our WebSocket before their judge: the Autobahn suite, some three hundred cases of RFC 6455.
//!
//! The suite wants its messages back, which `/api/socket` does not do. So an echo stands here in the place of the
//! conversation; the handshake, the frames and their settings are the same, but for the size of messages, of which the
//! suite sends some that we would refuse. The one rule it keeps: no case fails, and those that are not strictly right
//! are known by their numbers.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade};
use axum::routing::get;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use jackfield_testkit::cli;
use serde::Deserialize;
use serde_json::json;
use tokio::net::TcpListener;
use tokio::process::Command;
use tokio::time::timeout;
use tower_service::Service as _;

use super::bounded;

/// The largest message of the suite has 16 MiB.
const LARGEST_CASE: usize = 32 * 1024 * 1024;
/// How many cases there are without those for compression, which we never agree to.
const CASES: usize = 301;
/// Text that is wrong in the middle of a frame is found at the frame's end.
const NOT_STRICT: [&str; 2] = ["6.4.3", "6.4.4"];
/// What hangs must not hang the tests.
const PATIENCE: Duration = Duration::from_mins(10);

/// What came of a case.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Case {
    behavior: String,
    behavior_close: String,
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs the Autobahn suite: `cargo xtask test` fetches it"]
async fn s24_our_websocket_is_one_by_the_letter_of_its_standard() {
    let suite = cli::cache_dir().join("autobahn").join("wstest");
    assert!(suite.exists(), "the suite is not there: run `cargo xtask test`");
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let serving = tokio::spawn(serve(listener));
    let folder = tempfile::tempdir().unwrap();
    judge(&suite, address, folder.path()).await;
    serving.abort();

    let report = std::fs::read(folder.path().join("reports/index.json")).unwrap();
    let report: BTreeMap<String, BTreeMap<String, Case>> = serde_json::from_slice(&report).unwrap();
    let cases = &report["jackfield"];
    let number = |wanted: &str| cases.values().filter(|case| case.behavior == wanted).count();
    let (right, lenient, told) = (number("OK"), number("NON-STRICT"), number("INFORMATIONAL"));
    println!("{} cases: {right} right, {lenient} not strict, {told} informational", cases.len());
    assert_eq!(cases.len(), CASES);
    for (number, case) in cases {
        let expected = match case.behavior.as_str() {
            "OK" | "INFORMATIONAL" => true,
            "NON-STRICT" => NOT_STRICT.contains(&number.as_str()),
            _ => false,
        };
        assert!(expected, "{number}: {case:?}");
        assert!(matches!(case.behavior_close.as_str(), "OK" | "INFORMATIONAL"), "{number}: {case:?}");
    }
    assert!(right >= 296, "only {right} are right");
}

async fn judge(suite: &Path, address: SocketAddr, folder: &Path) {
    let settings = json!({
        "outdir": folder.join("reports"),
        "servers": [{ "agent": "jackfield", "url": format!("ws://{address}/") }],
        "cases": ["*"],
        "exclude-cases": ["12.*", "13.*"],
        "exclude-agent-cases": {},
    });
    let file = folder.join("settings.json");
    std::fs::write(&file, settings.to_string()).unwrap();
    let run = Command::new(suite)
        .args(["--mode", "fuzzingclient", "--spec"])
        .arg(&file)
        .current_dir(folder)
        .kill_on_drop(true)
        .output();
    let output = timeout(PATIENCE, run).await.expect("the suite ends").unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stdout));
}

async fn serve(listener: TcpListener) {
    let upgrade = async |upgrade: WebSocketUpgrade| bounded(upgrade, LARGEST_CASE).on_upgrade(echo);
    let router: Router = Router::new().route("/", get(upgrade));
    while let Ok((stream, _)) = listener.accept().await {
        let router = router.clone();
        let service = service_fn(move |request: Request<Incoming>| {
            let mut router = router.clone();
            async move {
                let answer = router.call(request.map(Body::new)).await;
                Ok::<_, Infallible>(answer.unwrap_or_else(|never| match never {}))
            }
        });
        let connection = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
        tokio::spawn(connection.with_upgrades());
    }
}

async fn echo(mut socket: WebSocket) {
    while let Some(Ok(message)) = socket.recv().await {
        // Pings and closes are answered below.
        if matches!(message, Message::Text(_) | Message::Binary(_)) && socket.send(message).await.is_err() {
            return;
        }
    }
}
