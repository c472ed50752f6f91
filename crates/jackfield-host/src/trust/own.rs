//! What a person had written into a trusted folder's settings with an answer: theirs, and not the folder's.
//!
//! "Allow this always, in this project" makes the CLI change the very files that trust is about. What it is about to
//! write is known before it does, to the byte, and is kept here; then it is no part of the folder's fingerprint. What
//! the CLI writes otherwise than expected is simply asked about, as any change is. Why so: `docs/adr/0012`.
//!
//! The one rule it keeps: only rules that are added, by somebody who may trust the folder, while it is trusted.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use jackfield_api::permission::{Behavior, Change, Destination, Remember, Rule};
use serde_json::{Value, json};

use super::reading::Found;
use super::{places, settings};
use crate::store::{Store, StoreError};

/// How many are kept of one folder; whatever comes after is asked about.
const MOST: usize = 1_000;

/// The hashes of what is a person's own in a folder.
pub(super) type Own = BTreeSet<String>;

pub(super) async fn read(store: &Store, path: &str) -> Result<Own, StoreError> {
    let kept = store.value(&key(path)).await?;
    Ok(kept.and_then(|kept| serde_json::from_str(&kept).ok()).unwrap_or_default())
}

pub(super) async fn write(store: &Store, path: &str, own: &Own) -> Result<(), StoreError> {
    let kept = serde_json::to_string(own);
    let kept = kept.map_err(|source| StoreError::Convert { what: "rules of a folder", source })?;
    store.set_value(&key(path), &kept).await
}

/// Adds what is expected and not there yet. What is there already came with the folder, and stays a part of it.
pub(super) fn add(own: &mut Own, expected: Own, there: &Own) {
    for digest in expected.into_iter().filter(|digest| !there.contains(digest)) {
        if own.len() < MOST {
            own.insert(digest);
        }
    }
}

/// Whether an answer has the CLI write into the folder.
pub(crate) fn is_written(remember: &Remember) -> bool {
    matches!(remember.destination, Destination::ProjectSettings | Destination::LocalSettings)
}

/// The hashes of what the CLI will add to the folder's settings.
pub(super) fn expected(folder: &Path, remember: &[Remember]) -> Own {
    let mut own = Own::new();
    for remember in remember.iter().filter(|remember| is_written(remember)) {
        let Some(settings) = added(&remember.change) else { continue };
        let bytes = settings.to_string().into_bytes();
        for file in files(folder, remember.destination) {
            let Some(found) = found(&file, bytes.clone()) else { continue };
            own.extend(settings::pieces(&found).into_iter().map(|piece| piece.digest));
        }
    }
    own
}

/// What a change adds, as it will stand in a file; `None` if it does more than add.
fn added(change: &Change) -> Option<Value> {
    let permissions = match change {
        Change::AddRules { rules, behavior } => {
            let name = match behavior {
                Behavior::Allow => "allow",
                Behavior::Deny => "deny",
                Behavior::Ask => "ask",
            };
            json!({ name: rules.iter().map(notation).collect::<Vec<_>>() })
        }
        Change::AddDirectories { directories } => json!({ "additionalDirectories": directories }),
        Change::SetMode { mode } => json!({ "defaultMode": mode }),
        Change::ReplaceRules { .. } | Change::RemoveRules { .. } | Change::RemoveDirectories { .. } => {
            return None;
        }
    };
    Some(json!({ "permissions": permissions }))
}

/// A rule in the CLI's notation.
fn notation(rule: &Rule) -> String {
    match &rule.rule_content {
        None => rule.tool_name.clone(),
        Some(content) => {
            let content = content.replace('\\', "\\\\").replace('(', "\\(").replace(')', "\\)");
            format!("{}({content})", rule.tool_name)
        }
    }
}

/// Where the CLI may write it: the shared file is the folder's own, the other may be that of the repository.
fn files(folder: &Path, destination: Destination) -> Vec<PathBuf> {
    match destination {
        Destination::ProjectSettings => vec![folder.join(".claude/settings.json")],
        Destination::LocalSettings => places::of(folder)
            .into_iter()
            .map(|(place, _)| place.join(".claude/settings.local.json"))
            .collect(),
        _ => Vec::new(),
    }
}

/// The file as it will be found: by its name, and where links lead, also while it is not there yet.
fn found(file: &Path, bytes: Vec<u8>) -> Option<Found> {
    let real = fs::canonicalize(file).or_else(|_| {
        let folder = file.parent().map(fs::canonicalize);
        let folder = folder.unwrap_or_else(|| Err(std::io::ErrorKind::NotFound.into()));
        folder.map(|folder| folder.join(file.file_name().unwrap_or_default()))
    });
    let real = real.unwrap_or_else(|_| file.to_owned());
    Some(Found { named: file.to_str()?.to_owned(), real: real.to_str()?.to_owned(), bytes })
}

fn key(path: &str) -> String {
    format!("trust-own:{path}")
}
