//! The browsers that were let in, and letting one in no more.

use std::time::{SystemTime, UNIX_EPOCH};

use axum::Json;
use axum::extract::{Extension, Path, State};
use axum::http::StatusCode;
use jackfield_api::socket::Scope;
use serde::Serialize;
use utoipa::ToSchema;

use crate::access::logins::Device;
use crate::access::{Caller, CallerKind};
use crate::refusal::{Failure, Refusal};
use crate::router::Server;

/// The browsers that were let in.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct DeviceList {
    /// The last seen first.
    devices: Vec<DeviceShown>,
}

/// A browser that was let in.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct DeviceShown {
    /// To revoke it by.
    id: String,
    /// What its link called it.
    name: Option<String>,
    /// What it may do: `view`, `answer` or `admin`.
    #[schema(value_type = String)]
    scope: Scope,
    /// When it was let in, in milliseconds since 1970.
    created: u64,
    /// When it was last there, to the minute.
    last_seen: u64,
    /// Whether it is the one that asks.
    current: bool,
}

/// The browsers that were let in, the last seen first.
#[utoipa::path(
    get, path = "/api/devices", tag = "access",
    responses((status = 200, description = "All of them", body = DeviceList))
)]
pub(crate) async fn devices(
    State(server): State<Server>,
    Extension(caller): Extension<Caller>,
) -> Json<DeviceList> {
    let shown = |device: Device| {
        let current = matches!(&caller.kind, CallerKind::Browser(known) if known.id == device.id);
        DeviceShown {
            id: device.id.as_str().to_owned(),
            name: device.name,
            scope: device.scope,
            created: milliseconds(device.since),
            last_seen: milliseconds(device.last_seen),
            current,
        }
    };
    Json(DeviceList { devices: server.access.devices().into_iter().map(shown).collect() })
}

/// Let a browser in no more; its connections end at once.
#[utoipa::path(
    delete, path = "/api/devices/{id}", tag = "access",
    params(("id" = String, Path, description = "The device")),
    responses(
        (status = 204, description = "It is out"),
        (status = 404, description = "There is no such device", body = Failure),
    )
)]
pub(crate) async fn revoke(
    State(server): State<Server>,
    Path(id): Path<String>,
) -> Result<StatusCode, Refusal> {
    let revoked = server.access.revoke(&id);
    revoked.map(|_| StatusCode::NO_CONTENT).ok_or_else(|| Refusal::not_found("device"))
}

fn milliseconds(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or_default()
}
