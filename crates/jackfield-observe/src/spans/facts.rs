//! What is known of a span, by the names of the GenAI semantic conventions where they have one.
//!
//! Names that begin with `jackfield.` are ours. The one rule it keeps: an attribute is a figure, a name or a word from
//! a list; what people and models say is payload, and goes another way.

use jackfield_api::normalized::Normalized;
use jackfield_api::permission::{PermissionKind, PermissionOutcome};
use jackfield_api::session::{RunEndReason, SessionStatus};
use jackfield_api::trouble::Error;
use jackfield_api::usage::{Complete, ContextWindow, ModelFigures};

use crate::span::{Attribute, Value};

pub(super) const OPERATION: &str = "gen_ai.operation.name";
pub(super) const PROVIDER: &str = "gen_ai.provider.name";
pub(super) const AGENT: &str = "gen_ai.agent.name";
pub(super) const CONVERSATION: &str = "gen_ai.conversation.id";
/// The model that is asked. Another one may answer: which ones did is told with the figures of a turn.
pub(super) const MODEL: &str = "gen_ai.request.model";
pub(super) const RESPONSE: &str = "gen_ai.response.id";
pub(super) const TOOL: &str = "gen_ai.tool.name";
pub(super) const TOOL_TYPE: &str = "gen_ai.tool.type";
pub(super) const TOOL_CALL: &str = "gen_ai.tool.call.id";
pub(super) const ERROR: &str = "error.type";
pub(super) const TURN: &str = "jackfield.turn";
pub(super) const TRIGGER: &str = "jackfield.trigger";
pub(super) const OUTCOME: &str = "jackfield.outcome";
pub(super) const KIND: &str = "jackfield.kind";
pub(super) const BY: &str = "jackfield.by";
pub(super) const HOOK: &str = "jackfield.hook";
pub(super) const BYTES: &str = "jackfield.bytes";
pub(super) const DURATION: &str = "jackfield.duration_ms";

/// The figures of a turn, with those of its subagents. By the conventions what was read includes what came from the
/// cache.
pub(super) fn turn(complete: &Complete) -> Vec<Attribute> {
    let [fresh, output, cached, to_cache] = tokens(complete);
    let figures = &complete.data;
    let mut attributes: Vec<Attribute> = vec![
        ("gen_ai.usage.input_tokens", fresh.saturating_add(cached).saturating_add(to_cache).into()),
        ("gen_ai.usage.output_tokens", output.into()),
        ("gen_ai.usage.cache_read.input_tokens", cached.into()),
        ("gen_ai.usage.cache_creation.input_tokens", to_cache.into()),
        ("jackfield.cost_usd", figures.cost_usd.into()),
        (DURATION, figures.duration_ms.into()),
    ];
    attributes.extend(words(complete));
    attributes
}

/// The same figures where the CLI tells them. None has the name that it has in the turn, so whoever adds up a trace
/// counts nothing twice.
pub(super) fn complete(complete: &Complete) -> Vec<Attribute> {
    let [fresh, output, cached, to_cache] = tokens(complete);
    let figures = &complete.data;
    let mut attributes: Vec<Attribute> = vec![
        ("jackfield.complete.input_tokens", fresh.into()),
        ("jackfield.complete.output_tokens", output.into()),
        ("jackfield.complete.cache_read_tokens", cached.into()),
        ("jackfield.complete.cache_creation_tokens", to_cache.into()),
        ("jackfield.complete.cost_usd", figures.cost_usd.into()),
        ("jackfield.complete.duration_ms", figures.duration_ms.into()),
        ("jackfield.complete.duration_api_ms", figures.duration_api_ms.into()),
        ("jackfield.complete.requests", figures.num_turns.into()),
    ];
    attributes.extend(words(complete));
    attributes
}

