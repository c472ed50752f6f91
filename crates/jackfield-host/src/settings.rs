//! How a host is set up. Plain values: where they come from (a file, flags) is not its business.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use crate::observe::Observe;
use crate::outfit::Outfit;
use crate::store::Syncing;

/// How a host is set up.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The folder with everything it keeps.
    pub data: PathBuf,
    /// The CLI's program; looked for if absent.
    pub claude: Option<PathBuf>,
    /// The words that start the guard; without them what a run leaves behind is ended with best effort only.
    pub guard: Option<Vec<OsString>>,
    /// The words that start the demo agent, if there is one.
    pub demo: Option<Vec<OsString>>,
    /// Variables of the CLI's environment to set, and without a value to remove.
    pub variables: Vec<(OsString, Option<OsString>)>,
    /// The folder in which the owners of conversations are noted; with the user's state files if absent.
    pub locks: Option<PathBuf>,
    /// The model of sessions that name none.
    pub model: Option<String>,
    /// The permission mode of sessions that name none.
    pub permission_mode: Option<String>,
    /// Whether `bypassPermissions` may be chosen. Only ever set on this machine, never by a client.
    pub bypass: Bypass,
    /// What a session may cost that names no budget.
    pub budget_usd: Option<f64>,
    /// How many CLIs may run at once.
    pub max_running: usize,
    /// After how long without a turn a run is closed; the next prompt resumes it. Never if absent.
    pub idle: Option<Duration>,
    /// Whether a turn that a limit stopped is tried again when the limit ends.
    pub after_limit: AfterLimit,
    /// Tools and hooks that sessions of the CLI are given.
    pub outfit: Option<Outfit>,
    /// When the disk is made to keep what it writes.
    pub syncing: Syncing,
    /// What watches over its sessions.
    pub observe: Observe,
}

pub use jackfield_core::session::Bypass;

/// What becomes of a turn that a limit stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AfterLimit {
    /// It waits for a person.
    #[default]
    Wait,
    /// It is tried again when the limit ends.
    Retry,
}

impl Settings {
    /// A host that keeps everything in a folder.
    pub fn new(data: impl Into<PathBuf>) -> Self {
        Self {
            data: data.into(),
            claude: None,
            guard: None,
            demo: None,
            variables: Vec::new(),
            locks: None,
            model: None,
            permission_mode: None,
            bypass: Bypass::Forbidden,
            budget_usd: None,
            max_running: 20,
            idle: Some(Duration::from_mins(30)),
            after_limit: AfterLimit::Wait,
            syncing: Syncing::First,
            observe: Observe::default(),
            outfit: None,
        }
    }
}
