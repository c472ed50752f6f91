//! A session's connection to a set of tools: JSON-RPC messages in, one by one, and an answer to each.
//!
//! `rmcp` serves a stream of messages, the CLI wants an answer per message; this is the joint between the two.
//! Answers find their request by its id, in whatever order they come. The one rule it keeps: every message is
//! answered, and a request that nobody waits for any more is cancelled.

use std::collections::HashMap;
use std::future::ready;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jackfield_wire::{Object, Raw};
use rmcp::RoleServer;
use rmcp::model::{
    CancelledNotification, CancelledNotificationParam, ClientJsonRpcMessage, ClientNotification, ErrorData,
    JsonRpcMessage, RequestId, ServerJsonRpcMessage,
};
use rmcp::service::{RunningService, serve_directly};
use rmcp::transport::Transport;
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};

use super::{ToolServer, Tools};

/// How many messages may wait for the server, which does nothing but hand them on. More are refused.
const WAITING: usize = 1024;

/// A connection to a set of tools. Clones are the same connection; with the last one everything that still
/// runs in it is dropped.
#[derive(Debug, Clone)]
pub struct Connection {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    inbox: mpsc::Sender<ClientJsonRpcMessage>,
    waiting: Waiting,
    /// Ends the service when it is dropped.
    _service: RunningService<RoleServer, ToolServer<Tools>>,
}

/// Who waits for the answer to which request.
#[derive(Debug, Clone, Default)]
struct Waiting {
    requests: Arc<Mutex<HashMap<RequestId, oneshot::Sender<Object>>>>,
}

impl Tools {
    /// Serves the tools to one session. Needs a running tokio runtime.
    pub fn connect(&self) -> Connection {
        let waiting = Waiting::default();
        let (inbox, messages) = mpsc::channel(WAITING);
        let joint = Joint { messages, waiting: waiting.clone() };
        // The CLI shakes hands once per connection or twice, so this is a request like any other
        // (`serve_directly`), and not something that a service waits for before it begins.
        let service = serve_directly(ToolServer(self.clone()), joint, None);
        Connection { shared: Arc::new(Shared { inbox, waiting, _service: service }) }
    }
}

impl Connection {
    /// Takes a JSON-RPC message, and gives the answer to it. Messages are taken in the order of these calls,
    /// whenever their futures run; a future that is dropped cancels its request.
    pub fn serve(&self, message: &Raw) -> impl Future<Output = Object> + Send + use<> {
        let answer = self.take(message);
        async {
            match answer {
                Answer::Ready(answer) => answer,
                Answer::Open(open) => open.answer().await,
            }
        }
    }

    fn take(&self, message: &Raw) -> Answer {
        let message = match message.parse::<ClientJsonRpcMessage>() {
            Ok(message) => message,
            Err(error) => {
                let id = message.parse::<Value>().map_or(Value::Null, |message| message["id"].clone());
                let text = format!("this is no message of the protocol: {error}");
                return Answer::Ready(failure(&id, &ErrorData::invalid_request(text, None)));
            }
        };
        let waiting = &self.shared.waiting;
        match &message {
            JsonRpcMessage::Request(request) => {
                let id = request.id.clone();
                let answered = waiting.add(id.clone());
                if self.shared.inbox.try_send(message).is_err() {
                    waiting.remove(&id);
                    return Answer::Ready(failure(&json!(id), &busy()));
                }
                Answer::Open(Open { connection: self.clone(), id, answered: Some(answered) })
            }
            JsonRpcMessage::Notification(notification) => {
                if let ClientNotification::CancelledNotification(cancelled) = &notification.notification {
                    // `rmcp` says nothing more about a cancelled request, but the CLI's own request is open.
                    if let Some(id) = &cancelled.params.request_id {
                        waiting.answer(id, failure(&json!(id), &cancellation()));
                    }
                }
                match self.shared.inbox.try_send(message) {
                    Ok(()) => Answer::Ready(acknowledgement()),
                    Err(_) => Answer::Ready(failure(&Value::Null, &busy())),
                }
            }
            // Answers to requests of a server, which this one never makes.
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => Answer::Ready(acknowledgement()),
        }
    }
}

/// The answer to a message.
enum Answer {
    Ready(Object),
    Open(Open),
}

/// A request on its way. Dropping it before its answer has come cancels it.
struct Open {
    connection: Connection,
    id: RequestId,
    answered: Option<oneshot::Receiver<Object>>,
}

impl Open {
    async fn answer(mut self) -> Object {
        let answer = match &mut self.answered {
            Some(answered) => answered.await.ok(),
            None => None,
        };
        self.answered = None;
        answer.unwrap_or_else(|| {
            failure(&json!(self.id), &ErrorData::internal_error("the server is gone", None))
        })
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        if self.answered.is_some() {
            self.connection.shared.waiting.remove(&self.id);
            let params = CancelledNotificationParam::new(Some(self.id.clone()), None);
            let cancelled = CancelledNotification::new(params);
            let message = ClientJsonRpcMessage::notification(cancelled.into());
            // A service that is gone has nothing to cancel.
            let _ = self.connection.shared.inbox.try_send(message);
        }
    }
}

impl Waiting {
    fn add(&self, id: RequestId) -> oneshot::Receiver<Object> {
        let (answer, answered) = oneshot::channel();
        self.lock().insert(id, answer);
        answered
    }

    fn remove(&self, id: &RequestId) {
        self.lock().remove(id);
    }

    fn answer(&self, id: &RequestId, answer: Object) {
        if let Some(waiting) = self.lock().remove(id) {
            // Who no longer waits does not mind.
            let _ = waiting.send(answer);
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<RequestId, oneshot::Sender<Object>>> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The service's end of a connection.
struct Joint {
    messages: mpsc::Receiver<ClientJsonRpcMessage>,
    waiting: Waiting,
}

/// Why the service could not send something.
#[derive(Debug, thiserror::Error)]
enum SendError {
    #[error("cannot send a message that answers nothing to the CLI")]
    AnswersNothing,
    #[error("cannot write an answer as JSON")]
    Json,
}

impl Transport<RoleServer> for Joint {
    type Error = SendError;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = Result<(), SendError>> + Send + 'static {
        let id = match &message {
            JsonRpcMessage::Response(response) => Some(&response.id),
            JsonRpcMessage::Error(error) => error.id.as_ref(),
            JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => None,
        };
        let sent = match (id, Object::from_value(&message)) {
            (None, _) => Err(SendError::AnswersNothing),
            (Some(_), None) => Err(SendError::Json),
            (Some(id), Some(answer)) => {
                self.waiting.answer(id, answer);
                Ok(())
            }
        };
        ready(sent)
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        self.messages.recv().await
    }

    async fn close(&mut self) -> Result<(), SendError> {
        Ok(())
    }
}

impl Drop for Joint {
    fn drop(&mut self) {
        // The service is gone: nobody is left waiting.
        self.waiting.lock().clear();
    }
}

/// What the official SDKs answer to a message that wants no answer.
fn acknowledgement() -> Object {
    object(&json!({"jsonrpc": "2.0", "result": {}}))
}

fn failure(id: &Value, error: &ErrorData) -> Object {
    object(&json!({"jsonrpc": "2.0", "id": id, "error": error}))
}

fn busy() -> ErrorData {
    ErrorData::internal_error("the server does not take the message", None)
}

fn cancellation() -> ErrorData {
    ErrorData::internal_error("the request was cancelled", None)
}

fn object(value: &Value) -> Object {
    Object::from_value(value).unwrap_or_default()
}
