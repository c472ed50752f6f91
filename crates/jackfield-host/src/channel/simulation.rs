//! A host in a simulated world, by seed: the session machine, the book, the log that is published and the desk are the
//! real ones; the CLI, the disk, the clients and time are played.
//!
//! Anything can come before or behind anything else: a line of the CLI, a write, a commit or its failure, a client that
//! says, answers, repeats or reads something, the death of the CLI, and the death of the host, of which only the disk
//! stays. After each step all promises are checked (`promises`), and in the end everything comes to rest. The one rule
//! it keeps: a seed is one history, always the same, and a world that is made to lie is found out by the same seeds.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod cli;
mod clients;
mod disk;
mod promises;
mod run;
mod seen;
mod world;

// One ledger for the fuzzer, the core's tests and this; `pub` there is for the fuzz targets.
#[allow(unreachable_pub, dead_code)]
#[path = "../../../../fuzz/src/harness/ledger.rs"]
mod ledger;

use seen::{Lie, Seen};
use world::World;

const SEEDS: u64 = 2_000;
const STEPS: u32 = 250;

/// One history; what was broken in it, if anything.
fn broken(seed: u64, lie: Option<Lie>) -> Option<String> {
    let mut world = World::new(seed, lie);
    for step in 0..STEPS {
        world.step();
        if let Err(broken) = world.check() {
            return Some(format!("seed {seed}, step {step}: {broken}"));
        }
    }
    world
        .come_to_rest()
        .and_then(|()| world.check_rest())
        .err()
        .map(|broken| format!("seed {seed}: {broken}"))
}

#[test]
fn in_every_order_of_events_and_deaths_nothing_is_lost_doubled_stuck_or_allowed_by_nobody() {
    for seed in 0..SEEDS {
        if let Some(broken) = broken(seed, None) {
            panic!("{broken}");
        }
    }
}

#[test]
fn the_simulation_gets_everywhere() {
    let mut seen = Seen::default();
    for seed in 0..300 {
        let mut world = World::new(seed, None);
        (0..2 * STEPS).for_each(|_| world.step());
        world.come_to_rest().unwrap();
        seen.add(&world.seen);
    }
    assert!(seen.everything(), "{seen:?}");
}

#[test]
fn a_world_that_lies_is_found_out() {
    for lie in Lie::ALL {
        // The ledger says what it finds by a panic.
        let found = |seed| std::panic::catch_unwind(|| broken(seed, Some(lie)).is_some()).unwrap_or(true);
        assert!((0..SEEDS).any(found), "{lie:?} is not found");
    }
}
