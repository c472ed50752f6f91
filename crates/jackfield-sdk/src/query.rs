//! One prompt, one answer: a stream of events that ends with the result.

use std::collections::VecDeque;

use jackfield_api::{Body, SharedEvent};

use crate::error::StartError;
use crate::log::{Events, Pace};
use crate::session::Session;
use crate::{Callbacks, Options};

/// Starts a session, says one thing, and gives the events up to the result.
///
/// The CLI ends with the stream; dropping it earlier ends the CLI too.
pub async fn query(prompt: impl Into<String>, options: Options) -> Result<Query, StartError> {
    query_with(prompt, options, Callbacks::new()).await
}

/// [`query`] with permissions, hooks and tools.
pub async fn query_with(
    prompt: impl Into<String>,
    options: Options,
    callbacks: Callbacks,
) -> Result<Query, StartError> {
    let session = Session::start(options, callbacks).await?;
    let events = session.events(Pace::Lossless);
    let turn = session.prompt(prompt).await?;
    let uuid = turn.uuid().as_str().to_owned();
    Ok(Query { session: Some(session), events, uuid, mine: false, last: VecDeque::new() })
}

/// The events of one query.
#[derive(Debug)]
pub struct Query {
    /// None once the result has come.
    session: Option<Session>,
    events: Events,
    uuid: String,
    /// The turn that runs took the prompt.
    mine: bool,
    /// What comes with the result.
    last: VecDeque<SharedEvent>,
}

impl Query {
    /// The session behind it, to answer questions or to interrupt; `None` once the result has come.
    pub fn session(&self) -> Option<&Session> {
        self.session.as_ref()
    }

    /// The next event; `None` behind the result.
    pub async fn next(&mut self) -> Option<SharedEvent> {
        if let Some(event) = self.last.pop_front() {
            return Some(event);
        }
        self.session.as_ref()?;
        let event = self.events.next().await;
        match event.as_ref().map(|event| &event.body) {
            Some(Body::UserMessage(message)) => {
                self.mine |= message.uuid.as_ref().is_some_and(|uuid| uuid.as_str() == self.uuid);
            }
            Some(Body::Complete(_)) if self.mine => {
                // A result that failed says why in the event behind it, which is told together with it.
                if let Some(next) = self.events.try_next().filter(|next| matches!(next.body, Body::Error(_)))
                {
                    self.last.push_back(next);
                }
                if let Some(session) = self.session.take() {
                    tokio::spawn(async move { session.close().await });
                }
            }
            // There is no result any more, even if the conversation could go on.
            Some(Body::RunEnded(_)) | None => self.session = None,
            Some(_) => {}
        }
        event
    }

    /// The same as a [`futures_core::Stream`].
    pub fn into_stream(self) -> impl futures_core::Stream<Item = SharedEvent> + Send {
        futures_util::stream::unfold(self, |mut query| async {
            let event = query.next().await?;
            Some((event, query))
        })
    }
}
