//! What a host tells of itself and its sessions outside their event streams: lists, the desk, rules, decisions,
//! search, money, files, settings.
//!
//! State, not events: each is true when it is sent. The bodies of the REST routes are these types.

use serde::{Deserialize, Serialize};

use crate::command::Agent;
use crate::id::{PendingId, Seq, SessionId, Timestamp, TurnNumber, Uuid};
use crate::permission::{Behavior, PermissionKind, PermissionOutcome, PermissionRequest};
use crate::snapshot::{Item, SessionState};
use crate::trouble::RateLimit;
use crate::usage::ContextWindow;

/// A session, as a list shows it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct SessionSummary {
    /// Its name.
    pub session_id: SessionId,
    /// Its title: given by a person, else the beginning of the first prompt.
    pub title: String,
    /// The folder that it works in.
    pub cwd: String,
    /// Who does the work.
    pub agent: Agent,
    /// The model in effect, where it is known.
    pub model: Option<String>,
    /// The permission mode in effect.
    pub permission_mode: Option<String>,
    /// How much the model may think, in tokens; null for the agent's own measure.
    #[serde(default)]
    pub max_thinking_tokens: Option<u64>,
    /// How much effort the model makes, as the agent names it; null for its own measure.
    #[serde(default)]
    pub effort: Option<String>,
    /// How it stands.
    pub state: SessionState,
    /// The open questions, whole, oldest first.
    pub pending: Vec<PermissionRequest>,
    /// How many prompts wait.
    pub queued: u32,
    /// The last event.
    pub seq: Seq,
    /// The last turn.
    pub turn: Option<TurnNumber>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When something last happened in it.
    pub updated_at: Timestamp,
    /// When the running turn began.
    pub running_since: Option<Timestamp>,
    /// Whether it was put out of the way.
    pub archived: bool,
    /// What all turns have cost.
    pub total_cost_usd: f64,
    /// What it may cost at most.
    pub max_budget_usd: Option<f64>,
    /// How full the context is.
    pub context_window: Option<ContextWindow>,
    /// The CLI's own id of the conversation, to go on with it elsewhere.
    pub cli_session_id: Option<String>,
    /// The last message that is safe to resume at.
    pub last_message_uuid: Option<Uuid>,
    /// The beginning of what was said last.
    pub preview: String,
    /// Why the last turn or run failed, if it did.
    pub last_error: Option<String>,
    /// Whether the folder's own settings, hooks and servers take part.
    pub trusted: bool,
    /// The session that it was copied from.
    pub forked_from: Option<SessionId>,
}

impl SessionSummary {
    /// A session in which nothing has happened yet.
    pub fn new(session_id: SessionId, cwd: impl Into<String>, created_at: Timestamp) -> Self {
        Self {
            session_id,
            title: String::new(),
            cwd: cwd.into(),
            agent: Agent::default(),
            model: None,
            permission_mode: None,
            max_thinking_tokens: None,
            effort: None,
            state: SessionState::default(),
            pending: Vec::new(),
            queued: 0,
            seq: Seq(0),
            turn: None,
            created_at,
            updated_at: created_at,
            running_since: None,
            archived: false,
            total_cost_usd: 0.0,
            max_budget_usd: None,
            context_window: None,
            cli_session_id: None,
            last_message_uuid: None,
            preview: String::new(),
            last_error: None,
            trusted: false,
            forked_from: None,
        }
    }
}

/// A part of the list of sessions, newest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct SessionPage {
    /// The sessions.
    pub sessions: Vec<SessionSummary>,
    /// What to give as `before` to get the next ones; null at the end.
    pub next: Option<String>,
}

/// A part of a transcript's items, oldest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct ItemPage {
    /// The items.
    pub items: Vec<Item>,
    /// Whether there are earlier ones.
    pub earlier: bool,
}

/// One open question, wherever it was asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct DeskEntry {
    /// The session.
    pub session_id: SessionId,
    /// Its title.
    pub title: String,
    /// Its folder.
    pub cwd: String,
    /// When it was asked.
    pub asked_at: Timestamp,
    /// The question.
    pub request: PermissionRequest,
}

