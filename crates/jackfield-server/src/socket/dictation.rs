//! Dictation on a connection: sound of the reading side to a recogniser, its words to the writing side.
//!
//! What is understood is told to this connection and kept nowhere. The one rule it keeps: every dictation that was begun
//! ends with one word, and none outlives its connection.

use std::time::Instant;

use bytes::Bytes;
use jackfield_api::DictationId;
use jackfield_api::socket::{Scope, ServerFrame};
use jackfield_api::speech::{
    Dictation, DictationFailure, DictationFailureCode, DictationState, StartDictation,
};
use jackfield_speech::meter::{Meter, TooMuch};
use jackfield_speech::{Heard, Interims, Speech, SpeechError, Utterance};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::{Order, encode};

/// How many portions of sound may wait for the recogniser's pipe.
const PORTIONS: usize = 256;
/// How long a dictation's name may be.
const NAME: usize = 128;

/// The dictations of a connection; one is spoken at a time, and others may wait for their last word.
pub(super) struct Dictations {
    speech: Option<Speech>,
    scope: Scope,
    orders: mpsc::Sender<Order>,
    open: Option<Open>,
    /// Ended with the connection.
    tasks: JoinSet<()>,
}

struct Open {
    id: DictationId,
    /// `None` if more came than could be taken.
    words: Option<mpsc::Sender<Said>>,
    is_stopped: bool,
}

/// What the client says to its dictation.
enum Said {
    Sound(Bytes),
    Stop,
    Cancel,
}

impl Dictations {
    pub(super) fn new(speech: Option<Speech>, scope: Scope, orders: mpsc::Sender<Order>) -> Self {
        Self { speech, scope, orders, open: None, tasks: JoinSet::new() }
    }

    pub(super) async fn start(&mut self, start: StartDictation) {
        // Those that are over are not kept in mind.
        while self.tasks.try_join_next().is_some() {}
        let StartDictation { id, language } = start;
        let is_open = self.open.as_ref().is_some_and(Open::is_spoken);
        let refused = match &self.speech {
            _ if id.as_str().is_empty() || id.as_str().len() > NAME => Err((
                DictationFailureCode::Invalid,
                format!("the name of a dictation has 1 to {NAME} characters"),
            )),
            _ if self.scope < Scope::Answer => {
                Err((DictationFailureCode::Forbidden, "this device may only look".to_owned()))
            }
            _ if is_open => Err((
                DictationFailureCode::Busy,
                "a dictation is under way on this connection: stop or cancel it first".to_owned(),
            )),
            None => Err((
                DictationFailureCode::NotAvailable,
                "dictation is switched off: set `speech.engine` in the host's configuration".to_owned(),
            )),
            Some(speech) => Ok(speech.clone()),
        };
        match refused {
            Ok(speech) => {
                let (words, coming) = mpsc::channel(PORTIONS);
                self.open = Some(Open { id: id.clone(), words: Some(words), is_stopped: false });
                let telling = Telling { id, orders: self.orders.clone() };
                self.tasks.spawn(dictate(speech, language, telling, coming));
            }
            Err((code, reason)) => {
                Telling { id, orders: self.orders.clone() }.failed(code, reason).await;
            }
        }
    }

    /// Takes sound; `false` if none was ever asked for.
    pub(super) fn hear(&mut self, sound: Bytes) -> bool {
        let Some(open) = &mut self.open else { return false };
        // Sound that was on its way when its dictation ended is nobody's.
        if open.is_spoken() {
            open.say(Said::Sound(sound));
        }
        true
    }

    pub(super) fn stop(&mut self, id: &DictationId) {
        if let Some(open) = self.open.as_mut().filter(|open| open.id == *id) {
            open.say(Said::Stop);
            open.is_stopped = true;
        }
    }

    pub(super) fn cancel(&mut self, id: &DictationId) {
        // One that is over already has had its last word.
        if let Some(open) = self.open.as_mut().filter(|open| open.id == *id) {
            open.say(Said::Cancel);
            open.is_stopped = true;
        }
    }
}

