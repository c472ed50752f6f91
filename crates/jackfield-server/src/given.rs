//! What callers send, taken apart with our own words for what is wrong with it.
//!
//! The one rule it keeps: nothing is read before its size is bounded, and nothing is parsed before its depth is.

use std::time::Duration;

use axum::body::Bytes;
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::http::request::Parts;
use jackfield_api::SessionId;
use serde::de::DeserializeOwned;

use crate::refusal::Refusal;

/// How deeply JSON may be nested.
const DEPTH: usize = 64;
/// How long a body may take to arrive.
const ARRIVAL: Duration = Duration::from_secs(30);

/// A JSON body.
#[derive(Debug)]
pub(crate) struct Given<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Given<T> {
    type Rejection = Refusal;

    async fn from_request(request: Request, state: &S) -> Result<Self, Refusal> {
        let kind = request.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let kind = kind.and_then(|kind| kind.split(';').next()).unwrap_or_default();
        // A form of a stranger's page cannot have this type.
        if !kind.trim().eq_ignore_ascii_case("application/json") {
            let reason = "the body must be `application/json`";
            return Err(Refusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "not_json", reason));
        }
        let body = tokio::time::timeout(ARRIVAL, Bytes::from_request(request, state)).await;
        let body = body.map_err(|_| {
            Refusal::new(StatusCode::REQUEST_TIMEOUT, "timed_out", "the body took too long to arrive")
        })?;
        let body = body.map_err(|rejection| match rejection.status() {
            StatusCode::PAYLOAD_TOO_LARGE => {
                Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", "the body is too large")
            }
            _ => Refusal::invalid("the body did not arrive whole"),
        })?;
        if is_too_deep(&body) {
            return Err(Refusal::invalid(TOO_DEEP));
        }
        serde_json::from_slice(&body).map(Self).map_err(|error| Refusal::invalid(error.to_string()))
    }
}

/// The query of a request.
#[derive(Debug)]
pub(crate) struct Asked<T>(pub(crate) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Asked<T> {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refusal> {
        let query = Query::<T>::from_request_parts(parts, state).await;
        query.map(|Query(query)| Self(query)).map_err(|rejection| Refusal::invalid(rejection.body_text()))
    }
}

/// The session that a path names.
#[derive(Debug)]
pub(crate) struct Named(pub(crate) SessionId);

impl<S: Send + Sync> FromRequestParts<S> for Named {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refusal> {
        let path = Path::<SessionId>::from_request_parts(parts, state).await;
        path.map(|Path(id)| Self(id)).map_err(|_| Refusal::not_found("session"))
    }
}

/// What is wrong with JSON that is too deep.
pub(crate) const TOO_DEEP: &str = "nested more than 64 levels deep";

/// Whether JSON is nested too deeply. Text that is no JSON may be judged wrongly; it is refused anyway.
pub(crate) fn is_too_deep(text: &[u8]) -> bool {
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    for byte in text {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            _ if in_string => {}
            b'{' | b'[' => {
                depth += 1;
                if depth > DEPTH {
                    return true;
                }
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s24_depth_counts_brackets_outside_of_strings() {
        let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
        assert!(!is_too_deep(nested(64).as_bytes()));
        assert!(is_too_deep(nested(65).as_bytes()));
        assert!(is_too_deep("{\"a\":".repeat(65).as_bytes()));
        let text = format!("{{\"a\\\"{}\": \"{}\"}}", "[".repeat(100), "{\\\\".repeat(100));
        assert!(!is_too_deep(text.as_bytes()));
        assert!(!is_too_deep("[],".repeat(1_000).as_bytes()));
    }
}
