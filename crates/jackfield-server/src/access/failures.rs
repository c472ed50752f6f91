//! How often somebody may be wrong: ten times a minute, then it is not listened to for a while.
//!
//! Secrets of 256 bits are not guessed at any speed; this is for whoever tries all the same, also on this machine.
//! The one rule it keeps: it forgets by itself, and what it remembers is bounded.

use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How often a peer may fail.
pub(crate) const FAILURES: usize = 10;
/// Within what time.
pub(crate) const WITHIN: Duration = Duration::from_mins(1);
/// How many peers are remembered; the one that failed longest ago goes.
const PEERS: usize = 1_024;

/// Who failed lately, and when.
#[derive(Debug, Default)]
pub(crate) struct Failures(Mutex<BTreeMap<IpAddr, VecDeque<Instant>>>);

impl Failures {
    /// How long a peer is not listened to; `None` if it is.
    pub(crate) fn wait(&self, peer: IpAddr, now: Instant) -> Option<Duration> {
        let peers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let times = peers.get(&whole(peer)).filter(|times| times.len() >= FAILURES)?;
        let wait = WITHIN.saturating_sub(now.saturating_duration_since(*times.front()?));
        (!wait.is_zero()).then_some(wait)
    }

    /// A peer failed.
    pub(crate) fn add(&self, peer: IpAddr, now: Instant) {
        let mut peers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        peers.retain(|_, times| {
            times.retain(|time| now.saturating_duration_since(*time) < WITHIN);
            !times.is_empty()
        });
        let peer = whole(peer);
        if peers.len() >= PEERS && !peers.contains_key(&peer) {
            let oldest = peers.iter().min_by_key(|(_, times)| times.back()).map(|(peer, _)| *peer);
            peers.remove(&oldest.unwrap_or(peer));
        }
        let times = peers.entry(peer).or_default();
        times.push_back(now);
        while times.len() > FAILURES {
            times.pop_front();
        }
    }
}

/// The whole of a peer: with IPv6 everybody has as many addresses as they like, all in one network.
fn whole(peer: IpAddr) -> IpAddr {
    match peer.to_canonical() {
        IpAddr::V6(address) if !address.is_loopback() => {
            IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX)))
        }
        canonical => canonical,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn peer(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn s5_after_ten_failures_a_peer_waits_until_the_first_is_a_minute_old() {
        let (failures, now) = (Failures::default(), Instant::now());
        let (one, other) = (peer("127.0.0.1"), peer("192.0.2.7"));
        for second in 0..10 {
            assert_eq!(failures.wait(one, now), None);
            failures.add(one, now + Duration::from_secs(second));
        }
        assert_eq!(failures.wait(one, now + Duration::from_secs(10)), Some(Duration::from_secs(50)));
        assert_eq!(failures.wait(other, now), None, "another peer is not to blame");
        assert_eq!(failures.wait(one, now + WITHIN), None);
        failures.add(one, now + WITHIN);
        assert_eq!(
            failures.wait(one, now + WITHIN),
            Some(Duration::from_secs(1)),
            "nine of the first ten are younger than a minute"
        );
    }

    #[test]
    fn s5_a_peer_is_the_same_under_all_addresses_of_its_network() {
        let (failures, now) = (Failures::default(), Instant::now());
        for n in 0..10 {
            failures.add(peer(&format!("2001:db8::{n}")), now);
            failures.add(peer("::ffff:192.0.2.7"), now);
        }
        assert!(failures.wait(peer("2001:db8::ffff"), now).is_some());
        assert!(failures.wait(peer("2001:db8:0:1::1"), now).is_none());
        assert!(failures.wait(peer("192.0.2.7"), now).is_some());
        assert!(failures.wait(peer("::1"), now).is_none());
    }

    #[test]
    fn s5_what_is_remembered_is_bounded() {
        let (failures, now) = (Failures::default(), Instant::now());
        for n in 0..10_000_u32 {
            failures.add(IpAddr::V4((0x0a00_0000 + n).into()), now + Duration::from_millis(n.into()));
        }
        assert_eq!(failures.0.lock().unwrap().len(), PEERS);
        for n in 0..1_000 {
            failures.add(peer("10.0.0.1"), now + Duration::from_millis(10_000 + n));
        }
        assert_eq!(failures.0.lock().unwrap()[&peer("10.0.0.1")].len(), FAILURES);
        failures.add(peer("10.0.0.2"), now + WITHIN * 3);
        assert_eq!(failures.0.lock().unwrap().len(), 1, "what is over is forgotten");
    }
}
