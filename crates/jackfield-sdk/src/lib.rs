//! The Rust SDK: spawns and guards the Claude Code CLI and runs one task per session.
//!
//! This is the only crate that starts the CLI. It decides nothing about a session: the machine in
//! `jackfield-core` does, and this crate performs what the machine wants done.
//!
//! # One question
//!
//! [`query`] starts a CLI, says one thing and gives the events up to the result. Events are those of
//! [`api`], the same that every front end of Jackfield sees.
//!
//! ```no_run
//! use jackfield_sdk::api::Body;
//! use jackfield_sdk::{Options, query};
//!
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! let mut query = query("What is in this folder?", Options::new("/home/me/project")).await?;
//! while let Some(event) = query.next().await {
//!     match &event.body {
//!         Body::MessageChunk(chunk) => eprint!("{}", chunk.text),
//!         Body::Complete(complete) => eprintln!("\n{} dollars", complete.data.cost_usd),
//!         _ => {}
//!     }
//! }
//! # Ok(()) }
//! ```
//!
//! # A live session
//!
//! A [`Session`] is a cheap handle; when the last one is dropped the session ends with everything it started.
//! A prompt gives a [`Turn`] to follow. It is not the only thing that starts turns, and turns take up more
//! than one prompt, so it is followed by its name, not by counting.
//!
//! ```no_run
//! use jackfield_sdk::{Callbacks, Options, Pace, Session};
//!
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! let session = Session::start(Options::new("/home/me/project").model("opus"), Callbacks::new()).await?;
//! let mut events = session.events(Pace::Lossless);
//! let turn = session.prompt("Fix the build.").await?;
//! session.prompt("And tell me what it was.").await?;
//! let result = turn.result().await?;
//! if let Some(error) = result.error {
//!     eprintln!("{}: {}", error.code, error.error);
//! }
//! let everything_so_far = session.snapshot().await;
//! session.close().await;
//! while let Some(event) = events.next().await { /* to the very end */ }
//! # let _ = everything_so_far;
//! # Ok(()) }
//! ```
//!
//! Any number of readers follow a session, each with its own cursor. One that must have everything
//! ([`Pace::Lossless`]) holds the CLI back when it is too slow; one that need not ([`Pace::Lossy`]) is told
//! what it has missed. [`Session::raw`] gives the CLI's own lines.
//!
//! A CLI that no longer answers is ended, and another one goes on with the conversation in the same session
//! ([`Options::resume_wedged`]): `run_ended` and `run_started` tell of it.
//!
//! # Options
//!
//! [`Options`] has a method for everything the CLI can be told. What does not fit together, or not to the
//! installed version, is an error before anything is started. A folder is not trusted unless
//! [`Options::trust`] says so: its settings, hooks and servers are not loaded. With a
//! [guard](Options::guard) nothing of a session outlives it, not even if this program is killed.
//!
//! # Permissions
//!
//! A question is an event. A [callback](Callbacks::on_permission) may decide it; one that nobody decides stays
//! open and may be [answered](Session::answer) from anywhere. No answer is never "yes".
//!
//! ```
//! use jackfield_sdk::Callbacks;
//! use jackfield_sdk::api::command::{Allow, Deny, Verdict};
//! use jackfield_sdk::api::permission::PermissionRequest;
//!
//! let callbacks = Callbacks::new().on_permission(|request: PermissionRequest| async move {
//!     match request.tool_name.as_deref() {
//!         Some("WebFetch") => Some(Verdict::Allow(Allow::default())),
//!         Some("Bash") => {
//!             let message = "no commands, please".to_owned();
//!             Some(Verdict::Deny(Deny { message, interrupt: false }))
//!         }
//!         // For somebody else to decide.
//!         _ => None,
//!     }
//! });
//! # let _ = callbacks;
//! ```
//!
//! A [`Policy`](policy::Policy) is a preset: *autonomous*, *supervised* or *plan*.
//!
//! ```
//! use jackfield_sdk::policy::Policy;
//! use jackfield_sdk::{Callbacks, Options};
//!
//! let (options, callbacks) = Policy::Supervised.apply(Options::new("/home/me/project"), Callbacks::new());
//! # let _ = (options, callbacks);
//! ```
//!
//! # Hooks
//!
//! A [hook](Callbacks::on_hook) is a function that the CLI waits for at an event. If it must not be passed over
//! when it fails, say so with [`OnFailure::Block`].
//!
//! ```
//! use std::time::Duration;
//!
//! use jackfield_sdk::wire::{HookEvent, HookInput, HookOutput};
//! use jackfield_sdk::{Callbacks, OnFailure};
//!
//! let audit = |input: HookInput| async move {
//!     eprintln!("{}", input.raw.get());
//!     Ok(HookOutput::default())
//! };
//! let callbacks = Callbacks::new()
//!     .on_hook(HookEvent::PreToolUse, Some("Bash|Write"), audit)
//!     .within(Duration::from_secs(5))
//!     .on_failure(OnFailure::Block)
//!     .report_uncommitted();
//! # let _ = callbacks;
//! ```
//!
//! # Tools
//!
//! [`tools::Tools`] lends the model functions of this program; [`Options::mcp_server`] lends it those of others.
//!
//! # Prompts
//!
//! Pictures and documents are [looked at](content) before they are sent.
//!
//! ```no_run
//! use jackfield_sdk::api::session::Priority;
//! use jackfield_sdk::{Session, content};
//!
//! # async fn run(session: Session) -> Result<(), Box<dyn std::error::Error>> {
//! let words = format!("Does this look like {} says?", content::mention("docs/layout.md")?);
//! let prompt = vec![content::picture_file("screen.png").await?, content::text(words)];
//! let turn = session.prompt_with(prompt, Priority::Later).await?;
//! session.cancel(turn.uuid()).await?;
//! session.prompt_with(vec![content::command("compact", "keep the plan")?], Priority::Next).await?;
//! # Ok(()) }
//! ```
//!
//! # Conversations
//!
//! A conversation goes on in other runs: [`Session::resume`] after a crash, [`Session::retry`] after a turn that
//! failed, [`Session::fork`] and [`Session::rewind`] for another way. [`history::History`] lists and reads those
//! on disk. Files are taken back by [`Session::rewind_files`], with [`Session::preview_rewind`] to look first;
//! what was done to them is told by `file_updated` events, inside subagents too.
//!
//! ```no_run
//! use jackfield_sdk::{Callbacks, Options, Session};
//!
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! let options = Options::new("/home/me/project");
//! let latest = options.history().ok_or("no home")?.list_of("/home/me/project".as_ref())?.remove(0);
//! let session = Session::start(options.resume(latest.id), Callbacks::new()).await?;
//! let turn = session.prompt("Go on.").await?;
//! let asked = turn.uuid().clone();
//! if turn.result().await?.error.is_some() {
//!     let (session, turn) = session.retry().await?;
//!     turn.result().await?;
//!     session.close().await;
//! } else {
//!     let other = session.rewind(&asked).await?;
//!     other.prompt("Go on, but carefully.").await?.result().await?;
//! }
//! # Ok(()) }
//! ```
//!
//! # Control
//!
//! Everything else that the CLI can be asked has a method on [`Session`]: [`Session::set_mode`],
//! [`Session::set_model`], [`Session::mcp_status`], [`Session::context_usage`] and many more. A CLI that does not
//! know a request says so with [`RejectionCode::Unsupported`](api::command::RejectionCode::Unsupported); none of
//! them waits for ever. What the CLI offers – commands, models, the account – is in [`Session::ready`].

