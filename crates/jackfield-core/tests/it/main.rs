//! What the core must show: every recording, the eight properties, and what no recording holds.
//!
//! * `recordings` – the events of every recording, as snapshots
//! * `total`, `deterministic`, `framing_blind`, `conserving`, `closed`, `join_anywhere`, `indifferent`,
//!   `accounted_for` – the properties, over recordings and (where they hold for any input) mutated ones
//! * `settled`, `host_ended` – what a host needs of the transcript, as properties too
//! * `scenarios`, `prompts`, `commands`, `endings` – hand-written inputs
//! * `journal` – several runs in one journal
//! * `corpus` – what the fuzzer has found, again

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod accounted_for;
mod closed;
mod commands;
mod conserving;
mod corpus;
mod deterministic;
mod endings;
mod fixtures;
mod framing_blind;
mod host_ended;
mod indifferent;
mod join_anywhere;
mod journal;
mod mutation;
mod prompts;
mod recordings;
mod scenarios;
mod scene;
mod settled;
mod silent;
mod total;

// One harness for the fuzzer and for these tests; `pub` there is for the fuzz targets.
#[allow(unreachable_pub)]
#[path = "../../../../fuzz/src/harness/mod.rs"]
mod harness;
