//! How a session is started: a builder over everything the CLI and this crate can be told beforehand.
//!
//! Not the command line (that is [`command_line`](mod@crate::command_line)) and not the environment. The one
//! rule it keeps: a builder takes anything; what does not fit together, or not to the installed version, is
//! a typed error before anything is spawned.

mod conversation;
mod folder;
mod host;
mod instructions;
mod tools;
mod values;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::num::{NonZeroU32, NonZeroU64};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use jackfield_api::{Seq, TurnNumber};
use jackfield_core::session::Bypass;
use jackfield_wire::{DEFAULT_LINE_LIMIT, McpServer, PermissionMode, SessionId, Uuid};
use serde_json::{Map, Value};

use crate::basket::Basket;
use crate::journal::Journal;
use crate::tail::RawTail;
pub use values::{
    DebugFilter, Effort, PermissionPrompts, Plugin, Prompt, SettingSource, Settings, Switch, Thinking,
    ThinkingDisplay, Trust, Worktree,
};

/// How a session is started.
///
/// Partial messages, the replay of user messages, permission prompts to the host, session-state events and
/// file checkpoints are on, and the folder is not trusted, unless an option says otherwise.
///
/// ```
/// use jackfield_sdk::{Effort, Options, Trust};
///
/// let options = Options::new("/home/me/project")
///     .trust(Trust::Trusted)
///     .model("opus")
///     .effort(Effort::High)
///     .allow_tool("Bash(git log *)");
/// # let _ = options;
/// ```
#[derive(Debug, Clone)]
pub struct Options {
    pub(crate) cwd: PathBuf,
    // instructions
    pub(crate) model: Option<String>,
    pub(crate) fallback_models: Vec<String>,
    pub(crate) effort: Option<Effort>,
    pub(crate) thinking: Option<Thinking>,
    pub(crate) max_thinking_tokens: Option<u32>,
    pub(crate) thinking_display: Option<ThinkingDisplay>,
    pub(crate) betas: Vec<String>,
    pub(crate) system_prompt: Option<Prompt>,
    pub(crate) append_system_prompt: Option<Prompt>,
    pub(crate) append_subagent_system_prompt: Option<Prompt>,
    pub(crate) system_prompt_snapshot: Option<Switch>,
    pub(crate) dynamic_sections: Switch,
    pub(crate) agent: Option<String>,
    pub(crate) agents: Option<Map<String, Value>>,
    pub(crate) json_schema: Option<Map<String, Value>>,
    pub(crate) max_turns: Option<NonZeroU32>,
    pub(crate) max_budget_usd: Option<f64>,
    pub(crate) task_budget: Option<NonZeroU64>,
    // tools
    pub(crate) permission_mode: Option<PermissionMode>,
    pub(crate) permission_prompts: PermissionPrompts,
    pub(crate) bypass: Bypass,
    pub(crate) tools: Option<Vec<String>>,
    pub(crate) allowed_tools: Vec<String>,
    pub(crate) disallowed_tools: Vec<String>,
    pub(crate) directories: Vec<PathBuf>,
    pub(crate) mcp_servers: Named<String, McpServer>,
    pub(crate) mcp_files: Vec<PathBuf>,
    pub(crate) strict_mcp: Switch,
    pub(crate) plugins: Vec<Plugin>,
    pub(crate) channels: Vec<String>,
    pub(crate) slash_commands: Switch,
    // folder
    pub(crate) trust: Trust,
    pub(crate) settings: Option<Settings>,
    pub(crate) setting_sources: Option<Vec<SettingSource>>,
    pub(crate) managed_settings: Option<Map<String, Value>>,
    pub(crate) project_config_root: Option<PathBuf>,
    pub(crate) bare: Switch,
    pub(crate) safe_mode: Switch,
    pub(crate) restricted: Switch,
    // conversation
    pub(crate) session_id: Option<SessionId>,
    pub(crate) resume: Option<SessionId>,
    pub(crate) continue_latest: Switch,
    pub(crate) fork: Switch,
    pub(crate) resume_at: Option<Uuid>,
    pub(crate) resume_drops_turn: Option<Uuid>,
    pub(crate) persistence: Switch,
    pub(crate) name: Option<String>,
    pub(crate) worktree: Option<Worktree>,
    // host
    pub(crate) partial_messages: Switch,
    pub(crate) replay_user_messages: Switch,
    pub(crate) hook_events: Switch,
    pub(crate) subagent_text: Switch,
    pub(crate) prompt_suggestions: Option<Switch>,
    pub(crate) session_mirror: Switch,
    pub(crate) await_initialize: Switch,
    pub(crate) session_state_events: Switch,
    pub(crate) file_checkpoints: Switch,
    pub(crate) file_changes: Switch,
    pub(crate) debug: Option<DebugFilter>,
    pub(crate) debug_file: Option<PathBuf>,
    pub(crate) extra_flags: Vec<(String, Option<OsString>)>,
    /// Variables to set, and without a value to remove.
    pub(crate) variables: Named<OsString, Option<OsString>>,
    pub(crate) claude: Option<PathBuf>,
    pub(crate) first_arguments: Vec<OsString>,
    pub(crate) part_of: Option<PartOf>,
    pub(crate) guard: Option<Vec<OsString>>,
    pub(crate) answer_within: Option<Duration>,
    /// Decided by [`Options::part_of`] unless it is given.
    pub(crate) resume_wedged: Option<Switch>,
    pub(crate) line_limit: usize,
    pub(crate) transcript: Switch,
    pub(crate) locks: Option<PathBuf>,
    pub(crate) raw_tail: Option<Arc<RawTail>>,
    pub(crate) basket: Option<Arc<Basket>>,
    pub(crate) journal: Option<Arc<dyn Journal>>,
}

