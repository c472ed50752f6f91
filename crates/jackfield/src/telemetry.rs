//! What the host tells of itself: spans to a collector, a log, and where figures and debug files are.
//!
//! It only composes: what is made of events is known in `jackfield-observe`. The one rule it keeps: without the
//! `OTEL_*` variables nothing of the export is there, no task and no queue.

mod export;
mod log;
mod otlp;

use std::path::Path;

use jackfield_host::observe::{Counting, DebugOf, Lines, Observe};
use jackfield_observe::Payloads;
use jackfield_sdk::Environment;
use thiserror::Error;

use crate::config::Config;
use crate::variables::{self, Variable};
pub(crate) use export::Exporting;
pub(crate) use log::{LOG_FILE, LogError, begin as begin_log};

/// Why nothing can be exported as the environment asks.
#[derive(Debug, Error)]
pub(crate) enum ExportError {
    #[error("cannot export traces to `{0}`: only `http` is spoken")]
    NotPlain(String),
    #[error("cannot export traces by `{0}`: only `http/protobuf` is spoken")]
    Protocol(String),
    #[error("cannot export traces: {0}")]
    Build(String),
}

impl ExportError {
    pub(crate) fn hint(&self) -> &'static str {
        match self {
            Self::NotPlain(_) => "run a collector on this machine that speaks `https` for it",
            Self::Protocol(_) => "set `OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf`, mostly with port 4318",
            Self::Build(_) => "look at the `OTEL_*` variables, or set `OTEL_SDK_DISABLED=true`",
        }
    }
}

/// What watches over the sessions by configuration and environment, and what is to be closed in the end.
pub(crate) fn observe(
    config: &Config,
    environment: &Environment,
    data: &Path,
) -> Result<(Observe, Option<Exporting>), ExportError> {
    let exporting = match endpoint(environment) {
        Some(endpoint) => Some(export::begin(&endpoint?, environment)?),
        None => None,
    };
    let spans = exporting.as_ref().map(Exporting::sink);
    Ok((Observe { spans, ..without_spans(config, data) }, exporting))
}

/// The same where nobody takes spans.
pub(crate) fn without_spans(config: &Config, data: &Path) -> Observe {
    let payloads = Payloads { bytes: usize::try_from(config.traces.payload_bytes).unwrap_or(usize::MAX) };
    Observe {
        spans: None,
        payloads: config.traces.payloads.then_some(payloads),
        figures: if config.metrics.enabled { Counting::On } else { Counting::Off },
        lines: Lines::Kept,
        debug_folder: Some(data.join("debug")),
        debug: if config.debug.agent_messages { DebugOf::Everybody } else { DebugOf::Nobody },
    }
}

/// Where spans go; `None` where nobody asks for them.
fn endpoint(environment: &Environment) -> Option<Result<String, ExportError>> {
    let word =
        |variable: &Variable| variable.get(environment).map(|value| value.to_string_lossy().into_owned());
    if word(&variables::OTEL_SDK_DISABLED).is_some_and(|word| word.eq_ignore_ascii_case("true")) {
        return None;
    }
    if word(&variables::OTEL_TRACES_EXPORTER).is_some_and(|word| word != "otlp") {
        return None;
    }
    let endpoint = word(&variables::OTEL_TRACES_ENDPOINT).or_else(|| word(&variables::OTEL_ENDPOINT))?;
    let protocol = word(&variables::OTEL_TRACES_PROTOCOL).or_else(|| word(&variables::OTEL_PROTOCOL));
    Some(match protocol {
        Some(other) if other != "http/protobuf" => Err(ExportError::Protocol(other)),
        _ if !endpoint.starts_with("http://") => Err(ExportError::NotPlain(without_secrets(&endpoint))),
        _ => Ok(endpoint),
    })
}

/// An address for people: a name and a password in it are nobody's business.
fn without_secrets(endpoint: &str) -> String {
    jackfield_host::redact::redact(endpoint).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(variables: &[(&str, &str)]) -> Option<Result<String, String>> {
        let environment = variables.iter().map(|(name, value)| (name.into(), value.into())).collect();
        endpoint(&environment).map(|found| found.map_err(|error| error.to_string()))
    }

    const ENDPOINT: (&str, &str) = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318");

    #[test]
    fn nothing_is_exported_unless_somebody_asks_for_it() {
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[("OTEL_EXPORTER_OTLP_ENDPOINT", "")]), None);
        assert_eq!(of(&[ENDPOINT, ("OTEL_SDK_DISABLED", "true")]), None);
        assert_eq!(of(&[ENDPOINT, ("OTEL_TRACES_EXPORTER", "none")]), None);
        assert_eq!(of(&[ENDPOINT]), Some(Ok("http://127.0.0.1:4318".to_owned())));
        let traces = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://127.0.0.1:9/v1/traces");
        assert_eq!(of(&[ENDPOINT, traces]), Some(Ok("http://127.0.0.1:9/v1/traces".to_owned())));
    }

    #[test]
    fn what_is_not_spoken_is_told_without_its_secrets() {
        let grpc = of(&[ENDPOINT, ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")]);
        assert_eq!(
            grpc,
            Some(Err("cannot export traces by `grpc`: only `http/protobuf` is spoken".to_owned()))
        );
        let secret = of(&[("OTEL_EXPORTER_OTLP_ENDPOINT", "https://me:password@collector")]);
        let said = secret.and_then(Result::err).unwrap_or_default();
        assert!(said.contains("https://me:[redacted]@collector"), "{said}");
    }
}
