//! What can be asked of a host without changing anything: lists, the desk, search, money, files, settings.

use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::Arc;

use jackfield_api::command::{Agent, Rejection, RejectionCode};
use jackfield_api::host::{
    AgentState, Costs, Decision, DeskEntry, FileContent, FileDiffs, FileList, FolderList, HistoryList,
    HostRules, HostSettings, ItemPage, RuleTried, RulesTried, SearchHits, SessionPage, SessionSummary,
};
use jackfield_api::lines::KeptLines;
use jackfield_api::snapshot::{Item, ItemContent};
use jackfield_api::{LineNumber, Seq, SessionId, Timestamp};
use jackfield_sdk::LineFeed;

use super::{Host, unreadable};
use crate::channel::{gone, reject, run};
use crate::export::{self, ExportFormat};
use crate::files::{self, FileError, Folder};
use crate::redact::redact;
use crate::store::{CostBy, LogPage, SessionQuery, StoreError};
use crate::{git, models, rules};

/// How many conversations of the CLI's history are listed.
const HISTORY: usize = 1_000;
/// How many questions a dry run of rules looks at.
const TRIED: u32 = 500;
/// How many items are read at once.
const ITEMS: u32 = 500;

/// What files are compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Against {
    /// What they were before the session changed them.
    Baseline,
    /// What git has.
    Git,
}

impl Host {
    /// A part of the list of sessions, newest first.
    pub async fn sessions(&self, query: SessionQuery) -> Result<SessionPage, StoreError> {
        self.shared.store.sessions(query).await
    }

    /// A session.
    pub async fn session(&self, id: &SessionId) -> Result<Option<SessionSummary>, StoreError> {
        if let Some(summary) = self.shared.feed.summary(id) {
            return Ok(Some(summary));
        }
        Ok(self.shared.store.session(id).await?.map(|record| record.summary))
    }

    /// Items that will not change any more, oldest first, before one of them.
    pub async fn items(
        &self,
        id: &SessionId,
        before: Option<Seq>,
        limit: u32,
    ) -> Result<ItemPage, StoreError> {
        self.shared.store.items(id, before, limit).await
    }

    /// Events as they are stored, one per line.
    pub async fn log(
        &self,
        id: &SessionId,
        after: Seq,
        enough_bytes: usize,
    ) -> Result<Vec<LogPage>, StoreError> {
        self.shared.store.log(id, after, enough_bytes).await
    }

    /// The newest lines between the host and the agent of a session, behind one, without the secrets that can be
    /// told by their looks.
    pub async fn lines(&self, id: &SessionId, after: LineNumber) -> Result<KeptLines, Rejection> {
        let mut kept = self.channel(id).await?.lines.after(after);
        for line in &mut kept.lines {
            if let Cow::Owned(redacted) = redact(&line.text) {
                line.text = redacted;
            }
        }
        Ok(kept)
    }

    /// All lines of a session from now on, whole and as they are.
    pub async fn follow_lines(&self, id: &SessionId) -> Result<LineFeed, Rejection> {
        let feed = self.channel(id).await?.lines.follow(&self.shared.settings.data);
        feed.map_err(|error| reject(RejectionCode::NotNow, format!("lines cannot be kept for you: {error}")))
    }

    /// All open questions of all sessions, oldest first.
    pub fn desk(&self) -> Vec<DeskEntry> {
        self.shared.feed.desk()
    }

    /// Decisions, newest first.
    pub async fn decisions(
        &self,
        session: Option<&SessionId>,
        before: Option<Timestamp>,
        limit: u32,
    ) -> Result<Vec<Decision>, StoreError> {
        self.shared.store.decisions(session, before, limit).await
    }

    /// The rules that answer before a person is asked.
    pub fn rules(&self) -> Arc<HostRules> {
        self.shared.rules.borrow().clone()
    }

    /// Puts other rules in their place; they count from the next question on.
    pub async fn set_rules(&self, rules: HostRules) -> Result<(), Rejection> {
        check_rules(&rules)?;
        self.shared.store.set_rules(&rules).await.map_err(unreadable)?;
        self.shared.rules.send_replace(Arc::new(rules));
        Ok(())
    }