/// What was read and in no cache, what was written, what was read from the cache, and what was put there.
fn tokens(complete: &Complete) -> [u64; 4] {
    let figures = &complete.data;
    let tokens = |of_model: fn(&ModelFigures) -> u64, of_turn: u64| match figures.models.as_slice() {
        [] => of_turn,
        models => models.iter().map(of_model).fold(0, u64::saturating_add),
    };
    [
        tokens(|model| model.input_tokens, figures.input_tokens),
        tokens(|model| model.output_tokens, figures.output_tokens),
        tokens(|model| model.cache_read_tokens, figures.cache_read_tokens),
        tokens(|model| model.cache_creation_tokens, figures.cache_creation_tokens),
    ]
}

/// Who has answered, and why it ended by the CLI's word; a model's own reason is another thing.
fn words(complete: &Complete) -> impl Iterator<Item = Attribute> {
    let figures = &complete.data;
    let models = figures.models.iter().map(|model| model.model.clone());
    let models = (!figures.models.is_empty()).then(|| ("jackfield.models", Value::Texts(models.collect())));
    let reason = figures.terminal_reason.clone().map(|reason| ("jackfield.terminal_reason", reason.into()));
    models.into_iter().chain(reason)
}

/// What the CLI says of itself.
pub(super) fn status(status: &SessionStatus) -> Vec<Attribute> {
    let count = |length: usize| Value::Whole(u64::try_from(length).unwrap_or(u64::MAX));
    vec![
        (MODEL, status.model.clone().into()),
        ("jackfield.cli_version", status.claude_code_version.clone().into()),
        ("jackfield.cli_session_id", status.cli_session_id.clone().into()),
        ("jackfield.permission_mode", status.permission_mode.clone().into()),
        ("jackfield.tools", count(status.tools.len())),
        ("jackfield.mcp_servers", count(status.mcp_servers.len())),
    ]
}

/// How full the context is.
pub(super) fn context(context: &ContextWindow) -> [Attribute; 3] {
    [
        ("jackfield.context.size", context.context_window_size.into()),
        ("jackfield.context.used", context.context_window_used.into()),
        ("jackfield.context.remaining", context.context_window_remaining.into()),
    ]
}

/// The kind of a tool, as the contract names it.
pub(crate) fn kind(normalized: &Normalized) -> &'static str {
    normalized.tag()
}

pub(crate) fn question(kind: PermissionKind) -> &'static str {
    match kind {
        PermissionKind::Tool => "tool",
        PermissionKind::Question => "question",
        PermissionKind::Plan => "plan",
        PermissionKind::Elicitation => "elicitation",
        PermissionKind::Dialog => "dialog",
    }
}

pub(crate) fn outcome(outcome: PermissionOutcome) -> &'static str {
    match outcome {
        PermissionOutcome::Allowed => "allowed",
        PermissionOutcome::Denied => "denied",
        PermissionOutcome::Expired => "expired",
        PermissionOutcome::Lost => "lost",
    }
}

pub(crate) fn run_end(reason: RunEndReason) -> &'static str {
    match reason {
        RunEndReason::Closed => "closed",
        RunEndReason::Failed => "failed",
        RunEndReason::Crashed => "crashed",
        RunEndReason::Killed => "killed",
        RunEndReason::Wedged => "wedged",
        RunEndReason::NotStarted => "not_started",
        RunEndReason::OutputEnded => "output_ended",
        RunEndReason::HostEnded => "host_ended",
    }
}

/// Whether a failure is that of a run. Whether a turn has failed by it is known when that has its result, or never gets
/// one.
pub(crate) fn is_of_run(error: &Error) -> bool {
    matches!(
        error.code.as_str(),
        "not_started" | "exited" | "crashed" | "truncated" | "wedged" | "host_ended"
    )
}

/// `PreToolUse` as `pre_tool_use`.
pub(super) fn snake(words: &str) -> String {
    let mut snake = String::with_capacity(words.len() + 4);
    for letter in words.chars() {
        if letter.is_ascii_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.push(letter.to_ascii_lowercase());
    }
    snake
}
