//! Following a session of the running host, over as many connections as it takes.
//!
//! A task of its own, so that whoever reads may stop waiting at any time. The one rule it keeps: a new connection
//! begins behind the last event that was handed on.

use jackfield_api::socket::{ClientFrame, Subscribe};
use jackfield_api::{Seq, SessionId};
use tokio::sync::mpsc;

use crate::remote::{Attempts, Remote, Trouble, cut, next, send};
use crate::subscription::{Place, Update};

/// Hands on what happens in a session until it is over or nobody reads.
pub(crate) async fn follow(remote: Remote, id: SessionId, after: Option<Seq>, to: mpsc::Sender<Vec<Update>>) {
    tokio::select! {
        () = to.closed() => {}
        reason = follow_on(&remote, &id, after, &to) => {
            if let Some(reason) = reason {
                // Nobody reads: nobody minds.
                let _ = to.send(vec![Update::Over(reason)]).await;
            }
        }
    }
}

/// Why it is over, unless the reader knows.
async fn follow_on(
    remote: &Remote,
    id: &SessionId,
    after: Option<Seq>,
    to: &mpsc::Sender<Vec<Update>>,
) -> Option<String> {
    let mut place = Place::new(after);
    let mut attempts = Attempts::new();
    loop {
        match connected(remote, id, &mut place, to, &mut attempts).await {
            Ok(()) => return None,
            Err(Trouble::Final(error)) => return Some(error.to_string()),
            Err(Trouble::Lost(error)) => {
                if !attempts.again().await {
                    return Some(remote.unreachable(error).to_string());
                }
            }
        }
    }
}

/// One connection.
async fn connected(
    remote: &Remote,
    id: &SessionId,
    place: &mut Place,
    to: &mpsc::Sender<Vec<Update>>,
    attempts: &mut Attempts,
) -> Result<(), Trouble> {
    let (mut socket, hello) = remote.greet().await?;
    if hello.host_id != remote.host_id() {
        // The numbers of another host mean nothing here.
        *place = Place::new(None);
    }
    let subscribe = Subscribe { session_id: id.clone(), after: place.cursor };
    send(&mut socket, &ClientFrame::Subscribe(subscribe)).await.map_err(cut)?;
    loop {
        let frame = next(&mut socket).await.map_err(cut)?;
        // It is there again: the next loss is another one.
        *attempts = Attempts::new();
        let updates = place.take(frame);
        let updates = updates.map_err(|_| Trouble::Lost(std::io::Error::other("events are missing")))?;
        let over = updates.iter().any(|update| matches!(update, Update::Over(_)));
        if !updates.is_empty() && to.send(updates).await.is_err() || over {
            return Ok(());
        }
    }
}
