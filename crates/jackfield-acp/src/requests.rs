//! Sessions that are opened, listed and removed: what is asked of the agent itself.
//!
//! Each is done by a task of its own. The one rule it keeps: a session can be asked as soon as its name was told, and
//! nothing is told of it before.

use std::path::PathBuf;
use std::sync::Arc;

use jackfield_api::command::{
    CreateSession, Delete, Fork, Mcp, McpAction, RejectionCode, Reply, SetDirectories,
};
use jackfield_api::session::SessionOrigin;
use jackfield_api::{Seq, SessionId as HostId};
use jackfield_client::{Archived, Client, ClientError, SessionQuery};
use serde_json::value::RawValue;

use crate::agent::{Connection, no_session};
use crate::mcp;
use crate::prompts::internal;
use crate::rpc::{invalid, parameters};
use crate::schema::{
    AGENT_METHOD_NAMES, DeleteSessionRequest, DeleteSessionResponse, Error, ForkSessionRequest,
    ForkSessionResponse, ListSessionsRequest, ListSessionsResponse, LoadSessionRequest, LoadSessionResponse,
    NewSessionRequest, NewSessionResponse, RequestId, ResumeSessionRequest, ResumeSessionResponse, SessionId,
    SessionInfo,
};
use crate::session::{Begun, Live, Opening};
use crate::time::iso;

/// How many sessions are listed at once.
const LISTED: u32 = 50;
/// What stands before the place in the CLI's own history, in a cursor.
const HISTORY: &str = "history:";

/// Something that is asked of the agent itself.
pub(crate) enum Beginning {
    /// A new session.
    New(NewSessionRequest),
    /// One that was there before, with all that was said.
    Load(LoadSessionRequest),
    /// One that was there before.
    Resume(ResumeSessionRequest),
    /// A copy of one.
    Fork(ForkSessionRequest),
    /// All of them.
    List(ListSessionsRequest),
    /// One less.
    Delete(DeleteSessionRequest),
}

impl Beginning {
    /// Reads a request; `None` if it is another one.
    pub(crate) fn read(method: &str, params: Option<&RawValue>) -> Result<Option<Self>, Error> {
        let names = AGENT_METHOD_NAMES;
        Ok(Some(if method == names.session_new {
            Self::New(parameters(params)?)
        } else if method == names.session_load {
            Self::Load(parameters(params)?)
        } else if method == names.session_resume {
            Self::Resume(parameters(params)?)
        } else if method == names.session_fork {
            Self::Fork(parameters(params)?)
        } else if method == names.session_list {
            Self::List(parameters(params)?)
        } else if method == names.session_delete {
            Self::Delete(parameters(params)?)
        } else {
            return Ok(None);
        }))
    }
}

/// Does it, and answers.
pub(crate) async fn begin(connection: &Arc<Connection>, id: &RequestId, beginning: Beginning) {
    let result = match beginning {
        Beginning::New(asked) => new(connection, id, asked).await,
        Beginning::Load(asked) => load(connection, id, asked).await,
        Beginning::Resume(asked) => resume(connection, id, asked).await,
        Beginning::Fork(asked) => fork(connection, id, asked).await,
        Beginning::List(asked) => list(connection, id, asked).await,
        Beginning::Delete(asked) => delete(connection, id, asked).await,
    };
    if let Err(error) = result {
        connection.log.line(&format!("a request failed: {}", error.message));
        connection.peer.respond::<()>(id, Err(error));
    }
}

async fn new(connection: &Arc<Connection>, id: &RequestId, asked: NewSessionRequest) -> Result<(), Error> {
    let client = connection.client().await?;
    let create = CreateSession {
        mcp_servers: mcp::servers(asked.mcp_servers)?,
        directories: folders(&asked.additional_directories)?,
        ..CreateSession::new(folder(&asked.cwd)?)
    };
    let host_id = client.create(create).await.map_err(failure)?;
    let name = SessionId::new(host_id.0.clone());
    connection.log.line(&format!("session {name} is new"));
    let opening = Opening::prepare(connection, client, name.clone(), host_id).await?;
    let (live, begun) = opening.begin(Seq(0));
    connection.open(name.clone(), live);
    let response = NewSessionResponse::new(name)
        .modes(begun.settings().modes())
        .config_options(begun.settings().options());
    connection.peer.respond(id, Ok(response));
    tokio::spawn(begun.run());
    Ok(())
}

