//! One item of a transcript as Markdown.

use std::io::{self, Write};

use jackfield_api::Json;
use jackfield_api::conversation::{FileUpdated, ItemOutcome, Trigger, UserMessage};
use jackfield_api::normalized::{ModifyFile, Normalized, ShellExec};
use jackfield_api::permission::PermissionOutcome;
use jackfield_api::session::{Compaction, CompactionStatus, RunEndReason, RunEnded};
use jackfield_api::snapshot::{Item, ItemContent, QuestionItem, TextItem, ToolItem};
use jackfield_api::tool::ToolStatus;
use jackfield_api::trouble::NoticeLevel;
use jackfield_api::usage::TurnFigures;
use serde_json::Value;

use super::words::{code, date, details, dollars, fenced, line, quote};
use crate::redact::redact;

/// Writes an item.
pub(super) fn write(item: &Item, to: &mut impl Write) -> io::Result<()> {
    let subagent = if item.parent_tool_call_id.is_some() { " (subagent)" } else { "" };
    match &item.content {
        ItemContent::Turn(turn) => {
            let number = item.turn.map_or(0, |turn| turn.0);
            let trigger = match turn.trigger {
                Trigger::Prompt => "",
                Trigger::Command => ", a command",
                Trigger::Background => ", begun by itself",
            };
            writeln!(to, "## Turn {number}\n\n*{}{trigger}*\n", date(item.at))
        }
        ItemContent::UserMessage(message) => user_message(message, to),
        ItemContent::Text(text) => spoken(text, subagent, to),
        ItemContent::Thinking(thought) => details(&format!("Thinking{subagent}"), &thought.text, to),
        ItemContent::Tool(tool) => write_tool(tool, subagent, to),
        ItemContent::Question(question) => write_question(question, to),
        ItemContent::File(file) => write_file(file, to),
        ItemContent::Compaction(compaction) => write_compaction(compaction, to),
        ItemContent::Notice(notice) => {
            let level = match notice.level {
                NoticeLevel::Info => "Notice",
                NoticeLevel::Warning => "Warning",
                NoticeLevel::Error => "Error",
            };
            writeln!(to, "**{level}:** {}\n", line(&notice.text))
        }
        ItemContent::Error(error) => {
            writeln!(to, "**Error** ({}): {}\n", code(&error.code), line(&error.error))
        }
        ItemContent::Complete(complete) => write_figures(item, &complete.data, to),
        ItemContent::RunEnded(ended) => run_ended(ended, to),
    }
}

fn user_message(message: &UserMessage, to: &mut impl Write) -> io::Result<()> {
    quote(&message.text, to)?;
    for attachment in &message.attachments {
        let media_type = attachment.media_type.as_deref().unwrap_or("unknown type");
        writeln!(to, "*With it: {} ({})*\n", line(&attachment.kind), line(media_type))?;
    }
    Ok(())
}

fn spoken(text: &TextItem, subagent: &str, to: &mut impl Write) -> io::Result<()> {
    // What was replaced stands again in the item that replaced it.
    if text.outcome == Some(ItemOutcome::Replaced) || text.text.trim().is_empty() {
        return Ok(());
    }
    if !subagent.is_empty() {
        writeln!(to, "*Subagent:*\n")?;
    }
    writeln!(to, "{}\n", redact(text.text.trim_end()))?;
    if text.outcome == Some(ItemOutcome::Aborted) {
        writeln!(to, "*(broken off)*\n")?;
    }
    Ok(())
}

fn write_tool(tool: &ToolItem, subagent: &str, to: &mut impl Write) -> io::Result<()> {
    let status = match tool.tool_status {
        ToolStatus::Running => ", not ended",
        ToolStatus::Complete => "",
        ToolStatus::Error => ", failed",
    };
    let title = if tool.tool_title.is_empty() { &tool.tool_name } else { &tool.tool_title };
    writeln!(to, "### {}{subagent}{status}\n", line(title))?;
    match &tool.normalized {
        Some(Normalized::ShellExec(exec)) if exec.output.is_some() => return shell(tool, exec, to),
        Some(Normalized::ShellExec(exec)) => fenced("sh", &exec.command, to)?,
        Some(Normalized::ModifyFile(modify)) => modified(modify, to)?,
        Some(Normalized::ReadFile(read)) => writeln!(to, "File: {}\n", code(&read.file_path))?,
        _ => {
            if let Some(input) = &tool.input {
                fenced("json", &pretty(input), to)?;
            }
        }
    }
    if let Some(output) = &tool.output {
        writeln!(to, "Output:\n")?;
        fenced("", &plain(output), to)?;
    }
    message(tool, to)
}

fn shell(tool: &ToolItem, exec: &ShellExec, to: &mut impl Write) -> io::Result<()> {
    fenced("sh", &exec.command, to)?;
    if let Some(output) = &exec.output {
        match output.exit_code {
            Some(0) | None => writeln!(to, "Output:\n")?,
            Some(exit_code) => writeln!(to, "Output (exit code {exit_code}):\n")?,
        }
        fenced("", &output.stdout, to)?;
        if !output.stderr.is_empty() {
            writeln!(to, "Error output:\n")?;
            fenced("", &output.stderr, to)?;
        }
    }
    message(tool, to)
}

fn modified(modify: &ModifyFile, to: &mut impl Write) -> io::Result<()> {
    writeln!(to, "File: {}\n", code(&modify.file_path))?;
    for mutation in &modify.mutations {
        if let Some(diff) = mutation.diff.as_ref().filter(|diff| !diff.is_empty()) {
            fenced("diff", diff, to)?;
        } else if let Some(content) = &mutation.content {
            fenced("", content, to)?;
        } else {
            let marked = |mark: &'static str, text: &Option<String>| -> String {
                text.iter().flat_map(|text| text.lines()).flat_map(|line| [mark, line, "\n"]).collect()
            };
            fenced("diff", &(marked("-", &mutation.old_content) + &marked("+", &mutation.new_content)), to)?;
        }
    }
    Ok(())
}

