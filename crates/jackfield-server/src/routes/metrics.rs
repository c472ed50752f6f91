//! What is told to those who watch the host itself: figures, processes, debug files.
//!
//! The one rule it keeps: names of sessions and what is said in them are in no figure.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse as _, Response};
use jackfield_api::host::{DebugState, SessionProcesses};

use crate::given::{Given, Named};
use crate::refusal::{Failure, Refusal};
use crate::router::Server;

/// The form that Prometheus reads.
pub(crate) const TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Figures of the host, in the form that Prometheus reads.
#[utoipa::path(
    get, path = "/metrics", tag = "host",
    responses(
        (status = 200, description = "All figures", body = String, content_type = "text/plain"),
        (status = 404, description = "Nothing is counted here", body = Failure),
    )
)]
pub(crate) async fn metrics(State(server): State<Server>) -> Result<Response, Refusal> {
    match server.host.figures().await {
        Some(page) => Ok(([(CONTENT_TYPE, TEXT)], page).into_response()),
        None => Err(Refusal::new(StatusCode::NOT_FOUND, "not_found", "nothing is counted here")),
    }
}

/// The CLIs that run, and the memory that each takes.
#[utoipa::path(
    get, path = "/api/processes", tag = "host",
    responses((status = 200, description = "One for each", body = ref("#/components/schemas/SessionProcesses")))
)]
pub(crate) async fn processes(State(server): State<Server>) -> Json<SessionProcesses> {
    Json(SessionProcesses { processes: server.host.processes().await })
}

/// Whether a session's debug files are written.
#[utoipa::path(
    get, path = "/api/sessions/{id}/debug", tag = "sessions", params(("id" = String, Path, description = "The session")),
    responses((status = 200, description = "Whether they are", body = ref("#/components/schemas/DebugState")))
)]
pub(crate) async fn debug(
    State(server): State<Server>,
    Named(id): Named,
) -> Result<Json<DebugState>, Refusal> {
    Ok(Json(server.host.debug(&id).await?))
}

/// Begin or end a session's debug files.
#[utoipa::path(
    put, path = "/api/sessions/{id}/debug", tag = "sessions", params(("id" = String, Path, description = "The session")),
    request_body = ref("#/components/schemas/DebugState"),
    responses((status = 200, description = "Whether they are written now", body = ref("#/components/schemas/DebugState")))
)]
pub(crate) async fn set_debug(
    State(server): State<Server>,
    Named(id): Named,
    Given(wanted): Given<DebugState>,
) -> Result<Json<DebugState>, Refusal> {
    Ok(Json(server.host.set_debug(&id, wanted).await?))
}
