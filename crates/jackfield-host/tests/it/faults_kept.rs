//! What the CLI says in trouble, or in words that nobody knows: stored as it was, and told again after a restart.

use jackfield_api::trouble::NoticeLevel;
use jackfield_api::{Body, Event, Seq};
use jackfield_host::Host;
use jackfield_testkit::fake::{Bytes, FakeStep};
use serde_json::json;

use crate::faults_fake::{Faked, stay, turn};
use crate::stage::{Follower, give, prompt};

/// One turn with this in its middle; then the events as another host finds them.
async fn told_again(middle: Vec<FakeStep>) -> (Vec<Event>, Vec<Event>) {
    let mut steps = turn(middle);
    steps.push(stay());
    let faked = Faked::new(steps).await;
    let (id, mut follower) = faked.session().await;
    give(&faked.host, Some(&id), prompt("go")).await.unwrap();
    follower.completed().await;
    faked.host.close().await;
    let live = follower.events.clone();
    let host = Host::open(faked.settings.clone()).await.unwrap();
    let mut again = Follower::new(host.subscribe(&id, Some(Seq(0))).await.unwrap());
    again.completed().await;
    let kept = again.events.clone();
    host.close().await;
    (live, kept)
}

#[tokio::test(flavor = "multi_thread")]
async fn f7_a_transcript_that_the_cli_cannot_write_is_told_and_stored() {
    let lost = json!({
        "type": "system", "subtype": "session_writes_lost", "uuid": "u-lost", "session_id": "s",
        "error": "ENOSPC: no space left on device, write", "lost_session_id": "s",
    });
    let (live, kept) = told_again(vec![FakeStep::Send(lost)]).await;
    for events in [live, kept] {
        let told = events.iter().find_map(|event| match &event.body {
            Body::Notice(notice) if notice.text.contains("ENOSPC") => Some(notice.level),
            _ => None,
        });
        assert_eq!(told, Some(NoticeLevel::Error), "{events:#?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn f20_f21_lines_that_cannot_be_read_or_are_not_known_are_stored_as_they_were() {
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let bad =
        ["{\"type\":\"assistant\",", "no JSON", "{\"type\":\"result\",\"type\":\"result\"", &deep, "1e999"];
    let weather = json!({ "type": "weather", "sunny": true, "of": [1, { "a": "b" }] });
    let mut middle: Vec<FakeStep> =
        bad.iter().map(|line| FakeStep::SendRaw(Bytes::Text(format!("{line}\n")))).collect();
    middle.push(FakeStep::Send(weather.clone()));
    // A byte that is no text, and a NUL, by themselves on a line.
    middle.push(FakeStep::SendRaw(Bytes::Base64("/wAK".to_owned())));
    let (live, kept) = told_again(middle).await;
    assert_eq!(live[..kept.len().min(live.len())], kept[..kept.len().min(live.len())]);
    let malformed: Vec<&str> = kept
        .iter()
        .filter_map(|event| match &event.body {
            Body::Malformed(line) => Some(line.text.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(malformed.len(), bad.len() + 1, "{malformed:?}");
    assert_eq!(malformed[..3], bad[..3]);
    let unknown = kept.iter().find_map(|event| match &event.body {
        Body::Unknown(line) => Some(line.text.clone()),
        _ => None,
    });
    assert_eq!(serde_json::from_str::<serde_json::Value>(&unknown.unwrap()).unwrap(), weather);
}
