//! Runs, turns, and what is out of the ordinary: each a line or two.
//!
//! Counts are rounded for people; the exact ones are in the JSON.

use jackfield_api::TurnNumber;
use jackfield_api::conversation::{DropReason, DroppedPrompt, QueuedPrompt};
use jackfield_api::session::{
    AvailableCommands, Compaction, CompactionStatus, ModelChanged, RunEndReason, RunEnded, RunStarted,
    SessionOrigin, SessionStatus,
};
use jackfield_api::trouble::{ApiRetry, Notice, NoticeLevel, RateLimit};
use jackfield_api::usage::TurnFigures;

use super::figures::{count, duration, many};
use super::page::{DIM, PLAIN, Page, RED, YELLOW, brief};

pub(super) fn run_started(page: &mut Page, run: &RunStarted) {
    let version = run.claude_code_version.as_deref().map(|version| format!(", claude {version}"));
    let session = run.cli_session_id.as_deref().map(|id| format!(", session {id}"));
    page.line(DIM, &format!("── run started{}{}", version.unwrap_or_default(), session.unwrap_or_default()));
}

pub(super) fn run_ended(page: &mut Page, run: &RunEnded) {
    let (words, style) = match run.reason {
        RunEndReason::Closed => ("run ended", DIM),
        RunEndReason::OutputEnded => ("output ended", DIM),
        RunEndReason::Failed => ("run failed", RED),
        RunEndReason::Crashed => ("run crashed", RED),
        RunEndReason::Killed => ("run killed", RED),
        RunEndReason::Wedged => ("run ended: it no longer answered", RED),
        RunEndReason::HostEnded => ("run ended with its host", RED),
        RunEndReason::NotStarted => ("run did not start", RED),
    };
    let code = run.exit_code.map(|code| format!(", exit code {code}")).unwrap_or_default();
    page.line(style, &format!("── {words}{code}"));
}

pub(super) fn status(page: &mut Page, status: &SessionStatus) {
    let origin = match status.session_status {
        SessionOrigin::New => "new session",
        SessionOrigin::Resumed => "resumed session",
        SessionOrigin::Forked => "forked session",
        SessionOrigin::Unknown => "session",
    };
    let text = format!(
        "{origin} {}: {}, mode {}, in {}, claude {}, {}",
        status.cli_session_id,
        status.model,
        status.permission_mode,
        status.cwd,
        status.claude_code_version,
        many(status.tools.len() as u64, "tool", "tools"),
    );
    page.line(DIM, &text);
    for server in &status.mcp_servers {
        let style = if server.status == "failed" { YELLOW } else { DIM };
        page.line(style, &format!("  MCP server {}: {}", server.name, server.status));
    }
}

pub(super) fn commands(page: &mut Page, commands: &AvailableCommands) {
    let number = commands.available_commands.len() as u64;
    page.line(DIM, &many(number, "slash command", "slash commands"));
}

pub(super) fn dropped(page: &mut Page, prompts: &[DroppedPrompt]) {
    for prompt in prompts {
        let reason = match prompt.reason {
            DropReason::Cancelled => "cancelled",
            DropReason::Duplicate => "sent twice",
            DropReason::RunEnded => "the run ended first",
        };
        page.line(YELLOW, &format!("prompt dropped, {reason}: {}", brief(&prompt.text, 80)));
    }
}

pub(super) fn waiting(page: &mut Page, prompts: &[QueuedPrompt]) {
    for prompt in prompts {
        page.line(DIM, &format!("prompt waits: {}", brief(&prompt.text, 80)));
    }
}

pub(super) fn model_changed(page: &mut Page, changed: &ModelChanged) {
    let reason = changed.reason.as_deref().map(|reason| format!(" ({reason})")).unwrap_or_default();
    page.line(DIM, &format!("model: {}{reason}", changed.model));
}

pub(super) fn compaction(page: &mut Page, compaction: &Compaction) {
    let tokens = |number: Option<u64>| number.map_or_else(|| "?".to_owned(), count);
    match compaction.status {
        CompactionStatus::Running => page.line(DIM, "the conversation is being summarised"),
        CompactionStatus::Complete => {
            let (before, after) = (tokens(compaction.pre_tokens), tokens(compaction.post_tokens));
            page.line(DIM, &format!("the conversation was summarised: {before} → {after} tokens"));
        }
        CompactionStatus::Failed => {
            let message = compaction.message.as_deref().map(|message| format!(": {message}"));
            let text = format!("the conversation could not be summarised{}", message.unwrap_or_default());
            page.marked((YELLOW, "!"), YELLOW, &text);
        }
    }
}

pub(super) fn api_retry(page: &mut Page, retry: &ApiRetry) {
    let status = retry.status.map(|status| format!("HTTP {status}, ")).unwrap_or_default();
    let text = format!(
        "the API failed ({status}{}); attempt {} of {} in {}",
        brief(&retry.error, 160),
        retry.attempt,
        retry.max_retries,
        duration(retry.delay_ms),
    );
    page.marked((YELLOW, "!"), YELLOW, &text);
}

pub(super) fn rate_limit(page: &mut Page, limit: &RateLimit) {
    let style = match limit.status.as_str() {
        "allowed" => DIM,
        "rejected" => RED,
        _ => YELLOW,
    };
    page.marked((style, "!"), style, &limit.rate_limit_message);
}

pub(super) fn notice(page: &mut Page, notice: &Notice) {
    let (mark, style) = match notice.level {
        NoticeLevel::Info => ("·", DIM),
        NoticeLevel::Warning => ("!", YELLOW),
        NoticeLevel::Error => ("✗", RED),
    };
    page.marked((style, mark), style, notice.text.trim_end());
}

pub(super) fn complete(
    page: &mut Page,
    turn: Option<TurnNumber>,
    figures: &TurnFigures,
    context: Option<u64>,
) {
    if let Some(output) = &figures.structured_output {
        page.line(PLAIN, output.get());
    }
    for denial in &figures.permission_denials {
        page.line(YELLOW, &format!("refused: {} {}", denial.tool_name, brief(denial.input.get(), 100)));
    }
    let cached = figures.cache_read_tokens.saturating_add(figures.cache_creation_tokens);
    let read = figures.input_tokens.saturating_add(cached);
    let turn = turn.map(|turn| format!(" {turn}")).unwrap_or_default();
    let reason = figures.terminal_reason.as_deref().filter(|reason| *reason != "completed");
    let reason = reason.map(|reason| format!(" ({reason})")).unwrap_or_default();
    let context = context.map(|used| format!(", context {used} %")).unwrap_or_default();
    let text = format!(
        "── turn{turn} ended{reason}: {}, ${:.4}, {} tokens in, {} out{context}",
        duration(figures.duration_ms),
        figures.cost_usd,
        count(read),
        count(figures.output_tokens),
    );
    page.line(DIM, &text);
}
