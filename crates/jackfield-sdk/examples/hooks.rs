//! A program that looks over the model's shoulder: `cargo run --example hooks`.
//!
//! One hook refuses commands that delete; should it fail, the command is refused as well. Another one tells
//! how long each tool took.
#![allow(clippy::print_stdout)]

use std::error::Error;
use std::time::Duration;

use jackfield_api::Body;
use jackfield_sdk::{Callbacks, OnFailure, Options, query_with};
use jackfield_wire::{
    HookDecision, HookDetail, HookEvent, HookInput, HookOutput, HookReply, HookSpecificOutput,
    PreToolUseOutput,
};

fn refuse(reason: &str) -> HookOutput {
    let output = PreToolUseOutput {
        permission_decision: Some(HookDecision::Deny),
        permission_decision_reason: Some(reason.to_owned()),
        ..PreToolUseOutput::default()
    };
    let hook_specific_output = Some(HookSpecificOutput::PreToolUse(output));
    HookOutput::Now(Box::new(HookReply { hook_specific_output, ..HookReply::default() }))
}

async fn check(input: HookInput) -> Result<HookOutput, String> {
    let HookDetail::PreToolUse(call) = input.detail else { return Ok(HookOutput::default()) };
    let deletes = call.tool_input.get().contains("rm ");
    Ok(if deletes { refuse("nothing is deleted here") } else { HookOutput::default() })
}

async fn report(input: HookInput) -> Result<HookOutput, String> {
    if let HookDetail::PostToolUse(result) = input.detail {
        println!("[{} took {} ms]", result.tool_name, result.duration_ms.unwrap_or_default());
    }
    Ok(HookOutput::default())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let callbacks = Callbacks::new()
        .on_hook(HookEvent::PreToolUse, Some("Bash"), check)
        .within(Duration::from_secs(5))
        .on_failure(OnFailure::Block)
        .on_hook(HookEvent::PostToolUse, None, report);
    let prompt = std::env::args().nth(1).unwrap_or_else(|| "List the files, then delete them.".to_owned());
    let mut query = query_with(prompt, Options::new(std::env::current_dir()?), callbacks).await?;
    while let Some(event) = query.next().await {
        match &event.body {
            Body::MessageChunk(chunk) => print!("{}", chunk.text),
            Body::ToolCall(call) => println!("[{}]", call.tool_title),
            _ => {}
        }
    }
    println!();
    Ok(())
}
