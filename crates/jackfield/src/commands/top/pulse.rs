//! How fast sessions speak: what their turns say, counted as it comes.
//!
//! Tokens are told only when a turn is over; until then four bytes are taken for one, which is near enough to see who
//! works. The one rule it keeps: only sessions whose turn runs are followed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use jackfield_api::host::SessionSummary;
use jackfield_api::snapshot::SessionState;
use jackfield_api::{Body, SessionId, Timestamp};
use jackfield_client::{Client, Update};
use tokio::task::JoinHandle;

/// How many bytes are taken for a token.
const TOKEN: u64 = 4;

/// The sessions that are followed.
pub(super) struct Pulses {
    host: Client,
    followed: BTreeMap<SessionId, Pulse>,
}

struct Pulse {
    bytes: Arc<AtomicU64>,
    /// What had been said when it was last looked at, and when that was.
    last: (u64, Timestamp),
    task: JoinHandle<()>,
}

impl Drop for Pulse {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Pulses {
    pub(super) fn new(host: Client) -> Self {
        Self { host, followed: BTreeMap::new() }
    }

    /// Tokens per second of each session whose turn runs, since it was last looked at.
    pub(super) fn look<'a>(
        &mut self,
        sessions: impl Iterator<Item = &'a SessionSummary>,
        now: Timestamp,
    ) -> BTreeMap<SessionId, u64> {
        let running = sessions.filter(|session| session.state == SessionState::Running);
        let running: BTreeSet<&SessionId> = running.map(|session| &session.session_id).collect();
        self.followed.retain(|id, _| running.contains(id));
        for id in running {
            if !self.followed.contains_key(id) {
                let pulse = self.follow(id.clone(), now);
                self.followed.insert(id.clone(), pulse);
            }
        }
        let mut rates = BTreeMap::new();
        for (id, pulse) in &mut self.followed {
            let bytes = pulse.bytes.load(Ordering::Relaxed);
            rates.insert(id.clone(), per_second(pulse.last, (bytes, now)));
            pulse.last = (bytes, now);
        }
        rates
    }

    fn follow(&self, id: SessionId, now: Timestamp) -> Pulse {
        let bytes = Arc::new(AtomicU64::new(0));
        let (host, counted) = (self.host.clone(), Arc::clone(&bytes));
        let task = tokio::spawn(async move {
            // One that cannot be followed has no pulse; the list says how it is.
            let Ok(mut updates) = host.subscribe(&id, None).await else { return };
            while let Some(update) = updates.next().await {
                if let Update::Event(event) = update {
                    counted.fetch_add(said(&event.body), Ordering::Relaxed);
                }
            }
        });
        Pulse { bytes, last: (0, now), task }
    }
}

/// How much an event says.
fn said(body: &Body) -> u64 {
    let length = match body {
        Body::MessageChunk(chunk) => chunk.text.len(),
        Body::Reasoning(thought) => thought.reasoning_text.len(),
        _ => 0,
    };
    u64::try_from(length).unwrap_or(u64::MAX)
}

fn per_second(before: (u64, Timestamp), after: (u64, Timestamp)) -> u64 {
    let milliseconds = after.1.0.saturating_sub(before.1.0).max(1);
    after.0.saturating_sub(before.0).saturating_mul(1000) / TOKEN / milliseconds
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_bytes_are_a_token() {
        assert_eq!(per_second((0, Timestamp(0)), (400, Timestamp(500))), 200);
        assert_eq!(per_second((400, Timestamp(500)), (400, Timestamp(1000))), 0);
        assert_eq!(per_second((1, Timestamp(9)), (0, Timestamp(9))), 0);
    }
}
