//! Behind a real nginx that speaks TLS and serves the page under a path, configured as `docs/security.md` says.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use futures_util::{SinkExt as _, StreamExt as _};
use jackfield_server::Transport;
use jackfield_testkit::cli;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::{WebSocketStream, client_async};

use crate::stage::{PATIENCE, Stage, new_id};
use crate::tls::connector;
use crate::wire::{Answer, exchange, request};

const BASE: &str = "/tools/jackfield";

/// A proxy in front of a server, and the only way to it.
struct Proxy {
    child: Child,
    port: u16,
    certificate: PathBuf,
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The part of nginx's configuration that the documentation shows.
fn documented() -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/security.md");
    let text = std::fs::read_to_string(file).unwrap();
    let (_, rest) = text.split_once("```nginx\n").expect("docs/security.md shows a configuration");
    rest.split_once("```").unwrap().0.to_owned()
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

impl Proxy {
    async fn before(stage: &Stage, port: u16, location: &str) -> Self {
        let program = cli::cache_dir().join("nginx/usr/sbin/nginx");
        assert!(program.exists(), "there is no nginx: run `cargo xtask foreign`");
        // Another server's own certificate is as good as any.
        let other = Stage::listening(|listen| listen.transport = Transport::OwnCertificate).await;
        let folder = stage.folder.path().join("nginx");
        std::fs::create_dir_all(&folder).unwrap();
        for name in ["certificate.pem", "certificate-key.pem"] {
            std::fs::copy(other.settings.data.join(name), folder.join(name)).unwrap();
        }
        other.end().await;
        let at = folder.display();
        let places: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map(|what| format!("{what}_temp_path {at}/{what};\n"))
            .concat();
        let text = format!(
            "daemon off; master_process off; pid {at}/pid; error_log stderr;\nevents {{}}\n\
             http {{ access_log off; {places} server {{ listen 127.0.0.1:{port} ssl;\n\
             ssl_protocols TLSv1.3; ssl_certificate {at}/certificate.pem; ssl_certificate_key {at}/certificate-key.pem;\n\
             {location} }} }}\n"
        );
        let file = folder.join("nginx.conf");
        std::fs::write(&file, text).unwrap();
        let mut command = Command::new(program);
        command.arg("-c").arg(&file).arg("-p").arg(&folder).stdin(Stdio::null());
        let child = command.spawn().unwrap();
        let proxy = Self { child, port, certificate: folder.join("certificate.pem") };
        let listens = async {
            while TcpStream::connect(("127.0.0.1", port)).await.is_err() {
                sleep(std::time::Duration::from_millis(20)).await;
            }
        };
        timeout(PATIENCE, listens).await.expect("nginx listens");
        proxy
    }

    fn origin(&self) -> String {
        format!("https://localhost:{}", self.port)
    }

    async fn connect(&self) -> TlsStream<TcpStream> {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).await.unwrap();
        let name = ServerName::try_from("localhost").unwrap();
        connector(&self.certificate).connect(name, stream).await.unwrap()
    }

    async fn ask(&self, line: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        let host = format!("localhost:{}", self.port);
        let own = [("host", host.as_str())];
        let headers = if headers.iter().any(|(name, _)| *name == "host") {
            headers.to_vec()
        } else {
            [&own, headers].concat()
        };
        exchange(self.connect().await, request(line, &headers, body).as_bytes()).await
    }

    async fn socket(&self, cookie: &str) -> WebSocketStream<TlsStream<TcpStream>> {
        let mut request =
            format!("wss://localhost:{}{BASE}/api/socket", self.port).into_client_request().unwrap();
        request.headers_mut().insert("cookie", cookie.parse().unwrap());
        request.headers_mut().insert("origin", self.origin().parse().unwrap());
        client_async(request, self.connect().await).await.unwrap().0
    }
}

async fn say(socket: &mut WebSocketStream<TlsStream<TcpStream>>, frame: Value) {
    socket.send(Message::text(frame.to_string())).await.unwrap();
}

async fn until(socket: &mut WebSocketStream<TlsStream<TcpStream>>, found: impl Fn(&Value) -> bool) -> Value {
    loop {
        let message = timeout(PATIENCE, socket.next()).await.unwrap().expect("more").unwrap();
        let Message::Text(text) = message else { continue };
        let frame: Value = serde_json::from_str(&text).unwrap();
        if found(&frame) {
            return frame;
        }
    }
}

