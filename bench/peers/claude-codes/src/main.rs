//! The driver of `claude-codes`: its asynchronous client, as its documentation shows it.
//!
//! The builder has no switch for partial messages, so the flag is added to the command that it builds.

use std::path::Path;
use std::process::ExitCode;

use bench_driver::{Peer, Trouble};
use claude_codes::{AsyncClient, ClaudeCliBuilder, ClaudeInput, ClaudeOutput};

struct Client(AsyncClient);

impl Peer for Client {
    async fn start(claude: &Path) -> Result<Self, Trouble> {
        let mut command = ClaudeCliBuilder::new().command(claude).build_command()?;
        let child = command.arg("--include-partial-messages").kill_on_drop(true).spawn()?;
        let mut client = AsyncClient::new(child)?;
        // This is how it sends `initialize`.
        client.enable_tool_approval().await?;
        Ok(Self(client))
    }

    async fn turn(&mut self, mut each: impl FnMut() + Send) -> Result<(), Trouble> {
        self.0.send(&ClaudeInput::user_message("Go on.", Default::default())).await?;
        loop {
            let message = self.0.receive().await?;
            each();
            if matches!(message, ClaudeOutput::Result(_)) {
                return Ok(());
            }
        }
    }
}

#[tokio::main]
async fn main() -> ExitCode {
    bench_driver::run::<Client>().await
}
