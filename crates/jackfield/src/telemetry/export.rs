//! Spans on their way to a collector, over OTLP.
//!
//! One task with a bounded queue. The one rule it keeps: nobody waits for the collector; what it does not take in time
//! is counted and let go.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use jackfield_api::Timestamp;
use jackfield_host::observe::SpanSink;
use jackfield_observe::{Parent, Span, Value};
use jackfield_sdk::Environment;
use opentelemetry::trace::{Event, SpanContext, SpanId, SpanKind, Status, TraceFlags, TraceId, TraceState};
use opentelemetry::{Array, InstrumentationScope, KeyValue, StringValue};
use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{SpanData, SpanEvents, SpanExporter as _, SpanLinks};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout, timeout_at};

use super::ExportError;
use crate::variables;

/// How many handfuls of spans may wait.
const WAITING: usize = 1024;
/// How many spans are sent at once.
const AT_ONCE: usize = 512;
/// How long spans are gathered before they are sent, unless the environment says otherwise.
const GATHERED: Duration = Duration::from_secs(1);
/// How long the last spans may take when the host ends.
const LAST: Duration = Duration::from_secs(5);

/// The export, to be closed.
#[derive(Debug)]
pub(crate) struct Exporting {
    queue: Arc<Queue>,
    close: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

/// Where sessions leave their spans.
#[derive(Debug)]
struct Queue {
    to: mpsc::Sender<Vec<Span>>,
    lost: AtomicU64,
}

impl SpanSink for Queue {
    fn take(&self, spans: Vec<Span>) {
        let count = u64::try_from(spans.len()).unwrap_or(u64::MAX);
        if self.to.try_send(spans).is_err() {
            self.lost.fetch_add(count, Ordering::Relaxed);
        }
    }
}

/// Begins to export. Must be called inside a runtime.
pub(super) fn begin(endpoint: &str, environment: &Environment) -> Result<Exporting, ExportError> {
    let built = SpanExporter::builder().with_http().with_protocol(Protocol::HttpBinary).build();
    let mut exporter =
        built.map_err(|error| ExportError::Build(super::without_secrets(&error.to_string())))?;
    exporter.set_resource(&resource(environment));
    let (to, from) = mpsc::channel(WAITING);
    let (close, closed) = oneshot::channel();
    let queue = Arc::new(Queue { to, lost: AtomicU64::new(0) });
    let gathered =
        variables::OTEL_SCHEDULE_DELAY.get(environment).and_then(|text| text.to_str()?.parse().ok());
    let gathered = gathered.map_or(GATHERED, Duration::from_millis);
    let work = Work {
        exporter,
        from,
        gathered,
        queue: Arc::clone(&queue),
        endpoint: super::without_secrets(endpoint),
        failing: false,
    };
    tracing::info!(endpoint = %work.endpoint, "traces are exported");
    Ok(Exporting { queue, close, task: tokio::spawn(work.run(closed)) })
}

impl Exporting {
    /// Where spans go.
    pub(crate) fn sink(&self) -> Arc<dyn SpanSink> {
        Arc::<Queue>::clone(&self.queue)
    }

