//! The models that the agents offer, as each told them when it last ran.
//!
//! They are asked for before any run is there, so they are kept. The one rule it keeps: a list that was never told is
//! empty, not guessed.

use jackfield_api::command::Agent;
use jackfield_api::host::ModelOffer;

use crate::store::{Store, StoreError};

/// What an agent offered when it last ran.
pub(crate) async fn of(store: &Store, agent: Agent) -> Vec<ModelOffer> {
    // What cannot be read is told again by the next run.
    let kept = store.value(key(agent)).await.ok().flatten();
    kept.and_then(|kept| serde_json::from_str(&kept).ok()).unwrap_or_default()
}

/// An agent offers these now.
pub(crate) async fn heard(store: &Store, agent: Agent, models: &[ModelOffer]) -> Result<(), StoreError> {
    if models.is_empty() || of(store, agent).await == models {
        return Ok(());
    }
    let kept = serde_json::to_string(models);
    let kept = kept.map_err(|source| StoreError::Convert { what: "models of an agent", source })?;
    store.set_value(key(agent), &kept).await
}

fn key(agent: Agent) -> &'static str {
    match agent {
        Agent::Claude => "models:claude",
        Agent::Demo => "models:demo",
    }
}
