//! Decoding of our own tagged enums, straight from the text.
//!
//! `serde` serialises an internally tagged enum with raw JSON inside, but cannot read it back: it buffers
//! the object and the raw text is gone. So each enum of the contract finds its tag first and then reads
//! the variant's struct from the same text. A tag that is not known is an error here: our own contract
//! has a version.

use serde::Deserialize;

/// Reads the member `$tag` of a JSON object and nothing else of it.
macro_rules! by_tag {
    ($name:ident, $tag:literal, { $($text:literal => $variant:ident),+ $(,)? }) => {
        impl $name {
            /// The tag as it stands in the JSON.
            pub fn tag(&self) -> &'static str {
                match self { $(Self::$variant(_) => $text),+ }
            }

            pub(crate) fn from_text(text: &str) -> Result<Self, serde_json::Error> {
                #[derive(serde::Deserialize)]
                struct Tag<'a> { #[serde(rename = $tag, borrow)] tag: std::borrow::Cow<'a, str> }
                let tag: Tag<'_> = serde_json::from_str(text)?;
                match &*tag.tag {
                    $($text => serde_json::from_str(text).map(Self::$variant),)+
                    other => Err(serde::de::Error::unknown_variant(other, &[$($text),+])),
                }
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                $crate::tagged::deserialize(from, Self::from_text)
            }
        }
    };
}
pub(crate) use by_tag;

/// The common half of every `Deserialize` made by [`by_tag`].
pub(crate) fn deserialize<'de, D: serde::Deserializer<'de>, T>(
    from: D,
    read: impl Fn(&str) -> Result<T, serde_json::Error>,
) -> Result<T, D::Error> {
    let raw = Box::<serde_json::value::RawValue>::deserialize(from)?;
    read(raw.get()).map_err(serde::de::Error::custom)
}
