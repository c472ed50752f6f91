//! The words that options are made of.
//!
//! Only types; the methods that take them are in the modules beside this one. The one rule it keeps: where
//! the CLI has a closed list of words it is an enum here, and where that list grows it ends in `Other`.

use std::path::PathBuf;

use serde_json::{Map, Value};

/// On or off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Switch {
    /// On.
    On,
    /// Off.
    Off,
}

impl Switch {
    /// Whether it is on.
    pub fn is_on(self) -> bool {
        self == Self::On
    }
}

/// Whether what a folder brings along (settings, hooks, MCP servers) may run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trust {
    /// The person trusts the folder: its settings and MCP servers are loaded.
    Trusted,
    /// Nothing in the folder runs: only the user's settings are loaded, and only the MCP servers named in
    /// the options. Without a terminal the CLI itself asks nobody before it runs a folder's hooks and
    /// servers.
    Untrusted,
}

/// How hard the model tries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effort {
    /// Least.
    Low,
    /// Less.
    Medium,
    /// More.
    High,
    /// Still more.
    ExtraHigh,
    /// Most.
    Max,
    /// A word of a newer CLI; one that it does not know is ignored with a warning on standard error.
    Other(String),
}

impl Effort {
    /// The CLI's word.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::ExtraHigh => "xhigh",
            Self::Max => "max",
            Self::Other(word) => word,
        }
    }
}

/// Whether the model thinks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Thinking {
    /// As much as it sees fit.
    Adaptive,
    /// Up to the budget in tokens.
    Enabled,
    /// Not at all.
    Disabled,
}

impl Thinking {
    /// The CLI's word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Adaptive => "adaptive",
            Self::Enabled => "enabled",
            Self::Disabled => "disabled",
        }
    }
}

/// How much of the thinking is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ThinkingDisplay {
    /// A summary.
    Summarized,
    /// Nothing.
    Omitted,
    /// Highlights; newer CLIs only.
    Highlights,
}

/// A text for the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Prompt {
    /// The text itself.
    Text(String),
    /// A file that holds it.
    File(PathBuf),
}

/// Settings besides those that lie in files of their own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Settings {
    /// The settings themselves.
    Json(Map<String, Value>),
    /// A file that holds them.
    File(PathBuf),
}

/// Where settings are read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettingSource {
    /// The user's own.
    User,
    /// The folder's, shared by everybody who works in it.
    Project,
    /// The folder's, for this user only.
    Local,
}

impl SettingSource {
    /// The CLI's word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Project => "project",
            Self::Local => "local",
        }
    }
}

/// Who answers when the CLI wants to ask about a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PermissionPrompts {
    /// The host, over standard input and output.
    Host,
    /// Nobody: what would be asked is denied.
    Nobody,
    /// A tool of an MCP server (`mcp__server__tool`).
    Tool(String),
}

/// A plugin for this session only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Plugin {
    /// A folder or `.zip` file.
    Path(PathBuf),
    /// The same, without its MCP servers.
    WithoutMcp(PathBuf),
    /// The address of a `.zip` file.
    Url(String),
}

/// A git worktree that is made for the session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Worktree {
    /// The CLI names it.
    Unnamed,
    /// Its name.
    Named(String),
}

/// What the CLI writes about itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DebugFilter {
    /// Everything.
    All,
    /// Some categories: `api,hooks`, or all but some: `!file`.
    Categories(String),
}
