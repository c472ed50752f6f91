//! The session as a state machine, and the transcript as a fold over its events.
//!
//! No IO: no runtime, clock, randomness, file, thread or lock. Time and ids come in as arguments, and
//! what is to be done comes out as values. The same code runs live and in a replay.
//!
//! # Layout
//! * [`input`] – everything that can happen to a session, and everything it can want
//! * [`session`] – the machine: [`Session::handle`], [`Session::poll`], [`Session::deadline`]
//! * `on_*` – what each kind of input does
//! * `run`, `stream`, `calls`, `questions`, `requests`, `prompts`, `tasks`, `gauge` – what is only true
//!   while one CLI process lives
//! * `tools` – one shape per kind of tool
//! * [`journal`] – the lines that a replay is made of
//! * [`transcript`] – the fold: events to a snapshot; `host_ended` – the end of a run that nobody saw

mod calls;
mod gauge;
mod host_ended;
pub mod input;
pub mod journal;
mod on_command;
mod on_control;
mod on_message;
mod on_result;
mod on_sent;
mod on_stream;
mod on_system;
mod outbox;
mod promises;
mod prompts;
mod questions;
mod requests;
mod run;
pub mod session;
mod stream;
mod tasks;
mod tools;
pub mod transcript;
mod words;

pub use calls::RESULT_HOOK;
pub use gauge::Spent;
pub use input::{By, CallId, CommandId, Exit, HostCall, HostReply, Input, Launch, Output, Place, Signal};
pub use session::{Options, Session};
pub use tools::{FILE_TOOLS, is_read_only};
pub use transcript::Transcript;
