//! A line to a value, always.
//!
//! First the tag, then that one struct straight from the text; deltas by hand. The rule: total,
//! and every shortcut gives exactly what the long way gives.

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::control::{CliRequest, ControlRequest};
use crate::delta;
use crate::ids::RequestId;
use crate::inbound::{Decoded, Form, Inbound, Malformed, Unknown};
use crate::lenient;
use crate::raw::Raw;
use crate::repair;
use crate::stream_event::StreamEvent;
use crate::system::System;
use crate::tag;

/// Decodes one line. Total: any bytes give exactly one value.
pub fn decode(line: &[u8]) -> Decoded<'_> {
    let Ok(text) = simdutf8::basic::from_utf8(line) else { return decode_lossy(line, quick) };
    // Nine lines of ten are deltas; they leave here.
    if let Some((event, form)) = delta::read(text) {
        let message = Inbound::StreamEvent(event);
        return Decoded { text: Cow::Borrowed(text), repaired: false, form, message };
    }
    decode_text(text, quick)
}

/// Decodes one line without any shortcut. What `decode` gives must equal this; it is public so
/// that tests and benchmarks can compare.
pub fn decode_without_shortcuts(line: &[u8]) -> Decoded<'_> {
    match std::str::from_utf8(line) {
        Ok(text) => {
            let form = delta::read(text).map_or(Form::Any, |(_, form)| form);
            Decoded { form, ..decode_text(text, thorough) }
        }
        Err(_) => decode_lossy(line, thorough),
    }
}

type Read = for<'a> fn(&'a str) -> Inbound<'a>;

fn decode_text(text: &str, read: Read) -> Decoded<'_> {
    let (message, repaired) = read_or_repair(text, read);
    Decoded { text: Cow::Borrowed(text), repaired, form: Form::Any, message }
}

fn decode_lossy(line: &[u8], read: Read) -> Decoded<'_> {
    let text = String::from_utf8_lossy(line);
    let message = read_or_repair(&text, read).0.into_owned();
    Decoded { text: Cow::Owned(text.into_owned()), repaired: true, form: Form::Any, message }
}

fn read_or_repair(text: &str, read: Read) -> (Inbound<'_>, bool) {
    let message = read(text);
    if matches!(message, Inbound::Malformed(_))
        && let Some(repaired) = repair::replace_lone_surrogates(text)
    {
        let second = read(&repaired);
        if !matches!(second, Inbound::Malformed(_)) {
            return (second.into_owned(), true);
        }
    }
    (message, false)
}

/// The usual forms; whatever is not one of them is read thoroughly.
fn quick(text: &str) -> Inbound<'_> {
    if let Some((event, _)) = delta::read(text) {
        return Inbound::StreamEvent(event);
    }
    // A control request's subtype is not at the top level, and errors are told by one place only.
    match tag::shortcut(text) {
        Some(("system", Some(subtype))) => match System::read(subtype, text) {
            Some(Ok(system)) => Inbound::System(system),
            _ => thorough(text),
        },
        Some((kind, _)) => match body(kind, text) {
            Some(Ok(message)) => message,
            _ => thorough(text),
        },
        None => thorough(text),
    }
}

fn thorough(text: &str) -> Inbound<'_> {
    if text.bytes().all(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n')) {
        return Inbound::Blank;
    }
    let found = tag::find(text, ["type", "subtype", "request", "request_id"]);
    let [kind, subtype, request, request_id] = match found {
        Ok(found) => found,
        Err(error) => return not_an_object(text, &error),
    };
    let kind = match kind.map(tag::string) {
        Some(Ok(kind)) => kind,
        Some(Err(error)) => {
            return malformed(None, format!("`type` is not a string: {}", lenient::reason(&error)));
        }
        None => return malformed(None, "a JSON object without `type`".to_owned()),
    };
    match &*kind {
        "system" => {
            let subtype = match subtype.map(tag::string) {
                Some(Ok(subtype)) => subtype,
                Some(Err(error)) => {
                    return malformed(
                        Some(&kind),
                        format!("`subtype` is not a string: {}", lenient::reason(&error)),
                    );
                }
                None => return malformed(Some(&kind), "no `subtype`".to_owned()),
            };
            let tag = || format!("system/{subtype}");
            match System::read(&subtype, text) {
                Some(Ok(system)) => Inbound::System(system),
                Some(Err(error)) => malformed(Some(&tag()), lenient::reason(&error)),
                None => Inbound::Unknown(Unknown { tag: tag(), request_id: RequestId::Missing }),
            }
        }
        "control_request" => {
            let request_id = request_id.map_or(RequestId::Missing, |raw| {
                tag::string(raw)
                    .map_or_else(|_| RequestId::Other(Raw::from(raw)), |text| text.into_owned().into())
            });
            control_request(request.map(serde_json::value::RawValue::get), request_id)
        }
        _ => match body(&kind, text) {
            Some(Ok(message)) => message,
            Some(Err(error)) => malformed(Some(&kind), lenient::reason(&error)),
            None => Inbound::Unknown(Unknown { tag: kind.into_owned(), request_id: RequestId::Missing }),
        },
    }
}

