//! What every line of a transcript file may say, whatever its type.
//!
//! The messages themselves are decoded by `jackfield-wire`; this is what lists and links need of the lines
//! it does not know, too. The one rule it keeps: a field that is not a text is an absent one.

use jackfield_wire::{TranscriptEntry, decode_entry};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// A line of a transcript file.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) entry: TranscriptEntry,
    pub(super) facts: Facts,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Facts {
    #[serde(rename = "type", deserialize_with = "text")]
    pub(super) kind: Option<String>,
    #[serde(deserialize_with = "text")]
    pub(super) uuid: Option<String>,
    #[serde(deserialize_with = "text")]
    pub(super) parent_uuid: Option<String>,
    /// What came before a compaction.
    #[serde(deserialize_with = "text")]
    pub(super) logical_parent_uuid: Option<String>,
    #[serde(deserialize_with = "flag")]
    pub(super) is_sidechain: bool,
    #[serde(deserialize_with = "flag")]
    pub(super) is_compact_summary: bool,
    #[serde(deserialize_with = "text")]
    pub(super) timestamp: Option<String>,
    #[serde(deserialize_with = "text")]
    pub(super) cwd: Option<String>,
    #[serde(deserialize_with = "text")]
    pub(super) version: Option<String>,
    #[serde(deserialize_with = "text")]
    pub(super) git_branch: Option<String>,
    #[serde(deserialize_with = "text")]
    pub(super) custom_title: Option<String>,
    #[serde(deserialize_with = "text")]
    pub(super) agent_name: Option<String>,
    #[serde(deserialize_with = "text")]
    pub(super) ai_title: Option<String>,
    #[serde(deserialize_with = "text")]
    pub(super) summary: Option<String>,
    #[serde(deserialize_with = "text")]
    pub(super) tag: Option<String>,
    #[serde(deserialize_with = "text")]
    pub(super) last_prompt: Option<String>,
}

impl Line {
    pub(super) fn read(bytes: &[u8]) -> Self {
        let decoded = decode_entry(bytes);
        Self { facts: Facts::read(&decoded.text), entry: decoded.entry }
    }
}

impl Facts {
    /// Nothing, when the line is not an object.
    pub(super) fn read(line: &str) -> Self {
        serde_json::from_str(line).unwrap_or_default()
    }
}

fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let raw = <&RawValue>::deserialize(deserializer)?;
    Ok(serde_json::from_str(raw.get()).ok())
}

fn flag<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    let raw = <&RawValue>::deserialize(deserializer)?;
    Ok(raw.get() == "true")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_of_another_kind_hides_no_other_field() {
        let facts = Facts::read(r#"{"type":"new","uuid":"a","summary":{"x":1},"tag":7,"isSidechain":"no"}"#);
        assert_eq!((facts.kind.as_deref(), facts.uuid.as_deref()), (Some("new"), Some("a")));
        assert_eq!((facts.summary, facts.tag, facts.is_sidechain), (None, None, false));
    }

    #[test]
    fn what_is_not_an_object_has_no_facts() {
        assert_eq!(Facts::read(r#"{"uuid":"a""#).uuid, None);
        assert_eq!(Facts::read("7").uuid, None);
    }
}
