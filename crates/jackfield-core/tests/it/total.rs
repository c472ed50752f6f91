//! *Total*: any bytes, any inputs, in any order, in any state. No panic, and `seq` has no hole.
//!
//! Run on mutated recordings and on steps that no recording had a part in. The holes are looked for by the
//! ledger of the stage.

use proptest::collection::vec;
use proptest::prelude::*;

use crate::harness::Stage;
use crate::mutation::{Play, config, mutated, step};

proptest! {
    #![proptest_config(config(192))]

    #[test]
    fn any_bytes_in_any_order_are_taken_without_a_panic_and_without_a_hole(play in mutated()) {
        run(&play);
    }

    #[test]
    fn any_steps_at_all_are_taken_without_a_panic_and_without_a_hole(steps in vec(step(), 0..60)) {
        run(&Play(steps));
    }
}

fn run(play: &Play) {
    let mut stage = Stage::new(None);
    for step in &play.0 {
        stage.take(step);
    }
    stage.end();
    let seqs: Vec<u64> = stage.events().iter().map(|event| event.seq.0).collect();
    assert_eq!(seqs, (1..=seqs.len() as u64).collect::<Vec<_>>());
}
