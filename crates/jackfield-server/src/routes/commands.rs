//! Commands for scripts that want no WebSocket, and those that are too large for one.

use axum::Json;
use axum::extract::{Extension, State};
use axum::http::HeaderMap;
use jackfield_api::socket::{Accepted, GivenCommand, ServerFrame};
use jackfield_host::Client;

use crate::access::Caller;
use crate::given::Given;
use crate::refusal::{Failure, Refusal};
use crate::router::Server;

/// The header with a name for people: who answered a question is told by it.
const CLIENT: &str = "x-jackfield-client";

/// The header with the place in a trace that a prompt's turn is to be a part of.
const TRACE_PARENT: &str = "traceparent";
/// The header with what others noted beside it; there may be several.
const TRACE_STATE: &str = "tracestate";

/// Give a command; the answer comes when it is done.
#[utoipa::path(
    post, path = "/api/commands", tag = "commands",
    request_body = ref("#/components/schemas/GivenCommand"),
    params(
        ("x-jackfield-client" = Option<String>, Header, description = "A name for people, at most 80 characters"),
        ("traceparent" = Option<String>, Header, description = "The W3C's place in a trace, for a prompt's turn"),
        ("tracestate" = Option<String>, Header, description = "What others noted beside it"),
    ),
    responses(
        (status = 200, description = "It was done: the frame `accepted`", body = ref("#/components/schemas/AcceptedFrame")),
        (status = "4XX", description = "It was not done; the code is one of `Rejection`", body = Failure),
    )
)]
pub(crate) async fn command(
    State(server): State<Server>,
    Extension(caller): Extension<Caller>,
    headers: HeaderMap,
    Given(given): Given<GivenCommand>,
) -> Result<Json<ServerFrame>, Refusal> {
    let name = headers.get(CLIENT).and_then(|name| name.to_str().ok()).map(str::trim).unwrap_or_default();
    let parent = headers.get(TRACE_PARENT).and_then(|parent| parent.to_str().ok());
    let states: Vec<&str> =
        headers.get_all(TRACE_STATE).iter().filter_map(|state| state.to_str().ok()).collect();
    let client = Client::new(caller.name(name), caller.scope).traced(parent, Some(&states.join(",")));
    let id = given.id.clone();
    let host = server.host.clone();
    // What was begun is done, also when the caller has gone; it may ask again with the same id.
    let doing = tokio::spawn(async move { host.command(&client, given).await });
    let reply = doing.await.map_err(|error| Refusal::internal(&error))??;
    Ok(Json(ServerFrame::Accepted(Box::new(Accepted { id, reply }))))
}
