//! Trust of folders: what one brings, and what a person says to it.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use jackfield_api::trust::{FolderTrust, FolderVerdicts, SetFolderTrust};
use jackfield_host::trust::Verdict;
use serde::Deserialize;
use utoipa::IntoParams;

use crate::given::{Asked, Given};
use crate::refusal::{Failure, Refusal};
use crate::router::Server;

/// Which folder.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct TrustAsked {
    /// Absolute.
    path: String,
}

/// What a folder would add to the CLI by itself, and whether it is trusted with that.
#[utoipa::path(
    get, path = "/api/trust", tag = "files", params(TrustAsked),
    responses(
        (status = 200, description = "What it brings", body = ref("#/components/schemas/FolderTrust")),
        (status = "4XX", description = "There is no such folder, or it cannot be read", body = Failure),
    )
)]
pub(crate) async fn trust(
    State(server): State<Server>,
    Asked(asked): Asked<TrustAsked>,
) -> Result<Json<FolderTrust>, Refusal> {
    Ok(Json(server.host.folder_trust(&asked.path).await?))
}

/// Trust a folder with what was shown of it, or no longer.
#[utoipa::path(
    put, path = "/api/trust", tag = "files", request_body = ref("#/components/schemas/SetFolderTrust"),
    responses(
        (status = 200, description = "The folder as it is now", body = ref("#/components/schemas/FolderTrust")),
        (status = "4XX", description = "It brings something else by now, or cannot be read whole", body = Failure),
    )
)]
pub(crate) async fn set_trust(
    State(server): State<Server>,
    Given(set): Given<SetFolderTrust>,
) -> Result<Json<FolderTrust>, Refusal> {
    let verdict = if set.trusted { Verdict::Trusted } else { Verdict::Untrusted };
    Ok(Json(server.host.set_folder_trust(&set.path, &set.fingerprint, verdict).await?))
}

/// What was said to folders.
#[utoipa::path(
    get, path = "/api/trust/folders", operation_id = "trusted_folders", tag = "files",
    responses((status = 200, description = "Folder by folder", body = ref("#/components/schemas/FolderVerdicts")))
)]
pub(crate) async fn folders(State(server): State<Server>) -> Result<Json<FolderVerdicts>, Refusal> {
    Ok(Json(server.host.folder_verdicts().await?))
}

/// Forget what was said to a folder; it is asked about again.
#[utoipa::path(
    delete, path = "/api/trust/folders", tag = "files", params(TrustAsked),
    responses((status = 204, description = "It is forgotten"))
)]
pub(crate) async fn forget(
    State(server): State<Server>,
    Asked(asked): Asked<TrustAsked>,
) -> Result<StatusCode, Refusal> {
    server.host.forget_folder(&asked.path).await?;
    Ok(StatusCode::NO_CONTENT)
}