async fn load(connection: &Arc<Connection>, id: &RequestId, asked: LoadSessionRequest) -> Result<(), Error> {
    let client = connection.client().await?;
    let servers = mcp::servers(asked.mcp_servers)?;
    let directories = folders(&asked.additional_directories)?;
    let host_id = find(&client, &asked.session_id, &asked.cwd).await?;
    let opening =
        Opening::prepare(connection, client.clone(), asked.session_id.clone(), host_id.clone()).await?;
    connection.log.line(&format!("session {} is loaded", asked.session_id));
    let (live, mut begun) = opening.begin(Seq(0));
    begun.replay().await?;
    connection.open(asked.session_id, live);
    let response =
        LoadSessionResponse::new().modes(begun.settings().modes()).config_options(begun.settings().options());
    connection.peer.respond(id, Ok(response));
    warm(client, host_id, directories, servers);
    tokio::spawn(begun.run());
    Ok(())
}

async fn resume(
    connection: &Arc<Connection>,
    id: &RequestId,
    asked: ResumeSessionRequest,
) -> Result<(), Error> {
    let client = connection.client().await?;
    let servers = mcp::servers(asked.mcp_servers)?;
    let directories = folders(&asked.additional_directories)?;
    let host_id = find(&client, &asked.session_id, &asked.cwd).await?;
    connection.log.line(&format!("session {} goes on", asked.session_id));
    let (live, begun) = go_on(connection, &client, asked.session_id.clone(), host_id.clone()).await?;
    connection.open(asked.session_id, live);
    let response = ResumeSessionResponse::new()
        .modes(begun.settings().modes())
        .config_options(begun.settings().options());
    connection.peer.respond(id, Ok(response));
    warm(client, host_id, directories, servers);
    tokio::spawn(begun.run());
    Ok(())
}

async fn fork(connection: &Arc<Connection>, id: &RequestId, asked: ForkSessionRequest) -> Result<(), Error> {
    let client = connection.client().await?;
    let servers = mcp::servers(asked.mcp_servers)?;
    let directories = folders(&asked.additional_directories)?;
    let source = find(&client, &asked.session_id, &asked.cwd).await?;
    let created = client.command(Some(&source), Fork { at: None }).await.map_err(failure)?;
    let Reply::Created(created) = created else {
        return Err(internal("the session was not copied", "no_copy"));
    };
    let name = SessionId::new(created.session_id.0.clone());
    connection.log.line(&format!("session {name} is a copy of {}", asked.session_id));
    let (live, begun) = go_on(connection, &client, name.clone(), created.session_id.clone()).await?;
    connection.open(name.clone(), live);
    let response = ForkSessionResponse::new(name)
        .modes(begun.settings().modes())
        .config_options(begun.settings().options());
    connection.peer.respond(id, Ok(response));
    warm(client, created.session_id, directories, servers);
    tokio::spawn(begun.run());
    Ok(())
}

/// A session where it stands, with nothing told of what was.
async fn go_on(
    connection: &Arc<Connection>,
    client: &Client,
    name: SessionId,
    host_id: HostId,
) -> Result<(Live, Begun), Error> {
    let opening = Opening::prepare(connection, client.clone(), name, host_id).await?;
    let at = opening.last();
    Ok(opening.begin(at))
}

async fn list(connection: &Arc<Connection>, id: &RequestId, asked: ListSessionsRequest) -> Result<(), Error> {
    let client = connection.client().await?;
    let folder = asked.cwd.as_deref().map(|cwd| cwd.to_string_lossy().into_owned());
    let cursor = asked.cursor.unwrap_or_default();
    let response = if let Some(place) = cursor.strip_prefix(HISTORY) {
        let place: usize = place.parse().map_err(|_| invalid("there is no such cursor"))?;
        history(&client, folder.as_deref(), place).await?
    } else {
        let before = (!cursor.is_empty()).then_some(cursor);
        let query = SessionQuery {
            archived: Archived::Without,
            folder,
            before,
            limit: LISTED,
            ..SessionQuery::default()
        };
        let page = client.sessions(query).await.map_err(failure)?;
        let sessions = page.sessions.into_iter().map(|session| {
            SessionInfo::new(SessionId::new(session.session_id.0.clone()), PathBuf::from(session.cwd))
                .title(session.title)
                .updated_at(iso(session.updated_at))
        });
        let next = page.next.unwrap_or_else(|| format!("{HISTORY}0"));
        ListSessionsResponse::new(sessions.collect()).next_cursor(next)
    };
    connection.peer.respond(id, Ok(response));
    Ok(())
}

