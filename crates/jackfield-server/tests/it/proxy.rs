//! Behind a proxy that serves the page under a path of its own.

use jackfield_server::Listen;
use serde_json::json;

use crate::stage::Stage;
use crate::wire::{ask, request};

fn behind(listen: &mut Listen) {
    listen.names = vec!["https://example.org".to_owned()];
    "/tools/jackfield".clone_into(&mut listen.base_path);
}

#[tokio::test(flavor = "multi_thread")]
async fn below_a_base_path_everything_is_there_with_it_and_without_it() {
    let stage = Stage::listening(behind).await;
    let bearer = format!("Bearer {}", stage.token);
    let headers = [("host", "example.org"), ("authorization", bearer.as_str())];
    for base in ["", "/tools/jackfield"] {
        for (path, status) in [
            ("/healthz", 200),
            ("/api/desk", 200),
            ("/api/sessions?limit=1", 200),
            ("/api/nowhere", 404),
            ("/", 200),
            ("/some/view", 200),
            ("/missing.js", 404),
        ] {
            let answer = ask(stage.address, request(&format!("GET {base}{path}"), &headers, "")).await;
            assert_eq!(answer.status, status, "{base}{path}: {answer:?}");
        }
    }
    // The path is compared whole.
    for (path, status) in
        [("/tools/jackfield", 200), ("/tools/jackfield?x", 200), ("/tools/jackfieldapi/desk.json", 404)]
    {
        let answer = ask(stage.address, request(&format!("GET {path}"), &headers, "")).await;
        assert_eq!(answer.status, status, "{path}");
    }
    // No way around the secret.
    for path in ["/tools/jackfield/api/desk", "/tools/jackfield//api/desk", "/tools/jackfield/./api/desk"] {
        let answer = ask(stage.address, request(&format!("GET {path}"), &headers[..1], "")).await;
        assert!(answer.status != 200 || answer.body.starts_with("<!doctype html>"), "{path}: {answer:?}");
    }
    stage.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_page_names_its_files_below_the_base_path() {
    let stage = Stage::listening(behind).await;
    let get = async |path: &str| {
        ask(stage.address, request(&format!("GET {path}"), &[("host", "example.org")], "")).await
    };
    let page = get("/tools/jackfield/").await;
    let names: Vec<&str> = page.body.split('"').filter(|word| word.starts_with('/')).collect();
    assert!(names.len() >= 3, "{}", page.body);
    for name in names {
        assert!(name.starts_with("/tools/jackfield/"), "{name}");
        assert_eq!(get(name).await.status, 200, "{name}");
    }
    let manifest = get("/tools/jackfield/manifest.webmanifest").await.json();
    assert_eq!(manifest["start_url"], "/tools/jackfield/");
    stage.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s9_a_link_leads_through_the_proxy_and_nothing_that_was_forwarded_is_believed() {
    let stage = Stage::listening(behind).await;
    let link = stage.serving().link().unwrap();
    let ticket = link.strip_prefix("https://example.org/tools/jackfield/#ticket=").unwrap();
    let body = json!({ "ticket": ticket }).to_string();
    let log_in = async |headers: &[(&str, &str)]| {
        let headers = [headers, &[("content-type", "application/json")]].concat();
        ask(stage.address, request("POST /tools/jackfield/api/login", &headers, &body)).await
    };
    let forwarded = [
        ("x-forwarded-host", "example.org"),
        ("x-forwarded-proto", "https"),
        ("forwarded", "host=example.org;proto=https"),
        ("x-original-host", "example.org"),
    ];
    let strange = [&[("host", "evil.test")], forwarded.as_slice()].concat();
    assert_eq!(log_in(&strange).await.status, 421);
    let plain = [("host", "example.org"), ("origin", "http://example.org")];
    assert_eq!(log_in(&plain).await.status, 403, "the proxy speaks TLS");
    let answer = log_in(&[("host", "example.org"), ("origin", "https://example.org")]).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let cookie = answer.header("set-cookie").unwrap();
    assert!(cookie.starts_with("__Host-") && cookie.contains("; Secure"), "{cookie}");

    // Who is on this machine needs no proxy, and is not taken for one behind it.
    let host = stage.own_host();
    let body = json!({ "ticket": stage.ticket() }).to_string();
    let headers =
        [&[("host", host.as_str()), ("content-type", "application/json")], forwarded.as_slice()].concat();
    let answer = ask(stage.address, request("POST /api/login", &headers, &body)).await;
    let cookie = answer.header("set-cookie").unwrap();
    assert!(cookie.starts_with("jackfield_") && !cookie.contains("Secure"), "{cookie}");
    stage.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s5_a_forwarded_address_makes_nobody_another_peer() {
    let stage = Stage::new().await;
    let host = stage.own_host();
    let mut last = 0;
    for n in 0..11 {
        let address = format!("192.0.2.{n}");
        let headers = [("host", host.as_str()), ("x-forwarded-for", &address), ("x-real-ip", &address)];
        let peer = std::net::Ipv4Addr::new(127, 0, 0, 8);
        last =
            crate::wire::ask_from(peer, stage.address, request("GET /api/desk", &headers, "")).await.status;
    }
    assert_eq!(last, 429);
    stage.end().await;
}
