//! A call in one line, for a person.
//!
//! Not the place to see all of a call: it is cut, and the input stands beside it. The one rule: a title is
//! one line of at most [`LENGTH`] characters, and none of them changes how the others look.

use jackfield_api::normalized::{
    CodeSearch, Generic, HttpRequest, ManageTodos, Misc, ModifyFile, Normalized, ReadFile, ShellExec,
    SubagentTask,
};
use jackfield_api::unseen::is_unseen;

/// One line for a person.
pub(crate) fn title(tool_name: &str, normalized: &Normalized) -> String {
    let title = match normalized {
        Normalized::ModifyFile(modify) => modify_title(tool_name, modify),
        Normalized::ReadFile(read) => read_title(read),
        Normalized::CodeSearch(search) => search_title(tool_name, search),
        Normalized::ShellExec(shell) => shell_title(tool_name, shell),
        Normalized::HttpRequest(request) => request_title(request),
        Normalized::SubagentTask(task) => subagent_title(task),
        Normalized::CreateTask(task) => format!("Add task: {}", task.title),
        Normalized::ManageTodos(todos) => todos_title(todos),
        Normalized::Misc(misc) => misc_title(misc),
        Normalized::Generic(generic) => generic_title(generic),
    };
    one_line(&title)
}

/// The most characters that a title has.
const LENGTH: usize = 120;

fn modify_title(tool_name: &str, modify: &ModifyFile) -> String {
    let path = &modify.file_path;
    match (tool_name, modify.mutations.len()) {
        ("Write", _) => format!("Write {path}"),
        ("MultiEdit", changes) if changes > 1 => format!("Edit {path} ({changes} changes)"),
        _ => format!("Edit {path}"),
    }
}

fn read_title(read: &ReadFile) -> String {
    let path = &read.file_path;
    let first = read.offset.unwrap_or(1).max(1);
    match read.limit {
        Some(limit) if limit > 0 => {
            format!("Read {path} (lines {first}–{})", first.saturating_add(limit - 1))
        }
        _ if first > 1 => format!("Read {path} (from line {first})"),
        _ => format!("Read {path}"),
    }
}

fn search_title(tool_name: &str, search: &CodeSearch) -> String {
    if let Some(query) = &search.query {
        return format!("Search tools: {query}");
    }
    let Some(pattern) = &search.pattern else {
        return format!("List {}", search.path.as_deref().unwrap_or("files"));
    };
    let mut title = match tool_name {
        "Glob" => format!("Find {pattern}"),
        _ => format!("Search \"{pattern}\""),
    };
    for place in [&search.path, &search.glob].into_iter().flatten() {
        title.push_str(" in ");
        title.push_str(place);
    }
    title
}

fn shell_title(tool_name: &str, shell: &ShellExec) -> String {
    let command = &shell.command;
    match tool_name {
        "BashOutput" => format!("Output of {command}"),
        "KillShell" => format!("Stop {command}"),
        _ => format!("$ {command}"),
    }
}

fn request_title(request: &HttpRequest) -> String {
    match request.method.as_str() {
        "SEARCH" => format!("Search the web: {}", request.url),
        _ => format!("Fetch {}", request.url),
    }
}

fn subagent_title(task: &SubagentTask) -> String {
    let agent = task.subagent_type.as_deref().unwrap_or("Agent");
    let work = if task.description.is_empty() { &task.prompt } else { &task.description };
    format!("{agent}: {work}")
}

fn todos_title(todos: &ManageTodos) -> String {
    match (todos.operation.as_str(), todos.items.as_slice()) {
        ("write", items) => format!("Write to-dos ({})", items.len()),
        ("update", [task]) if !task.status.is_empty() => format!("Task {}: {}", task.id, task.status),
        ("update", [task]) => format!("Update task {}", task.id),
        ("get", [task]) => format!("Show task {}", task.id),
        _ => "List tasks".to_owned(),
    }
}

fn misc_title(misc: &Misc) -> String {
    match &misc.details {
        Some(details) => format!("{}: {details}", misc.label),
        None => misc.label.clone(),
    }
}

/// The tool's name; for a tool of an MCP server, `mcp__github__create_issue`, the server and the tool.
fn generic_title(generic: &Generic) -> String {
    match generic.name.strip_prefix("mcp__").and_then(|name| name.split_once("__")) {
        Some((server, tool)) => format!("{server}: {tool}"),
        None => generic.name.clone(),
    }
}

