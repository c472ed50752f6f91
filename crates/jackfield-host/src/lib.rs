//! The host without a network: many sessions for many clients, kept for ever.
//!
//! A session outlives its runs and the host itself; what any client was told is on disk before. It knows nothing
//! of HTTP, and nothing of the CLI's JSON.

pub mod export;
pub mod files;
pub mod git;
pub mod observe;
pub mod outfit;
pub mod redact;
pub mod rules;
pub mod settings;
pub mod store;
pub mod trust;

mod channel;
mod client;
mod debug_files;
mod feed;
mod host;
mod memory;
mod models;
mod published;
mod registry;
mod said;
mod subscription;

pub use client::Client;
pub use export::ExportFormat;
pub use feed::Watching;
pub use host::{Against, Host};
pub use jackfield_sdk::LineFeed;
pub use settings::Settings;
pub use subscription::{Subscription, Told};
