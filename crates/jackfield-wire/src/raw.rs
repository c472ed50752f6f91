//! JSON kept as it was written.
//!
//! Not a document model: nothing here is looked into before somebody asks. The rule: the text is
//! valid JSON, and it is the text that came (or was built), byte for byte.

use std::fmt;
use std::hash::{Hash, Hasher};

use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

/// Any JSON value, unread. Equality, order and hash go by its text.
#[derive(Clone)]
pub struct Raw(Box<RawValue>);

impl Raw {
    /// The JSON text.
    pub fn get(&self) -> &str {
        self.0.get()
    }

    /// The same as a `RawValue`.
    pub fn as_raw_value(&self) -> &RawValue {
        &self.0
    }

    /// Reads the value as a `T`.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_str(self.get())
    }

    /// Writes any value as JSON.
    pub fn from_value<T: Serialize + ?Sized>(value: &T) -> Result<Self, serde_json::Error> {
        serde_json::value::to_raw_value(value).map(Self)
    }

    /// Takes JSON text as it is; fails when it is not one JSON value.
    pub fn from_text(text: String) -> Result<Self, serde_json::Error> {
        RawValue::from_string(text).map(Self)
    }

    /// Whether the value is a JSON object.
    pub fn is_object(&self) -> bool {
        self.first_byte() == Some(b'{')
    }

    /// Whether the value is `null`.
    pub fn is_null(&self) -> bool {
        self.get().trim() == "null"
    }

    fn first_byte(&self) -> Option<u8> {
        self.get().trim_start().bytes().next()
    }
}

impl fmt::Debug for Raw {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.get())
    }
}

impl PartialEq for Raw {
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}

impl Eq for Raw {}

impl PartialOrd for Raw {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Raw {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.get().cmp(other.get())
    }
}

impl Hash for Raw {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.get().hash(state);
    }
}

impl Serialize for Raw {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Box::<RawValue>::deserialize(deserializer).map(Self)
    }
}

impl From<&RawValue> for Raw {
    fn from(value: &RawValue) -> Self {
        Self(value.to_owned())
    }
}

/// A JSON object, unread: where the CLI wedges or dies on anything else.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct Object(Raw);

impl Object {
    /// `{}`.
    pub fn empty() -> Self {
        // An owned empty object; `RawValue` has constants for scalars only.
        Self(Raw(RawValue::from_string("{}".to_owned()).unwrap_or_else(|_| RawValue::NULL.to_owned())))
    }

    /// The value, if it is an object.
    pub fn from_raw(raw: Raw) -> Option<Self> {
        raw.is_object().then_some(Self(raw))
    }

    /// Writes a value as JSON; `None` when that is not an object.
    pub fn from_value<T: Serialize + ?Sized>(value: &T) -> Option<Self> {
        Raw::from_value(value).ok().and_then(Self::from_raw)
    }

    /// The JSON text.
    pub fn get(&self) -> &str {
        self.0.get()
    }

    /// Reads the object as a `T`.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        self.0.parse()
    }

    /// The object with one more member; one of the same name is overruled, as later members are.
    #[must_use]
    pub fn with(&self, name: &str, value: &Raw) -> Self {
        let members = self.get().trim();
        let members =
            members.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).unwrap_or_default().trim();
        let comma = if members.is_empty() { "" } else { "," };
        let name = serde_json::Value::from(name);
        let text = format!("{{{members}{comma}{name}:{}}}", value.get());
        RawValue::from_string(text).map_or_else(|_| self.clone(), |raw| Self(Raw(raw)))
    }

    /// The object as any JSON value.
    pub fn into_raw(self) -> Raw {
        self.0
    }

    /// The object as any JSON value.
    pub fn as_raw(&self) -> &Raw {
        &self.0
    }
}

impl Default for Object {
    fn default() -> Self {
        Self::empty()
    }
}

impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Raw::deserialize(deserializer)?;
        Self::from_raw(raw).ok_or_else(|| D::Error::custom("expected a JSON object"))
    }
}