/// Runs of white space and control characters become one blank; what would reverse or hide the text around
/// it goes, because a person decides on this line.
fn one_line(text: &str) -> String {
    let mut line = String::new();
    let mut length = 0;
    let mut blank = false;
    for character in text.chars() {
        if character.is_whitespace() || character.is_control() {
            blank = length > 0;
            continue;
        }
        if is_unseen(character) {
            continue;
        }
        // The last place is kept for the mark of a cut.
        if length + usize::from(blank) + 1 >= LENGTH {
            line.push('…');
            return line;
        }
        if std::mem::take(&mut blank) {
            line.push(' ');
            length += 1;
        }
        line.push(character);
        length += 1;
    }
    line
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use jackfield_api::Json;

    use super::super::normalize;
    use super::*;

    fn titled(tool_name: &str, input: &str) -> String {
        title(tool_name, &normalize(tool_name, &Json::parse(input.to_owned()).unwrap()))
    }

    #[test]
    fn each_kind_has_its_line() {
        for (tool_name, input, expected) in [
            ("Edit", r#"{"file_path":"src/main.rs"}"#, "Edit src/main.rs"),
            ("MultiEdit", r#"{"file_path":"a","edits":[{},{}]}"#, "Edit a (2 changes)"),
            ("Write", r#"{"file_path":"/ws/out.txt","content":"x"}"#, "Write /ws/out.txt"),
            ("NotebookEdit", r#"{"notebook_path":"n.ipynb"}"#, "Edit n.ipynb"),
            ("Read", r#"{"file_path":"a.txt"}"#, "Read a.txt"),
            ("Read", r#"{"file_path":"a.txt","offset":10,"limit":11}"#, "Read a.txt (lines 10–20)"),
            ("Read", r#"{"file_path":"a.txt","offset":10}"#, "Read a.txt (from line 10)"),
            ("Read", r#"{"file_path":"a.txt","limit":5}"#, "Read a.txt (lines 1–5)"),
            ("Glob", r#"{"pattern":"*.txt","path":"src"}"#, "Find *.txt in src"),
            ("Grep", r#"{"pattern":"a b","glob":"*.rs"}"#, "Search \"a b\" in *.rs"),
            ("LS", r#"{"path":"/ws"}"#, "List /ws"),
            ("ToolSearch", r#"{"query":"select:x"}"#, "Search tools: select:x"),
            ("Bash", r#"{"command":"cargo test"}"#, "$ cargo test"),
            ("BashOutput", r#"{"bash_id":"bash_1"}"#, "Output of bash_1"),
            ("KillShell", r#"{"shell_id":"bash_1"}"#, "Stop bash_1"),
            ("WebFetch", r#"{"url":"http://127.0.0.1:9/x"}"#, "Fetch http://127.0.0.1:9/x"),
            ("WebSearch", r#"{"query":"q"}"#, "Search the web: q"),
            ("Task", r#"{"description":"sub job","subagent_type":"Explore"}"#, "Explore: sub job"),
            ("Agent", r#"{"prompt":"go"}"#, "Agent: go"),
            ("TaskCreate", r#"{"subject":"First"}"#, "Add task: First"),
            ("TaskUpdate", r#"{"taskId":"1","status":"completed"}"#, "Task 1: completed"),
            ("TaskUpdate", r#"{"taskId":"1","subject":"s"}"#, "Update task 1"),
            ("TaskGet", r#"{"taskId":"1"}"#, "Show task 1"),
            ("TaskList", "{}", "List tasks"),
            ("TodoWrite", r#"{"todos":[{"content":"x"}]}"#, "Write to-dos (1)"),
            ("Skill", r#"{"skill":"simplify"}"#, "Skill: simplify"),
            ("EnterPlanMode", "{}", "Enter plan mode"),
            ("mcp__github__create_issue", "{}", "github: create_issue"),
            ("mcp__odd", "{}", "mcp__odd"),
            ("NoSuchTool", r#"{"x":1}"#, "NoSuchTool"),
            ("Bash", r#"{"__unparsedToolInput":{"raw":"{","len":1}}"#, "Bash"),
        ] {
            assert_eq!(titled(tool_name, input), expected);
        }
    }

    #[test]
    fn a_title_is_one_line() {
        assert_eq!(
            titled("Bash", r#"{"command":"  cd x &&\n\n\tmake\u0000all\u2028now\n"}"#),
            "$ cd x && make all now"
        );
    }

    #[test]
    fn a_long_title_is_cut_between_characters() {
        let command = Json::of(&serde_json::json!({ "command": "é".repeat(500) }));
        let title = titled("Bash", command.get());
        assert_eq!(title.chars().count(), LENGTH);
        assert!(title.ends_with("é…"));
        let fits = Json::of(&serde_json::json!({ "command": "é".repeat(LENGTH - 3) }));
        assert!(!titled("Bash", fits.get()).contains('…'));
    }

    #[test]
    fn nothing_in_a_title_turns_it_around() {
        assert_eq!(titled("Bash", r#"{"command":"rm \u202Efi\u200Dle\u200B\u061C"}"#), "$ rm file");
    }
}
