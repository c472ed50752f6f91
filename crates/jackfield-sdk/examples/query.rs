//! One question, one answer, as it is written: `cargo run --example query -- "What is this folder?"`.
#![allow(clippy::print_stdout)]

use std::error::Error;

use jackfield_api::Body;
use jackfield_sdk::{Options, query};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let prompt = std::env::args().nth(1).unwrap_or_else(|| "What is in this folder?".to_owned());
    let mut query = query(prompt, Options::new(std::env::current_dir()?)).await?;
    while let Some(event) = query.next().await {
        match &event.body {
            Body::MessageChunk(chunk) => print!("{}", chunk.text),
            Body::ToolCall(call) => println!("[{}]", call.tool_title),
            Body::Complete(complete) => {
                let figures = &complete.data;
                println!("\n({} ms, {} tokens written)", figures.duration_ms, figures.output_tokens);
            }
            Body::Error(error) => println!("failed: {}", error.error),
            _ => {}
        }
    }
    Ok(())
}
