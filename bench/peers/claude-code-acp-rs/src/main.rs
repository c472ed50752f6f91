//! `claude-code-acp-rs` as a program: what its own `main` does, without the command line.

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    Ok(claude_code_acp::run_acp().await?)
}
