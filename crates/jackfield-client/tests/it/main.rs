//! A client of a host in this process and of the running one: the same answers, and no connection that matters.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod lost;
mod same;
mod stage;
