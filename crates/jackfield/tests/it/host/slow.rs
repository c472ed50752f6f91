//! A client that does not read.

use tokio::net::TcpSocket;

use super::client::{Socket, prompt};
use super::observe::figures::{ask, samples};
use super::server::{Place, Server, eventually};

/// How many were let go because they did not read, by the host's own figures.
async fn let_go(place: &Place) -> f64 {
    samples(&ask(place, "GET /metrics", "").await.1)["jackfield_slow_readers_total"]
}

/// More than fits into any buffer on the way.
const PIECES: u64 = 150_000;

/// How much of its memory is not in a file, in bytes.
fn memory(server: &Server) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.id())).unwrap();
    let line = status.lines().find(|line| line.starts_with("RssAnon:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
}

fn connections(server: &Server) -> usize {
    let open = std::fs::read_dir(format!("/proc/{}/fd", server.id())).unwrap();
    let targets = open.filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok());
    targets.filter(|target| target.to_string_lossy().starts_with("socket:")).count()
}

#[tokio::test(flavor = "multi_thread")]
async fn f9_who_does_not_read_holds_nobody_up_costs_no_memory_is_closed_and_can_come_back() {
    let place = Place::demo();
    let server = place.serve().await;
    let mut quick = place.client("quick").await;
    // Once without it, so that what the load itself needs is there already.
    let id = quick.create(place.create()).await;
    quick.follow(&id).await;
    quick.give(Some(&id), prompt(&format!("many {PIECES}"))).await.unwrap();
    quick.completed(&id).await;
    let id = quick.create(place.create()).await;
    quick.follow(&id).await;
    let small = TcpSocket::new_v4().unwrap();
    small.set_recv_buffer_size(8 * 1024).unwrap();
    let way = small.connect(server.address).await.unwrap();
    let mut stuck = Socket::network(way, &place.token()).await;
    stuck.greet("stuck").await;
    stuck.follow(&id).await;
    assert!(stuck.step().await.is_some());

    assert!(let_go(&place).await < 0.5);
    let (before, open) = (memory(&server), connections(&server));
    quick.give(Some(&id), prompt(&format!("many {PIECES}"))).await.unwrap();
    let end = quick.completed(&id).await.seq;
    assert!(end.0 > PIECES, "the quick one has it all");
    let sent: usize = quick.events(&id).iter().map(|event| serde_json::to_string(event).unwrap().len()).sum();
    let grown = memory(&server).saturating_sub(before);
    println!("{sent} bytes were sent, the server has grown by {grown}");
    assert!(grown < u64::try_from(sent).unwrap() / 3, "{grown} of {sent} bytes");

    // It is given up. The code stands behind what it has not taken, so it may not come through any more.
    eventually("the connection is given up", || connections(&server) < open).await;
    assert!((let_go(&place).await - 1.0).abs() < 0.5);
    let code = stuck.end().await;
    assert!(matches!(code, Some(1013) | None), "{code:?}");
    let seen = stuck.last(&id);
    assert!(seen < end, "it was closed because it was behind");
    let mut back = place.client("back").await;
    back.log = stuck.log;
    back.follow(&id).await;
    back.reach(&id, end).await;
    assert!(server.stop().await.success());
}
