//! The flags of the CLI that [`Options`](crate::Options) covers: since when each is known, what it takes,
//! and whether `--help` shows it.
//!
//! Not what an option means, and not the flags that only a terminal needs. The one rule it keeps: this is
//! the only table of flags, and every row was answered by the CLIs themselves, which a test asks again.

use crate::version::{MINIMUM_VERSION, Version};

/// A flag of the CLI.
#[derive(Debug, PartialEq, Eq)]
pub struct Flag {
    /// The flag with its dashes; for [`Form::Choice`] with its value.
    pub name: &'static str,
    /// Its other spelling.
    pub alias: Option<&'static str>,
    /// What it takes.
    pub form: Form,
    /// The oldest version that is known to take it. Versions between two that were asked may know it
    /// earlier than is said here, never later.
    pub since: Version,
    /// Whether `--help` shows it.
    pub listing: Listing,
}

/// What a flag takes. Every value is given as `--flag=value`: as a word of its own, one that begins with a
/// dash would be a flag to some of them, and lists would swallow the words behind them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Nothing: `--flag`.
    Switch,
    /// One value: `--flag=value`.
    Value,
    /// One value or none: `--flag=value` or `--flag`.
    Optional,
    /// Any number of values, each with the flag again: `--flag=one --flag=two`.
    List,
    /// A value of another flag that came later than that flag.
    Choice,
}

/// Whether `--help` shows a flag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listing {
    /// Every version that knows it shows it.
    Shown,
    /// Accepted, but not shown.
    Hidden,
}

impl Flag {
    /// Whether a version knows it.
    pub fn is_known_to(&self, version: Version) -> bool {
        self.since <= version
    }

    /// Whether this is how the flag is spelled.
    pub fn is_spelled(&self, name: &str) -> bool {
        self.name == name || self.alias == Some(name)
    }
}

/// The version at which the flags that [`MINIMUM_VERSION`] lacks were seen.
const LATER: Version = Version::new(2, 1, 325);

macro_rules! table {
    ($($constant:ident: $name:literal $(or $alias:literal)?, $form:ident, $since:ident, $listing:ident;)*) => {
        $(pub(crate) static $constant: Flag = Flag {
            name: $name,
            alias: table!(@alias $($alias)?),
            form: Form::$form,
            since: $since,
            listing: Listing::$listing,
        };)*

        /// Every flag.
        pub static TABLE: &[&Flag] = &[$(&$constant),*];
    };
    (@alias $alias:literal) => { Some($alias) };
    (@alias) => { None };
}

