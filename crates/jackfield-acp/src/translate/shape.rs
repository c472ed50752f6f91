//! A tool call in the protocol's words: its kind, where it is, what it shows.
//!
//! The one rule it keeps: it goes by the kind of tool and knows no tool's name.

use std::fmt::Write as _;
use std::path::Path;

use jackfield_api::Json;
use jackfield_api::normalized::{Mutation, MutationKind, Normalized};
use serde_json::Value;

use super::output::{block, cut, fenced, text_content};
use crate::schema::{Diff, ToolCallContent, ToolCallLocation, ToolKind};

/// How long what went into a tool or came out of it may be, to be passed on whole.
const WHOLE: usize = 512 * 1024;

/// What kind of tool it is.
pub(crate) fn kind(normalized: &Normalized) -> ToolKind {
    match normalized {
        Normalized::ModifyFile(_) => ToolKind::Edit,
        Normalized::ReadFile(_) => ToolKind::Read,
        Normalized::CodeSearch(_) => ToolKind::Search,
        Normalized::ShellExec(_) => ToolKind::Execute,
        Normalized::HttpRequest(_) => ToolKind::Fetch,
        Normalized::SubagentTask(_) | Normalized::CreateTask(_) | Normalized::ManageTodos(_) => {
            ToolKind::Think
        }
        Normalized::Misc(_) | Normalized::Generic(_) => ToolKind::Other,
    }
}

/// What it is called, for a person who sits in a folder.
pub(crate) fn title(title: &str, normalized: Option<&Normalized>, folder: &str) -> String {
    match normalized {
        // An editor shows a command as one.
        Some(Normalized::ShellExec(shell)) if !shell.command.is_empty() => shell.command.clone(),
        _ if folder.is_empty() || folder == "/" => title.to_owned(),
        _ => title.replace(&format!("{folder}/"), ""),
    }
}

/// The files that it is about.
pub(crate) fn locations(normalized: &Normalized) -> Vec<ToolCallLocation> {
    let (path, line) = match normalized {
        Normalized::ModifyFile(change) => (change.file_path.as_str(), None),
        Normalized::ReadFile(read) => (read.file_path.as_str(), Some(read.offset.unwrap_or(1))),
        Normalized::CodeSearch(search) => (search.path.as_deref().unwrap_or_default(), None),
        _ => return Vec::new(),
    };
    // The protocol knows no relative ones.
    if !Path::new(path).is_absolute() {
        return Vec::new();
    }
    let line = line.and_then(|line| u32::try_from(line).ok()).filter(|line| *line > 0);
    vec![ToolCallLocation::new(path).line(line)]
}

/// What it shows, as far as that is known.
pub(crate) fn content(normalized: &Normalized) -> Vec<ToolCallContent> {
    match normalized {
        Normalized::ModifyFile(change) => {
            change.mutations.iter().filter_map(|mutation| diff(&change.file_path, mutation)).collect()
        }
        Normalized::ReadFile(read) => {
            read.output.as_ref().and_then(|output| text_content(&output.content)).into_iter().collect()
        }
        Normalized::CodeSearch(search) => {
            let Some(output) = &search.output else { return Vec::new() };
            let found = output.content.clone().unwrap_or_else(|| output.files.join("\n"));
            text_content(&found).into_iter().collect()
        }
        Normalized::ShellExec(shell) => match &shell.output {
            Some(output) => {
                let mut text = joined(&output.stdout, &output.stderr);
                if let Some(code) = output.exit_code.filter(|code| *code != 0) {
                    // The CLI's own words, where they are not in the output already.
                    if !text.contains(&format!("Exit code {code}")) {
                        // Writing to a text cannot fail.
                        let _ = write!(text, "\nExit code {code}");
                    }
                }
                if text.trim().is_empty() { Vec::new() } else { vec![block(fenced(cut(&text), "console"))] }
            }
            None => shell.description.clone().map(block).into_iter().collect(),
        },
        Normalized::HttpRequest(request) => {
            request.response.as_deref().and_then(text_content).into_iter().collect()
        }
        Normalized::SubagentTask(task) => {
            let text = task.output.as_deref().unwrap_or(&task.prompt);
            if text.is_empty() { Vec::new() } else { vec![block(cut(text))] }
        }
        Normalized::CreateTask(task) => {
            if task.description.is_empty() {
                Vec::new()
            } else {
                vec![block(cut(&task.description))]
            }
        }
        Normalized::Misc(misc) => misc.details.as_deref().map(|text| block(cut(text))).into_iter().collect(),
        Normalized::ManageTodos(_) | Normalized::Generic(_) => Vec::new(),
    }
}

/// What a command wrote, both ways.
pub(crate) fn joined(stdout: &str, stderr: &str) -> String {
    match (stdout.trim_end(), stderr.trim_end()) {
        (stdout, "") => stdout.to_owned(),
        ("", stderr) => stderr.to_owned(),
        (stdout, stderr) => format!("{stdout}\n{stderr}"),
    }
}

fn diff(path: &str, mutation: &Mutation) -> Option<ToolCallContent> {
    let old = mutation.old_content.clone();
    let new = match mutation.kind {
        MutationKind::Delete => String::new(),
        MutationKind::Create | MutationKind::Overwrite => mutation.content.clone()?,
        MutationKind::Edit | MutationKind::Insert => {
            mutation.new_content.clone().or_else(|| mutation.content.clone())?
        }
    };
    Some(ToolCallContent::Diff(Diff::new(path, new).old_text(old)))
}

/// Opaque JSON as the protocol holds it; none if it is too long to be passed on whole.
pub(crate) fn value(json: &Json) -> Option<Value> {
    let text = json.get();
    if text.len() > WHOLE || text == "null" {
        return None;
    }
    // Half a pair of surrogates is no Unicode; then it is shown as it was written.
    Some(serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned())))
}
