//! What a programmer has on the bench beside the editor: a kernel that runs code, and language servers that know of
//! problems; for editors that have none, and for the host's own sessions.
//!
//! All of them are programs of the user's configuration, started when they are first needed. [`Equipment`] lends them to
//! a session as tools and hooks. The one rule it keeps: nothing runs that a folder has named, and nothing outlives who
//! asked for it.

mod address;
mod buffers;
mod equipment;
pub mod findings;
mod kernel;
mod language_server;
mod problem;
mod process;

pub use address::file_of;
pub use buffers::{Buffers, Settled};
pub use equipment::{Equipment, Reach};
// For those who offer the same tools over a wire of their own, and know nothing of sessions.
pub use jackfield_sdk::tools::{ToolServer, Toolset};
pub use kernel::{Kernel, KernelError, KernelSetup, Output, Part};
pub use language_server::{LanguageServerError, LanguageServerSetup, LanguageServers};
pub use problem::{Diagnostic, FileDiagnostics, Position, Range, Severity};
pub use process::Surroundings;
