//! A conversation that goes on in other runs: `cargo run --example resume_fork`.
#![allow(clippy::print_stdout)]

use std::error::Error;

use jackfield_sdk::{Callbacks, Options, Session};

async fn ask(session: &Session, prompt: &str) -> Result<String, Box<dyn Error>> {
    Ok(session.prompt(prompt).await?.result().await?.text)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let options = Options::new(std::env::current_dir()?);
    let session = Session::start(options.clone(), Callbacks::new()).await?;
    println!("first: {}", ask(&session, "Think of an animal, and name it.").await?);
    let question = session.prompt("How large is it?").await?;
    let asked = question.uuid().clone();
    println!("second: {}", question.result().await?.text);

    // A copy goes another way; the first conversation knows nothing of it.
    let fork = session.fork().await?;
    println!("fork: {}", ask(&fork, "What does it eat?").await?);
    fork.close().await;

    // The question in other words, as if it had never been asked.
    let rewound = session.rewind(&asked).await?;
    println!("rewound: {}", ask(&rewound, "How old does it get?").await?);
    rewound.close().await;

    // Later, perhaps in another program: the id is all that is needed.
    let id = session.cli_session_id()?;
    session.close().await;
    let resumed = Session::start(options.clone().resume(id.clone()), Callbacks::new()).await?;
    println!("resumed: {}", ask(&resumed, "Say its name once more.").await?);
    resumed.close().await;

    let history = options.history().ok_or("there is a home")?;
    let messages = history.message_uuids(&id)?;
    println!("the conversation has {} messages on disk", messages.len());
    Ok(())
}