fn message(tool: &ToolItem, to: &mut impl Write) -> io::Result<()> {
    match &tool.message {
        Some(message) => writeln!(to, "*{}*\n", line(message)),
        None => Ok(()),
    }
}

fn write_question(question: &QuestionItem, to: &mut impl Write) -> io::Result<()> {
    let request = &question.request;
    writeln!(to, "**Asked:** {}\n", line(&request.tool_title))?;
    for asked in &request.questions {
        writeln!(to, "- {}", line(&asked.question))?;
        for option in &asked.options {
            writeln!(to, "  - {}: {}", line(&option.label), line(&option.description))?;
        }
    }
    if !request.questions.is_empty() {
        writeln!(to)?;
    }
    for text in [&request.plan, &request.message].into_iter().flatten() {
        quote(text, to)?;
    }
    if let Some(reason) = &request.reason {
        writeln!(to, "Why: {}\n", line(reason))?;
    }
    let Some(ending) = &question.ending else { return writeln!(to, "**Not answered.**\n") };
    let outcome = match ending.outcome {
        Some(PermissionOutcome::Allowed) => "Allowed",
        Some(PermissionOutcome::Denied) => "Denied",
        Some(PermissionOutcome::Expired) => "Denied, for nobody answered in time",
        Some(PermissionOutcome::Lost) => "Not answered before the session ended",
        None => "Withdrawn",
    };
    let by = ending.by.as_ref().map(|by| format!(" by {}", line(by))).unwrap_or_default();
    let message = ending.message.as_deref().map(line).filter(|message| !message.is_empty());
    let message = message.map(|message| format!(": {message}")).unwrap_or_default();
    writeln!(to, "**{outcome}**{by}{message}\n")?;
    let Some(input) = &ending.input else { return Ok(()) };
    writeln!(to, "With this input instead:\n")?;
    fenced("json", input.get(), to)
}

fn write_file(file: &FileUpdated, to: &mut impl Write) -> io::Result<()> {
    writeln!(to, "Changed {}\n", code(&file.file_path))?;
    if file.diff.is_empty() { Ok(()) } else { fenced("diff", &file.diff, to) }
}

fn write_compaction(compaction: &Compaction, to: &mut impl Write) -> io::Result<()> {
    let text = match compaction.status {
        CompactionStatus::Running => "The conversation is being summarised".to_owned(),
        CompactionStatus::Failed => "The conversation could not be summarised".to_owned(),
        CompactionStatus::Complete => match (compaction.pre_tokens, compaction.post_tokens) {
            (Some(before), Some(after)) => {
                format!("The conversation was summarised, from {before} tokens to {after}")
            }
            _ => "The conversation was summarised".to_owned(),
        },
    };
    writeln!(to, "*{text}.*\n")
}

fn write_figures(item: &Item, figures: &TurnFigures, to: &mut impl Write) -> io::Result<()> {
    let number = item.turn.map_or(0, |turn| turn.0);
    let seconds = figures.duration_ms / 1000;
    let tenths = figures.duration_ms % 1000 / 100;
    let read = figures.input_tokens + figures.cache_read_tokens + figures.cache_creation_tokens;
    let (cost, total) = (dollars(figures.cost_usd), dollars(figures.total_cost_usd));
    writeln!(
        to,
        "*Turn {number}: {cost} (the run so far: {total}), {seconds}.{tenths} s, {read} tokens in, {} out*\n",
        figures.output_tokens
    )
}

fn run_ended(ended: &RunEnded, to: &mut impl Write) -> io::Result<()> {
    let reason = match ended.reason {
        // The ordinary end of a run is not worth a line to a person.
        RunEndReason::Closed | RunEndReason::OutputEnded => return Ok(()),
        RunEndReason::Failed => "failed",
        RunEndReason::Crashed => "crashed",
        RunEndReason::Killed => "did not end when asked and was killed",
        RunEndReason::Wedged => "no longer answered and was ended",
        RunEndReason::NotStarted => "did not come up",
        RunEndReason::HostEnded => "went on when the host ended",
    };
    let exit_code = ended.exit_code.map(|exit_code| format!(" (exit code {exit_code})")).unwrap_or_default();
    writeln!(to, "**The run {reason}{exit_code}.**\n")?;
    if ended.stderr_tail.is_empty() { Ok(()) } else { fenced("", &ended.stderr_tail, to) }
}

/// JSON with line breaks; as it is where it cannot be read.
fn pretty(json: &Json) -> String {
    let value = json.read::<Value>().ok();
    value.and_then(|value| serde_json::to_string_pretty(&value).ok()).unwrap_or_else(|| json.get().to_owned())
}

/// A tool's output as text: a string, or the texts among its blocks.
fn plain(output: &Json) -> String {
    match output.read::<Value>() {
        Ok(Value::String(text)) => text,
        Ok(Value::Array(blocks)) if blocks.iter().all(|block| block.get("type").is_some()) => {
            let block = |block: &Value| match block.get("text").and_then(Value::as_str) {
                Some(text) => text.to_owned(),
                None => format!("[{}]", block.get("type").and_then(Value::as_str).unwrap_or("block")),
            };
            blocks.iter().map(block).collect::<Vec<_>>().join("\n")
        }
        _ => pretty(output),
    }
}
