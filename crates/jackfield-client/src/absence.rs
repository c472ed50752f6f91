//! Hosts that are away for a while, on a clock that is moved: who watches or follows stays.
//!
//! The host is a script on a socket of its own; what a real one tells is tested elsewhere.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use jackfield_api::socket::{ClientFrame, Scope, SentSessions, ServerFrame, ServerHello};
use jackfield_api::{Seq, VERSION};
use serde_json::json;
use tempfile::TempDir;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::mpsc;
use tokio::time::{Instant, advance, sleep, timeout};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{WebSocketStream, accept_async};

use crate::following::follow;
use crate::remote::{PATIENCE, Remote, SELDOM};
use crate::watching::running;
use crate::{ClientError, Update, Watched};

/// Longer than anybody waits for a host that is away.
const LONG: Duration = PATIENCE.saturating_mul(3);

/// Where a host listens, and whoever looks for it.
struct Place {
    folder: TempDir,
    listener: Option<UnixListener>,
}

impl Place {
    async fn new() -> (Self, Remote) {
        let mut place = Self { folder: tempfile::tempdir().unwrap(), listener: None };
        place.open();
        let folder = place.folder.path().to_owned();
        let (_, remote) = tokio::join!(place.greeted(), async {
            Remote::find(&folder, "tester").await.unwrap().expect("a host")
        });
        (place, remote)
    }

    fn open(&mut self) {
        self.listener = Some(UnixListener::bind(self.folder.path().join("host.sock")).unwrap());
    }

    fn close(&mut self) {
        self.listener = None;
        std::fs::remove_file(self.folder.path().join("host.sock")).unwrap();
    }

    /// A connection on which both have said hello.
    async fn greeted(&self) -> WebSocketStream<UnixStream> {
        let (stream, _) = self.listener.as_ref().unwrap().accept().await.unwrap();
        let mut socket = accept_async(stream).await.unwrap();
        assert!(matches!(heard(&mut socket).await, ClientFrame::Hello(_)));
        let hello = ServerHello {
            version: VERSION,
            server_version: "1".to_owned(),
            host_id: "host".to_owned(),
            scope: Scope::Admin,
            capabilities: Vec::new(),
        };
        tell(&mut socket, ServerFrame::Hello(hello)).await;
        socket
    }

    /// Somebody comes, and is told something.
    async fn told(&self, frame: ServerFrame) -> WebSocketStream<UnixStream> {
        let mut socket = timeout(PATIENCE, self.greeted()).await.expect("nobody comes");
        heard(&mut socket).await;
        tell(&mut socket, frame).await;
        socket
    }
}

async fn heard(socket: &mut WebSocketStream<UnixStream>) -> ClientFrame {
    let text = socket.next().await.unwrap().unwrap().into_text().unwrap();
    serde_json::from_str(&text).unwrap()
}

async fn tell(socket: &mut WebSocketStream<UnixStream>, frame: ServerFrame) {
    socket.send(Message::text(serde_json::to_string(&frame).unwrap())).await.unwrap();
}

fn sessions() -> ServerFrame {
    ServerFrame::Sessions(SentSessions { sessions: Vec::new(), deleted: Vec::new() })
}

/// One event of a session.
fn events(seq: u64) -> ServerFrame {
    let event =
        json!({ "type": "stderr", "seq": seq, "at": 0, "session_id": "one", "turn": null, "text": "" });
    let sent = json!({ "type": "events", "session_id": "one", "events": [event] });
    serde_json::from_value(sent).unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_host_that_is_away_after_a_long_silence_is_waited_for_by_who_watches() {
    let (mut place, remote) = Place::new().await;
    let (to, mut from) = mpsc::channel(4);
    tokio::spawn(running(remote, to));
    for _ in 0..2 {
        let socket = place.told(sessions()).await;
        assert_eq!(from.recv().await.unwrap().unwrap(), Watched::All(Vec::new()));
        advance(LONG).await;
        place.close();
        drop(socket);
        assert_eq!(from.recv().await.unwrap().unwrap(), Watched::Away);
        sleep(PATIENCE / 2).await;
        place.open();
    }
    let _socket = place.told(sessions()).await;
    assert_eq!(
        from.recv().await.unwrap().unwrap(),
        Watched::All(Vec::new()),
        "it is told once that it is away"
    );
}

#[tokio::test(start_paused = true)]
async fn a_host_that_is_away_after_a_long_silence_is_waited_for_by_who_follows() {
    let (mut place, remote) = Place::new().await;
    let (to, mut from) = mpsc::channel(4);
    tokio::spawn(follow(remote, "one".into(), Some(Seq(0)), to));
    let socket = place.told(events(1)).await;
    assert!(matches!(from.recv().await.unwrap()[..], [Update::Event(_)]));
    advance(LONG).await;
    place.close();
    drop(socket);
    sleep(PATIENCE / 2).await;
    place.open();
    let _socket = place.told(events(2)).await;
    assert!(matches!(&from.recv().await.unwrap()[..], [Update::Event(event)] if event.seq == Seq(2)));
}

#[tokio::test(start_paused = true)]
async fn a_host_that_stays_away_is_given_up() {
    let (mut place, remote) = Place::new().await;
    let ((watched, mut told), (followed, mut updates)) = (mpsc::channel(4), mpsc::channel(4));
    tokio::spawn(running(remote.clone(), watched));
    let watching = place.told(sessions()).await;
    tokio::spawn(follow(remote, "one".into(), Some(Seq(0)), followed));
    let following = place.told(events(1)).await;
    told.recv().await.unwrap().unwrap();
    updates.recv().await.unwrap();
    place.close();
    drop((watching, following));
    let lost = Instant::now();
    assert_eq!(told.recv().await.unwrap().unwrap(), Watched::Away);
    assert!(matches!(told.recv().await.unwrap(), Err(ClientError::Unreachable { .. })));
    assert!(matches!(updates.recv().await.unwrap()[..], [Update::Over(_)]));
    let waited = lost.elapsed();
    assert!(waited + SELDOM * 2 > PATIENCE && waited <= PATIENCE, "{waited:?} of {PATIENCE:?}");
    assert!(told.recv().await.is_none() && updates.recv().await.is_none());
}
