//! The sessions the CLI keeps on disk: list, read, import, rename, tag, delete.
//!
//! The files are the CLI's, and no CLI is needed to look at them. What is written here is what the CLI itself
//! writes for the same purpose, so that it finds it again; but a CLI that runs has its own memory of title
//! and tag and repeats it into the file, so a live session is renamed by asking it. Everything here blocks.
//!
//! The one rule it keeps: ids are UUIDs, and below the CLI's `projects` folder no symbolic link is followed,
//! so nothing outside is read, changed or removed.

mod branch;
mod facts;
mod files;
mod import;
mod kinds;
mod known;
mod lines;
mod spent;
mod summary;

use std::io;
use std::path::{Path, PathBuf};

use jackfield_api::{Event, Seq, Timestamp};
use jackfield_wire::{SessionId, TranscriptEntry, Uuid};

pub use crate::history::branch::Conversation;
use crate::history::files::Files;
pub(crate) use crate::history::files::is_session_id;
pub use crate::history::import::After;
use crate::history::import::Import;
pub use crate::history::known::Known;

/// The sessions below one configuration folder of the CLI (`~/.claude`, or `$CLAUDE_CONFIG_DIR`).
#[derive(Debug, Clone)]
pub struct History {
    files: Files,
}

/// What a list of sessions shows.
///
/// Only the beginning and the end of a large file are read: what stands in neither is absent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionSummary {
    /// The CLI's id.
    pub id: SessionId,
    /// The folder it was started in.
    pub cwd: Option<String>,
    /// The title a person gave it, or else the one the CLI made.
    pub title: Option<String>,
    /// The tag a person gave it.
    pub tag: Option<String>,
    /// The beginning of the first prompt, or the first command when there is no other prompt.
    pub first_prompt: Option<String>,
    /// The last prompt.
    pub last_prompt: Option<String>,
    /// How many lines of messages it has, those of abandoned branches too; absent for a large file.
    pub messages: Option<usize>,
    /// When it was begun.
    pub created: Option<Timestamp>,
    /// When its file was last written.
    pub modified: Timestamp,
    /// The branch of the repository, at the end.
    pub git_branch: Option<String>,
    /// The version of the CLI, at the end.
    pub version: Option<String>,
    /// The size of its file in bytes.
    pub size: u64,
}

/// What a subagent did.
#[derive(Debug, Clone, PartialEq)]
pub struct Subagent {
    /// The CLI's name for it: the part of the file's name after `agent-`.
    pub name: String,
    /// Its lines.
    pub entries: Vec<TranscriptEntry>,
}

/// Why a session on disk could not be looked at or changed.
#[derive(Debug, thiserror::Error)]
pub enum HistoryError {
    /// The id is not one the CLI gives.
    #[error("cannot look for session {0:?}: its id is not a UUID")]
    NotAnId(SessionId),
    /// There is no such session.
    #[error("cannot find session {id} below {}", folder.display())]
    NotFound {
        /// The session.
        id: SessionId,
        /// Where it was looked for.
        folder: PathBuf,
    },
    /// A title must say something.
    #[error("cannot rename session {0}: the title is empty")]
    EmptyTitle(SessionId),
    /// The file system refused.
    #[error("cannot {doing} {}: {source}", path.display())]
    File {
        /// What was being done.
        doing: &'static str,
        /// With what.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
}

impl History {
    /// The sessions below this configuration folder. Nothing is read yet, and the folder may be missing.
    pub fn new(config: impl Into<PathBuf>) -> Self {
        Self { files: Files::new(config.into()) }
    }

    /// All sessions, the last written first.
    pub fn list(&self) -> Result<Vec<SessionSummary>, HistoryError> {
        let folders = self.files.project_folders()?;
        Ok(summaries(&folders))
    }

    /// The sessions that were started in this folder, the last written first.
    pub fn list_of(&self, cwd: &Path) -> Result<Vec<SessionSummary>, HistoryError> {
        let cwd = cwd.to_string_lossy();
        let folders = self.files.project_folders_of(&cwd)?;
        let mut sessions = summaries(&folders);
        // Several folders can have one name on disk.
        sessions.retain(|session| session.cwd.as_deref().is_none_or(|own| own == cwd));
        Ok(sessions)
    }

    /// What a list would show of this session.
    pub fn summary(&self, id: &SessionId) -> Result<SessionSummary, HistoryError> {
        Ok(summary::read(id, &self.files.find(id)?))
    }

