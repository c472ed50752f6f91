//! The calls: each the same to a host in this process and to the running one.
//!
//! It only chooses the way. The one rule it keeps: bounds that the socket sets (how many of a list) hold in this
//! process too, so that an answer never depends on where the host is.

use std::path::Path;

use jackfield_api::command::{CreateSession, Rejection, RejectionCode, Reply};
use jackfield_api::host::{
    Costs, Decision, DeskEntry, HistoryList, HostRules, HostSettings, ItemPage, SearchHits, SessionPage,
    SessionSummary,
};
use jackfield_api::socket::{GivenCommand, Scope, SentSnapshot};
use jackfield_api::{Command, Event, Seq, SessionId, Timestamp, codec};
use jackfield_host::Host;
use jackfield_host::store::{Archived, CostBy, SessionQuery};
use jackfield_host::{Client as Named, ExportFormat};
use serde::de::IgnoredAny;

use crate::error::ClientError;
use crate::remote::{Remote, segment};
use crate::subscription::Subscription;

/// How many sessions are listed at once.
const SESSIONS: u32 = 200;
/// How many items.
const ITEMS: u32 = 500;
/// How many places a search finds.
const HITS: u32 = 50;
/// How many decisions are listed at once.
const DECISIONS: u32 = 200;
/// How much of a log is read at once.
const LOG: usize = 1024 * 1024;

/// A way to a host. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Client {
    pub(crate) way: Way,
    trace: Option<Trace>,
}

/// A place in a trace of somebody else, as the W3C writes it. Whether it is one the host decides: what is none is
/// passed over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trace {
    /// The text of a `traceparent`.
    pub parent: String,
    /// The text of the `tracestate` beside it.
    pub state: Option<String>,
}

#[derive(Debug, Clone)]
pub(crate) enum Way {
    Here(Host, Named),
    Running(Remote),
}

impl Client {
    /// A host in this process. The name is for people: who answered a question is told by it.
    pub fn here(host: Host, name: &str) -> Self {
        Self { way: Way::Here(host, Named::new(name, Scope::Admin)), trace: None }
    }

    /// The host that runs on a data folder; `None` if none does.
    pub async fn running(data: &Path, name: &str) -> Result<Option<Self>, ClientError> {
        let remote = Remote::find(data, name).await?;
        Ok(remote.map(|remote| Self { way: Way::Running(remote), trace: None }))
    }

    /// The same way for prompts that are a part of a trace, or of none.
    #[must_use]
    pub fn traced(&self, trace: Option<Trace>) -> Self {
        Self { way: self.way.clone(), trace }
    }

    /// Whether the host goes on when this process ends.
    pub fn goes_on(&self) -> bool {
        matches!(self.way, Way::Running(_))
    }

    /// The host's name; the same over restarts.
    pub fn host_id(&self) -> &str {
        match &self.way {
            Way::Here(host, _) => host.id(),
            Way::Running(remote) => remote.host_id(),
        }
    }

    /// Gives a command, and waits until it is done. `create_session` and `import` are for no session.
    pub async fn command(
        &self,
        session: Option<&SessionId>,
        command: impl Into<Command>,
    ) -> Result<Reply, ClientError> {
        let (session_id, command) = (session.cloned(), command.into());
        let (traceparent, tracestate) =
            self.trace.clone().map_or((None, None), |trace| (Some(trace.parent), trace.state));
        match &self.way {
            Way::Here(host, name) => {
                let name = name.clone().traced(traceparent.as_deref(), tracestate.as_deref());
                Ok(host.command_here(&name, session_id, command).await?)
            }
            Way::Running(remote) => {
                let id = uuid::Uuid::new_v4().to_string();
                remote.command(&GivenCommand { id, session_id, command, traceparent, tracestate }).await
            }
        }
    }

    /// Begins a session, or goes on with one.
    pub async fn create(&self, create: CreateSession) -> Result<SessionId, ClientError> {
        match self.command(None, create).await? {
            Reply::Created(created) => Ok(created.session_id),
            other => Err(ClientError::Nonsense {
                asked: "create_session".to_owned(),
                reason: format!("nothing was created: {other:?}"),
            }),
        }
    }