    /// Sends what is left, and ends.
    pub(crate) async fn close(self) {
        // If the task is gone there is nothing left to send.
        let _ = self.close.send(());
        let _ = timeout(LAST + Duration::from_secs(1), self.task).await;
    }
}

/// What a service is called, unless the environment names it.
fn resource(environment: &Environment) -> Resource {
    let named = variables::OTEL_SERVICE_NAME.get(environment).is_some()
        || variables::OTEL_RESOURCE_ATTRIBUTES
            .get(environment)
            .is_some_and(|attributes| attributes.to_string_lossy().contains("service.name="));
    let resource =
        Resource::builder().with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")));
    if named { resource.build() } else { resource.with_service_name("jackfield").build() }
}

struct Work {
    exporter: SpanExporter,
    from: mpsc::Receiver<Vec<Span>>,
    gathered: Duration,
    queue: Arc<Queue>,
    endpoint: String,
    failing: bool,
}

impl Work {
    async fn run(mut self, mut closed: oneshot::Receiver<()>) {
        loop {
            let mut spans = tokio::select! {
                spans = self.from.recv() => spans.unwrap_or_default(),
                _ = &mut closed => break,
            };
            let until = Instant::now() + self.gathered;
            while spans.len() < AT_ONCE {
                let more = tokio::select! {
                    more = timeout_at(until, self.from.recv()) => more,
                    _ = &mut closed => {
                        self.last(spans).await;
                        return;
                    }
                };
                match more {
                    Ok(Some(more)) => spans.extend(more),
                    _ => break,
                }
            }
            self.export(spans).await;
        }
        self.last(Vec::new()).await;
    }

    async fn last(&mut self, mut spans: Vec<Span>) {
        while let Ok(more) = self.from.try_recv() {
            spans.extend(more);
        }
        if !spans.is_empty() && timeout(LAST, self.export(spans)).await.is_err() {
            tracing::warn!(endpoint = %self.endpoint, "the last spans were not taken in time");
        }
    }

    async fn export(&mut self, spans: Vec<Span>) {
        let count = spans.len();
        let sent = self.exporter.export(spans.into_iter().map(exported).collect()).await;
        let lost = self.queue.lost.swap(0, Ordering::Relaxed);
        match sent {
            Ok(()) => {
                self.failing = false;
                tracing::debug!(count, "spans exported");
            }
            // Once, until it works again: a collector that is away is no reason to fill a log.
            Err(error) if !self.failing => {
                self.failing = true;
                let error = super::without_secrets(&error.to_string());
                tracing::warn!(endpoint = %self.endpoint, error, "spans are not taken; they are lost");
            }
            Err(_) => {}
        }
        if lost > 0 {
            tracing::info!(lost, "spans were lost, because too many waited");
        }
    }
}

/// A span as OpenTelemetry has it.
fn exported(span: Span) -> SpanData {
    let (parent, remote) = match span.parent {
        Parent::None => (SpanId::INVALID, false),
        Parent::Ours(id) => (SpanId::from(id.0), false),
        Parent::Remote(id) => (SpanId::from(id.0), true),
    };
    let mut events = SpanEvents::default();
    events.events = span
        .events
        .into_iter()
        .map(|event| Event::new(event.name, time(event.at), attributes(event.attributes), 0))
        .collect();
    SpanData {
        span_context: SpanContext::new(
            TraceId::from(span.trace_id.0),
            SpanId::from(span.span_id.0),
            TraceFlags::SAMPLED,
            false,
            TraceState::NONE,
        ),
        parent_span_id: parent,
        parent_span_is_remote: remote,
        span_kind: SpanKind::Internal,
        name: span.name,
        start_time: time(span.start),
        end_time: time(span.end),
        attributes: attributes(span.attributes),
        dropped_attributes_count: 0,
        events,
        links: SpanLinks::default(),
        status: span.failed.map_or(Status::Unset, Status::error),
        instrumentation_scope: InstrumentationScope::builder("jackfield")
            .with_version(env!("CARGO_PKG_VERSION"))
            .build(),
    }
}

fn attributes(all: Vec<(&'static str, Value)>) -> Vec<KeyValue> {
    let value = |value| match value {
        Value::Text(text) => text.into(),
        Value::Whole(number) => i64::try_from(number).unwrap_or(i64::MAX).into(),
        Value::Number(number) => number.into(),
        Value::Texts(texts) => {
            opentelemetry::Value::Array(Array::String(texts.into_iter().map(StringValue::from).collect()))
        }
    };
    all.into_iter().map(|(name, held)| KeyValue::new(name, value(held))).collect()
}

fn time(at: Timestamp) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_millis(at.0)
}
