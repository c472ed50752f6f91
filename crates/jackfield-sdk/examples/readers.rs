//! Several readers of one session, each at its own pace: `cargo run --example readers`.
//!
//! The first must not miss a word, so the session waits for it. The second only wants to know what goes on:
//! if it is too slow, it is told what it has missed. A third one comes later and begins behind a snapshot.
#![allow(clippy::print_stdout)]

use std::error::Error;

use jackfield_api::Body;
use jackfield_sdk::{Callbacks, Options, Pace, Session};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let session = Session::start(Options::new(std::env::current_dir()?), Callbacks::new()).await?;

    let mut words = session.events(Pace::Lossless);
    let writing = tokio::spawn(async move {
        let mut text = String::new();
        while let Some(event) = words.next().await {
            if let Body::MessageChunk(chunk) = &event.body {
                text.push_str(&chunk.text);
            }
        }
        text
    });
    let mut news = session.events(Pace::Lossy);
    let counting = tokio::spawn(async move {
        let (mut seen, mut missed) = (0_u64, 0);
        while let Some(event) = news.next().await {
            match &event.body {
                Body::Gap(gap) => missed += gap.to.0 - gap.from.0 + 1,
                _ => seen += 1,
            }
        }
        (seen, missed)
    });

    session.prompt("Tell me a short story.").await?.result().await?;
    let snapshot = session.snapshot().await.ok_or("the session keeps a transcript")?;
    let mut late = session.events_after(snapshot.seq, Pace::Lossless);
    println!("a snapshot of {} items, at event {}", snapshot.items.len(), snapshot.seq);
    session.close().await;

    let first = late.next().await.ok_or("the end is an event too")?;
    println!("the late reader begins with event {} ({})", first.seq, first.body.tag());
    println!("the first reader has the whole text: {}", writing.await?);
    let (seen, missed) = counting.await?;
    println!("the second has seen {seen} events and missed {missed}");
    Ok(())
}
