//! Why a request was not done: a status for programs that read nothing else, a code, and words.
//!
//! The one rule it keeps: every failure has the same shape, `{"error": {"code": …, "reason": …}}`, and a
//! rejected command's codes are those of the contract.

use std::time::Duration;

use axum::Json;
use axum::http::StatusCode;
use axum::http::header::RETRY_AFTER;
use axum::response::{IntoResponse, Response};
use jackfield_api::command::{Rejection, RejectionCode};
use jackfield_host::store::StoreError;
use serde::Serialize;
use utoipa::ToSchema;

use crate::access::NotLetIn;
use crate::access::gate::Stranger;
use crate::access::secret::NoSecret;

/// Why a request was not done.
#[derive(Debug)]
pub(crate) struct Refusal {
    status: StatusCode,
    code: String,
    reason: String,
    /// How long to wait before asking again.
    wait: Option<Duration>,
}

/// The body of every answer that is not a success.
#[derive(Serialize, ToSchema)]
pub(crate) struct Failure {
    error: FailureReason,
}

/// Why a request was not done.
#[derive(Serialize, ToSchema)]
pub(crate) struct FailureReason {
    /// For a program: a code of `Rejection`, or `unauthorized`, `wrong_host`, `wrong_origin`, `too_large`,
    /// `not_json`, `too_often`, `internal`.
    code: String,
    /// For a person: what was wrong and what to do.
    reason: String,
}

impl Refusal {
    pub(crate) fn new(status: StatusCode, code: &str, reason: impl Into<String>) -> Self {
        Self { status, code: code.to_owned(), reason: reason.into(), wait: None }
    }

    pub(crate) fn forbidden() -> Self {
        Self::new(StatusCode::FORBIDDEN, "forbidden", "not allowed with this login")
    }

    pub(crate) fn not_found(what: &str) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not_found", format!("there is no such {what}"))
    }

    pub(crate) fn invalid(reason: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid", reason)
    }

    pub(crate) fn internal(error: &dyn std::error::Error) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", error.to_string())
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let error = FailureReason { code: self.code, reason: self.reason };
        // A moment too long is better than a moment too short.
        let wait = self.wait.map(|wait| [(RETRY_AFTER, (wait.as_secs() + 1).to_string())]);
        (self.status, wait, Json(Failure { error })).into_response()
    }
}

impl From<Stranger> for Refusal {
    fn from(stranger: Stranger) -> Self {
        match stranger {
            Stranger::Host => Self::new(
                StatusCode::MISDIRECTED_REQUEST,
                "wrong_host",
                "this server does not answer to that name; use 127.0.0.1 or localhost with its port, or `server.names`",
            ),
            Stranger::Origin => Self::new(
                StatusCode::FORBIDDEN,
                "wrong_origin",
                "pages of other origins may not ask this server",
            ),
        }
    }
}

/// The same for whoever is not let in, whatever was wrong.
impl From<NotLetIn> for Refusal {
    fn from(not_let_in: NotLetIn) -> Self {
        match not_let_in {
            NotLetIn::Unknown => Self::new(
                StatusCode::UNAUTHORIZED,
                "unauthorized",
                "not logged in: programs send the token, browsers open a new one-time link",
            ),
            NotLetIn::TooOften(wait) => {
                let reason = "too many wrong secrets came from this address; wait, and try again";
                Self { wait: Some(wait), ..Self::new(StatusCode::TOO_MANY_REQUESTS, "too_often", reason) }
            }
        }
    }
}

impl From<NoSecret> for Refusal {
    fn from(error: NoSecret) -> Self {
        Self::internal(&error)
    }
}

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Self {
        let (status, code) = match error {
            StoreError::NoSession(_) => (StatusCode::NOT_FOUND, "not_found"),
            StoreError::NoPlace(_) => (StatusCode::BAD_REQUEST, "invalid"),
            StoreError::Closed => (StatusCode::SERVICE_UNAVAILABLE, "not_now"),
            _ => return Self::internal(&error),
        };
        Self::new(status, code, error.to_string())
    }
}

impl From<Rejection> for Refusal {
    fn from(rejection: Rejection) -> Self {
        // Named as the contract writes it.
        let code = serde_json::to_value(rejection.code).ok();
        let code = code.as_ref().and_then(serde_json::Value::as_str).unwrap_or("invalid").to_owned();
        Self { status: status(rejection.code), code, reason: rejection.reason, wait: None }
    }
}

fn status(code: RejectionCode) -> StatusCode {
    match code {
        RejectionCode::Invalid | RejectionCode::Elsewhere => StatusCode::BAD_REQUEST,
        RejectionCode::NotFound => StatusCode::NOT_FOUND,
        RejectionCode::TooLate | RejectionCode::NotNow | RejectionCode::RunEnded => StatusCode::CONFLICT,
        RejectionCode::Forbidden => StatusCode::FORBIDDEN,
        RejectionCode::Refused => StatusCode::UNPROCESSABLE_ENTITY,
        RejectionCode::TimedOut => StatusCode::GATEWAY_TIMEOUT,
        RejectionCode::Unsupported => StatusCode::NOT_IMPLEMENTED,
    }
}
