//! Recorded host lines, read again.
//!
//! A replay feeds the machine what a host once wrote, good or bad. The rule: total, like the
//! decoding of the CLI's own lines, and misuse is malformed, never unknown.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::value::RawValue;

use super::{
    HostAnswer, HostControlRequest, HostControlResponse, HostOutcome, HostRequest, OtherRequest, Outbound,
    Prompt,
};
use crate::ids::RequestId;
use crate::inbound::{Malformed, Unknown};
use crate::lenient;
use crate::raw::{Object, Raw};
use crate::repair;
use crate::tag;

/// A recorded host line and what it says.
#[derive(Debug, Clone, PartialEq)]
pub struct DecodedOutbound<'a> {
    /// The line; with replacement characters where it was not UTF-8.
    pub text: Cow<'a, str>,
    /// What it says.
    pub message: OutboundMessage,
}

/// What a recorded host line can be.
#[derive(Debug, Clone, PartialEq)]
pub enum OutboundMessage {
    /// A message the host may send.
    Known(Outbound),
    /// An empty line, which the CLI ignores; one of white space ends it [process/stdin_blank_spaces].
    Blank,
    /// A type the CLI ignores.
    Unknown(Unknown),
    /// What the CLI does not accept, or not in this form.
    Malformed(Malformed),
}

impl Outbound {
    /// Decodes one recorded line. Total: any bytes give exactly one value.
    pub fn decode(line: &[u8]) -> DecodedOutbound<'_> {
        let text = String::from_utf8_lossy(line);
        let mut message = read(&text);
        if matches!(message, OutboundMessage::Malformed(_))
            && let Some(repaired) = repair::replace_lone_surrogates(&text)
            && let repaired = read(&repaired)
            && !matches!(repaired, OutboundMessage::Malformed(_))
        {
            message = repaired;
        }
        DecodedOutbound { text, message }
    }
}

fn read(text: &str) -> OutboundMessage {
    if text.is_empty() {
        return OutboundMessage::Blank;
    }
    let found = tag::find(text, ["type", "request_id", "request", "response"]);
    let [kind, request_id, request, response] = match found {
        Ok(found) => found,
        Err(error) => return malformed(None, lenient::reason(&error), RequestId::Missing),
    };
    let request_id = request_id.map_or(RequestId::Missing, id);
    let kind = match kind.map(tag::string) {
        Some(Ok(kind)) => kind,
        // The CLI ignores an object without a type.
        None => return OutboundMessage::Unknown(Unknown { tag: String::new(), request_id }),
        Some(Err(error)) => return malformed(None, lenient::reason(&error), request_id),
    };
    let outbound = match &*kind {
        "user" => Prompt::read(text).map(|prompt| Outbound::User(Box::new(prompt))),
        "control_request" => match request {
            Some(request) => return control_request(request, request_id),
            None => Err(serde::de::Error::missing_field("request")),
        },
        "control_response" => match response {
            Some(response) => return control_response(response),
            None => Err(serde::de::Error::missing_field("response")),
        },
        "control_cancel_request" => Ok(Outbound::ControlCancelRequest { request_id: request_id.clone() }),
        "keep_alive" => Ok(Outbound::KeepAlive),
        "update_environment_variables" => {
            serde_json::from_str(text).map(Outbound::UpdateEnvironmentVariables)
        }
        "bash_command" => serde_json::from_str(text).map(Outbound::BashCommand),
        "assistant" => serde_json::from_str(text).map(Outbound::Assistant),
        "system" => serde_json::from_str(text).map(Outbound::System),
        _ => return OutboundMessage::Unknown(Unknown { tag: kind.into_owned(), request_id }),
    };
    match outbound {
        Ok(outbound) => OutboundMessage::Known(outbound),
        Err(error) => malformed(Some(kind.into_owned()), lenient::reason(&error), request_id),
    }
}

fn control_request(raw: &RawValue, request_id: RequestId) -> OutboundMessage {
    let text = raw.get();
    let subtype = match tag::member(text, "subtype") {
        Ok(Some(subtype)) => subtype,
        Ok(None) => {
            return malformed(
                Some("control_request".to_owned()),
                "no `request.subtype`".to_owned(),
                request_id,
            );
        }
        Err(error) => {
            return malformed(Some("control_request".to_owned()), lenient::reason(&error), request_id);
        }
    };
    let request = match HostRequest::read(&subtype, text) {
        Some(Ok(request)) if has_same_members(text, &request.encode()) => request,
        Some(Err(error)) => {
            return malformed(
                Some(format!("control_request/{subtype}")),
                lenient::reason(&error),
                request_id,
            );
        }
        // A newer subtype, or members that the type has no place for: kept as they are.
        Some(Ok(_)) | None => {
            HostRequest::Other(OtherRequest::recorded(subtype.into_owned(), arguments(raw)))
        }
    };
    OutboundMessage::Known(Outbound::ControlRequest(Box::new(HostControlRequest { request_id, request })))
}

fn control_response(raw: &RawValue) -> OutboundMessage {
    let tag = || Some("control_response".to_owned());
    let found = tag::find(raw.get(), ["subtype", "request_id", "response", "error"]);
    let [subtype, request_id, response, error] = match found {
        Ok(found) => found,
        Err(error) => return malformed(tag(), lenient::reason(&error), RequestId::Missing),
    };
    // Without an id inside, the CLI ignores the answer and waits [permission/bash_kandev_shape].
    let request_id = request_id.map_or(RequestId::Missing, id);
    let outcome = match subtype.map(tag::string) {
        Some(Ok(subtype)) if subtype == "success" => match response {
            Some(response) => HostAnswer::read(response).map(HostOutcome::Success),
            None => Err(serde::de::Error::missing_field("response")),
        },
        Some(Ok(subtype)) if subtype == "error" => error
            .map_or(Ok(Cow::Borrowed("")), tag::string)
            .map(|error| HostOutcome::Error { error: error.into_owned() }),
        Some(Ok(subtype)) => Err(serde::de::Error::custom(format_args!("unknown subtype `{subtype}`"))),
        Some(Err(error)) => Err(error),
        None => Err(serde::de::Error::missing_field("subtype")),
    };
    match outcome {
        Ok(outcome) => OutboundMessage::Known(Outbound::ControlResponse(Box::new(HostControlResponse {
            request_id,
            outcome,
        }))),
        Err(error) => malformed(tag(), lenient::reason(&error), request_id),
    }
}

/// The request without its subtype.
fn arguments(raw: &RawValue) -> Object {
    let members: BTreeMap<String, Raw> = serde_json::from_str(raw.get()).unwrap_or_default();
    let members: Vec<_> = members.into_iter().filter(|(name, _)| name != "subtype").collect();
    Object::from_value(&Members(members)).unwrap_or_default()
}

struct Members(Vec<(String, Raw)>);

impl serde::Serialize for Members {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

/// Whether two objects have the same member names.
fn has_same_members(one: &str, other: &str) -> bool {
    let members = |text| serde_json::from_str::<BTreeMap<String, Raw>>(text);
    matches!((members(one), members(other)), (Ok(one), Ok(other)) if one.keys().eq(other.keys()))
}

fn id(raw: &RawValue) -> RequestId {
    tag::string(raw).map_or_else(|_| RequestId::Other(Raw::from(raw)), |text| text.into_owned().into())
}

fn malformed(tag: Option<String>, reason: String, request_id: RequestId) -> OutboundMessage {
    OutboundMessage::Malformed(Malformed { tag, reason, request_id })
}
