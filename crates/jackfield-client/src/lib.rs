//! One typed way to a host: in this process, or the running one over its Unix socket.
//!
//! Who uses it cannot tell the two apart: the same calls, the same answers, the same errors. It knows our contract
//! and nothing of the CLI's JSON. The one rule it keeps: what was asked is done once and what happened is told once,
//! however often the connection is lost in between.
//!
//! # Layout
//! * [`Client`] – the calls; [`Trace`] – what its prompts are a part of
//! * [`Subscription`], [`Update`] – a session's events, one by one
//! * [`Watching`], [`Watched`] – the list of sessions as it changes
//! * [`LineReader`] – all lines of its agent
//! * `trust` – what folders bring, and what a person says to that
//! * `remote` – questions and commands over the socket; `following` – events over it

#[cfg(test)]
mod absence;
mod client;
mod error;
mod figures;
mod following;
mod lines;
mod remote;
mod subscription;
mod trust;
mod watching;

pub use client::{Client, Trace};
pub use error::ClientError;
pub use jackfield_host::ExportFormat;
pub use jackfield_host::store::{Archived, CostBy, SessionQuery};
pub use jackfield_host::trust::Verdict;
pub use lines::LineReader;
pub use subscription::{Subscription, Update};
pub use watching::{Watched, Watching};
