//! The floor of an asynchronous SDK: a task that reads typed, owned events and hands them over in batches.
//!
//! No session, no state, no checks, no end of the process tree, one reader. The one rule it keeps: it stays as
//! plain as it is, for a floor that gets clever measures nothing.

use std::path::Path;
use std::process::{ExitCode, Stdio};

use bench_driver::{Peer, Trouble};
use serde::Deserialize;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::mpsc;

const CHUNK: usize = 64 * 1024;
const BATCHES: usize = 8;
const INITIALIZE: &[u8] =
    b"{\"type\":\"control_request\",\"request_id\":\"1\",\"request\":{\"subtype\":\"initialize\"}}\n";
const PROMPT: &[u8] =
    b"{\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":\"Go on.\"},\"parent_tool_use_id\":null}\n";

/// One line, with what a reader of a stream wants of it.
#[derive(Deserialize)]
#[expect(dead_code, reason = "it is delivered, not used")]
struct Message {
    #[serde(rename = "type")]
    kind: String,
    subtype: Option<String>,
    session_id: Option<String>,
    uuid: Option<String>,
    event: Option<StreamEvent>,
    result: Option<String>,
    total_cost_usd: Option<f64>,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "it is delivered, not used")]
struct StreamEvent {
    #[serde(rename = "type")]
    kind: String,
    index: Option<u32>,
    delta: Option<Delta>,
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "it is delivered, not used")]
struct Delta {
    #[serde(rename = "type")]
    kind: Option<String>,
    text: Option<String>,
    thinking: Option<String>,
    partial_json: Option<String>,
}

struct Pipe {
    stdin: ChildStdin,
    batches: mpsc::Receiver<Vec<Message>>,
    _child: Child,
}

impl Pipe {
    async fn until(&mut self, last: &str, mut each: impl FnMut()) -> Result<(), Trouble> {
        loop {
            let batch = self.batches.recv().await.ok_or("the CLI ended")?;
            let mut over = false;
            for message in batch {
                over |= message.kind == last;
                each();
            }
            if over {
                return Ok(());
            }
        }
    }
}

impl Peer for Pipe {
    async fn start(claude: &Path) -> Result<Self, Trouble> {
        let mut child = Command::new(claude)
            .args(["--print", "--verbose", "--output-format", "stream-json", "--input-format", "stream-json"])
            .arg("--include-partial-messages")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()?;
        let stdin = child.stdin.take().ok_or("no standard input")?;
        let stdout = child.stdout.take().ok_or("no standard output")?;
        let (sender, batches) = mpsc::channel(BATCHES);
        tokio::spawn(read(stdout, sender));
        let mut pipe = Self { stdin, batches, _child: child };
        pipe.stdin.write_all(INITIALIZE).await?;
        pipe.until("control_response", || {}).await?;
        Ok(pipe)
    }

    async fn turn(&mut self, each: impl FnMut() + Send) -> Result<(), Trouble> {
        self.stdin.write_all(PROMPT).await?;
        self.until("result", each).await
    }
}

async fn read(mut stdout: ChildStdout, to: mpsc::Sender<Vec<Message>>) -> Result<(), Trouble> {
    let mut buffer = vec![0; CHUNK];
    let mut filled = 0;
    loop {
        let count = stdout.read(&mut buffer[filled..]).await?;
        if count == 0 {
            return Ok(());
        }
        filled += count;
        let mut begun = 0;
        let mut batch = Vec::new();
        for end in memchr::memchr_iter(b'\n', &buffer[..filled]) {
            batch.push(serde_json::from_slice(&buffer[begun..end])?);
            begun = end + 1;
        }
        buffer.copy_within(begun..filled, 0);
        filled -= begun;
        if filled == buffer.len() {
            buffer.resize(buffer.len() * 2, 0);
        }
        if to.send(batch).await.is_err() {
            return Ok(());
        }
    }
}

#[tokio::main]
async fn main() -> ExitCode {
    bench_driver::run::<Pipe>().await
}
