//! Beyond loopback: TLS with a real client, or a refusal.

use std::path::Path;
use std::sync::Arc;

use jackfield_server::{Listen, ServeError, Serving, Transport, serve};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore, crypto};
use tokio_tungstenite::client_async;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;

use crate::stage::Stage;
use crate::wire::{Answer, exchange, request};

/// A client that believes this certificate and no other.
pub(crate) fn connector(certificate: &Path) -> TlsConnector {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(certificate).unwrap()).unwrap();
    let config = ClientConfig::builder_with_provider(Arc::new(crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    TlsConnector::from(Arc::new(config))
}

async fn connect(stage: &Stage, name: &str) -> TlsStream<TcpStream> {
    let certificate = stage.settings.data.join("certificate.pem");
    let stream = TcpStream::connect(("127.0.0.1", stage.address.port())).await.unwrap();
    let name = ServerName::try_from(name.to_owned()).unwrap();
    connector(&certificate).connect(name, stream).await.unwrap()
}

async fn ask(stage: &Stage, line: &str, headers: &[(&str, &str)], body: &str) -> Answer {
    exchange(connect(stage, "localhost").await, request(line, headers, body).as_bytes()).await
}

#[tokio::test(flavor = "multi_thread")]
async fn s1_with_tls_every_address_may_be_served_and_never_without_a_secret() {
    let stage = Stage::listening(|listen| {
        listen.address = "0.0.0.0:0".parse().unwrap();
        listen.transport = Transport::OwnCertificate;
        listen.names = vec!["box.test".to_owned()];
    })
    .await;
    let port = stage.address.port();
    let host = format!("localhost:{port}");
    let bearer = format!("Bearer {}", stage.token);
    let with = [("host", host.as_str()), ("authorization", bearer.as_str())];
    assert_eq!(ask(&stage, "GET /api/desk", &with, "").await.status, 200);
    assert_eq!(ask(&stage, "GET /api/desk", &with[..1], "").await.status, 401);
    let strange = ask(&stage, "GET /api/desk", &[("host", "evil.test"), with[1]], "").await;
    assert_eq!(strange.status, 421);
    let plain = format!("http://{host}");
    let page = ask(&stage, "GET /api/desk", &[with[0], with[1], ("origin", &plain)], "").await;
    assert_eq!(page.status, 403, "a page that came without TLS is another's");

    // The link is for the name, and so is the certificate.
    let link = stage.serving().link().unwrap();
    let ticket = link.strip_prefix(&format!("https://box.test:{port}/#ticket=")).unwrap();
    let (host, origin) = (format!("box.test:{port}"), format!("https://box.test:{port}"));
    let headers = [("host", host.as_str()), ("origin", &origin), ("content-type", "application/json")];
    let body = json!({ "ticket": ticket }).to_string();
    let login = request("POST /api/login", &headers, &body);
    let login = exchange(connect(&stage, "box.test").await, login.as_bytes()).await;
    let set = login.header("set-cookie").unwrap().to_owned();
    assert!(set.starts_with(&format!("__Host-jackfield_{port}=")), "{set}");
    for word in ["; Secure", "; HttpOnly", "; SameSite=Strict", "; Path=/;"] {
        assert!(set.contains(word), "no `{word}`: {set}");
    }
    let cookie = set.split(';').next().unwrap();
    let key = login.json()["key"].as_str().unwrap().to_owned();
    let headers = [("host", host.as_str()), ("cookie", cookie), ("x-jackfield-key", &key)];
    assert_eq!(ask(&stage, "GET /api/desk", &headers, "").await.status, 200);

    // The WebSocket too.
    let mut request = format!("wss://{host}/api/socket").into_client_request().unwrap();
    request.headers_mut().insert("cookie", cookie.parse().unwrap());
    request.headers_mut().insert("origin", origin.parse().unwrap());
    let (_, response) = client_async(request, connect(&stage, "box.test").await).await.unwrap();
    assert_eq!(response.status(), 101);

    let shown = stage.serving().fingerprint().unwrap().to_string();
    let openssl = std::process::Command::new("openssl")
        .args(["x509", "-noout", "-fingerprint", "-sha256", "-in"])
        .arg(stage.settings.data.join("certificate.pem"))
        .output()
        .unwrap();
    assert!(String::from_utf8_lossy(&openssl.stdout).contains(&shown), "{shown}: {openssl:?}");
    stage.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn s1_plain_http_gets_nothing_from_a_server_with_tls() {
    let stage = Stage::listening(|listen| listen.transport = Transport::OwnCertificate).await;
    let mut stream = TcpStream::connect(stage.address).await.unwrap();
    let plain = format!("GET / HTTP/1.1\r\nhost: {}\r\n\r\n", stage.address);
    stream.write_all(plain.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    assert!(!String::from_utf8_lossy(&answer).contains("HTTP"), "{answer:?}");
    stage.end().await;
}

#[tokio::test]
async fn s25_who_begins_tls_and_says_no_more_is_let_go() {
    let stage = Stage::listening(|listen| listen.transport = Transport::OwnCertificate).await;
    let mut silent = TcpStream::connect(stage.address).await.unwrap();
    // The beginning of a first record.
    silent.write_all(&[0x16, 0x03, 0x01, 0x02, 0x00, 0x01]).await.unwrap();
    tokio::time::pause();
    let begun = tokio::time::Instant::now();
    let mut rest = Vec::new();
    let _ = silent.read_to_end(&mut rest).await;
    assert!(begun.elapsed() < std::time::Duration::from_secs(30), "it waited for the stranger's minute");
    assert_eq!(rest, b"");
    tokio::time::resume();
    stage.end().await;
}

async fn tried(stage: &Stage, change: impl FnOnce(&mut Listen)) -> Result<Serving, ServeError> {
    let mut listen = Listen::new("0.0.0.0:0".parse().unwrap(), &stage.settings.data);
    change(&mut listen);
    serve(stage.host.clone(), listen).await
}

#[tokio::test(flavor = "multi_thread")]
async fn s1_without_tls_only_who_says_so_in_so_many_words_serves_other_machines() {
    let stage = Stage::new().await;
    let refused = tried(&stage, |_| {}).await.unwrap_err();
    assert!(matches!(refused, ServeError::NotLoopback(_)), "{refused}");
    let missing = stage.folder.path().join("missing.pem");
    let refused = tried(&stage, |listen| {
        listen.transport = Transport::Certificate { certificate: missing.clone(), key: missing };
    });
    let refused = refused.await.unwrap_err();
    assert!(matches!(refused, ServeError::Tls(_)), "{refused}");
    let refused = tried(&stage, |listen| {
        listen.transport = Transport::OwnCertificate;
        listen.names = vec!["*".to_owned()];
    });
    let refused = refused.await.unwrap_err();
    assert!(matches!(refused, ServeError::Name(_)), "{refused}");

    let plain = Stage::listening(|listen| {
        listen.address = "0.0.0.0:0".parse().unwrap();
        listen.transport = Transport::PlainBeyondLoopback;
    });
    let plain = plain.await;
    let host = format!("127.0.0.1:{}", plain.address.port());
    let get = request("GET /api/desk", &[("host", &host)], "");
    let answer = crate::wire::ask(format!("127.0.0.1:{}", plain.address.port()).parse().unwrap(), get).await;
    assert_eq!(answer.status, 401, "never without a secret");
    plain.end().await;
    stage.end().await;
}
