//! A program that lends the model two of its functions: `cargo run --example tools`.
#![allow(clippy::print_stdout)]

use std::error::Error;

use jackfield_api::Body;
use jackfield_sdk::tools::{Hint, ToolError, ToolOutput, Tools, schemars};
use jackfield_sdk::{Callbacks, Options, query_with};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Divide {
    /// What is divided.
    dividend: f64,
    /// What it is divided by.
    divisor: f64,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let tools = Tools::new("calc", "1.0")
        .tool("divide", "Divides two numbers", |input: Divide| async move {
            if input.divisor == 0.0 {
                return Err(ToolError::new("nothing can be divided by zero"));
            }
            Ok(ToolOutput::text((input.dividend / input.divisor).to_string()))
        })
        .hint(Hint::ReadOnly)
        .tool("read_hexadecimal", "Reads a hexadecimal number", |digits: String| async move {
            // Every error becomes one that the model reads.
            let number = u64::from_str_radix(&digits, 16)?;
            ToolOutput::json(&serde_json::json!({"number": number}))
        })
        .hint(Hint::ReadOnly);

    let options = Options::new(std::env::current_dir()?).allow_tool("mcp__calc");
    let prompt = "Divide 355 by 113, and read the hexadecimal ff, with the tools of calc.";
    let mut query = query_with(prompt, options, Callbacks::new().tools(tools)).await?;
    while let Some(event) = query.next().await {
        match &event.body {
            Body::ToolCall(call) => println!("[{}]", call.tool_title),
            Body::MessageChunk(chunk) => print!("{}", chunk.text),
            _ => {}
        }
    }
    println!();
    Ok(())
}
