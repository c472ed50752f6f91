//! One shape per kind of tool, so that a front end draws kinds and not names.
//!
//! Filled from the input when a tool is called, and completed from its result.

use serde::{Deserialize, Serialize};

use crate::conversation::Todo;
use crate::json::Json;
use crate::tagged::by_tag;

/// A tool call in the shape of its kind.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Normalized {
    /// Changes a file.
    ModifyFile(Box<ModifyFile>),
    /// Reads a file.
    ReadFile(Box<ReadFile>),
    /// Looks for files or text.
    CodeSearch(Box<CodeSearch>),
    /// Runs a command.
    ShellExec(Box<ShellExec>),
    /// Fetches from the web.
    HttpRequest(Box<HttpRequest>),
    /// Hands work to a subagent.
    SubagentTask(Box<SubagentTask>),
    /// Adds a task to the list.
    CreateTask(Box<CreateTask>),
    /// Changes or reads the task list.
    ManageTodos(Box<ManageTodos>),
    /// A tool of the CLI itself that needs no shape of its own.
    Misc(Box<Misc>),
    /// Everything else: tools of MCP servers, tools that we do not know.
    Generic(Box<Generic>),
}

by_tag!(Normalized, "kind", {
    "modify_file" => ModifyFile,
    "read_file" => ReadFile,
    "code_search" => CodeSearch,
    "shell_exec" => ShellExec,
    "http_request" => HttpRequest,
    "subagent_task" => SubagentTask,
    "create_task" => CreateTask,
    "manage_todos" => ManageTodos,
    "misc" => Misc,
    "generic" => Generic,
});

/// Changes a file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[derive(Default)]
pub struct ModifyFile {
    /// The file.
    pub file_path: String,
    /// The changes, in order.
    pub mutations: Vec<Mutation>,
}

/// One change of a file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct Mutation {
    /// What is done.
    #[serde(rename = "type")]
    pub kind: MutationKind,
    /// The whole new content, for `create` and `overwrite`.
    pub content: Option<String>,
    /// The part that goes.
    pub old_content: Option<String>,
    /// The part that comes.
    pub new_content: Option<String>,
    /// The change as a unified diff, once it is known.
    pub diff: Option<String>,
}

/// What is done to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum MutationKind {
    /// A part is put in the place of another.
    Edit,
    /// A new file, or whether it is new is not known yet.
    Create,
    /// The whole file is replaced.
    Overwrite,
    /// A cell is put in.
    Insert,
    /// A cell is taken out.
    Delete,
}

/// Reads a file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[derive(Default)]
pub struct ReadFile {
    /// The file.
    pub file_path: String,
    /// The first line wanted.
    pub offset: Option<u64>,
    /// How many lines are wanted.
    pub limit: Option<u64>,
    /// What was read.
    pub output: Option<ReadOutput>,
}

/// What was read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[derive(Default, Eq)]
pub struct ReadOutput {
    /// The text; empty for what is not text.
    pub content: String,
    /// Its lines.
    pub line_count: u64,
    /// Whether the file has more.
    pub truncated: bool,
}

/// Looks for files or text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[derive(Default)]
pub struct CodeSearch {
    /// What is looked for in words (a tool search).
    pub query: Option<String>,
    /// What is looked for as a pattern.
    pub pattern: Option<String>,
    /// Where.
    pub path: Option<String>,
    /// In which files.
    pub glob: Option<String>,
    /// What was found.
    pub output: Option<SearchOutput>,
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[derive(Default, Eq)]
pub struct SearchOutput {
    /// The files.
    pub files: Vec<String>,
    /// How many there are.
    pub file_count: u64,
    /// Whether there are more than are listed.
    pub truncated: bool,
    /// The matching lines, where the tool gives them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
}

/// Runs a command.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[derive(Default)]
pub struct ShellExec {
    /// The command; for a look at a running one, its id.
    pub command: String,
    /// Where it runs, if told.
    pub work_dir: Option<String>,
    /// What it is for, in words.
    pub description: Option<String>,
    /// How long it may take, in milliseconds.
    pub timeout: Option<u64>,
    /// Whether it goes on in the background.
    pub background: bool,
    /// What came of it.
    pub output: Option<ShellOutput>,
}

/// What came of a command.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[derive(Default, Eq)]
pub struct ShellOutput {
    /// 0 on success, else what the CLI tells; null when it tells nothing.
    pub exit_code: Option<i64>,
    /// Its output.
    pub stdout: String,
    /// Its error output, where the CLI keeps them apart.
    pub stderr: String,
}

/// Fetches from the web.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[derive(Default)]
pub struct HttpRequest {
    /// The address; for a search, the words.
    pub url: String,
    /// `GET` or `SEARCH`.
    pub method: String,
    /// What came back.
    pub response: Option<String>,
    /// Whether it failed.
    pub is_error: bool,
}

/// Hands work to a subagent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[derive(Default)]
pub struct SubagentTask {
    /// The work in a few words.
    pub description: String,
    /// The work in full.
    pub prompt: String,
    /// Which agent.
    pub subagent_type: Option<String>,
    /// What it reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
}

/// Adds a task to the list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[derive(Default)]
pub struct CreateTask {
    /// The task.
    pub title: String,
    /// More of it.
    pub description: String,
    /// Its number in the list, once it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
}

/// Changes or reads the task list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[derive(Default)]
pub struct ManageTodos {
    /// `write`, `update`, `list`, `get`.
    pub operation: String,
    /// What it is about.
    pub items: Vec<Todo>,
}

/// A tool of the CLI itself that needs no shape of its own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[derive(Default)]
pub struct Misc {
    /// What it is, for a person.
    pub label: String,
    /// More of it.
    pub details: Option<String>,
}

/// Everything else.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub struct Generic {
    /// The tool.
    pub name: String,
    /// Its input.
    pub input: Json,
    /// Its output.
    pub output: Option<Json>,
}
