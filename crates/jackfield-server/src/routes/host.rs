//! What concerns all sessions: the desk, decisions, rules, search, money, history, settings.

use axum::Json;
use axum::extract::State;
use jackfield_api::host::{
    Costs, Decision, DeskEntry, HistoryList, HostRules, HostSettings, RulesTried, SearchHits,
};
use jackfield_api::{SessionId, Timestamp};
use jackfield_host::store::CostBy;
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};

use crate::given::{Asked, Given};
use crate::refusal::{Failure, Refusal};
use crate::router::Server;

/// How many decisions are listed at most, and if nobody says how many.
const DECISIONS: u32 = 200;
/// How many places are found, likewise.
const HITS: u32 = 50;

/// All open questions of all sessions, oldest first.
#[utoipa::path(
    get, path = "/api/desk", tag = "desk",
    responses((status = 200, description = "The questions: a list of `DeskEntry`", body = ref("#/components/schemas/DeskEntries")))
)]
pub(crate) async fn desk(State(server): State<Server>) -> Json<Vec<DeskEntry>> {
    Json(server.host.desk())
}

/// Which decisions.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct DecisionsAsked {
    /// Only of this session.
    #[param(value_type = Option<String>)]
    session: Option<SessionId>,
    /// Only those decided before this time, in milliseconds since 1970.
    #[param(value_type = Option<u64>)]
    before: Option<Timestamp>,
    /// How many at most, up to 200.
    limit: Option<u32>,
}

/// Decisions that were made, newest first.
#[utoipa::path(
    get, path = "/api/decisions", tag = "desk", params(DecisionsAsked),
    responses((status = 200, description = "A list of `Decision`", body = ref("#/components/schemas/Decisions")))
)]
pub(crate) async fn decisions(
    State(server): State<Server>,
    Asked(asked): Asked<DecisionsAsked>,
) -> Result<Json<Vec<Decision>>, Refusal> {
    let limit = asked.limit.unwrap_or(DECISIONS).clamp(1, DECISIONS);
    Ok(Json(server.host.decisions(asked.session.as_ref(), asked.before, limit).await?))
}

/// The rules that answer before a person is asked.
#[utoipa::path(
    get, path = "/api/rules", tag = "desk",
    responses((status = 200, description = "The rules", body = ref("#/components/schemas/HostRules")))
)]
pub(crate) async fn rules(State(server): State<Server>) -> Json<HostRules> {
    Json(HostRules::clone(&server.host.rules()))
}

/// Put other rules in their place.
#[utoipa::path(
    put, path = "/api/rules", tag = "desk", request_body = ref("#/components/schemas/HostRules"),
    responses(
        (status = 200, description = "The rules as they are now", body = ref("#/components/schemas/HostRules")),
        (status = 400, description = "A rule makes no sense", body = Failure),
    )
)]
pub(crate) async fn set_rules(
    State(server): State<Server>,
    Given(rules): Given<HostRules>,
) -> Result<Json<HostRules>, Refusal> {
    server.host.set_rules(rules).await?;
    Ok(self::rules(State(server)).await)
}

/// What these rules would have said to questions that were really asked. Nothing changes.
#[utoipa::path(
    post, path = "/api/rules/try", tag = "desk", request_body = ref("#/components/schemas/HostRules"),
    responses(
        (status = 200, description = "Question by question", body = ref("#/components/schemas/RulesTried")),
        (status = 400, description = "A rule makes no sense", body = Failure),
    )
)]
pub(crate) async fn try_rules(
    State(server): State<Server>,
    Given(rules): Given<HostRules>,
) -> Result<Json<RulesTried>, Refusal> {
    Ok(Json(server.host.try_rules(&rules).await?))
}

/// What is looked for.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct SearchAsked {
    /// Words; the last may be the beginning of one.
    q: String,
    /// How many places at most, up to 50.
    limit: Option<u32>,
}

/// Search all conversations.
#[utoipa::path(
    get, path = "/api/search", tag = "sessions", params(SearchAsked),
    responses((status = 200, description = "Where it was found", body = ref("#/components/schemas/SearchHits")))
)]
pub(crate) async fn search(
    State(server): State<Server>,
    Asked(asked): Asked<SearchAsked>,
) -> Result<Json<SearchHits>, Refusal> {
    let limit = asked.limit.unwrap_or(HITS).clamp(1, HITS);
    Ok(Json(server.host.search(&asked.q, limit).await?))
}

/// How money is grouped.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct CostsAsked {
    /// One row for each.
    #[param(inline)]
    by: ByAsked,
    /// The session whose turns are listed, for `turn`.
    #[param(value_type = Option<String>)]
    session: Option<SessionId>,
    /// Only turns that ended since, in milliseconds since 1970.
    #[param(value_type = Option<u64>)]
    since: Option<Timestamp>,
}

/// What a row stands for.
#[derive(Debug, Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ByAsked {
    /// A day (UTC).
    Day,
    /// A day (UTC) and a model.
    DayModel,
    /// A model.
    Model,
    /// A session.
    Session,
    /// A turn of one session.
    Turn,
}

/// What was spent.
#[utoipa::path(
    get, path = "/api/costs", tag = "host", params(CostsAsked),
    responses(
        (status = 200, description = "Group by group", body = ref("#/components/schemas/Costs")),
        (status = 400, description = "`by=turn` without a session", body = Failure),
    )
)]
pub(crate) async fn costs(
    State(server): State<Server>,
    Asked(asked): Asked<CostsAsked>,
) -> Result<Json<Costs>, Refusal> {
    let by = match (asked.by, asked.session) {
        (ByAsked::Day, _) => CostBy::Day,
        (ByAsked::DayModel, _) => CostBy::DayModel,
        (ByAsked::Model, _) => CostBy::Model,
        (ByAsked::Session, _) => CostBy::Session,
        (ByAsked::Turn, Some(session)) => CostBy::Turn(session),
        (ByAsked::Turn, None) => return Err(Refusal::invalid("`by=turn` needs a `session`")),
    };
    Ok(Json(server.host.costs(by, asked.since).await?))
}

/// The CLI's own history, newest first.
#[utoipa::path(
    get, path = "/api/history", tag = "sessions",
    responses((status = 200, description = "Conversations", body = ref("#/components/schemas/HistoryList")))
)]
pub(crate) async fn history(State(server): State<Server>) -> Result<Json<HistoryList>, Refusal> {
    Ok(Json(server.host.history().await?))
}

/// What the host can be used with, and how it is set.
#[utoipa::path(
    get, path = "/api/settings", tag = "host",
    responses((status = 200, description = "The settings", body = ref("#/components/schemas/HostSettings")))
)]
pub(crate) async fn settings(State(server): State<Server>) -> Json<HostSettings> {
    Json(server.host.settings().await)
}
