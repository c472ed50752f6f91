//! The host as the editor of an interactive CLI: what it proposes and shows, and what a person says to it.

use axum::Json;
use axum::extract::{Path, State};
use axum::http::StatusCode;
use jackfield_api::editor::{EditorDiffContent, EditorFileContent, EditorState, EditorVerdict};
use jackfield_api::{EditorDiffId, EditorFileId};

use crate::editor::{Board, NotCounted};
use crate::given::Given;
use crate::refusal::{Failure, Refusal};
use crate::router::Server;

/// What is before whoever may look.
#[utoipa::path(
    get, path = "/api/editor", tag = "editor",
    responses(
        (status = 200, description = "Changes and files", body = ref("#/components/schemas/EditorState")),
        (status = 404, description = "The host is no editor", body = Failure),
    )
)]
pub(crate) async fn editor(State(server): State<Server>) -> Result<Json<EditorState>, Refusal> {
    Ok(Json(board(&server)?.state()))
}

/// A proposed change, whole.
#[utoipa::path(
    get, path = "/api/editor/diffs/{diff_id}", operation_id = "editor_diff", tag = "editor",
    params(("diff_id" = u64, Path, description = "The change")),
    responses(
        (status = 200, description = "Its texts", body = ref("#/components/schemas/EditorDiffContent")),
        (status = 404, description = "No such change waits", body = Failure),
    )
)]
pub(crate) async fn diff(
    State(server): State<Server>,
    Path(id): Path<String>,
) -> Result<Json<EditorDiffContent>, Refusal> {
    let board = board(&server)?;
    let diff = id.parse().ok().and_then(|id| board.diff(EditorDiffId(id)));
    diff.map(Json).ok_or_else(|| Refusal::not_found("change"))
}

/// Decide a proposed change; the first verdict counts.
#[utoipa::path(
    put, path = "/api/editor/diffs/{diff_id}", tag = "editor",
    params(("diff_id" = u64, Path, description = "The change")),
    request_body = ref("#/components/schemas/EditorVerdict"),
    responses(
        (status = 204, description = "It counted"),
        (status = 404, description = "There is no such change", body = Failure),
        (status = 409, description = "It was decided before", body = Failure),
    )
)]
pub(crate) async fn decide(
    State(server): State<Server>,
    Path(id): Path<String>,
    Given(verdict): Given<EditorVerdict>,
) -> Result<StatusCode, Refusal> {
    let id = id.parse().map_err(|_| Refusal::not_found("change"))?;
    match board(&server)?.decide(EditorDiffId(id), verdict) {
        Ok(()) => Ok(StatusCode::NO_CONTENT),
        Err(NotCounted::NotFound) => Err(Refusal::not_found("change")),
        Err(NotCounted::TooLate) => {
            Err(Refusal::new(StatusCode::CONFLICT, "too_late", "this was decided elsewhere"))
        }
    }
}

/// A file that was shown, as it was then.
#[utoipa::path(
    get, path = "/api/editor/files/{file_id}", operation_id = "editor_file", tag = "editor",
    params(("file_id" = u64, Path, description = "The file")),
    responses(
        (status = 200, description = "Its text", body = ref("#/components/schemas/EditorFileContent")),
        (status = 404, description = "It is not kept any more", body = Failure),
    )
)]
pub(crate) async fn file(
    State(server): State<Server>,
    Path(id): Path<String>,
) -> Result<Json<EditorFileContent>, Refusal> {
    let board = board(&server)?;
    let file = id.parse().ok().and_then(|id| board.file(EditorFileId(id)));
    file.map(Json).ok_or_else(|| Refusal::not_found("file"))
}

fn board(server: &Server) -> Result<&Board, Refusal> {
    server.editor.as_ref().ok_or_else(|| {
        let reason = "this host is no editor: `jackfield serve --ide FOLDER` makes it one";
        Refusal::new(StatusCode::NOT_FOUND, "not_found", reason)
    })
}
