//! Tool calls and what came of them.
//!
//! One line when a tool is called; a summary and a few lines of output when it ends. The whole output is
//! in the JSON.

use jackfield_api::Json;
use jackfield_api::conversation::{FileUpdated, Todo};
use jackfield_api::normalized::{Mutation, Normalized};
use jackfield_api::tool::{Hook, HookStatus, Task, TaskStatus, ToolStatus, ToolUpdate};
use serde::Deserialize;

use super::figures::{changed_lines, count, duration, lines, many};
use super::page::{CYAN, DIM, GREEN, PLAIN, Page, RED, Style, brief};

/// How many lines of a tool's output are shown.
const SHOWN: usize = 5;
/// How many lines of a change are shown.
const SHOWN_OF_DIFF: usize = 12;

pub(super) fn call(page: &mut Page, title: &str) {
    page.marked((CYAN, "●"), PLAIN, &brief(title, 160));
}

pub(super) fn update(page: &mut Page, update: &ToolUpdate) {
    let message = update.message.as_deref();
    match update.tool_status {
        ToolStatus::Running => {
            if let Some(message) = message {
                page.deeper(2, |page| page.line(DIM, &brief(message, 160)));
            }
        }
        ToolStatus::Complete => page.deeper(2, |page| {
            let (summary, text) = outcome(update);
            let note = message.map(|message| brief(message, 160));
            let words: Vec<_> = [summary, note].into_iter().flatten().collect();
            let words = if words.is_empty() { "done".to_owned() } else { words.join(", ") };
            page.marked((DIM, "⎿"), DIM, &words);
            page.deeper(2, |page| page.excerpt(|_| PLAIN, &text, SHOWN));
        }),
        ToolStatus::Error => page.deeper(2, |page| {
            let (summary, text) = failure(update);
            page.marked((RED, "⎿"), RED, &summary);
            page.deeper(2, |page| page.excerpt(|_| RED, &text, SHOWN));
        }),
    }
}

/// A summary of what a tool gave, and its text.
fn outcome(update: &ToolUpdate) -> (Option<String>, String) {
    let given = || update.output.as_ref().map(plain_text).unwrap_or_default();
    let lines_of = |text: &str| many(lines(text), "line", "lines");
    match &update.normalized {
        None => (None, given()),
        Some(Normalized::ModifyFile(file)) => (Some(change(&file.mutations)), String::new()),
        Some(Normalized::ReadFile(file)) => {
            let summary = file.output.as_ref().map(|output| {
                let more = if output.truncated { " of more" } else { "" };
                format!("{}{more}", many(output.line_count, "line", "lines"))
            });
            (summary, String::new())
        }
        Some(Normalized::CodeSearch(search)) => match &search.output {
            Some(output) => {
                let more = if output.truncated { " or more" } else { "" };
                let text = output.content.clone().unwrap_or_else(|| output.files.join("\n"));
                (Some(format!("{}{more}", many(output.file_count, "file", "files"))), text)
            }
            None => (None, given()),
        },
        Some(Normalized::ShellExec(shell)) => match &shell.output {
            Some(output) => {
                let text = format!("{}\n{}", output.stdout.trim_end(), output.stderr);
                let text = text.trim_matches('\n');
                let code = output.exit_code.map(|code| format!("exit code {code}, ")).unwrap_or_default();
                let summary = if shell.background { "in the background".to_owned() } else { lines_of(text) };
                (Some(format!("{code}{summary}")), text.to_owned())
            }
            None => (None, given()),
        },
        Some(Normalized::HttpRequest(request)) => {
            let text = request.response.clone().unwrap_or_else(given);
            (Some(lines_of(&text)), text)
        }
        Some(Normalized::SubagentTask(task)) => (None, task.output.clone().unwrap_or_else(given)),
        Some(Normalized::CreateTask(task)) => {
            (task.id.as_ref().map(|id| format!("task {id}")), String::new())
        }
        Some(Normalized::ManageTodos(todos)) => {
            (Some(many(todos.items.len() as u64, "task", "tasks")), String::new())
        }
        Some(Normalized::Misc(misc)) => (None, misc.details.clone().unwrap_or_else(given)),
        Some(Normalized::Generic(generic)) => (None, generic.output.as_ref().map_or_else(given, plain_text)),
    }
}

/// A summary of why a tool failed, and its text.
fn failure(update: &ToolUpdate) -> (String, String) {
    let text = update.output.as_ref().map(plain_text).unwrap_or_default();
    let code = match &update.normalized {
        Some(Normalized::ShellExec(shell)) => shell.output.as_ref().and_then(|output| output.exit_code),
        _ => None,
    };
    let summary = match (&update.message, code) {
        (Some(message), _) => brief(message, 160),
        (None, Some(code)) => format!("failed with exit code {code}"),
        (None, None) => "failed".to_owned(),
    };
    (summary, text)
}

