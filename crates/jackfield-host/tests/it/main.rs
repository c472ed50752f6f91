//! The host.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod export;
mod files;
mod git;
mod rules;
mod sessions;
mod stage;
mod store;
mod store_crash;
mod store_files;
mod store_fixtures;
mod store_ledger;
mod store_search;
