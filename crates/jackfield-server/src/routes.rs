//! The REST routes, in groups by who may ask.
//!
//! Each is one function beside its description, from which `docs/schema/openapi.json` is written. The one rule it
//! keeps: a route only translates; what it answers is the host's word.

mod commands;
mod description;
mod devices;
mod editor;
mod files;
mod host;
mod login;
pub(crate) mod metrics;
mod sessions;
mod speech;
mod trust;

use axum::extract::DefaultBodyLimit;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::router::Server;
use crate::socket;

/// How large a command may be: pictures and documents are in it.
const COMMAND: usize = 32 * 1024 * 1024;

/// For everybody.
pub(crate) fn open() -> OpenApiRouter<Server> {
    OpenApiRouter::new().routes(routes!(login::healthz)).routes(routes!(login::login))
}

/// For who may look.
pub(crate) fn view() -> OpenApiRouter<Server> {
    let commands = OpenApiRouter::new().routes(routes!(commands::command));
    OpenApiRouter::new()
        .routes(routes!(login::logout))
        .routes(routes!(sessions::sessions))
        .routes(routes!(sessions::session))
        .routes(routes!(sessions::snapshot))
        .routes(routes!(sessions::items))
        .routes(routes!(sessions::events))
        .routes(routes!(host::desk))
        .routes(routes!(host::decisions))
        .routes(routes!(host::search))
        .routes(routes!(host::costs))
        .routes(routes!(host::settings))
        .routes(routes!(metrics::metrics))
        .routes(routes!(metrics::processes))
        .routes(routes!(editor::editor))
        .routes(routes!(speech::speech))
        // Which commands are allowed is decided by the host, one by one.
        .merge(commands.layer(DefaultBodyLimit::max(COMMAND)))
}

/// For who may answer: also what is in files.
pub(crate) fn answer() -> OpenApiRouter<Server> {
    // A verdict may have the whole of a file.
    let verdicts = OpenApiRouter::new().routes(routes!(editor::diff, editor::decide));
    OpenApiRouter::new()
        .routes(routes!(editor::file))
        .merge(verdicts.layer(DefaultBodyLimit::max(COMMAND)))
        .routes(routes!(sessions::export))
        .routes(routes!(files::files))
        .routes(routes!(files::file))
        .routes(routes!(files::find))
        .routes(routes!(files::diff))
}

/// For who may do everything.
pub(crate) fn admin() -> OpenApiRouter<Server> {
    OpenApiRouter::new()
        .routes(routes!(host::rules, host::set_rules))
        .routes(routes!(host::try_rules))
        .routes(routes!(host::history))
        .routes(routes!(files::folders))
        .routes(routes!(trust::trust, trust::set_trust))
        .routes(routes!(trust::folders, trust::forget))
        .routes(routes!(sessions::lines))
        .routes(routes!(sessions::follow_lines))
        .routes(routes!(metrics::debug, metrics::set_debug))
        .routes(routes!(login::ticket))
        .routes(routes!(devices::devices))
        .routes(routes!(devices::revoke))
}

/// The WebSocket.
pub(crate) fn socket() -> OpenApiRouter<Server> {
    OpenApiRouter::new().routes(routes!(socket::socket))
}

/// The description of all routes. The contract's own types are named in it; their schemas are put in by whoever
/// writes the document.
pub fn openapi() -> utoipa::openapi::OpenApi {
    let all = open().merge(view()).merge(answer()).merge(admin()).merge(socket());
    description::finished(all.into_openapi())
}
