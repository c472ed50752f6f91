//! The host.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod backup;
mod export;
mod faults;
mod faults_fake;
mod faults_kept;
mod faults_questions;
mod files;
mod git;
mod lines;
mod money;
mod rules;
mod sessions;
mod stage;
mod store;
mod store_crash;
mod store_files;
mod store_fixtures;
mod store_ledger;
mod store_look;
mod store_search;
mod trust;
mod trust_own;