/// Conversations that only the CLI knows, behind those of the host.
async fn history(client: &Client, folder: Option<&str>, from: usize) -> Result<ListSessionsResponse, Error> {
    let known = client.history().await.map_err(failure)?.entries;
    let ours = |cwd: &str| folder.is_none_or(|folder| folder == cwd);
    let others: Vec<_> = known
        .into_iter()
        .filter(|entry| entry.session_id.is_none() && entry.cwd.as_deref().is_some_and(ours))
        .collect();
    let page = usize::try_from(LISTED).unwrap_or(usize::MAX);
    let more = others.len() > from.saturating_add(page);
    let sessions = others.into_iter().skip(from).take(page).map(|entry| {
        SessionInfo::new(SessionId::new(entry.cli_session_id), PathBuf::from(entry.cwd.unwrap_or_default()))
            .title(entry.title)
            .updated_at(iso(entry.updated_at))
    });
    let next = more.then(|| format!("{HISTORY}{}", from + page));
    Ok(ListSessionsResponse::new(sessions.collect()).next_cursor(next))
}

async fn delete(
    connection: &Arc<Connection>,
    id: &RequestId,
    asked: DeleteSessionRequest,
) -> Result<(), Error> {
    let client = connection.client().await?;
    let host_id = connection.host_id(&asked.session_id);
    connection.close(&asked.session_id);
    match client.command(Some(&host_id), Delete {}).await {
        Ok(_) => connection.peer.respond(id, Ok(DeleteSessionResponse::new())),
        Err(error) if error.code() == Some(RejectionCode::NotFound) => {
            return Err(no_session(&asked.session_id));
        }
        Err(error) => return Err(failure(error)),
    }
    Ok(())
}

/// The host's session of this name; a conversation that only the CLI knows becomes one.
async fn find(client: &Client, name: &SessionId, cwd: &std::path::Path) -> Result<HostId, Error> {
    let id = HostId::from(&*name.0);
    if client.session(&id).await.map_err(failure)?.is_some() {
        return Ok(id);
    }
    if uuid::Uuid::try_parse(&name.0).is_err() {
        return Err(no_session(name));
    }
    let create = CreateSession {
        origin: SessionOrigin::Resumed,
        cli_session_id: Some(name.0.to_string()),
        ..CreateSession::new(folder(cwd)?)
    };
    client.create(create).await.map_err(|error| match error.code() {
        Some(RejectionCode::NotFound | RejectionCode::Invalid) => no_session(name),
        _ => failure(error),
    })
}

/// Starts the run that the next prompt will want, with the editor's folders and servers.
fn warm(client: Client, id: HostId, directories: Vec<String>, servers: Option<jackfield_api::Json>) {
    let action = if servers.is_some() { McpAction::Set } else { McpAction::Status };
    tokio::spawn(async move {
        // If it cannot be started, the next prompt tells why.
        let _ = client.command(Some(&id), SetDirectories { directories }).await;
        let _ = client.command(Some(&id), Mcp { action, server: None, servers }).await;
    });
}

fn folders(folders: &[PathBuf]) -> Result<Vec<String>, Error> {
    folders.iter().map(|path| folder(path)).collect()
}

fn folder(cwd: &std::path::Path) -> Result<String, Error> {
    let text = cwd.to_str().ok_or_else(|| invalid("the folder's name is no Unicode"))?;
    if !cwd.is_absolute() {
        return Err(invalid(format!("the folder `{text}` is not an absolute path")));
    }
    Ok(text.to_owned())
}

/// Why the host did not do it.
// By value, as `map_err` hands it over.
#[allow(clippy::needless_pass_by_value)]
pub(crate) fn failure(error: ClientError) -> Error {
    match error.code() {
        Some(RejectionCode::Invalid) => invalid(error.to_string()),
        _ => internal(error.to_string(), "host"),
    }
}
