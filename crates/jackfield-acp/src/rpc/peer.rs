//! The editor, as somebody to answer, to tell and to ask.
//!
//! The one rule it keeps: a question that was taken back has no answer any more, whatever comes in for it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use tokio::sync::oneshot;

use super::Outgoing;
use crate::schema::{CancelRequestNotification, Error, PROTOCOL_LEVEL_METHOD_NAMES, RequestId};

type Answer = Result<Box<RawValue>, Error>;

/// The other side of the connection. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Peer {
    pub(crate) outgoing: Outgoing,
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    next: AtomicI64,
    open: Mutex<HashMap<i64, oneshot::Sender<Answer>>>,
}

/// A question on its way; taken back when it is dropped without an answer.
#[derive(Debug)]
pub(crate) struct Asked {
    peer: Peer,
    id: i64,
    answer: oneshot::Receiver<Answer>,
}

impl Peer {
    pub(crate) fn new(outgoing: Outgoing) -> Self {
        Self { outgoing, shared: Arc::default() }
    }

    /// Answers a request.
    pub(crate) fn respond<T: Serialize>(&self, id: &RequestId, result: Result<T, Error>) {
        #[derive(Serialize)]
        struct Good<'a, T> {
            jsonrpc: &'static str,
            id: &'a RequestId,
            result: T,
        }
        #[derive(Serialize)]
        struct Bad<'a> {
            jsonrpc: &'static str,
            id: &'a RequestId,
            error: Error,
        }
        match result {
            Ok(result) => self.send(&Good { jsonrpc: "2.0", id, result }),
            Err(error) => self.send(&Bad { jsonrpc: "2.0", id, error }),
        }
    }

    /// Tells something.
    pub(crate) fn notify(&self, method: &str, params: &impl Serialize) {
        #[derive(Serialize)]
        struct Notification<'a, T> {
            jsonrpc: &'static str,
            method: &'a str,
            params: &'a T,
        }
        self.send(&Notification { jsonrpc: "2.0", method, params });
    }

    /// Asks something.
    pub(crate) fn ask(&self, method: &str, params: &impl Serialize) -> Asked {
        #[derive(Serialize)]
        struct Request<'a, T> {
            jsonrpc: &'static str,
            id: i64,
            method: &'a str,
            params: &'a T,
        }
        let id = self.shared.next.fetch_add(1, Ordering::Relaxed);
        let (to, answer) = oneshot::channel();
        self.shared.lock().insert(id, to);
        self.send(&Request { jsonrpc: "2.0", id, method, params });
        Asked { peer: self.clone(), id, answer }
    }

    /// Takes a question back: the editor may put its card away.
    fn take_back(&self, id: i64) {
        if self.shared.lock().remove(&id).is_some() {
            let cancel = CancelRequestNotification::new(RequestId::Number(id));
            self.notify(PROTOCOL_LEVEL_METHOD_NAMES.cancel_request, &cancel);
        }
    }

    /// Hands an answer to whoever waits for it.
    pub(crate) fn answered(&self, id: &RequestId, answer: Answer) {
        let RequestId::Number(id) = id else { return };
        if let Some(to) = self.shared.lock().remove(id) {
            // Who no longer waits does not mind.
            let _ = to.send(answer);
        }
    }

    fn send(&self, message: &impl Serialize) {
        // Only a map with keys that are no strings can fail, and the protocol has none.
        if let Ok(mut line) = serde_json::to_vec(message) {
            line.push(b'\n');
            self.outgoing.put(&line);
        }
    }
}

impl Asked {
    /// The answer.
    pub(crate) async fn answer<T: DeserializeOwned>(mut self) -> Result<T, Error> {
        let answer = (&mut self.answer).await.map_err(|_| Error::request_cancelled())?;
        serde_json::from_str(answer?.get())
            .map_err(|error| invalid(format!("the answer makes no sense: {error}")))
    }
}

impl Drop for Asked {
    fn drop(&mut self) {
        // One that was answered is not open any more.
        self.peer.take_back(self.id);
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, HashMap<i64, oneshot::Sender<Answer>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a request or notification came with.
pub(crate) fn parameters<T: DeserializeOwned>(params: Option<&RawValue>) -> Result<T, Error> {
    let text = params.map_or("{}", RawValue::get);
    serde_json::from_str(text).map_err(|error| invalid(error.to_string()))
}

/// What was asked makes no sense, and why.
pub(crate) fn invalid(reason: impl Into<String>) -> Error {
    let mut error = Error::invalid_params();
    error.message = reason.into();
    error
}
