//! Pictures and other files in a prompt: `cargo run --example pictures -- picture.png`.
#![allow(clippy::print_stdout)]

use std::error::Error;

use jackfield_api::session::Priority;
use jackfield_sdk::{Callbacks, Options, Session, content};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("which picture?")?;
    // What is no picture is found out here, not by the API in the middle of a conversation.
    let bytes = std::fs::read(&path)?;
    let (format, size) = content::look(&bytes)?;
    println!("{format:?}, {} by {} pixels", size.width, size.height);

    let session = Session::start(Options::new(std::env::current_dir()?), Callbacks::new()).await?;
    let words = format!("What is in this picture? Its notes are in {} too.", content::mention("notes.txt")?);
    // Files are only looked for in the last part of a prompt.
    let prompt = vec![content::picture(&bytes)?, content::text(words)];
    let turn = session.prompt_with(prompt, Priority::Next).await?;
    println!("{}", turn.result().await?.text);
    session.close().await;
    Ok(())
}
