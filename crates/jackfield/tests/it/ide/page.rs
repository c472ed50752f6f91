//! The page as the editor of the real interactive CLI: changes are decided over the contract.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use jackfield_testkit::cli::PINNED_VERSIONS;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};

use super::stage::{Stage, patiently};
use super::terminal::Terminal;
use crate::serve::{Server, answered};

/// `jackfield serve` with the page as an editor.
struct Page {
    _child: Child,
    _data: TempDir,
    data: PathBuf,
    port: String,
}

impl Page {
    async fn serve(stage: &Stage) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("data");
        let workspace = stage.workspace().to_str().unwrap();
        let words = ["serve", "--no-open", "--listen", "127.0.0.1:0", "--ide", workspace, "--data"];
        let mut command = Command::from(stage.jackfield(&words));
        command.arg(&data).stdout(Stdio::piped()).stdin(Stdio::null()).kill_on_drop(true);
        let mut child = command.spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let port = loop {
            let line = patiently("a line", lines.next_line()).await.unwrap().expect("it has ended");
            if let Some(rest) = line.trim().strip_prefix("CLAUDE_CODE_SSE_PORT=") {
                break rest.split(' ').next().unwrap().to_owned();
            }
        };
        Self { _child: child, _data: folder, data, port }
    }

    fn ask(&self, line: &str, body: &Value) -> (u16, Value) {
        ask(&self.data, line, body)
    }

    /// Waits until the page is asked for this.
    async fn shows(&self, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        let shown = async {
            loop {
                let (status, state) = self.ask("GET /api/editor", &Value::Null);
                assert_eq!(status, 200, "{state}");
                if wanted(&state) {
                    return state;
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        patiently(what, shown).await
    }
}

/// The status and the answer, which is nothing if it is no JSON.
fn ask(data: &Path, line: &str, body: &Value) -> (u16, Value) {
    let (status, answer) = answered(data, line, body);
    (status, serde_json::from_str(&answer).unwrap_or_default())
}

/// The model reads a file until the CLI has told it of the editor, and then changes it.
fn an_edit() -> Value {
    let read = json!({ "type": "tool_use", "name": "Read", "input": { "file_path": "/ws/a.txt" } });
    let edit = json!({ "type": "tool_use", "name": "Edit", "input": {
        "file_path": "/ws/a.txt", "old_string": "beta", "new_string": "BETA",
    } });
    json!([
        { "blocks": [{ "type": "text", "text": "Hello there." }] },
        { "blocks": [read] },
        { "blocks": [read] },
        { "gate": "edit", "blocks": [edit] },
        { "gate": "done", "blocks": [{ "type": "text", "text": "Edit finished." }] },
    ])
}

/// The model has proposed a change, and the page was asked to show it.
async fn proposed(version: &str) -> (Stage, Page, Terminal, u64) {
    let stage = Stage::set(an_edit()).await;
    let page = Page::serve(&stage).await;
    let mut command = stage.claude(version, &["--permission-mode", "default"]);
    command.env("CLAUDE_CODE_SSE_PORT", &page.port).env("ENABLE_IDE_INTEGRATION", "true");
    let mut terminal = Terminal::run(&command);
    page.shows("the CLI", |state| state["connected"] == 1).await;
    // It says nowhere when it begins to show changes in the editor; with its second turn it does.
    terminal.prompt("good morning").await;
    terminal.sees("Hello there.").await;
    terminal.prompt("edit it").await;
    patiently("the request", stage.api.gates().reached("edit")).await;
    stage.api.gates().release("edit");
    let state = page.shows("the change", |state| state["diffs"] != json!([])).await;
    let diff = &state["diffs"][0];
    assert_eq!((&diff["added"], &diff["removed"], &diff["new_file"]), (&json!(1), &json!(1), &json!(false)));
    let id = diff["diff_id"].as_u64().unwrap();
    let (status, whole) = page.ask(&format!("GET /api/editor/diffs/{id}"), &Value::Null);
    assert_eq!(status, 200);
    assert_eq!(
        (&whole["old"], &whole["new"]),
        (&json!("alpha\nbeta\ngamma\n"), &json!("alpha\nBETA\ngamma\n"))
    );
    (stage, page, terminal, id)
}

#[tokio::test]
async fn a_change_is_accepted_or_edited_in_the_page() {
    for version in PINNED_VERSIONS {
        for (verdict, written) in [
            (json!({ "accepted": true }), "alpha\nBETA\ngamma\n"),
            (json!({ "accepted": true, "content": "alpha\nMINE\ngamma\n" }), "alpha\nMINE\ngamma\n"),
        ] {
            let (stage, page, _terminal, id) = proposed(version).await;
            let line = format!("PUT /api/editor/diffs/{id}");
            assert_eq!(page.ask(&line, &verdict).0, 204, "{version}");
            assert_eq!(page.ask(&line, &verdict).0, 409, "the first verdict counts");
            patiently("the next request", stage.api.gates().reached("done")).await;
            assert_eq!(stage.file(), written, "{version}");
            page.shows("nothing any more", |state| state["diffs"] == json!([])).await;
        }
    }
}

#[tokio::test]
async fn a_change_is_rejected_in_the_page() {
    for version in PINNED_VERSIONS {
        let (stage, page, mut terminal, id) = proposed(version).await;
        assert_eq!(page.ask(&format!("PUT /api/editor/diffs/{id}"), &json!({ "accepted": false })).0, 204);
        terminal.sees("User rejected update to a.txt").await;
        assert_eq!(stage.file(), "alpha\nbeta\ngamma\n", "{version}");
    }
}

#[tokio::test]
async fn a_change_that_is_decided_in_the_terminal_leaves_the_page() {
    for version in PINNED_VERSIONS {
        let (stage, page, mut terminal, id) = proposed(version).await;
        terminal.press_until("1", stage.api.gates().reached("done")).await;
        assert_eq!(stage.file(), "alpha\nBETA\ngamma\n", "{version}");
        page.shows("nothing any more", |state| state["diffs"] == json!([])).await;
        let (status, refused) =
            page.ask(&format!("PUT /api/editor/diffs/{id}"), &json!({ "accepted": false }));
        assert_eq!((status, &refused["error"]["code"]), (409, &json!("too_late")), "{version}");
    }
}

/// No version opens a file by itself any more: the older one has a function for it that it never calls, the newer one has
/// none. So the model does, by the same server under a name of the user's own.
#[tokio::test]
async fn a_file_that_the_cli_opens_is_shown_in_the_page() {
    for version in PINNED_VERSIONS {
        let input = json!({ "filePath": "/ws/a.txt", "startText": "beta", "makeFrontmost": false });
        let outside = json!({ "filePath": "/etc/passwd" });
        let open =
            |input: &Value| json!({ "type": "tool_use", "name": "mcp__page__openFile", "input": input });
        let stage = Stage::set(json!([
            { "blocks": [open(&input)] },
            { "blocks": [open(&outside)] },
            { "gate": "done", "blocks": [{ "type": "text", "text": "There it is." }] },
        ]))
        .await;
        let page = Page::serve(&stage).await;
        let lock = std::fs::read(stage.lock_folder().join(format!("{}.lock", page.port))).unwrap();
        let lock: Value = serde_json::from_slice(&lock).unwrap();
        let server = json!({
            "type": "ws",
            "url": format!("ws://127.0.0.1:{}", page.port),
            "headers": { "X-Claude-Code-Ide-Authorization": lock["authToken"] },
            // The newer one would let the model search for the tool first.
            "alwaysLoad": true,
        });
        let config = json!({ "mcpServers": { "page": server } }).to_string();
        let words = ["-p", "show it", "--mcp-config", &config, "--allowedTools", "mcp__page__openFile"];
        let mut command = Command::from(stage.claude(version, &words));
        command.stdin(Stdio::null()).stdout(Stdio::null()).kill_on_drop(true);
        let _claude = command.spawn().unwrap();
        let state = page.shows("the file", |state| state["files"] != json!([])).await;
        let file = &state["files"][0];
        assert_eq!(file["path"], json!(stage.workspace().join("a.txt")), "{version}");
        let [start, end] =
            [(1, 0), (1, 4)].map(|(line, character)| json!({ "line": line, "character": character }));
        assert_eq!(file["selection"], json!({ "start": start, "end": end }), "{version}");
        let (status, whole) = page.ask(&format!("GET /api/editor/files/{}", file["file_id"]), &Value::Null);
        assert_eq!((status, &whole["text"]), (200, &json!("alpha\nbeta\ngamma\n")), "{version}");
        patiently("the next request", stage.api.gates().reached("done")).await;
        let request = stage.last_request();
        assert!(request.contains("lineCount"), "{version}: {request}");
        assert!(stage.last_message().contains("is not in the workspace"), "{version}: {request}");
        let (_, state) = page.ask("GET /api/editor", &Value::Null);
        assert_eq!(state["files"].as_array().map(Vec::len), Some(1), "{version}: {state}");
    }
}

#[tokio::test]
async fn a_host_that_is_no_editor_says_so() {
    let data = tempfile::tempdir().unwrap();
    let _server = Server::begin(data.path(), &[], &[]);
    let (status, refused) = ask(data.path(), "GET /api/editor", &Value::Null);
    assert!(status == 404 && refused.to_string().contains("jackfield serve --ide"), "{refused}");
}