/// The message of that type, read from the text; `None` when the type is unknown. `system` and
/// `control_request` are not here: their type is not all of their tag.
fn body<'a>(kind: &str, text: &'a str) -> Option<Result<Inbound<'a>, serde_json::Error>> {
    Some(match kind {
        "stream_event" => StreamEvent::read(text).map(Inbound::StreamEvent),
        "assistant" => boxed(text).map(Inbound::Assistant),
        "user" => boxed(text).map(Inbound::User),
        "result" => boxed(text).map(Inbound::Result),
        "control_response" => boxed(text).map(Inbound::ControlResponse),
        "control_cancel_request" => plain(text).map(Inbound::ControlCancelRequest),
        "rate_limit_event" => boxed(text).map(Inbound::RateLimitEvent),
        "tool_progress" => boxed(text).map(Inbound::ToolProgress),
        "tool_use_summary" => boxed(text).map(Inbound::ToolUseSummary),
        "auth_status" => boxed(text).map(Inbound::AuthStatus),
        "prompt_suggestion" => boxed(text).map(Inbound::PromptSuggestion),
        "conversation_reset" => boxed(text).map(Inbound::ConversationReset),
        "command_lifecycle" => boxed(text).map(Inbound::CommandLifecycle),
        "keep_alive" => plain(text).map(Inbound::KeepAlive),
        "transcript_mirror" => boxed(text).map(Inbound::TranscriptMirror),
        "active_goal" => boxed(text).map(Inbound::ActiveGoal),
        "autocompact_state" => boxed(text).map(Inbound::AutocompactState),
        _ => return None,
    })
}

fn boxed<T: DeserializeOwned>(text: &str) -> Result<Box<T>, serde_json::Error> {
    plain(text).map(Box::new)
}

fn plain<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, serde_json::Error> {
    serde_json::from_str(text)
}

fn control_request(request: Option<&str>, request_id: RequestId) -> Inbound<'_> {
    let malformed = |tag: &str, reason: String, request_id| {
        Inbound::Malformed(Malformed { tag: Some(tag.to_owned()), reason, request_id })
    };
    let Some(request) = request else {
        return malformed("control_request", "no `request`".to_owned(), request_id);
    };
    let subtype = match tag::member(request, "subtype") {
        Ok(Some(subtype)) => subtype,
        Ok(None) => return malformed("control_request", "no `request.subtype`".to_owned(), request_id),
        Err(error) => return malformed("control_request", lenient::reason(&error), request_id),
    };
    let tag = format!("control_request/{subtype}");
    match CliRequest::read(&subtype, request) {
        Some(Ok(request)) => Inbound::ControlRequest(Box::new(ControlRequest { request_id, request })),
        Some(Err(error)) => malformed(&tag, lenient::reason(&error), request_id),
        None => Inbound::Unknown(Unknown { tag, request_id }),
    }
}

fn not_an_object<'a>(text: &str, error: &serde_json::Error) -> Inbound<'a> {
    let tag = tag::shortcut(text).map(|(kind, subtype)| match subtype {
        Some(subtype) if kind == "system" => format!("system/{subtype}"),
        _ => kind.to_owned(),
    });
    let reason = match text.trim_ascii_start().bytes().next() {
        // [basic/oneshot_json_verbose]
        Some(b'[') if serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok() => {
            "a JSON array, not an object; `--output-format json --verbose` prints one".to_owned()
        }
        Some(b'{') => format!("broken JSON: {}", lenient::reason(error)),
        Some(0xEF) if text.starts_with('\u{feff}') => "begins with a byte order mark".to_owned(),
        _ if serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok() => {
            "JSON, but not an object".to_owned()
        }
        _ => format!("not JSON: {}", lenient::reason(error)),
    };
    malformed(tag.as_deref(), reason)
}

fn malformed<'a>(tag: Option<&str>, reason: String) -> Inbound<'a> {
    Inbound::Malformed(Malformed { tag: tag.map(str::to_owned), reason, request_id: RequestId::Missing })
}
