//! The `initialize` request: what the host offers and wants.
//!
//! It is optional and may be repeated [control/initialize]. The rule: what is not said is not
//! written, so an older CLI sees only what it knows.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::hook_input::HookEvent;
use crate::ids::CallbackId;
use crate::raw::{Object, Raw};

/// What the host offers and wants.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Initialize {
    /// Hook callbacks, by event.
    // Older SDKs send null [control/initialize_null_hooks].
    #[serde(deserialize_with = "crate::lenient::or_default", skip_serializing_if = "BTreeMap::is_empty")]
    pub hooks: BTreeMap<HookEvent, Vec<HookMatcher>>,
    /// MCP servers in the host itself.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sdk_mcp_servers: Vec<String>,
    /// Their settings (newer CLIs).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sdk_mcp_server_configs: Option<Object>,
    /// Their handshakes in advance, by name (newer CLIs).
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub sdk_mcp_server_manifests: BTreeMap<String, McpManifest>,
    /// The schema of the structured output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub json_schema: Option<Object>,
    /// The system prompt, in place of the CLI's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_prompt: Option<Vec<String>>,
    /// Text after the system prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub append_system_prompt: Option<String>,
    /// A system prompt as it was, unread (newer CLIs).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_prompt_snapshot: Option<Raw>,
    /// Instructions for plan mode.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan_mode_instructions: Option<String>,
    /// Other names for tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_aliases: Option<Object>,
    /// Whether what changes from machine to machine is left out of the system prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exclude_dynamic_sections: Option<bool>,
    /// Subagents, by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub agents: BTreeMap<String, AgentDefinition>,
    /// The session's title.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The skills to offer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skills: Option<Vec<String>>,
    /// Whether to suggest prompts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt_suggestions: Option<bool>,
    /// Whether subagents sum up what they do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_progress_summaries: Option<bool>,
    /// Whether subagents' text and thinking are sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forward_subagent_text: Option<bool>,
    /// The dialogs the host can show.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub supported_dialog_kinds: Option<Vec<String>>,
    /// Whether the host can stop single tasks (newer CLIs).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per_task_stop_affordance: Option<bool>,
    /// Plugins, unread; only with `--await-initialize` (newer CLIs).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plugins: Option<Raw>,
}

/// Which callbacks are run, and for what.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HookMatcher {
    /// A JavaScript regular expression on the tool's name; all when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub matcher: Option<String>,
    /// The callbacks; all of them are run at once.
    pub hook_callback_ids: Vec<CallbackId>,
    /// How long the CLI waits, in seconds; afterwards the tool does not run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<u64>,
    /// `continue` or `block` when a callback fails (newer CLIs).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_failure: Option<String>,
}

/// An MCP server's handshake in advance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct McpManifest {
    /// The answer to its `initialize`.
    pub initialize_result: Object,
    /// The answer to its `tools/list`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools_list_result: Option<Object>,
}

/// A subagent.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AgentDefinition {
    /// When to use it.
    pub description: String,
    /// Its system prompt.
    pub prompt: String,
    /// Its tools; all when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
    /// Tools it must not use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disallowed_tools: Option<Vec<String>>,
    /// Its model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}