/// How many lines a change brings and takes.
pub(crate) fn change(mutations: &[Mutation]) -> String {
    let (more, less) = mutations.iter().fold((0, 0), |(more, less), mutation| {
        let whole = || {
            let new = mutation.content.as_deref().or(mutation.new_content.as_deref());
            (new.map_or(0, lines), mutation.old_content.as_deref().map_or(0, lines))
        };
        let (new, old) = mutation.diff.as_deref().map_or_else(whole, changed_lines);
        (more + new, less + old)
    });
    format!("+{} −{}", count(more), count(less))
}

/// A tool's output as text: a string, the texts of a list of blocks, or the JSON itself.
fn plain_text(output: &Json) -> String {
    #[derive(Deserialize)]
    struct Block {
        #[serde(rename = "type")]
        kind: String,
        text: Option<String>,
    }
    if let Ok(text) = output.read::<String>() {
        return text;
    }
    let Ok(blocks) = output.read::<Vec<Block>>() else { return output.get().to_owned() };
    let texts = blocks.into_iter().map(|block| block.text.unwrap_or_else(|| format!("[{}]", block.kind)));
    texts.collect::<Vec<_>>().join("\n")
}

/// Which file was changed, where that is not clear from the line before.
pub(super) fn file_changed(page: &mut Page, file: &FileUpdated) {
    let (more, less) = changed_lines(&file.diff);
    let text = format!("{} +{} −{}", brief(&file.file_path, 160), count(more), count(less));
    page.deeper(2, |page| page.line(DIM, &text));
}

pub(super) fn diff(page: &mut Page, diff: &str) {
    // The names of the files are known.
    let start = diff.find("@@").unwrap_or(diff.len());
    page.deeper(4, |page| page.excerpt(diff_style, &diff[start..], SHOWN_OF_DIFF));
}

fn diff_style(line: &str) -> Style {
    match line.as_bytes().first() {
        Some(b'+') => GREEN,
        Some(b'-') => RED,
        Some(b'@') => DIM,
        _ => PLAIN,
    }
}

pub(super) fn todos(page: &mut Page, items: &[Todo]) {
    page.line(CYAN, if items.is_empty() { "to do: nothing" } else { "to do:" });
    page.deeper(2, |page| {
        for item in items {
            let (mark, style) = match item.status.as_str() {
                "completed" => ("[x]", DIM),
                "in_progress" => ("[~]", PLAIN),
                _ => ("[ ]", PLAIN),
            };
            page.marked((style, mark), style, &brief(&item.description, 160));
        }
    });
}

pub(super) fn task(page: &mut Page, task: &Task) {
    let (words, style) = match task.status {
        TaskStatus::Running => ("running", DIM),
        TaskStatus::Completed => ("completed", PLAIN),
        TaskStatus::Failed => ("failed", RED),
        TaskStatus::Stopped => ("stopped", PLAIN),
    };
    let name = task.description.as_deref().unwrap_or(task.task_id.as_str());
    let usage = task.usage.map(|usage| {
        let uses = many(usage.tool_uses, "tool call", "tool calls");
        let tokens = many(usage.total_tokens, "token", "tokens");
        format!(", {uses}, {tokens}, {}", duration(usage.duration_ms))
    });
    let summary = task.summary.as_deref().filter(|summary| *summary != name);
    let summary = summary.map(|summary| format!(": {}", brief(summary, 160))).unwrap_or_default();
    let text = format!("task {}: {words}{}{summary}", brief(name, 80), usage.unwrap_or_default());
    page.marked((style, "◇"), style, &text);
}

pub(super) fn hook(page: &mut Page, hook: &Hook) {
    let (words, style) = match hook.status {
        // It is told again when it has answered.
        HookStatus::Running => return,
        HookStatus::Complete => ("ran", DIM),
        HookStatus::Error => ("failed", RED),
        HookStatus::Cancelled => ("was cancelled", DIM),
    };
    let name = if hook.hook_name.is_empty() { &hook.hook_event } else { &hook.hook_name };
    let code = hook.exit_code.filter(|code| *code != 0);
    let code = code.map(|code| format!(" with exit code {code}")).unwrap_or_default();
    page.line(style, &format!("hook {} {words}{code}", brief(name, 80)));
    page.deeper(2, |page| page.excerpt(|_| style, hook.output.as_deref().unwrap_or_default(), SHOWN));
}