/// The session of a host that a run is part of: its events go on where those of earlier runs ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartOf {
    /// The host's own id of the session.
    pub session_id: jackfield_api::SessionId,
    /// The number of the run's first event.
    pub next_seq: Seq,
    /// The last turn that there was.
    pub last_turn: Option<TurnNumber>,
}

/// Values that may be secrets, by name; only the names are printed.
#[derive(Clone)]
pub(crate) struct Named<Name, Value>(pub(crate) BTreeMap<Name, Value>);

impl Options {
    /// A new session in a folder. Relative paths in other options are relative to this folder.
    pub fn new(cwd: impl Into<PathBuf>) -> Self {
        Self {
            cwd: cwd.into(),
            model: None,
            fallback_models: Vec::new(),
            effort: None,
            thinking: None,
            max_thinking_tokens: None,
            thinking_display: None,
            betas: Vec::new(),
            system_prompt: None,
            append_system_prompt: None,
            append_subagent_system_prompt: None,
            system_prompt_snapshot: None,
            dynamic_sections: Switch::On,
            agent: None,
            agents: None,
            json_schema: None,
            max_turns: None,
            max_budget_usd: None,
            task_budget: None,
            permission_mode: None,
            permission_prompts: PermissionPrompts::Host,
            bypass: Bypass::Forbidden,
            tools: None,
            allowed_tools: Vec::new(),
            disallowed_tools: Vec::new(),
            directories: Vec::new(),
            mcp_servers: Named(BTreeMap::new()),
            mcp_files: Vec::new(),
            strict_mcp: Switch::Off,
            plugins: Vec::new(),
            channels: Vec::new(),
            slash_commands: Switch::On,
            trust: Trust::Untrusted,
            settings: None,
            setting_sources: None,
            managed_settings: None,
            project_config_root: None,
            bare: Switch::Off,
            safe_mode: Switch::Off,
            restricted: Switch::Off,
            session_id: None,
            resume: None,
            continue_latest: Switch::Off,
            fork: Switch::Off,
            resume_at: None,
            resume_drops_turn: None,
            persistence: Switch::On,
            name: None,
            worktree: None,
            partial_messages: Switch::On,
            replay_user_messages: Switch::On,
            hook_events: Switch::Off,
            subagent_text: Switch::Off,
            prompt_suggestions: None,
            session_mirror: Switch::Off,
            await_initialize: Switch::Off,
            session_state_events: Switch::On,
            file_checkpoints: Switch::On,
            file_changes: Switch::On,
            debug: None,
            debug_file: None,
            extra_flags: Vec::new(),
            variables: Named(BTreeMap::new()),
            claude: None,
            first_arguments: Vec::new(),
            part_of: None,
            guard: None,
            answer_within: None,
            resume_wedged: None,
            line_limit: DEFAULT_LINE_LIMIT,
            transcript: Switch::On,
            locks: None,
            raw_tail: None,
            basket: None,
            journal: None,
        }
    }
}

impl<Name: fmt::Debug, Value> fmt::Debug for Named<Name, Value> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_set().entries(self.0.keys()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_may_be_secret_are_not_printed() {
        let headers = [("Authorization".to_owned(), "Bearer canary".to_owned())].into();
        let server = McpServer::Http { url: "https://tools.example".to_owned(), headers };
        let options = Options::new("/ws").variable("ANTHROPIC_API_KEY", "canary").mcp_server("tools", server);
        let printed = format!("{options:?}");
        assert!(printed.contains("ANTHROPIC_API_KEY") && printed.contains("tools"), "{printed}");
        assert!(!printed.contains("canary"), "{printed}");
    }
}
