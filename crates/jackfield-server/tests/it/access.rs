//! Who is let in, over real sockets.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt as _;

use jackfield_api::socket::Scope;
use jackfield_server::running::LinkFor;
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Error;

use crate::stage::{Stage, new_id};
use crate::wire::{Answer, ask, ask_local, request};

/// Every route with its methods, from the router's own table.
pub(crate) fn routes() -> Vec<(String, String)> {
    let description = serde_json::to_value(jackfield_server::openapi()).unwrap();
    let mut routes = Vec::new();
    for (path, methods) in description["paths"].as_object().unwrap() {
        for method in methods.as_object().unwrap().keys() {
            // Whatever a part is named, it has an id of its own.
            let parts =
                path.split('/').map(|part| if part.starts_with('{') { new_id() } else { part.to_owned() });
            routes.push((method.to_uppercase(), parts.collect::<Vec<_>>().join("/")));
        }
    }
    assert!(routes.len() > 25, "only {} routes", routes.len());
    routes
}

impl Stage {
    pub(crate) fn own_host(&self) -> String {
        self.address.to_string()
    }

    pub(crate) fn own_origin(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) async fn ask(&self, line: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        let host = self.own_host();
        let with_host: Vec<(&str, &str)> =
            [("host", host.as_str())].into_iter().chain(headers.iter().copied()).collect();
        ask(self.address, request(line, &with_host, body)).await
    }

    pub(crate) async fn log_in(&self, ticket: &str) -> Answer {
        let body = json!({ "ticket": ticket }).to_string();
        let headers = [("content-type", "application/json"), ("origin", &self.own_origin())];
        self.ask("POST /api/login", &headers, &body).await
    }

