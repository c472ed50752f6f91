//! What of an item is searched: the words that a person read or wrote, and of a tool's output the beginning.
//!
//! Not the whole item: a file's content is found by the file's name. The one rule it keeps: the marks
//! that an excerpt puts around what was found stand nowhere else in it.

use jackfield_api::Json;
use jackfield_api::normalized::Normalized;
use jackfield_api::snapshot::{ItemContent, QuestionItem, ToolItem};
use serde::Deserialize;

/// The text to search; empty if there is none.
pub(super) fn of(content: &ItemContent) -> String {
    let mut text = Text::default();
    match content {
        ItemContent::UserMessage(message) => text.add(&message.text),
        ItemContent::Text(item) | ItemContent::Thinking(item) => text.add(&item.text),
        ItemContent::Tool(tool) => add_tool(&mut text, tool),
        ItemContent::Question(question) => add_question(&mut text, question),
        ItemContent::File(file) => text.add(&file.file_path),
        ItemContent::Compaction(compaction) => text.add_some(compaction.message.as_ref()),
        ItemContent::Notice(notice) => text.add(&notice.text),
        ItemContent::Error(error) => text.add(&error.error),
        ItemContent::RunEnded(run) => text.add(&run.stderr_tail),
        ItemContent::Turn(_) | ItemContent::Complete(_) => {}
    }
    text.joined
}

fn add_tool(text: &mut Text, tool: &ToolItem) {
    if !tool.tool_title.starts_with(&tool.tool_name) {
        text.add(&tool.tool_name);
    }
    text.add(&tool.tool_title);
    text.add_some(tool.message.as_ref());
    match &tool.normalized {
        None => {}
        Some(Normalized::ModifyFile(file)) => text.add_new(&file.file_path),
        Some(Normalized::ReadFile(file)) => text.add_new(&file.file_path),
        Some(Normalized::CodeSearch(search)) => {
            for part in [&search.query, &search.pattern, &search.path, &search.glob] {
                text.add_some(part.as_ref());
            }
        }
        Some(Normalized::ShellExec(shell)) => {
            text.add_new(&shell.command);
            text.add_new(shell.description.as_deref().unwrap_or_default());
        }
        Some(Normalized::HttpRequest(request)) => text.add_new(&request.url),
        Some(Normalized::SubagentTask(task)) => {
            text.add_new(&task.description);
            text.add(&task.prompt);
        }
        Some(Normalized::CreateTask(task)) => {
            text.add(&task.title);
            text.add(&task.description);
        }
        Some(Normalized::ManageTodos(todos)) => {
            for todo in &todos.items {
                text.add(&todo.description);
            }
        }
        Some(Normalized::Misc(misc)) => {
            text.add(&misc.label);
            text.add_some(misc.details.as_ref());
        }
        Some(Normalized::Generic(generic)) => text.add(beginning(generic.input.get(), OUTPUT)),
    }
    if let Some(output) = &tool.output {
        text.add(beginning(&output_text(output), OUTPUT));
    }
}

fn add_question(text: &mut Text, question: &QuestionItem) {
    let request = &question.request;
    text.add(&request.tool_title);
    text.add_some(request.reason.as_ref());
    text.add_some(request.plan.as_ref());
    text.add_some(request.message.as_ref());
    for question in &request.questions {
        text.add(&question.question);
        for option in &question.options {
            text.add(&option.label);
        }
    }
    text.add_some(question.ending.as_ref().and_then(|ending| ending.message.as_ref()));
}

/// A tool's output as the model got it: a string, or blocks of which some are text.
fn output_text(output: &Json) -> String {
    #[derive(Deserialize)]
    struct Block {
        #[serde(default)]
        text: String,
    }
    if let Ok(text) = output.read::<String>() {
        return text;
    }
    match output.read::<Vec<Block>>() {
        Ok(blocks) => blocks.into_iter().map(|block| block.text).collect::<Vec<_>>().join("\n"),
        Err(_) => output.get().to_owned(),
    }
}

#[derive(Default)]
struct Text {
    joined: String,
}

impl Text {
    fn add(&mut self, part: &str) {
        let part = beginning(part.trim(), WHOLE.saturating_sub(self.joined.len()));
        if part.is_empty() {
            return;
        }
        if !self.joined.is_empty() {
            self.joined.push('\n');
        }
        let mark = |c| matches!(c, '\0' | '\u{2}' | '\u{3}');
        if memchr::memchr3(0, 2, 3, part.as_bytes()).is_none() {
            self.joined.push_str(part);
        } else {
            self.joined.extend(part.chars().map(|c| if mark(c) { ' ' } else { c }));
        }
    }

    /// Adds what does not stand there already: a title often has it.
    fn add_new(&mut self, part: &str) {
        if !self.joined.contains(part.trim()) {
            self.add(part);
        }
    }

    fn add_some(&mut self, part: Option<&String>) {
        if let Some(part) = part {
            self.add(part);
        }
    }
}

/// At most `bytes` of a text, whole characters.
fn beginning(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}

/// How much of a tool's output is searched.
const OUTPUT: usize = 4 * 1024;

/// How much of anything is searched.
const WHOLE: usize = 256 * 1024;

#[cfg(test)]
mod tests {
    use jackfield_api::normalized::ModifyFile;
    use jackfield_api::tool::ToolStatus;

    use super::*;

    #[test]
    fn what_a_tools_title_says_is_there_once() {
        let tool = |name: &str, title: &str| {
            let file = ModifyFile { file_path: "/src/main.rs".to_owned(), mutations: Vec::new() };
            of(&ItemContent::Tool(Box::new(ToolItem {
                tool_call_id: "1".into(),
                tool_name: name.to_owned(),
                tool_title: title.to_owned(),
                tool_status: ToolStatus::Complete,
                bytes: 0,
                normalized: Some(Normalized::ModifyFile(Box::new(file))),
                input: None,
                output: None,
                message: None,
            })))
        };
        assert_eq!(tool("Edit", "Edit /src/main.rs"), "Edit /src/main.rs");
        assert_eq!(tool("Edit", "Edit main.rs"), "Edit main.rs\n/src/main.rs");
        assert_eq!(tool("Write", "Make a file"), "Write\nMake a file\n/src/main.rs");
    }
}
