//! What people said to folders, kept in the store by the folder's real path.

use std::collections::BTreeSet;

use jackfield_api::trust::{FolderTrust, FolderVerdict};
use jackfield_api::{Fingerprint, Timestamp};
use serde::{Deserialize, Serialize};

use super::{Look, Verdict};
use crate::channel::summary::now;
use crate::store::{Store, StoreError};

/// What the names of such settings begin with.
const PREFIX: &str = "trust:";

/// What was said to a folder.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Remembered {
    trusted: bool,
    fingerprint: Fingerprint,
    /// What it brought then, hash by hash.
    brought: BTreeSet<String>,
    /// When that was said; hosts of before did not keep it.
    #[serde(default)]
    decided_at: Option<Timestamp>,
}

/// What was said to all folders, by path.
pub(super) async fn all(store: &Store) -> Result<Vec<FolderVerdict>, StoreError> {
    let kept = store.values(PREFIX).await?.into_iter();
    let understood = kept.filter_map(|(key, kept)| {
        let remembered: Remembered = serde_json::from_str(&kept).ok()?;
        let path = key.strip_prefix(PREFIX)?.to_owned();
        Some(FolderVerdict { path, trusted: remembered.trusted, decided_at: remembered.decided_at })
    });
    Ok(understood.collect())
}

/// Forgets what was said to a folder.
pub(super) async fn forget(store: &Store, path: &str) -> Result<(), StoreError> {
    store.remove_value(&key(path)).await
}

pub(super) async fn read(store: &Store, path: &str) -> Result<Option<Remembered>, StoreError> {
    let kept = store.value(&key(path)).await?;
    // What cannot be understood was never said.
    Ok(kept.and_then(|kept| serde_json::from_str(&kept).ok()))
}

pub(super) async fn write(store: &Store, look: &Look, verdict: Verdict) -> Result<Remembered, StoreError> {
    let remembered = Remembered {
        trusted: verdict == Verdict::Trusted,
        fingerprint: look.fingerprint.clone(),
        brought: look.pieces.iter().map(|piece| piece.digest.clone()).collect(),
        decided_at: Some(now()),
    };
    let kept = serde_json::to_string(&remembered);
    let kept = kept.map_err(|source| StoreError::Convert { what: "trust of a folder", source })?;
    store.set_value(&key(&look.path), &kept).await?;
    Ok(remembered)
}

/// A folder as it is beside what was said to it.
pub(super) fn compare(look: Look, remembered: Option<&Remembered>) -> FolderTrust {
    let same = remembered.is_some_and(|remembered| remembered.fingerprint == look.fingerprint);
    let was_trusted = remembered.is_some_and(|remembered| remembered.trusted);
    let sound = look.problem.is_none();
    let own = look.own;
    let is_new = |digest: &String| {
        let known = |remembered: &Remembered| remembered.brought.contains(digest) || own.contains(digest);
        remembered.is_some_and(|remembered| remembered.trusted && !known(remembered))
    };
    let brings = look.pieces.into_iter().map(|piece| {
        let new = is_new(&piece.digest);
        piece.shown(new)
    });
    FolderTrust {
        trusted: same && was_trusted && sound,
        changed: was_trusted && !(same && sound),
        refused: same && !was_trusted,
        brings: brings.collect(),
        path: look.path,
        fingerprint: look.fingerprint,
        problem: look.problem,
    }
}

fn key(path: &str) -> String {
    format!("{PREFIX}{path}")
}
