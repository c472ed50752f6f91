//! Coming in and going out.

use axum::Json;
use axum::extract::{Extension, State};
use axum::http::header::SET_COOKIE;
use axum::http::{HeaderMap, StatusCode};
use axum::response::IntoResponse;
use jackfield_api::socket::Scope;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::access::Caller;
use crate::access::tickets;
use crate::given::Given;
use crate::refusal::{Failure, Refusal};
use crate::router::Server;

/// Exchanges a ticket for a login.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct Login {
    /// What stands behind `#ticket=` in a one-time link.
    ticket: String,
}

/// A login. The cookie comes as a header.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct LoggedIn {
    /// Goes into the header `x-jackfield-key` of every request, and into the `hello` of a WebSocket.
    key: String,
    /// What it may do: `view`, `answer` or `admin`.
    #[schema(value_type = String)]
    scope: Scope,
}

/// A new one-time link.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Ticket {
    /// The link.
    link: String,
    /// How many seconds it can be used.
    expires_in: u64,
}

/// Is the server there?
#[utoipa::path(get, path = "/healthz", tag = "access", responses((status = 200, description = "It is")))]
pub(crate) async fn healthz() -> &'static str {
    "ok\n"
}

/// Exchange the ticket of a one-time link for a cookie and a key.
#[utoipa::path(
    post, path = "/api/login", tag = "access", request_body = Login,
    responses(
        (status = 200, description = "In; the cookie is set unless the browser has one that is good", body = LoggedIn),
        (status = 401, description = "The ticket was used before, is too old, or is none", body = Failure),
    )
)]
pub(crate) async fn login(
    State(server): State<Server>,
    headers: HeaderMap,
    Given(login): Given<Login>,
) -> Result<impl IntoResponse, Refusal> {
    let given = server.access.log_in(&login.ticket, &headers)?.ok_or_else(Refusal::unauthorized)?;
    let cookie = given.cookie.map(|cookie| [(SET_COOKIE, server.access.set_cookie(Some(&cookie)))]);
    Ok((cookie, Json(LoggedIn { key: given.key.reveal().to_owned(), scope: given.scope })))
}

/// End this browser's login, in all its tabs.
#[utoipa::path(
    post, path = "/api/logout", tag = "access", responses((status = 204, description = "Out"))
)]
pub(crate) async fn logout(
    State(server): State<Server>,
    Extension(caller): Extension<Caller>,
) -> impl IntoResponse {
    server.access.log_out(&caller);
    (StatusCode::NO_CONTENT, [(SET_COOKIE, server.access.set_cookie(None))])
}

/// Make a new one-time link.
#[utoipa::path(
    post, path = "/api/tickets", tag = "access",
    responses((status = 200, description = "A link for one browser", body = Ticket))
)]
pub(crate) async fn ticket(
    State(server): State<Server>,
    Extension(caller): Extension<Caller>,
) -> Result<Json<Ticket>, Refusal> {
    let link = server.access.link(caller.scope)?;
    Ok(Json(Ticket { link, expires_in: tickets::LIFE.as_secs() }))
}
