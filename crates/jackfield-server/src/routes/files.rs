//! Files below a session's folder, and folders to begin one in.

use axum::Json;
use axum::extract::State;
use jackfield_api::host::{FileContent, FileDiffs, FileList, FolderList};
use jackfield_host::Against;
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};

use crate::given::{Asked, Named};
use crate::refusal::{Failure, Refusal};
use crate::router::Server;

/// How many files are found at most, and if nobody says how many.
const FOUND: usize = 100;

/// A place below the session's folder.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct PathAsked {
    /// Relative to the session's folder; the folder itself if absent.
    #[serde(default)]
    path: String,
}

/// What is in a folder below the session's.
#[utoipa::path(
    get, path = "/api/sessions/{id}/files", tag = "files",
    params(("id" = String, Path, description = "The session"), PathAsked),
    responses(
        (status = 200, description = "Folders first, then by name", body = ref("#/components/schemas/FileList")),
        (status = "4XX", description = "There is no such folder, or it is outside", body = Failure),
    )
)]
pub(crate) async fn files(
    State(server): State<Server>,
    Named(id): Named,
    Asked(asked): Asked<PathAsked>,
) -> Result<Json<FileList>, Refusal> {
    Ok(Json(server.host.list_files(&id, &asked.path).await?))
}

/// A file below the session's folder.
#[utoipa::path(
    get, path = "/api/sessions/{id}/file", tag = "files",
    params(("id" = String, Path, description = "The session"), PathAsked),
    responses(
        (status = 200, description = "The file", body = ref("#/components/schemas/FileContent")),
        (status = "4XX", description = "There is no such file, or it is outside", body = Failure),
    )
)]
pub(crate) async fn file(
    State(server): State<Server>,
    Named(id): Named,
    Asked(asked): Asked<PathAsked>,
) -> Result<Json<FileContent>, Refusal> {
    Ok(Json(server.host.read_file(&id, &asked.path).await?))
}

/// What is looked for by name.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct FindAsked {
    /// A part of the name or path.
    #[serde(default)]
    q: String,
    /// How many at most, up to 100.
    limit: Option<usize>,
}

/// Files below the session's folder by a part of their name, best first.
#[utoipa::path(
    get, path = "/api/sessions/{id}/find", tag = "files",
    params(("id" = String, Path, description = "The session"), FindAsked),
    responses((status = 200, description = "Best first", body = ref("#/components/schemas/FileList")))
)]
pub(crate) async fn find(
    State(server): State<Server>,
    Named(id): Named,
    Asked(asked): Asked<FindAsked>,
) -> Result<Json<FileList>, Refusal> {
    let limit = asked.limit.unwrap_or(FOUND).clamp(1, FOUND);
    Ok(Json(server.host.find_files(&id, &asked.q, limit).await?))
}

/// What files are compared with.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct DiffAsked {
    /// What they were before the session changed them (if absent), or what git has.
    #[serde(default)]
    #[param(inline)]
    against: AgainstAsked,
}

/// What files are compared with.
#[derive(Debug, Default, Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum AgainstAsked {
    /// What they were before the session changed them.
    #[default]
    Baseline,
    /// What git has.
    Git,
}

/// What changed in the session's folder.
#[utoipa::path(
    get, path = "/api/sessions/{id}/diff", tag = "files",
    params(("id" = String, Path, description = "The session"), DiffAsked),
    responses((status = 200, description = "File by file", body = ref("#/components/schemas/FileDiffs")))
)]
pub(crate) async fn diff(
    State(server): State<Server>,
    Named(id): Named,
    Asked(asked): Asked<DiffAsked>,
) -> Result<Json<FileDiffs>, Refusal> {
    let against = match asked.against {
        AgainstAsked::Baseline => Against::Baseline,
        AgainstAsked::Git => Against::Git,
    };
    Ok(Json(server.host.diff(&id, against).await?))
}

/// A folder of this machine.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct FolderAsked {
    /// Absolute; the user's own if absent.
    path: Option<String>,
}

/// The folders in a folder of this machine, to begin a session in.
#[utoipa::path(
    get, path = "/api/folders", tag = "files", params(FolderAsked),
    responses(
        (status = 200, description = "Names of folders", body = ref("#/components/schemas/FolderList")),
        (status = "4XX", description = "There is no such folder, or it cannot be read", body = Failure),
    )
)]
pub(crate) async fn folders(
    State(server): State<Server>,
    Asked(asked): Asked<FolderAsked>,
) -> Result<Json<FolderList>, Refusal> {
    Ok(Json(server.host.folders(asked.path.as_deref()).await?))
}
