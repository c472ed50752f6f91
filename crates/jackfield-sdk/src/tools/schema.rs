//! The input of a tool: what the model is told of it, and how what it sends is read.
//!
//! Nothing is validated against the schema: reading it as the type is the check. The one rule it keeps: the
//! schema is an object without alternatives at its root, because the Messages API takes no other.

use std::sync::Arc;

use rmcp::model::JsonObject;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// The member that carries an input which is no object itself.
const MEMBER: &str = "input";
/// What makes alternatives of a schema.
const ALTERNATIVES: [&str; 3] = ["oneOf", "anyOf", "allOf"];

/// The schema of a type, and how its values travel.
pub(super) struct InputSchema {
    pub(super) schema: Arc<JsonObject>,
    pub(super) form: Form,
}

/// How an input travels in a call's arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// The arguments are the input.
    Arguments,
    /// One member is.
    Member,
    /// There is none.
    Nothing,
}

impl InputSchema {
    pub(super) fn of<Input: JsonSchema>() -> Self {
        let settings = SchemaSettings::draft2020_12().with(|settings| settings.meta_schema = None);
        let mut generator = settings.into_generator();
        let root = generator.root_schema_for::<Input>();
        let (form, schema) = match Form::of(&root) {
            form @ Form::Arguments => (form, root),
            form @ Form::Nothing => (form, schemars::json_schema!({"type": "object", "properties": {}})),
            form @ Form::Member => {
                let member = generator.subschema_for::<Input>();
                let mut schema = schemars::json_schema!({
                    "type": "object", "properties": {MEMBER: member}, "required": [MEMBER],
                });
                let definitions = generator.take_definitions(true);
                if !definitions.is_empty() {
                    schema.insert("$defs".to_owned(), json!(definitions));
                }
                (form, schema)
            }
        };
        let mut schema = match schema.to_value() {
            Value::Object(schema) => schema,
            _ => JsonObject::new(),
        };
        // The names of a Rust type tell the model nothing; the tool has a name and a description.
        schema.remove("title");
        schema.remove("description");
        Self { schema: Arc::new(schema), form }
    }
}

impl Form {
    /// Reads a call's arguments as the input.
    pub(super) fn read<Input: DeserializeOwned>(
        self,
        mut arguments: JsonObject,
    ) -> Result<Input, serde_json::Error> {
        serde_json::from_value(match self {
            Self::Arguments => Value::Object(arguments),
            Self::Member => arguments.remove(MEMBER).unwrap_or(Value::Null),
            Self::Nothing => Value::Null,
        })
    }

    fn of(root: &Schema) -> Self {
        match root.get("type").and_then(Value::as_str) {
            Some("null") => Self::Nothing,
            Some("object") if !ALTERNATIVES.iter().any(|name| root.get(*name).is_some()) => Self::Arguments,
            _ => Self::Member,
        }
    }
}
