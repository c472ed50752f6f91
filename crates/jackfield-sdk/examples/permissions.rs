//! Every question of the CLI is put to a person in the terminal: `cargo run --example permissions`.
//!
//! Questions that no callback decides stay open. They come with the other events and may be answered from
//! anywhere, at any time; the first answer counts.
#![allow(clippy::print_stdout)]

use std::error::Error;
use std::io::stdin;

use jackfield_api::Body;
use jackfield_api::command::{Deny, Verdict};
use jackfield_sdk::{Options, query};
use tokio::task::block_in_place;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let prompt = std::env::args().nth(1).unwrap_or_else(|| "Make a file `hello.txt`.".to_owned());
    let mut query = query(prompt, Options::new(std::env::current_dir()?)).await?;
    while let Some(event) = query.next().await {
        match (&event.body, query.session()) {
            (Body::PermissionRequest(request), Some(session)) => {
                println!("{} – may it? [y/n]", request.tool_title);
                let line = block_in_place(|| stdin().lines().next()).transpose()?;
                if line.as_deref() == Some("y") {
                    session.allow(request.pending_id).await?;
                } else {
                    let deny = Deny { message: "the user said no".to_owned(), interrupt: false };
                    session.answer(request.pending_id, Verdict::Deny(deny)).await?;
                }
            }
            (Body::PermissionResolved(resolved), _) => println!("{:?}", resolved.outcome),
            (Body::MessageChunk(chunk), _) => print!("{}", chunk.text),
            _ => {}
        }
    }
    println!();
    Ok(())
}
