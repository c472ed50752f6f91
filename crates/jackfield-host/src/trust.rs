//! Trust of folders: nothing of an opened folder takes part in a run before a person wants it.
//!
//! What a folder brings is read from its files, shown to a person, and what they say is kept with the folder's
//! real path and the fingerprint of what they were shown. At every start of a run the files are read again. This
//! is not the CLI's own trust dialog, which a CLI without a terminal skips; nothing here asks git, runs a program
//! or believes a file about where the folder belongs.
//!
//! The one rule it keeps: what is trusted is, to the byte, what a person was shown.

mod own;
mod piece;
mod places;
mod reading;
mod remembered;
mod servers;
mod settings;
mod texts;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use jackfield_api::Fingerprint;
use jackfield_api::command::{Agent, CreateSession, Rejection, RejectionCode};
use jackfield_api::permission::Remember;
use jackfield_api::trouble::{Notice, NoticeLevel};
use jackfield_api::trust::{BroughtKind, FolderTrust, FolderVerdicts};
use jackfield_sdk::Trust;

use crate::channel::{gone, reject, run};
use crate::host::{Shared, unreadable};
use own::Own;
pub(crate) use own::is_written;
use piece::{MOST_PIECES, Piece, fingerprint};
use places::Standing;
use reading::Reader;

/// What a person says to a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It may bring what it brings now.
    Trusted,
    /// It may not.
    Untrusted,
}

/// What a folder brings, as it was found.
#[derive(Debug)]
struct Look {
    path: String,
    pieces: Vec<Piece>,
    fingerprint: Fingerprint,
    problem: Option<String>,
    /// What of it a person had written there.
    own: Own,
}

impl Look {
    /// The same, with these known to be a person's own.
    fn knowing(mut self, own: Own) -> Self {
        let others = self.pieces.iter().filter(|piece| !own.contains(&piece.digest));
        self.fingerprint = fingerprint(&self.path, others);
        self.own = own;
        self
    }
}

/// What is in effect for a run, and what there is to be told about it.
#[derive(Debug)]
pub(crate) struct InEffect {
    pub(crate) trust: Trust,
    pub(crate) notice: Option<Notice>,
}

/// A folder, what it brings, and what is remembered of it.
pub(crate) async fn of(shared: &Shared, path: &str) -> Result<FolderTrust, Rejection> {
    let look = look(shared, path).await?;
    let remembered = remembered::read(&shared.store, &look.path).await.map_err(unreadable)?;
    Ok(remembered::compare(look, remembered.as_ref()))
}

/// Remembers what a person says, if the folder still brings what they were shown.
pub(crate) async fn set(
    shared: &Shared,
    path: &str,
    shown: &Fingerprint,
    verdict: Verdict,
) -> Result<FolderTrust, Rejection> {
    let mut look = look(shared, path).await?;
    check(&look, Some(shown), verdict)?;
    if verdict == Verdict::Untrusted && !look.own.is_empty() {
        // Who takes trust back takes it from those rules too.
        own::write(&shared.store, &look.path, &Own::new()).await.map_err(unreadable)?;
        look = look.knowing(Own::new());
    }
    let remembered = remembered::write(&shared.store, &look, verdict).await.map_err(unreadable)?;
    Ok(remembered::compare(look, Some(&remembered)))
}

/// What was said to all folders.
pub(crate) async fn verdicts(shared: &Shared) -> Result<FolderVerdicts, Rejection> {
    Ok(FolderVerdicts { folders: remembered::all(&shared.store).await.map_err(unreadable)? })
}

/// Forgets what was said to a folder, and what is a person's own in it. The folder need not be there.
pub(crate) async fn forget(shared: &Shared, path: &str) -> Result<(), Rejection> {
    own::write(&shared.store, path, &Own::new()).await.map_err(unreadable)?;
    remembered::forget(&shared.store, path).await.map_err(unreadable)
}

/// Keeps in mind what an answer is about to have written into a folder that is trusted, so that it stays trusted.
pub(crate) async fn expect(shared: &Shared, path: &str, remember: &[Remember]) -> Result<(), Rejection> {
    let look = look(shared, path).await?;
    let (folder, remember) = (PathBuf::from(&look.path), remember.to_vec());
    let expected = tokio::task::spawn_blocking(move || own::expected(&folder, &remember)).await;
    let there = look.pieces.iter().map(|piece| piece.digest.clone()).collect();
    let mut own = look.own;
    own::add(&mut own, expected.map_err(|_| gone())?, &there);
    own::write(&shared.store, &look.path, &own).await.map_err(unreadable)
}

/// Binds a session that trusts its folder to what the folder brings now.
pub(crate) async fn bind(shared: &Shared, create: &mut CreateSession) -> Result<(), Rejection> {
    if !create.trusted || create.agent == Some(Agent::Demo) {
        create.fingerprint = None;
        return Ok(());
    }
    let look = look(shared, &create.cwd).await?;
    check(&look, create.fingerprint.as_ref(), Verdict::Trusted)?;
    create.fingerprint = Some(look.fingerprint);
    Ok(())
}

