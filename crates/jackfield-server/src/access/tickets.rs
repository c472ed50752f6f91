//! One-time links: a ticket stands in a link's fragment, which a browser sends to nobody, and is exchanged for a
//! login.
//!
//! The one rule it keeps: looking a ticket up and using it up is one step, so that of two who show it at once
//! one is let in.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use jackfield_api::socket::Scope;

use super::secret::{Digest, NoSecret, Secret};

/// How long a ticket can be used.
pub(crate) const LIFE: Duration = Duration::from_mins(1);
/// More than this many at once are nobody's need; the oldest goes.
const MOST: usize = 32;

/// The tickets that can still be used.
#[derive(Debug, Default)]
pub(crate) struct Tickets(Mutex<BTreeMap<Digest, Ticket>>);

#[derive(Debug)]
struct Ticket {
    until: Instant,
    grant: Grant,
}

/// What a ticket's holder gets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Grant {
    /// What it may do.
    pub(crate) scope: Scope,
    /// What it is called from then on.
    pub(crate) name: Option<String>,
}

impl Tickets {
    /// A new ticket.
    pub(crate) fn issue(&self, now: Instant, grant: Grant) -> Result<Secret, NoSecret> {
        let secret = Secret::random()?;
        let mut tickets = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        tickets.retain(|_, ticket| ticket.until > now);
        while tickets.len() >= MOST {
            let oldest = tickets.iter().min_by_key(|(_, ticket)| ticket.until).map(|(digest, _)| *digest);
            tickets.remove(&oldest.unwrap_or_else(|| secret.digest()));
        }
        tickets.insert(secret.digest(), Ticket { until: now + LIFE, grant });
        Ok(secret)
    }

    /// Uses a ticket up; what its holder gets, if it was good.
    pub(crate) fn redeem(&self, shown: &str, now: Instant) -> Option<Grant> {
        let digest = Digest::of(shown);
        let ticket = self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&digest)?;
        (ticket.until > now).then_some(ticket.grant)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::sync::Barrier;
    use std::thread;

    use super::*;

    fn grant(scope: Scope) -> Grant {
        Grant { scope, name: None }
    }

    #[test]
    fn s7_a_ticket_is_good_once_and_for_a_minute() {
        let tickets = Tickets::default();
        let now = Instant::now();
        let first = tickets.issue(now, grant(Scope::Admin)).unwrap();
        assert_eq!(tickets.redeem("something else", now), None);
        assert_eq!(tickets.redeem(first.reveal(), now), Some(grant(Scope::Admin)));
        assert_eq!(tickets.redeem(first.reveal(), now), None);

        let second = tickets.issue(now, grant(Scope::View)).unwrap();
        assert_eq!(tickets.redeem(second.reveal(), now + LIFE), None);
        let third = tickets.issue(now, grant(Scope::View)).unwrap();
        assert_eq!(tickets.redeem(third.reveal(), now + Duration::from_secs(59)), Some(grant(Scope::View)));
    }

    #[test]
    fn s8_of_two_who_show_one_ticket_at_once_one_is_let_in() {
        let tickets = Tickets::default();
        let now = Instant::now();
        for _ in 0..1_000 {
            let ticket = tickets.issue(now, grant(Scope::Admin)).unwrap();
            let together = Barrier::new(2);
            let show = || {
                together.wait();
                tickets.redeem(ticket.reveal(), now).is_some()
            };
            let (one, other) = thread::scope(|scope| {
                let (one, other) = (scope.spawn(show), scope.spawn(show));
                (one.join().unwrap(), other.join().unwrap())
            });
            assert!(one ^ other, "{one} {other}");
        }
    }

    #[test]
    fn there_is_never_more_than_a_handful_of_tickets() {
        let tickets = Tickets::default();
        let now = Instant::now();
        let issued: Vec<Secret> = (0..100)
            .map(|n| tickets.issue(now + Duration::from_millis(n), grant(Scope::View)).unwrap())
            .collect();
        assert_eq!(tickets.0.lock().unwrap().len(), MOST);
        assert_eq!(tickets.redeem(issued[0].reveal(), now), None);
        assert_eq!(tickets.redeem(issued[99].reveal(), now), Some(grant(Scope::View)));
    }
}