    /// The conversation as the CLI would resume it, and beside it everything else in the file.
    pub fn read(&self, id: &SessionId) -> Result<Conversation, HistoryError> {
        let lines = files::lines(&self.files.find(id)?)?;
        Ok(Conversation::arrange(lines))
    }

    /// The ids of the messages of the conversation in their order: what can be resumed at or rewound to.
    pub fn message_uuids(&self, id: &SessionId) -> Result<Vec<Uuid>, HistoryError> {
        let uuid = |entry| match entry {
            TranscriptEntry::User(entry) if !entry.is_meta => entry.uuid,
            TranscriptEntry::Assistant(entry) => entry.uuid,
            _ => None,
        };
        Ok(self.read(id)?.branch.into_iter().filter_map(uuid).collect())
    }

    /// What the conversation had cost when its CLI last ended in peace, if that CLI is one that counts on from there
    /// when it goes on.
    pub(crate) fn spent(&self, id: &SessionId) -> Result<Option<jackfield_core::Spent>, HistoryError> {
        spent::read(&self.files.find(id)?)
    }

    /// What the subagents of this session did; old versions of the CLI wrote it into the session's own file
    /// ([`Conversation::sidechains`]).
    pub fn subagents(&self, id: &SessionId) -> Result<Vec<Subagent>, HistoryError> {
        let mut subagents = Vec::new();
        for (name, path) in files::subagents(&self.files.find(id)?)? {
            let entries = files::lines(&path)?.into_iter().map(|line| line.entry).collect();
            subagents.push(Subagent { name, entries });
        }
        Ok(subagents)
    }

    /// A conversation as events of one run in one of our sessions, numbered from `next_seq`; none if there is
    /// nothing to tell.
    ///
    /// They are what the session would have told had it been seen without partial messages, but for what the
    /// CLI does not write down: costs are 0, and there are no questions, hooks or tasks. With [`After::Known`]
    /// only what the host does not have is told, in a run of its own behind the rest: texts, calls and results
    /// are compared by the names the CLI gave them. A call that was told as lost stays so, and a notice says
    /// what its result was.
    pub fn import(
        &self,
        id: &SessionId,
        session: jackfield_api::SessionId,
        next_seq: Seq,
        after: After,
    ) -> Result<Vec<Event>, HistoryError> {
        let conversation = self.read(id)?;
        let subagents = self.subagents(id)?.into_iter().map(|agent| (agent.name, agent.entries)).collect();
        let import = Import { cli_session: id.clone(), session, next_seq, after };
        Ok(import.events(conversation, subagents))
    }

    /// Gives a session that is not running a title, by which the CLI resumes it as well.
    pub fn rename(&self, id: &SessionId, title: &str) -> Result<(), HistoryError> {
        let path = self.files.find(id)?;
        let title = title.trim();
        if title.is_empty() {
            return Err(HistoryError::EmptyTitle(id.clone()));
        }
        // As 2.1.325 does it: it shows the second before the first, 2.1.197 writes the first alone.
        let custom = serde_json::json!({"type": "custom-title", "customTitle": title, "sessionId": id});
        let agent = serde_json::json!({"type": "agent-name", "agentName": title, "sessionId": id});
        files::append(&path, &[custom, agent])?;
        files::replace_title(&path, title)
    }

    /// Gives a session that is not running a tag, or takes it away.
    pub fn tag(&self, id: &SessionId, tag: Option<&str>) -> Result<(), HistoryError> {
        let tag = tag.unwrap_or_default().trim();
        let line = serde_json::json!({"type": "tag", "tag": tag, "sessionId": id});
        files::append(&self.files.find(id)?, &[line])
    }

    /// Deletes a session that is not running, with what its subagents did and its file checkpoints.
    pub fn delete(&self, id: &SessionId) -> Result<(), HistoryError> {
        self.files.delete(id)
    }
}

fn summaries(folders: &[PathBuf]) -> Vec<SessionSummary> {
    let found = folders.iter().flat_map(|folder| files::sessions(folder));
    let mut sessions: Vec<SessionSummary> = found.map(|(id, path)| summary::read(&id, &path)).collect();
    sessions.sort_by(|one, other| other.modified.cmp(&one.modified).then_with(|| one.id.cmp(&other.id)));
    sessions
}
