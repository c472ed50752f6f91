//! A Messages API on loopback that says what a [`Scenario`] tells it to.
//!
//! It is not a model and checks nothing about a request. The one rule it keeps: every request is kept, and a
//! request for which the scenario has no reply left fails at once (HTTP 400, which the CLI does not retry)
//! instead of getting something made up.

mod gate;
mod reply;
mod scenario;
mod script;

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{any, post};
use futures_util::stream;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

pub use self::gate::Gates;
use self::reply::{Message, Step};
pub use self::scenario::{Block, BlockGate, Content, HttpError, Reply, Scenario, Usage};
pub use self::script::{ASIDE, Purpose};
use self::script::{Choice, Script};
use crate::places::Places;

/// The running API; dropping it closes its port.
#[derive(Debug)]
pub struct ScriptedApi {
    address: SocketAddr,
    desk: Arc<Desk>,
    serving: JoinHandle<()>,
}

/// A request as it came in.
#[derive(Debug, Clone)]
pub struct Request {
    /// The time since the API started.
    pub at: Duration,
    /// The HTTP method.
    pub method: String,
    /// Path and query.
    pub path: String,
    /// The body; null when there is none.
    pub body: Value,
    /// Why the CLI asked.
    pub purpose: Purpose,
    /// The reply it got, by its place in the scenario.
    pub reply: Option<usize>,
}

#[derive(Debug)]
struct Desk {
    started: Instant,
    places: Places,
    gates: Gates,
    script: Mutex<Script>,
    requests: Mutex<Vec<Request>>,
}

impl ScriptedApi {
    /// Starts the API on a free port of 127.0.0.1. The names of folders in the scenario become real folders.
    pub async fn start(scenario: Scenario, places: Places) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let address = listener.local_addr()?;
        let desk = Arc::new(Desk {
            started: Instant::now(),
            places,
            gates: Gates::default(),
            script: Mutex::new(Script::new(scenario)),
            requests: Mutex::default(),
        });
        let routes = Router::new()
            .route("/v1/messages", post(messages))
            .route("/v1/messages/count_tokens", post(count_tokens))
            .fallback(any(anything_else))
            .layer(axum::extract::DefaultBodyLimit::disable())
            .with_state(Arc::clone(&desk));
        let serving = tokio::spawn(async move {
            // Serving on a bound listener does not end by itself; accept errors are retried inside.
            let _ = axum::serve(listener, routes).await;
        });
        Ok(Self { address, desk, serving })
    }

    /// What `ANTHROPIC_BASE_URL` has to be.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// The gates of the scenario.
    pub fn gates(&self) -> &Gates {
        &self.desk.gates
    }

    /// Every request so far, in order.
    pub fn requests(&self) -> Vec<Request> {
        lock(&self.desk.requests).clone()
    }

    /// Lets go of the requests so far, for whoever runs long and does not look at them.
    pub fn forget_requests(&self) {
        lock(&self.desk.requests).clear();
    }

    /// The replies no request has consumed yet, by their place in the scenario.
    pub fn unused(&self) -> Vec<usize> {
        lock(&self.desk.script).unused()
    }
}

impl Drop for ScriptedApi {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl Request {
    /// The request as a line of `api.jsonl`.
    pub fn line(&self) -> String {
        json!({
            "t": self.at.as_secs_f64(),
            "method": self.method,
            "path": self.path,
            "turn": self.reply,
            "body": self.body,
        })
        .to_string()
    }
}

impl Desk {
    fn keep(&self, method: &Method, uri: &Uri, body: Value, purpose: Purpose, reply: Option<usize>) {
        let path = uri.path_and_query().map_or_else(String::new, ToString::to_string);
        let at = self.started.elapsed();
        lock(&self.requests).push(Request { at, method: method.to_string(), path, body, purpose, reply });
    }
}

async fn messages(State(desk): State<Arc<Desk>>, method: Method, uri: Uri, body: Bytes) -> Response {
    let body: Value = serde_json::from_slice(&body).unwrap_or_default();
    let purpose = Purpose::of(&body);
    let choice = lock(&desk.script).take(&body);
    desk.keep(&method, &uri, body.clone(), purpose, choice.as_ref().map(|choice| choice.index));
    let choice = match (choice, purpose) {
        (Some(choice), _) => choice,
        (None, Purpose::Aside) => Choice { index: 9000, repetition: 0, reply: Reply::text(ASIDE) },
        (None, _) => {
            return error(StatusCode::BAD_REQUEST, "invalid_request_error", "the scenario has no reply left");
        }
    };
    if let Some(seconds) = choice.reply.delay_start {
        tokio::time::sleep(Duration::from_secs_f64(seconds)).await;
    }
    if let Some(gate) = &choice.reply.gate {
        desk.gates.pass(gate).await;
    }
    let model = body["model"].as_str().unwrap_or("claude-scripted");
    let message = Message::new(&choice, model, &desk.places);
    let mut response = if let Some(http) = &choice.reply.http {
        let status = StatusCode::from_u16(http.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = (status, axum::Json(http.body.clone())).into_response();
        for (name, value) in &http.headers {
            add_header(response.headers_mut(), name, value);
        }
        response
    } else if body["stream"] == true {
        let sent = send(message.steps(), desk.gates.clone());
        ([(header::CONTENT_TYPE, "text/event-stream")], sent).into_response()
    } else {
        ([(header::CONTENT_TYPE, "application/json")], message.whole()).into_response()
    };
    for (name, value) in &choice.reply.headers {
        add_header(response.headers_mut(), name, value);
    }
    add_header(response.headers_mut(), "request-id", &message.request_id());
    response
}

async fn count_tokens(State(desk): State<Arc<Desk>>, method: Method, uri: Uri, body: Bytes) -> Response {
    let body = serde_json::from_slice(&body).unwrap_or_default();
    desk.keep(&method, &uri, body, Purpose::Other, None);
    axum::Json(json!({"input_tokens": 100})).into_response()
}

async fn anything_else(State(desk): State<Arc<Desk>>, method: Method, uri: Uri) -> Response {
    desk.keep(&method, &uri, Value::Null, Purpose::Other, None);
    if method == Method::HEAD && uri.path() == "/" {
        return StatusCode::OK.into_response();
    }
    error(StatusCode::NOT_FOUND, "not_found_error", &format!("no such path: {}", uri.path()))
}

fn error(status: StatusCode, kind: &str, message: &str) -> Response {
    let body = json!({"type": "error", "error": {"type": kind, "message": message}});
    (status, axum::Json(body)).into_response()
}

/// The body that performs the steps. The client hanging up drops it, wherever it stands.
fn send(steps: Vec<Step>, gates: Gates) -> Body {
    let body = stream::unfold((steps.into_iter(), gates), |(mut steps, gates)| async move {
        loop {
            match steps.next()? {
                Step::Event(text) => return Some((Ok(Bytes::from(text)), (steps, gates))),
                Step::Delay(time) => tokio::time::sleep(time).await,
                Step::Gate(name) => gates.pass(&name).await,
                // An error in the body makes the server close the connection without ending the body. It also
                // forgets what it has not written yet, and it writes when the body has nothing for it.
                Step::Cut => {
                    tokio::task::yield_now().await;
                    return Some((Err(io::Error::from(io::ErrorKind::ConnectionReset)), (steps, gates)));
                }
            }
        }
    });
    Body::from_stream(body)
}

fn add_header(headers: &mut HeaderMap, name: &str, value: &str) {
    if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
        headers.insert(name, value);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
