//! What is no text and no tool: the plan, figures, commands, notices.
//!
//! What an editor cannot show in a way of its own is a thought, if a person should see it, and nothing otherwise: it
//! never becomes a part of the answer. That is the one rule it keeps.

use jackfield_api::conversation::Todos;
use jackfield_api::session::{Compaction, CompactionStatus, SlashCommand};
use jackfield_api::tool::{Task, TaskStatus};
use jackfield_api::trouble::{ApiRetry, Malformed, Notice, NoticeLevel, RateLimit};

use super::{Sink, Text, View};
use crate::schema::{
    AvailableCommand, AvailableCommandInput, AvailableCommandsUpdate, CompactionStatus as Stands,
    CompactionSummaryChunk, CompactionUpdate, ContentBlock, Cost, Notice as Told, NoticeSeverity, Plan,
    PlanEntry, PlanEntryPriority, PlanEntryStatus, SessionUpdate, UnstructuredCommandInput, UsageUpdate,
};

/// How much of a line that could not be read is shown.
const SHOWN: usize = 200;

/// The slash commands, all of them.
pub fn commands(list: &[SlashCommand]) -> SessionUpdate {
    let one = |command: &SlashCommand| {
        let hint = (!command.argument_hint.is_empty()).then(|| {
            AvailableCommandInput::Unstructured(UnstructuredCommandInput::new(command.argument_hint.clone()))
        });
        AvailableCommand::new(command.name.clone(), command.description.clone()).input(hint)
    };
    let update = AvailableCommandsUpdate::new(list.iter().map(one).collect());
    SessionUpdate::AvailableCommandsUpdate(update)
}

pub(super) fn plan(todos: &Todos) -> SessionUpdate {
    let entries = todos.items.iter().map(|todo| {
        let status = match todo.status.as_str() {
            "completed" => PlanEntryStatus::Completed,
            "in_progress" => PlanEntryStatus::InProgress,
            _ => PlanEntryStatus::Pending,
        };
        PlanEntry::new(todo.description.clone(), PlanEntryPriority::Medium, status)
    });
    SessionUpdate::Plan(Plan::new(entries.collect()))
}

pub(super) fn usage(used: u64, size: u64, cost: Option<f64>) -> SessionUpdate {
    let cost = cost.map(|amount| Cost::new(amount, "USD"));
    SessionUpdate::UsageUpdate(UsageUpdate::new(used, size).cost(cost))
}

pub(super) fn compaction(compaction: &Compaction, id: u64, view: View, to: &mut impl Sink) {
    let tokens = |count: Option<u64>| count.map_or("?".to_owned(), |count| count.to_string());
    if view.compaction {
        let status = match compaction.status {
            CompactionStatus::Running => Stands::InProgress,
            CompactionStatus::Complete => Stands::Completed,
            CompactionStatus::Failed => Stands::Failed,
        };
        let update = CompactionUpdate::new(name(id), status);
        let update = match &compaction.message {
            Some(message) if compaction.status == CompactionStatus::Failed => update.error(message.clone()),
            _ => update,
        };
        return to.update(SessionUpdate::CompactionUpdate(update));
    }
    let text = match compaction.status {
        CompactionStatus::Running => "The conversation is being summarised.".to_owned(),
        CompactionStatus::Complete => format!(
            "The conversation was summarised: {} tokens before, {} after.",
            tokens(compaction.pre_tokens),
            tokens(compaction.post_tokens)
        ),
        CompactionStatus::Failed => {
            let why = compaction.message.as_deref().unwrap_or("no reason was given");
            format!("The conversation could not be summarised: {why}.")
        }
    };
    aside(&text, to);
}

/// What stands in the place of what was said; only for an editor that knows of such things.
pub(super) fn summary(text: &str, id: u64, view: View, to: &mut impl Sink) {
    if view.compaction {
        let chunk = CompactionSummaryChunk::new(name(id), ContentBlock::from(text));
        to.update(SessionUpdate::CompactionSummaryChunk(chunk));
    }
}

fn name(id: u64) -> String {
    format!("compaction-{id}")
}

pub(super) fn notice(notice: &Notice, view: View, to: &mut impl Sink) {
    tell(notice.level, &notice.text, view, to);
}

pub(super) fn retry(retry: &ApiRetry, view: View, to: &mut impl Sink) {
    let seconds = retry.delay_ms.div_ceil(1000);
    let ApiRetry { attempt, max_retries, error, .. } = retry;
    let text = format!(
        "the API failed ({error}); it is asked again in {seconds} s, attempt {attempt} of {max_retries}"
    );
    tell(NoticeLevel::Warning, &text, view, to);
}

pub(super) fn limit(limit: &RateLimit, view: View, to: &mut impl Sink) {
    let level = match limit.status.as_str() {
        "allowed" => return,
        "rejected" => NoticeLevel::Error,
        _ => NoticeLevel::Warning,
    };
    tell(level, &limit.rate_limit_message, view, to);
}

/// The end of work beside the conversation; what runs is its call's business.
pub(super) fn task(task: &Task, view: View, to: &mut impl Sink) {
    let (level, how) = match task.status {
        TaskStatus::Running => return,
        TaskStatus::Completed => (NoticeLevel::Info, "is done"),
        TaskStatus::Failed => (NoticeLevel::Warning, "has failed"),
        TaskStatus::Stopped => (NoticeLevel::Info, "was stopped"),
    };
    let what = task.description.as_deref().unwrap_or("work in the background");
    let more = task.summary.as_deref().filter(|summary| !summary.is_empty());
    let more = more.map_or_else(String::new, |summary| format!(": {summary}"));
    tell(level, &format!("{what} {how}{more}"), view, to);
}

pub(super) fn malformed(line: &Malformed, view: View, to: &mut impl Sink) {
    let shown: String = line.text.chars().take(SHOWN).collect();
    let text = format!("a line of the CLI could not be read ({}): {shown}", line.reason);
    tell(NoticeLevel::Warning, &text, view, to);
}

fn tell(level: NoticeLevel, text: &str, view: View, to: &mut impl Sink) {
    if !view.notices {
        if level != NoticeLevel::Info {
            aside(text, to);
        }
        return;
    }
    let severity = match level {
        NoticeLevel::Info => NoticeSeverity::Info,
        NoticeLevel::Warning => NoticeSeverity::Warning,
        NoticeLevel::Error => NoticeSeverity::Error,
    };
    let (title, rest) = text.split_once('\n').unwrap_or((text, ""));
    let rest = (!rest.trim().is_empty()).then(|| rest.to_owned());
    to.update(SessionUpdate::Notice(Told::new(severity, title).description(rest)));
}

/// Beside the answer.
fn aside(text: &str, to: &mut impl Sink) {
    to.text(Text::Thought, None, &format!("\n{text}\n"));
}
