//! From a request to the function that answers it: first the gate, then who it is, then what it may do.
//!
//! The routes themselves are in [`routes`]. The one rule it keeps: a route is in exactly one group, and the group
//! decides who may ask, so that no route can forget to.

use std::sync::Arc;

use axum::Router;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::StatusCode;
use axum::middleware::{Next, from_fn_with_state, map_response};
use axum::response::Response;
use jackfield_api::socket::Scope;
use jackfield_host::Host;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::access::gate::Gate;
use crate::access::{Access, Caller, CallerKind, KeyShown};
use crate::admission::Arrival;
use crate::dress::dress;
use crate::editor::Board;
use crate::page::page;
use crate::refusal::Refusal;
use crate::routes;
use crate::speech::Dictating;

/// How large a body may be, where a route does not say otherwise.
const BODY: usize = 1024 * 1024;

/// How large the head of a request may be.
pub(crate) const HEAD: usize = 32 * 1024;

/// What every request and connection needs.
#[derive(Debug, Clone)]
pub(crate) struct Server {
    pub(crate) host: Host,
    pub(crate) access: Arc<Access>,
    /// What an interactive CLI shows here, if the host is its editor.
    pub(crate) editor: Option<Board>,
    /// What understands speech.
    pub(crate) speech: Dictating,
    /// Done when the server stops.
    pub(crate) stopping: CancellationToken,
    /// The connections that are still there.
    pub(crate) connections: TaskTracker,
}

/// All of it.
pub(crate) fn router(server: &Server) -> Router {
    let shown = |key| from_fn_with_state((server.clone(), key), authenticate);
    let needs = |scope| from_fn_with_state(scope, allow);
    let with_login = routes::view()
        .merge(routes::answer().route_layer(needs(Scope::Answer)))
        .merge(routes::admin().route_layer(needs(Scope::Admin)))
        .route_layer(shown(KeyShown::InHeader))
        .merge(routes::socket().route_layer(shown(KeyShown::InFirstFrame)));
    let (router, _) = routes::open().merge(with_login).split_for_parts();
    router
        .method_not_allowed_fallback(async || {
            Refusal::new(StatusCode::METHOD_NOT_ALLOWED, "invalid", "this route has no such method")
        })
        .fallback(page)
        .layer(DefaultBodyLimit::max(BODY))
        .layer(from_fn_with_state(server.clone(), pass_gate))
        .layer(map_response(dress))
        .with_state(server.clone())
}

/// A request as it is below the base path. A proxy may have taken the path away already; then nothing is left to do.
pub(crate) fn below(mut request: Request, base: &str) -> Request {
    let target = request.uri().path_and_query().map(axum::http::uri::PathAndQuery::as_str);
    let rest = target.filter(|_| !base.is_empty()).and_then(|target| target.strip_prefix(base));
    let rest = match rest {
        Some(rest) if rest.starts_with('/') => rest.to_owned(),
        Some(rest) if rest.is_empty() || rest.starts_with('?') => format!("/{rest}"),
        _ => return request,
    };
    let mut parts = request.uri().clone().into_parts();
    parts.path_and_query = rest.parse().ok();
    if let Ok(uri) = parts.try_into() {
        *request.uri_mut() = uri;
    }
    request
}

async fn pass_gate(State(server): State<Server>, request: Request, next: Next) -> Result<Response, Refusal> {
    if head_size(&request) > HEAD {
        let status = StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE;
        return Err(Refusal::new(status, "too_large", "the head of the request is too large"));
    }
    let door = Arrival::of(request.extensions()).door;
    server.access.gate.check(door, request.method(), request.uri(), request.headers())?;
    Ok(next.run(request).await)
}

/// The buffer of a connection may be larger than its limit says, by what came with the last read.
fn head_size(request: &Request) -> usize {
    let headers = request.headers().iter();
    let fields: usize = headers.map(|(name, value)| name.as_str().len() + value.len() + 4).sum();
    fields + request.uri().path_and_query().map_or(0, |target| target.as_str().len())
}

async fn authenticate(
    State((server, key)): State<(Server, KeyShown)>,
    mut request: Request,
    next: Next,
) -> Result<Response, Refusal> {
    let arrival = Arrival::of(request.extensions());
    let caller = server.access.caller(arrival.door, request.headers(), key)?;
    if matches!(caller.kind, CallerKind::Browser(_)) {
        Gate::check_cookie(request.method(), request.headers())?;
    }
    if key == KeyShown::InHeader {
        arrival.admit();
    }
    request.extensions_mut().insert(caller);
    Ok(next.run(request).await)
}

async fn allow(State(needed): State<Scope>, request: Request, next: Next) -> Result<Response, Refusal> {
    let scope = request.extensions().get::<Caller>().map(|caller| caller.scope);
    if scope.is_some_and(|scope| scope >= needed) {
        return Ok(next.run(request).await);
    }
    Err(Refusal::forbidden())
}