    /// Follows a session: behind the last event that is known, or from a snapshot on.
    pub async fn subscribe(&self, id: &SessionId, after: Option<Seq>) -> Result<Subscription, ClientError> {
        match &self.way {
            Way::Here(host, _) => Ok(Subscription::here(host.subscribe(id, after).await?, after)),
            Way::Running(remote) => {
                // Told at once, and not as the end of what has not begun.
                if self.session(id).await?.is_none() {
                    return Err(no_session(id).into());
                }
                Ok(Subscription::running(remote.clone(), id.clone(), after).await)
            }
        }
    }

    /// A part of the list of sessions, newest first; at most 200.
    pub async fn sessions(&self, mut query: SessionQuery) -> Result<SessionPage, ClientError> {
        query.limit = query.limit.clamp(1, SESSIONS);
        match &self.way {
            Way::Here(host, _) => Ok(host.sessions(query).await?),
            Way::Running(remote) => {
                let archived = match query.archived {
                    Archived::Without => "false",
                    Archived::All => "true",
                    Archived::Only => "only",
                };
                let asked = [
                    ("archived", Some(archived.to_owned())),
                    ("folder", query.folder),
                    ("title", query.text),
                    ("before", query.before),
                    ("limit", Some(query.limit.to_string())),
                ];
                remote.get("/api/sessions", asked).await
            }
        }
    }

    /// A session; `None` if there is none of this name.
    pub async fn session(&self, id: &SessionId) -> Result<Option<SessionSummary>, ClientError> {
        match &self.way {
            Way::Here(host, _) => Ok(host.session(id).await?),
            Way::Running(remote) => match remote.get(&of_session(id, ""), []).await {
                Ok(session) => Ok(Some(session)),
                Err(error) if error.code() == Some(RejectionCode::NotFound) => Ok(None),
                Err(error) => Err(error),
            },
        }
    }

    /// A session as it stands, with its last items.
    pub async fn snapshot(&self, id: &SessionId) -> Result<SentSnapshot, ClientError> {
        match &self.way {
            Way::Here(host, _) => Ok(host.snapshot(id).await?),
            Way::Running(remote) => remote.get(&of_session(id, "/snapshot"), []).await,
        }
    }

    /// Items that will not change any more, oldest first, before one of them; at most 500.
    pub async fn items(
        &self,
        id: &SessionId,
        before: Option<Seq>,
        limit: u32,
    ) -> Result<ItemPage, ClientError> {
        let limit = limit.clamp(1, ITEMS);
        match &self.way {
            Way::Here(host, _) => Ok(host.items(id, before, limit).await?),
            Way::Running(remote) => {
                let asked =
                    [("before", before.map(|seq| seq.to_string())), ("limit", Some(limit.to_string()))];
                remote.get(&of_session(id, "/items"), asked).await
            }
        }
    }

