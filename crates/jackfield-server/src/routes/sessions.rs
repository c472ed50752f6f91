//! Sessions and what is in them.

use axum::Json;
use axum::body::Body;
use axum::extract::{Extension, State};
use axum::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use jackfield_api::host::{ItemPage, SessionPage, SessionSummary};
use jackfield_api::lines::KeptLines;
use jackfield_api::socket::SentSnapshot;
use jackfield_api::{LineNumber, Seq};
use jackfield_host::ExportFormat;
use jackfield_host::store::{Archived, SessionQuery};
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};

use crate::access::Caller;
use crate::given::{Asked, Named};
use crate::refusal::{Failure, Refusal};
use crate::router::Server;

/// How many sessions are listed at most, and if nobody says how many.
const SESSIONS: u32 = 200;
/// How many items, likewise.
const ITEMS: u32 = 500;
/// How much of a log is sent at once.
const LOG: usize = 1024 * 1024;

/// Which sessions.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct SessionsAsked {
    /// Whether archived ones are listed too; `only` for nothing else.
    #[serde(default)]
    #[param(inline)]
    archived: ArchivedAsked,
    /// Only sessions in this folder or below.
    folder: Option<String>,
    /// Only sessions with this in their title.
    title: Option<String>,
    /// The `next` of the page before.
    before: Option<String>,
    /// How many at most, up to 200.
    limit: Option<u32>,
}

/// Whether archived sessions are listed.
#[derive(Debug, Default, Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ArchivedAsked {
    #[default]
    False,
    True,
    Only,
}

/// List sessions, the last to change first.
#[utoipa::path(
    get, path = "/api/sessions", tag = "sessions", params(SessionsAsked),
    responses((status = 200, description = "A part of the list", body = ref("#/components/schemas/SessionPage")))
)]
pub(crate) async fn sessions(
    State(server): State<Server>,
    Asked(asked): Asked<SessionsAsked>,
) -> Result<Json<SessionPage>, Refusal> {
    let archived = match asked.archived {
        ArchivedAsked::False => Archived::Without,
        ArchivedAsked::True => Archived::All,
        ArchivedAsked::Only => Archived::Only,
    };
    let query = SessionQuery {
        archived,
        folder: asked.folder,
        text: asked.title,
        before: asked.before,
        limit: asked.limit.unwrap_or(SESSIONS).clamp(1, SESSIONS),
    };
    Ok(Json(server.host.sessions(query).await?))
}

/// One session as a list shows it.
#[utoipa::path(
    get, path = "/api/sessions/{id}", tag = "sessions", params(("id" = String, Path, description = "The session")),
    responses(
        (status = 200, description = "The session", body = ref("#/components/schemas/SessionSummary")),
        (status = 404, description = "There is none of this name", body = Failure),
    )
)]
pub(crate) async fn session(
    State(server): State<Server>,
    Named(id): Named,
) -> Result<Json<SessionSummary>, Refusal> {
    let session = server.host.session(&id).await?;
    session.map(Json).ok_or_else(|| Refusal::not_found("session"))
}

/// One session as it stands, with its last items.
#[utoipa::path(
    get, path = "/api/sessions/{id}/snapshot", tag = "sessions",
    params(("id" = String, Path, description = "The session")),
    responses(
        (status = 200, description = "The session", body = ref("#/components/schemas/SentSnapshot")),
        (status = 404, description = "There is none of this name", body = Failure),
    )
)]
pub(crate) async fn snapshot(
    State(server): State<Server>,
    Named(id): Named,
) -> Result<Json<SentSnapshot>, Refusal> {
    Ok(Json(server.host.snapshot(&id).await?))
}

/// Which items.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct ItemsAsked {
    /// Only items whose `seq` is below this one.
    #[param(value_type = Option<u64>)]
    before: Option<Seq>,
    /// How many at most, up to 500.
    limit: Option<u32>,
}

/// Items that will not change any more: the last ones before one of them, oldest first.
#[utoipa::path(
    get, path = "/api/sessions/{id}/items", tag = "sessions",
    params(("id" = String, Path, description = "The session"), ItemsAsked),
    responses((status = 200, description = "A part of the transcript", body = ref("#/components/schemas/ItemPage")))
)]
pub(crate) async fn items(
    State(server): State<Server>,
    Named(id): Named,
    Asked(asked): Asked<ItemsAsked>,
) -> Result<Json<ItemPage>, Refusal> {
    let limit = asked.limit.unwrap_or(ITEMS).clamp(1, ITEMS);
    Ok(Json(server.host.items(&id, asked.before, limit).await?))
}

