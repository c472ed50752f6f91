//! The init line and the slash commands.
//!
//! Not a start-up signal: it comes at the start of every turn and its content changes. The rule:
//! lists replace, they never add.

use serde::Deserialize;

use super::line;
use crate::lenient;
use crate::permission::PermissionMode;
use crate::raw::Raw;

line! {
    /// The state of the CLI at the start of a turn.
    pub struct Init {
        /// The working directory.
        pub cwd: String,
        /// The model's tools; `Task` stands for the tool the model knows as `Agent`.
        #[serde(default, deserialize_with = "lenient::or_default")]
        pub tools: Vec<String>,
        /// The MCP servers.
        #[serde(default, deserialize_with = "lenient::or_default")]
        pub mcp_servers: Vec<McpServerState>,
        /// The model.
        pub model: String,
        /// The permission mode.
        #[serde(rename = "permissionMode")]
        pub permission_mode: Option<PermissionMode>,
        /// The slash commands' names.
        #[serde(default, deserialize_with = "lenient::or_default")]
        pub slash_commands: Vec<String>,
        /// Where the API key came from.
        #[serde(rename = "apiKeySource")]
        pub api_key_source: Option<String>,
        /// The CLI's version.
        pub claude_code_version: Option<String>,
        /// The output style.
        pub output_style: Option<String>,
        /// The subagents' names.
        #[serde(default, deserialize_with = "lenient::or_default")]
        pub agents: Vec<String>,
        /// The skills' names.
        #[serde(default, deserialize_with = "lenient::or_default")]
        pub skills: Vec<String>,
        /// The plugins.
        #[serde(default, deserialize_with = "lenient::or_default")]
        pub plugins: Vec<Plugin>,
        /// Plugins that failed, unread (newer CLIs).
        pub plugin_errors: Option<Raw>,
        /// What this CLI can do (newer CLIs).
        #[serde(default, deserialize_with = "lenient::or_default")]
        pub capabilities: Vec<String>,
        /// API betas in use (newer CLIs).
        #[serde(default, deserialize_with = "lenient::or_default")]
        pub betas: Vec<String>,
        /// Slash commands that need a terminal (newer CLIs).
        #[serde(default, deserialize_with = "lenient::or_default")]
        pub terminal_slash_commands: Vec<String>,
        /// Fast mode.
        pub fast_mode_state: Option<String>,
        /// The effort level (newer CLIs).
        pub effort: Option<String>,
        /// The view mode (newer CLIs).
        pub view_mode: Option<String>,
        /// Where memories are, unread.
        pub memory_paths: Option<Raw>,
        /// The directory the CLI was started in (newer CLIs).
        pub original_cwd: Option<String>,
        /// Further directories (newer CLIs).
        #[serde(default, deserialize_with = "lenient::or_default")]
        pub additional_directories: Vec<String>,
        /// Whether analytics are off.
        pub analytics_disabled: Option<bool>,
        /// Whether feedback is off.
        pub product_feedback_disabled: Option<bool>,
    }
}

/// An MCP server and how it is.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct McpServerState {
    /// Its name.
    pub name: String,
    /// `connected`, `pending`, `failed`, `disabled`, `needs-auth`.
    pub status: String,
    /// Where it is configured (newer CLIs).
    pub source: Option<String>,
}

/// A plugin.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Plugin {
    /// Its name.
    pub name: String,
    /// Where it is.
    pub path: Option<String>,
    /// Where it came from.
    pub source: Option<String>,
    /// Its version.
    pub version: Option<String>,
}

line! {
    /// The slash commands, all of them.
    pub struct CommandsChanged {
        /// The commands.
        #[serde(default, deserialize_with = "lenient::or_default")]
        pub commands: Vec<SlashCommand>,
    }
}

/// A slash command.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct SlashCommand {
    /// Its name, without the slash.
    pub name: String,
    /// What it does.
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub description: String,
    /// What may follow it.
    #[serde(default, rename = "argumentHint", deserialize_with = "lenient::or_default")]
    pub argument_hint: String,
    /// Its other names.
    #[serde(default, deserialize_with = "lenient::or_default")]
    pub aliases: Vec<String>,
    /// Whether it is the CLI's own (newer CLIs).
    pub builtin: Option<bool>,
}
