//! What the CLI answers to the host's requests, where the payload has a known shape.
//!
//! The line itself is a `ControlResponse`; which request it answers is the caller's knowledge.
//! The rule: nothing is required, because payloads differ between versions and may be absent.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::control::ControlSuccess;
use crate::ids::Uuid;
use crate::lenient;
use crate::permission::PermissionMode;
use crate::raw::Raw;
use crate::system::SlashCommand;

impl ControlSuccess {
    /// Reads the payload as the answer to a request; an absent one is an empty object.
    pub fn answer<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_str(self.response.as_ref().map_or("{}", Raw::get))
    }
}

macro_rules! answers {
    ($($(#[$meta:meta])* $name:ident { $($(#[$field_meta:meta])* $field:ident: $type:ty,)* })*) => {
        $(
            $(#[$meta])*
            #[derive(Debug, Clone, PartialEq, Default, Deserialize)]
            pub struct $name {
                $(
                    $(#[$field_meta])*
                    #[serde(default, deserialize_with = "lenient::or_default")]
                    pub $field: $type,
                )*
            }
        )*
    };
}

answers! {
    /// To `initialize`.
    InitializeAnswer {
        /// The slash commands.
        commands: Vec<SlashCommand>,
        /// The subagents.
        agents: Vec<AgentSummary>,
        /// The output style.
        output_style: Option<String>,
        /// All output styles.
        available_output_styles: Vec<String>,
        /// The models.
        models: Vec<ModelSummary>,
        /// The account.
        account: Option<Account>,
        /// The CLI's process.
        pid: Option<u32>,
        /// The CLI's version (newer CLIs).
        claude_code_version: Option<String>,
        /// The permission mode (newer CLIs).
        current_permission_mode: Option<PermissionMode>,
        /// The session's state (newer CLIs).
        session_state: Option<String>,
        /// What this CLI can do (newer CLIs).
        capabilities: Vec<String>,
        /// Fast mode (newer CLIs).
        fast_mode_state: Option<String>,
        /// Whether the hooks were taken, unread (newer CLIs).
        hooks_applied: Option<Raw>,
    }
    /// A subagent.
    AgentSummary {
        /// Its name.
        name: String,
        /// When to use it.
        description: String,
        /// Its model.
        model: Option<String>,
    }
    /// A model.
    ModelSummary {
        /// What `set_model` takes.
        value: String,
        /// The model it stands for.
        #[serde(rename = "resolvedModel")]
        resolved_model: Option<String>,
        /// The name to show.
        #[serde(rename = "displayName")]
        display_name: String,
        /// What it is good for.
        description: String,
        /// Whether effort can be set.
        #[serde(rename = "supportsEffort")]
        supports_effort: bool,
        /// The levels of effort.
        #[serde(rename = "supportedEffortLevels")]
        supported_effort_levels: Vec<String>,
        /// Whether it decides itself how much to think.
        #[serde(rename = "supportsAdaptiveThinking")]
        supports_adaptive_thinking: bool,
        /// Whether it has a fast mode.
        #[serde(rename = "supportsFastMode")]
        supports_fast_mode: bool,
        /// Whether it has an auto mode.
        #[serde(rename = "supportsAutoMode")]
        supports_auto_mode: bool,
    }
    /// The account.
    Account {
        /// Its address.
        email: Option<String>,
        /// Its organisation.
        organization: Option<String>,
        /// Its subscription.
        #[serde(rename = "subscriptionType")]
        subscription_type: Option<String>,
        /// Where the token came from.
        #[serde(rename = "tokenSource")]
        token_source: Option<String>,
        /// Where the API key came from.
        #[serde(rename = "apiKeySource")]
        api_key_source: Option<String>,
        /// Who serves the API.
        #[serde(rename = "apiProvider")]
        api_provider: Option<String>,
    }
    /// To `interrupt`; older CLIs send nothing.
    InterruptAnswer {
        /// Prompts that are still queued.
        still_queued: Vec<Uuid>,
        /// Prompts that were dropped.
        cancelled: Vec<Uuid>,
    }
    /// To `set_permission_mode`.
    SetModeAnswer {
        /// The mode.
        mode: Option<PermissionMode>,
    }
    /// To `set_model`; older CLIs send nothing.
    SetModelAnswer {
        /// The model.
        model: Option<String>,
    }
    /// To `mcp_status`.
    McpStatusAnswer {
        /// The servers.
        #[serde(rename = "mcpServers")]
        servers: Vec<McpServerStatus>,
    }
    /// An MCP server.
    McpServerStatus {
        /// Its name.
        name: String,
        /// `connected`, `pending`, `failed`, `disabled`, `needs-auth`.
        status: String,
        /// Why it failed.
        error: Option<String>,
        /// Where it is configured.
        scope: Option<String>,
        /// What it says about itself, unread.
        #[serde(rename = "serverInfo")]
        server_info: Option<Raw>,
        /// How it is reached, unread; may hold secrets.
        config: Option<Raw>,
        /// Its tools.
        tools: Vec<McpToolSummary>,
    }
    /// An MCP tool.
    McpToolSummary {
        /// Its name.
        name: String,
        /// What it does.
        description: Option<String>,
        /// What it says about itself, unread.
        annotations: Option<Raw>,
    }
    /// To `mcp_set_servers`.
    McpSetServersAnswer {
        /// Servers that are new.
        added: Vec<String>,
        /// Servers that are gone.
        removed: Vec<String>,
        /// Servers that failed, and why.
        errors: BTreeMap<String, String>,
    }
    /// To `rewind_files`; a dry run reports its failure here, the real one as an error.
    RewindFilesAnswer {
        /// Whether it can be done (or was).
        #[serde(rename = "canRewind")]
        can_rewind: bool,
        /// Why not.
        error: Option<String>,
        /// The files.
        #[serde(rename = "filesChanged")]
        files_changed: Vec<String>,
        /// Lines that come back.
        insertions: Option<u64>,
        /// Lines that go.
        deletions: Option<u64>,
    }
    /// To `cancel_async_message`.
    CancelAsyncMessageAnswer {
        /// Whether the prompt was still queued, and is gone.
        cancelled: bool,
    }
    /// To `background_tasks`.
    BackgroundTasksAnswer {
        /// Whether anything was moved.
        backgrounded: Option<bool>,
    }
    /// To `get_context_usage`; what a page draws from it stays unread.
    ContextUsageAnswer {
        /// What fills the window.
        categories: Vec<ContextCategory>,
        /// Tokens in use.
        #[serde(rename = "totalTokens")]
        total_tokens: Option<u64>,
        /// Tokens there are, less what is set aside.
        #[serde(rename = "maxTokens")]
        max_tokens: Option<u64>,
        /// Tokens there are.
        #[serde(rename = "rawMaxTokens")]
        raw_max_tokens: Option<u64>,
        /// How full it is.
        percentage: Option<f64>,
        /// The model.
        model: Option<String>,
    }
    /// A part of the context window.
    ContextCategory {
        /// Its name.
        name: String,
        /// Its tokens.
        tokens: u64,
        /// Its colour.
        color: Option<String>,
    }
    /// To `get_settings`.
    SettingsAnswer {
        /// The settings in effect, unread.
        effective: Option<Raw>,
        /// Where they come from, unread.
        sources: Option<Raw>,
        /// What was made of them, unread.
        applied: Option<Raw>,
        /// What was wrong with them, unread.
        errors: Option<Raw>,
    }
    /// To `read_file`.
    ReadFileAnswer {
        /// The contents.
        contents: String,
        /// The file.
        #[serde(rename = "absPath")]
        absolute_path: Option<String>,
        /// Whether there is more.
        truncated: bool,
        /// How the contents are written.
        encoding: Option<String>,
    }
    /// To `file_suggestions`.
    FileSuggestionsAnswer {
        /// The files.
        suggestions: Vec<FileSuggestion>,
    }
    /// A file to mention.
    FileSuggestion {
        /// The file.
        path: String,
    }
    /// To `get_binary_version`.
    BinaryVersionAnswer {
        /// The version.
        version: Option<String>,
        /// When it was built.
        #[serde(rename = "buildTime")]
        build_time: Option<String>,
    }
    /// To `get_session_cost`.
    SessionCostAnswer {
        /// The cost as text.
        text: String,
    }
    /// To `list_models` (newer CLIs).
    ListModelsAnswer {
        /// The models.
        models: Vec<ModelSummary>,
    }
    /// To `get_task_output` (newer CLIs).
    TaskOutputAnswer {
        /// The output.
        output: String,
        /// How much there is.
        total_bytes: Option<u64>,
        /// Whether there is more.
        truncated: bool,
    }
    /// To `generate_session_title`.
    TitleAnswer {
        /// The title, if one was made.
        title: Option<String>,
    }
    /// To `side_question`.
    SideQuestionAnswer {
        /// The answer.
        response: Option<String>,
        /// Whether the CLI made it up.
        synthetic: Option<bool>,
    }
    /// To `register_repo_root`.
    DirectoryAnswer {
        /// The directory.
        directory: Option<String>,
    }
}
