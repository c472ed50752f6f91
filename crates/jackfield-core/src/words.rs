//! The CLI's words in ours: small translations that several places need.

use jackfield_api as api;
use jackfield_wire as wire;

use api::Json;
use api::conversation::Attachment;
use api::session::{Compaction, CompactionStatus, RunEndReason, SlashCommand};
use api::trouble::{Error, Notice, NoticeLevel, RateLimit};
use wire::{Block, Content, ResultMessage, Source, TerminalReason};

use crate::input::Exit;

/// What ended with its run.
pub(crate) const RUN_ENDED: &str = "the run ended";
/// A tool call that ended with its run.
pub(crate) const NO_RESULT: &str = "the run ended without a result for this call";
/// A tool call whose input was still streaming in.
pub(crate) const NEVER_CALLED: &str = "never called: its input did not arrive whole";

pub(crate) fn notice(level: NoticeLevel, text: impl Into<String>) -> Notice {
    Notice { level, text: text.into() }
}

pub(crate) fn level(word: Option<&str>) -> NoticeLevel {
    match word {
        Some("warning" | "warn") => NoticeLevel::Warning,
        Some("error") => NoticeLevel::Error,
        _ => NoticeLevel::Info,
    }
}

/// Opaque JSON of the CLI as opaque JSON of ours: the same text.
pub(crate) fn json(raw: &wire::Raw) -> Json {
    Json::from_raw(raw.as_raw_value().to_owned())
}

pub(crate) fn milliseconds(number: f64) -> u64 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates, and NaN is 0")]
    let whole = number.round() as u64;
    whole
}

