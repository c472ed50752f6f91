//! What the host tells of itself: spans to a collector, a log, and where figures and debug files are.
//!
//! It only composes: what is made of events is known in `jackfield-observe`. The one rule it keeps: without the
//! `OTEL_*` variables nothing of the export is there, no task and no queue.

mod asked;
mod export;
mod log;
mod otlp;
mod warnings;

use std::path::Path;

use jackfield_host::observe::{Counting, DebugOf, Lines, Observe, Sampling};
use jackfield_observe::Payloads;
use jackfield_sdk::Environment;
use thiserror::Error;

use crate::config::Config;
pub(crate) use export::Exporting;
pub(crate) use log::{LOG_ASIDE, LOG_FILE, LogError, begin as begin_log};
pub(crate) use warnings::begin as begin_warnings;

/// Why nothing can be exported as the environment asks.
#[derive(Debug, Error)]
pub(crate) enum ExportError {
    #[error("cannot export traces to `{0}`: only `http` is spoken")]
    NotPlain(String),
    #[error("cannot export traces to `{endpoint}`: {reason}")]
    Address { endpoint: String, reason: &'static str },
    #[error("cannot export traces by `{0}`: only `http/protobuf` is spoken")]
    Protocol(String),
    #[error("cannot export traces: {0}")]
    Build(String),
}

impl ExportError {
    pub(crate) fn hint(&self) -> &'static str {
        match self {
            Self::NotPlain(_) => {
                "run a collector on this machine that speaks `https` for it, and name it in \
                 `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT`; or set `OTEL_TRACES_EXPORTER=none` if the address is meant for \
                 other programs"
            }
            Self::Address { .. } => {
                "`OTEL_EXPORTER_OTLP_ENDPOINT` or `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT` has it; one looks like \
                 `http://127.0.0.1:4318`"
            }
            Self::Protocol(_) => {
                "set `OTEL_EXPORTER_OTLP_TRACES_PROTOCOL=http/protobuf` and `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT`, mostly \
                 to `http://127.0.0.1:4318/v1/traces`, which are for traces alone; or `OTEL_TRACES_EXPORTER=none` if the \
                 others are meant for other programs"
            }
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
    let without = without_spans(config, data);
    let Some(asked) = asked::asked(environment)? else { return Ok((without, None)) };
    let sampling = asked.sampling;
    let exporting = export::begin(asked, environment)?;
    Ok((Observe { spans: Some(exporting.sink()), sampling, ..without }, Some(exporting)))
}

/// The same where nobody takes spans.
pub(crate) fn without_spans(config: &Config, data: &Path) -> Observe {
    let payloads = Payloads { bytes: usize::try_from(config.traces.payload_bytes).unwrap_or(usize::MAX) };
    Observe {
        spans: None,
        sampling: Sampling::AsCallers,
        payloads: config.traces.payloads.then_some(payloads),
        figures: if config.metrics.enabled { Counting::On } else { Counting::Off },
        lines: Lines::Kept,
        debug_folder: Some(data.join("debug")),
        debug: if config.debug.agent_messages { DebugOf::Everybody } else { DebugOf::Nobody },
    }
}

/// An address for people: a name and a password in it are nobody's business.
fn without_secrets(endpoint: &str) -> String {
    jackfield_host::redact::redact(endpoint).into_owned()
}