    /// Stored events behind one of them, about a mebibyte; none at the end.
    pub async fn events(&self, id: &SessionId, after: Seq) -> Result<Vec<Event>, ClientError> {
        let lines = match &self.way {
            Way::Here(host, _) => {
                let pages = host.log(id, after, LOG).await?;
                pages.iter().flat_map(|page| page.lines.iter().copied()).collect()
            }
            Way::Running(remote) => {
                remote.read(&of_session(id, "/events"), [("after", Some(after.to_string()))]).await?
            }
        };
        let mut events = Vec::new();
        for line in lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            let event = std::str::from_utf8(line).map_err(|error| error.to_string());
            let event = event.and_then(|line| codec::decode(line).map_err(|error| error.to_string()));
            let event: Event =
                event.map_err(|reason| ClientError::Nonsense { asked: "events".to_owned(), reason })?;
            // A stored page may begin earlier.
            if event.seq > after {
                events.push(event);
            }
        }
        Ok(events)
    }

    /// Searches all conversations; at most 50 places.
    pub async fn search(&self, words: &str, limit: u32) -> Result<SearchHits, ClientError> {
        let limit = limit.clamp(1, HITS);
        match &self.way {
            Way::Here(host, _) => Ok(host.search(words, limit).await?),
            Way::Running(remote) => {
                let asked = [("q", Some(words.to_owned())), ("limit", Some(limit.to_string()))];
                remote.get("/api/search", asked).await
            }
        }
    }

    /// The CLI's own history, newest first.
    pub async fn history(&self) -> Result<HistoryList, ClientError> {
        match &self.way {
            Way::Here(host, _) => Ok(host.history().await?),
            Way::Running(remote) => remote.get("/api/history", []).await,
        }
    }

    /// A whole session as a document.
    pub async fn export(&self, id: &SessionId, format: ExportFormat) -> Result<String, ClientError> {
        match &self.way {
            Way::Here(host, _) => Ok(host.export(id, format).await?),
            Way::Running(remote) => {
                let format = match format {
                    ExportFormat::Markdown => "markdown",
                    ExportFormat::Json => "json",
                };
                let document =
                    remote.read(&of_session(id, "/export"), [("format", Some(format.to_owned()))]).await?;
                String::from_utf8(document).map_err(|error| ClientError::Nonsense {
                    asked: "export".to_owned(),
                    reason: error.to_string(),
                })
            }
        }
    }

    /// All open questions of all sessions, oldest first.
    pub async fn desk(&self) -> Result<Vec<DeskEntry>, ClientError> {
        match &self.way {
            Way::Here(host, _) => Ok(host.desk()),
            Way::Running(remote) => remote.get("/api/desk", []).await,
        }
    }

    /// Decisions that were made, newest first; at most 200.
    pub async fn decisions(
        &self,
        session: Option<&SessionId>,
        before: Option<Timestamp>,
        limit: u32,
    ) -> Result<Vec<Decision>, ClientError> {
        let limit = limit.clamp(1, DECISIONS);
        match &self.way {
            Way::Here(host, _) => Ok(host.decisions(session, before, limit).await?),
            Way::Running(remote) => {
                let asked = [
                    ("session", session.map(ToString::to_string)),
                    ("before", before.map(|at| at.to_string())),
                    ("limit", Some(limit.to_string())),
                ];
                remote.get("/api/decisions", asked).await
            }
        }
    }

    /// What was spent.
    pub async fn costs(&self, by: CostBy, since: Option<Timestamp>) -> Result<Costs, ClientError> {
        match &self.way {
            Way::Here(host, _) => Ok(host.costs(by, since).await?),
            Way::Running(remote) => {
                let (by, session) = match by {
                    CostBy::Day => ("day", None),
                    CostBy::DayModel => ("day_model", None),
                    CostBy::Model => ("model", None),
                    CostBy::Session => ("session", None),
                    CostBy::Turn(session) => ("turn", Some(session.to_string())),
                };
                let since = since.map(|at| at.to_string());
                let asked = [("by", Some(by.to_owned())), ("session", session), ("since", since)];
                remote.get("/api/costs", asked).await
            }
        }
    }

    /// What the host can be used with, and how it is set.
    pub async fn settings(&self) -> Result<HostSettings, ClientError> {
        match &self.way {
            Way::Here(host, _) => Ok(host.settings().await),
            Way::Running(remote) => remote.get("/api/settings", []).await,
        }
    }

    /// The rules that answer before a person is asked.
    pub async fn rules(&self) -> Result<HostRules, ClientError> {
        match &self.way {
            Way::Here(host, _) => Ok(HostRules::clone(&host.rules())),
            Way::Running(remote) => remote.get("/api/rules", []).await,
        }
    }

    /// Puts other rules in their place.
    pub async fn set_rules(&self, rules: &HostRules) -> Result<(), ClientError> {
        match &self.way {
            Way::Here(host, _) => Ok(host.set_rules(rules.clone()).await?),
            Way::Running(remote) => remote.put::<IgnoredAny>("/api/rules", rules).await.map(drop),
        }
    }
}

pub(crate) fn of_session(id: &SessionId, rest: &str) -> String {
    format!("/api/sessions/{}{rest}", segment(id.as_str()))
}

fn no_session(id: &SessionId) -> Rejection {
    Rejection { code: RejectionCode::NotFound, reason: format!("there is no session {id}") }
}