    /// The cookie and the key of a new login.
    pub(crate) async fn browser(&self) -> (String, String) {
        let answer = self.log_in(&self.ticket()).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        let cookie = answer.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
        (cookie, answer.json()["key"].as_str().unwrap().to_owned())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn s1_every_route_needs_a_secret_and_says_the_same_to_all_who_have_none() {
    let stage = Stage::new().await;
    let wrong = format!("Bearer {}", "A".repeat(43));
    let mut said = BTreeSet::new();
    for (method, path) in routes() {
        let line = format!("{method} {path}");
        let json = ("content-type", "application/json");
        let upgrade = [
            ("connection", "upgrade"),
            ("upgrade", "websocket"),
            ("sec-websocket-version", "13"),
            ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
        ];
        for secret in [None, Some(wrong.as_str()), Some("Bearer"), Some("Basic YTpi")] {
            let mut headers = vec![json];
            headers.extend(upgrade.iter().filter(|_| path == "/api/socket"));
            headers.extend(secret.map(|secret| ("authorization", secret)));
            let body = if path == "/api/login" { r#"{"ticket":"wrong"}"# } else { "" };
            let answer = stage.ask(&line, &headers, body).await;
            if path == "/healthz" {
                assert_eq!(answer.status, 200, "{line}");
            } else {
                assert_eq!(answer.status, 401, "{line} with {secret:?}: {answer:?}");
                said.insert(answer.body);
            }
        }
    }
    assert_eq!(said.len(), 1, "{said:?}");
    stage.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn with_the_token_every_route_is_there() {
    let stage = Stage::new().await;
    let bearer = format!("Bearer {}", stage.token);
    for (method, path) in routes() {
        let headers = [("authorization", bearer.as_str())];
        let answer = stage.ask(&format!("{method} {path}"), &headers, "").await;
        assert!(![401, 403, 405, 421, 500].contains(&answer.status), "{method} {path}: {answer:?}");
        assert!(!answer.body.contains("no such route"), "{method} {path}: {answer:?}");
        let wrong = stage.ask(&format!("PATCH {path}"), &headers, "").await;
        assert_eq!(wrong.status, 405, "{path}: {wrong:?}");
    }
    let nowhere = stage.ask("GET /api/nowhere", &[("authorization", &bearer)], "").await;
    assert_eq!((nowhere.status, nowhere.code().as_str()), (404, "not_found"));
    stage.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s3_a_name_that_is_not_ours_is_refused_before_anything_else() {
    let stage = Stage::new().await;
    let port = stage.address.port();
    let bearer = format!("Bearer {}", stage.token);
    let with = async |hosts: &[&str]| {
        let mut headers = vec![("authorization", bearer.as_str())];
        headers.extend(hosts.iter().map(|host| ("host", *host)));
        ask(stage.address, request("GET /api/desk", &headers, "")).await.status
    };
    for ours in [format!("127.0.0.1:{port}"), format!("localhost:{port}"), format!("[::1]:{port}")] {
        assert_eq!(with(&[&ours]).await, 200, "{ours}");
    }
    for strange in [
        "evil.test".to_owned(),
        format!("evil.test:{port}"),
        "127.0.0.1".to_owned(),
        "localhost:1".to_owned(),
        format!("localhost.evil.test:{port}"),
        format!("localhost:{port}@evil.test"),
        format!("0.0.0.0:{port}"),
        String::new(),
    ] {
        assert_eq!(with(&[&strange]).await, 421, "{strange}");
        // Also for what needs no secret, and for the upgrade.
        for line in ["GET /", "GET /healthz", "GET /api/socket", "POST /api/login"] {
            let answer = ask(stage.address, request(line, &[("host", &strange)], "")).await;
            assert_eq!((answer.status, answer.code().as_str()), (421, "wrong_host"), "{line} {strange}");
        }
    }
    assert_eq!(with(&[]).await, 421, "no host at all");
    let whole = format!("GET http://evil.test:{port}/api/desk");
    assert_eq!(stage.ask(&whole, &[("authorization", &bearer)], "").await.status, 421);
    stage.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s4_a_page_of_another_origin_gets_nothing_also_with_every_secret() {
    let stage = Stage::new().await;
    let port = stage.address.port();
    let bearer = format!("Bearer {}", stage.token);
    let strange = [
        "null".to_owned(),
        String::new(),
        "http://evil.test".to_owned(),
        format!("http://evil.test:{port}"),
        format!("http://localhost.evil.test:{port}"),
        format!("http://127.0.0.1:{port}@evil.test"),
        format!("http://127.0.0.1:{port}.evil.test"),
        format!("https://127.0.0.1:{port}"),
        "http://127.0.0.1:1".to_owned(),
        "http://127.0.0.1".to_owned(),
    ];
    for origin in &strange {
        for line in ["GET /api/desk", "POST /api/commands", "GET /", "POST /api/login"] {
            let headers = [("authorization", bearer.as_str()), ("origin", origin)];
            let answer = stage.ask(line, &headers, "").await;
            assert_eq!((answer.status, answer.code().as_str()), (403, "wrong_origin"), "{line} {origin:?}");
        }
        let refused = stage.connect(&[("authorization", &bearer), ("origin", origin)]).await.err();
        let Some(Error::Http(response)) = refused else { panic!("{origin}: {refused:?}") };
        assert_eq!(response.status(), 403, "{origin}");
    }
    let own = [("authorization", bearer.as_str()), ("origin", &stage.own_origin())];
    assert_eq!(stage.ask("GET /api/desk", &own, "").await.status, 200);
    stage.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s8_of_two_browsers_with_one_link_one_gets_in() {
    let stage = Stage::new().await;
    for round in 0..1_000 {
        let ticket = stage.ticket();
        let (one, other) = tokio::join!(stage.log_in(&ticket), stage.log_in(&ticket));
        let mut answers = [one.status, other.status];
        answers.sort_unstable();
        assert_eq!(answers, [200, 401], "round {round}");
    }
    stage.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s9_a_cookie_alone_is_good_for_nothing() {
    let stage = Stage::new().await;
    let (cookie, key) = stage.browser().await;
    let cookie = ("cookie", cookie.as_str());
    let key_shown = ("x-jackfield-key", key.as_str());
    let origin = stage.own_origin();
    let origin = ("origin", origin.as_str());
    let json = ("content-type", "application/json");
    let body = json!({ "rules": [] }).to_string();

    assert_eq!(stage.ask("GET /api/desk", &[cookie], "").await.status, 401);
    assert_eq!(stage.ask("GET /api/desk", &[key_shown], "").await.status, 401);
    assert_eq!(stage.ask("GET /api/desk", &[cookie, key_shown], "").await.status, 200);
    let put = async |headers: &[(&str, &str)]| stage.ask("PUT /api/rules", headers, &body).await.status;
    assert_eq!(put(&[cookie, key_shown, origin, json]).await, 200);
    assert_eq!(put(&[cookie, origin, json]).await, 401, "no key");
    assert_eq!(put(&[cookie, key_shown, json]).await, 403, "no origin");
    for simple in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"] {
        let kind = ("content-type", simple);
        assert_eq!(put(&[cookie, key_shown, origin, kind]).await, 415, "{simple}");
    }
    let cross = ("sec-fetch-site", "cross-site");
    assert_eq!(put(&[cookie, key_shown, origin, json, cross]).await, 403, "another site");
    stage.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s9_a_websocket_needs_the_key_in_its_first_frame() {
    let stage = Stage::new().await;
    let (cookie, key) = stage.browser().await;
    let origin = stage.own_origin();
    let browser = [("cookie", cookie.as_str()), ("origin", origin.as_str())];
    for wrong in [None, Some("x".to_owned()), Some(stage.token.clone())] {
        let mut socket = stage.connect(&browser).await.unwrap();
        let hello = json!({ "type": "hello", "version": 1, "client": "page", "key": wrong });
        socket.send_text(hello.to_string()).await;
        assert_eq!(socket.end().await, Some(4001), "{wrong:?}");
    }
    let mut socket = stage.connect(&browser).await.unwrap();
    socket.greet("page", Some(key)).await;
    assert_eq!(socket.hello.unwrap().scope, Scope::Admin);
    for without in [vec![], vec![("cookie", cookie.as_str())], vec![("origin", origin.as_str())]] {
        let refused = stage.connect(&without).await.err();
        assert!(matches!(refused, Some(Error::Http(_))), "{without:?}: {refused:?}");
    }
    stage.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s10_every_answer_is_dressed_and_none_has_a_cors_header() {
    let stage = Stage::new().await;
    let bearer = format!("Bearer {}", stage.token);
    let evil = ("origin", "http://evil.test");
    let answers = [
        stage.ask("GET /", &[], "").await,
        stage.ask("GET /any/view/of/the/page", &[], "").await,
        stage.ask("GET /missing.js", &[], "").await,
        stage.ask("GET /healthz", &[], "").await,
        stage.ask("GET /api/desk", &[], "").await,
        stage.ask("GET /api/desk", &[("authorization", &bearer)], "").await,
        stage.ask("GET /api/nowhere", &[("authorization", &bearer)], "").await,
        stage.ask("DELETE /api/desk", &[("authorization", &bearer)], "").await,
        stage.ask("OPTIONS /api/desk", &[evil, ("access-control-request-method", "PUT")], "").await,
        ask(stage.address, request("GET /", &[("host", "evil.test")], "")).await,
    ];
    let statuses: Vec<u16> = answers.iter().map(|answer| answer.status).collect();
    assert_eq!(statuses, [200, 200, 404, 200, 401, 200, 404, 405, 403, 421]);
    for answer in answers {
        let policy = answer.header("content-security-policy").unwrap();
        for word in ["default-src 'none'", "script-src 'self';", "frame-ancestors 'none'", "base-uri 'none'"]
        {
            assert!(policy.contains(word), "{policy}");
        }
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
        assert_eq!(answer.header("cross-origin-opener-policy"), Some("same-origin"));
        assert_eq!(answer.header("cross-origin-resource-policy"), Some("same-origin"));
        assert_eq!(answer.header("referrer-policy"), Some("no-referrer"));
        assert!(answer.header("cache-control").is_some(), "{answer:?}");
        let cors = answer.headers.iter().find(|(name, _)| name.starts_with("access-control-"));
        assert_eq!(cors, None);
    }
    stage.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_login_outlives_a_restart_and_ends_with_its_logout() {
    let mut stage = Stage::new().await;
    let (cookie, key) = stage.browser().await;
    let (name, value) = cookie.split_once('=').unwrap();
    let port = stage.address.port();
    assert_eq!(name, format!("jackfield_{port}"));
    stage.restart().await;
    // Another port is another cookie; the browser of this test knows its value.
    let cookie = format!("jackfield_{}={value}", stage.address.port());
    let origin = stage.own_origin();
    let mut socket = stage.connect(&[("cookie", &cookie), ("origin", &origin)]).await.unwrap();
    socket.greet("page", Some(key.clone())).await;

    let headers = [("cookie", cookie.as_str()), ("x-jackfield-key", &key), ("origin", &origin)];
    let answer = stage.ask("POST /api/logout", &headers, "").await;
    assert_eq!(answer.status, 204);
    assert!(answer.header("set-cookie").unwrap().contains("Max-Age=0"));
    assert_eq!(socket.end().await, Some(4001));
    assert_eq!(stage.ask("GET /api/desk", &headers, "").await.status, 401);
    stage.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s7_a_cookie_is_out_of_reach_of_scripts_and_of_other_sites() {
    let stage = Stage::new().await;
    let answer = stage.log_in(&stage.ticket()).await;
    let cookie = answer.header("set-cookie").unwrap();
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"), "{cookie}");
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    stage.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_unix_socket_needs_no_token_and_gives_links() {
    let stage = Stage::new().await;
    let path = stage.settings.data.join(jackfield_server::SOCKET);
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let token = std::fs::metadata(stage.settings.data.join("token")).unwrap();
    assert_eq!(token.permissions().mode() & 0o777, 0o600);

    let desk = ask_local(&path, request("GET /api/desk", &[("host", "x")], "")).await;
    assert_eq!((desk.status, desk.json()), (200, Value::Array(Vec::new())));
    let browser = ask_local(&path, request("GET /api/desk", &[("host", "x"), ("origin", "null")], "")).await;
    assert_eq!(browser.status, 403);

    let link = jackfield_server::running::link(&stage.settings.data, &LinkFor::default()).await.unwrap();
    let (page, ticket) = link.split_once("#ticket=").unwrap();
    assert_eq!(page, format!("http://{}/", stage.address));
    assert_eq!(stage.log_in(ticket).await.status, 200);
    stage.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s1_an_address_that_others_can_reach_is_refused() {
    let stage = Stage::new().await;
    for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:0"] {
        let folder = stage.settings.data.clone();
        let listen = jackfield_server::Listen::new(address.parse().unwrap(), folder);
        let error = jackfield_server::serve(stage.host.clone(), listen).await.unwrap_err();
        assert!(matches!(error, jackfield_server::ServeError::NotLoopback(_)), "{error}");
    }
    stage.end().await;
}
