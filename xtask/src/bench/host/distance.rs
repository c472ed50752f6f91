//! How far apart the two cores are that something is measured on.
//!
//! A virtual machine's cores may share a cache or lie in different parts of the processor, and may be moved while it
//! runs. What two tasks hand to each other costs several times as much then. The one rule it keeps: it only tells; no
//! figure is corrected by it.

use std::hint::spin_loop;
use std::num::NonZero;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// How often a word goes there and back.
const TIMES: u32 = 20_000;

/// How long a word takes from one core to another; `None` where there is only one.
pub(super) fn between_cores() -> Option<Duration> {
    if thread::available_parallelism().map_or(1, NonZero::get) < 2 {
        return None;
    }
    let word = AtomicU32::new(0);
    let wait_for = |wanted| {
        while word.load(Ordering::Acquire) != wanted {
            spin_loop();
        }
    };
    let took = thread::scope(|scope| {
        scope.spawn(|| {
            for time in 0..TIMES {
                wait_for(2 * time + 1);
                word.store(2 * time + 2, Ordering::Release);
            }
        });
        let begun = Instant::now();
        for time in 0..TIMES {
            word.store(2 * time + 1, Ordering::Release);
            wait_for(2 * time + 2);
        }
        begun.elapsed()
    });
    Some(took / (2 * TIMES))
}
