//! Browsers that were let in by a link: their names, what they may do, and their end.

use std::time::SystemTime;

use jackfield_api::command::{Allow, Answer, Verdict};
use jackfield_api::socket::Scope;
use jackfield_api::{Body, PendingId};
use jackfield_server::running::{self, LinkFor};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::stage::{PATIENCE, Stage, prompt};
use crate::wire::request;

/// A browser that is logged in.
pub(crate) struct Browser {
    pub(crate) cookie: String,
    pub(crate) key: String,
    pub(crate) scope: Value,
}

impl Stage {
    /// A browser that came in by a link for this scope, under this name.
    pub(crate) async fn device(&self, scope: &str, name: Option<&str>) -> Browser {
        let bearer = format!("Bearer {}", self.token);
        let headers = [("authorization", bearer.as_str()), ("content-type", "application/json")];
        let wanted = json!({ "scope": scope, "name": name }).to_string();
        let made = self.ask("POST /api/tickets", &headers, &wanted).await;
        assert_eq!(made.status, 200, "{made:?}");
        let link = made.json()["link"].as_str().unwrap().to_owned();
        let answer = self.log_in(link.split_once("#ticket=").unwrap().1).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        let cookie = answer.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
        let json = answer.json();
        Browser { cookie, key: json["key"].as_str().unwrap().to_owned(), scope: json["scope"].clone() }
    }

