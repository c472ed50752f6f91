//! What a session tells beside its events: the lines of the real CLI, the models it offers, how much it may think.

use jackfield_api::command::{Agent, Close, SetThinking};
use jackfield_api::lines::LineDirection;
use jackfield_api::{Body, LineNumber};
use jackfield_testkit::api::Reply;

use crate::stage::{Stage, give, prompt, with_both_clis};

with_both_clis![
    lines_are_kept_with_the_events_that_were_made_of_them,
    s23_secrets_are_taken_out_of_lines,
    the_models_of_the_cli_are_known_after_its_first_run,
    how_much_may_be_thought_is_told_to_everybody_and_kept,
];

async fn lines_are_kept_with_the_events_that_were_made_of_them(version: &str) {
    let stage = Stage::new(version, vec![Reply::text("hello back"), Reply::text("again")]).await;
    let id = stage.session().await;
    let mut follower = stage.follow(&id).await;
    give(&stage.host, Some(&id), prompt("hello there")).await.unwrap();
    let complete = follower.completed().await;

    let kept = stage.host.lines(&id, LineNumber(0)).await.unwrap();
    assert!(!kept.missing);
    let numbers: Vec<u64> = kept.lines.iter().map(|line| line.number.0).collect();
    assert_eq!(numbers, (1..=u64::try_from(numbers.len()).unwrap()).collect::<Vec<_>>());
    assert_eq!(kept.lines[0].direction, LineDirection::ToCli);
    assert!(kept.lines[0].text.contains("initialize"), "{}", kept.lines[0].text);
    let said = kept.lines.iter().find(|line| line.text.contains("hello there")).unwrap();
    assert_eq!(said.direction, LineDirection::ToCli);

    // The result is the line that the end of the turn was made of.
    let of_complete = kept.lines.iter().find(|line| {
        line.first_seq.is_some_and(|first| first <= complete.seq)
            && line.last_seq.is_some_and(|last| complete.seq <= last)
    });
    let of_complete = of_complete.unwrap();
    assert_eq!(of_complete.direction, LineDirection::FromCli);
    assert!(of_complete.text.contains(r#""type":"result""#), "{}", of_complete.text);
    // No event was made of two lines.
    let made: Vec<(u64, u64)> =
        kept.lines.iter().filter_map(|line| Some((line.first_seq?.0, line.last_seq?.0))).collect();
    assert!(made.windows(2).all(|pair| pair[0].1 < pair[1].0), "{made:?}");

    // They outlive their run, and are asked for behind one.
    give(&stage.host, Some(&id), Close {}).await.unwrap();
    follower.until(|body| matches!(body, Body::RunEnded(_))).await;
    give(&stage.host, Some(&id), prompt("once more")).await.unwrap();
    follower.completed().await;
    let later = stage.host.lines(&id, kept.lines.last().unwrap().number).await.unwrap();
    assert!(!later.missing && later.lines.iter().any(|line| line.text.contains("once more")));
    assert!(later.lines.iter().all(|line| line.number > kept.lines.last().unwrap().number));
    stage.host.close().await;
}

async fn s23_secrets_are_taken_out_of_lines(version: &str) {
    let stage = Stage::new(version, vec![Reply::text("ok")]).await;
    let id = stage.session().await;
    let mut follower = stage.follow(&id).await;
    // Built from pieces, so that nothing in this file looks like a secret to others.
    let secret =
        format!("sk-ant-{}", "api03-") + "Ab3dEf6hIj9lMn2pQr5tUv8xYz1bAb3dEf6hIj9lMn2pQr5tUv8xYz1b-_AA";
    give(&stage.host, Some(&id), prompt(&format!("my key is {secret}, keep it"))).await.unwrap();
    follower.completed().await;
    let kept = stage.host.lines(&id, LineNumber(0)).await.unwrap();
    assert!(kept.lines.iter().any(|line| line.text.contains("my key is [redacted]")));
    assert!(kept.lines.iter().all(|line| !line.text.contains(&secret[8..30])));
    stage.host.close().await;
}

async fn the_models_of_the_cli_are_known_after_its_first_run(version: &str) {
    let mut stage = Stage::new(version, vec![Reply::text("ok")]).await;
    let models = async |stage: &Stage| {
        let settings = stage.host.settings().await;
        let claude = settings.agents.into_iter().find(|agent| agent.agent == Agent::Claude);
        claude.unwrap().models
    };
    assert!(models(&stage).await.is_empty(), "nobody told them yet");
    let id = stage.session().await;
    let mut follower = stage.follow(&id).await;
    give(&stage.host, Some(&id), prompt("hello")).await.unwrap();
    follower.completed().await;
    let told = models(&stage).await;
    assert!(told.len() > 1 && told.iter().any(|offer| offer.value == "default"), "{told:?}");
    assert!(told.iter().all(|offer| !offer.value.is_empty() && !offer.name.is_empty()), "{told:?}");
    stage.restart().await;
    assert_eq!(models(&stage).await, told, "they are kept");
    stage.host.close().await;
}

async fn how_much_may_be_thought_is_told_to_everybody_and_kept(version: &str) {
    let mut stage = Stage::new(version, vec![Reply::text("ok")]).await;
    let id = stage.session().await;
    let mut follower = stage.follow(&id).await;
    give(&stage.host, Some(&id), prompt("hello")).await.unwrap();
    follower.completed().await;
    let thinking = async |stage: &Stage| stage.host.session(&id).await.unwrap().unwrap().max_thinking_tokens;
    assert_eq!(thinking(&stage).await, None);
    give(&stage.host, Some(&id), SetThinking { max_thinking_tokens: Some(4_000) }).await.unwrap();
    assert_eq!(thinking(&stage).await, Some(4_000));
    stage.restart().await;
    assert_eq!(thinking(&stage).await, Some(4_000));
    give(&stage.host, Some(&id), SetThinking { max_thinking_tokens: None }).await.unwrap();
    assert_eq!(thinking(&stage).await, None);
    stage.host.close().await;
}
