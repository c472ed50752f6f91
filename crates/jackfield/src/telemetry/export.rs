//! Spans on their way to a collector, over OTLP.
//!
//! One task with a bounded queue. The one rule it keeps: nobody waits for the collector; what it does not take in time
//! is counted and let go.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use jackfield_host::observe::SpanSink;
use jackfield_observe::Span;
use jackfield_sdk::Environment;
use opentelemetry::KeyValue;
use opentelemetry_http::hyper::HyperClient;
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig as _, WithHttpConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::SpanExporter as _;
use tokio::sync::{Notify, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout_at};

use super::ExportError;
use super::asked::Asked;
use super::otlp::{Head, write_span};
use crate::variables;

/// How many bytes of spans may wait: no more than a collector takes at once.
const WAITING: usize = 16 * 1024 * 1024;
/// How many bytes of spans are enough to send them.
const ENOUGH: usize = 512 * 1024;
/// How long all may take that is still to be sent when the host ends.
const LAST: Duration = Duration::from_secs(5);

/// The export, to be closed.
#[derive(Debug)]
pub(crate) struct Exporting {
    queue: Arc<Queue>,
    /// Whether it is to end.
    closing: watch::Sender<bool>,
    task: JoinHandle<()>,
    endpoint: String,
    remarks: Vec<String>,
}

/// Where sessions leave their spans, which are written there as a collector reads them.
#[derive(Debug)]
struct Queue {
    head: Head,
    room: usize,
    waiting: Mutex<Waiting>,
    /// The first span is there, or enough of them to be sent.
    some: Notify,
    /// How many spans were lost so far.
    lost: AtomicU64,
}

#[derive(Debug, Default)]
struct Waiting {
    /// Room for the head, and the spans.
    bytes: Vec<u8>,
    count: usize,
    lost: usize,
    /// Room for those to come, while many come: new memory would be dear each time.
    spare: Vec<u8>,
}

impl SpanSink for Queue {
    fn take(&self, spans: &[Span]) {
        let mut waiting = lock(&self.waiting);
        if waiting.bytes.len() > WAITING {
            waiting.lost += spans.len();
            self.count_lost(spans.len());
            return;
        }
        if waiting.count == 0 {
            waiting.bytes.resize(self.room, 0);
            self.some.notify_one();
        }
        let was_enough = waiting.is_enough();
        for span in spans {
            write_span(span, &mut waiting.bytes);
        }
        waiting.count += spans.len();
        if !was_enough && waiting.is_enough() {
            self.some.notify_one();
        }
    }

    fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }
}

impl Waiting {
    fn is_enough(&self) -> bool {
        self.bytes.len() >= ENOUGH
    }
}

impl Queue {
    /// What waits.
    fn taken(&self) -> Waiting {
        let mut waiting = lock(&self.waiting);
        let bytes = std::mem::take(&mut waiting.spare);
        std::mem::replace(&mut *waiting, Waiting { bytes, ..Waiting::default() })
    }

    /// Takes room back.
    fn give_back(&self, mut room: Vec<u8>) {
        room.clear();
        lock(&self.waiting).spare = room;
    }

    fn count_lost(&self, count: usize) {
        self.lost.fetch_add(u64::try_from(count).unwrap_or(u64::MAX), Ordering::Relaxed);
    }
}

fn lock<T>(held: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic while spans were written leaves a request that cannot be read, and the next one is whole again.
    held.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Sends requests of OpenTelemetry's exporter, which knows where to, with what headers and how often. It is given no
/// spans; what they are is put into the request here, as it was written.
#[derive(Debug)]
struct Sender {
    client: HyperClient,
    body: Mutex<Bytes>,
}

#[async_trait]
impl HttpClient for Sender {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let body = lock(&self.body).clone();
        self.client.send_bytes(request.map(|_| body)).await
    }
}

/// Begins to export. Must be called inside a runtime.
pub(super) fn begin(asked: Asked, environment: &Environment) -> Result<Exporting, ExportError> {
    let Asked { endpoint, patience, gathered, remarks, .. } = asked;
    let client = HyperClient::with_default_connector(patience, None);
    let sender = Arc::new(Sender { client, body: Mutex::default() });
    let built = SpanExporter::builder()
        .with_http()
        .with_protocol(Protocol::HttpBinary)
        .with_shared_http_client(Arc::<Sender>::clone(&sender))
        .build();
    let exporter = built.map_err(|error| ExportError::Build(super::without_secrets(&error.to_string())))?;
    let head = Head::new(&resource(environment));
    let room = head.room();
    let (waiting, some, lost) = (Mutex::default(), Notify::new(), AtomicU64::default());
    let queue = Arc::new(Queue { head, room, waiting, some, lost });
    let (closing, closed) = watch::channel(false);
    let endpoint = super::without_secrets(&endpoint);
    let work = Work {
        exporter,
        sender,
        gathered,
        queue: Arc::clone(&queue),
        endpoint: endpoint.clone(),
        sending: 0,
        refused: 0,
        told: 0,
    };
    Ok(Exporting { queue, closing, task: tokio::spawn(work.run(closed)), endpoint, remarks })
}

