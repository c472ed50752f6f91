//! What the running host tells: its figures, and the last lines of its newest sessions.
//!
//! The one rule it keeps: that something is not known is said, with why, and never looks like nothing.

use std::path::Path;
use std::time::Duration;

use jackfield_api::lines::KeptLine;
use jackfield_api::{LineNumber, Seq};
use jackfield_client::{Client, ClientError};
use jackfield_host::store::SessionQuery;
use serde_json::{Map, Value, json};

use super::{LINES, SESSIONS, cut, pieces};

/// How long it may take to answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// What is told of a host.
pub(super) struct Told {
    /// Whether one runs.
    pub(super) host: String,
    /// Its figures that tell of drift and trouble, or why there are none.
    pub(super) figures: Value,
    /// The last lines of its newest sessions, or why there are none.
    pub(super) journal: Value,
}

impl Told {
    /// Nothing, and why.
    fn nothing(why: impl Into<String>) -> Self {
        let why = why.into();
        let none = Value::String(format!("not known: {why}"));
        Self { host: why, figures: none.clone(), journal: none }
    }
}

/// Asks the host that runs on a folder.
pub(super) async fn ask(data: &Path) -> Told {
    match tokio::time::timeout(PATIENCE, of_running(data)).await {
        Ok(Ok(Some(told))) => told,
        Ok(Ok(None)) => Told::nothing("not running"),
        Ok(Err(error)) => Told::nothing(format!("it does not answer as it should: {error}")),
        Err(_) => Told::nothing(format!("it does not answer within {} s", PATIENCE.as_secs())),
    }
}

async fn of_running(data: &Path) -> Result<Option<Told>, ClientError> {
    let Some(host) = Client::running(data, "doctor").await? else { return Ok(None) };
    let figures = drift(host.figures().await?.as_deref());
    let query = SessionQuery { limit: SESSIONS, ..SessionQuery::default() };
    let mut journal = Map::new();
    for session in host.sessions(query).await?.sessions {
        let id = session.session_id;
        let lines = match host.lines(&id, LineNumber(0)).await {
            Ok(kept) => last(&kept.lines, session.seq),
            Err(error) => Value::String(format!("not known: {error}")),
        };
        journal.insert(id.to_string(), lines);
    }
    Ok(Some(Told { host: "running".to_owned(), figures, journal: Value::Object(journal) }))
}

/// The last lines of a session in which so much has happened.
fn last(lines: &[KeptLine], seq: Seq) -> Value {
    // The host keeps them with what it has of a session in memory, and there is none of it where nobody wanted it for
    // a while, or since the host was started again.
    if lines.is_empty() && seq > Seq(0) {
        return Value::String("not known: not kept since it was put away".to_owned());
    }
    let shown = lines[lines.len().saturating_sub(LINES)..].iter().map(|line| {
        let text = cut(&pieces::without(&line.text));
        json!({ "at": line.at, "direction": line.direction, "text": text })
    });
    shown.collect()
}

/// What tells of drift and trouble in a page of figures.
fn drift(page: Option<&str>) -> Value {
    let Some(page) = page else {
        return Value::String("not known: nothing is counted, by `metrics.enabled`".to_owned());
    };
    let told = |prefix: &str| -> Vec<&str> { page.lines().filter(|line| line.starts_with(prefix)).collect() };
    json!({
        "unknown_messages": told("jackfield_unknown_messages_total"),
        "unreadable_lines": told("jackfield_events_total{type=\"malformed\"}"),
        "runs_ended": told("jackfield_runs_ended_total"),
        "retries": told("jackfield_api_retries_total"),
        "store_failures": told("jackfield_store_failures_total"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_session_in_which_something_happened_it_is_never_said_that_no_line_passed() {
        assert_eq!(last(&[], Seq(0)), json!([]));
        assert_eq!(last(&[], Seq(1)), json!("not known: not kept since it was put away"));
    }

    #[test]
    fn what_is_not_counted_does_not_look_like_none() {
        assert!(drift(None).as_str().is_some_and(|why| why.contains("metrics.enabled")));
        let page = "# HELP a b\njackfield_unknown_messages_total{name=\"a\"} 2\njackfield_other 1\n";
        let drift = drift(Some(page));
        assert_eq!(drift["unknown_messages"], json!(["jackfield_unknown_messages_total{name=\"a\"} 2"]));
        assert_eq!(drift["unreadable_lines"], json!([]));
    }
}