    /// What these rules would have said to questions that were really asked.
    pub async fn try_rules(&self, rules: &HostRules) -> Result<RulesTried, Rejection> {
        check_rules(rules)?;
        let questions = self.shared.store.questions(TRIED).await.map_err(unreadable)?;
        let mut tried = Vec::with_capacity(questions.len());
        for (session_id, request) in questions {
            let folder = self.session(&session_id).await.map_err(unreadable)?.map(|summary| summary.cwd);
            let folder = folder.unwrap_or_default();
            let asked = rules::Asked { session_id: &session_id, folder: &folder, request: &request };
            let judged = rules::judge(rules, &asked);
            let rule = judged.rule.and_then(|rule| u32::try_from(rule).ok());
            tried.push(RuleTried { session_id, request, behavior: judged.behavior, rule });
        }
        Ok(RulesTried { tried })
    }

    /// Searches all conversations.
    pub async fn search(&self, query: &str, limit: u32) -> Result<SearchHits, StoreError> {
        self.shared.store.search(query, limit).await
    }

    /// What was spent.
    pub async fn costs(&self, by: CostBy, since: Option<Timestamp>) -> Result<Costs, StoreError> {
        self.shared.store.costs(by, since).await
    }

    /// The CLI's own history, newest first.
    pub async fn history(&self) -> Result<HistoryList, Rejection> {
        let history = self.cli_history()?;
        let listed = tokio::task::spawn_blocking(move || history.list()).await;
        let mut listed = match listed {
            Ok(listed) => listed.map_err(|error| reject(RejectionCode::NotNow, error.to_string()))?,
            Err(_) => return Err(gone()),
        };
        listed.truncate(HISTORY);
        let mut entries = Vec::with_capacity(listed.len());
        for found in listed {
            let cli_session_id = found.id.as_str().to_owned();
            let session_id = self.shared.store.by_cli_id(&cli_session_id).await.map_err(unreadable)?;
            entries.push(run::history_entry(&found, cli_session_id, session_id));
        }
        Ok(HistoryList { entries })
    }

    /// A whole session as a document.
    pub async fn export(&self, id: &SessionId, format: ExportFormat) -> Result<String, Rejection> {
        let summary = self.session(id).await.map_err(unreadable)?;
        let summary =
            summary.ok_or_else(|| reject(RejectionCode::NotFound, format!("there is no session {id}")))?;
        let items = self.all_items(id).await?;
        let mut document = Vec::new();
        let written = match format {
            ExportFormat::Markdown => export::markdown(&summary, items, &mut document),
            ExportFormat::Json => export::json(&summary, items, &mut document),
        };
        let document = written.map(|()| String::from_utf8_lossy(&document).into_owned());
        document.map_err(|error| reject(RejectionCode::NotNow, error.to_string()))
    }

    async fn all_items(&self, id: &SessionId) -> Result<Vec<Item>, Rejection> {
        let mut items = self.snapshot(id).await?.snapshot.items;
        loop {
            let before = items.first().map(|item| item.seq);
            let page = self.items(id, before, ITEMS).await.map_err(unreadable)?;
            if page.items.is_empty() {
                return Ok(items);
            }
            let mut earlier = page.items;
            earlier.append(&mut items);
            items = earlier;
        }
    }

    /// What is in a folder below the session's.
    pub async fn list_files(&self, id: &SessionId, path: &str) -> Result<FileList, Rejection> {
        let path = path.to_owned();
        self.in_folder(id, move |folder| folder.list(&path)).await
    }

    /// A file below the session's folder.
    pub async fn read_file(&self, id: &SessionId, path: &str) -> Result<FileContent, Rejection> {
        let path = path.to_owned();
        self.in_folder(id, move |folder| folder.read(&path, files::MOST_BYTES)).await
    }

    /// Files below the session's folder by a part of their name, best first.
    pub async fn find_files(&self, id: &SessionId, query: &str, limit: usize) -> Result<FileList, Rejection> {
        let query = query.to_owned();
        self.in_folder(id, move |folder| folder.find(&query, limit)).await
    }

