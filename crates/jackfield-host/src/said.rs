//! What the host's log says of what happens in sessions.
//!
//! Levels go by a rule: what comes line by line is TRACE, also if it cannot be read or is not known, what happens in a
//! turn DEBUG, a change of what a session is INFO (a run, a turn or a question begins or is over, there is another mode
//! or model), and WARN only what one would wake somebody for. The one rule it keeps: nothing that a person, a model or
//! a tool has said is in it; names, numbers and codes are.

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
            // Only this host kills one that does not end when it should; killed by somebody else it has crashed.
            RunEndReason::Closed
            | RunEndReason::Killed
            | RunEndReason::HostEnded
            | RunEndReason::OutputEnded => {
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
        Body::PermissionCancelled(over) => {
            tracing::info!(%session, seq, question = over.pending_id.0, "question withdrawn");
        }
        Body::ApiRetry(retry) => {
            tracing::debug!(%session, seq, attempt = retry.attempt, status = retry.status, "the API is asked again");
        }
        Body::RateLimit(limit) => {
            tracing::debug!(%session, seq, status = %plain(&limit.status), "limits told");
        }
        Body::Unknown(unknown) => {
            tracing::trace!(%session, seq, name = %plain(&unknown.tag), "unknown message");
        }
        Body::Malformed(_) => tracing::trace!(%session, seq, "line that cannot be read"),
        Body::ModeChanged(_) | Body::ModelChanged(_) => {
            tracing::info!(%session, seq, what = event.body.tag(), "event");
        }
        Body::ToolCall(_)
        | Body::ToolUpdate(_)
        | Body::Task(_)
        | Body::Hook(_)
        | Body::ContextWindow(_)
        | Body::Compaction(_) => {
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::sync::{Arc, Mutex};

    use jackfield_api::codec;
    use serde_json::{Value, json};
    use tracing::span::{Attributes, Id, Record};
    use tracing::{Level, Metadata, Subscriber};

    /// Takes down the level of everything that is said.
    #[derive(Default)]
    struct Levels(Arc<Mutex<Vec<Level>>>);

    impl Subscriber for Levels {
        fn enabled(&self, _: &Metadata<'_>) -> bool {
            true
        }

        fn new_span(&self, _: &Attributes<'_>) -> Id {
            Id::from_u64(1)
        }

        fn record(&self, _: &Id, _: &Record<'_>) {}

        fn record_follows_from(&self, _: &Id, _: &Id) {}

        fn event(&self, event: &tracing::Event<'_>) {
            self.0.lock().unwrap().push(*event.metadata().level());
        }

        fn enter(&self, _: &Id) {}

        fn exit(&self, _: &Id) {}
    }

    /// How loudly an event is told.
    fn level(mut event: Value) -> Level {
        for (name, value) in
            [("seq", json!(1)), ("at", json!(1)), ("session_id", json!("s")), ("turn", json!(1))]
        {
            event[name] = value;
        }
        let event = codec::decode(&event.to_string()).unwrap();
        let levels = Levels::default();
        let said = Arc::clone(&levels.0);
        tracing::subscriber::with_default(levels, || super::event(&event));
        let said = said.lock().unwrap();
        assert_eq!(said.len(), 1, "everything is said once: {event:?}");
        said[0]
    }

    #[test]
    fn what_comes_line_by_line_is_traced_and_only_what_wakes_somebody_warns() {
        let ended = |reason: &str| json!({ "type": "run_ended", "reason": reason, "exit_code": null, "stderr_tail": "" });
        for (event, expected) in [
            (json!({ "type": "message_chunk", "item_id": 1, "message_id": null, "text": "a" }), Level::TRACE),
            (json!({ "type": "malformed", "reason": "r", "text": "{" }), Level::TRACE),
            (json!({ "type": "unknown", "tag": "a", "text": "{}" }), Level::TRACE),
            (json!({ "type": "stderr", "text": "a" }), Level::TRACE),
            (
                json!({ "type": "api_retry", "attempt": 1, "max_retries": 9, "delay_ms": 1, "status": 529, "error": "e" }),
                Level::DEBUG,
            ),
            (json!({ "type": "mode_changed", "permission_mode": "plan" }), Level::INFO),
            (
                json!({ "type": "permission_resolved", "pending_id": 1, "outcome": "denied", "by": "b", "message": null }),
                Level::INFO,
            ),
            (json!({ "type": "permission_cancelled", "pending_id": 1 }), Level::INFO),
            (ended("closed"), Level::INFO),
            (ended("killed"), Level::INFO),
            (ended("crashed"), Level::WARN),
        ] {
            assert_eq!(level(event.clone()), expected, "{event}");
        }
    }
}