/// Whether the content of a result of the API's own tools says that it failed: `{"type": "…_error", …}`.
pub(crate) fn is_server_error(content: Option<&wire::Raw>) -> bool {
    #[derive(serde::Deserialize)]
    struct Tag {
        r#type: String,
    }
    content.and_then(|raw| raw.parse::<Tag>().ok()).is_some_and(|tag| tag.r#type.ends_with("_error"))
}

/// What a local command printed, without the tags around it.
pub(crate) fn command_output(text: &str) -> Option<&str> {
    let inner = text.trim().strip_prefix("<local-command-stdout>")?;
    Some(inner.strip_suffix("</local-command-stdout>").unwrap_or(inner))
}

/// The prompt behind the CLI's own wording of a slash command.
pub(crate) fn command_echo(text: &str) -> Option<String> {
    let between = |tag: &str| {
        let (_, rest) = text.split_once(&format!("<{tag}>"))?;
        rest.split_once(&format!("</{tag}>")).map(|(inner, _)| inner.trim())
    };
    if !text.trim_start().starts_with("<command-") {
        return None;
    }
    let name = between("command-name")?;
    let arguments = between("command-args").unwrap_or_default();
    Some(format!("{name} {arguments}").trim_end().to_owned())
}

/// Whether a text is one of the CLI's own, in tags.
pub(crate) fn is_tagged(text: &str) -> bool {
    text.trim_start().starts_with('<')
}

/// Whether a prompt is a slash command rather than a text that begins with a path [slash/unknown].
pub(crate) fn is_command(text: &str, known: &[SlashCommand]) -> bool {
    let Some(rest) = text.strip_prefix('/') else { return false };
    let name = rest.split_whitespace().next().unwrap_or_default();
    let plain = !name.is_empty() && !name.contains('/');
    plain || known.iter().any(|command| command.name == name)
}

/// The texts of a message, each on lines of its own.
pub(crate) fn joined(content: &Content) -> String {
    match content {
        Content::Text(text) => text.clone(),
        Content::Blocks(blocks) => {
            let texts: Vec<&str> = blocks
                .iter()
                .filter_map(
                    |block| if let Block::Text(block) = block { Some(block.text.as_str()) } else { None },
                )
                .collect();
            texts.join("\n")
        }
    }
}

/// What came with a message besides text.
pub(crate) fn attachments(content: &Content) -> Vec<Attachment> {
    let Content::Blocks(blocks) = content else { return Vec::new() };
    blocks
        .iter()
        .filter_map(|block| match block {
            Block::Image(image) => Some(attachment_of("image", &image.source)),
            Block::Document(document) => Some(attachment_of("document", &document.source)),
            _ => None,
        })
        .collect()
}

pub(crate) fn attachment_of(kind: &str, source: &Source) -> Attachment {
    match source {
        Source::Base64 { media_type, data } | Source::Text { media_type, data } => {
            attachment(kind, Some(media_type), data.len())
        }
        Source::Url { .. } | Source::File { .. } => attachment(kind, None, 0),
    }
}

pub(crate) fn attachment(kind: &str, media_type: Option<&str>, bytes: usize) -> Attachment {
    Attachment { kind: kind.to_owned(), media_type: media_type.map(str::to_owned), bytes: bytes as u64 }
}

pub(crate) fn rate_limit(line: &wire::RateLimitEvent) -> RateLimit {
    let told = &line.rate_limit_info;
    let kind = told.rate_limit_type.as_deref().unwrap_or("usage").replace('_', " ");
    let rate_limit_message = match &told.status {
        wire::RateLimitStatus::Rejected => format!("the {kind} limit is reached"),
        wire::RateLimitStatus::AllowedWarning => format!("the {kind} limit is near"),
        wire::RateLimitStatus::Allowed => format!("within the {kind} limit"),
        wire::RateLimitStatus::Other(word) => format!("{kind} limit: {word}"),
    };
    RateLimit { rate_limit_message, status: told.status.as_str().to_owned(), resets_at: told.resets_at }
}

/// Why a turn failed.
pub(crate) fn turn_failure(line: &ResultMessage, api_error: Option<&str>) -> Error {
    let interrupted =
        matches!(line.terminal_reason, Some(TerminalReason::AbortedStreaming | TerminalReason::AbortedTools));
    if interrupted && api_error.is_none() {
        // The CLI's own text is a diagnostic for its authors [interrupt/mid_stream_text].
        return Error { error: "the turn was interrupted".to_owned(), code: "interrupted".to_owned() };
    }
    let error = match &line.result {
        Some(text) if !text.is_empty() => text.clone(),
        _ if line.errors.is_empty() => format!("the turn ended with {}", line.subtype.as_str()),
        _ => line.errors.join("\n"),
    };
    let code = match api_error {
        // The CLI calls it a bad request; that the model refused stands elsewhere [errors/refusal_empty].
        _ if line.stop_reason == Some(wire::StopReason::Refusal) => "refusal".to_owned(),
        Some("server_error") => server_trouble(&error, line.api_error_status).to_owned(),
        Some(code) => code.to_owned(),
        None => match &line.subtype {
            wire::ResultSubtype::Success => {
                line.terminal_reason.as_ref().map_or("api_error", TerminalReason::as_str).to_owned()
            }
            subtype => subtype.as_str().to_owned(),
        },
    };
    Error { error, code }
}

/// What the CLI calls `server_error` is three things, each with another next step. Only its words tell them apart:
/// it gives no status [errors/http_529_exhausted] [errors/connection_refused].
fn server_trouble(words: &str, status: Option<u64>) -> &'static str {
    match status {
        Some(529) => "overloaded",
        None if words.contains("529") || words.contains("Overloaded") => "overloaded",
        None if words.contains("onnect") => "api_unreachable",
        _ => "server_error",
    }
}

/// A compaction whose end was not told.
pub(crate) fn compaction_lost(why: &str) -> Compaction {
    Compaction {
        trigger: None,
        pre_tokens: None,
        post_tokens: None,
        status: CompactionStatus::Failed,
        message: Some(why.to_owned()),
    }
}

/// Why a run failed, if it did so without a result that says it.
pub(crate) fn run_failure(exit: &Exit, reason: RunEndReason, in_turn: bool, stderr: &str) -> Option<Error> {
    let last = stderr.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let because = if last.is_empty() { String::new() } else { format!(": {last}") };
    let (error, code) = match (exit, reason) {
        (Exit::NotStarted(why), _) => (why.clone(), "not_started"),
        (Exit::Code(code), RunEndReason::Failed) => {
            (format!("the CLI exited with code {code}{because}"), "exited")
        }
        (Exit::Signal(signal), RunEndReason::Crashed) => {
            (format!("the CLI was ended by signal {signal}{because}"), "crashed")
        }
        _ if in_turn => (format!("the run ended in the middle of a turn{because}"), "truncated"),
        _ => return None,
    };
    Some(Error { error, code: code.to_owned() })
}
