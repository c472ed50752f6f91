//! The ACP agent: Claude Code in every editor that speaks the Agent Client Protocol.
//!
//! Events of a host become `session/update`s, requests of an editor become commands. It holds no session of its own:
//! everything goes through a [`Client`](jackfield_client::Client), so what an editor opens the page shows, and the
//! other way round. It knows nothing of the CLI's JSON and of HTTP. The one rule it keeps: every prompt is answered
//! exactly once, and by `end_turn` only if the turn ended well.
//!
//! # Layout
//! * [`serve`] – one connection, from its first line to its last
//! * [`schema`] – the protocol's types; nothing else names the crate that they come from
//! * `rpc` – lines, messages, and what is on its way out
//! * `requests` – what is asked of the agent itself; `session` – one session of one editor
//! * [`translate`] – events to updates, without IO
//! * `prompts`, `prompt` – how a prompt ends, and what it says; `permission`, `question`, `trust` – what a person is
//!   asked, and what their answer means; `settings` – modes and models

mod agent;
mod capabilities;
mod log;
mod mcp;
mod permission;
mod prompt;
mod prompts;
mod question;
mod requests;
mod rpc;
pub mod schema;
mod session;
mod settings;
mod time;
pub mod translate;
mod trust;

pub use agent::{Options, ServeError, serve};
pub use log::Log;
