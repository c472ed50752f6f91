//! A tool call in the shape of its kind: from its input, and then from its result.
//!
//! Not a place that knows what a call *means* for a session: whether it is allowed, which turn it belongs
//! to, whether it ever ended. The one rule: every function here is pure and total. Inputs and results were
//! written by a model or by the CLI, so a field that is missing or of the wrong kind takes its default, and
//! an input that cannot be read at all becomes [`Generic`], which keeps all of it.
//!
//! # Layout
//! * `fields` – a JSON object looked at field by field
//! * `files`, `search`, `shell`, `web`, `agent`, `todos`, `misc` – one family of tools each
//! * `file_change`, `diff` – what a call did to a file
//! * `title` – a call in one line

mod agent;
mod diff;
mod fields;
mod file_change;
mod files;
mod misc;
mod search;
mod shell;
#[cfg(test)]
mod tests;
mod title;
mod todos;
mod web;

use jackfield_api::Json;
use jackfield_api::normalized::{Generic, Normalized};

use self::fields::Fields;

pub(crate) use self::file_change::{file_change, file_updated};
pub(crate) use self::title::title;
pub(crate) use self::todos::TodoList;

/// Tools that change and send nothing by themselves, or that a person is asked about in any case. What a
/// subagent does is its own calls.
const READ_ONLY: [&str; 19] = [
    "Agent",
    "AskUserQuestion",
    "BashOutput",
    "EnterPlanMode",
    "ExitPlanMode",
    "Glob",
    "Grep",
    "LS",
    "NotebookRead",
    "Read",
    "Task",
    "TaskCreate",
    "TaskGet",
    "TaskList",
    "TaskOutput",
    "TaskUpdate",
    "TodoRead",
    "TodoWrite",
    "ToolSearch",
];

/// The tools that change files, as the CLI matches names in a hook.
pub const FILE_TOOLS: &str = "Edit|MultiEdit|NotebookEdit|Write";

/// Whether a tool changes and sends nothing by itself. One that is not known does.
pub fn is_read_only(tool_name: &str) -> bool {
    READ_ONLY.contains(&tool_name)
}

/// The kind's shape of a call, from its input.
pub(crate) fn normalize(tool_name: &str, input: &Json) -> Normalized {
    Fields::read(input.get())
        // What the CLI puts in the place of an input that was no JSON [tools/broken_tool_json].
        .filter(|fields| fields.raw("__unparsedToolInput").is_none())
        .and_then(|fields| built_in(tool_name, &fields))
        .unwrap_or_else(|| {
            Normalized::Generic(Box::new(Generic {
                name: tool_name.to_owned(),
                input: input.clone(),
                output: None,
            }))
        })
}

/// Completes a call's shape from its result.
pub(crate) fn complete(tool_name: &str, normalized: &mut Normalized, result: &ToolResult<'_>) {
    match normalized {
        Normalized::ModifyFile(modify) => files::complete_modify(modify, result),
        Normalized::ReadFile(read) => files::complete_read(read, result),
        Normalized::CodeSearch(search) => search::complete(tool_name, search, result),
        Normalized::ShellExec(shell) => shell::complete(shell, result),
        Normalized::HttpRequest(request) => web::complete(request, result),
        Normalized::SubagentTask(task) => agent::complete(task, result),
        Normalized::CreateTask(task) => todos::complete_create(task, result),
        Normalized::ManageTodos(todos) => todos::complete_manage(todos, result),
        Normalized::Misc(misc) => misc::complete(misc, result),
        Normalized::Generic(generic) => generic.output = result.output(),
    }
}

/// What the CLI told of a result.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ToolResult<'a> {
    /// JSON text of `tool_result.content`: a string or an array of blocks.
    pub(crate) content: Option<&'a str>,
    /// JSON text of the line's `tool_use_result`: an object, a string or an array; absent in subagents.
    pub(crate) structured: Option<&'a str>,
    /// Whether the call failed.
    pub(crate) is_error: bool,
}

impl<'a> ToolResult<'a> {
    /// What the model was told, as text.
    fn text(&self) -> Option<String> {
        self.content.and_then(fields::text_of_blocks).or_else(|| self.structured.and_then(fields::text))
    }

    /// The structured result, where it is an object.
    fn fields(&self) -> Option<Fields<'a>> {
        self.structured.and_then(Fields::read)
    }

    /// The result as it came.
    fn output(&self) -> Option<Json> {
        self.content.or(self.structured).and_then(|json| Json::parse(json.to_owned()).ok())
    }
}

/// The shape of a built-in tool's call; `None` for every other tool.
fn built_in(tool_name: &str, input: &Fields<'_>) -> Option<Normalized> {
    Some(match tool_name {
        "Edit" => Normalized::ModifyFile(Box::new(files::edit(input))),
        "MultiEdit" => Normalized::ModifyFile(Box::new(files::multi_edit(input))),
        "Write" => Normalized::ModifyFile(Box::new(files::write(input))),
        "NotebookEdit" => Normalized::ModifyFile(Box::new(files::notebook_edit(input))),
        "Read" | "NotebookRead" => Normalized::ReadFile(Box::new(files::read(input))),
        "Glob" | "Grep" | "LS" | "ToolSearch" => Normalized::CodeSearch(Box::new(search::search(input))),
        "Bash" | "BashOutput" | "KillShell" => Normalized::ShellExec(Box::new(shell::shell(input))),
        "WebFetch" => Normalized::HttpRequest(Box::new(web::fetch(input))),
        "WebSearch" => Normalized::HttpRequest(Box::new(web::search(input))),
        // One tool under two names [tools/subagent_named_agent].
        "Task" | "Agent" => Normalized::SubagentTask(Box::new(agent::task(input))),
        "TaskCreate" => Normalized::CreateTask(Box::new(todos::create(input))),
        "TodoWrite" => Normalized::ManageTodos(Box::new(todos::write(input))),
        "TaskUpdate" => Normalized::ManageTodos(Box::new(todos::update(input))),
        "TaskGet" => Normalized::ManageTodos(Box::new(todos::get(input))),
        "TaskList" => Normalized::ManageTodos(Box::new(todos::list())),
        _ => Normalized::Misc(Box::new(misc::misc(tool_name, input)?)),
    })
}