/// Which events.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct EventsAsked {
    /// Only events behind this one; all if absent.
    #[param(value_type = Option<u64>)]
    after: Option<Seq>,
}

/// Events as they are stored, one per line: about a mebibyte of them, and none when there are no more.
#[utoipa::path(
    get, path = "/api/sessions/{id}/events", tag = "sessions",
    params(("id" = String, Path, description = "The session"), EventsAsked),
    responses((
        status = 200, description = "Events, one `Event` per line", content_type = "application/x-ndjson", body = String
    ))
)]
pub(crate) async fn events(
    State(server): State<Server>,
    Named(id): Named,
    Asked(asked): Asked<EventsAsked>,
) -> Result<Response, Refusal> {
    let after = asked.after.unwrap_or_default();
    let pages = server.host.log(&id, after, LOG).await?;
    let lines: Vec<Bytes> = pages.into_iter().map(|page| page.lines).collect();
    Ok(([(CONTENT_TYPE, "application/x-ndjson")], Body::from(lines.concat())).into_response())
}

/// Which lines.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct LinesAsked {
    /// Only lines behind this one; all that are kept if absent.
    #[param(value_type = Option<u64>)]
    after: Option<LineNumber>,
}

/// The newest lines between the host and the agent, each with the events that were made of it, without the secrets
/// that can be told by their looks. They are kept in memory, as long as the session is loaded.
#[utoipa::path(
    get, path = "/api/sessions/{id}/lines", tag = "sessions",
    params(("id" = String, Path, description = "The session"), LinesAsked),
    responses(
        (status = 200, description = "Lines, oldest first", body = ref("#/components/schemas/KeptLines")),
        (status = 404, description = "There is no session of this name", body = Failure),
    )
)]
pub(crate) async fn lines(
    State(server): State<Server>,
    Named(id): Named,
    Asked(asked): Asked<LinesAsked>,
) -> Result<Json<KeptLines>, Refusal> {
    Ok(Json(server.host.lines(&id, asked.after.unwrap_or_default()).await?))
}

/// All lines between the host and the agent from now on, whole and as they are, one `FollowedLine` per line of the
/// answer. It begins at once and ends when the session is no longer loaded; one that breaks off has lost lines.
#[utoipa::path(
    get, path = "/api/sessions/{id}/lines/follow", tag = "sessions",
    params(("id" = String, Path, description = "The session")),
    responses(
        (
            status = 200, description = "Lines as they come", content_type = "application/x-ndjson",
            body = ref("#/components/schemas/FollowedLine"),
        ),
        (status = 404, description = "There is no session of this name", body = Failure),
    )
)]
pub(crate) async fn follow_lines(
    State(server): State<Server>,
    Extension(caller): Extension<Caller>,
    Named(id): Named,
) -> Result<Response, Refusal> {
    let feed = server.host.follow_lines(&id).await?;
    let lines = stream::unfold(feed, |mut feed| async { Some((feed.next().await?, feed)) });
    // Who is no longer let in is told nothing more.
    let lines = lines.take_until(caller.over.cancelled_owned());
    let lines = lines.take_until(server.stopping.cancelled_owned());
    Ok(([(CONTENT_TYPE, "application/x-ndjson")], Body::from_stream(lines)).into_response())
}

/// In which form.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct ExportAsked {
    /// For people or for programs.
    #[param(inline)]
    format: FormatAsked,
}

/// The form of an export.
#[derive(Debug, Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum FormatAsked {
    /// For people.
    Markdown,
    /// For programs.
    Json,
}

/// A whole session as a file, without the secrets that can be told by their looks.
#[utoipa::path(
    get, path = "/api/sessions/{id}/export", tag = "sessions",
    params(("id" = String, Path, description = "The session"), ExportAsked),
    responses(
        (status = 200, description = "The file", content_type = "text/markdown", body = String),
        (status = 404, description = "There is no session of this name", body = Failure),
    )
)]
pub(crate) async fn export(
    State(server): State<Server>,
    Named(id): Named,
    Asked(asked): Asked<ExportAsked>,
) -> Result<Response, Refusal> {
    let (format, kind, ending) = match asked.format {
        FormatAsked::Markdown => (ExportFormat::Markdown, "text/markdown; charset=utf-8", "md"),
        FormatAsked::Json => (ExportFormat::Json, "application/json", "json"),
    };
    let document = server.host.export(&id, format).await?;
    let disposition = format!("attachment; filename=\"session.{ending}\"");
    Ok(([(CONTENT_TYPE, kind.to_owned()), (CONTENT_DISPOSITION, disposition)], document).into_response())
}
