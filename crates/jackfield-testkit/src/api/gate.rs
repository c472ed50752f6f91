//! Gates: named points at which a reply stops until the test lets it go on.
//!
//! A gate is not a delay. The one rule it keeps: reaching and releasing are remembered, so neither side
//! can come too early, and whoever waits at a gate that is already open goes straight through.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::watch;

/// All gates of one scripted API; cheap to clone, every clone is the same set.
#[derive(Debug, Clone, Default)]
pub struct Gates {
    by_name: Arc<Mutex<BTreeMap<String, watch::Sender<Passage>>>>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Passage {
    reached: bool,
    released: bool,
}

impl Gates {
    /// Lets the reply at this gate go on, now or when it comes.
    pub fn release(&self, name: &str) {
        self.gate(name).send_modify(|passage| passage.released = true);
    }

    /// Waits until a reply stands (or stood) at this gate.
    pub async fn reached(&self, name: &str) {
        let mut passage = self.gate(name).subscribe();
        // The sender lives as long as `self`, so this only ends with the condition.
        let _ = passage.wait_for(|passage| passage.reached).await;
    }

    /// Stands at the gate until it is released.
    pub(super) async fn pass(&self, name: &str) {
        let gate = self.gate(name);
        gate.send_modify(|passage| passage.reached = true);
        let mut passage = gate.subscribe();
        let _ = passage.wait_for(|passage| passage.released).await;
    }

    fn gate(&self, name: &str) -> watch::Sender<Passage> {
        let mut by_name = self.by_name.lock().unwrap_or_else(PoisonError::into_inner);
        by_name.entry(name.to_owned()).or_default().clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_gate_released_early_lets_the_reply_through() {
        let gates = Gates::default();
        gates.release("early");
        gates.pass("early").await;
        gates.reached("early").await;
    }

    #[tokio::test]
    async fn a_reply_stands_at_the_gate_until_it_is_released() {
        let gates = Gates::default();
        let at_gate = tokio::spawn({
            let gates = gates.clone();
            async move { gates.pass("middle").await }
        });
        gates.reached("middle").await;
        assert!(!at_gate.is_finished());
        gates.release("middle");
        assert!(at_gate.await.is_ok());
    }
}