impl Open {
    fn is_spoken(&self) -> bool {
        !self.is_stopped && self.words.as_ref().is_some_and(|words| !words.is_closed())
    }

    /// Says it without waiting: a dictation that cannot follow ends.
    fn say(&mut self, said: Said) {
        if let Some(words) = &self.words
            && words.try_send(said).is_err()
        {
            self.words = None;
        }
    }
}

/// One dictation, from its beginning to its last word.
async fn dictate(
    speech: Speech,
    language: Option<String>,
    telling: Telling,
    mut coming: mpsc::Receiver<Said>,
) {
    let mut utterance = match speech.begin(language.as_deref(), Interims::Told).await {
        Ok(utterance) => utterance,
        Err(error) => return telling.error(&error).await,
    };
    let (mut meter, begun) = (Meter::default(), Instant::now());
    let (mut is_stopped, mut is_held) = (false, true);
    loop {
        let heard = tokio::select! {
            said = coming.recv(), if is_held => match said {
                Some(Said::Sound(_)) if is_stopped => continue,
                Some(Said::Sound(sound)) => match taken(&mut utterance, &mut meter, &sound, begun).await {
                    Ok(()) => continue,
                    Err(error) => Err(error),
                },
                Some(Said::Stop) => {
                    utterance.end().await;
                    is_stopped = true;
                    continue;
                }
                Some(Said::Cancel) => {
                    drop(utterance);
                    return telling.state(DictationState::Cancelled, None).await;
                }
                // The connection has begun another, and this one still has its last word.
                None if is_stopped => {
                    is_held = false;
                    continue;
                }
                None => Err(SpeechError::TooMuch(TooMuch::TooFast)),
            },
            heard = utterance.next() => heard,
        };
        match heard {
            Ok(Heard::Ready) => telling.state(DictationState::Listening, None).await,
            Ok(Heard::Interim(text)) => telling.state(DictationState::Interim, Some(text)).await,
            Ok(Heard::Final(text)) => return telling.state(DictationState::Final, Some(text)).await,
            Err(error) => return telling.error(&error).await,
        }
    }
}

async fn taken(
    utterance: &mut Utterance,
    meter: &mut Meter,
    sound: &Bytes,
    begun: Instant,
) -> Result<(), SpeechError> {
    meter.take(sound, begun.elapsed())?;
    utterance.hear(sound).await
}

/// Tells a connection of its dictation.
struct Telling {
    id: DictationId,
    orders: mpsc::Sender<Order>,
}

impl Telling {
    async fn state(&self, state: DictationState, text: Option<String>) {
        self.tell(Dictation { id: self.id.clone(), state, text, failure: None }).await;
    }

    async fn error(&self, error: &SpeechError) {
        self.failed(code(error), error.to_string()).await;
    }

    async fn failed(&self, code: DictationFailureCode, reason: String) {
        let failure = Some(DictationFailure { code, reason });
        self.tell(Dictation { id: self.id.clone(), state: DictationState::Failed, text: None, failure })
            .await;
    }

    async fn tell(&self, dictation: Dictation) {
        // The writing side only ends with the connection.
        let _ = self.orders.send(Order::Send(encode(&ServerFrame::Dictation(dictation)))).await;
    }
}

fn code(error: &SpeechError) -> DictationFailureCode {
    match error {
        SpeechError::Unavailable(_) | SpeechError::Unusable(_) | SpeechError::Start(_) => {
            DictationFailureCode::NotAvailable
        }
        SpeechError::Busy(_) => DictationFailureCode::Busy,
        SpeechError::Failed(_) | SpeechError::Died { .. } | SpeechError::Stuck => {
            DictationFailureCode::EngineFailed
        }
        SpeechError::NoSound => DictationFailureCode::NoSound,
        SpeechError::NothingHeard => DictationFailureCode::NothingHeard,
        SpeechError::TooMuch(TooMuch::Halved) => DictationFailureCode::Invalid,
        SpeechError::TooMuch(TooMuch::TooFast) => DictationFailureCode::TooFast,
        SpeechError::TooMuch(TooMuch::TooLong) | SpeechError::LeftOpen => DictationFailureCode::TooLong,
    }
}
