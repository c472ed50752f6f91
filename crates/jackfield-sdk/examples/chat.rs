//! A conversation line by line, until the end of input: `cargo run --example chat`.
#![allow(clippy::print_stdout)]

use std::error::Error;
use std::io::stdin;

use jackfield_sdk::{Callbacks, Options, Session};
use tokio::task::block_in_place;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let session = Session::start(Options::new(std::env::current_dir()?), Callbacks::new()).await?;
    let ready = session.ready();
    println!("Claude Code {}, {} commands", ready.claude.version, ready.answer.commands.len());
    while let Some(line) = block_in_place(|| stdin().lines().next()) {
        // The handle follows the prompt to the end of the turn that takes it.
        let turn = session.prompt(line?).await?;
        let result = turn.result().await?;
        println!("{}", result.text);
        if let Some(error) = result.error {
            println!("failed: {}", error.error);
        }
    }
    session.close().await;
    Ok(())
}
