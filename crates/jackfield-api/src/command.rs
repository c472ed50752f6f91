//! What a client asks of a host. Each command is answered once: accepted, or rejected with a reason.
//!
//! A command changes nothing by itself. It makes the host write to the CLI, and what comes of that is told
//! by events.

mod reply;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::id::{Fingerprint, PendingId, SessionId, TaskId, ToolCallId, TurnNumber, Uuid};
use crate::json::Json;
use crate::permission::Remember;
use crate::session::{Priority, SessionOrigin};
use crate::tagged::by_tag;

pub use reply::{Created, Done, Rejection, RejectionCode, Reply, Told};

macro_rules! commands {
    ($($text:literal => #[doc = $doc:literal] $variant:ident),+ $(,)?) => {
        /// Everything a client can ask.
        #[derive(Debug, Clone, PartialEq, Serialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
        #[serde(tag = "type")]
        pub enum Command {
            $(#[doc = $doc] #[serde(rename = $text)] $variant(Box<$variant>)),+
        }
        by_tag!(Command, "type", { $($text => $variant),+ });
        $(impl From<$variant> for Command {
            fn from(command: $variant) -> Self {
                Self::$variant(Box::new(command))
            }
        })+
    };
}

commands! {
    "create_session" => #[doc = "Begins a session."] CreateSession,
    "prompt" => #[doc = "Says something to the model."] Prompt,
    "edit_queued" => #[doc = "Changes a prompt that still waits."] EditQueued,
    "cancel_queued" => #[doc = "Takes back a prompt that still waits."] CancelQueued,
    "reorder_queued" => #[doc = "Puts prompts that still wait into another order."] ReorderQueued,
    "interrupt" => #[doc = "Stops the running turn."] Interrupt,
    "answer" => #[doc = "Answers an open question."] Answer,
    "set_mode" => #[doc = "Sets the permission mode."] SetMode,
    "set_model" => #[doc = "Sets the model."] SetModel,
    "set_thinking" => #[doc = "Sets how much the model may think."] SetThinking,
    "set_effort" => #[doc = "Sets how much effort the model makes."] SetEffort,
    "rewind" => #[doc = "Takes files, the conversation or both back to an earlier prompt."] Rewind,
    "retry" => #[doc = "Runs a failed turn again, from the last good message."] Retry,
    "fork" => #[doc = "Begins a session with a copy of this conversation."] Fork,
    "stop_task" => #[doc = "Stops a subagent or a command in the background."] StopTask,
    "background" => #[doc = "Lets what runs go on in the background."] Background,
    "mcp" => #[doc = "Asks for or changes the MCP servers."] Mcp,
    "rename" => #[doc = "Gives the session a title."] Rename,
    "archive" => #[doc = "Puts the session out of the way, or back."] Archive,
    "close" => #[doc = "Ends the session's run."] Close,
    "delete" => #[doc = "Ends the session and removes it from the host."] Delete,
    "import" => #[doc = "Takes conversations of the CLI's own history into the host."] Import,
    "set_budget" => #[doc = "Sets what the session may cost."] SetBudget,
    "set_directories" => #[doc = "Sets which folders tools may reach besides the session's own."] SetDirectories,
}

/// Begins a session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct CreateSession {
    /// The folder to work in.
    pub cwd: String,
    /// Who answers; the CLI if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<Agent>,
    /// Its title; the first prompt gives one if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The model; the CLI's default if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// How much effort the model makes, as the CLI names it: `low`, `medium`, `high`, …
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<String>,
    /// The permission mode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permission_mode: Option<String>,
    /// Thinking tokens at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_thinking_tokens: Option<u64>,
    /// Folders that tools may reach besides the session's own; absolute paths.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub directories: Vec<String>,
    /// MCP servers, as the CLI's configuration names them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mcp_servers: Option<Json>,
    /// The shape of its answers, as JSON Schema; they come as `structured_output`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub json_schema: Option<Json>,
    /// What the session may cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_budget_usd: Option<f64>,
    /// Whether the folder is trusted for this session, with what it brings now: its own hooks, MCP servers and
    /// settings take part in a run as long as they are these. What is remembered of the folder does not change;
    /// a folder that is trusted for all sessions needs nothing here.
    #[serde(default)]
    pub trusted: bool,
    /// What the folder brought when a person was shown it. With `trusted`, the session is not made if it brings
    /// something else by now; if absent, what it brings now is taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<Fingerprint>,
    /// Whether it begins anew, goes on or copies.
    pub origin: SessionOrigin,
    /// The host's session to go on from or copy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<SessionId>,
    /// The CLI session to go on from or copy, where the host has none of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cli_session_id: Option<String>,
    /// The message to go on from; the last if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resume_at: Option<Uuid>,
}

impl CreateSession {
    /// A new session in a folder, with nothing else said.
    pub fn new(cwd: impl Into<String>) -> Self {
        Self {
            cwd: cwd.into(),
            agent: None,
            title: None,
            model: None,
            effort: None,
            permission_mode: None,
            max_thinking_tokens: None,
            directories: Vec::new(),
            mcp_servers: None,
            json_schema: None,
            max_budget_usd: None,
            trusted: false,
            fingerprint: None,
            origin: SessionOrigin::New,
            from: None,
            cli_session_id: None,
            resume_at: None,
        }
    }
}

/// Who answers in a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "snake_case")]
#[derive(Default)]
pub enum Agent {
    /// The Claude Code CLI.
    #[default]
    Claude,
    /// The built-in scripted one, which needs neither an account nor the CLI.
    Demo,
}

/// Says something to the model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[derive(Eq)]
pub struct Prompt {
    /// The prompt's name, chosen by the client, new for every prompt.
    pub uuid: Uuid,
    /// What is said; not empty.
    pub content: Vec<Content>,
    /// What to do if a turn runs.
    pub priority: Priority,
}

/// A part of a prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Content {
    /// Words.
    Text {
        /// The words.
        text: String,
    },
    /// A picture.
    Image {
        /// `image/png`, `image/jpeg`, `image/gif` or `image/webp`.
        media_type: String,
        /// Base64.
        base64: String,
    },
    /// A document.
    Document {
        /// `application/pdf` or `text/plain`.
        media_type: String,
        /// Base64.
        base64: String,
    },
}

