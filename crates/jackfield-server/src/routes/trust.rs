//! Trust of folders: what one brings, and what a person says to it.

use axum::Json;
use axum::extract::State;
use jackfield_api::trust::{FolderTrust, SetFolderTrust};
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
