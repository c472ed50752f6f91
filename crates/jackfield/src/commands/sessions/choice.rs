//! Which session is meant: by the beginning of its name, or by when it was last used.
//!
//! The one rule it keeps: what could mean several sessions means none.

use jackfield_api::SessionId;
use jackfield_api::host::SessionSummary;
use jackfield_client::{Archived, Client, SessionQuery};

use crate::commands::run::reach::HostFailure;

/// The session whose name, or whose conversation's name in the CLI, begins like this.
pub(crate) async fn by_prefix(client: &Client, text: &str) -> Result<SessionSummary, HostFailure> {
    if let Some(session) = client.session(&SessionId::from(text)).await? {
        return Ok(session);
    }
    let begins = |session: &SessionSummary| {
        let cli_id = session.cli_session_id.as_deref().unwrap_or_default();
        session.session_id.as_str().starts_with(text) || cli_id.starts_with(text)
    };
    let mut found = all(client, Archived::All).await?;
    found.retain(|session| !text.is_empty() && begins(session));
    match (found.pop(), found.len()) {
        (None, _) => Err(HostFailure::NoSession(text.to_owned())),
        (Some(session), 0) => Ok(session),
        (Some(_), more) => Err(HostFailure::Ambiguous { prefix: text.to_owned(), count: more + 1 }),
    }
}

/// The session that was used last, in a folder or anywhere.
pub(crate) async fn latest(client: &Client, folder: Option<String>) -> Result<SessionSummary, HostFailure> {
    let query = SessionQuery { folder, limit: 1, ..SessionQuery::default() };
    client.sessions(query).await?.sessions.pop().ok_or(HostFailure::NoSessions)
}

/// All sessions, newest first.
pub(crate) async fn all(client: &Client, archived: Archived) -> Result<Vec<SessionSummary>, HostFailure> {
    let mut query = SessionQuery { archived, limit: 200, ..SessionQuery::default() };
    let mut sessions = Vec::new();
    loop {
        let page = client.sessions(query.clone()).await?;
        sessions.extend(page.sessions);
        match page.next {
            Some(next) => query.before = Some(next),
            None => return Ok(sessions),
        }
    }
}
