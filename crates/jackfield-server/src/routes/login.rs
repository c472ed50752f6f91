//! Coming in and going out.

use axum::Json;
use axum::extract::{Extension, FromRequest as _, Request, State};
use axum::http::header::{CONTENT_TYPE, SET_COOKIE};
use axum::http::{HeaderMap, StatusCode};
use axum::response::IntoResponse;
use jackfield_api::socket::Scope;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::access::Caller;
use crate::access::tickets;
use crate::admission::Arrival;
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

/// For whom a link is.
#[derive(Debug, Default, Deserialize, ToSchema)]
pub(crate) struct TicketWanted {
    /// What its holder may do: `view`, `answer` or `admin`; everything if absent.
    #[schema(value_type = Option<String>)]
    scope: Option<Scope>,
    /// What the device is called in lists and decisions, at most 80 characters.
    name: Option<String>,
}

/// A new one-time link.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Ticket {
    /// The link.
    link: String,
    /// How many seconds it can be used.
    expires_in: u64,
}

/// Is the server there, and is it one of ours?
#[utoipa::path(get, path = "/healthz", tag = "access", responses((status = 200, description = "It is")))]
pub(crate) async fn healthz() -> &'static str {
    "ok jackfield\n"
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
    Extension(arrival): Extension<Arrival>,
    headers: HeaderMap,
    Given(login): Given<Login>,
) -> Result<impl IntoResponse, Refusal> {
    let given = server.access.log_in(arrival.door, &login.ticket, &headers)??;
    let cookie = given.cookie.map(|cookie| [(SET_COOKIE, server.access.set_cookie(&headers, Some(&cookie)))]);
    Ok((cookie, Json(LoggedIn { key: given.key.reveal().to_owned(), scope: given.scope })))
}

/// End this browser's login, in all its tabs.
#[utoipa::path(
    post, path = "/api/logout", tag = "access", responses((status = 204, description = "Out"))
)]
pub(crate) async fn logout(
    State(server): State<Server>,
    Extension(caller): Extension<Caller>,
    headers: HeaderMap,
) -> impl IntoResponse {
    server.access.log_out(&caller);
    (StatusCode::NO_CONTENT, [(SET_COOKIE, server.access.set_cookie(&headers, None))])
}

/// Make a new one-time link.
#[utoipa::path(
    post, path = "/api/tickets", tag = "access", request_body = Option<TicketWanted>,
    responses((status = 200, description = "A link for one browser", body = Ticket))
)]
pub(crate) async fn ticket(State(server): State<Server>, request: Request) -> Result<Json<Ticket>, Refusal> {
    // Who wants nothing in particular needs no body.
    let wanted = if request.headers().contains_key(CONTENT_TYPE) {
        Given::<TicketWanted>::from_request(request, &server).await?.0
    } else {
        TicketWanted::default()
    };
    let link = server.access.link(wanted.scope.unwrap_or(Scope::Admin), wanted.name.as_deref())?;
    Ok(Json(Ticket { link, expires_in: tickets::LIFE.as_secs() }))
}