table! {
    // The stream itself.
    PRINT: "--print" or "-p", Switch, MINIMUM_VERSION, Shown;
    INPUT_FORMAT: "--input-format", Value, MINIMUM_VERSION, Shown;
    OUTPUT_FORMAT: "--output-format", Value, MINIMUM_VERSION, Shown;
    VERBOSE: "--verbose", Switch, MINIMUM_VERSION, Shown;
    INCLUDE_PARTIAL_MESSAGES: "--include-partial-messages", Switch, MINIMUM_VERSION, Shown;
    REPLAY_USER_MESSAGES: "--replay-user-messages", Switch, MINIMUM_VERSION, Shown;
    INCLUDE_HOOK_EVENTS: "--include-hook-events", Switch, MINIMUM_VERSION, Shown;
    FORWARD_SUBAGENT_TEXT: "--forward-subagent-text", Switch, LATER, Shown;
    PROMPT_SUGGESTIONS: "--prompt-suggestions", Optional, MINIMUM_VERSION, Shown;
    SESSION_MIRROR: "--session-mirror", Switch, MINIMUM_VERSION, Hidden;
    AWAIT_INITIALIZE: "--await-initialize", Switch, LATER, Hidden;
    DEBUG: "--debug", Optional, MINIMUM_VERSION, Shown;
    DEBUG_FILE: "--debug-file", Value, MINIMUM_VERSION, Shown;
    // The model, what it is told and what it may spend.
    MODEL: "--model", Value, MINIMUM_VERSION, Shown;
    FALLBACK_MODEL: "--fallback-model", Value, MINIMUM_VERSION, Shown;
    EFFORT: "--effort", Value, MINIMUM_VERSION, Shown;
    THINKING: "--thinking", Value, MINIMUM_VERSION, Hidden;
    MAX_THINKING_TOKENS: "--max-thinking-tokens", Value, MINIMUM_VERSION, Hidden;
    THINKING_DISPLAY: "--thinking-display", Value, MINIMUM_VERSION, Hidden;
    THINKING_HIGHLIGHTS: "--thinking-display=highlights", Choice, LATER, Hidden;
    BETAS: "--betas", List, MINIMUM_VERSION, Shown;
    SYSTEM_PROMPT: "--system-prompt", Value, MINIMUM_VERSION, Shown;
    SYSTEM_PROMPT_FILE: "--system-prompt-file", Value, MINIMUM_VERSION, Hidden;
    SYSTEM_PROMPT_SNAPSHOT: "--system-prompt-snapshot", Value, LATER, Shown;
    APPEND_SYSTEM_PROMPT: "--append-system-prompt", Value, MINIMUM_VERSION, Shown;
    APPEND_SYSTEM_PROMPT_FILE: "--append-system-prompt-file", Value, MINIMUM_VERSION, Hidden;
    APPEND_SUBAGENT_SYSTEM_PROMPT: "--append-subagent-system-prompt", Value, LATER, Hidden;
    APPEND_SUBAGENT_SYSTEM_PROMPT_FILE: "--append-subagent-system-prompt-file", Value, LATER, Hidden;
    EXCLUDE_DYNAMIC_SECTIONS: "--exclude-dynamic-system-prompt-sections", Switch, MINIMUM_VERSION, Shown;
    AGENT: "--agent", Value, MINIMUM_VERSION, Shown;
    AGENTS: "--agents", Value, MINIMUM_VERSION, Shown;
    JSON_SCHEMA: "--json-schema", Value, MINIMUM_VERSION, Shown;
    MAX_TURNS: "--max-turns", Value, MINIMUM_VERSION, Hidden;
    MAX_BUDGET_USD: "--max-budget-usd", Value, MINIMUM_VERSION, Shown;
    TASK_BUDGET: "--task-budget", Value, MINIMUM_VERSION, Hidden;
    // Tools, and who decides about them.
    PERMISSION_MODE: "--permission-mode", Value, MINIMUM_VERSION, Shown;
    PERMISSION_PROMPT_TOOL: "--permission-prompt-tool", Value, MINIMUM_VERSION, Hidden;
    PERMISSION_PROMPTS: "--permission-prompts", Value, LATER, Shown;
    ALLOW_BYPASS: "--allow-dangerously-skip-permissions", Switch, MINIMUM_VERSION, Shown;
    BYPASS: "--dangerously-skip-permissions", Switch, MINIMUM_VERSION, Shown;
    TOOLS: "--tools", List, MINIMUM_VERSION, Shown;
    ALLOWED_TOOLS: "--allowedTools" or "--allowed-tools", List, MINIMUM_VERSION, Shown;
    DISALLOWED_TOOLS: "--disallowedTools" or "--disallowed-tools", List, MINIMUM_VERSION, Shown;
    ADD_DIR: "--add-dir", List, MINIMUM_VERSION, Shown;
    MCP_CONFIG: "--mcp-config", List, MINIMUM_VERSION, Shown;
    STRICT_MCP_CONFIG: "--strict-mcp-config", Switch, MINIMUM_VERSION, Shown;
    PLUGIN_DIR: "--plugin-dir", List, MINIMUM_VERSION, Shown;
    PLUGIN_DIR_NO_MCP: "--plugin-dir-no-mcp", List, MINIMUM_VERSION, Hidden;
    PLUGIN_URL: "--plugin-url", List, MINIMUM_VERSION, Shown;
    CHANNELS: "--channels", List, MINIMUM_VERSION, Hidden;
    DISABLE_SLASH_COMMANDS: "--disable-slash-commands", Switch, MINIMUM_VERSION, Shown;
    // What the folder and the machine add.
    SETTINGS: "--settings", Value, MINIMUM_VERSION, Shown;
    SETTING_SOURCES: "--setting-sources", Value, MINIMUM_VERSION, Shown;
    MANAGED_SETTINGS: "--managed-settings", Value, MINIMUM_VERSION, Hidden;
    PROJECT_CONFIG_ROOT: "--project-config-root", Value, LATER, Hidden;
    BARE: "--bare", Switch, MINIMUM_VERSION, Shown;
    SAFE_MODE: "--safe-mode", Switch, MINIMUM_VERSION, Shown;
    RESTRICTED: "--restricted", Switch, LATER, Shown;
    // The conversation.
    SESSION_ID: "--session-id", Value, MINIMUM_VERSION, Shown;
    RESUME: "--resume" or "-r", Optional, MINIMUM_VERSION, Shown;
    CONTINUE: "--continue" or "-c", Switch, MINIMUM_VERSION, Shown;
    FORK_SESSION: "--fork-session", Switch, MINIMUM_VERSION, Shown;
    RESUME_SESSION_AT: "--resume-session-at", Value, MINIMUM_VERSION, Hidden;
    RESUME_DROPS_TURN: "--resume-drops-turn", Value, LATER, Hidden;
    NO_SESSION_PERSISTENCE: "--no-session-persistence", Switch, MINIMUM_VERSION, Shown;
    NAME: "--name" or "-n", Value, MINIMUM_VERSION, Shown;
    WORKTREE: "--worktree" or "-w", Optional, MINIMUM_VERSION, Shown;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_flag_is_listed_twice() {
        for (index, flag) in TABLE.iter().enumerate() {
            let twins = TABLE[..index].iter().filter(|other| {
                other.is_spelled(flag.name) || flag.alias.is_some_and(|alias| other.is_spelled(alias))
            });
            assert_eq!(twins.count(), 0, "{}", flag.name);
        }
    }
}
