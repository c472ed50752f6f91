//! Prompts that wait in the real CLI's queue and are put into another order, judged by what the API is sent.

use jackfield_api::command::{Content, Prompt, ReorderQueued};
use jackfield_api::conversation::Queue;
use jackfield_api::session::Priority;
use jackfield_api::{Body, Uuid};
use jackfield_sdk::{Callbacks, Events, Pace, Session};
use jackfield_testkit::api::Reply;

use super::place::{Place, gated, start, until, with_both_clis};

with_both_clis!(waiting_prompts_reach_the_model_in_their_new_order);

async fn queue(session: &Session, uuid: &str, text: &str) {
    let content = vec![Content::Text { text: text.to_owned() }];
    let prompt = Prompt { uuid: uuid.into(), content, priority: Priority::Next };
    session.command(prompt).await.unwrap();
}

/// The next queue that fits.
async fn queue_where(events: &mut Events, fits: impl Fn(&Queue) -> bool) -> Vec<(Uuid, String)> {
    let told = until(events, |body| matches!(body, Body::Queue(queue) if fits(queue))).await;
    let Body::Queue(queue) = &told.body else { unreachable!() };
    queue.prompts.iter().map(|prompt| (prompt.uuid.clone().unwrap(), prompt.text.clone())).collect()
}

fn texts(queue: &Queue) -> Vec<&str> {
    queue.prompts.iter().map(|prompt| prompt.text.as_str()).collect()
}

async fn waiting_prompts_reach_the_model_in_their_new_order(version: &str) {
    let place = Place::new(version, vec![gated("one two three four", "go"), Reply::text("all of it")]).await;
    let session = start(place.options(), Callbacks::new()).await;
    let mut events = session.events(Pace::Lossless);
    let first = session.prompt("begin").await.unwrap();
    until(&mut events, |body| matches!(body, Body::MessageChunk(_))).await;
    let uuids = [
        "00000000-0000-4000-8000-00000000000a",
        "00000000-0000-4000-8000-00000000000b",
        "00000000-0000-4000-8000-00000000000c",
    ];
    for (uuid, text) in uuids.iter().zip(["apple", "banana", "cherry"]) {
        queue(&session, uuid, text).await;
    }
    // Twice, so that a prompt that was moved is moved again.
    session.command(ReorderQueued { order: vec![uuids[2].into(), uuids[0].into()] }).await.unwrap();
    let waiting = queue_where(&mut events, |queue| texts(queue) == ["cherry", "apple", "banana"]).await;
    let order = vec![waiting[2].0.clone(), waiting[1].0.clone()];
    session.command(ReorderQueued { order }).await.unwrap();
    queue_where(&mut events, |queue| texts(queue) == ["banana", "apple", "cherry"]).await;
    // The CLI reads its lines in order: once it answers this one, it has all prompts.
    session.mcp_status().await.unwrap();
    place.api.gates().release("go");

    let mut entered = Vec::new();
    while entered.len() < 3 {
        let told = until(&mut events, |body| matches!(body, Body::UserMessage(_))).await;
        let Body::UserMessage(message) = &told.body else { unreachable!() };
        if message.text != "begin" {
            entered.push(message.text.clone());
        }
    }
    assert_eq!(entered, ["banana", "apple", "cherry"]);
    first.result().await.unwrap();
    until(&mut events, |body| matches!(body, Body::MessageChunk(chunk) if chunk.text.contains("all"))).await;
    drop(events);
    session.close().await;
    let sent = place.requests().last().unwrap()["messages"].to_string();
    let places = ["banana", "apple", "cherry"].map(|word| {
        assert_eq!(sent.matches(word).count(), 1, "{word} in {sent}");
        sent.find(word).unwrap()
    });
    assert!(places.is_sorted(), "{sent}");
}