/// What is in effect for a run that is about to start.
pub(crate) async fn for_run(shared: &Shared, create: &CreateSession, run: WhichRun) -> InEffect {
    let untrusted = |notice| InEffect { trust: Trust::Untrusted, notice };
    if create.agent == Some(Agent::Demo) {
        return untrusted(None);
    }
    // If it cannot be told, it is not trusted; a folder that is gone is told of by the start.
    let Ok(found) = of(shared, &create.cwd).await else { return untrusted(None) };
    let bound = create.fingerprint.as_ref().filter(|_| create.trusted);
    if found.problem.is_none() && (found.trusted || bound == Some(&found.fingerprint)) {
        return InEffect { trust: Trust::Trusted, notice: None };
    }
    let warn = |text: String| Some(Notice { level: NoticeLevel::Warning, text });
    let off = "its settings, hooks and servers are off until you look at them and trust it again";
    untrusted(match run {
        _ if found.changed || bound.is_some() => {
            let when = if found.changed { "it was trusted" } else { "this session was made" };
            warn(format!("what this folder brings has changed since {when}; {off}"))
        }
        WhichRun::First if !found.refused => count(&found).map(|counted| Notice {
            level: NoticeLevel::Info,
            text: format!("this folder brings {counted}; all of it is off until you trust the folder"),
        }),
        _ => None,
    })
}

/// Which run of its session one is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WhichRun {
    First,
    Later,
}

fn check(look: &Look, shown: Option<&Fingerprint>, verdict: Verdict) -> Result<(), Rejection> {
    if shown.is_some_and(|shown| *shown != look.fingerprint) {
        let reason = "the folder brings something else than what was shown; look at it again";
        return Err(reject(RejectionCode::NotNow, reason));
    }
    match &look.problem {
        Some(problem) if verdict == Verdict::Trusted => {
            Err(reject(RejectionCode::Forbidden, format!("the folder cannot be trusted: {problem}")))
        }
        _ => Ok(()),
    }
}

/// What a folder brings, in a few words; `None` if it is nothing.
fn count(found: &FolderTrust) -> Option<String> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for brought in &found.brings {
        let word = match brought.kind {
            BroughtKind::Hook => "hooks",
            BroughtKind::McpServer => "MCP servers",
            BroughtKind::Environment => "environment variables",
            BroughtKind::Instructions => continue,
            _ => "other settings",
        };
        *counts.entry(word).or_default() += 1;
    }
    let counted: Vec<String> = counts.iter().map(|(word, count)| format!("{word} ({count})")).collect();
    (!counted.is_empty()).then(|| counted.join(", "))
}

async fn look(shared: &Shared, path: &str) -> Result<Look, Rejection> {
    let (folder, own) = (PathBuf::from(path), run::config_folder(&shared.settings));
    if !folder.is_absolute() {
        return Err(reject(RejectionCode::Invalid, format!("the folder {path} is not an absolute path")));
    }
    let found =
        tokio::task::spawn_blocking(move || read(&folder, own.as_deref())).await.map_err(|_| gone())?;
    let found = found.map_err(|error| {
        reject(RejectionCode::NotFound, format!("cannot look into the folder {path}: {error}"))
    })?;
    let own = own::read(&shared.store, &found.path).await.map_err(unreadable)?;
    Ok(found.knowing(own))
}

/// Reads what a folder brings. The user's own configuration is not the folder's, wherever it lies.
fn read(folder: &Path, own: Option<&Path>) -> io::Result<Look> {
    let real = folder.canonicalize()?;
    if !real.is_dir() {
        return Err(io::ErrorKind::NotADirectory.into());
    }
    let path = real.clone().into_os_string().into_string();
    let path = path.map_err(|_: OsString| io::Error::other("its name is not UTF-8"))?;
    let own = own.and_then(|own| own.canonicalize().ok());
    let mut reader = Reader::default();
    let mut pieces = Vec::new();
    for (place, standing) in places::of(&real) {
        let configuration = place.join(".claude");
        if own.is_none() || configuration.canonicalize().ok() != own {
            if standing == Standing::Itself {
                pieces.extend(
                    reader.file(&configuration.join("settings.json")).iter().flat_map(settings::pieces),
                );
                let tasks = reader.file(&configuration.join("scheduled_tasks.json"));
                pieces.extend(tasks.iter().flat_map(settings::schedule));
            }
            let local = reader.file(&configuration.join("settings.local.json"));
            pieces.extend(local.iter().flat_map(settings::pieces));
            pieces.extend(texts::pieces(&configuration, &mut reader));
        }
        if standing != Standing::Main {
            pieces.extend(reader.file(&place.join(".mcp.json")).iter().flat_map(servers::pieces));
            pieces.extend(texts::instructions(&place));
        }
    }
    let mut problem = reader.problem();
    if pieces.len() > MOST_PIECES {
        problem.get_or_insert_with(|| format!("it brings more than {MOST_PIECES} things"));
        pieces.truncate(MOST_PIECES);
    }
    pieces.sort_by(|a, b| a.order().cmp(&b.order()));
    let fingerprint = fingerprint(&path, &pieces);
    Ok(Look { path, pieces, fingerprint, problem, own: Own::new() })
}

#[cfg(test)]
mod tests;
