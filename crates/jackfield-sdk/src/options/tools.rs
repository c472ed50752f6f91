//! Tools, where they come from, and who decides about their calls.
//!
//! The rules are the CLI's; nothing is decided here. The one rule it keeps: one call names one thing, so
//! that no separator in a name can make two of it.

use std::path::PathBuf;

use jackfield_core::session::Bypass;
use jackfield_wire::{McpServer, PermissionMode};

use super::{Options, PermissionPrompts, Plugin, Switch};

impl Options {
    /// The permission mode to start in. `bypassPermissions` needs [`Options::allow_bypass`] too.
    #[must_use]
    pub fn permission_mode(mut self, mode: PermissionMode) -> Self {
        self.permission_mode = Some(mode);
        self
    }

    /// Who answers when the CLI wants to ask about a tool; the host by default.
    #[must_use]
    pub fn permission_prompts(mut self, prompts: PermissionPrompts) -> Self {
        self.permission_prompts = prompts;
        self
    }

    /// Lets the session enter `bypassPermissions`, now or later. As root the CLI refuses this outside a
    /// sandbox (`IS_SANDBOX=1`).
    #[must_use]
    pub fn allow_bypass(mut self) -> Self {
        self.bypass = Bypass::Allowed;
        self
    }

    /// The built-in tools that exist; none for an empty list, the CLI's default set if never called.
    #[must_use]
    pub fn tools<Name: Into<String>>(mut self, names: impl IntoIterator<Item = Name>) -> Self {
        self.tools = Some(names.into_iter().map(Into::into).collect());
        self
    }

    /// A rule for calls that run without being asked about: `Edit`, `Bash(git log *)`, `mcp__server__tool`;
    /// each call adds one.
    #[must_use]
    pub fn allow_tool(mut self, rule: impl Into<String>) -> Self {
        self.allowed_tools.push(rule.into());
        self
    }

    /// A rule for calls that never run; a rule that is only a name takes the tool away. Each call adds one.
    #[must_use]
    pub fn disallow_tool(mut self, rule: impl Into<String>) -> Self {
        self.disallowed_tools.push(rule.into());
        self
    }

    /// A directory besides the working directory that tools may reach; each call adds one.
    #[must_use]
    pub fn add_directory(mut self, path: impl Into<PathBuf>) -> Self {
        self.directories.push(path.into());
        self
    }

    /// An MCP server by name; each call adds one. Its definition is part of the command line, which other
    /// users of the machine may read: keep secrets in the environment and name them as `${NAME}`.
    #[must_use]
    pub fn mcp_server(mut self, name: impl Into<String>, server: McpServer) -> Self {
        self.mcp_servers.0.insert(name.into(), server);
        self
    }

    /// A file that defines MCP servers; each call adds one.
    #[must_use]
    pub fn mcp_config_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.mcp_files.push(path.into());
        self
    }

    /// Whether only the MCP servers of these options exist. Always on in a folder that is not trusted.
    #[must_use]
    pub fn strict_mcp(mut self, strict: Switch) -> Self {
        self.strict_mcp = strict;
        self
    }

    /// A plugin for this session only; each call adds one.
    #[must_use]
    pub fn plugin(mut self, plugin: Plugin) -> Self {
        self.plugins.push(plugin);
        self
    }

    /// An MCP server or plugin that may send messages by itself (`server:name`, `plugin:name@marketplace`);
    /// each call adds one.
    #[must_use]
    pub fn channel(mut self, channel: impl Into<String>) -> Self {
        self.channels.push(channel.into());
        self
    }

    /// Whether prompts that begin with `/` are commands and skills. On by default.
    #[must_use]
    pub fn slash_commands(mut self, commands: Switch) -> Self {
        self.slash_commands = commands;
        self
    }
}
