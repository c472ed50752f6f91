//! The conformance suite of MCP's makers on the very handler that CLIs speak with, over HTTP, which the suite can.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use axum::Router;
use jackfield_testkit::programs;
use jackfield_workbench::ToolServer;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::net::TcpListener;
use tokio::process::Command;
use tokio_util::sync::CancellationToken;

use crate::connected::GuestBook;
use crate::diffs::Diffs;
use crate::handler::Handler;
use crate::notices::Notices;
use crate::plain::Plain;
use crate::tools::Bench;
use crate::workspace::Workspace;

/// All that is asked of a server that has tools and nothing else. The other scenarios call tools, prompts and resources
/// of a server that was made for them.
const SCENARIOS: [&str; 5] =
    ["server-initialize", "ping", "tools-list", "server-sse-multiple-streams", "dns-rebinding-protection"];

#[tokio::test]
async fn the_handler_passes_what_the_suite_asks_of_servers_with_tools() {
    let home = tempfile::tempdir().unwrap();
    let workspace = Arc::new(Workspace::open(&[home.path().to_owned()]).unwrap());
    let bench = Arc::new(Bench {
        editor: Arc::new(Plain::new(None, None)),
        notices: Notices::new(Arc::clone(&workspace)),
        workspace,
        diffs: AtomicU64::new(0),
        kernel: None,
    });
    let book = GuestBook::default();
    let handler = move || {
        Ok(ToolServer(Handler {
            name: "Conformance".to_owned(),
            bench: Arc::clone(&bench),
            diffs: Diffs::default(),
            guest: book.enter(1),
            gone: CancellationToken::new(),
        }))
    };
    let sessions = Arc::new(LocalSessionManager::default());
    let service = StreamableHttpService::new(handler, sessions, StreamableHttpServerConfig::default());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://127.0.0.1:{}/mcp", listener.local_addr().unwrap().port());
    let serving = tokio::spawn(async move {
        axum::serve(listener, Router::new().nest_service("/mcp", service)).await.unwrap();
    });
    assert!(programs::conformance().exists(), "run `cargo xtask setup` first");
    for scenario in SCENARIOS {
        let suite = Command::new(programs::node())
            .arg(programs::conformance())
            .args(["server", "--url", &url, "--scenario", scenario])
            .env_clear()
            .env("HOME", home.path())
            .current_dir(home.path())
            .kill_on_drop(true)
            .output();
        let said = suite.await.unwrap();
        let text = String::from_utf8_lossy(&said.stdout);
        assert!(said.status.success(), "{scenario}: {text}{}", String::from_utf8_lossy(&said.stderr));
        // It says so also when it had nothing to check.
        assert!(text.contains("Passed: ") && !text.contains("Passed: 0"), "{scenario}: {text}");
    }
    serving.abort();
}