    /// What changed in the session's folder.
    pub async fn diff(&self, id: &SessionId, against: Against) -> Result<FileDiffs, Rejection> {
        match against {
            Against::Git => self.in_folder(id, |folder| git::diff(folder, git::Against::Head)).await,
            Against::Baseline => {
                let items = self.all_items(id).await?.into_iter();
                let changed = items.filter_map(|item| match item.content {
                    ItemContent::File(file) => Some(*file),
                    _ => None,
                });
                let changed: Vec<_> = changed.collect();
                self.in_folder(id, move |folder| git::diff(folder, git::Against::Baseline(&changed))).await
            }
        }
    }

    /// The folders in a folder of this machine, to begin a session in.
    pub async fn folders(&self, path: Option<&str>) -> Result<FolderList, Rejection> {
        let query = SessionQuery { limit: 200, ..SessionQuery::default() };
        let recent = self.shared.store.sessions(query).await.map_err(unreadable)?.sessions;
        let mut folders: Vec<String> = Vec::new();
        for summary in recent {
            if !folders.contains(&summary.cwd) && folders.len() < 20 {
                folders.push(summary.cwd);
            }
        }
        let path = path.map_or_else(home, PathBuf::from);
        let listed = tokio::task::spawn_blocking(move || files::folders(&path)).await;
        let mut listed = match listed {
            Ok(listed) => listed.map_err(|error| error.refusal())?,
            Err(_) => return Err(gone()),
        };
        listed.recent = folders;
        Ok(listed)
    }

    /// What the host can be used with, and how it is set.
    pub async fn settings(&self) -> HostSettings {
        let settings = &self.shared.settings;
        let (version, problem) = match run::locate(settings).await {
            Ok(found) => (Some(found.version.to_string()), None),
            Err(error) => (None, Some(error.to_string())),
        };
        let models = models::of(&self.shared.store, Agent::Claude).await;
        let mut agents = vec![AgentState { agent: Agent::Claude, version, problem, models }];
        if settings.demo.is_some() {
            let version = Some(env!("CARGO_PKG_VERSION").to_owned());
            let models = models::of(&self.shared.store, Agent::Demo).await;
            agents.push(AgentState { agent: Agent::Demo, version, problem: None, models });
        }
        HostSettings {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            agents,
            home: home().to_string_lossy().into_owned(),
            bypass_allowed: settings.bypass == crate::settings::Bypass::Allowed,
            rate_limits: self.shared.feed.rate_limits(),
        }
    }

    async fn folder(&self, id: &SessionId) -> Result<PathBuf, Rejection> {
        let summary = self.session(id).await.map_err(unreadable)?;
        let summary =
            summary.ok_or_else(|| reject(RejectionCode::NotFound, format!("there is no session {id}")))?;
        Ok(summary.cwd.into())
    }

    async fn in_folder<T: Send + 'static, E: Refusal + From<FileError> + Send + 'static>(
        &self,
        id: &SessionId,
        ask: impl FnOnce(&Folder) -> Result<T, E> + Send + 'static,
    ) -> Result<T, Rejection> {
        let path = self.folder(id).await?;
        let asked = tokio::task::spawn_blocking(move || ask(&Folder::open(&path)?)).await;
        match asked {
            Ok(answer) => answer.map_err(|error| error.refusal()),
            Err(_) => Err(gone()),
        }
    }
}

fn check_rules(rules: &HostRules) -> Result<(), Rejection> {
    rules::validate(rules).map_err(|problems| {
        let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
        reject(RejectionCode::Invalid, problems.join("; "))
    })
}

/// An error of a question about files, as a client is told it.
trait Refusal {
    fn refusal(&self) -> Rejection;
}

impl Refusal for FileError {
    fn refusal(&self) -> Rejection {
        let code = match self {
            FileError::NotFound { .. } => RejectionCode::NotFound,
            _ => RejectionCode::Forbidden,
        };
        reject(code, self.to_string())
    }
}

impl Refusal for git::DiffError {
    fn refusal(&self) -> Rejection {
        match self {
            git::DiffError::Folder(error) => error.refusal(),
            other => reject(RejectionCode::NotNow, other.to_string()),
        }
    }
}

fn home() -> PathBuf {
    std::env::var_os("HOME").map_or_else(|| PathBuf::from("/"), PathBuf::from)
}
