//! First a plan, then the work: `cargo run --example plan -- "Add a license file."`.
//!
//! Until the plan is agreed on, nothing is changed. Afterwards edits are accepted, and whatever else is asked
//! about stays open until the program ends; a real one would ask somebody.
#![allow(clippy::print_stdout)]

use std::error::Error;
use std::io::stdin;

use jackfield_api::Body;
use jackfield_api::command::{Allow, Deny, Verdict};
use jackfield_api::permission::{Change, Destination, PermissionKind, PermissionRequest, Remember};
use jackfield_sdk::policy::Policy;
use jackfield_sdk::{Callbacks, Options, query_with};
use tokio::task::block_in_place;

async fn decide(request: PermissionRequest) -> Option<Verdict> {
    if request.kind != PermissionKind::Plan {
        return None;
    }
    println!("\nthe plan:\n{}\ngo? [y/n]", request.plan.unwrap_or_default());
    let line = block_in_place(|| stdin().lines().next()).transpose().ok()?;
    if line.as_deref() != Some("y") {
        let message = "think again".to_owned();
        return Some(Verdict::Deny(Deny { message, interrupt: false }));
    }
    let change = Change::SetMode { mode: "acceptEdits".to_owned() };
    let remember = vec![Remember { destination: Destination::Session, change }];
    Some(Verdict::Allow(Allow { input: None, remember }))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let options = Options::new(std::env::current_dir()?);
    let (options, callbacks) = Policy::Plan.apply(options, Callbacks::new().on_permission(decide));
    let prompt = std::env::args().nth(1).unwrap_or_else(|| "Add a license file.".to_owned());
    let mut query = query_with(prompt, options, callbacks).await?;
    while let Some(event) = query.next().await {
        match &event.body {
            Body::MessageChunk(chunk) => print!("{}", chunk.text),
            Body::ModeChanged(changed) => println!("[now in mode {}]", changed.permission_mode),
            Body::FileUpdated(file) => print!("\n{}", file.diff),
            _ => {}
        }
    }
    println!();
    Ok(())
}