/// A decision that was made, kept for ever. When its session is deleted, what was asked in words goes: the title is
/// then the tool's name, and there is no message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct Decision {
    /// The session.
    pub session_id: SessionId,
    /// The question.
    pub pending_id: PendingId,
    /// What was asked.
    pub kind: PermissionKind,
    /// The tool.
    pub tool_name: Option<String>,
    /// One line for a person.
    pub tool_title: String,
    /// When it was asked.
    pub asked_at: Timestamp,
    /// When it ended.
    pub decided_at: Timestamp,
    /// How; null if the CLI withdrew it.
    pub outcome: Option<PermissionOutcome>,
    /// Who decided.
    pub by: Option<String>,
    /// The words that went with it.
    pub message: Option<String>,
}

/// A rule of the host: it answers questions before a person is asked. The first that matches counts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[derive(Eq)]
pub struct HostRule {
    /// What happens.
    pub behavior: Behavior,
    /// The tool: a name, or a pattern with `*` (`mcp__github__*`); all if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The file: a pattern with `*` and `**`, relative to the session's folder unless it begins with `/`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The shell command: a pattern with `*`. A rule that allows never covers a command that joins several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Only sessions in this folder or below.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// Only this session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<SessionId>,
    /// Why, for people; the model is told it when the rule denies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// All rules of the host, in the order in which they are tried.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[derive(Eq, Default)]
pub struct HostRules {
    /// The rules.
    pub rules: Vec<HostRule>,
}

/// A dry run: what these rules would have said to questions that were really asked.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct RulesTried {
    /// One entry per question, newest first.
    pub tried: Vec<RuleTried>,
}

/// What the rules say to one question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct RuleTried {
    /// The session.
    pub session_id: SessionId,
    /// The question.
    pub request: PermissionRequest,
    /// What is said; `ask` also if no rule matches.
    pub behavior: Behavior,
    /// The rule that says it, counted from 0.
    pub rule: Option<u32>,
}

/// What was found in all conversations.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[derive(Eq)]
pub struct SearchHits {
    /// Best first.
    pub hits: Vec<SearchHit>,
}

/// One place where it was found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[derive(Eq)]
pub struct SearchHit {
    /// The session.
    pub session_id: SessionId,
    /// Its title.
    pub title: String,
    /// The item.
    pub seq: Seq,
    /// When it began.
    pub at: Timestamp,
    /// What it is: `user_message`, `text`, `thinking`, `tool` …
    pub kind: String,
    /// Some words around it, plain text; what was found stands between U+0002 and U+0003.
    pub excerpt: String,
}

/// What was spent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct Costs {
    /// One row per group, largest or newest first.
    pub rows: Vec<CostRow>,
    /// All of them together.
    pub total: CostRow,
}

/// What one group of turns cost.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[derive(Default)]
pub struct CostRow {
    /// The day (UTC, `2026-11-15`), the model, the session or the turn.
    pub group: String,
    /// The model, where days are divided by it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// How many turns.
    pub turns: u64,
    /// Dollars.
    pub cost_usd: f64,
    /// Tokens read.
    pub input_tokens: u64,
    /// Tokens written.
    pub output_tokens: u64,
    /// Tokens read from the cache.
    pub cache_read_tokens: u64,
    /// Tokens put into the cache.
    pub cache_creation_tokens: u64,
    /// Milliseconds.
    pub duration_ms: u64,
}

/// A conversation in the CLI's own history.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[derive(Eq)]
pub struct HistoryEntry {
    /// The CLI's own id.
    pub cli_session_id: String,
    /// The folder it was held in.
    pub cwd: Option<String>,
    /// Its title, or the beginning of its first prompt.
    pub title: String,
    /// When it was last written to.
    pub updated_at: Timestamp,
    /// The session of this host that it belongs to, if it was made or imported here.
    pub session_id: Option<SessionId>,
}