/// Changes a prompt that still waits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[derive(Eq)]
pub struct EditQueued {
    /// The prompt.
    pub uuid: Uuid,
    /// What stands in its place, under a new name.
    pub with: Prompt,
}

/// Takes back a prompt that still waits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[derive(Eq)]
pub struct CancelQueued {
    /// The prompt.
    pub uuid: Uuid,
}

/// Puts prompts that still wait into another order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[derive(Eq)]
pub struct ReorderQueued {
    /// The prompts that come first, in this order; the others keep their order behind them. A prompt that
    /// has to move waits on under a new name, which the `queue` tells. Priorities stay: a `next` still
    /// comes before a `later`.
    pub order: Vec<Uuid>,
}

/// Stops the running turn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[derive(Eq, Default)]
pub struct Interrupt {}

/// Answers an open question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[derive(Eq)]
pub struct Answer {
    /// The question.
    pub pending_id: PendingId,
    /// The answer.
    pub verdict: Verdict,
}

/// The answer to a question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Verdict {
    /// Yes: the tool runs, the plan is good, the form is filled in.
    Allow(Allow),
    /// No.
    Deny(Deny),
    /// The model's questions, answered.
    Answers(Answers),
}

by_tag!(Verdict, "type", { "allow" => Allow, "deny" => Deny, "answers" => Answers });

/// Yes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[derive(Eq, Default)]
pub struct Allow {
    /// The input to run with (or the form's content), an object; as it was asked if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<Json>,
    /// What to remember.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remember: Vec<Remember>,
}