    pub(crate) async fn ask_as(&self, browser: &Browser, line: &str, body: &str) -> crate::wire::Answer {
        let origin = self.own_origin();
        let mut headers = vec![
            ("cookie", browser.cookie.as_str()),
            ("x-jackfield-key", browser.key.as_str()),
            ("origin", origin.as_str()),
        ];
        if !body.is_empty() {
            headers.push(("content-type", "application/json"));
        }
        self.ask(line, &headers, body).await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn s6_a_link_gives_the_scope_it_was_made_for_and_a_client_cannot_say_otherwise() {
    let stage = Stage::new().await;
    for scope in ["view", "answer", "admin"] {
        let browser = stage.device(scope, None).await;
        assert_eq!(browser.scope, scope);
        let origin = stage.own_origin();
        let headers = [("cookie", browser.cookie.as_str()), ("origin", origin.as_str())];
        let mut socket = stage.connect(&headers).await.unwrap();
        // Words that the contract does not have change nothing.
        let hello =
            json!({ "type": "hello", "version": 1, "client": "x", "key": browser.key, "scope": "admin" });
        socket.send_text(hello.to_string()).await;
        let told = socket.next().await.unwrap();
        assert_eq!(serde_json::to_value(told).unwrap()["scope"], scope);
    }
    let bearer = format!("Bearer {}", stage.token);
    let headers = [("authorization", bearer.as_str()), ("content-type", "application/json")];
    let nonsense = stage.ask("POST /api/tickets", &headers, r#"{"scope":"root"}"#).await;
    assert_eq!(nonsense.status, 400, "{nonsense:?}");
    stage.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s6_a_revoked_device_is_out_at_once() {
    let mut stage = Stage::new().await;
    let admin = stage.device("admin", None).await;
    let phone = stage.device("answer", Some("phone")).await;
    let listed = stage.ask_as(&admin, "GET /api/devices", "").await.json();
    let devices = listed["devices"].as_array().unwrap();
    assert_eq!(devices.len(), 2, "{listed}");
    let found = |name: Value| devices.iter().find(|device| device["name"] == name).unwrap();
    let (own, other) = (found(Value::Null), found("phone".into()));
    assert_eq!((&own["scope"], &own["current"]), (&"admin".into(), &true.into()));
    assert_eq!((&other["scope"], &other["current"]), (&"answer".into(), &false.into()));
    assert!(own["created"].as_u64().unwrap() > 1_700_000_000_000, "{listed}");
    assert!(own["last_seen"].as_u64().unwrap() >= own["created"].as_u64().unwrap(), "{listed}");
    let secrets = [admin.cookie.split_once('=').unwrap().1, &*admin.key];
    assert!(secrets.iter().all(|secret| !listed.to_string().contains(*secret)), "{listed}");

    let origin = stage.own_origin();
    let mut socket = stage.connect(&[("cookie", phone.cookie.as_str()), ("origin", &origin)]).await.unwrap();
    socket.greet("page", Some(phone.key.clone())).await;
    let target = format!("DELETE /api/devices/{}", other["id"].as_str().unwrap());
    assert_eq!(stage.ask_as(&phone, &target, "").await.status, 403, "not with its scope");
    assert_eq!(stage.ask_as(&admin, &target, "").await.status, 204);
    assert_eq!(socket.end().await, Some(4001));
    assert_eq!(stage.ask_as(&phone, "GET /api/desk", "").await.status, 401);
    assert_eq!(stage.ask_as(&admin, &target, "").await.status, 404);

    // Over a restart too.
    stage.restart().await;
    let devices = running::devices(&stage.settings.data).await.unwrap();
    let left: Vec<_> = devices.iter().map(|device| (device.name.as_deref(), device.scope)).collect();
    assert_eq!(left, [(None, Scope::Admin)]);
    running::revoke(&stage.settings.data, &devices[0]).await.unwrap();
    assert_eq!(running::devices(&stage.settings.data).await.unwrap(), []);
    stage.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s6_who_follows_lines_hears_nothing_more_when_the_device_is_revoked() {
    let stage = Stage::new().await;
    let mut client = stage.client("test").await;
    let session = client.create(&stage).await;
    let browser = stage.device("admin", Some("laptop")).await;
    let own = (stage.own_host(), stage.own_origin());
    let headers = [
        ("host", own.0.as_str()),
        ("origin", &own.1),
        ("cookie", &browser.cookie),
        ("x-jackfield-key", &browser.key),
    ];
    let mut stream = TcpStream::connect(stage.address).await.unwrap();
    let line = format!("GET /api/sessions/{session}/lines/follow");
    stream.write_all(request(&line, &headers, "").as_bytes()).await.unwrap();
    let mut told = Vec::new();
    while !told.ends_with(b"\r\n\r\n") {
        told.push(timeout(PATIENCE, stream.read_u8()).await.unwrap().unwrap());
    }
    assert!(told.starts_with(b"HTTP/1.1 200 OK"), "{}", String::from_utf8_lossy(&told));

    let devices = running::devices(&stage.settings.data).await.unwrap();
    running::revoke(&stage.settings.data, &devices[0]).await.unwrap();
    let revoked = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_millis();
    let mut rest = String::new();
    timeout(PATIENCE, stream.read_to_string(&mut rest)).await.unwrap().unwrap();
    assert!(rest.ends_with("0\r\n\r\n"), "it ends: {rest}");
    // The CLI may still have been starting: what it was told then had been sent before.
    for line in rest.lines().filter(|line| line.starts_with('{')) {
        let line: Value = serde_json::from_str(line).unwrap();
        assert!(u128::from(line["at"].as_u64().unwrap()) <= revoked, "{line}");
    }
    stage.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s28_a_decision_is_told_by_the_name_of_the_device_not_by_what_it_says() {
    let stage = Stage::new().await;
    let wanted = LinkFor { scope: Some(Scope::Answer), name: Some(" my\tphone\u{202e} ".to_owned()) };
    let link = running::link(&stage.settings.data, &wanted).await.unwrap();
    let login = stage.log_in(link.split_once("#ticket=").unwrap().1).await;
    let cookie = login.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
    let key = login.json()["key"].as_str().unwrap().to_owned();

    let mut owner = stage.client("owner").await;
    let id = owner.create(&stage).await;
    let mut follower = owner.follow(&id, None).await;
    follower.give(&id, prompt("edit")).await.unwrap();
    let pending_id: PendingId = follower.asked().await;

    let origin = stage.own_origin();
    let mut socket = stage.connect(&[("cookie", &cookie), ("origin", &origin)]).await.unwrap();
    socket.greet("the owner", Some(key)).await;
    let answer = Answer { pending_id, verdict: Verdict::Allow(Allow::default()) };
    socket.give(Some(&id), answer).await.unwrap();
    let event = follower.until(|body| matches!(body, Body::PermissionResolved(_))).await;
    let text = serde_json::to_string(&event).unwrap();
    assert!(text.contains("myphone") && !text.contains("the owner"), "{text}");
    stage.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s2_a_token_that_is_taken_away_is_good_no_more_after_a_restart() {
    let mut stage = Stage::new().await;
    let file = stage.settings.data.join("token");
    let desk = async |stage: &Stage, token: &str| {
        stage.ask("GET /api/desk", &[("authorization", &format!("Bearer {token}"))], "").await.status
    };
    let first = stage.token.clone();
    assert_eq!(desk(&stage, &first).await, 200);
    // A restart alone keeps it: programs have it in their settings.
    stage.restart().await;
    assert_eq!(desk(&stage, &first).await, 200);
    std::fs::remove_file(&file).unwrap();
    stage.restart().await;
    assert_eq!(desk(&stage, &first).await, 401);
    let second = std::fs::read_to_string(&file).unwrap().trim().to_owned();
    assert_ne!(second, first);
    assert_eq!(desk(&stage, &second).await, 200);
    stage.end().await;
}