/// The CLI's own history.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[derive(Eq)]
pub struct HistoryList {
    /// Newest first.
    pub entries: Vec<HistoryEntry>,
}

/// What is in a folder, or what was found by name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[derive(Eq)]
pub struct FileList {
    /// Folders first, then by name; or best first.
    pub entries: Vec<FileEntry>,
    /// Whether there are more than were listed.
    pub truncated: bool,
}

/// A file or a folder.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[derive(Eq)]
pub struct FileEntry {
    /// Relative to the session's folder, with `/`.
    pub path: String,
    /// What it is.
    pub kind: FileKind,
    /// Bytes.
    pub size: u64,
    /// When it was last written to.
    pub modified_at: Option<Timestamp>,
}

/// What a path is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum FileKind {
    /// A folder.
    Folder,
    /// A file.
    File,
    /// A link; it is followed only if it leads to a place below the same folder.
    Link,
    /// Something else.
    Other,
}

/// A file's content.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[derive(Eq)]
pub struct FileContent {
    /// Relative to the session's folder.
    pub path: String,
    /// Bytes in all.
    pub size: u64,
    /// The text; null if it is not text.
    pub text: Option<String>,
    /// Whether it is longer than what is here.
    pub truncated: bool,
}

/// What changed in files.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[derive(Eq)]
pub struct FileDiffs {
    /// One per file, by path.
    pub files: Vec<FileDiff>,
    /// Whether there are more than were compared.
    pub truncated: bool,
}

/// What changed in one file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[derive(Eq)]
pub struct FileDiff {
    /// Relative to the session's folder.
    pub path: String,
    /// `added`, `modified`, `deleted`, `renamed` or `untracked`.
    pub status: String,
    /// Unified; null if it is not text or too large.
    pub diff: Option<String>,
    /// Lines added.
    pub added: u64,
    /// Lines taken away.
    pub removed: u64,
}

/// A folder of the machine, to begin a session in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[derive(Eq)]
pub struct FolderList {
    /// The folder that was asked for, absolute.
    pub path: String,
    /// The one above; null at the root.
    pub parent: Option<String>,
    /// Its folders by name.
    pub folders: Vec<String>,
    /// Folders that sessions worked in, newest first.
    pub recent: Vec<String>,
}

/// What the host can be used with, and how it is set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct HostSettings {
    /// The program's version.
    pub version: String,
    /// The agents.
    pub agents: Vec<AgentState>,
    /// The folder to begin with.
    pub home: String,
    /// Whether `bypassPermissions` may be chosen.
    pub bypass_allowed: bool,
    /// The account's limits, as last heard.
    pub rate_limits: Vec<RateLimit>,
}

/// An agent, and whether it can be used.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[derive(Eq)]
pub struct AgentState {
    /// Which.
    pub agent: Agent,
    /// Its version; null if it cannot be used.
    pub version: Option<String>,
    /// What is wrong and what to do, if it cannot be used.
    pub problem: Option<String>,
    /// The models that it offers, as it told them when it last ran; none before it has.
    pub models: Vec<ModelOffer>,
}

/// A model that an agent offers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[derive(Eq)]
pub struct ModelOffer {
    /// What `set_model` takes; `default` is what the agent takes if nobody chooses.
    pub value: String,
    /// The model that it stands for, where that is told.
    pub model: Option<String>,
    /// Its name for people.
    pub name: String,
    /// What it is good for.
    pub description: String,
    /// How much effort it can be told to make, from little to much; empty if it cannot be told.
    #[serde(default)]
    pub efforts: Vec<String>,
}

/// A CLI that runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct SessionProcess {
    /// The session that it runs for.
    pub session_id: SessionId,
    /// Its process: the CLI's, or that of the guard which holds it.
    pub process_id: u32,
    /// The memory that it takes, with everything it has started.
    pub memory_bytes: u64,
}

/// The CLIs that run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct SessionProcesses {
    /// One for each.
    pub processes: Vec<SessionProcess>,
}

/// Whether a session's debug files are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct DebugState {
    /// They are.
    pub debug: bool,
}
