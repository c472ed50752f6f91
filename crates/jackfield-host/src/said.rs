//! What the host's log says of what happens in sessions.
//!
//! Levels go by a rule: what comes line by line is TRACE, what happens in a turn DEBUG, a change of what a session is
//! INFO, and WARN only what one would wake somebody for. The one rule it keeps: nothing that a person, a model or a
//! tool has said is in it; names, numbers and codes are.

use jackfield_api::session::RunEndReason;
use jackfield_api::{Body, Event};

/// Says what is to be said of an event.
pub(crate) fn event(event: &Event) {
    let (session, seq) = (&event.session_id, event.seq.0);
    match &event.body {
        Body::RunStarted(run) => {
            let version = run.claude_code_version.as_deref().unwrap_or_default();
            tracing::info!(%session, seq, version, "run started");
        }
        Body::RunEnded(run) => match run.reason {
            RunEndReason::Closed | RunEndReason::HostEnded | RunEndReason::OutputEnded => {
                tracing::info!(%session, seq, reason = ?run.reason, code = run.exit_code, "run ended");
            }
            reason => tracing::warn!(%session, seq, ?reason, code = run.exit_code, "run ended badly"),
        },
        Body::TurnStarted(_) => {
            tracing::info!(%session, seq, turn = event.turn.unwrap_or_default().0, "turn started");
        }
        Body::Complete(complete) => {
            let figures = &complete.data;
            tracing::info!(
                %session,
                seq,
                turn = event.turn.unwrap_or_default().0,
                milliseconds = figures.duration_ms,
                cost_usd = figures.cost_usd,
                output_tokens = figures.output_tokens,
                "turn ended"
            );
        }
        Body::Error(error) => tracing::info!(%session, seq, code = %plain(&error.code), "turn or run failed"),
        Body::PermissionRequest(request) => {
            tracing::info!(%session, seq, question = request.pending_id.0, kind = ?request.kind, "question asked");
        }
        Body::PermissionResolved(over) => {
            tracing::info!(%session, seq, question = over.pending_id.0, outcome = ?over.outcome, "question answered");
        }
        Body::ApiRetry(retry) => {
            tracing::info!(%session, seq, attempt = retry.attempt, status = retry.status, "the API is asked again");
        }
        Body::RateLimit(limit) => {
            tracing::info!(%session, seq, status = %plain(&limit.status), "limits told");
        }
        Body::Unknown(unknown) => {
            tracing::info!(%session, seq, name = %plain(&unknown.tag), "unknown message");
        }
        Body::Malformed(_) => tracing::info!(%session, seq, "line that cannot be read"),
        Body::ToolCall(_) | Body::ToolUpdate(_) | Body::Task(_) | Body::Hook(_) | Body::ContextWindow(_) => {
            tracing::debug!(%session, seq, what = event.body.tag(), "event");
        }
        body => tracing::trace!(%session, seq, what = body.tag(), "event"),
    }
}

/// A code or a name from outside: short, and of letters that codes have.
fn plain(word: &str) -> String {
    let is_plain = |letter: &char| letter.is_ascii_alphanumeric() || "-_./: ".contains(*letter);
    let word: String = word.chars().take(80).filter(is_plain).collect();
    crate::redact::redact(&word).into_owned()
}
