//! Following a session: several at once, slow ones, ones that come back, ones that come late.

use jackfield_api::command::{Allow, Answer, Interrupt, Verdict};
use jackfield_api::socket::{ClientFrame, ServerFrame};
use jackfield_api::{Body, Seq};
use tokio::net::TcpSocket;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::stage::{Stage, given, prompt};

#[tokio::test(flavor = "multi_thread")]
async fn two_clients_on_one_session_see_equal_events() {
    let stage = Stage::new().await;
    let mut one = stage.client("one").await;
    let id = one.create(&stage).await;
    let mut one = one.follow(&id, Some(Seq(0))).await;
    let mut two = stage.client("two").await.follow(&id, Some(Seq(0))).await;
    one.give(&id, prompt("edit")).await.unwrap();
    for _ in 0..2 {
        let pending_id = two.asked().await;
        two.give(&id, Answer { pending_id, verdict: Verdict::Allow(Allow::default()) }).await.unwrap();
    }
    let end = one.completed().await.seq;
    two.reach(end).await;
    one.reach(two.last()).await;
    two.reach(one.last()).await;
    assert!(one.events.len() > 20 && one.events[0].seq == Seq(1));
    assert_eq!(one.events, two.events);
    stage.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn f10_who_joins_at_any_moment_has_the_whole_in_the_end() {
    let stage = Stage::new().await;
    let mut first = stage.client("first").await;
    let id = first.create(&stage).await;
    let mut first = first.follow(&id, Some(Seq(0))).await;
    first.give(&id, prompt("flood 100")).await.unwrap();
    let (tell, told) = watch::channel(Seq(u64::MAX));
    let mut late = JoinSet::new();
    for number in 0..20 {
        let mut follower = stage.client(&format!("late {number}")).await.follow(&id, None).await;
        let mut told = told.clone();
        late.spawn(async move {
            loop {
                let end = *told.borrow_and_update();
                tokio::select! {
                    _ = told.changed() => {}
                    () = follower.reach(end) => return follower,
                }
            }
        });
    }
    let end = first.completed().await.seq;
    tell.send_replace(end);
    while let Some(follower) = late.join_next().await {
        let mut follower = follower.unwrap();
        first.reach(follower.last()).await;
        follower.reach(first.last()).await;
        let (mut whole, joined) = (first.transcript(), follower.transcript());
        assert_eq!(whole.seq, joined.seq);
        // A snapshot has the last items; the earlier ones are asked for.
        let screen = joined.items.first().unwrap().seq;
        whole.items.retain(|item| item.seq >= screen);
        assert_eq!(whole, joined);
    }
    stage.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_comes_back_with_a_cursor_gets_exactly_the_rest() {
    let stage = Stage::new().await;
    let mut all = stage.client("all").await;
    let id = all.create(&stage).await;
    let mut all = all.follow(&id, Some(Seq(0))).await;
    all.give(&id, prompt("many 3000")).await.unwrap();
    let end = all.completed().await.seq;
    all.reach(end).await;
    for cursor in [0, 1, 2, end.0 / 2, end.0 - 1, end.0] {
        let mut back = stage.client("back").await.follow(&id, Some(Seq(cursor))).await;
        back.reach(end).await;
        assert!(back.begun.is_none(), "no snapshot is needed");
        let from = usize::try_from(cursor).unwrap();
        let upto = usize::try_from(end.0).unwrap();
        assert_eq!(back.events[..upto - from], all.events[from..upto], "after {cursor}");
    }
    stage.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cursor_of_another_host_gets_a_snapshot() {
    let stage = Stage::new().await;
    let mut socket = stage.client("stranger").await;
    let id = socket.create(&stage).await;
    let mut follower = socket.follow(&id, Some(Seq(1_000_000))).await;
    assert!(follower.step().await);
    assert!(follower.begun.is_some());
    stage.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cursor_far_behind_is_told_of_the_gap_and_gets_a_snapshot() {
    let stage = Stage::new().await;
    let mut all = stage.client("all").await;
    let id = all.create(&stage).await;
    let mut all = all.follow(&id, Some(Seq(0))).await;
    all.give(&id, prompt("many 25000")).await.unwrap();
    let end = all.completed().await.seq;

    let mut back = stage.client("back").await;
    back.subscribe(&id, Some(Seq(5))).await;
    let Some(ServerFrame::Gap(gap)) = back.next().await else { panic!("no gap") };
    let Some(ServerFrame::Snapshot(sent)) = back.next().await else { panic!("no snapshot") };
    assert_eq!((gap.from, gap.to), (Seq(6), sent.snapshot.seq));
    assert!(sent.snapshot.seq >= end);
    stage.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn f9_a_slow_reader_stops_nobody_and_catches_up_without_a_hole() {
    let stage = Stage::new().await;
    let mut quick = stage.client("quick").await;
    let id = quick.create(&stage).await;
    let mut quick = quick.follow(&id, Some(Seq(0))).await;
    // So little room that the server cannot put everything into it and forget about it.
    let small = TcpSocket::new_v4().unwrap();
    small.set_recv_buffer_size(8 * 1024).unwrap();
    let bearer = format!("Bearer {}", stage.token);
    let mut slow = stage.connect_with(small, &[("authorization", &bearer)]).await.unwrap();
    slow.greet("slow", None).await;
    let mut slow = slow.follow(&id, Some(Seq(0))).await;

    quick.give(&id, prompt("many 60000")).await.unwrap();
    let end = quick.completed().await.seq;
    assert!(end.0 > 60_000);
    slow.reach(end).await;
    assert!(slow.begun.is_none(), "every event came, no snapshot in their place");
    assert_eq!(slow.events[..60_000], quick.events[..60_000]);
    stage.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_follows_several_sessions_each_in_its_order() {
    let stage = Stage::new().await;
    let mut socket = stage.client("many").await;
    let mut sessions = Vec::new();
    for _ in 0..4 {
        sessions.push(socket.create(&stage).await);
    }
    for id in &sessions {
        socket.subscribe(id, None).await;
        socket.send(&ClientFrame::Command(Box::new(given(Some(id), prompt("flood 5"))))).await;
    }
    let mut last = std::collections::BTreeMap::new();
    let mut completed = 0;
    while completed < sessions.len() {
        completed += socket
            .until(|frame| match frame {
                ServerFrame::Snapshot(sent) => {
                    last.insert(sent.session_id, sent.snapshot.seq.0);
                    None
                }
                ServerFrame::Events(sent) => {
                    let cursor = last.entry(sent.session_id).or_insert(0);
                    let mut over = 0;
                    for event in sent.events {
                        assert_eq!(event.seq.0, *cursor + 1);
                        *cursor = event.seq.0;
                        over += usize::from(matches!(event.body, Body::Complete(_)));
                    }
                    Some(over)
                }
                _ => None,
            })
            .await;
    }
    assert_eq!(last.len(), sessions.len());
    stage.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interrupt_is_not_behind_what_streams() {
    let stage = Stage::new().await;
    let mut socket = stage.client("impatient").await;
    let id = socket.create(&stage).await;
    let mut follower = socket.follow(&id, None).await;
    follower.give(&id, prompt("edit")).await.unwrap();
    follower.asked().await;
    follower.give(&id, Interrupt {}).await.unwrap();
    let end =
        follower.until(|body| matches!(body, Body::PermissionCancelled(_) | Body::PermissionResolved(_)));
    end.await;
    follower.completed().await;
    stage.end().await;
}
