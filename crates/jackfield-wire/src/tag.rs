//! Finding what a message is before reading it.
//!
//! Not a parser of bodies: values are skipped, however deep. The rule: the first member of a name
//! wins, and the short way (`shortcut`) never says anything that `find` does not say.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::lenient;

/// The first members of these names at the top level of an object.
pub(crate) fn find<'a, const N: usize>(
    text: &'a str,
    names: [&'static str; N],
) -> Result<[Option<&'a RawValue>; N], serde_json::Error> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let found = deserializer.deserialize_map(Finder { names })?;
    deserializer.end()?;
    Ok(found)
}

/// The first member of this name, which must be a string.
pub(crate) fn member<'a>(
    text: &'a str,
    name: &'static str,
) -> Result<Option<Cow<'a, str>>, serde_json::Error> {
    let [found] = find(text, [name])?;
    found.map(string).transpose()
}

/// The `type` of an object inside a line that was read as JSON already.
pub(crate) fn inner(text: &str) -> Result<Option<Cow<'_, str>>, serde_json::Error> {
    match shortcut(text) {
        Some((kind, _)) => Ok(Some(Cow::Borrowed(kind))),
        None => member(text, "type"),
    }
}

/// The string that a raw value is.
pub(crate) fn string(raw: &RawValue) -> Result<Cow<'_, str>, serde_json::Error> {
    lenient::text(&mut serde_json::Deserializer::from_str(raw.get()))
}

/// Type and subtype of a line in the form the CLI usually writes; `None` means: look properly.
pub(crate) fn shortcut(text: &str) -> Option<(&str, Option<&str>)> {
    let (kind, rest) = word(text.strip_prefix(r#"{"type":""#)?)?;
    let subtype = rest.strip_prefix(r#","subtype":""#).and_then(word).map(|(subtype, _)| subtype);
    Some((kind, subtype))
}

/// A plain word up to its closing quote, and what follows the quote.
fn word(text: &str) -> Option<(&str, &str)> {
    let end = text.bytes().position(|byte| !(byte.is_ascii_lowercase() || byte == b'_'))?;
    let rest = text[end..].strip_prefix('"')?;
    rest.starts_with([',', '}']).then_some((&text[..end], rest))
}

struct Finder<const N: usize> {
    names: [&'static str; N],
}

impl<'de, const N: usize> Visitor<'de> for Finder<N> {
    type Value = [Option<&'de RawValue>; N];

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut found = [None; N];
        while let Some(place) = map.next_key_seed(Place(&self.names))? {
            match place {
                Some(place) if found[place].is_none() => found[place] = Some(map.next_value()?),
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(found)
    }
}

/// Reads a key as its place in the list of names.
struct Place<'a>(&'a [&'static str]);

impl<'de> DeserializeSeed<'de> for Place<'_> {
    type Value = Option<usize>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        let key = lenient::text(deserializer)?;
        Ok(self.0.iter().position(|name| *name == key))
    }
}
