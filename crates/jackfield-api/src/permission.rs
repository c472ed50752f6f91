//! Questions that only a person, or a rule of theirs, may answer.
//!
//! Permission for a tool, a question of the model, a plan, a form of an MCP server and a dialog of the
//! CLI are one thing: asked once, ended exactly once.

use serde::{Deserialize, Serialize};

use crate::id::{PendingId, ToolCallId};
use crate::json::Json;
use crate::normalized::Normalized;

/// Somebody must decide.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct PermissionRequest {
    /// The question's name, for the answer.
    pub pending_id: PendingId,
    /// What is asked.
    pub kind: PermissionKind,
    /// The call that waits for it.
    pub tool_call_id: Option<ToolCallId>,
    /// The tool.
    pub tool_name: Option<String>,
    /// One line for a person.
    pub tool_title: String,
    /// The call in the one shape of its kind.
    pub normalized: Option<Normalized>,
    /// The input exactly as the CLI sent it.
    pub input: Option<Json>,
    /// What the CLI offers to remember.
    pub suggestions: Vec<Remember>,
    /// Why it is asked.
    pub reason: Option<String>,
    /// For `question`: what the model wants to know.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<Question>,
    /// For `plan`: the plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<String>,
    /// For `elicitation` and `dialog`: the words to show.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// For `elicitation`: the form, as JSON Schema.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schema: Option<Json>,
}

/// What is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum PermissionKind {
    /// May this tool run?
    Tool,
    /// The model asks something.
    Question,
    /// Is this plan good?
    Plan,
    /// An MCP server wants a form filled in.
    Elicitation,
    /// The CLI wants to show a dialog.
    Dialog,
}

/// A question of the model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[derive(Eq)]
pub struct Question {
    /// The question; answers are given under this text.
    pub question: String,
    /// A short title.
    #[serde(default)]
    pub header: String,
    /// Whether several options may be chosen.
    #[serde(default)]
    pub multi_select: bool,
    /// What may be chosen; free text is always possible.
    #[serde(default)]
    pub options: Vec<QuestionOption>,
}

/// One option of a question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[derive(Eq)]
pub struct QuestionOption {
    /// The answer.
    pub label: String,
    /// What it means.
    #[serde(default)]
    pub description: String,
}

/// It was decided, or can no longer be.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct PermissionResolved {
    /// The question.
    pub pending_id: PendingId,
    /// How it ended.
    pub outcome: PermissionOutcome,
    /// Who decided.
    pub by: Option<String>,
    /// The words that went with it.
    pub message: Option<String>,
    /// What runs, where it was changed on the way: the input that was allowed, with a question's answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<Json>,
}

/// How a question ended (other than by the CLI's withdrawing it).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum PermissionOutcome {
    /// Yes.
    Allowed,
    /// No.
    Denied,
    /// Nobody answered in time, and it was denied.
    Expired,
    /// The session ended first, or the answer was not seen.
    Lost,
}

/// The CLI withdrew the question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct PermissionCancelled {
    /// The question.
    pub pending_id: PendingId,
}

/// What to remember with an answer, and where.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[derive(Eq)]
pub struct Remember {
    /// What changes.
    #[serde(flatten)]
    pub change: Change,
    /// Where it is kept.
    pub destination: Destination,
}

/// A change of the permission rules.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Change {
    /// Adds rules.
    AddRules {
        /// The rules.
        rules: Vec<Rule>,
        /// What they say.
        behavior: Behavior,
    },
    /// Puts rules in the place of all others.
    ReplaceRules {
        /// The rules.
        rules: Vec<Rule>,
        /// What they say.
        behavior: Behavior,
    },
    /// Takes rules away.
    RemoveRules {
        /// The rules.
        rules: Vec<Rule>,
        /// What they said.
        behavior: Behavior,
    },
    /// Sets the permission mode.
    SetMode {
        /// As the CLI names it.
        mode: String,
    },
    /// Opens further directories.
    AddDirectories {
        /// Their paths.
        directories: Vec<String>,
    },
    /// Closes directories.
    RemoveDirectories {
        /// Their paths.
        directories: Vec<String>,
    },
}

/// A permission rule.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[derive(Eq)]
pub struct Rule {
    /// The tool.
    pub tool_name: String,
    /// What of it, in the CLI's notation (`npm run *`); null for all.
    pub rule_content: Option<String>,
}

/// What a rule says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum Behavior {
    /// Run without asking.
    Allow,
    /// Never run.
    Deny,
    /// Always ask.
    Ask,
}

/// Where a rule is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum Destination {
    /// In this session only.
    Session,
    /// With the person's own settings.
    UserSettings,
    /// With the project, shared.
    ProjectSettings,
    /// With the project, not shared.
    LocalSettings,
    /// As if given on the command line: in this run only.
    CliArg,
}