async fn whole_way(stage: &Stage, proxy: &Proxy) {
    // The page with all its files, and nothing without a secret.
    let page = proxy.ask(&format!("GET {BASE}/"), &[], "").await;
    assert_eq!(page.status, 200);
    let files: Vec<&str> = page.body.split('"').filter(|word| word.starts_with('/')).collect();
    assert!(files.len() >= 3, "{}", page.body);
    for name in files {
        assert!(name.starts_with(&format!("{BASE}/")), "{name}");
        assert_eq!(proxy.ask(&format!("GET {name}"), &[], "").await.status, 200, "{name}");
    }
    let desk = format!("GET {BASE}/api/desk");
    let bearer = format!("Bearer {}", stage.token);
    assert_eq!(proxy.ask(&desk, &[], "").await.status, 401);
    assert_eq!(proxy.ask(&desk, &[("authorization", &bearer)], "").await.status, 200);
    let strange = [("host", "evil.test"), ("x-forwarded-host", "localhost"), ("authorization", &*bearer)];
    assert_eq!(proxy.ask(&desk, &strange, "").await.status, 421);
    assert_eq!(
        proxy.ask("GET /api/desk", &[("authorization", &bearer)], "").await.status,
        404,
        "nginx's own"
    );

    // A browser comes in by its link, over TLS, and talks over a WebSocket.
    let link = stage.serving().link().unwrap();
    let ticket = link.strip_prefix(&format!("{}{BASE}/#ticket=", proxy.origin()));
    let body = json!({ "ticket": ticket.expect("the link leads through the proxy") }).to_string();
    let origin = proxy.origin();
    let headers = [("origin", origin.as_str()), ("content-type", "application/json")];
    let answer = proxy.ask(&format!("POST {BASE}/api/login"), &headers, &body).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    let cookie = answer.header("set-cookie").unwrap();
    assert!(cookie.starts_with("__Host-") && cookie.contains("; Secure"), "{cookie}");
    let cookie = cookie.split_once(';').unwrap().0;
    let key = answer.json()["key"].as_str().unwrap().to_owned();

    let mut socket = proxy.socket(cookie).await;
    let hello = json!({ "type": "hello", "version": jackfield_api::VERSION, "client": "page", "key": key });
    say(&mut socket, hello).await;
    until(&mut socket, |frame| frame["type"] == "hello").await;
    let create =
        json!({ "type": "create_session", "cwd": stage.folder.path(), "origin": "new", "agent": "demo" });
    say(&mut socket, json!({ "type": "command", "id": new_id(), "command": create })).await;
    let created = until(&mut socket, |frame| frame["type"] == "accepted").await;
    let id = created["reply"]["session_id"].as_str().unwrap().to_owned();
    say(&mut socket, json!({ "type": "subscribe", "session_id": id })).await;
    let prompt =
        serde_json::to_value(jackfield_api::Command::from(crate::stage::prompt("many 2000"))).unwrap();
    say(&mut socket, json!({ "type": "command", "id": new_id(), "session_id": id, "command": prompt })).await;
    let is_complete = |frame: &Value| {
        frame["events"].as_array().is_some_and(|all| all.iter().any(|event| event["type"] == "complete"))
    };
    until(&mut socket, is_complete).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs nginx: `cargo xtask foreign` fetches it"]
async fn s9_behind_nginx_under_a_path_everything_works_and_nothing_more_is_let_in() {
    // As documented, with the path taken away; and with the path kept.
    let theirs = "proxy_pass http://127.0.0.1:4180/;";
    for keeps in ["/", ""] {
        let port = free_port();
        let stage = Stage::listening(|listen| {
            listen.names = vec![format!("https://localhost:{port}")];
            BASE.clone_into(&mut listen.base_path);
        })
        .await;
        let ours = format!("proxy_pass http://{}{keeps};", stage.address);
        let documented = documented();
        assert!(documented.contains(theirs) && documented.contains("location /jackfield/"), "{documented}");
        let location =
            documented.replace(theirs, &ours).replace("location /jackfield/", &format!("location {BASE}/"));
        let proxy = Proxy::before(&stage, port, &location).await;
        whole_way(&stage, &proxy).await;
        drop(proxy);
        stage.end().await;
    }
}
