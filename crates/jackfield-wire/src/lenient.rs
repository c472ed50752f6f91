//! Field readers that forgive what does not matter.
//!
//! Not a second decoder: a field of the wrong kind is still an error of its message. The rule:
//! `null` counts as absent, and a number is never the reason to lose a message. A negative count
//! is read as 0, a fraction is rounded, and what does not fit saturates.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// A string, borrowed from the line when it has no escapes.
pub(crate) fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Cow<'de, str>, D::Error> {
    deserializer.deserialize_str(TextVisitor)
}

/// A string or nothing, borrowed where possible. (A derived `Option<Cow>` always copies.)
pub(crate) fn optional_text<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Cow<'de, str>>, D::Error> {
    Ok(Option::<Text<'de>>::deserialize(deserializer)?.map(|text| text.0))
}

/// A count.
pub(crate) fn count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    optional_count(deserializer).map(Option::unwrap_or_default)
}

/// A count or nothing.
pub(crate) fn optional_count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    let Some(number) = number_text(deserializer)? else { return Ok(None) };
    if let Ok(count) = number.parse::<u64>() {
        return Ok(Some(count));
    }
    let number: f64 = number.parse().map_err(D::Error::custom)?;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the cast saturates, which is what is wanted"
    )]
    Ok(Some(number.round() as u64))
}

/// An amount of money or time.
pub(crate) fn amount<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    optional_amount(deserializer).map(Option::unwrap_or_default)
}

/// An amount or nothing.
pub(crate) fn optional_amount<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    let Some(number) = number_text(deserializer)? else { return Ok(None) };
    let number: f64 = number.parse().map_err(D::Error::custom)?;
    Ok(Some(number.clamp(f64::MIN, f64::MAX)))
}

/// A flag; `null` is false.
pub(crate) fn flag<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    Ok(Option::<bool>::deserialize(deserializer)?.unwrap_or_default())
}

/// A list or map; `null` is empty.
pub(crate) fn or_default<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(
    deserializer: D,
) -> Result<T, D::Error> {
    Ok(Option::<T>::deserialize(deserializer)?.unwrap_or_default())
}

/// A member that is there, `null` included; together with `default` this tells `null` from absent.
pub(crate) fn present<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

/// The text of a JSON number; through the raw value because `1e999` is valid JSON and no `f64`.
fn number_text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de str>, D::Error> {
    let text = <&RawValue>::deserialize(deserializer)?.get();
    match text.as_bytes().first() {
        Some(b'-' | b'0'..=b'9') => Ok(Some(text)),
        Some(b'n') => Ok(None),
        _ => Err(D::Error::custom(format_args!("expected a number, found {}", shorten(text)))),
    }
}

/// What an error says, within bounds: serde quotes the value it did not expect, all of it.
pub(crate) fn reason(error: &serde_json::Error) -> String {
    let reason = error.to_string();
    let short = shorten(&reason);
    if short.len() < reason.len() { format!("{short}…") } else { reason }
}

/// The beginning of a text.
fn shorten(text: &str) -> &str {
    let mut end = text.len().min(200);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

struct Text<'de>(Cow<'de, str>);

impl<'de> Deserialize<'de> for Text<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        text(deserializer).map(Text)
    }
}

struct TextVisitor;

impl<'de> Visitor<'de> for TextVisitor {
    type Value = Cow<'de, str>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a string")
    }

    fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(text))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(text.to_owned()))
    }

    fn visit_string<E: Error>(self, text: String) -> Result<Self::Value, E> {
        Ok(Cow::Owned(text))
    }
}
