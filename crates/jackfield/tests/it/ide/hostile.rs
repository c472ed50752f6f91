//! A stranger's page in a real browser, which can reach the port like every program on the machine.

use std::process::Stdio;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::process::Command;

use super::stage::{Stage, a_word, patiently};

/// Tries every way that a page has, with the right token, and tells how it went.
const PAGE: &str = r#"<!doctype html><script>
const port = PORT, token = "TOKEN", tried = {};
const socket = (name, url, words) => new Promise((done) => {
  let opened = false;
  const end = () => { tried[name] = opened; done(); };
  try {
    const socket = new WebSocket(url, words);
    socket.onopen = () => { opened = true; socket.close(); };
    socket.onclose = end;
  } catch { end(); }
});
const request = async (name, options) => {
  try { tried[name] = (await fetch(`http://127.0.0.1:${port}/`, options)).status; } catch { tried[name] = false; }
};
(async () => {
  await socket("plain", `ws://127.0.0.1:${port}/`, ["mcp"]);
  await socket("by_name", `ws://localhost:${port}/`, ["mcp"]);
  await socket("token_in_words", `ws://127.0.0.1:${port}/`, ["mcp", token]);
  await socket("token_in_address", `ws://127.0.0.1:${port}/?authToken=${token}`, ["mcp"]);
  await request("with_header", { headers: { "x-claude-code-ide-authorization": token } });
  await request("posted", { method: "POST", body: "{}" });
  // A page sees nothing of this one; whether something came of it, the server knows.
  await fetch(`http://127.0.0.1:${port}/`, { mode: "no-cors" }).catch(() => {});
  await fetch("/tried", { method: "POST", body: JSON.stringify(tried) });
})();
</script>"#;

/// Answers one request; what was sent to `/tried`, if it was that one.
async fn answer(mut stream: TcpStream, page: &str) -> Option<Value> {
    let mut request = Vec::new();
    let mut chunk = [0; 4096];
    loop {
        let length = stream.read(&mut chunk).await.ok().filter(|length| *length > 0)?;
        request.extend_from_slice(&chunk[..length]);
        let text = String::from_utf8_lossy(&request).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let tried = head.starts_with("POST /tried");
        let told: Option<Value> = serde_json::from_str(body).ok();
        if tried && told.is_none() {
            continue;
        }
        let body = if head.starts_with("GET / ") { page } else { "" };
        let head =
            format!("HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: {}\r\n", body.len());
        let _ = stream.write_all(format!("{head}connection: close\r\n\r\n{body}").as_bytes()).await;
        return told.filter(|_| tried);
    }
}

#[tokio::test]
async fn s1_a_strangers_page_in_a_browser_cannot_connect() {
    let stage = Stage::set(a_word()).await;
    let plugin = stage.plugin(&[]).await;
    let lock = std::fs::read(stage.lock_folder().join(format!("{}.lock", plugin.port()))).unwrap();
    let lock: Value = serde_json::from_slice(&lock).unwrap();
    let page = PAGE.replace("PORT", &plugin.port()).replace("TOKEN", lock["authToken"].as_str().unwrap());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://127.0.0.1:{}/", listener.local_addr().unwrap().port());
    let mut browser = Command::new("chromium");
    browser.args([
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--no-first-run",
    ]);
    let profile = stage.sandbox.places().temporary.join("profile");
    browser.arg(format!("--user-data-dir={}", profile.display())).arg(&address);
    browser.env_clear().envs(stage.sandbox.environment(&stage.api.url())).kill_on_drop(true);
    browser.env("PATH", "/usr/bin:/bin").stdout(Stdio::null()).stderr(Stdio::null());
    let mut browser = browser.spawn().expect("chromium is installed by `cargo xtask test`");
    let tried = async {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            if let Some(tried) = answer(stream, &page).await {
                return tried;
            }
        }
    };
    let tried = patiently("what the page tried", tried).await;
    browser.kill().await.unwrap();
    let nothing = json!({
        "plain": false, "by_name": false, "token_in_words": false, "token_in_address": false,
        "with_header": false, "posted": false,
    });
    assert_eq!(tried, nothing);
    // Nobody was let in at any time: that would have been told.
    assert_eq!(plugin.says_until_its_end().await, Vec::<Value>::new());
}
