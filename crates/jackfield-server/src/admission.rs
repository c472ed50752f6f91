//! How many may be connected, and who among them is a stranger.
//!
//! A stranger has a short while to say who it is. The one rule it keeps: strangers never take the places of those
//! who were let in.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::http::Extensions;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

use crate::access::gate::{Door, Ends};

/// How many may be connected.
const CONNECTIONS: usize = 4_096;
/// How many of them may be strangers.
const STRANGERS: usize = 512;
/// How long a stranger may stay.
const STAY: Duration = Duration::from_mins(1);

/// The ends of a connection of which nothing is known.
const NOBODY: Ends =
    Ends { peer: IpAddr::V4(Ipv4Addr::UNSPECIFIED), reached: IpAddr::V4(Ipv4Addr::UNSPECIFIED) };

/// The places for connections.
#[derive(Debug)]
pub(crate) struct Places {
    all: Arc<Semaphore>,
    strangers: Arc<Semaphore>,
}

/// A connection's place, kept as long as a clone of it is.
#[derive(Debug, Clone)]
pub(crate) struct Arrival {
    pub(crate) door: Door,
    place: Arc<Place>,
}

#[derive(Debug)]
struct Place {
    _any: Option<OwnedSemaphorePermit>,
    stranger: Mutex<Option<OwnedSemaphorePermit>>,
    admitted: CancellationToken,
}

impl Default for Places {
    fn default() -> Self {
        Self::new()
    }
}

impl Places {
    pub(crate) fn new() -> Self {
        Self { all: Arc::new(Semaphore::new(CONNECTIONS)), strangers: Arc::new(Semaphore::new(STRANGERS)) }
    }

    /// A place for a new connection; `None` if there is none.
    pub(crate) fn take(&self, door: Door) -> Option<Arrival> {
        let any = Arc::clone(&self.all).try_acquire_owned().ok()?;
        let stranger = match door {
            Door::Network(_) => Some(Arc::clone(&self.strangers).try_acquire_owned().ok()?),
            Door::Local => None,
        };
        let place =
            Place { _any: Some(any), stranger: Mutex::new(stranger), admitted: CancellationToken::new() };
        let arrival = Arrival { door, place: Arc::new(place) };
        if door == Door::Local {
            arrival.admit();
        }
        Some(arrival)
    }
}

impl Arrival {
    /// How the request with these extensions came in. Without them it is a stranger's.
    pub(crate) fn of(extensions: &Extensions) -> Self {
        extensions.get::<Self>().cloned().unwrap_or_else(|| Self {
            door: Door::Network(NOBODY),
            place: Arc::new(Place {
                _any: None,
                stranger: Mutex::new(None),
                admitted: CancellationToken::new(),
            }),
        })
    }

    /// It is no longer a stranger.
    pub(crate) fn admit(&self) {
        self.place.admitted.cancel();
        self.place.stranger.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    /// Done when it has been a stranger for too long; never if it was admitted.
    pub(crate) async fn overstayed(&self) {
        let admitted = tokio::time::timeout(STAY, self.place.admitted.cancelled()).await;
        if admitted.is_ok() {
            std::future::pending::<()>().await;
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn s25_strangers_never_take_the_places_of_those_who_were_let_in() {
        let places = Places::new();
        let mut arrivals: Vec<Arrival> = Vec::new();
        while let Some(arrival) = places.take(Door::Network(NOBODY)) {
            arrivals.push(arrival);
        }
        assert_eq!(arrivals.len(), STRANGERS);
        assert!(places.take(Door::Local).is_some(), "the Unix socket has no strangers");
        arrivals[0].admit();
        let next = places.take(Door::Network(NOBODY)).unwrap();
        assert!(places.take(Door::Network(NOBODY)).is_none());
        drop(next);
        assert!(
            places.take(Door::Network(NOBODY)).is_some(),
            "a place is free again when its connection is gone"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn s25_a_stranger_may_not_stay_and_a_guest_may() {
        let places = Places::new();
        let stranger = places.take(Door::Network(NOBODY)).unwrap();
        stranger.overstayed().await;
        let guest = places.take(Door::Network(NOBODY)).unwrap();
        guest.admit();
        assert!(tokio::time::timeout(STAY * 10, guest.overstayed()).await.is_err());
    }
}