impl Exporting {
    /// Where spans go.
    pub(crate) fn sink(&self) -> Arc<dyn SpanSink> {
        Arc::<Queue>::clone(&self.queue)
    }

    /// Tells the log of it, which begins later than the export.
    pub(crate) fn tell(&self) {
        tracing::info!(endpoint = %self.endpoint, "traces are exported");
        self.tell_remarks();
    }

    /// Tells what of the environment was passed over.
    pub(super) fn tell_remarks(&self) {
        for remark in &self.remarks {
            tracing::warn!("passed over: {remark}");
        }
    }

    /// Sends what is left, and ends; what is not taken in time is lost.
    pub(crate) async fn close(self) {
        // If the task is gone there is nothing left to send.
        let _ = self.closing.send(true);
        let _ = self.task.await;
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
    sender: Arc<Sender>,
    gathered: Duration,
    queue: Arc<Queue>,
    endpoint: String,
    /// How many spans are on their way.
    sending: usize,
    /// How many were not taken since the last that were.
    refused: usize,
    /// How many of those the log knows of.
    told: usize,
}

impl Work {
    async fn run(mut self, closed: watch::Receiver<bool>) {
        let mut closing = closed.clone();
        let enough = async {
            over(&mut closing).await;
            sleep(LAST).await;
        };
        let all_is_sent = tokio::select! {
            () = self.work(closed) => true,
            () = enough => false,
        };
        if self.refused > self.told {
            tracing::warn!(endpoint = %self.endpoint, lost = self.refused, "spans were not taken any more");
        }
        if !all_is_sent {
            let Waiting { count, lost, .. } = self.queue.taken();
            let lost = self.sending + count + lost;
            tracing::warn!(endpoint = %self.endpoint, lost, "the last spans were not taken in time");
        }
    }

    /// Sends spans until it is over, and then what is left.
    async fn work(&mut self, mut closed: watch::Receiver<bool>) {
        while self.gather(&mut closed).await {
            self.export().await;
        }
        self.export().await;
    }

    /// Waits until there is something worth sending; says that there will be nothing more.
    async fn gather(&self, closed: &mut watch::Receiver<bool>) -> bool {
        let gathered = async {
            self.queue.some.notified().await;
            let until = Instant::now() + self.gathered;
            while !lock(&self.queue.waiting).is_enough()
                && timeout_at(until, self.queue.some.notified()).await.is_ok()
            {}
        };
        tokio::select! {
            () = gathered => true,
            () = over(closed) => false,
        }
    }

    async fn export(&mut self) {
        let Waiting { mut bytes, count, lost, .. } = self.queue.taken();
        if count == 0 {
            return;
        }
        let begin = self.queue.head.put(&mut bytes, self.queue.room);
        let bytes = Bytes::from(bytes);
        *lock(&self.sender.body) = bytes.slice(begin..);
        self.sending = count;
        let sent = self.exporter.export(Vec::new()).await;
        self.sending = 0;
        *lock(&self.sender.body) = Bytes::new();
        if (ENOUGH..=2 * ENOUGH).contains(&bytes.len()) {
            // More comes, mostly. Nobody else has these any more, so they are not copied.
            self.queue.give_back(bytes.into());
        }
        match sent {
            Ok(()) => {
                if self.refused > 0 {
                    let lost = std::mem::take(&mut self.refused);
                    tracing::info!(endpoint = %self.endpoint, lost, "spans are taken again");
                }
                tracing::debug!(count, "spans exported");
            }
            Err(error) => {
                // Once, until it works again: a collector that is away is no reason to fill a log.
                if self.refused == 0 {
                    self.told = count;
                    let error = super::without_secrets(&error.to_string());
                    tracing::warn!(endpoint = %self.endpoint, error, lost = count, "spans are not taken");
                }
                self.refused += count;
                self.queue.count_lost(count);
            }
        }
        if lost > 0 {
            tracing::info!(lost, "spans were lost, because too many waited");
        }
    }
}

/// Waits until it is to end, or nobody is left who could say so.
async fn over(closed: &mut watch::Receiver<bool>) {
    let _ = closed.wait_for(|closed| *closed).await;
}