/// No.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[derive(Eq, Default)]
pub struct Deny {
    /// What the model is told.
    #[serde(default)]
    pub message: String,
    /// Whether the turn stops too. The model is then not told the message.
    #[serde(default)]
    pub interrupt: bool,
}

/// The model's questions, answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[derive(Eq, Default)]
pub struct Answers {
    /// By the question's text; several choices are joined with `, `.
    pub answers: BTreeMap<String, String>,
}

/// Sets the permission mode.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[derive(Eq)]
pub struct SetMode {
    /// `default`, `acceptEdits`, `plan`, `dontAsk`, `auto` or `bypassPermissions`.
    pub permission_mode: String,
}

/// Sets the model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[derive(Eq)]
pub struct SetModel {
    /// The model; the CLI's default if null.
    pub model: Option<String>,
}

/// Sets how much the model may think.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[derive(Eq)]
pub struct SetThinking {
    /// Tokens at most; the CLI's default if null.
    pub max_thinking_tokens: Option<u64>,
}

/// Sets how much effort the model makes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[derive(Eq)]
pub struct SetEffort {
    /// The level, one of those that the model's offer names; the CLI's default if null.
    pub effort: Option<String>,
}

/// Takes files, the conversation or both back to an earlier prompt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[derive(Eq)]
pub struct Rewind {
    /// The prompt.
    pub uuid: Uuid,
    /// What is taken back.
    pub scope: RewindScope,
    /// Only tell what would change.
    #[serde(default)]
    pub preview: bool,
}

/// What a rewind takes back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum RewindScope {
    /// The files.
    Files,
    /// The conversation.
    Conversation,
    /// Both.
    Both,
}

/// Runs a failed turn again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[derive(Eq)]
pub struct Retry {
    /// The turn; the last if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<TurnNumber>,
}

/// Begins a session with a copy of this conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[derive(Eq)]
pub struct Fork {
    /// Up to this message; all of it if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Uuid>,
}

/// Stops a subagent or a command in the background.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[derive(Eq)]
pub struct StopTask {
    /// The task.
    pub task_id: TaskId,
}

/// Lets what runs go on in the background.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[derive(Eq)]
pub struct Background {
    /// The call; all that can if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_call_id: Option<ToolCallId>,
}

/// Asks for or changes the MCP servers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[derive(Eq)]
pub struct Mcp {
    /// What to do.
    pub action: McpAction,
    /// The server, for `reconnect`, `enable` and `disable`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// All servers by name, for `set`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub servers: Option<Json>,
}

/// What to do with the MCP servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum McpAction {
    /// Tell how they are.
    Status,
    /// Connect one again.
    Reconnect,
    /// Switch one on.
    Enable,
    /// Switch one off.
    Disable,
    /// Put these in the place of all that were set this way before.
    Set,
}

/// Gives the session a title.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[derive(Eq)]
pub struct Rename {
    /// The title; not empty.
    pub title: String,
}

/// Puts the session out of the way, or back.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[derive(Eq)]
pub struct Archive {
    /// Out of the way?
    pub archived: bool,
}

/// Ends the session's run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[derive(Eq, Default)]
pub struct Close {}

/// Ends the session and removes it from the host. The CLI's own record of it stays.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[derive(Eq, Default)]
pub struct Delete {}

/// Takes conversations of the CLI's own history into the host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[derive(Eq, Default)]
pub struct Import {
    /// The CLI's own ids of them; all if empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cli_session_ids: Vec<String>,
}

/// Sets what the session may cost.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct SetBudget {
    /// In US dollars, over all its runs; no limit if null.
    pub max_budget_usd: Option<f64>,
}

/// Sets which folders tools may reach besides the session's own. A run that is there keeps those that it began with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[derive(Eq)]
pub struct SetDirectories {
    /// Absolute paths.
    pub directories: Vec<String>,
}