pub use jackfield_api as api;
pub use jackfield_wire as wire;

pub mod command_line;
pub mod content;
pub mod environment;
pub mod flags;
pub mod guard;
pub mod history;
pub mod locate;
pub mod lock;
pub mod options;
pub mod policy;
pub mod tools;
pub mod tree;
pub mod version;

pub use command_line::{OptionError, command_line};
pub use environment::{Environment, environment};
pub use locate::{Claude, LocateError, locate};
pub use options::{
    DebugFilter, Effort, Options, PartOf, PermissionPrompts, Plugin, Prompt, SettingSource, Settings, Switch,
    Thinking, ThinkingDisplay, Trust, Worktree,
};
pub use version::{MINIMUM_VERSION, Version};

mod basket;
mod callbacks;
mod clock;
mod control;
mod conversation;
mod error;
mod journal;
mod log;
mod process;
mod query;
mod raw;
mod session;
mod spool;
mod start;
mod stderr;
mod tail;
mod task;
mod turn;
mod writer;

pub use basket::{Basket, Basketful};
pub use callbacks::{Answering, Callbacks, OnFailure};
pub use conversation::ConversationError;
pub use error::{Refused, StartError};
pub use jackfield_core::By;
pub use journal::{Entry, Journal, Passed};
pub use log::{Events, LOSSLESS_LIMIT, Pace};
pub use query::{Query, query, query_with};
pub use raw::{Direction, RawLine};
pub use session::Session;
pub use start::Ready;
pub use tail::{LineFeed, RawTail};
pub use turn::{Turn, TurnError, TurnResult};
