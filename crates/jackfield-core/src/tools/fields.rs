//! A JSON object looked at field by field.
//!
//! Not a decoder of whole structures: a derived one gives up the object for one field of the wrong kind,
//! for a field that comes twice, or for an escape that is no character. The one rule: what one field holds
//! is never a reason to lose another.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// The fields of a JSON object, unread.
#[derive(Debug)]
pub(super) struct Fields<'a> {
    json: &'a str,
    members: Vec<(Cow<'a, str>, &'a RawValue)>,
}

impl<'a> Fields<'a> {
    /// The fields of `json`, if it is an object.
    pub(super) fn read(json: &'a str) -> Option<Self> {
        let Members(members) = serde_json::from_str(json).ok()?;
        Some(Self { json, members })
    }

    /// The object as it was written.
    pub(super) fn json(&self) -> &'a str {
        self.json
    }

    /// Names and values in the order in which they were written.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &'a str)> {
        self.members.iter().map(|(name, value)| (name.as_ref(), value.get()))
    }

    /// A field's JSON text. Of a field that comes twice the last one counts, as it does in the CLI.
    pub(super) fn raw(&self, name: &str) -> Option<&'a str> {
        self.members.iter().rfind(|(member, _)| member == name).map(|(_, value)| value.get())
    }

    /// A string.
    pub(super) fn text(&self, name: &str) -> Option<String> {
        self.raw(name).and_then(text)
    }

    /// An id: a string, or a number written as one.
    pub(super) fn id(&self, name: &str) -> Option<String> {
        self.text(name).or_else(|| self.number(name).map(str::to_owned))
    }

    /// A number that is not negative.
    pub(super) fn count(&self, name: &str) -> Option<u64> {
        let number = self.number(name)?;
        if let Ok(count) = number.parse() {
            return Some(count);
        }
        let number: f64 = number.parse().ok().filter(|number| *number >= 0.0)?;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "the cast saturates, which is what is wanted"
        )]
        Some(number as u64)
    }

    /// A whole number.
    pub(super) fn integer(&self, name: &str) -> Option<i64> {
        self.number(name)?.parse().ok()
    }

    /// Whether a field says `true`.
    pub(super) fn flag(&self, name: &str) -> bool {
        self.raw(name) == Some("true")
    }

    /// An object.
    pub(super) fn object(&self, name: &str) -> Option<Fields<'a>> {
        self.raw(name).and_then(Fields::read)
    }

    /// The objects of a list; what is none is left out.
    pub(super) fn objects(&self, name: &str) -> Option<Vec<Fields<'a>>> {
        let elements = self.raw(name).and_then(elements)?;
        Some(elements.into_iter().filter_map(Fields::read).collect())
    }

    /// The strings of a list; what is none is left out.
    pub(super) fn texts(&self, name: &str) -> Option<Vec<String>> {
        let elements = self.raw(name).and_then(elements)?;
        Some(elements.into_iter().filter_map(text).collect())
    }

    fn number(&self, name: &str) -> Option<&'a str> {
        self.raw(name).filter(|json| json.starts_with(|first: char| first == '-' || first.is_ascii_digit()))
    }
}

/// A JSON string's text.
pub(super) fn text(json: &str) -> Option<String> {
    let Text(text) = serde_json::from_str(json).ok()?;
    Some(text.into_owned())
}

/// The text of a message's content: a string, or the text blocks of a list, one per line.
pub(super) fn text_of_blocks(json: &str) -> Option<String> {
    text(json).or_else(|| {
        let blocks = elements(json)?.into_iter().filter_map(Fields::read);
        Some(blocks.filter_map(|block| block.text("text")).collect::<Vec<_>>().join("\n"))
    })
}

/// The elements of a JSON list.
fn elements(json: &str) -> Option<Vec<&str>> {
    let elements: Vec<&RawValue> = serde_json::from_str(json).ok()?;
    Some(elements.into_iter().map(RawValue::get).collect())
}

struct Members<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_map(MembersVisitor)
    }
}

struct MembersVisitor;

impl<'de> Visitor<'de> for MembersVisitor {
    type Value = Members<'de>;

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::new();
        while let Some((Text(name), value)) = map.next_entry()? {
            members.push((name, value));
        }
        Ok(Members(members))
    }
}

/// A string, read as bytes: so a lone surrogate becomes a replacement character and not an error.
struct Text<'a>(Cow<'a, str>);

impl<'de> Deserialize<'de> for Text<'de> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_bytes(TextVisitor)
    }
}

struct TextVisitor;

impl<'de> Visitor<'de> for TextVisitor {
    type Value = Text<'de>;

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("a string")
    }

    fn visit_borrowed_bytes<E: Error>(self, bytes: &'de [u8]) -> Result<Self::Value, E> {
        Ok(Text(std::str::from_utf8(bytes).map_or_else(|_| Cow::Owned(repaired(bytes)), Cow::Borrowed)))
    }

    fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Self::Value, E> {
        Ok(Text(Cow::Owned(repaired(bytes))))
    }
}

fn repaired(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        // Each of a surrogate's three bytes is a chunk; only the first one is not a continuation.
        if chunk.invalid().first().is_some_and(|byte| !(0x80..0xC0).contains(byte)) {
            text.push(char::REPLACEMENT_CHARACTER);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_field_of_the_wrong_kind_does_not_lose_the_others() {
        let fields = Fields::read(r#"{"command": ["no"], "timeout": 1.5e3, "description": "d"}"#).unwrap();
        assert_eq!(fields.text("command"), None);
        assert_eq!(fields.count("timeout"), Some(1500));
        assert_eq!(fields.text("description").as_deref(), Some("d"));
    }

    #[test]
    fn of_a_field_that_comes_twice_the_last_counts() {
        let fields = Fields::read(r#"{"a": "first", "a": "last"}"#).unwrap();
        assert_eq!(fields.text("a").as_deref(), Some("last"));
    }

    #[test]
    fn a_lone_surrogate_becomes_one_replacement_character() {
        let fields = Fields::read(r#"{"\ud800": 1, "command": "a\ud83d b 😀\n"}"#).unwrap();
        assert_eq!(fields.text("command").as_deref(), Some("a\u{FFFD} b 😀\n"));
        assert_eq!(fields.count("\u{FFFD}"), Some(1));
    }

    #[test]
    fn a_number_may_be_an_id_but_not_a_text() {
        let fields = Fields::read(r#"{"id": 7, "other": "7", "no": true}"#).unwrap();
        assert_eq!(fields.id("id").as_deref(), Some("7"));
        assert_eq!(fields.id("other").as_deref(), Some("7"));
        assert_eq!(fields.text("id"), None);
        assert_eq!(fields.id("no"), None);
    }

    #[test]
    fn a_number_out_of_range_saturates_or_is_nothing() {
        let fields = Fields::read(r#"{"huge": 1e99, "endless": 1e999, "negative": -3}"#).unwrap();
        assert_eq!(fields.count("huge"), Some(u64::MAX));
        assert_eq!(fields.count("endless"), Some(u64::MAX));
        assert_eq!(fields.count("negative"), None);
        assert_eq!(fields.integer("negative"), Some(-3));
    }

    #[test]
    fn blocks_without_text_are_left_out_of_the_text() {
        let blocks =
            r#"[{"type":"text","text":"a"},{"type":"image","source":{}},{"type":"text","text":"b"}]"#;
        assert_eq!(text_of_blocks(blocks).as_deref(), Some("a\nb"));
        assert_eq!(text_of_blocks(r#""plain""#).as_deref(), Some("plain"));
        assert_eq!(text_of_blocks("7"), None);
    }
}
