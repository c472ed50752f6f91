//! The reading side of a connection: frames in, commands to the host, orders to the writing side.
//!
//! The one rule it keeps: nothing that a frame asks for is waited for here, so that an `interrupt` is never behind
//! something slow.

use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;

use axum::extract::ws::Message;
use futures_util::StreamExt as _;
use jackfield_api::command::{Rejection, RejectionCode, Reply};
use jackfield_api::socket::{Accepted, ClientFrame, GivenCommand, RefusedFrame, Rejected, ServerFrame};
use jackfield_host::{Client, Host};
use tokio::sync::{Semaphore, mpsc};

use super::dictation::Dictations;
use super::ending::Ending;
use super::{Order, Pulse, Stream, encode};
use crate::given::{TOO_DEEP, is_too_deep};
use crate::router::Server;

/// How many commands of one connection may be under way.
const COMMANDS: usize = 32;

/// Reads until the connection ends.
pub(super) async fn read(
    server: &Server,
    client: &Client,
    stream: &mut Stream,
    orders: mpsc::Sender<Order>,
    pulse: &Pulse,
) -> Ending {
    let mut dictations = Dictations::new(server.speech.speech.clone(), client.scope, orders.clone());
    let commands = Commands { host: &server.host, client, under_way: Arc::new(Semaphore::new(COMMANDS)) };
    while let Some(message) = stream.next().await {
        pulse.felt();
        let text = match message {
            Ok(Message::Text(text)) => text,
            Ok(Message::Ping(_) | Message::Pong(_)) => continue,
            Ok(Message::Binary(sound)) => {
                if !dictations.hear(sound) {
                    tell(&orders, refused("frames are text; sound belongs to a dictation")).await;
                }
                continue;
            }
            Ok(Message::Close(_)) => return Ending::Gone,
            Err(error) => return ending(&error),
        };
        let frame = if is_too_deep(text.as_bytes()) {
            Err(TOO_DEEP.to_owned())
        } else {
            serde_json::from_str(&text).map_err(|error| format!("not a frame: {error}"))
        };
        match frame {
            Ok(ClientFrame::Hello(_)) => tell(&orders, refused("`hello` was said before")).await,
            Ok(ClientFrame::Subscribe(subscribe)) => order(&orders, Order::Subscribe(subscribe)).await,
            Ok(ClientFrame::Unsubscribe(subscribed)) => {
                order(&orders, Order::Unsubscribe(subscribed.session_id)).await;
            }
            Ok(ClientFrame::Watch(_)) => order(&orders, Order::Watch).await,
            Ok(ClientFrame::Command(given)) => commands.begin(*given, &orders).await,
            Ok(ClientFrame::StartDictation(start)) => dictations.start(start).await,
            Ok(ClientFrame::StopDictation(stop)) => dictations.stop(&stop.id),
            Ok(ClientFrame::CancelDictation(cancel)) => dictations.cancel(&cancel.id),
            Err(reason) => tell(&orders, refused(reason)).await,
        }
    }
    Ending::Gone
}

struct Commands<'a> {
    host: &'a Host,
    client: &'a Client,
    under_way: Arc<Semaphore>,
}

impl Commands<'_> {
    /// Begins a command. What was sent first is begun first; what then has to wait does so by itself, and is done
    /// also when the connection ends.
    async fn begin(&self, given: GivenCommand, orders: &mpsc::Sender<Order>) {
        let Ok(permit) = Arc::clone(&self.under_way).try_acquire_owned() else {
            let reason = format!("{COMMANDS} commands are under way; repeat it when one is answered");
            let rejection = Rejection { code: RejectionCode::NotNow, reason };
            return tell(orders, ServerFrame::Rejected(Rejected { id: given.id, rejection })).await;
        };
        let mut answer = Box::pin(answer(self.host.clone(), self.client.clone(), given));
        if let Some(frame) = begun(answer.as_mut()).await {
            return tell(orders, frame).await;
        }
        let orders = orders.clone();
        tokio::spawn(async move {
            let frame = answer.await;
            drop(permit);
            tell(&orders, frame).await;
        });
    }
}

async fn answer(host: Host, client: Client, given: GivenCommand) -> ServerFrame {
    let id = given.id.clone();
    let answered: Result<Reply, Rejection> = host.command(&client, given).await;
    match answered {
        Ok(reply) => ServerFrame::Accepted(Box::new(Accepted { id, reply })),
        Err(rejection) => ServerFrame::Rejected(Rejected { id, rejection }),
    }
}

/// Lets a future begin; what it gave, if it needed nothing more.
async fn begun<F: Future>(mut future: Pin<&mut F>) -> Option<F::Output> {
    std::future::poll_fn(|context| match future.as_mut().poll(context) {
        Poll::Ready(output) => Poll::Ready(Some(output)),
        Poll::Pending => Poll::Ready(None),
    })
    .await
}

fn refused(reason: impl Into<String>) -> ServerFrame {
    ServerFrame::Refused(RefusedFrame { reason: reason.into() })
}

async fn tell(orders: &mpsc::Sender<Order>, frame: ServerFrame) {
    order(orders, Order::Send(encode(&frame))).await;
}

async fn order(orders: &mpsc::Sender<Order>, order: Order) {
    // The writing side only ends with the connection.
    let _ = orders.send(order).await;
}

fn ending(error: &axum::Error) -> Ending {
    let mut source: Option<&dyn std::error::Error> = Some(error);
    while let Some(error) = source {
        if error.to_string().contains("too long") {
            return Ending::TooLarge;
        }
        source = error.source();
    }
    Ending::Gone
}
